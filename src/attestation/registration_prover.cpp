#include "attestation/registration_prover.h"

#include <algorithm>

#include "algebra/multilinear.h"
#include "attestation/anchor_prover.h"
#include "attestation/real_indices.h"
#include "base/first_error.h"
#include "base/large_blocks.h"
#include "base/stopwatch.h"

namespace zkapex {

namespace {

RowReader rows_of(const ModelReader& model, bool covered) {
  return [&model, covered](uint64_t first_row, std::span<int64_t> out) {
    return covered ? model.weights(first_row, out) : model.unchanged(first_row, out);
  };
}

// Entries that a projection cannot bound are the client's own trouble, to be told before any challenge is drawn.
template <class Entry>
Status check_small(std::span<const Entry> entries, const ProjectionShape& shape, std::string_view what) {
  const int64_t largest = shape.largest();
  Entry low = 0, high = 0;
  for (const Entry entry : entries) {  // which compilers turn into vectors, other than std::ranges::minmax
    low = std::min(low, entry);
    high = std::max(high, entry);
  }
  if (high > largest || low < -largest)
    return error("{} has the entry {}, and at most {} can be proved", what, high > largest ? high : low, largest);
  return Done{};
}

// The slack of every bounded sum, if the model is where the anchor and past windows allow: an honest client's trouble,
// too, and told before anything is committed.
Result<SlackBits> sum_slacks(const RegistrationStatement& statement, const BoundedSums& sums, const ModelReader& model,
                             std::span<const EarlierModel> earlier, ThreadPool& pool) {
  const Layout& layout = statement.deployment->layout();
  std::vector<Wide> distances(sums.bounds.size()), slacks;
  for (size_t k = 0; k < sums.units.size(); ++k) {
    const bool covered = k < sums.covered_units;
    ZKAPEX_CHECK(add_distances(sums.units[k], rows_of(model, covered),
                               covered ? covered_reference(statement) : statement.base->others, pool, distances));
  }
  if (const Status near = check_anchor(*statement.deployment, distances); !near) {
    if (statement.update == nullptr) return near.error();
    return near.error().within("measured from where the windows have moved the base model");
  }
  for (size_t k = 0; k < distances.size(); ++k) slacks.push_back(sums.bounds[k] - distances[k]);
  std::vector<RuleSums> followed(sums.progress.size());
  for (const ProgressUnit& unit : sums.progress_units) {
    const PastGuide guide(layout, *statement.update, unit.window);
    ZKAPEX_CHECK(add_progress(unit, rows_of(model, true), earlier[unit.window], guide.rows(), pool, sums.bounds.size(),
                              followed));
  }
  for (size_t k = 0; k < followed.size(); ++k) {
    const Mask& mask = *statement.update->windows[sums.progress[k].window].mask;
    const std::optional<Wide> slack = slack_of(progress_rule(*mask.guidance), followed[k]);
    if (!slack)
      return error("tensor '{}' no longer follows the guide of the window '{}' as far as that asked for",
                   layout.tensors()[sums.progress[k].tensor].name, mask.window);
    slacks.push_back(*slack);
  }
  return SlackBits(sums.slacks, std::move(slacks));
}

// What windows removed has to stay removed.
Status check_removed(const Layout& layout, const RegistrationPlan& plan, const ModelReader& model) {
  const uint64_t n = plan.geometry().row;
  std::vector<int64_t> row(n);
  for (const PaddedSegment& segment : plan.padded()) {
    std::optional<uint64_t> read;
    for (const uint32_t i : segment.removed) {
      const uint64_t at = segment.rows.first_row + i / n;
      if (read != at) {
        ZKAPEX_CHECK(model.weights(at, row));
        read = at;
      }
      if (row[i % n] == 0) continue;
      const Layout::Place place = layout.place(*layout.coordinate(at * n + i % n));
      return error("tensor '{}' has weights that a window removed, element {} is one: train with these at zero",
                   layout.tensors()[place.tensor].name, place.element);
    }
  }
  return Done{};
}

// Com(C_p). A table of generators serves every row that is in memory with its columns: so a few columns of very many
// rows at a time, which are some rows of one square in each of them.
template <class Entry>
Result<CommittedRows> commit_curvature(const Deployment& deployment, const ProjectionShape& shape,
                                       const ModelReader& reader, size_t batch_bytes, const Generators& generators,
                                       Nonces& nonces, ThreadPool& pool) {
  constexpr uint64_t kMostRows = uint64_t{1} << 16, kFewestRows = 16;
  const Geometry& geometry = deployment.layout().geometry();
  // Half of the batch is for the rows' sums, half for entries.
  const uint64_t fit = std::clamp<uint64_t>(batch_bytes / 2 / curvature_row_bytes(pool.size()), kFewestRows, kMostRows);
  const uint64_t parts = (shape.rows + fit - 1) / fit, rows_at_once = (shape.rows + parts - 1) / parts;
  const uint64_t rows = shape.rows, s = geometry.stride(), row_lines = geometry.row / s;
  const unsigned bits = deployment.parameters().curvature_bits;
  CommittedRows out;
  const LargeBlocksKept tables;  // those of one part are as large as those of the next
  UnsetVector<Entry> entries;
  for (uint64_t first = 0; first < rows; first += rows_at_once) {
    const uint64_t count = std::min(rows_at_once, rows - first);
    const uint64_t most = std::min(s, row_lines);  // of one square
    const uint64_t lines = std::clamp<uint64_t>(batch_bytes / 2 / (count * s * sizeof(Entry)), 1, most);
    std::vector<Point> sums(count);
    for (uint64_t part = 0; part < row_lines; part += std::min(lines, most - part % most)) {
      const uint64_t width = std::min(lines, most - part % most) * s;
      entries.resize(count * width);
      FirstError failed;
      pool.for_ranges(count, 16, [&](size_t begin, size_t end) {
        for (size_t r = begin; r < end; ++r) {
          const auto to = std::span(entries).subspan(r * width, width);
          const uint64_t line = (first + r) * row_lines + part;
          failed.note(reader.square_rows(line / s, line % s, to));
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
  RegistrationWitness(const RegistrationStatement& statement, const RegistrationPlan& plan, const ModelReader& reader,
                      const KnownModels& known, SlackBits slacks, const Sha512::Digest& digest, size_t batch_bytes,
                      ProvedRegistration& out)
      : statement_(statement),
        deployment_(*statement.deployment),
        plan_(plan),
        reader_(reader),
        known_(known),
        slacks_(std::move(slacks)),
        digest_(digest),
        batch_bytes_(batch_bytes),
        out_(out) {}

  [[nodiscard]] Sha512::Digest digest() const override { return digest_; }

  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    generators_ = &generators;
    pool_ = &pool;
    Stopwatch watch;
    CommittedRows out;
    ZKAPEX_CHECK(commit_integers(weights(), shape(0), "a covered tensor", nonces, pool, out));
    out_.commit_model_seconds = watch.lap();
    if (plan_.curvature_rows() > 0) {
      const auto commit =
          deployment_.parameters().curvature_bits <= 8 ? &commit_curvature<int8_t> : &commit_curvature<int16_t>;
      ZKAPEX_TRY(const CommittedRows squares,
                 commit(deployment_, shape(1), reader_, batch_bytes_, generators, nonces, pool));
      out.append(squares);
    }
    out_.commit_curvature_seconds = watch.lap();
    if (plan_.unchanged_rows() > 0) {
      ZKAPEX_CHECK(commit_integers(unchanged(), shape(2), "a tensor that is not covered", nonces, pool, out));
    }
    if (plan_.sums()) {
      ZKAPEX_TRY(const CommittedRows slacks, commit_rows_var(generators, slacks_.packed(), nonces, pool));
      out.append(slacks);
    }
    out_.commit_model_seconds += watch.lap();
    return out;
  }

  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    Stopwatch watch;
    const std::vector<RowSource> sources = {weights(), squares(), unchanged()};
    const size_t stride = plan_.geometry().stride();
    const bool whole_squares = plan_.geometry().row >= stride * stride;
    std::vector<ProjectionProver> projections;
    for (const ProjectedRows& projected : plan_.projections()) {
      projections.emplace_back(projected.shape, sources[projected.number],
                               rows.blindings_from(projected.rows.first_row, projected.shape.rows),
                               projected.number == 1 && whole_squares ? stride : 0);
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
    if (plan_.sums()) powers_ = draw_anchor(prover.main(), plan_.sums()->groups());
    out_.project_seconds = watch.lap();
    keep_blindings(rows);
    return prove_forks(prover, rows, later, projections);
  }

 private:
  // Of the projection with that number, which is there.
  [[nodiscard]] const ProjectionShape& shape(uint64_t number) const {
    return std::ranges::find(plan_.projections(), number, &ProjectedRows::number)->shape;
  }

  Status prove_forks(ArgumentProver& prover, const CommittedRows& rows, const CommittedRows& later,
                     std::vector<ProjectionProver>& projections) {
    const size_t padded = plan_.padded().size(), first_later = plan_.shape().first_rows();
    size_t projection = 0, first = padded + (plan_.sums() ? plan_.sums()->forks() : 0);
    return prover.for_forks("unit", [&](size_t k, Sender& channel) -> Status {
      if (k < padded) return prove_padding(plan_.padded()[k], rows, channel, prover);
      if (projection == 0 && k < first) return prove_sum(k - padded, rows, channel, prover);
      if (projection == projections.size()) return prove_known(*plan_.current(), known_.current, channel, prover);
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

  // 0 = Σ_i eq(τ, i) u′(i) θ(i), u′ being 1 on padding and on what was removed
  Status prove_padding(const PaddedSegment& segment, const CommittedRows& rows, Sender& channel,
                       ArgumentProver& prover) const {
    const std::vector<Scalar> tau = channel.transcript().challenges("tau", segment.variables);
    std::vector<int64_t> values(segment.rows.rows * plan_.geometry().row);
    ZKAPEX_CHECK(reader_.weights(segment.rows.first_row, values));
    std::vector<uint8_t> free = free_indices(plan_.geometry(), segment.rows, segment.removed);
    Sumcheck sumcheck{.variables = segment.variables,
                      .degree = 3,
                      .tables = {{values}, {std::move(free)}},
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

  Status prove_sum(size_t fork, const CommittedRows& rows, Sender& channel, ArgumentProver& prover) const {
    const BoundedSums& sums = *plan_.sums();
    if (fork + 1 == sums.forks()) {
      const auto blindings = rows.blindings_from(sums.first_slack_row, sums.slacks.rows());
      return prove_slacks(sums.slacks, slacks_, powers_, blindings, channel, prover);
    }
    if (fork < sums.units.size()) {
      const AnchoredUnit& unit = sums.units[fork];
      const bool covered = fork < sums.covered_units;
      return prove_anchored(unit, powers_, rows_of(reader_, covered),
                            covered ? covered_reference(statement_) : statement_.base->others,
                            rows.blindings_from(unit.first_point, unit.rows), channel, prover);
    }
    const ProgressUnit& unit = sums.progress_units[fork - sums.units.size()];
    const PastGuide guide(deployment_.layout(), *statement_.update, unit.window);
    return prove_progress(unit, powers_, rows_of(reader_, true), known_.before[unit.window], guide.rows(),
                          rows.blindings_from(unit.rows.first_point, unit.rows.rows), channel, prover);
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
      constexpr uint64_t kEntriesAtOnce = uint64_t{1} << 20;
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
  // Curvature rows: n / S² squares each, or as much of one.
  [[nodiscard]] RowSource squares() const {
    return [this](const auto& visit) {
      return deployment_.parameters().curvature_bits <= 8 ? visit_squares<int8_t>(visit)
                                                          : visit_squares<int16_t>(visit);
    };
  }
  template <class Entry, class Visit>
  Status visit_squares(const Visit& visit) const {
    // Bytes as they are; words become 64 bits and digits.
    constexpr uint64_t kEntriesAtOnce = uint64_t{1} << (sizeof(Entry) == 1 ? 23 : 20);
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

  const RegistrationStatement& statement_;
  const Deployment& deployment_;
  const RegistrationPlan& plan_;
  const ModelReader& reader_;
  const KnownModels& known_;
  const SlackBits slacks_;
  std::vector<Scalar> powers_;  // γ^k
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
  return prove_update(statement, plan, model, {}, batch_bytes, generators, pool, std::move(options));
}

Result<ProvedRegistration> prove_update(const RegistrationStatement& statement, const RegistrationPlan& plan,
                                        const ModelReader& model, const KnownModels& known, size_t batch_bytes,
                                        const Generators& generators, ThreadPool& pool, ProveOptions options) {
  ZKAPEX_CHECK(check_removed(statement.deployment->layout(), plan, model));
  SlackBits slacks;
  if (plan.sums()) {
    ZKAPEX_TRY(slacks, sum_slacks(statement, *plan.sums(), model, known.before, pool));
  }
  ZKAPEX_TRY(const Sha512::Digest digest, model.digest(pool));
  ProvedRegistration out;
  RegistrationWitness witness(statement, plan, model, known, std::move(slacks), digest, batch_bytes, out);
  ZKAPEX_TRY(out.proof, prove(RegistrationRelation(statement, plan), witness, generators, pool, std::move(options)));
  return out;
}

}  // namespace zkapex
