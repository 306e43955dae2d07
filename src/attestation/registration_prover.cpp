#include "attestation/registration_prover.h"

#include <algorithm>

#include "algebra/multilinear.h"
#include "attestation/real_indices.h"
#include "base/first_error.h"
#include "base/stopwatch.h"

namespace zkapex {

namespace {

// Entries that a projection cannot bound are the client's own trouble, to be told before any challenge is drawn.
template <class Entry>
Status check_small(std::span<const Entry> entries, const ProjectionShape& shape, std::string_view what) {
  const int64_t largest = shape.largest();
  const auto [low, high] = std::ranges::minmax(entries);
  if (high > largest || low < -largest)
    return error("{} has the entry {}, and at most {} can be proved", what, high > largest ? high : low, largest);
  return Done{};
}

// Com(C_p). A table of generators serves every row that is in memory with its columns: so a few columns of very many
// rows at a time, which are some rows of one square in each of them.
template <class Entry>
Result<CommittedRows> commit_curvature(const Deployment& deployment, const ProjectionShape& shape,
                                       const ModelReader& reader, size_t batch_bytes, const Generators& generators,
                                       Nonces& nonces, ThreadPool& pool) {
  constexpr uint64_t kRowsAtOnce = uint64_t{1} << 16;
  const Geometry& geometry = deployment.layout().geometry();
  const uint64_t rows = shape.rows, s = geometry.stride(), squares = geometry.row / (s * s);
  const unsigned bits = deployment.parameters().curvature_bits;
  CommittedRows out;
  UnsetVector<Entry> entries;
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
          const auto to = std::span(entries).subspan(r * width, width);
          failed.note(reader.square_rows((first + r) * squares + square, line, to));
          failed.note(check_small<Entry>(to, shape, "the curvature"));
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

class RegistrationWitness : public Witness {
 public:
  RegistrationWitness(const Deployment& deployment, const RegistrationPlan& plan, const ModelReader& reader,
                      const Sha512::Digest& digest, size_t batch_bytes, ProvedRegistration& out)
      : deployment_(deployment), plan_(plan), reader_(reader), digest_(digest), batch_bytes_(batch_bytes), out_(out) {}

  [[nodiscard]] Sha512::Digest digest() const override { return digest_; }

  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    generators_ = &generators;
    pool_ = &pool;
    Stopwatch watch;
    CommittedRows out;
    ZKAPEX_CHECK(commit_integers(weights(), shape(0), "a covered tensor", nonces, pool, out));
    out_.commit_model_seconds = watch.lap();
    const auto commit =
        deployment_.parameters().curvature_bits <= 8 ? &commit_curvature<int8_t> : &commit_curvature<int16_t>;
    ZKAPEX_TRY(const CommittedRows squares,
               commit(deployment_, shape(1), reader_, batch_bytes_, generators, nonces, pool));
    out.append(squares);
    out_.commit_curvature_seconds = watch.lap();
    if (plan_.unchanged_rows() > 0) {
      ZKAPEX_CHECK(commit_integers(unchanged(), shape(2), "a tensor that is not covered", nonces, pool, out));
    }
    out_.commit_model_seconds += watch.lap();
    return out;
  }

  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    Stopwatch watch;
    const std::vector<RowSource> sources = {weights(), squares(), unchanged()};
    const size_t stride = plan_.geometry().stride();
    std::vector<ProjectionProver> projections;
    for (const ProjectedRows& projected : plan_.projections()) {
      projections.emplace_back(projected.shape, sources[projected.number],
                               rows.blindings_from(projected.rows.first_row, projected.shape.rows),
                               projected.number == 1 ? stride : 0);
    }
    const Scalar challenge = prover.main().challenge("projection");
    for (size_t k = 0; k < projections.size(); ++k) {
      ZKAPEX_CHECK(projections[k].draw(challenge, plan_.projections()[k].number, prover.pool()));
    }
    ZKAPEX_TRY(const CommittedRows later,
               prover.commit_rows("projections", [&](Nonces& nonces) -> Result<CommittedRows> {
                 CommittedRows out;
                 for (const ProjectionProver& projection : projections) {
                   ZKAPEX_TRY(const CommittedRows part, projection.commit(*generators_, nonces, prover.pool()));
                   out.append(part);
                 }
                 return out;
               }));
    out_.project_seconds = watch.lap();
    keep_blindings(rows);
    return prove_forks(prover, rows, later, projections);
  }

