#include "argument/sumcheck.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "argument/bit_planes.h"
#include "argument/eq_weights.h"
#include "base/bits.h"

namespace zkapex {

namespace {

constexpr size_t kChunk = SumcheckKernels::kChunk;
static_assert(kChunk == EqWeights::kChunk);

// Sums of one term over the pairs of a round: see SumcheckKernels::Product. With eq they are of the product beside eq's
// linear factor.
using TermSums = std::array<Scalar, 3>;

const uint64_t* words(const Scalar& s) { return s.montgomery_words().data(); }

class Prover {
 public:
  Prover(Sumcheck sumcheck, ThreadPool& pool, const SumcheckKernels& kernels)
      : problem_(std::move(sumcheck)), pool_(pool), kernels_(kernels), tables_(problem_.tables.size()) {
    if (problem_.bits) bits_.emplace(*std::move(problem_.bits), problem_.variables, problem_.eq_point, pool, kernels);
    const Scalar r = Scalar::power_of_two(256);
    for (const SumcheckTable& table : problem_.tables) factor_.push_back(table.integers() ? r : Scalar::one());
    for (SumcheckTerm& term : problem_.terms) {
      for (const unsigned f : term.factors) term.coefficient *= factor_[f];
      if (term.factors.size() + (term.eq ? 1 : 0) == 3) term.coefficient *= scale_of_products();
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
  // What becomes of a table in this round.
  struct Fate {
    bool folds = false;          // it is folded and stored
    std::optional<Scalar> late;  // the challenge before, by which a compact one is still to be folded; times the scale
    SumcheckTable::Scalars fresh;  // where it is stored, unless that is where it is
  };

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
    scaled_pending_ = x * scale_of_products();
    if (bits_) bits_->bind(x);
    if (!has_eq()) return;
    scale_ *= eq_zero_ + x * (eq_one_ - eq_zero_);
    eq_sum_ = eq_.at_zero + x * (eq_.at_one - eq_.at_zero - eq_.leading) + x.square() * eq_.leading;
  }

  [[nodiscard]] Scalar scale_of_products() const { return Scalar::power_of_two(kernels_.scale_bits); }

  // Folding is fused with the next round's sums: each pass reads a table once and writes it once, at half its length.
  std::vector<TermSums> sum_terms(bool with_one) {
    size_t longest = 0;
    for (size_t t = 0; t < tables_.size(); ++t) {
      prepare(t);
      longest = std::max(longest, length(t));
    }
    const std::vector<Pairs> summed = summed_pairs(), needed = needed_pairs(summed);
    std::vector<std::pair<size_t, size_t>> ranges;  // of folded entries
    const size_t pairs = (longest + 1) / 2;
    const EqWeights eq(problem_.eq_point, problem_.variables, round_ + 1);
    const SumcheckKernels::Weights low = low_weights(eq);
    std::vector<TermSums> total(problem_.terms.size());
    std::mutex merging;
    pool_.for_ranges((pairs + kChunk - 1) / kChunk, 1, [&](size_t first, size_t last) {
      std::vector<SumcheckKernels::Sums> local(problem_.terms.size());
      std::vector<SumcheckKernels::Pairs> buffers(tables_.size());
      for (size_t chunk = first; chunk < last; ++chunk) {
        const size_t start = chunk * kChunk, size = std::min(kChunk, pairs - start);
        for (size_t t = 0; t < tables_.size(); ++t) {
          if (needed[t].meet(start, size)) load(t, 2 * first * kChunk, start, size, buffers[t]);
        }
        for (size_t t = 0; t < local.size(); ++t) {
          if (!summed[t].meet(start, size)) continue;
          const size_t used = std::min(size, summed[t].end - start);
          if (!add_block_term(problem_.terms[t], buffers, used, chunk, local[t]))
            add_term(problem_.terms[t], buffers, used, low, eq.high(chunk), with_one, local[t]);
        }
      }
      const std::lock_guard lock(merging);
      ranges.emplace_back(2 * first * kChunk, 2 * last * kChunk);
      for (size_t t = 0; t < local.size(); ++t) add_to(total[t], local[t]);
    });
    std::sort(ranges.begin(), ranges.end());
    replace_tables(ranges);
    return total;
  }

  [[nodiscard]] SumcheckKernels::Weights low_weights(const EqWeights& eq) const {
    std::vector<Scalar> scaled(eq.low().begin(), eq.low().end());
    for (Scalar& weight : scaled) weight *= scale_of_products();
    SumcheckKernels::Weights out;
    kernels_.set_weights(words(scaled[0]), scaled.size(), &out);
    return out;
  }

  void add_to(TermSums& total, const SumcheckKernels::Sums& sums) const {
    uint64_t exported[3][9];
    kernels_.export_sums(sums, exported);
    for (size_t e = 0; e < 3; ++e) total[e] += ScalarAccumulator(std::to_array(exported[e])).reduce();
  }

  // Decides what happens to a table in this round: nothing, or it is folded and stored anew, or, the first time that a
  // compact one would be, it is read as if it were.
  void prepare(size_t table) {
    SumcheckTable& from = problem_.tables[table];
    if (round_ > 0 && !from.fold_structure(pending_)) {
      if (round_ == 1 && from.compact()) {
        tables_[table].late = scaled_pending_;
      } else {
        begin_fold(table);
      }
    }
  }

  // Scalars, or what was stored before, are folded where they are: unless that leaves no room for whole octets. So are
  // integers of the proof's own when they are folded twice at once: four int64 are as long as a scalar.
  void begin_fold(size_t table) {
    tables_[table].folds = true;
    if (memory_of(table) == nullptr) tables_[table].fresh.resize(round_up(length(table), 8));
  }
  [[nodiscard]] SumcheckTable::Scalars* memory_of(size_t table) {
    SumcheckTable::Values& values = problem_.tables[table].values;
    if (auto* stored = std::get_if<SumcheckTable::Stored>(&values)) return &stored->memory;
    if (auto* owned = std::get_if<SumcheckTable::Owned>(&values))
      return tables_[table].late ? &owned->memory() : nullptr;
    auto* scalars = std::get_if<SumcheckTable::Scalars>(&values);
    return scalars != nullptr && scalars->size() % 8 == 0 ? scalars : nullptr;
  }

  // Whether an entry is stored exactly where it comes from, and not among the first half of what its thread folds.
  [[nodiscard]] bool stays(size_t table) const {
    const auto* owned = std::get_if<SumcheckTable::Owned>(&problem_.tables[table].values);
    return owned != nullptr && !owned->wide();
  }

  // Of a table as it stands in this round.
  [[nodiscard]] size_t length(size_t table) const {
    size_t out = problem_.tables[table].length();
    if (tables_[table].late) out = (out + 1) / 2;
    return tables_[table].folds ? (out + 1) / 2 : out;
  }

  // Pairs begin .. end − 1; none if that is empty.
  struct Pairs {
    size_t begin = ~size_t{0}, end = 0;

    [[nodiscard]] bool meet(size_t start, size_t size) const {
      return begin < end && begin < start + size && start < end;
    }
  };
  // Of each term: before the last of its factors begins, and where the first of them ends, a product is zero.
  [[nodiscard]] std::vector<Pairs> summed_pairs() const {
    std::vector<Pairs> out;
    for (const SumcheckTerm& term : problem_.terms) {
      Pairs& pairs = out.emplace_back(Pairs{0, ~size_t{0}});
      for (const unsigned f : term.factors) {
        pairs.begin = std::max(pairs.begin, problem_.tables[f].leading_zeros() / 2);
        pairs.end = std::min(pairs.end, (length(f) + 1) / 2);
      }
    }
    return out;
  }
  // Of each table: all that is folded, and what a term reads.
  [[nodiscard]] std::vector<Pairs> needed_pairs(const std::vector<Pairs>& summed) const {
    std::vector<Pairs> out(tables_.size());
    for (size_t t = 0; t < out.size(); ++t) {
      if (tables_[t].folds) out[t] = {0, (length(t) + 1) / 2};
    }
    for (size_t t = 0; t < summed.size(); ++t) {
      const SumcheckTerm& term = problem_.terms[t];
      for (size_t k = blocks_of(term) != nullptr ? 1 : 0; k < term.factors.size(); ++k) {
        Pairs& pairs = out[term.factors[k]];
        pairs = {std::min(pairs.begin, summed[t].begin), std::max(pairs.end, summed[t].end)};
      }
    }
    return out;
  }

  // `ranges` of folded entries, increasing, that were each made by one thread.
  void replace_tables(const std::vector<std::pair<size_t, size_t>>& ranges) {
    for (size_t t = 0; t < tables_.size(); ++t) {
      if (!tables_[t].folds) continue;
      const size_t size = length(t), room = round_up(size, 8);
      SumcheckTable::Scalars stored;
      if (SumcheckTable::Scalars* memory = memory_of(t)) {
        for (const auto& [begin, end] : ranges) {
          if (begin < size && !stays(t))
            std::copy_n(&(*memory)[2 * begin], std::min(end, room) - begin, &(*memory)[begin]);
        }
        stored = std::move(*memory);
        stored.resize(room);
      } else {
        stored = std::move(tables_[t].fresh);
      }
      problem_.tables[t].values = SumcheckTable::Stored{std::move(stored), size};
      tables_[t] = {};
    }
  }

  void fold_last() {
    if (round_ == 0) return;  // no variables: each table is its one value
    SumcheckKernels::Pairs buffer;
    for (size_t t = 0; t < tables_.size(); ++t) {
      if (problem_.tables[t].fold_structure(pending_)) continue;
      begin_fold(t);
      load(t, 0, 0, 1, buffer);
    }
    replace_tables({{0, 1}});
  }

  // The one entry that is left.
  [[nodiscard]] Scalar value_at_zero(const SumcheckTable& table) const {
    SumcheckKernels::Pairs pair;
    const SumcheckKernels::Pairs* factors[1] = {&pair};
    SumcheckKernels::Sums sums{};
    TermSums out;
    kernels_.load(table.entries(), nullptr, nullptr, 0, 1, nullptr, &pair);
    kernels_.add_products(SumcheckKernels::Product::kOne, false, false, factors, 0, 1, nullptr, nullptr, &sums);
    add_to(out, sums);
    return out[0];
  }

  // The pairs start .. start + size − 1 of the table as it stands in this round. From the second round on, most tables
  // in memory are those of the round before: they are folded by the pending challenge and stored on the way, by a
  // thread whose entries are those from `begin` on. In place it must not touch what other threads still read: entries
  // 2 begin on are its own.
  void load(size_t table, size_t begin, size_t start, size_t size, SumcheckKernels::Pairs& out) {
    Fate& fate = tables_[table];
    uint64_t* store = nullptr;
    if (fate.folds) {
      SumcheckTable::Scalars* memory = memory_of(table);
      const size_t free = memory == nullptr || stays(table) ? 0 : std::min(begin, memory->size());
      Scalar* to = (memory == nullptr ? fate.fresh : *memory).data() + free;
      store = reinterpret_cast<uint64_t*>(to);
    }
    kernels_.load(problem_.tables[table].entries(), fate.late ? words(*fate.late) : nullptr,
                  fate.folds ? words(scaled_pending_) : nullptr, start, size, store, &out);
  }

  // A term whose first factor is one value for each block of pairs, with which the block's sum is multiplied.
  [[nodiscard]] const SumcheckTable::Blocks* blocks_of(const SumcheckTerm& term) const {
    const SumcheckTable::Blocks* blocks = problem_.tables[term.factors[0]].blocks();
    if (blocks == nullptr || term.eq || term.factors.size() == 1) return nullptr;
    return size_t{1} << (blocks->block_bits - 1) >= kernels_.lanes ? blocks : nullptr;
  }

  bool add_block_term(const SumcheckTerm& term, const std::vector<SumcheckKernels::Pairs>& buffers, size_t size,
                      size_t chunk, SumcheckKernels::Sums& sums) const {
    const SumcheckTable::Blocks* blocks = blocks_of(term);
    if (blocks == nullptr) return false;
    using Product = SumcheckKernels::Product;
    const size_t others = term.factors.size() - 1;
    const SumcheckKernels::Pairs* factors[2] = {};
    for (size_t k = 0; k < others; ++k) factors[k] = &buffers[term.factors[k + 1]];
    const size_t pairs = size_t{1} << (blocks->block_bits - 1);  // of a block
    for (size_t begin = 0, end; begin < size; begin = end) {
      const size_t pair = chunk * kChunk + begin;
      end = std::min(size, begin + pairs - pair % pairs);
      const Scalar& value = blocks->block[pair / pairs];
      if (value.is_zero()) continue;
      kernels_.add_products(others == 1 ? Product::kOne : Product::kTwo, false, false, factors, begin, end, nullptr,
                            words(value), &sums);
    }
    return true;
  }

  void add_term(const SumcheckTerm& term, const std::vector<SumcheckKernels::Pairs>& buffers, size_t size,
                const SumcheckKernels::Weights& low, const Scalar& high, bool with_one,
                SumcheckKernels::Sums& sums) const {
    const SumcheckKernels::Pairs* factors[3] = {};
    for (size_t k = 0; k < term.factors.size(); ++k) factors[k] = &buffers[term.factors[k]];
    kernels_.add_products(product_of(term), problem_.tables[term.factors[0]].sparse, with_one, factors, 0, size, &low,
                          term.eq ? words(high) : nullptr, &sums);
  }
  static SumcheckKernels::Product product_of(const SumcheckTerm& term) {
    using Product = SumcheckKernels::Product;
    const size_t count = term.factors.size();
    if (term.eq) return count == 1 ? Product::kEqOne : Product::kEqTwo;
    if (count < 3) return count == 1 ? Product::kOne : Product::kTwo;
    return term.factors[1] == term.factors[2] ? Product::kSquare : Product::kThree;
  }

  Sumcheck problem_;
  ThreadPool& pool_;
  const SumcheckKernels& kernels_;
  std::vector<Fate> tables_;
  std::optional<BitPlaneProver> bits_;
  std::vector<Scalar> factor_;  // what a table's stored values are multiplied by: R for integers
  unsigned round_ = 0;
  Scalar pending_, scaled_pending_;  // the challenge by which the tables are still to be folded
  Scalar eq_zero_, eq_one_;
  Scalar scale_ = Scalar::one();  // eq at the variables bound so far
  EqRound eq_;
  Scalar eq_sum_;
};

}  // namespace

SumcheckProof prove_sumcheck(Sender& channel, std::string_view label, Sumcheck sumcheck, const Scalar& claim,
                             ThreadPool& pool, const SumcheckKernels& kernels) {
  return Prover(std::move(sumcheck), pool, kernels).run(channel, label, claim);
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
