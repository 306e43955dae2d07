#include "cli/kernel_figures.h"

#include <sodium/crypto_core_ristretto255.h>
#include <sodium/crypto_scalarmult_ristretto255.h>

#include <functional>
#include <random>

#include "algebra/fold.h"
#include "algebra/msm.h"
#include "algebra/row_commit.h"
#include "algebra/ternary.h"
#include "argument/sumcheck_kernels.h"
#include "cli/made_up_window.h"

namespace zkapex::cli {

namespace {

constexpr const char* kSodium = "libsodium";
constexpr const char* kPortable = "portable path";

using Random = std::mt19937_64;

template <size_t N>
std::array<uint8_t, N> random_bytes(Random& random) {
  std::array<uint8_t, N> out;
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(random());
  return out;
}

std::vector<Scalar> random_scalars(Random& random, size_t count) {
  std::vector<Scalar> out(count);
  for (Scalar& s : out) s = Scalar::from_bytes_wide(random_bytes<64>(random));
  return out;
}

// Points of which no small relation is known: P, 2P + Q, 4P + 3Q, …
std::vector<Point> random_points(Random& random, size_t count) {
  std::vector<Point> out(count);
  Point p = Point::from_uniform_bytes(random_bytes<64>(random));
  const Point step = Point::from_uniform_bytes(random_bytes<64>(random));
  for (Point& o : out) {
    o = p;
    p = p.twice() + step;
  }
  return out;
}

// Independent products, 64 at hand: throughput, not latency.
Result<KernelFigure> field_mul(const std::string& name, const Effort& effort) {
  constexpr size_t kElements = 64, kRounds = 64;
  Random random(1);
  std::vector<Fe> x;
  while (x.size() < kElements) x.push_back(Fe::from_bytes(random_bytes<32>(random)));
  const Fe y = Fe::from_bytes(random_bytes<32>(random));
  const auto time = [&](const GroupKernels& kernels) {
    return median_ns(effort, kElements * kRounds,
                     [&] { kernels.repeat_multiplication(x.data()->v, kElements, y.v, kRounds); });
  };
  return KernelFigure{name, "product", time(group_kernels()), kPortable, time(portable_group_kernels())};
}

// An affine point to each of 32 points in extended coordinates.
Result<KernelFigure> point_madd(const std::string& name, const Effort& effort) {
  constexpr size_t kPoints = 32, kRounds = 32;
  Random random(2);
  std::vector<ExtendedPoint> p;
  for (const Point& point : random_points(random, kPoints)) p.push_back(point.extended());
  const AffinePoint q = batch_to_affine(random_points(random, 1))[0];
  const auto time = [&](const GroupKernels& kernels) {
    return median_ns(effort, kPoints * kRounds,
                     [&] { kernels.repeat_mixed_addition(p.data()->X.v, kPoints, q.x.v, kRounds); });
  };
  return KernelFigure{name, "addition", time(group_kernels()), kPortable, time(portable_group_kernels())};
}

// 2^16 rows of 4,096 bytes, of which the first `stripe` columns are committed: a row's other columns cost the same
// again. Tables are built for every batch of 2^16 rows, so their share of the time is that of any larger number of rows
// too. Entries are uniform: hardly a chunk of the rows is zero and comes for free.
Result<KernelFigure> commit_rows(const std::string& name, const std::string& operation, const Effort& effort,
                                 unsigned entry_bits) {
  constexpr size_t kRows = size_t{1} << 16, kRowBytes = 4096;
  const size_t stripe = effort.samples < kThorough.samples ? 32 : 128;
  Random random(3);
  std::vector<int8_t> bytes(kRows * kRowBytes);
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t k = 0; k < stripe; ++k) bytes[r * kRowBytes + k] = static_cast<int8_t>(random());
  }
  ZKAPEX_TRY(PackedRows rows, view_rows(bytes, kRowBytes));
  rows.bits = entry_bits;
  rows.entries = 8 * stripe / entry_bits;
  const std::vector<AffinePoint> generators = batch_to_affine(random_points(random, rows.entries));
  ThreadPool pool(1);
  const auto time = [&](const GroupKernels& kernels) {
    return median_ns(effort.with_samples_up_to(3), rows.rows * rows.entries,
                     [&] { keep(commit_rows_var(generators, rows, pool, kernels).ok()); });
  };
  return KernelFigure{name, operation, time(group_kernels()), kPortable, time(portable_group_kernels())};
}

