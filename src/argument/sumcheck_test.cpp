#include "argument/sumcheck.h"

#include <gtest/gtest.h>

#include <random>

#include "algebra/multilinear.h"

namespace zkapex {
namespace {

// Runs a sumcheck without pads on both sides and compares with direct evaluation.
class SumcheckTest : public ::testing::Test {
 protected:
  struct Plain {  // the same problem, tables as scalars
    std::vector<std::vector<Scalar>> tables;
    std::vector<std::vector<Scalar>> planes;
  };

  Scalar scalar() {
    std::array<uint8_t, 64> bytes;
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng_());
    return Scalar::from_bytes_wide(bytes);
  }
  std::vector<Scalar> scalars(size_t count) {
    std::vector<Scalar> out(count);
    for (Scalar& s : out) s = scalar();
    return out;
  }

  static Scalar summand(const Sumcheck& problem, const std::vector<Scalar>& tables, const std::vector<Scalar>& planes,
                        const Scalar& eq) {
    Scalar sum;
    for (const SumcheckTerm& term : problem.terms) {
      Scalar product = term.coefficient;
      for (const unsigned f : term.factors) product *= tables[f];
      sum += term.eq ? product * eq : product;
    }
    for (size_t k = 0; k < planes.size(); ++k) {
      sum += eq * problem.bits->weights[k] * (planes[k] * planes[k] - planes[k]);
    }
    return sum;
  }

  // Every variable bound to `point`, by definition.
  static Scalar eq_factor(const Sumcheck& problem, std::span<const Scalar> point) {
    return eq(problem.eq_point, point.first(problem.eq_point.size()));
  }

  void check(const Sumcheck& problem, const Plain& plain) {
    const size_t size = size_t{1} << problem.variables;
    const auto at = [](const std::vector<Scalar>& t, size_t i) { return i < t.size() ? t[i] : Scalar::zero(); };
    Scalar claim;
    for (size_t i = 0; i < size; ++i) {
      std::vector<Scalar> tables, planes, bits;
      for (const auto& t : plain.tables) tables.push_back(at(t, i));
      for (const auto& t : plain.planes) planes.push_back(at(t, i));
      for (unsigned v = problem.variables; v-- > 0;) bits.push_back(Scalar::from_u64(i >> v & 1));
      claim += summand(problem, tables, planes, eq_factor(problem, bits));
    }
    for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
      for (const unsigned threads : {1U, 3U}) check_prover(problem, plain, claim, threads, sumcheck_kernels(set));
    }
  }

  void check_prover(const Sumcheck& problem, const Plain& plain, const Scalar& claim, unsigned threads,
                    const SumcheckKernels& kernels) {
    {
      ThreadPool pool(threads);
      const size_t count = problem.variables * problem.degree;
      const std::vector<Scalar> pads(count);  // zero: what is sent is what is meant
      std::vector<Scalar> sent;
      Transcript prover_transcript("test"), verifier_transcript("test");
      Sender sender(prover_transcript, pads, sent);
      const SumcheckProof proof = prove_sumcheck(sender, "s", problem, claim, pool, kernels);
      EXPECT_TRUE(sender.exhausted());
      Receiver receiver(verifier_transcript, sent, 0);
      const SumcheckClaim end = verify_sumcheck(receiver, "s", problem.variables, problem.degree, Expression(claim));
      EXPECT_EQ(end.point, proof.point);
      EXPECT_EQ(end.claim.constant(), proof.claim);
      for (size_t t = 0; t < plain.tables.size(); ++t) EXPECT_EQ(proof.tables[t], evaluate(plain.tables[t], end.point));
      ASSERT_EQ(proof.planes.size(), plain.planes.size());
      for (size_t k = 0; k < plain.planes.size(); ++k) EXPECT_EQ(proof.planes[k], evaluate(plain.planes[k], end.point));
      EXPECT_EQ(end.claim.constant(), summand(problem, proof.tables, proof.planes, eq_factor(problem, end.point)));
    }
  }

