#include "argument/projection.h"

#include <algorithm>
#include <array>

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "base/bits.h"
#include "base/hash.h"

namespace zkapex {

namespace {

constexpr size_t kMaxChunk = size_t{1} << 16;  // products of bytes are summed in 32 bits
constexpr unsigned kMaxCount = 256;

// Challenges of the link, and the points that follow.
struct LinkPoint {
  std::vector<Scalar> tau, rho;
  std::vector<Scalar> row_weights;        // eq(τ_t, t), t < T
  std::vector<Scalar> v_row, v_position;  // weights of v's rows, and where they are opened
  std::vector<Scalar> folded;             // E
  std::span<const Scalar> tau_chunk;      // τ_c

  LinkPoint(const ProjectionShape& shape, const TernaryMatrix& matrix, Transcript& transcript, ThreadPool& pool)
      : tau(transcript.challenges("tau", shape.row_variables() + shape.chunk_variables())),
        rho(transcript.challenges("rho", shape.count_variables())),
        row_weights(eq_prefix(std::span(tau).first(shape.row_variables()), shape.rows)),
        folded(matrix.fold(eq_prefix(rho, shape.count), pool)),
        tau_chunk(std::span(tau).subspan(shape.row_variables())) {
    // Index (t, c, q) of v; where v is shorter than a row, it is the beginning of one.
    const unsigned position = log2_ceil(shape.row_length);
    const auto variables = static_cast<unsigned>(tau.size() + rho.size());
    std::vector<Scalar> point(std::max(variables, position) - variables);
    point.insert(point.end(), tau.begin(), tau.end());
    point.insert(point.end(), rho.begin(), rho.end());
    const size_t rows = point.size() - position;
    v_row = eq_prefix(std::span(point).first(rows), shape.unit_rows());
    v_position.assign(point.begin() + static_cast<ptrdiff_t>(rows), point.end());
  }
};

// Digits of base 256, each from −128 to 127; d-th of all values after one another.
UnsetVector<int8_t> digits_of(std::span<const int64_t> values, size_t digits, ThreadPool& pool) {
  UnsetVector<int8_t> out(values.size() * digits);
  pool.for_ranges(values.size(), 4096, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      int64_t rest = values[k];
      for (size_t d = 0; d < digits; ++d) {
        const auto digit = static_cast<int8_t>(rest);
        out[d * values.size() + k] = digit;
        rest = (rest - digit) >> 8;
      }
    }
  });
  return out;
}

// The groups of a chunk in which a square may have entries on or below its diagonal.
std::vector<uint32_t> live_groups(const ProjectionShape& shape, size_t chunk, size_t triangle) {
  constexpr size_t kGroup = ternary_kernels::kGroup;
  std::vector<uint32_t> out;
  if (triangle < kGroup) return out;
  for (size_t l = 0; l < shape.chunk; l += kGroup) {
    const size_t position = chunk * shape.chunk + l, row = position / triangle % triangle, column = position % triangle;
    if (column <= row) out.push_back(static_cast<uint32_t>(l));
  }
  return out;
}

// v of rows as they come, in whole rows of v.
class Projector {
 public:
  Projector(const ProjectionShape& shape, const TernaryMatrix& matrix, size_t triangle, BitMatrix& bits,
            ThreadPool& pool)
      : shape_(shape), matrix_(matrix), bits_(bits), pool_(pool), unit_left_(shape.units[0]) {
    for (size_t c = 0; c < shape.row_length / shape.chunk; ++c) live_.push_back(live_groups(shape, c, triangle));
    // d digits from −128 to 127 reach 127 (256^d − 1) / 255: all that v has room for, so that nothing is lost unseen.
    const uint128 size = (uint128{1} << (shape.bits - 1)) - 1;
    for (uint128 most = 127; most < size; most = 256 * most + 127) ++digits_;
  }

  void add(const IntegerRows& rows) {
    std::visit([this](const auto& entries) { add_rows(entries); }, rows);
  }
  void finish() {
    if (buffer_.empty()) return;
    buffer_.resize(shape_.row_length);
    flush(shape_.row_length);
  }