Result<KernelFigure> commit_int8(const std::string& name, const Effort& effort) {
  return commit_rows(name, "entry", effort, 8);
}

// The same number of rows, each the line of mean length, 171 of 256, of a factor, with signs drawn anew.
Result<KernelFigure> commit_factor(const std::string& name, const Effort& effort) {
  constexpr size_t kFactors = 32, kLine = 170;
  const size_t rows = size_t{1} << (effort.samples < kThorough.samples ? 14 : 16), width = kLine + 1;
  const FactorSettings settings{};
  ZKAPEX_TRY(const std::vector<int16_t> factors, made_up_factors(settings, kFactors, 3));
  Random random(3);
  std::vector<int8_t> bytes(rows * width);
  for (size_t r = 0; r < rows; ++r) {
    const int16_t* line = &factors[random() % kFactors * triangle_size(settings.block) + triangle_size(kLine)];
    const int sign = random() % 2 == 0 ? 1 : -1;
    for (size_t l = 0; l < width; ++l) bytes[r * width + l] = static_cast<int8_t>(sign * line[l]);
  }
  ZKAPEX_TRY(const PackedRows view, view_rows(bytes, width));
  const std::vector<AffinePoint> generators = batch_to_affine(random_points(random, width));
  ThreadPool pool(1);
  const auto time = [&](const GroupKernels& kernels) {
    return median_ns(effort.with_samples_up_to(3), rows * width,
                     [&] { keep(commit_rows_var(generators, view, pool, kernels).ok()); });
  };
  return KernelFigure{name, "entry", time(group_kernels()), kPortable, time(portable_group_kernels())};
}

Result<KernelFigure> commit_bit(const std::string& name, const Effort& effort) {
  return commit_rows(name, "bit", effort, 1);
}

// Independent products, as they stand in sums and tables.
Result<KernelFigure> scalar_mul(const std::string& name, const Effort& effort) {
  constexpr size_t kProducts = 256;
  Random random(4);
  std::vector<Scalar> x = random_scalars(random, kProducts);
  const std::vector<Scalar> y = random_scalars(random, kProducts);
  std::array<uint8_t, 32> product = x[0].to_bytes();
  const std::array<uint8_t, 32> factor = y[0].to_bytes();
  return KernelFigure{name, "product",
                      median_ns(effort, kProducts,
                                [&] {
                                  for (size_t k = 0; k < kProducts; ++k) x[k] = x[k] * y[k];
                                  keep(x);
                                }),
                      kSodium, median_ns(effort, 1, [&] {
                        crypto_core_ristretto255_scalar_mul(product.data(), product.data(), factor.data());
                        keep(product);
                      })};
}

// Tables of a sumcheck, folded by a challenge and stored at half their length, round after round.
class FoldedTables {
 public:
  static constexpr size_t kEntries = 4096;

  FoldedTables(size_t count, const SumcheckKernels& kernels)
      : pairs(count), kernels_(kernels), folded_(count, std::vector<Scalar>(kEntries / 2)), twice_(folded_) {
    Random random(10);
    for (size_t t = 0; t < count; ++t) tables_.push_back(random_scalars(random, kEntries));
    challenge_ = random_scalars(random, 1)[0];
  }
  // The first round, of scalars as they are, calls `then` for each chunk of pairs.
  void fold(const std::function<void(size_t)>& then) {
    round({SumcheckKernels::Form::kScalars, false, kEntries, nullptr}, tables_, folded_, then);
  }
  // The second, of what the first stored.
  void fold_again() {
    round({SumcheckKernels::Form::kStored, false, kEntries / 2, nullptr}, folded_, twice_, [](size_t) {});
  }

  std::vector<SumcheckKernels::Pairs> pairs;  // of the chunk that was loaded

 private:
  using Tables = std::vector<std::vector<Scalar>>;

