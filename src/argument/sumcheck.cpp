#include "argument/sumcheck.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "argument/bit_planes.h"
#include "argument/eq_weights.h"

namespace zkapex {

namespace {

constexpr size_t kChunk = EqWeights::kChunk;

// Sums of one term over the pairs of a round. Without eq: the coefficients of 1, X², X³ of the product. With eq: the
// values at 0 and 1 and the X² coefficient of the product beside eq's linear factor.
using TermSums = std::array<Scalar, 3>;

struct PairBuffer {
  std::array<Scalar, kChunk> low, step;  // t(X) = low + step X
};

class Prover {
 public:
  Prover(Sumcheck sumcheck, ThreadPool& pool) : problem_(std::move(sumcheck)), pool_(pool) {
    if (problem_.bits) bits_.emplace(*std::move(problem_.bits), problem_.variables, problem_.eq_point, pool);
    folds_.resize(problem_.tables.size());
    fresh_.resize(problem_.tables.size());
    target_.resize(problem_.tables.size());
    late_.resize(problem_.tables.size());
    const Scalar r = Scalar::power_of_two(256);
    for (const SumcheckTable& table : problem_.tables) factor_.push_back(table.integers() ? r : Scalar::one());
    for (SumcheckTerm& term : problem_.terms) {
      for (const unsigned f : term.factors) term.coefficient *= factor_[f];
    }
  }

  SumcheckProof run(Sender& channel, std::string_view label, Scalar claim) {
    std::vector<Scalar> point;
    for (; round_ < problem_.variables; ++round_) {
      const std::string name = fmt::format("{} round {}", label, round_);
      const std::vector<Scalar> sent = channel.send(name, round_message());
      const Scalar x = channel.transcript().challenge(name);
      claim = bind_round<Scalar>(claim, sent, Scalar::one(), x);
      bind(x);
      point.insert(point.begin(), x);
    }
    fold_last();
    SumcheckProof out{std::move(point), claim, {}, {}};
    for (size_t t = 0; t < problem_.tables.size(); ++t)
      out.tables.push_back(value_at_zero(problem_.tables[t]) * factor_[t]);
    if (bits_) out.planes = bits_->values();
    return out;
  }

 private:
  // eq's factor of the variable at hand is zero_ (1 − X) + one_ X.
  void eq_factor() {
    const unsigned from_top = problem_.variables - 1 - round_;
    const bool covered = from_top < problem_.eq_point.size();
    eq_one_ = covered ? problem_.eq_point[from_top] : Scalar::one();
    eq_zero_ = covered ? Scalar::one() - problem_.eq_point[from_top] : Scalar::one();
  }

  std::vector<Scalar> round_message() {
    eq_factor();
    const bool first = round_ == 0;
    const std::vector<TermSums> sums = sum_terms(first);
    eq_ = bits_ ? bits_->round(first) : EqRound{};
    Scalar c0, c2, c3;
    for (size_t t = 0; t < sums.size(); ++t) {
      const SumcheckTerm& term = problem_.terms[t];
      if (term.eq) {
        eq_.at_zero += term.coefficient * sums[t][0];
        eq_.at_one += term.coefficient * sums[t][1];
        eq_.leading += term.coefficient * sums[t][2];
      } else {
        c0 += term.coefficient * sums[t][0];
        c2 += term.coefficient * sums[t][1];
        c3 += term.coefficient * sums[t][2];
      }
    }
    if (has_eq()) {
      // eq_sum_ = eq_zero t(0) + eq_one t(1) is known from the round before.
      if (!first) eq_.at_one = (eq_sum_ - eq_zero_ * eq_.at_zero) * eq_one_.inverse();
      const Scalar middle = eq_.at_one - eq_.at_zero - eq_.leading, slope = eq_one_ - eq_zero_;
      c0 += scale_ * eq_zero_ * eq_.at_zero;
      c2 += scale_ * (eq_zero_ * eq_.leading + slope * middle);
      c3 += scale_ * slope * eq_.leading;
    }
    std::vector<Scalar> message{c0, c2, c3};
    message.resize(problem_.degree);
    return message;
  }