 private:
  void add_rows(std::span<const int8_t> entries) {
    start(entries.size());
    add_all(entries.data(), entries.size(), 1);
    flush_whole_rows();
  }
  void add_rows(std::span<const int16_t> entries) {
    const std::vector<int64_t> wide(entries.begin(), entries.end());
    add_digits(wide, 3);
  }
  void add_rows(std::span<const int64_t> entries) { add_digits(entries, digits_); }

  void add_digits(std::span<const int64_t> entries, size_t count) {
    start(entries.size());
    const UnsetVector<int8_t> digits = digits_of(entries, count, pool_);
    add_all(digits.data(), entries.size(), count);
    flush_whole_rows();
  }

  void start(size_t entries) {
    rows_ = entries / shape_.row_length;
    first_ = buffer_.size();
    buffer_.resize(first_ + rows_ * shape_.values_per_row());
  }
  // `count` digits of `size` entries each, in parallel by chunk and some rows.
  void add_all(const int8_t* digits, size_t size, size_t count) {
    constexpr size_t kRowsAtOnce = 32;
    const size_t parts = (rows_ + kRowsAtOnce - 1) / kRowsAtOnce;
    pool_.for_each(live_.size() * parts, [&](size_t task) {
      const size_t chunk = task / parts, first = task % parts * kRowsAtOnce;
      const size_t rows = std::min(kRowsAtOnce, rows_ - first);
      std::vector<int32_t> sums(rows * shape_.count);
      for (size_t d = 0; d < count; ++d) {
        const int8_t* vectors = digits + d * size + first * shape_.row_length + chunk * shape_.chunk;
        matrix_.multiply({vectors, rows, shape_.row_length, live_[chunk]}, sums, pool_);
        for (size_t t = 0; t < rows; ++t) add_sums(std::span(sums).subspan(t * shape_.count), first + t, chunk, 8 * d);
      }
    });
  }
  void add_sums(std::span<const int32_t> sums, size_t row, size_t chunk, size_t shift) {
    uint64_t* to = buffer_.data() + first_ + ((row * live_.size() + chunk) << shape_.count_variables());
    for (size_t q = 0; q < shape_.count; ++q) to[q] += static_cast<uint64_t>(int64_t{sums[q]}) << shift;
  }
  void flush_whole_rows() { flush(buffer_.size() / shape_.row_length * shape_.row_length); }
  void flush(size_t words) {
    for (size_t done = 0; done < words;) {
      if (unit_left_ == 0) unit_left_ = shape_.units[++unit_];
      const size_t rows = std::min(unit_left_, (words - done) / shape_.row_length);
      bits_.fill(unit_, shape_.units[unit_] - unit_left_, std::span(buffer_).subspan(done, rows * shape_.row_length),
                 pool_);
      unit_left_ -= rows;
      done += rows * shape_.row_length;
    }
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(words));
  }

  const ProjectionShape& shape_;
  const TernaryMatrix& matrix_;
  BitMatrix& bits_;
  ThreadPool& pool_;
  std::vector<std::vector<uint32_t>> live_;  // by chunk
  size_t digits_ = 1;
  std::vector<uint64_t> buffer_;  // values of v that make no whole row yet
  size_t rows_ = 0, first_ = 0;   // of what is being added: how many, and where its values begin
  size_t unit_ = 0, unit_left_;
};

}  // namespace

unsigned ProjectionShape::chunk_variables() const { return log2_ceil(row_length / chunk); }
unsigned ProjectionShape::count_variables() const { return log2_ceil(count); }
unsigned ProjectionShape::row_variables() const { return log2_ceil(rows); }

size_t ProjectionShape::unit_rows() const { return (rows * values_per_row() + row_length - 1) / row_length; }

int64_t ProjectionShape::largest() const { return ((int64_t{1} << (bits - 1)) - 1) / static_cast<int64_t>(chunk); }

std::vector<size_t> ProjectionShape::fork_scalars() const {
  const BitUnits all = bit_units();
  std::vector<size_t> out;
  for (size_t k = 0; k < units.size(); ++k) out.push_back(all.scalars(k));
  out.push_back(2 + size_t{2} * log2_ceil(row_length));  // v, two scalars a round, f
  return out;
}

