// Shows that nothing of what is said to take constant time branches on a secret, or reads or writes at an address that
// depends on one. Secrets are marked as undefined memory; valgrind follows them through every instruction and reports
// each conditional jump and each address that they reach. What is public by then is declassified, with the reason.
// Runs under valgrind only, once for each set of instructions that valgrind knows (ZKAPEX_CPU): see cmake/rooms.cmake.
// It knows no AVX-512. What is written for that has no branch and no address by values where its AVX2 or portable
// sister has none; a reader has to see it.
//
// What valgrind cannot see: instructions that take longer for some operands. None that do (division, say) are used.
#include <fmt/format.h>
#include <valgrind/memcheck.h>

#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

#include "algebra/fold.h"
#include "algebra/group_testing.h"
#include "algebra/multilinear.h"
#include "algebra/scalar_sum.h"
#include "argument/channel.h"
#include "argument/nonces.h"
#include "argument/projection.h"
#include "base/hash.h"

namespace zkapex {
namespace {

template <class T>
T& secret(T& value) {
  VALGRIND_MAKE_MEM_UNDEFINED(&value, sizeof value);
  return value;
}
template <class T>
std::vector<T>& secret(std::vector<T>& values) {
  VALGRIND_MAKE_MEM_UNDEFINED(values.data(), values.size() * sizeof(T));
  return values;
}
// From here on everybody may know it.
template <class T>
T declassified(T value) {
  VALGRIND_MAKE_MEM_DEFINED(&value, sizeof value);
  return value;
}

// A result that nothing is done with; the compiler must not leave out how it was made.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

class Checks {
 public:
  // Whatever valgrind reports in the body is a leak.
  template <class Body>
  void constant_time(std::string_view what, const Body& body) {
    if (const auto reports = reports_in(body); reports != 0) fail("{}: {} reports: not constant time", what, reports);
  }
  // A leak on purpose, which must be reported: else nothing here could ever fail.
  template <class Body>
  void leak(std::string_view what, const Body& body) {
    if (reports_in(body) == 0) fail("{}: not reported, so this program notices nothing", what);
  }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  template <class Body>
  static unsigned reports_in(const Body& body) {
    const auto before = VALGRIND_COUNT_ERRORS;
    body();
    return static_cast<unsigned>(VALGRIND_COUNT_ERRORS - before);
  }
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    fmt::print(stderr, "{}\n", fmt::format(format, std::forward<Args>(args)...));
    ++failures_;
  }

  int failures_ = 0;
};

struct Inputs {
  std::mt19937_64 rng{1};
  ThreadPool pool{1};