  std::mt19937_64 rng_{7};
};

TEST_F(SumcheckTest, EveryKindOfTermAndTableAtEverySize) {
  for (unsigned variables = 0; variables <= 10; ++variables) {
    const size_t size = size_t{1} << variables;
    for (const size_t live : {size, size - size / 3, size_t{1}}) {
      Sumcheck problem{
          .variables = variables, .degree = 3, .tables = {}, .terms = {}, .eq_point = scalars(variables), .bits = {}};
      Plain plain;
      std::vector<int64_t> small(live);
      std::vector<int128> wide(live);
      for (auto& v : small) v = static_cast<int64_t>(rng_()) >> (rng_() % 16);
      for (auto& v : wide)
        v = (static_cast<int128>(static_cast<int64_t>(rng_())) << 60) + static_cast<int64_t>(rng_() >> 1);
      small[0] = INT64_MIN;
      if (live > 3) small[2] = -(int64_t{1} << 56), small[3] = (int64_t{1} << 56) - 1;
      plain.tables = {scalars(live), {}, {}, scalars(size)};
      for (const int64_t v : small) plain.tables[1].push_back(Scalar::from_i64(v));
      for (const int128 v : wide) plain.tables[2].push_back(Scalar::from_i128(v));
      SumcheckTable::Owned owned_small(false, live), owned_wide(true, live);
      std::ranges::copy(small, owned_small.narrow_entries());
      std::ranges::copy(wide, owned_wide.wide_entries());
      plain.tables.push_back(plain.tables[1]);
      plain.tables.push_back(plain.tables[2]);
      problem.tables = {{plain.tables[0]}, {small}, {wide}, {plain.tables[3]}, {owned_small}, {owned_wide}};
      problem.terms = {{scalar(), {0}},       {scalar(), {1, 2}},       {scalar(), {3, 2, 2}}, {scalar(), {0, 1, 3}},
                       {scalar(), {1}, true}, {scalar(), {0, 2}, true}, {scalar(), {4, 5}},    {scalar(), {4}, true}};
      check(problem, plain);
    }
  }
}

// Tables with a structure are folded by it; here they meet every kind of term, before and after the structure is used
// up.
TEST_F(SumcheckTest, StructuredTables) {
  for (const unsigned variables : {1U, 3U, 9U, 11U}) {
    const size_t size = size_t{1} << variables;
    for (const unsigned side : {0U, 1U, variables / 2, variables}) {
      for (const size_t live : {size, size - size / 4}) {
        const size_t blocks = size >> side;
        const std::vector<Scalar> block = scalars(blocks), period = scalars(size_t{1} << side);
        std::vector<uint8_t> bytes(size), bits(live);
        for (auto& b : bytes) b = rng_() % 16 == 0;
        for (auto& b : bits) b = rng_() % 2;
        std::vector<int128> wide(live);
        for (auto& v : wide) v = static_cast<int64_t>(rng_());
        const std::span<const uint8_t> chosen(bytes), dense(bits);
        std::vector<int8_t> signs(live);
        for (auto& sign : signs) sign = static_cast<int8_t>(static_cast<int>(rng_() % 3) - 1);
        std::vector<int64_t> magnitudes(blocks);
        for (auto& m : magnitudes) m = static_cast<int64_t>(rng_() >> (rng_() % 8 + 1));
        std::vector<Scalar> late = block;  // zero at first
        std::fill_n(late.begin(), blocks - blocks / 4, Scalar::zero());
        Sumcheck problem{
            .variables = variables, .degree = 3, .tables = {}, .terms = {}, .eq_point = scalars(variables), .bits = {}};
        problem.tables = {{SumcheckTable::Blocks{block, side}},
                          {SumcheckTable::Periodic{period, size}},
                          {SumcheckTable::Chosen{block, side, chosen}, true},
                          {chosen, true},
                          {dense},
                          {wide},
                          {SumcheckTable::Signed{magnitudes, side, signs}},
                          {SumcheckTable::Blocks{late, side}, true}};
        problem.terms = {{scalar(), {0}},       {scalar(), {0, 4}},       {scalar(), {0, 5, 5}},
                         {scalar(), {0, 1, 4}}, {scalar(), {2, 5, 5}},    {scalar(), {2, 4}},
                         {scalar(), {3, 5, 5}}, {scalar(), {3, 5}, true}, {scalar(), {0, 5}, true},
                         {scalar(), {1}, true}, {scalar(), {6, 5}},       {scalar(), {0, 6, 5}},
                         {scalar(), {7, 5, 5}}, {scalar(), {7, 5}, true}, {scalar(), {7, 4}}};
        Plain plain;
        plain.tables.resize(8);
        for (size_t i = 0; i < size; ++i) {
          plain.tables[0].push_back(block[i >> side]);
          plain.tables[1].push_back(period[i % period.size()]);
          plain.tables[2].push_back(bytes[i] != 0 ? block[i >> side] : Scalar::zero());
          plain.tables[3].push_back(Scalar::from_u64(bytes[i]));
          plain.tables[7].push_back(late[i >> side]);
        }
        for (size_t i = 0; i < live; ++i) {
          plain.tables[4].push_back(Scalar::from_u64(bits[i]));
          plain.tables[5].push_back(Scalar::from_i128(wide[i]));
          plain.tables[6].push_back(Scalar::from_i64(magnitudes[i >> side] * signs[i]));
        }
        check(problem, plain);
      }
    }
  }
}