  void round(SumcheckKernels::Entries entries, const Tables& from, Tables& to,
             const std::function<void(size_t)>& then) {
    const size_t all = entries.length / 4;
    for (size_t start = 0; start < all; start += SumcheckKernels::kChunk) {
      const size_t size = std::min(SumcheckKernels::kChunk, all - start);
      for (size_t t = 0; t < from.size(); ++t) {
        entries.values = from[t].data();
        kernels_.load(entries, nullptr, challenge_.montgomery_words().data(), start, size,
                      reinterpret_cast<uint64_t*>(to[t].data()), &pairs[t]);
      }
      then(size);
    }
  }

  const SumcheckKernels& kernels_;
  Tables tables_, folded_, twice_;
  Scalar challenge_;
};

// Independent products, 256 at hand: throughput, not latency.
Result<KernelFigure> scalar_product(const std::string& name, const Effort& effort) {
  constexpr size_t kPairs = SumcheckKernels::kChunk, kRounds = 16;
  Random random(11);
  const std::vector<Scalar> x = random_scalars(random, 2 * kPairs), y = random_scalars(random, 1);
  const SumcheckKernels::Entries entries{SumcheckKernels::Form::kScalars, false, x.size(), x.data()};
  const auto time = [&](const SumcheckKernels& kernels) {
    SumcheckKernels::Pairs pairs;
    kernels.load(entries, nullptr, nullptr, 0, kPairs, nullptr, &pairs);
    return median_ns(effort, x.size() * kRounds, [&] {
      kernels.repeat_multiplication(&pairs, y[0].montgomery_words().data(), kRounds);
      keep(pairs);
    });
  };
  return KernelFigure{name, "product", time(sumcheck_kernels()), kPortable,
                      time(sumcheck_kernels(InstructionSet::kPortable))};
}

// One product mod l for each entry that is stored, with all that stands between memory and it.
Result<KernelFigure> scalar_fold(const std::string& name, const Effort& effort) {
  const auto time = [&](const SumcheckKernels& kernels) {
    FoldedTables tables(1, kernels);
    tables.fold([](size_t) {});
    return median_ns(effort, FoldedTables::kEntries / 4, [&] {
      tables.fold_again();
      keep(tables.pairs);
    });
  };
  return KernelFigure{name, "product", time(sumcheck_kernels()), kPortable,
                      time(sumcheck_kernels(InstructionSet::kPortable))};
}

// Two tables folded, and the product of what they become summed.
Result<KernelFigure> sumcheck_pair(const std::string& name, const Effort& effort) {
  const auto time = [&](const SumcheckKernels& kernels) {
    FoldedTables tables(2, kernels);
    return median_ns(effort, FoldedTables::kEntries / 4, [&] {
      const SumcheckKernels::Pairs* factors[2] = {&tables.pairs[0], &tables.pairs[1]};
      SumcheckKernels::Sums sums{};
      tables.fold([&](size_t size) {
        kernels.add_products(SumcheckKernels::Product::kTwo, false, false, factors, 0, size, nullptr, nullptr, &sums);
      });
      keep(sums);
    });
  };
  return KernelFigure{name, "pair", time(sumcheck_kernels()), kPortable,
                      time(sumcheck_kernels(InstructionSet::kPortable))};
}

Result<KernelFigure> fold_int8(const std::string& name, const Effort& effort) {
  constexpr size_t kRows = 8192, kCols = 4096;
  Random random(5);
  std::vector<int8_t> entries(kRows * kCols);
  for (int8_t& entry : entries) entry = static_cast<int8_t>(random());
  const IntMatrix matrix(entries.data(), kRows, kCols, kCols);
  const std::vector<Scalar> weights = random_scalars(random, kRows);
  ThreadPool pool(1);
  const auto time = [&](const fold_kernels::Kernels& kernels) {
    return median_ns(effort.with_samples_up_to(5), kRows * kCols,
                     [&] { keep(fold_rows(matrix, weights, pool, kernels)); });
  };
  return KernelFigure{name, "entry", time(native_fold_kernels()), kPortable, time(fold_kernels::kPortable)};
}