Verdict ProjectionShape::sound() const {
  const auto refused = [](std::string why) { return Rejection{Reason::kStatement, std::move(why)}; };
  if (!is_row_length(row_length)) return refused("the row length is not a supported power of two");
  if (rows < 1 || rows > kMaxRows) return refused(fmt::format("{} rows, not 1 to {}", rows, kMaxRows));
  if (chunk < 1 || chunk > std::min(row_length, kMaxChunk) || !std::has_single_bit(chunk))
    return refused(fmt::format("chunks of {} are not a power of two up to the row and {}", chunk, kMaxChunk));
  if (count < 1 || count > kMaxCount) return refused(fmt::format("{} projections, not 1 to {}", count, kMaxCount));
  if (bits < 2 || bits > 63) return refused(fmt::format("{} bits, not 2 to 63", bits));
  ZKAPEX_CHECK(bit_units().sound());
  if (bit_units().all_rows() != unit_rows()) return refused("the units do not have all rows of the projections");
  return Done{};
}

std::vector<size_t> standard_units(const ProjectionShape& shape) {
  const size_t most = std::max<size_t>(1, (size_t{1} << 22) / shape.row_length);
  std::vector<size_t> out;
  if ((shape.unit_rows() + most - 1) / most > kMaxForks) return out;
  for (size_t left = shape.unit_rows(); left > 0; left -= out.back()) out.push_back(std::min(left, most));
  return out;
}

TernaryMatrix draw_projection(const ProjectionShape& shape, const Scalar& challenge, uint32_t number) {
  // SHA-512("zkapex projection" ‖ challenge ‖ u32 number ‖ u64 counter), 256 entries a digest
  ByteWriter beginning;
  beginning.raw(view("zkapex projection"));
  beginning.raw(challenge.to_bytes());
  beginning.u32(number);
  constexpr size_t kAtOnce = 64;
  const size_t size = beginning.bytes().size() + sizeof(uint64_t);
  Bytes messages(kAtOnce * size);
  for (size_t k = 0; k < kAtOnce; ++k) std::ranges::copy(beginning.bytes(), &messages[k * size]);
  std::array<Sha512::Digest, kAtOnce> digests;
  uint64_t counter = 0;
  return {shape.count, shape.chunk, [&] {
            for (size_t end = size; end <= messages.size(); end += size, ++counter) {
              for (size_t k = 0; k < sizeof counter; ++k)
                messages[end - sizeof counter + k] = static_cast<uint8_t>(counter >> (8 * k));
            }
            sha512_each(messages, size, digests);
            return ByteView(digests[0].data(), sizeof digests);
          }};
}

ProjectionProver::ProjectionProver(const ProjectionShape& shape, RowSource source, std::span<const Scalar> blindings,
                                   size_t triangle)
    : shape_(shape), source_(std::move(source)), blindings_(blindings), triangle_(triangle) {}

Result<BitMatrix> project(const ProjectionShape& shape, const TernaryMatrix& matrix, const RowSource& source,
                          size_t triangle, ThreadPool& pool) {
  BitMatrix out(shape.row_length, shape.bits, shape.units);
  Projector projector(shape, matrix, triangle, out, pool);
  ZKAPEX_CHECK(source([&](const IntegerRows& rows) {
    projector.add(rows);
    return Status(Done{});
  }));
  projector.finish();
  return out;
}

Status ProjectionProver::draw(const Scalar& challenge, uint32_t number, ThreadPool& pool) {
  matrix_ = draw_projection(shape_, challenge, number);
  ZKAPEX_TRY(bits_, project(shape_, *matrix_, source_, triangle_, pool));
  return Done{};
}

Status ProjectionProver::prove(size_t fork, std::span<const Scalar> blindings, Sender& channel,
                               ArgumentProver& prover) {
  if (fork == shape_.units.size()) return link(blindings, channel, prover);
  return prove_unit(shape_.bit_units(), fork, *bits_, blindings, channel, prover);
}