// Integers of the proof's own are folded where they are: over many chunks, by several threads.
TEST_F(SumcheckTest, OwnedIntegersOfManyChunks) {
  constexpr unsigned kVariables = 16;
  for (const size_t live : {size_t{1} << kVariables, size_t{3 * 8192 + 1}}) {
    SumcheckTable::Owned narrow(false, live), wide(true, live);
    Sumcheck problem{
        .variables = kVariables, .degree = 3, .tables = {}, .terms = {}, .eq_point = scalars(kVariables), .bits = {}};
    Plain plain;
    plain.tables.resize(2);
    for (size_t i = 0; i < live; ++i) {
      narrow.narrow_entries()[i] = static_cast<int64_t>(rng_());
      wide.wide_entries()[i] = static_cast<int128>(static_cast<int64_t>(rng_())) << 61;
      plain.tables[0].push_back(Scalar::from_i64(narrow.narrow_entries()[i]));
      plain.tables[1].push_back(Scalar::from_i128(wide.wide_entries()[i]));
    }
    problem.tables = {{narrow}, {wide}};
    problem.terms = {{scalar(), {0, 1}}, {scalar(), {0}, true}, {scalar(), {1, 1}, true}};
    check(problem, plain);
  }
}

TEST_F(SumcheckTest, EqOverTheHighVariablesOnly) {
  for (unsigned high = 0; high <= 6; ++high) {
    Sumcheck problem{.variables = 6, .degree = 3, .tables = {}, .terms = {}, .eq_point = scalars(high), .bits = {}};
    const Plain plain{{scalars(51), scalars(64)}, {}};
    problem.tables = {{plain.tables[0]}, {plain.tables[1]}};
    problem.terms = {{Scalar::one(), {0, 1}, true}};
    check(problem, plain);
  }
}

