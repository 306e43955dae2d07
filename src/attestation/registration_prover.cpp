#include "attestation/registration_prover.h"

#include <chrono>

#include "algebra/multilinear.h"
#include "argument/bit_matrix.h"
#include "attestation/derived_rows.h"
#include "attestation/real_indices.h"
#include "base/first_error.h"

namespace zkapex {

namespace {

// The integers of a unit's rows.
class UnitReader {
 public:
  UnitReader(const RegistrationPlan& plan, const ModelReader& reader, ThreadPool& pool)
      : plan_(plan), reader_(reader), pool_(pool) {}

  // The bits of units first .. last − 1, which are of one kind; one segment each.
  Result<BitMatrix> bits(size_t first, size_t last) const {
    const std::vector<RangeUnit>& units = plan_.units();
    std::vector<size_t> rows;
    for (size_t k = first; k < last; ++k) rows.push_back(units[k].rows.rows);
    BitMatrix out(plan_.geometry().row, units[first].planes, rows);
    for (size_t k = first; k < last; ++k) {
      for (uint64_t t = 0; t < units[k].rows.rows; t += kRowsAtOnce) {
        const uint64_t count = std::min(kRowsAtOnce, units[k].rows.rows - t);
        ZKAPEX_TRY(const std::vector<int64_t> values, integers(units[k], t, count));
        out.fill(k - first, t, {reinterpret_cast<const uint64_t*>(values.data()), values.size()}, pool_);
      }
    }
    return out;
  }

  Result<std::vector<int64_t>> integers(const RangeUnit& unit, uint64_t first, uint64_t rows) const {
    const size_t n = plan_.geometry().row;
    std::vector<int64_t> out(rows * n);
    if (unit.model) {
      ZKAPEX_CHECK(reader_.weights(unit.rows.first_row + first, out));
      return out;
    }
    Squares squares;
    ZKAPEX_CHECK(read_rows(unit.rows.first_row + first, rows, squares));
    if (squares.wide) {
      std::copy(squares.wide_entries.begin(), squares.wide_entries.end(), out.begin());
    } else {
      std::copy(squares.narrow_entries.begin(), squares.narrow_entries.end(), out.begin());
    }
    return out;
  }

  // Curvature rows: n / S² squares each.
  Status read_rows(uint64_t first, uint64_t rows, Squares& out) const {
    const uint64_t stride = plan_.geometry().stride(), per_row = plan_.geometry().row / (stride * stride);
    return reader_.squares(first * per_row, rows * per_row, out);
  }

 private:
  static constexpr uint64_t kRowsAtOnce = 16;

  const RegistrationPlan& plan_;
  const ModelReader& reader_;
  ThreadPool& pool_;
};

// Com(C_p) as it is, without the bits. A table of generators serves every row that is in memory with its columns: so a
// few columns of very many rows at a time, which are some rows of one square in each of them.
template <class Entry>
Result<CommittedRows> commit_curvature(const Deployment& deployment, const ModelReader& reader, size_t batch_bytes,
                                       const Generators& generators, Nonces& nonces, ThreadPool& pool) {
  constexpr uint64_t kRowsAtOnce = uint64_t{1} << 16;
  const Geometry& geometry = deployment.layout().geometry();
  const uint64_t rows = curvature_rows(deployment.layout()), s = geometry.stride(), squares = geometry.row / (s * s);
  const unsigned bits = deployment.parameters().curvature_bits;
  CommittedRows out;
  std::vector<Entry> entries;
  for (uint64_t first = 0; first < rows; first += kRowsAtOnce) {
    const uint64_t count = std::min(kRowsAtOnce, rows - first);
    const uint64_t lines = std::clamp<uint64_t>(batch_bytes / (count * s * sizeof(Entry)), 1, s);
    std::vector<Point> sums(count);
    for (uint64_t part = 0; part < squares * s; part += std::min(lines, s - part % s)) {
      const uint64_t square = part / s, line = part % s, width = std::min(lines, s - line) * s;
      entries.resize(count * width);
      FirstError failed;
      pool.for_ranges(count, 16, [&](size_t begin, size_t end) {
        for (size_t r = begin; r < end; ++r) {
          failed.note(
              reader.square_rows((first + r) * squares + square, line, std::span(entries).subspan(r * width, width)));
        }
      });
      ZKAPEX_CHECK(failed.status());
      PackedMatrix packed;  // bytes are packed rows already
      PackedRows view{reinterpret_cast<const uint8_t*>(entries.data()), count, width, width, 8};
      if (bits != 8) {
        ZKAPEX_TRY(packed, pack_rows(entries, width, bits));
        view = packed.view();
      }
      ZKAPEX_TRY(const std::vector<Point> points,
                 commit_rows_var(generators.positions().subspan(part * s), view, pool));
      pool.for_ranges(count, 256, [&](size_t begin, size_t end) {
        for (size_t r = begin; r < end; ++r) sums[r] += points[r];
      });
    }
    out.append(blind_rows_var(std::move(sums), generators, nonces, pool));
  }
  return out;
}

// Adds the time of its life to `seconds`.
class Timed {
 public:
  explicit Timed(double& seconds) : seconds_(seconds) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& seconds_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class RegistrationWitness : public Witness {
 public:
  RegistrationWitness(const RegistrationPlan& plan, const UnitReader& reader, const Sha512::Digest& digest,
                      size_t bits_in_memory, ProvedRegistration& out)
      : plan_(plan), reader_(reader), digest_(digest), bits_in_memory_(bits_in_memory), out_(out) {}

  [[nodiscard]] Sha512::Digest digest() const override { return digest_; }

  // All bit rows, as many units at a time as fit.
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    CommittedRows out;
    const std::vector<RangeUnit>& units = plan_.units();
    for (size_t first = 0, last; first < units.size(); first = last) {
      size_t bytes = 0;
      for (last = first; last < units.size() && units[last].model == units[first].model; ++last) {
        bytes += units[last].bit_rows() * plan_.geometry().row / 8;
        if (last > first && bytes > bits_in_memory_) break;
      }
      double model_seconds = 0;
      const Timed timed(units[first].model ? model_seconds : out_.commit_curvature_seconds);
      ZKAPEX_TRY(const BitMatrix bits, reader_.bits(first, last));
      ZKAPEX_TRY(const CommittedRows committed, commit_rows_var(generators, bits.packed(), nonces, pool));
      out.append(committed);
    }
    return out;
  }

  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    return prover.for_forks("unit", [&](size_t k, Sender& channel) -> Status {
      const RangeUnit& unit = plan_.units()[k];
      const auto blindings = rows.blindings_from(unit.first_bit_row, unit.bit_rows());
      double model_seconds = 0;
      const Timed timed(unit.model ? model_seconds : out_.certificate_seconds);
      ZKAPEX_CHECK(prove_unit(prover, k, blindings, channel));
      append_value_blindings(blindings, unit.rows.rows, unit.planes,
                             unit.model ? out_.model_blindings : out_.curvature_blindings);
      return Done{};
    });
  }

