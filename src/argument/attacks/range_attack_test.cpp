// Malicious provers of the worked range relation. Each lie is pushed down to a chosen last check; `make mutants` shows
// that each of these tests fails when its check is removed.
#include <gtest/gtest.h>

#include "argument/attacks/dishonest_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class RangeAttack : public ::testing::Test {
 protected:
  // Two planes, so that there is a round over planes; four rows, so that rows are folded.
  const RangeStatement one_{"attack", 8, 2, {4}};
  const RangeStatement two_{"attack", 8, 2, {2, 2}};

  static std::vector<Planes> honest_planes(const RangeStatement& s) {
    std::mt19937_64 rng(11);
    std::vector<Planes> out;
    for (const size_t rows : s.segments) {
      Planes& planes = out.emplace_back(s.bits, std::vector<Scalar>(rows * s.row_length));
      for (auto& plane : planes) {
        for (Scalar& b : plane) b = Scalar::from_u64(rng() & 1);
      }
    }
    return out;
  }
  // 2 and −1 in place of 0 and 0, or of 1 and 1: not bits. The last index keeps its bits.
  static std::vector<Planes> false_planes(const RangeStatement& s) {
    std::vector<Planes> out = honest_planes(s);
    out[0][0][0] = Scalar::from_u64(2);
    out[0][1][0] = -Scalar::one();
    return out;
  }

  static void commit_rows(DishonestProver& p, const RangeStatement& s, const std::vector<Planes>& witness) {
    for (size_t segment = 0; segment < s.segments.size(); ++segment) {
      for (const auto& plane : witness[segment]) {
        for (size_t t = 0; t < s.segments[segment]; ++t) {
          const auto first = plane.begin() + static_cast<ptrdiff_t>(t * s.row_length);
          p.add_row({first, first + static_cast<ptrdiff_t>(s.row_length)});
        }
      }
    }
  }

  // The protocol's messages for tables that need not be bits.
  void run(DishonestProver& p, const RangeStatement& s, const std::vector<Planes>& witness) {
    Transcript main = p.begin();
    std::vector<Transcript> forks;
    std::vector<ProverPair> pairs;
    std::vector<ProverProduct> products;
    for (size_t k = 0; k < s.segments.size(); ++k) {
      Transcript& fork = forks.emplace_back(main.fork("segment", k));
      Sender channel = p.fork(k, fork);
      p.run_unit(fork, channel, s.segments[k], witness[k], pairs, products);
    }
    p.finish(main, forks, pairs, products);
  }

  Verdict attack(const RangeStatement& s, const std::vector<Planes>& witness, Liar& liar, uint64_t seed = 1) {
    DishonestProver p(relation(s), seed, pool_, &liar);
    commit_rows(p, s, witness);
    p.add_pads();
    run(p, s, witness);
    return p.hand_in();
  }
  // One pass to learn challenges, and one that uses them: they are the same in both only if they do not depend on what
  // is changed in between.
  DishonestProver rehearse(const RangeStatement& s, const std::vector<Planes>& witness, Liar& liar, uint64_t seed = 1) {
    DishonestProver p(relation(s), seed, pool_, &liar);
    commit_rows(p, s, witness);
    p.add_pads();
    run(p, s, witness);
    return p;
  }

  // Runs `prepare(liar)` with seeds until b could be solved for: half of them work.
  template <class Attack>
  static void with_solved_b(const std::string& fork, const Attack& try_seed) {
    for (uint64_t seed = 1; seed < 64; ++seed) {
      bool solved = false;
      Liar liar;
      liar.at(fork, "rest", Liar::close_gap(0));
      liar.at(fork, "b, b^2", solve_b(solved));
      if (try_seed(liar, seed, solved)) return;
    }
    FAIL() << "no seed gave a square";
  }

  ThreadPool pool_{1};
};

TEST_F(RangeAttack, TheProverOfTheAttacksIsSoundWhenItDoesNotLie) {
  Liar liar;
  for (const RangeStatement& s : {one_, two_}) {
    const Verdict verdict = attack(s, honest_planes(s), liar);
    EXPECT_TRUE(verdict.ok()) << (verdict ? "" : verdict.error().detail);
  }
}

TEST_F(RangeAttack, NonBitsWithoutALie) {
  Liar liar;
  expect_false(attack(one_, false_planes(one_), liar));
}