  Scalar scalar() { return testing::random_scalar(rng); }
  std::vector<Scalar> scalars(size_t count) {
    std::vector<Scalar> out(count);
    for (Scalar& s : out) s = scalar();
    return out;
  }
};

void check_that_leaks_are_reported(Checks& checks, Inputs& inputs) {
  const Scalar value = inputs.scalar();
  checks.leak("a branch on a secret", [&] {
    Scalar s = value;
    secret(s);
    volatile int taken = 0;
    if (s.to_bytes()[0] & 1) taken = 1;
    keep(taken);
  });
  checks.leak("an address that depends on a secret", [&] {
    Scalar s = value;
    secret(s);
    static const volatile uint8_t table[256] = {};
    const uint8_t found = table[s.to_bytes()[0]];
    keep(found);
  });
  checks.leak("a variable-time exponent", [&] {
    uint64_t exponent = inputs.rng();
    keep(value.pow(secret(exponent)));
  });
}

void check_scalars(Checks& checks, Inputs& inputs) {
  Scalar a = inputs.scalar(), b = inputs.scalar();
  secret(a);
  secret(b);
  checks.constant_time("scalar: sum, difference, product, square, inverse", [&] {
    for (const Scalar& s : {a + b, a - b, -a, a * b, a.square(), a.inverse(), a.pow(77)}) keep(s);
  });
  checks.constant_time("scalar: comparison", [&] {
    // The answer is the caller's to keep secret or not; nothing is done with it here.
    const bool equal = a == b, zero = a.is_zero();
    keep(equal);
    keep(zero);
  });
  checks.constant_time("scalar: from integers", [&] {
    uint64_t u = inputs.rng();
    auto i = static_cast<int64_t>(inputs.rng());
    int128 wide = static_cast<int128>(i) << 60;
    int64_t factor = i >> 8;
    for (const Scalar& s : {Scalar::from_u64(secret(u)), Scalar::from_i64(secret(i)), Scalar::from_i128(secret(wide)),
                            Scalar::multiple_of_words(a.montgomery_words(), secret(factor))}) {
      keep(s);
    }
  });
  checks.constant_time("scalar: bytes both ways", [&] {
    auto bytes = testing::random_bytes<64>(inputs.rng);
    keep(Scalar::from_bytes_wide(secret(bytes)));
    keep(a.to_bytes());
    keep(a.canonical_limbs());
  });
}

void check_sums_of_scalars(Checks& checks, Inputs& inputs) {
  const std::vector<Scalar> challenges = inputs.scalars(4);
  std::vector<Scalar> a = inputs.scalars(13), b = inputs.scalars(13);
  a[3] = Scalar::zero();
  secret(a);
  secret(b);
  checks.constant_time("scalars: inner product, sum", [&] {
    keep(inner_product(a, b));
    ScalarAccumulator products;
    ScalarSum sum;
    for (const Scalar& s : a) {
      products.add(s);
      sum.add(s);
    }
    keep(products.reduce());
    keep(sum.reduce());
  });
  checks.constant_time("scalars: inversion of many, zeros among them", [&] {
    std::vector<Scalar> inverted = a;
    batch_invert(inverted);
    keep(inverted);
  });
  checks.constant_time("multilinear: tables of secrets", [&] {
    std::vector<Scalar> folded = a;
    fold_low(folded, challenges[0]);
    keep(evaluate(a, challenges));
    keep(eq_table(std::span(a).first(4)));
    keep(eq(std::span(a).first(4), std::span(b).first(4)));
  });
}

void check_points(Checks& checks, Inputs& inputs) {
  const Point p = testing::random_point(inputs.rng);
  Point a = testing::random_point(inputs.rng), b = testing::random_point(inputs.rng);
  Scalar s = inputs.scalar();
  secret(a);
  secret(b);
  secret(s);
  checks.constant_time("point: sum, difference, double, comparison", [&] {
    for (const Point& q : {a + b, a - b, -a, a.twice()}) keep(q);
    const bool equal = a == b, identity = a.is_identity();
    keep(equal);
    keep(identity);
  });
  checks.constant_time("point: encoding", [&] { keep(a.encode()); });
  checks.constant_time("point: encoding of many, affine coordinates of many", [&] {
    std::vector<Point> points = testing::many_points(inputs.rng, 9);
    secret(points);
    keep(encode_batch(points));
    keep(batch_to_affine(points));
  });
  checks.constant_time("point: one-way map", [&] {
    auto bytes = testing::random_bytes<64>(inputs.rng);
    keep(Point::from_uniform_bytes(secret(bytes)));
    std::vector<std::array<uint8_t, 64>> many(5, bytes);
    keep(from_uniform_bytes_batch(secret(many)));
  });
  checks.constant_time("point: secret multiple of a public point", [&] { keep(multiply(p, s)); });
  checks.constant_time("point: secret multiple of a secret point", [&] { keep(multiply(a, s)); });
  checks.constant_time("point: blinded and encoded", [&] { keep((a + multiply(p, s)).encode()); });
}

// Weights and values of folds are secret together.
template <class Entry>
void check_folds_of(Checks& checks, Inputs& inputs, std::string_view name) {
  constexpr size_t kRows = 19, kCols = 33;
  std::vector<Entry> entries(kRows * kCols);
  for (Entry& e : entries) e = static_cast<Entry>(inputs.rng());
  std::vector<Scalar> by_row = inputs.scalars(kRows), by_column = inputs.scalars(kCols);
  secret(entries);
  secret(by_row);
  secret(by_column);
  const IntMatrix matrix(entries.data(), kRows, kCols, kCols);
  checks.constant_time(fmt::format("fold of {} entries", name), [&] {
    keep(fold_rows(matrix, by_row, inputs.pool));
    keep(fold_columns(matrix, by_column, inputs.pool));
  });
}

void check_folds(Checks& checks, Inputs& inputs) {
  check_folds_of<int8_t>(checks, inputs, "8-bit");
  check_folds_of<int16_t>(checks, inputs, "16-bit");
  std::vector<int64_t> values(5 * 20);
  for (int64_t& v : values) v = static_cast<int64_t>(inputs.rng());
  std::vector<Scalar> weights = inputs.scalars(5);
  secret(values);
  secret(weights);
  checks.constant_time("fold of 64-bit entries", [&] { keep(fold_i64(values, 20, weights, inputs.pool)); });
}

void check_nonces(Checks& checks) {
  checks.constant_time("nonces: from a witness to uniform scalars", [&] {
    std::array<uint8_t, 64> witness{};
    Result<Nonces> nonces = Nonces::create({view("statement"), secret(witness)});
    // Whether the operating system gave randomness is no secret, and the only thing that is asked.
    if (!declassified(nonces.ok())) return;
    keep(nonces->scalars(100));
  });
}

// R is public; what it is multiplied with, and v, are not.
void check_projections(Checks& checks, Inputs& inputs) {
  ProjectionShape shape{.row_length = 128, .rows = 2, .chunk = 64, .count = 64, .bits = 20, .units = {}};
  shape.units = standard_units(shape);
  const TernaryMatrix matrix = draw_projection(shape, inputs.scalar(), 0);
  std::vector<int64_t> wide(shape.rows * shape.row_length);
  for (int64_t& v : wide) v = static_cast<int64_t>(inputs.rng() % 4096) - 2048;
  std::vector<int8_t> narrow(wide.begin(), wide.end());
  secret(wide);
  secret(narrow);
  for (const IntegerRows& rows :
       {IntegerRows(std::span<const int64_t>(wide)), IntegerRows(std::span<const int8_t>(narrow))}) {
    checks.constant_time("projections of secret integers", [&] {
      keep(project(
          shape, matrix, [&](const auto& visit) { return visit(rows); }, 0, inputs.pool));
    });
  }
}

void check_sealing(Checks& checks, Inputs& inputs) {
  checks.constant_time("sealed messages", [&] {
    std::vector<Scalar> values = inputs.scalars(3), pads = inputs.scalars(3), sealed;
    secret(values);
    secret(pads);
    Transcript transcript("constant time");
    Sender sender(transcript, pads, sealed);
    keep(sender.send("values", values));
  });
}

int run() {
  Checks checks;
  Inputs inputs;
  check_that_leaks_are_reported(checks, inputs);
  check_scalars(checks, inputs);
  check_sums_of_scalars(checks, inputs);
  check_points(checks, inputs);
  check_folds(checks, inputs);
  check_projections(checks, inputs);
  check_nonces(checks);
  check_sealing(checks, inputs);
  return checks.failures() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace zkapex

int main() {
  constexpr int kSkipped = 77;  // what CTest is told of
  if (!RUNNING_ON_VALGRIND) {
    fmt::print(stderr, "This program says nothing by itself: run it under valgrind\n");
    return 2;
  }
  if (const zkapex::Status cpu = zkapex::check_cpu_override(); !cpu.ok()) {
    fmt::print(stderr, "{}\n", cpu.error().message);
    return kSkipped;
  }
  return zkapex::run();
}