 private:
  Status prove_unit(ArgumentProver& prover, size_t index, std::span<const Scalar> blindings, Sender& channel) const {
    const RangeUnit& unit = plan_.units()[index];
    Transcript& transcript = channel.transcript();
    ZKAPEX_TRY(const BitMatrix bits, reader_.bits(index, index + 1));
    const auto challenges = BitChallenges::draw(transcript, unit.planes, unit.variables);
    const Scalar alpha = transcript.challenge("alpha");
    ProverTerms zero_on_padding{.labels = kUnitLabels, .tables = {}, .terms = {}, .claim = {}};
    std::vector<int64_t> values;
    std::vector<uint8_t> real;
    if (unit.model) {  // eq (1 − real) θ
      ZKAPEX_TRY(values, reader_.integers(unit, 0, unit.rows.rows));
      real = real_indices(plan_.geometry(), unit.rows);
      zero_on_padding.tables = {{values}, {real}};
      zero_on_padding.terms = {{alpha, {0}, true}, {-alpha, {1, 0}, true}};
      zero_on_padding.end = [&](const SumcheckProof& end) -> ProverTerms::End {
        const Scalar padding = Scalar::one() - end.tables[1];
        return {{end.tables[0]}, {alpha * eq(challenges.tau, end.point) * padding}};
      };
    }
    const ProverBits proved = prove_bits(channel, prover, challenges, bits.planes(0), std::move(zero_on_padding));
    const Scalar delta = transcript.challenge("delta");
    const UnitOpening opening(unit, delta, proved.r, proved.kappa);
    const BitRows bit_rows{bits.segment(0), bits.words_per_row(), plan_.geometry().row, blindings};
    ProverPair pair = fold_bit_rows(bit_rows, opening.plane, opening.row, prover.pool());
    pair.point = opening.point;
    pair.value = unit.model ? proved.values[0] + delta * proved.b : proved.b;
    return prover.add_pair(std::move(pair));
  }

  const RegistrationPlan& plan_;
  const UnitReader& reader_;
  const Sha512::Digest digest_;
  const size_t bits_in_memory_;
  ProvedRegistration& out_;
};

}  // namespace

Result<ProvedRegistration> prove_registration(RegistrationStatement statement, const RegistrationPlan& plan,
                                              const ModelReader& model, size_t bits_in_memory,
                                              const Generators& generators, ThreadPool& pool, ProveOptions options) {
  const RegistrationRelation relation(statement, plan);
  ZKAPEX_TRY(const Sha512::Digest digest, model.digest(pool));
  ProvedRegistration out;
  if (!plan.certificate()) {
    const Timed timed(out.commit_curvature_seconds);
    // Hedged as the proof is, by the statement as far as there is one.
    const Transcript bound = begin(relation, {}, {});
    ZKAPEX_TRY(Nonces nonces, Nonces::create({bound.state(), digest}));
    const auto commit =
        statement.deployment->parameters().curvature_bits <= 8 ? &commit_curvature<int8_t> : &commit_curvature<int16_t>;
    ZKAPEX_TRY(CommittedRows curvature,
               commit(*statement.deployment, model, bits_in_memory / 2, generators, nonces, pool));
    statement.curvature = std::move(curvature.encoded);
    out.curvature_blindings = std::move(curvature.blindings);
  }
  const UnitReader reader(plan, model, pool);
  RegistrationWitness witness(plan, reader, digest, bits_in_memory, out);
  ZKAPEX_TRY(out.proof, prove(relation, witness, generators, pool, std::move(options)));
  out.curvature = std::move(statement.curvature);
  return out;
}

}  // namespace zkapex
