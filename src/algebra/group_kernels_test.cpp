#include "algebra/group_kernels.h"

#include <gtest/gtest.h>

#include <cfenv>

#include "algebra/group_testing.h"
#include "algebra/msm.h"
#include "algebra/ristretto_vectors.h"
#include "base/bytes.h"

namespace zkapex {
namespace {

const uint64_t* words(const Fe& x) { return x.v; }
uint64_t* words(Fe& x) { return x.v; }
const uint64_t* words(const AffinePoint& p) { return p.x.v; }
uint64_t* words(ExtendedPoint& p) { return p.X.v; }

class EveryKernel : public ::testing::TestWithParam<const GroupKernels*> {
 protected:
  const GroupKernels& kernels = *GetParam();
  std::mt19937_64 rng{1};

  Fe random_element() { return Fe::from_bytes(testing::random_bytes<32>(rng)); }
  std::vector<AffinePoint> random_affine(size_t count) { return batch_to_affine(testing::many_points(rng, count)); }
  std::vector<TableEntry> entries(std::span<const AffinePoint> points) {
    std::vector<TableEntry> out(points.size());
    if (!points.empty()) kernels.make_entries(words(points[0]), points.size(), out.data());
    return out;
  }
};

// Elements whose limbs are at the bounds, where a wrong rounding or a lost carry shows.
std::vector<Fe> edge_factors() {
  std::vector<Fe> out = {Fe::zero(), Fe::one(), (-Fe::one()).carried(), kSqrtM1, kOneHalf};
  for (uint64_t limb : {Fe::kLimbMask, uint64_t{1} << 50, (uint64_t{1} << 50) - 1, Fe::kUnit - 1}) {
    Fe every;
    for (uint64_t& l : every.v) l = limb;
    out.push_back(every);
    for (size_t k = 0; k < 5; ++k) {
      Fe single = Fe::zero();
      single.v[k] = limb;
      out.push_back(single);
    }
  }
  return out;
}

TEST_P(EveryKernel, MultiplicationAgreesWithTheField) {
  std::vector<Fe> factors = edge_factors();
  for (int k = 0; k < 40; ++k) factors.push_back(random_element());
  for (const Fe& factor : factors) {
    std::vector<Fe> x(64);
    for (size_t k = 0; k < x.size(); ++k) x[k] = factors[k % factors.size()];
    for (size_t rounds : {size_t{0}, size_t{1}, size_t{5}}) {
      std::vector<Fe> product = x;
      kernels.repeat_multiplication(words(product[0]), product.size(), words(factor), rounds);
      for (size_t k = 0; k < x.size(); ++k) {
        Fe expected = x[k];
        for (size_t r = 0; r < rounds; ++r) expected = expected * factor;
        ASSERT_EQ(product[k].to_bytes(), expected.to_bytes());
      }
    }
  }
}

TEST_P(EveryKernel, MixedAdditionAgreesWithTheCurve) {
  const std::vector<AffinePoint> q = random_affine(5);
  for (size_t k = 0; k < q.size(); ++k) {
    const AffinePoint addend = k == 0 ? AffinePoint::identity() : q[k];
    std::vector<ExtendedPoint> p(32);
    for (size_t i = 0; i < p.size(); ++i) p[i] = to_extended(q[i % q.size()]);
    p[1] = ExtendedPoint::identity();
    p[2] = negate(to_extended(addend));
    std::vector<ExtendedPoint> sum = p;
    kernels.repeat_mixed_addition(words(sum[0]), sum.size(), words(addend), 3);
    for (size_t i = 0; i < p.size(); ++i) {
      EXPECT_EQ(Point(sum[i]), Point(p[i]) + Point(addend) + Point(addend) + Point(addend));
      EXPECT_EQ(sum[i].X * sum[i].Y, sum[i].Z * sum[i].T);
    }
  }
}

TEST_P(EveryKernel, PowerAgreesWithTheField) {
  for (size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{4}, size_t{7}, size_t{8}, size_t{9}, size_t{17}}) {
    std::vector<Fe> x = edge_factors();
    while (x.size() < count) x.push_back(random_element());
    x.resize(count);
    for (size_t k = count / 2; k < count; ++k) x[k] = random_element();
    std::vector<Fe> power = x;
    kernels.power_p58(count == 0 ? nullptr : words(power[0]), count);
    for (size_t k = 0; k < count; ++k) EXPECT_EQ(power[k].to_bytes(), x[k].power_p58().to_bytes());
  }
}

TEST_P(EveryKernel, TablesHoldSubsetSumsAndLookupsAddThem) {
  for (unsigned bits : {3U, 4U, 5U}) {
    for (size_t tables : {size_t{1}, size_t{2}, size_t{3}}) {
      const size_t size = size_t{1} << bits;
      std::vector<AffinePoint> basis = random_affine(tables * bits);
      basis.back() = AffinePoint::identity();
      std::vector<TableEntry> table(tables * size);
      std::vector<PointOctet> scratch(table_scratch_octets(table.size()));
      kernels.build_tables(entries(basis).data(), nullptr, tables, bits, table.data(), scratch.data());
      // Enough rows to run over a block of octets and into the next; row r looks up r + 3t mod 2^bits.
      for (size_t octets : {size_t{1}, size_t{3}, size_t{4}, size_t{5}, size_t{8}, size_t{9}, size_t{17}}) {
        const size_t count = 8 * octets;
        std::vector<uint16_t> indices(tables * count);
        for (size_t k = 0; k < indices.size(); ++k) {
          indices[k] = static_cast<uint16_t>((k % count + 3 * (k / count)) % size);
        }
        std::fill_n(indices.begin(), octets % 2 == 0 ? 8 : 4, uint16_t{0});
        std::vector<PointOctet> rows(octets);
        kernels.clear_octets(rows.data(), octets);
        kernels.add_lookups(rows.data(), octets, table.data(), tables, bits, indices.data(), count);
        std::vector<ExtendedPoint> sums(count);
        kernels.export_octets(rows.data(), octets, words(sums[0]));
        for (size_t r = 0; r < sums.size(); ++r) {
          Point expected;
          for (size_t t = 0; t < tables; ++t) {
            for (unsigned b = 0; b < bits; ++b) {
              if (indices[t * count + r] >> b & 1) expected += Point(basis[t * bits + b]);
            }
          }
          ASSERT_EQ(Point(sums[r]), expected);
        }
      }
    }
  }
}

TEST_P(EveryKernel, TablesHaveOriginsAndLookupsSigns) {
  const unsigned bits = 4;
  const size_t tables = 3, size = size_t{1} << bits;
  const std::vector<AffinePoint> basis = random_affine(tables * bits), origins = random_affine(tables);
  std::vector<TableEntry> table(tables * size);
  std::vector<PointOctet> scratch(table_scratch_octets(table.size()));
  kernels.build_tables(entries(basis).data(), entries(origins).data(), tables, bits, table.data(), scratch.data());
  for (size_t octets : {size_t{1}, size_t{4}, size_t{5}, size_t{9}}) {
    const size_t count = 8 * octets;
    std::vector<uint16_t> indices(tables * count);
    for (uint16_t& index : indices) index = static_cast<uint16_t>(rng() % size | (rng() % 2) << 15);
    std::fill_n(indices.begin(), 8, uint16_t{0});
    std::vector<PointOctet> rows(octets);
    kernels.clear_octets(rows.data(), octets);
    kernels.add_signed_lookups(rows.data(), octets, table.data(), tables, bits, indices.data(), count);
    std::vector<ExtendedPoint> sums(count);
    kernels.export_octets(rows.data(), octets, words(sums[0]));
    for (size_t r = 0; r < count; ++r) {
      Point expected;
      for (size_t t = 0; t < tables; ++t) {
        Point entry(origins[t]);
        for (unsigned b = 0; b < bits; ++b) {
          if (indices[t * count + r] >> b & 1) entry += Point(basis[t * bits + b]);
        }
        expected += indices[t * count + r] >> 15 != 0 ? -entry : entry;
      }
      ASSERT_EQ(Point(sums[r]), expected) << r;
    }
  }
}

TEST_P(EveryKernel, EntriesAreAddedToOctetsOfRows) {
  const std::vector<AffinePoint> points = random_affine(20);
  const std::vector<TableEntry> table = entries(points);
  const std::vector<uint16_t> counts = {2, 0, 1, 5, 0};
  std::vector<uint16_t> indices(8 * 8);
  for (uint16_t& index : indices) index = static_cast<uint16_t>(rng() % points.size());
  std::vector<PointOctet> rows(counts.size());
  kernels.clear_octets(rows.data(), rows.size());
  kernels.add_entries(rows.data(), rows.size(), table.data(), indices.data(), counts.data());
  std::vector<ExtendedPoint> sums(8 * rows.size());
  kernels.export_octets(rows.data(), rows.size(), words(sums[0]));
  size_t next = 0;
  for (size_t q = 0; q < counts.size(); ++q) {
    Point expected[8];
    for (size_t k = 0; k < counts[q]; ++k, next += 8) {
      for (size_t s = 0; s < 8; ++s) expected[s] += Point(points[indices[next + s]]);
    }
    for (size_t s = 0; s < 8; ++s) EXPECT_EQ(Point(sums[8 * q + s]), expected[s]) << q << ' ' << s;
  }
}

TEST_P(EveryKernel, Buckets) {
  const size_t bucket_count = 5;
  for (size_t count : {size_t{0}, size_t{1}, size_t{4}, size_t{5}, size_t{40}}) {
    std::vector<AffinePoint> points = random_affine(count + kBucketStreams - 1);
    points[0] = AffinePoint::identity();  // whose negative has the largest limbs
    const std::vector<TableEntry> all = entries(points);
    std::vector<int16_t> digits(kBucketStreams * (count + 1));
    for (int16_t& d : digits) d = static_cast<int16_t>(static_cast<int>(rng() % 9) - 4);
    if (count > 4) {
      for (size_t s = 0; s < kBucketStreams; ++s) digits[s * count + 3] = 0;  // a step without work
    }
    std::vector<Bucket> memory(kBucketStreams * bucket_count);
    kernels.clear_buckets(memory.data(), memory.size());
    Bucket* buckets[kBucketStreams];
    const TableEntry* streams[kBucketStreams];
    const int16_t* stream_digits[kBucketStreams];
    for (size_t s = 0; s < kBucketStreams; ++s) {
      buckets[s] = &memory[s * bucket_count];
      streams[s] = &all[s];
      stream_digits[s] = &digits[s * count];
    }
    kernels.fill_buckets(streams, stream_digits, count, buckets);
    ExtendedPoint sums[kBucketStreams];
    kernels.sum_buckets(buckets, bucket_count, words(sums[0]));
    for (size_t s = 0; s < kBucketStreams; ++s) {
      Point expected;
      for (size_t k = 0; k < count; ++k) {
        expected += multiply(Point(points[s + k]), Scalar::from_i64(stream_digits[s][k]));
      }
      EXPECT_EQ(Point(sums[s]), expected);
    }
  }
}

TEST_P(EveryKernel, CombinationsWithTheSameScalars) {
  ThreadPool pool(2);
  const Scalar largest = -Scalar::one();
  for (size_t stride : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{9}, size_t{40}}) {
    for (size_t terms : {size_t{0}, size_t{1}, size_t{3}}) {
      // All there, the last one missing, and the last term missing altogether.
      for (size_t missing : {size_t{0}, size_t{1}, stride}) {
        if (missing > stride * terms) continue;
        std::vector<AffinePoint> points = random_affine(stride * terms - missing);
        if (!points.empty()) points[0] = AffinePoint::identity();
        std::vector<Scalar> weights;
        for (size_t t = 0; t < terms; ++t) weights.push_back(t == 1 ? largest : testing::random_scalar(rng));
        const std::vector<Point> sums = fold_points_var(points, weights, stride, pool, kernels);
        ASSERT_EQ(sums.size(), stride);
        for (size_t j = 0; j < stride; ++j) {
          Point expected;
          for (size_t t = 0; t < terms && j + t * stride < points.size(); ++t) {
            expected += multiply(Point(points[j + t * stride]), weights[t]);
          }
          ASSERT_EQ(sums[j], expected) << stride << ' ' << terms << ' ' << j;
          ASSERT_EQ(sums[j].extended().X * sums[j].extended().Y, sums[j].extended().Z * sums[j].extended().T);
        }
      }
    }
  }
}