 private:
  [[nodiscard]] const ProjectionShape& shape(size_t number) const { return plan_.projections()[number].shape; }

  Status prove_forks(ArgumentProver& prover, const CommittedRows& rows, const CommittedRows& later,
                     std::vector<ProjectionProver>& projections) {
    const size_t padded = plan_.padded().size(), first_later = plan_.shape().first_rows();
    size_t projection = 0, first = padded;
    return prover.for_forks("unit", [&](size_t k, Sender& channel) -> Status {
      if (k < padded) return prove_padding(plan_.padded()[k], rows, channel, prover);
      const ProjectedRows& projected = plan_.projections()[projection];
      const auto blindings =
          later.blindings_from(projected.rows.first_bit_row - first_later, projected.shape.later_rows());
      ZKAPEX_CHECK(projections[projection].prove(k - first, blindings, channel, prover));
      if (k + 1 == first + projected.shape.forks()) {
        first = k + 1;
        ++projection;
      }
      return Done{};
    });
  }

  // 0 = Σ_i eq(τ, i) (1 − real(i)) θ(i)
  Status prove_padding(const PaddedSegment& segment, const CommittedRows& rows, Sender& channel,
                       ArgumentProver& prover) const {
    const std::vector<Scalar> tau = channel.transcript().challenges("tau", segment.variables);
    std::vector<int64_t> values(segment.rows.rows * plan_.geometry().row);
    ZKAPEX_CHECK(reader_.weights(segment.rows.first_row, values));
    std::vector<uint8_t> real = real_indices(plan_.geometry(), segment.rows);
    Sumcheck sumcheck{.variables = segment.variables,
                      .degree = 3,
                      .tables = {{values}, {std::move(real)}},
                      .terms = {{Scalar::one(), {0}, true}, {-Scalar::one(), {1, 0}, true}},
                      .eq_point = tau,
                      .bits = {}};
    const SumcheckProof end = prove_sumcheck(channel, "padding", std::move(sumcheck), Scalar::zero(), prover.pool());
    const Scalar coefficient = eq(tau, end.point) * (Scalar::one() - end.tables[1]);
    const Scalar theta = channel.send("theta", {end.tables[0]}, {{coefficient}}, end.claim)[0];
    const std::span<const Scalar> r(end.point);
    const std::vector<Scalar> row = eq_prefix(r.first(segment.row_variables), segment.rows.rows);
    ProverPair pair{fold_i64(values, plan_.geometry().row, row, prover.pool()),
                    {},
                    {r.begin() + segment.row_variables, r.end()},
                    theta};
    for (size_t t = 0; t < row.size(); ++t) pair.blinding += row[t] * rows.blindings[segment.rows.first_row + t];
    return prover.add_pair(std::move(pair));
  }

  Status commit_integers(const RowSource& source, const ProjectionShape& bounded, std::string_view what, Nonces& nonces,
                         ThreadPool& pool, CommittedRows& out) const {
    return source([&](const IntegerRows& some) -> Status {
      const auto values = std::get<std::span<const int64_t>>(some);
      ZKAPEX_CHECK(check_small(values, bounded, what));
      ZKAPEX_TRY(const CommittedRows rows,
                 commit_integers_var(*generators_, values, plan_.geometry().row, nonces, pool));
      out.append(rows);
      return Done{};
    });
  }

