#include "argument/expression.h"

namespace zkapex {

Expression& Expression::operator+=(const Expression& other) {
  constant_ += other.constant_;
  std::vector<Term> merged;
  merged.reserve(terms_.size() + other.terms_.size());
  auto a = terms_.begin();
  auto b = other.terms_.begin();
  while (a != terms_.end() || b != other.terms_.end()) {
    if (b == other.terms_.end() || (a != terms_.end() && a->first < b->first)) {
      merged.push_back(*a++);
    } else if (a == terms_.end() || b->first < a->first) {
      merged.push_back(*b++);
    } else {
      merged.emplace_back(a->first, a->second + b->second);
      ++a;
      ++b;
    }
  }
  terms_ = std::move(merged);
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
