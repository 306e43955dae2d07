#include "argument/expression.h"

#include <algorithm>

namespace zkapex {

Expression& Expression::operator+=(const Expression& other) {
  constant_ += other.constant_;
  if (other.terms_.empty()) return *this;
  // Only what comes after other's first pad can change: sums that grow pad by pad cost what is added, not what is
  // there.
  const auto tail = std::lower_bound(terms_.begin(), terms_.end(), other.terms_.front().first,
                                     [](const Term& term, uint32_t pad) { return term.first < pad; });
  const std::vector<Term> mine(tail, terms_.end());
  terms_.erase(tail, terms_.end());
  auto a = mine.begin();
  auto b = other.terms_.begin();
  while (a != mine.end() || b != other.terms_.end()) {
    if (b == other.terms_.end() || (a != mine.end() && a->first < b->first)) {
      terms_.push_back(*a++);
    } else if (a == mine.end() || b->first < a->first) {
      terms_.push_back(*b++);
    } else {
      terms_.emplace_back(a->first, a->second + b->second);
      ++a;
      ++b;
    }
  }
  return *this;
}

Expression& Expression::operator+=(const Scalar& constant) {
  constant_ += constant;
  return *this;
}

Expression& Expression::operator*=(const Scalar& factor) {
  constant_ *= factor;
  for (Term& term : terms_) term.second *= factor;
  return *this;
}

}  // namespace zkapex