// 0, 1, and runs of ones, where the signed digits carry.
TEST_P(EveryKernel, CombinationsWithEdgeScalars) {
  ThreadPool pool(1);
  const std::vector<AffinePoint> point = random_affine(1);
  Scalar power = Scalar::one();
  for (int bit = 0; bit < 253; ++bit, power += power) {
    for (const Scalar& s : {power, power - Scalar::one(), power + power + power, -power}) {
      ASSERT_EQ(fold_points_var(point, {&s, 1}, 1, pool, kernels)[0], multiply(Point(point[0]), s)) << bit;
    }
  }
}

TEST_P(EveryKernel, RestoresTheRoundingMode) {
  std::vector<Fe> x(4, kSqrtM1);
  std::fesetround(FE_UPWARD);
  kernels.power_p58(words(x[0]), x.size());
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(x[0].to_bytes(), kSqrtM1.power_p58().to_bytes());
}

TEST_P(EveryKernel, BatchesAgreeWithSingles) {
  ThreadPool pool(2);
  for (size_t count :
       {size_t{0}, size_t{1}, size_t{3}, size_t{4}, size_t{5}, size_t{63}, size_t{64}, size_t{65}, size_t{1000}}) {
    std::vector<std::array<uint8_t, 64>> inputs(count);
    for (auto& input : inputs) input = testing::random_bytes<64>(rng);
    for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      const std::vector<Point> points = from_uniform_bytes_batch(inputs, threads, kernels);
      const auto encodings = encode_batch(points, threads, kernels);
      const auto decoded = decode_batch(encodings, threads, kernels);
      ASSERT_TRUE(decoded.ok());
      ASSERT_EQ(points.size(), count);
      ASSERT_EQ(encodings.size(), count);
      ASSERT_EQ(decoded->size(), count);
      for (size_t k = 0; k < count; ++k) {
        ASSERT_EQ(encodings[k], Point::from_uniform_bytes(inputs[k]).encode());
        ASSERT_EQ(Point((*decoded)[k]), points[k]);
      }
    }
  }
}

