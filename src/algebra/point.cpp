#include "algebra/point.h"

#include "algebra/ristretto.h"

namespace zkapex {

namespace {

template <class Step>
typename Step::Output run(const typename Step::Input& input) {
  const Step step(input);
  return step.finish(step.radicand().power_p58());
}

}  // namespace

Point Point::base() {
  return Point(AffinePoint{
      {{0x62d608f25d51a, 0x412a4b4f6592a, 0x75b7171a4b31d, 0x1ff60527118fe, 0x216936d3cd6e5}},
      {{0x6666666666658, 0x4cccccccccccc, 0x1999999999999, 0x3333333333333, 0x6666666666666}},
  });
}

std::array<uint8_t, 32> Point::encode() const { return run<ristretto::Encoding>(p_); }

Result<Point> Point::decode(ByteView bytes) {
  if (bytes.size() != kBytes) return error("a group element takes {} bytes, not {}", kBytes, bytes.size());
  const std::optional<ExtendedPoint> p = run<ristretto::Decoding>(bytes.first<32>());
  if (!p) return error("not a canonical ristretto255 encoding: {}", to_hex(bytes));
  return Point(*p);
}

Point Point::from_uniform_bytes(std::span<const uint8_t, 64> bytes) {
  return Point(run<ristretto::Map>(bytes.first<32>())) + Point(run<ristretto::Map>(bytes.last<32>()));
}

}  // namespace zkapex
