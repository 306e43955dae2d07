#include "argument/generators.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/hash.h"

namespace zkapex {

namespace {

constexpr std::string_view kLabel = "zkapex generator 1";
constexpr std::array<uint8_t, 8> kMagic = {'z', 'k', 'a', 'p', 'e', 'x', 'G', 1};

std::array<uint8_t, 64> generator_seed(std::string_view kind, uint64_t index) {
  ByteWriter out;
  out.text(kLabel);
  out.text(kind);
  out.u64(index);
  return sha512(out.bytes());
}

// magic ‖ u64 count ‖ x, y of g[0..count) as canonical 32-byte field elements ‖ SHA-256 of all before
Path cache_file(const Path& directory, size_t count) { return directory / fmt::format("generators-{}.zkapex", count); }

Bytes encode_cache(std::span<const AffinePoint> points) {
  ByteWriter out;
  out.raw(kMagic);
  out.u64(points.size());
  for (const AffinePoint& p : points) {
    out.raw(p.x.to_bytes());
    out.raw(p.y.to_bytes());
  }
  out.raw(sha256(out.bytes()));
  return out.take();
}

// What a cache file holds if it is intact; nothing otherwise.
std::optional<std::vector<AffinePoint>> decode_cache(ByteView bytes, size_t count, ThreadPool& pool) {
  constexpr size_t kHeader = kMagic.size() + 8, kDigest = 32;
  if (bytes.size() != kHeader + 64 * count + kDigest) return std::nullopt;
  const ByteView body = bytes.first(bytes.size() - kDigest);
  const Sha256::Digest digest = sha256(body);
  if (!std::equal(digest.begin(), digest.end(), bytes.end() - kDigest)) return std::nullopt;
  ByteWriter header;
  header.raw(kMagic);
  header.u64(count);
  if (!std::equal(header.bytes().begin(), header.bytes().end(), bytes.begin())) return std::nullopt;
  std::vector<AffinePoint> points(count);
  std::atomic<bool> sound = true;
  pool.for_ranges(count, 256, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      const auto at = bytes.subspan(kHeader + 64 * k).first<64>();
      const auto x = Fe::from_canonical_bytes(at.first<32>()), y = Fe::from_canonical_bytes(at.last<32>());
      if (!x || !y) {
        sound = false;
        return;
      }
      points[k] = {*x, *y};
    }
  });
  if (!sound) return std::nullopt;
  return points;
}

}  // namespace

Generators Generators::derive(size_t count, ThreadPool& pool) {
  std::vector<AffinePoint> points(count);
  constexpr size_t kAtOnce = 512;  // an inversion for so many
  pool.for_each((count + kAtOnce - 1) / kAtOnce, [&](size_t part) {
    std::vector<std::array<uint8_t, 64>> seeds;
    for (size_t k = part * kAtOnce; k < std::min(count, (part + 1) * kAtOnce); ++k) {
      seeds.push_back(generator_seed("position", k));
    }
    const std::vector<AffinePoint> some = batch_to_affine(from_uniform_bytes_batch(seeds));
    std::copy(some.begin(), some.end(), points.begin() + static_cast<ptrdiff_t>(part * kAtOnce));
  });
  return Generators(std::move(points));
}

Generators::Generators(std::vector<AffinePoint> positions)
    : positions_(std::move(positions)),
      blinding_(Point::from_uniform_bytes(generator_seed("blinding", 0))),
      value_(Point::from_uniform_bytes(generator_seed("value", 0))) {}

Generators Generators::cached(size_t count, const Path& directory, ThreadPool& pool) {
  const Path file = cache_file(directory, count);
  if (const Result<Bytes> bytes = read_file(file, 64 * count + 1024); bytes) {
    if (auto points = decode_cache(*bytes, count, pool)) return Generators(*std::move(points));
  }
  Generators out = derive(count, pool);
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  (void)write_file(file, encode_cache(out.positions_), {.overwrite = true});
  return out;
}

}  // namespace zkapex