TEST_F(RangeAttack, NonBitInOnePlaneOnly) {
  Liar liar;
  std::vector<Planes> witness = honest_planes(one_);
  witness[0][0][31] = Scalar::from_u64(7);  // where a constant τ would look; the last plane has bits only
  expect_false(attack(one_, witness, liar));
}

TEST_F(RangeAttack, NonBitThatIsABitModTheOrderInNoSense) {
  Liar liar;
  std::vector<Planes> witness = honest_planes(one_);
  witness[0][1][5] = Scalar::from_u64(2).inverse();  // (ℓ + 1) / 2
  expect_false(attack(one_, witness, liar));
}

TEST_F(RangeAttack, LieInRest) {
  Liar liar;
  liar.at("segment 0", "rest", Liar::close_gap(0));
  expect_false(attack(one_, false_planes(one_), liar));
}

TEST_F(RangeAttack, LieInTheSquare) {
  Liar liar;
  liar.at("segment 0", "rest", Liar::close_gap(0));
  liar.at("segment 0", "b, b^2", Liar::close_gap(1));
  expect_false(attack(one_, false_planes(one_), liar));
}

TEST_F(RangeAttack, LieInB) {
  with_solved_b("segment 0", [&](Liar& liar, uint64_t seed, const bool& solved) {
    const Verdict verdict = attack(one_, false_planes(one_), liar, seed);
    expect_false(verdict);
    return solved;
  });
}

TEST_F(RangeAttack, LieInBAndInTheValueAtXi) {
  with_solved_b("segment 0", [&](Liar& liar, uint64_t seed, const bool& solved) {
    liar.at("main", "t(xi)", Liar::close_gap(0));
    expect_false(attack(one_, false_planes(one_), liar, seed));
    return solved;
  });
}

TEST_F(RangeAttack, ForgedMaskedFactors) {
  for (const size_t factor : {0U, 1U}) {
    Liar liar;
    liar.at("segment 0", "rest", Liar::close_gap(0));
    liar.at("segment 0", "b, b^2", Liar::close_gap(1));
    liar.at("main", "masked factors", Liar::close_gap(factor));
    expect_false(attack(one_, false_planes(one_), liar));
  }
}

TEST_F(RangeAttack, ProductForeseesItsChallenge) {
  Liar liar;
  liar.at("segment 0", "rest", Liar::close_gap(0));
  liar.at("segment 0", "b, b^2", Liar::close_gap(1));
  DishonestProver first = rehearse(one_, false_planes(one_), liar);
  DishonestProver second(relation(one_), 1, pool_, &liar);
  commit_rows(second, one_, false_planes(one_));
  second.add_pads();
  second.foreseen_e = first.seen["e"];
  run(second, one_, false_planes(one_));
  expect_false(second.hand_in());
}

// A lie in the first round of a sumcheck, right if its challenge is the one seen in a rehearsal.
TEST_F(RangeAttack, LieInARoundOfTheBitSumcheck) {
  Liar liar;
  DishonestProver p = rehearse(one_, false_planes(one_), liar);
  const std::vector<Scalar>& point = p.points["segment 0/bits"];
  Scalar excess = liar.gaps["segment 0/rest"];
  for (const Scalar& x : point) excess *= x.inverse();
  liar.at("segment 0", "bits round 0", [&](std::span<Scalar> message, std::span<const Scalar>, const Scalar&) {
    message[1] += round_lie(excess, point.back());
  });
  expect_false(attack(one_, false_planes(one_), liar));
}

TEST_F(RangeAttack, LieInARoundOverPlanes) {
  Liar liar;
  liar.at("segment 0", "rest", Liar::close_gap(0));
  DishonestProver p = rehearse(one_, false_planes(one_), liar);
  const std::vector<Scalar>& point = p.points["segment 0/planes"];
  Scalar excess = liar.gaps["segment 0/b, b^2"];
  for (const Scalar& x : point) excess *= x.inverse();
  liar.at("segment 0", "planes round 0", [&](std::span<Scalar> message, std::span<const Scalar>, const Scalar&) {
    message[1] += round_lie(excess, point.back());
  });
  expect_false(attack(one_, false_planes(one_), liar));
}