  [[nodiscard]] bool has_eq() const {
    return bits_.has_value() ||
           std::any_of(problem_.terms.begin(), problem_.terms.end(), [](const auto& t) { return t.eq; });
  }

  void bind(const Scalar& x) {
    pending_ = x;
    if (bits_) bits_->bind(x);
    if (!has_eq()) return;
    scale_ *= eq_zero_ + x * (eq_one_ - eq_zero_);
    eq_sum_ = eq_.at_zero + x * (eq_.at_one - eq_.at_zero - eq_.leading) + x.square() * eq_.leading;
  }

  // Folding is fused with the next round's sums: each pass reads a table once and writes it once, at half its length.
  std::vector<TermSums> sum_terms(bool with_one) {
    size_t longest = 0;
    for (size_t t = 0; t < problem_.tables.size(); ++t) {
      prepare(t);
      longest = std::max(longest, length(t));
    }
    std::vector<std::pair<size_t, size_t>> ranges;  // of folded entries
    const size_t pairs = (longest + 1) / 2;
    const EqWeights eq(problem_.eq_point, problem_.variables, round_ + 1);
    std::vector<TermSums> total(problem_.terms.size());
    std::mutex merging;
    pool_.for_ranges((pairs + kChunk - 1) / kChunk, 1, [&](size_t first, size_t last) {
      std::vector<TermSums> local(problem_.terms.size());
      std::vector<PairBuffer> buffers(problem_.tables.size());
      for (size_t chunk = first; chunk < last; ++chunk) {
        const size_t start = chunk * kChunk, size = std::min(kChunk, pairs - start);
        for (size_t t = 0; t < buffers.size(); ++t) load(t, 2 * first * kChunk, start, size, buffers[t]);
        for (size_t t = 0; t < local.size(); ++t) {
          const size_t end = pairs_of_term(problem_.terms[t]);
          if (end > start)
            add_term(problem_.terms[t], buffers, std::min(size, end - start), eq, chunk, with_one, local[t]);
        }
      }
      const std::lock_guard lock(merging);
      ranges.emplace_back(2 * first * kChunk, 2 * last * kChunk);
      for (size_t t = 0; t < local.size(); ++t) {
        for (size_t e = 0; e < 3; ++e) total[t][e] += local[t][e];
      }
    });
    std::sort(ranges.begin(), ranges.end());
    replace_tables(ranges);
    return total;
  }

  // Decides what happens to a table in this round: nothing, or it is folded and stored anew, or, the first time that a
  // compact one would be, it is read as if it were.
  void prepare(size_t table) {
    SumcheckTable& from = problem_.tables[table];
    if (round_ == 0 || from.fold_structure(pending_)) return;
    if (round_ == 1 && from.compact()) {
      late_[table] = pending_;
      return;
    }
    begin_fold(table);
  }

  // A table of scalars is folded where it is, others into a new one.
  void begin_fold(size_t table) {
    auto* scalars = std::get_if<SumcheckTable::Scalars>(&problem_.tables[table].values);
    if (scalars == nullptr) fresh_[table].resize((length(table) + 1) / 2);
    target_[table] = scalars == nullptr ? fresh_[table].data() : scalars->data();
    folds_[table] = true;
  }

  // Of a table as it stands in this round.
  [[nodiscard]] size_t length(size_t table) const {
    size_t out = problem_.tables[table].length();
    if (late_[table]) out = (out + 1) / 2;
    return folds_[table] ? (out + 1) / 2 : out;
  }

  // Where its shortest factor ends, a product is zero.
  [[nodiscard]] size_t pairs_of_term(const SumcheckTerm& term) const {
    size_t out = ~size_t{0};
    for (const unsigned f : term.factors) out = std::min(out, (length(f) + 1) / 2);
    return out;
  }