TEST_F(SumcheckTest, BitPlanesByLookUp) {
  for (const unsigned variables : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 9U, 12U}) {
    const size_t size = size_t{1} << variables;
    for (const size_t live : {size, size - size / 3, size_t{1}}) {
      for (const unsigned count : {1U, 7U, 42U, 64U}) {
        std::vector<uint64_t> words(live);
        for (uint64_t& w : words) w = rng_() & (~uint64_t{0} >> (64 - count));
        Sumcheck problem{
            .variables = variables, .degree = 3, .tables = {}, .terms = {}, .eq_point = scalars(variables), .bits = {}};
        problem.bits = BitPlanes{std::vector(count, std::vector<uint8_t>((live + 7) / 8)), scalars(count)};
        for (size_t i = 0; i < live; ++i) {
          for (unsigned k = 0; k < count; ++k) {
            problem.bits->planes[k][i / 8] |= static_cast<uint8_t>((words[i] >> k & 1) << (i % 8));
          }
        }
        Plain plain;
        plain.planes.resize(count);
        for (unsigned k = 0; k < count; ++k) {
          for (const uint64_t w : words) plain.planes[k].push_back(Scalar::from_u64(w >> k & 1));
        }
        check(problem, plain);
      }
    }
  }
}

TEST_F(SumcheckTest, DegreeTwoSendsTwoCoefficients) {
  Sumcheck problem{.variables = 8, .degree = 2, .tables = {}, .terms = {}, .eq_point = {}, .bits = {}};
  const Plain plain{{scalars(200), scalars(131)}, {}};
  problem.tables = {{plain.tables[0]}, {plain.tables[1]}};
  problem.terms = {{scalar(), {0, 1}}, {scalar(), {1}}};
  check(problem, plain);
}

// The integers mod 5: small enough to try every prover.
struct F5 {
  int v = 0;
  friend F5 operator+(F5 a, F5 b) { return {(a.v + b.v) % 5}; }
  friend F5 operator-(F5 a, F5 b) { return {(a.v + 5 - b.v) % 5}; }
  friend F5 operator*(F5 a, F5 b) { return {a.v * b.v % 5}; }
  friend bool operator==(F5 a, F5 b) { return a.v == b.v; }
};

// All functions on one and two variables (degree 1 in each), all claims, all prover messages of degree up to 3, all
// challenges: a true claim can always be upheld; a false one survives for at most degree · rounds of 5^rounds.
TEST(SumcheckRound, ExhaustiveOverATinyField) {
  const F5 one{1};
  const auto polynomial = [&](const std::array<F5, 3>& sent, F5 claim, F5 x) {
    return bind_round<F5, F5>(claim, sent, one, x);
  };
  // Whatever is sent, the round polynomial p satisfies p(0) + p(1) = claim, p(0) = c_0, and has the sent coefficients.
  for (int code = 0; code < 625; ++code) {
    const std::array<F5, 3> sent{F5{code % 5}, F5{code / 5 % 5}, F5{code / 25 % 5}};
    const F5 claim{code / 125};
    const F5 c1 = claim - sent[0] - sent[0] - sent[1] - sent[2];
    for (int x = 0; x < 5; ++x) {
      const F5 X{x};
      EXPECT_EQ(polynomial(sent, claim, X), sent[0] + c1 * X + sent[1] * X * X + sent[2] * X * X * X);
    }
    EXPECT_EQ(polynomial(sent, claim, {0}) + polynomial(sent, claim, {1}), claim);
  }
  // One round: for every linear f and every claim, the best message of degree 3 is believed on at most 3 of 5
  // challenges if the claim is false, on all 5 if it is true.
  for (int f0 = 0; f0 < 5; ++f0) {
    for (int f1 = 0; f1 < 5; ++f1) {
      for (int claim = 0; claim < 5; ++claim) {
        int best = 0;
        for (int code = 0; code < 125; ++code) {
          const std::array<F5, 3> sent{F5{code % 5}, F5{code / 5 % 5}, F5{code / 25}};
          int believed = 0;
          for (int x = 0; x < 5; ++x) {
            const F5 X{x}, truth = F5{f0} + X * (F5{f1} - F5{f0});
            believed += polynomial(sent, {claim}, X) == truth ? 1 : 0;
          }
          best = std::max(best, believed);
        }
        const bool honest = claim == (f0 + f1) % 5;
        EXPECT_EQ(best, honest ? 5 : 3) << f0 << f1 << claim;
      }
    }
  }
}

}  // namespace
}  // namespace zkapex