TEST_F(RangeAttack, LieInARoundOverPositions) {
  with_solved_b("segment 0", [&](Liar& liar, uint64_t seed, const bool& solved) {
    DishonestProver p = rehearse(one_, false_planes(one_), liar, seed);
    const std::vector<Scalar>& point = p.points["position"];
    Scalar excess = liar.gaps["main/t(xi)"];
    for (const Scalar& x : point) excess *= x.inverse();
    liar.at("main", "position round 0", [&](std::span<Scalar> message, std::span<const Scalar>, const Scalar&) {
      message[1] += round_lie(excess, point.back());
    });
    expect_false(attack(one_, false_planes(one_), liar, seed));
    return solved;
  });
}

// Two lies at ξ that cancel in the batch's equation and, under the assumed β', in the opening too.
TEST_F(RangeAttack, TwoValuesAtXiThatCancelUnderAReusedOrForeseenBeta) {
  for (const std::string assumed : {"beta", "beta'", "one"}) {
    with_solved_b("segment 0", [&](Liar& liar, uint64_t seed, const bool& solved) {
      DishonestProver rehearsal = rehearse(two_, false_planes(two_), liar, seed);
      DishonestProver p(relation(two_), seed, pool_, &liar);
      commit_rows(p, two_, false_planes(two_));
      p.add_pads();
      liar.at("main", "t(xi)", [&](std::span<Scalar> t, std::span<const Scalar> c, const Scalar& gap) {
        const Scalar weight = assumed == "beta"  ? p.seen["beta"]
                              : assumed == "one" ? Scalar::one()
                                                 : rehearsal.seen["beta'"];
        const Scalar lie = gap * (c[1] - weight * c[0]).inverse();
        t[1] += lie;
        t[0] -= weight * lie;
      });
      run(p, two_, false_planes(two_));
      expect_false(p.hand_in());
      return solved;
    });
  }
}

// The lie at ξ taken up by T0, which is sent after β': free if the opening shares the weight of the products' equation.
TEST_F(RangeAttack, ValueAtXiTakenUpByTheProducts) {
  with_solved_b("segment 0", [&](Liar& liar, uint64_t seed, const bool& solved) {
    Scalar lie;
    liar.at("main", "t(xi)", [&](std::span<Scalar> t, std::span<const Scalar> c, const Scalar& gap) {
      lie = gap * c[0].inverse();
      t[0] += lie;
    });
    liar.at("main", "T0, T1", [&](std::span<Scalar> t, std::span<const Scalar>, const Scalar&) { t[0] += lie; });
    expect_false(attack(one_, false_planes(one_), liar, seed));
    return solved;
  });
}

// The committed row holds no bits; the commitment to the pads carries what is missing, at the positions of the row.
TEST_F(RangeAttack, RowComponentHiddenAmongThePads) {
  const RangeStatement s{"attack", 8, 1, {1}};
  const std::vector<Planes> bits = honest_planes(s);
  Liar liar;
  DishonestProver p(relation(s), 1, pool_, &liar);
  std::vector<Scalar> row = bits[0][0], stray(s.row_length);
  row[3] += Scalar::from_u64(5);
  stray[3] -= Scalar::from_u64(5);
  p.add_row(row);
  p.add_pads(stray);
  run(p, s, bits);
  expect_false(p.hand_in());
}

// A row with a component at the position of T0's pad: T0 can then be moved after the fact.
TEST_F(RangeAttack, PadComponentHiddenInARow) {
  const RangeStatement s{"attack", 8, 1, {1}};
  const std::vector<Planes> bits = honest_planes(s);
  const ProofShape shape = s.shape();
  for (const bool adapt : {true, false}) {
    Liar liar;
    if (adapt) {
      liar.at("main", "T0, T1",
              [](std::span<Scalar> t, std::span<const Scalar>, const Scalar&) { t[0] -= Scalar::from_u64(5); });
    }
    DishonestProver p(relation(s), 1, pool_, &liar);
    std::vector<Scalar> row = bits[0][0];
    row.resize(shape.generators());
    row[shape.row_length + shape.sealed_scalars() - 2] = adapt ? -Scalar::from_u64(5) : Scalar::from_u64(5);
    p.add_row(row);
    p.add_pads();
    run(p, s, bits);
    expect_false(p.hand_in());
  }
}

}  // namespace
}  // namespace zkapex