  // `ranges` of folded entries, increasing, that were each made by one thread.
  void replace_tables(const std::vector<std::pair<size_t, size_t>>& ranges) {
    for (size_t t = 0; t < folds_.size(); ++t) {
      if (!folds_[t]) continue;
      const size_t size = length(t);
      if (auto* scalars = std::get_if<SumcheckTable::Scalars>(&problem_.tables[t].values)) {
        for (const auto& [begin, end] : ranges) {
          if (begin < size)
            std::copy_n(&(*scalars)[stored_at(t, begin, begin)], std::min(end, size) - begin, &(*scalars)[begin]);
        }
        scalars->resize(size);
      } else {
        problem_.tables[t].values = std::exchange(fresh_[t], {});
      }
      folds_[t] = false;
      late_[t].reset();
    }
  }

  // Where entry i of a folded table is put by the thread whose range begins at entry `begin`. In place it must not
  // touch what other threads still read, entries 2 begin on are its own.
  [[nodiscard]] size_t stored_at(size_t table, size_t begin, size_t i) const {
    return std::holds_alternative<SumcheckTable::Scalars>(problem_.tables[table].values) ? begin + i : i;
  }

  void fold_last() {
    if (round_ == 0) return;  // no variables: each table is its one value
    PairBuffer buffer;
    for (size_t t = 0; t < problem_.tables.size(); ++t) {
      if (problem_.tables[t].fold_structure(pending_)) continue;
      begin_fold(t);
      load(t, 0, 0, 1, buffer);
    }
    replace_tables({{0, 1}});
  }

  static Scalar value_at_zero(const SumcheckTable& table) {
    if (table.length() == 0) return Scalar::zero();
    return std::visit([](const auto& values) { return as_scalar(entry_of(values, 0)); }, table.values);
  }

  static Scalar entry_of(const SumcheckTable::Scalars& values, size_t i) { return values[i]; }
  template <class Integer>
  static Integer entry_of(std::span<const Integer> values, size_t i) {
    return values[i];
  }
  static Scalar entry_of(const SumcheckTable::Chosen& values, size_t i) {
    return values.bytes[i] != 0 ? values.block[i >> values.block_bits] : Scalar::zero();
  }
  static Scalar entry_of(const SumcheckTable::Blocks& values, size_t i) { return values.block[i >> values.block_bits]; }
  static Scalar entry_of(const SumcheckTable::Periodic& values, size_t i) {
    return values.period[i & (values.period.size() - 1)];
  }
  static Scalar as_scalar(const Scalar& entry) { return entry; }
  static Scalar as_scalar(int128 entry) { return unscaled(entry); }

  // The pairs start .. start + size − 1 of the table as it stands in this round. From the second round on, most tables
  // in memory are those of the round before: they are folded by the pending challenge and stored on the way, by a
  // thread whose entries are those from `begin` on.
  void load(size_t table, size_t begin, size_t start, size_t size, PairBuffer& out) const {
    const SumcheckTable& from = problem_.tables[table];
    Scalar* to = folds_[table] ? target_[table] + stored_at(table, std::min(begin, from.length()), 0) : nullptr;
    std::visit(
        [&](const auto& values) {
          const auto read = [&](size_t i) { return entry_of(values, i); };
          const size_t stored = from.length();
          if (!late_[table]) {
            folds_[table] ? fold_pairs(read, stored, from.sparse, to, start, size, out)
                          : read_pairs(read, stored, start, size, out);
            return;
          }
          const PairFolder fold(*late_[table]);
          const auto folded = [&](size_t i) {
            using Entry = std::decay_t<decltype(read(0))>;
            const Entry zero = read(2 * i), one = 2 * i + 1 < stored ? read(2 * i + 1) : Entry{};
            if (from.sparse && zero == Entry{} && one == Entry{}) return Scalar::zero();
            return fold(zero, one);
          };
          folds_[table] ? fold_pairs(folded, (stored + 1) / 2, from.sparse, to, start, size, out)
                        : read_pairs(folded, (stored + 1) / 2, start, size, out);
        },
        from.values);
  }