  void keep_blindings(const CommittedRows& rows) {
    size_t next = 0;
    const auto take = [&](size_t count, SecretVector<Scalar>& to) {
      for (const size_t end = next + count; next < end; ++next) to.push_back(rows.blindings[next]);
    };
    take(plan_.model_rows(), out_.model_blindings);
    take(plan_.curvature_rows(), out_.curvature_blindings);
    take(plan_.unchanged_rows(), out_.unchanged_blindings);
  }

  // Some rows at a time, by `read(first, integers)`.
  template <class Read>
  RowSource integers(uint64_t rows, const Read& read) const {
    return [this, rows, read](const auto& visit) -> Status {
      constexpr uint64_t kEntriesAtOnce = uint64_t{1} << 21;
      const uint64_t n = plan_.geometry().row, at_once = std::max<uint64_t>(1, kEntriesAtOnce / n);
      std::vector<int64_t> values;
      for (uint64_t first = 0; first < rows; first += at_once) {
        values.resize(std::min(at_once, rows - first) * n);
        ZKAPEX_CHECK(read(first, std::span(values)));
        ZKAPEX_CHECK(visit(std::span<const int64_t>(values)));
      }
      return Done{};
    };
  }
  [[nodiscard]] RowSource weights() const {
    return integers(plan_.model_rows(),
                    [this](uint64_t first, std::span<int64_t> out) { return reader_.weights(first, out); });
  }
  [[nodiscard]] RowSource unchanged() const {
    return integers(plan_.unchanged_rows(),
                    [this](uint64_t first, std::span<int64_t> out) { return reader_.unchanged(first, out); });
  }
  // Curvature rows: n / S² squares each.
  [[nodiscard]] RowSource squares() const {
    return [this](const auto& visit) {
      return deployment_.parameters().curvature_bits <= 8 ? visit_squares<int8_t>(visit)
                                                          : visit_squares<int16_t>(visit);
    };
  }
  template <class Entry, class Visit>
  Status visit_squares(const Visit& visit) const {
    // Bytes as they are; words become 64 bits and digits.
    constexpr uint64_t kEntriesAtOnce = uint64_t{1} << (sizeof(Entry) == 1 ? 25 : 21);
    const uint64_t n = plan_.geometry().row, square = plan_.geometry().stride() * plan_.geometry().stride();
    const uint64_t all = plan_.curvature_rows() * n, at_once = std::max(n, kEntriesAtOnce / n * n);
    UnsetVector<Entry> entries;
    for (uint64_t first = 0; first < all; first += at_once) {
      entries.resize(std::min(at_once, all - first));
      FirstError failed;
      pool_->for_each(entries.size() / square, [&](size_t k) {
        failed.note(reader_.square_rows(first / square + k, 0, std::span(entries).subspan(k * square, square)));
      });
      ZKAPEX_CHECK(failed.status());
      ZKAPEX_CHECK(visit(std::span<const Entry>(entries)));
    }
    return Done{};
  }

  const Deployment& deployment_;
  const RegistrationPlan& plan_;
  const ModelReader& reader_;
  const Sha512::Digest digest_;
  const size_t batch_bytes_;
  ProvedRegistration& out_;
  const Generators* generators_ = nullptr;
  ThreadPool* pool_ = nullptr;
};

}  // namespace

Result<ProvedRegistration> prove_registration(const RegistrationStatement& statement, const RegistrationPlan& plan,
                                              const ModelReader& model, size_t batch_bytes,
                                              const Generators& generators, ThreadPool& pool, ProveOptions options) {
  ZKAPEX_TRY(const Sha512::Digest digest, model.digest(pool));
  ProvedRegistration out;
  RegistrationWitness witness(*statement.deployment, plan, model, digest, batch_bytes, out);
  ZKAPEX_TRY(out.proof, prove(RegistrationRelation(statement, plan), witness, generators, pool, std::move(options)));
  return out;
}

}  // namespace zkapex