TEST_P(EveryKernel, DecodeBatchNamesTheFirstBadElement) {
  std::vector<std::array<uint8_t, 32>> encodings(200, Point::base().encode());
  encodings[170].fill(0xff);
  encodings[133][0] ^= 1;
  ThreadPool pool(2);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    const auto decoded = decode_batch(encodings, threads, kernels);
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().message.find("element 133 "), 0U) << decoded.error().message;
  }
}

// Encodings to refuse, each for its reason, and others, at every place of a batch.
TEST_P(EveryKernel, DecodingAgreesWithSingles) {
  std::vector<std::array<uint8_t, 32>> encodings;
  const auto add = [&](ByteView bytes) { std::copy_n(bytes.begin(), 32, encodings.emplace_back().begin()); };
  for (const char* hex : ristretto_vectors::kMultiples) add(from_hex(hex).value());
  for (const char* hex : ristretto_vectors::kInvalid) add(from_hex(hex).value());
  for (uint64_t last = 0; last < 256; ++last) {  // around p = 2^255 − 19, and around zero
    std::array<uint8_t, 32> bytes;
    bytes.fill(0xff);
    bytes[0] = static_cast<uint8_t>(last);
    bytes[31] = 0x7f;
    add(bytes);
    bytes.fill(0);
    bytes[0] = static_cast<uint8_t>(last);
    add(bytes);
  }
  for (int k = 0; k < 500; ++k) {  // about one in four is a point
    std::array<uint8_t, 32> bytes = testing::random_bytes<32>(rng);
    bytes[0] &= 0xfe;
    bytes[31] &= 0x7f;
    add(bytes);
    add(testing::random_point(rng).encode());
    encodings.emplace_back(encodings.back())[31] |= 0x80;
  }
  size_t place = 0, points = 0;
  for (const auto& encoding : encodings) {
    std::vector<std::array<uint8_t, 32>> batch(1 + (place++ % 40), Point::base().encode());
    const size_t at = rng() % batch.size();
    batch[at] = encoding;
    const auto decoded = decode_batch(batch, nullptr, kernels);
    const auto single = Point::decode(encoding);
    ASSERT_EQ(decoded.ok(), single.ok()) << to_hex(encoding);
    if (!single.ok()) continue;
    ++points;
    for (size_t k = 0; k < batch.size(); ++k) ASSERT_EQ(Point((*decoded)[k]).encode(), batch[k]);
  }
  EXPECT_GT(points, 500U);
  EXPECT_LT(points, encodings.size() - 500);
}

INSTANTIATE_TEST_SUITE_P(Group, EveryKernel, ::testing::ValuesIn(testing::all_kernels()),
                         [](const auto& kernel) { return std::string(name(kernel.param->set)); });

}  // namespace
}  // namespace zkapex