  template <class Read>
  static void read_pairs(const Read& read, size_t length, size_t start, size_t size, PairBuffer& out) {
    const auto entry = [&](size_t i) { return i < length ? as_scalar(read(i)) : Scalar::zero(); };
    for (size_t i = 0; i < size; ++i) {
      const size_t at = 2 * (start + i);
      out.low[i] = entry(at);
      out.step[i] = entry(at + 1) - out.low[i];
    }
  }

  template <class Read>
  void fold_pairs(const Read& read, size_t length, bool sparse, Scalar* to, size_t start, size_t size,
                  PairBuffer& out) const {
    const PairFolder fold(pending_);
    const auto folded = [&](size_t i) {
      if (2 * i >= length) return Scalar::zero();
      using Entry = std::decay_t<decltype(read(0))>;
      const Entry zero = read(2 * i), one = 2 * i + 1 < length ? read(2 * i + 1) : Entry{};
      if (sparse && zero == Entry{} && one == Entry{}) return to[i] = Scalar::zero();
      return to[i] = fold(zero, one);
    };
    for (size_t i = 0; i < size; ++i) {
      const size_t at = 2 * (start + i);
      out.low[i] = folded(at);
      out.step[i] = folded(at + 1) - out.low[i];
    }
  }

  void add_term(const SumcheckTerm& term, const std::vector<PairBuffer>& buffers, size_t size, const EqWeights& eq,
                size_t chunk, bool with_one, TermSums& sums) const {
    if (const SumcheckTable::Blocks* blocks = problem_.tables[term.factors[0]].blocks();
        blocks && !term.eq && term.factors.size() > 1) {
      add_block_term(*blocks, term, buffers, size, chunk, sums);
      return;
    }
    std::array<ScalarAccumulator, 3> part{};
    const PairBuffer& a = buffers[term.factors[0]];
    const bool sparse = problem_.tables[term.factors[0]].sparse;
    if (term.eq) {
      term.factors.size() == 1 ? eq_one_factor(a, size, eq.low(), with_one, part)
                               : eq_two_factors(a, buffers[term.factors[1]], size, eq.low(), with_one, sparse, part);
    } else if (term.factors.size() == 1) {
      for (size_t i = 0; i < size; ++i) part[0].add(a.low[i]);
    } else if (term.factors.size() == 2) {
      two_factors(a, buffers[term.factors[1]], 0, size, part);
    } else if (term.factors[1] == term.factors[2]) {
      factor_and_square(a, buffers[term.factors[1]], size, sparse, part);
    } else {
      three_factors(a, buffers[term.factors[1]], buffers[term.factors[2]], size, part);
    }
    for (size_t e = 0; e < 3; ++e) sums[e] += term.eq ? eq.high(chunk) * part[e].reduce() : part[e].reduce();
  }

  // The first factor is one value for each block of pairs: it is multiplied with the block's sum.
  static void add_block_term(const SumcheckTable::Blocks& blocks, const SumcheckTerm& term,
                             const std::vector<PairBuffer>& buffers, size_t size, size_t chunk, TermSums& sums) {
    const unsigned pair_bits = blocks.block_bits - 1;
    for (size_t begin = 0, end; begin < size; begin = end) {
      const size_t pair = chunk * kChunk + begin;
      end = std::min(size, begin + (size_t{1} << pair_bits) - (pair & ((size_t{1} << pair_bits) - 1)));
      std::array<ScalarAccumulator, 3> part{};
      if (term.factors.size() == 2) {
        for (size_t i = begin; i < end; ++i) part[0].add(buffers[term.factors[1]].low[i]);
      } else {
        two_factors(buffers[term.factors[1]], buffers[term.factors[2]], begin, end, part);
      }
      const Scalar& weight = blocks.block[pair >> pair_bits];
      for (size_t e = 0; e < 2; ++e) sums[e] += weight * part[e].reduce();
    }
  }

  static void eq_one_factor(const PairBuffer& a, size_t size, std::span<const Scalar> weight, bool with_one,
                            std::array<ScalarAccumulator, 3>& part) {
    for (size_t i = 0; i < size; ++i) {
      part[0].add_product(weight[i], a.low[i]);
      if (with_one) part[1].add_product(weight[i], a.low[i] + a.step[i]);
    }
  }