Result<std::vector<Scalar>> ProjectionProver::fold(std::span<const Scalar> weights, ThreadPool& pool) const {
  const size_t n = shape_.row_length;
  std::optional<RowFolder> narrow;
  std::vector<Scalar> wide(n);
  size_t next = 0;
  ZKAPEX_CHECK(source_([&](const IntegerRows& rows) {
    std::visit(
        [&](const auto& entries) {
          const size_t count = entries.size() / n;
          const auto of_rows = weights.subspan(next, count);
          if constexpr (std::is_same_v<decltype(entries), const std::span<const int64_t>&>) {
            const std::vector<Scalar> sums = fold_i64(entries, n, of_rows, pool);
            for (size_t l = 0; l < n; ++l) wide[l] += sums[l];
          } else {
            if (!narrow) narrow.emplace(n, pool, triangle_);
            narrow->add({entries.data(), count, n, n}, of_rows);
          }
          next += count;
        },
        rows);
    return Status(Done{});
  }));
  if (!narrow) return wide;
  const std::vector<Scalar> sums = narrow->finish();
  for (size_t l = 0; l < n; ++l) wide[l] += sums[l];
  return wide;
}

Status ProjectionProver::link(std::span<const Scalar> blindings, Sender& channel, ArgumentProver& prover) {
  ThreadPool& pool = prover.pool();
  const LinkPoint at(shape_, *matrix_, channel.transcript(), pool);
  ZKAPEX_TRY(std::vector<Scalar> f, fold(at.row_weights, pool));
  std::vector<Scalar> weights;
  weights.reserve(shape_.row_length);
  for (const Scalar& chunk : eq_table(at.tau_chunk)) {
    for (const Scalar& entry : at.folded) weights.push_back(chunk * entry);
  }
  ProverPair v = fold_value_rows(shape_.bit_units(), *bits_, blindings, at.v_row, pool);
  v.point = at.v_position;
  v.value = channel.send("v", {evaluate(v.vector, v.point)})[0];
  Sumcheck sumcheck{.variables = log2_ceil(shape_.row_length),
                    .degree = 2,
                    .tables = {{f}, {std::move(weights)}},
                    .terms = {{Scalar::one(), {0, 1}}},
                    .eq_point = {},
                    .bits = {}};
  const SumcheckProof end = prove_sumcheck(channel, "link", std::move(sumcheck), v.value, pool);
  ProverPair row{std::move(f), {}, end.point, {}};
  row.value = channel.send("f", {end.tables[0]}, std::span(&end.tables[1], 1), end.claim)[0];
  for (size_t t = 0; t < shape_.rows; ++t) row.blinding += at.row_weights[t] * blindings_[t];
  ZKAPEX_CHECK(prover.add_pair(std::move(v)));
  return prover.add_pair(std::move(row));
}

void replay_projection(const ProjectionShape& shape, size_t fork, const TernaryMatrix& matrix,
                       const ProjectionNumbers& numbers, Receiver& channel, ArgumentVerifier& verifier) {
  const BitUnits units = shape.bit_units();
  if (fork < shape.units.size()) return replay_unit(units, fork, numbers.first_bit_row, channel, verifier);
  const LinkPoint at(shape, matrix, channel.transcript(), verifier.pool());
  const Expression v = channel.receive("v", 1)[0];
  const SumcheckClaim end = verify_sumcheck(channel, "link", log2_ceil(shape.row_length), 2, v);
  const Expression f = channel.receive("f", 1)[0];
  const auto xi_chunk = std::span(end.point).first(at.tau_chunk.size());
  const auto xi_inside = std::span(end.point).subspan(at.tau_chunk.size());
  verifier.require_zero(end.claim - f * (eq(at.tau_chunk, xi_chunk) * evaluate(at.folded, xi_inside)));
  VerifierPair projections{{}, at.v_position, v}, row{{}, end.point, f};
  add_value_rows(projections.commitment, units, numbers.first_bit_row, at.v_row);
  for (size_t t = 0; t < shape.rows; ++t) row.commitment.emplace_back(numbers.first_row + t, at.row_weights[t]);
  verifier.add_pair(std::move(projections));
  verifier.add_pair(std::move(row));
}

}  // namespace zkapex