// Rows of bytes by a matrix of 192 × 1,024, as a registration projects the curvature.
Result<KernelFigure> project_int8(const std::string& name, const Effort& effort) {
  constexpr size_t kCount = 192, kChunk = 1024, kVectors = 256;
  Random random(9);
  Bytes bits(kCount * kChunk / 4);
  for (uint8_t& byte : bits) byte = static_cast<uint8_t>(random());
  const TernaryMatrix matrix(kCount, kChunk, bits);
  std::vector<int8_t> entries(kVectors * kChunk);
  for (int8_t& entry : entries) entry = static_cast<int8_t>(random());
  std::vector<int32_t> sums(kVectors * kCount);
  ThreadPool pool(1);
  const auto time = [&](ternary_kernels::Multiply kernel) {
    return median_ns(effort.with_samples_up_to(5), entries.size(), [&] {
      matrix.multiply({entries.data(), kVectors, kChunk}, sums, pool, kernel);
      keep(sums);
    });
  };
  return KernelFigure{name, "entry", time(native_ternary_multiply()), kPortable,
                      time(ternary_kernels::multiply_portable)};
}

// Of affine points, for libsodium of encoded ones: it knows no others.
Result<KernelFigure> msm_131072(const std::string& name, const Effort& effort) {
  constexpr size_t kPoints = 131072;
  Random random(6);
  const std::vector<AffinePoint> points = batch_to_affine(random_points(random, kPoints));
  const std::vector<Scalar> scalars = random_scalars(random, kPoints);
  ThreadPool pool(1);
  const double ns =
      median_ns(effort.with_samples_up_to(3), kPoints, [&] { keep(msm_var(scalars, points, pool).ok()); });

  const std::array<uint8_t, 32> scalar = scalars[0].to_bytes(), point = Point(points[0]).encode();
  int failures = 0;
  const double baseline_ns = median_ns(effort, 1, [&] {
    std::array<uint8_t, 32> product;
    failures += crypto_scalarmult_ristretto255(product.data(), scalar.data(), point.data());
    keep(product);
  });
  if (failures != 0) return error("libsodium refused to multiply a point");
  return KernelFigure{name, "point", ns, kSodium, baseline_ns};
}

constexpr size_t kBatch = 1024;

Result<KernelFigure> decompress(const std::string& name, const Effort& effort) {
  Random random(7);
  const std::vector<std::array<uint8_t, 32>> encodings = encode_batch(random_points(random, kBatch));
  return KernelFigure{
      name, "point", median_ns(effort, kBatch, [&] { keep(decode_batch(encodings).ok()); }), kSodium,
      median_ns(effort, 1, [&] { keep(crypto_core_ristretto255_is_valid_point(encodings[0].data())); })};
}

// 64 uniform bytes to the encoding of an element: what libsodium's function gives.
Result<KernelFigure> hash_to_group(const std::string& name, const Effort& effort) {
  Random random(8);
  std::vector<std::array<uint8_t, 64>> hashes(kBatch);
  for (auto& hash : hashes) hash = random_bytes<64>(random);
  return KernelFigure{name, "point",
                      median_ns(effort, kBatch, [&] { keep(encode_batch(from_uniform_bytes_batch(hashes))); }), kSodium,
                      median_ns(effort, 1, [&] {
                        std::array<uint8_t, 32> element;
                        crypto_core_ristretto255_from_hash(element.data(), hashes[0].data());
                        keep(element);
                      })};
}

}  // namespace

const std::vector<KernelBench>& kernel_benches() {
  static const std::vector<KernelBench> benches = {
      {"field_mul", field_mul},           {"point_madd", point_madd},       {"commit_int8", commit_int8},
      {"commit_bit", commit_bit},         {"commit_factor", commit_factor}, {"scalar_mul", scalar_mul},
      {"scalar_product", scalar_product}, {"scalar_fold", scalar_fold},     {"sumcheck_pair", sumcheck_pair},
      {"fold_int8", fold_int8},           {"project_int8", project_int8},   {"msm_131072", msm_131072},
      {"decompress", decompress},         {"hash_to_group", hash_to_group},
  };
  return benches;
}

}  // namespace zkapex::cli