  static void eq_two_factors(const PairBuffer& a, const PairBuffer& b, size_t size, std::span<const Scalar> weight,
                             bool with_one, bool sparse, std::array<ScalarAccumulator, 3>& part) {
    for (size_t i = 0; i < size; ++i) {
      if (sparse && a.low[i].is_zero() && a.step[i].is_zero()) continue;
      part[0].add_product(weight[i], a.low[i] * b.low[i]);
      if (with_one) part[1].add_product(weight[i], (a.low[i] + a.step[i]) * (b.low[i] + b.step[i]));
      part[2].add_product(weight[i], a.step[i] * b.step[i]);
    }
  }

  static void two_factors(const PairBuffer& a, const PairBuffer& b, size_t begin, size_t end,
                          std::array<ScalarAccumulator, 3>& part) {
    for (size_t i = begin; i < end; ++i) {
      part[0].add_product(a.low[i], b.low[i]);
      part[1].add_product(a.step[i], b.step[i]);
    }
  }

  // a b²
  static void factor_and_square(const PairBuffer& a, const PairBuffer& b, size_t size, bool sparse,
                                std::array<ScalarAccumulator, 3>& part) {
    for (size_t i = 0; i < size; ++i) {
      if (sparse && a.low[i].is_zero() && a.step[i].is_zero()) continue;
      const Scalar square = b.step[i] * b.step[i], cross = b.low[i] * b.step[i];
      part[0].add_product(a.low[i], b.low[i] * b.low[i]);
      part[1].add_product(a.low[i], square);
      part[1].add_product(a.step[i], cross + cross);
      part[2].add_product(a.step[i], square);
    }
  }

  static void three_factors(const PairBuffer& a, const PairBuffer& b, const PairBuffer& c, size_t size,
                            std::array<ScalarAccumulator, 3>& part) {
    for (size_t i = 0; i < size; ++i) {
      const Scalar top = b.step[i] * c.step[i];
      part[0].add_product(a.low[i], b.low[i] * c.low[i]);
      part[1].add_product(a.low[i], top);
      part[1].add_product(a.step[i], b.low[i] * c.step[i] + b.step[i] * c.low[i]);
      part[2].add_product(a.step[i], top);
    }
  }

  Sumcheck problem_;
  ThreadPool& pool_;
  std::optional<BitPlaneProver> bits_;
  std::vector<Scalar> factor_;  // what a table's stored values are multiplied by: R for integers
  unsigned round_ = 0;
  Scalar pending_;                             // the challenge by which the tables are still to be folded
  std::vector<bool> folds_;                    // the tables that this round folds and stores
  std::vector<SumcheckTable::Scalars> fresh_;  // what becomes of those that were not scalars
  std::vector<Scalar*> target_;                // where a folded table begins
  std::vector<std::optional<Scalar>> late_;    // the challenge before it, by which compact tables are folded when read
  Scalar eq_zero_, eq_one_;
  Scalar scale_ = Scalar::one();  // eq at the variables bound so far
  EqRound eq_;
  Scalar eq_sum_;
};

}  // namespace

SumcheckProof prove_sumcheck(Sender& channel, std::string_view label, Sumcheck sumcheck, const Scalar& claim,
                             ThreadPool& pool) {
  return Prover(std::move(sumcheck), pool).run(channel, label, claim);
}

SumcheckClaim verify_sumcheck(Receiver& channel, std::string_view label, unsigned variables, unsigned degree,
                              Expression claim) {
  std::vector<Scalar> point;
  for (unsigned round = 0; round < variables; ++round) {
    const std::string name = fmt::format("{} round {}", label, round);
    const std::vector<Expression> sent = channel.receive(name, degree);
    const Scalar x = channel.transcript().challenge(name);
    claim = bind_round<Expression>(claim, sent, Scalar::one(), x);
    point.insert(point.begin(), x);
  }
  return {std::move(point), std::move(claim)};
}

}  // namespace zkapex
