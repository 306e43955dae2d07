"""The reference verifier's arithmetic and argument, against published vectors and definitions. Files are tested in
test_files.py, registrations in test_projection.py, windows in test_window.py, whole proofs against the program in
src/parties/reference_test.cpp.
"""

import hashlib
import random
import re
import struct
import unittest
from pathlib import Path
from types import SimpleNamespace

from argument import Expression, Opening, require_identity, settle
from files import Rejection
from multilinear import eq, eq_factors, eq_table, log2_ceil, multiply_factors, power_factors, prefix, value_at
from ristretto import BASE, IDENTITY, ORDER, P, Point, multi_scalar_multiply
from transcript import BLINDING, VALUE, Transcript, position, scalar_bytes

RNG = random.Random(1)


def vectors(name):
    """The hexadecimal strings of one array of src/algebra/ristretto_vectors.h, which holds those of RFC 9496."""
    header = Path(__file__).resolve().parent.parent / "src/algebra/ristretto_vectors.h"
    [body] = re.findall(rf"{name}\[\] = {{\n(.*?)\n}};", header.read_text(encoding="utf-8"), re.DOTALL)
    return [bytes.fromhex(h) for h in re.findall(r'"([0-9a-f]{64})"', body)]


def random_points(count):
    return [Point.from_uniform_bytes(RNG.randbytes(64)) for _ in range(count)]


class Ristretto(unittest.TestCase):
    def test_multiples_of_the_base(self):
        expected = vectors("kMultiples")
        self.assertEqual(len(expected), 16)
        point = IDENTITY
        for k, encoding in enumerate(expected):
            self.assertEqual(point.encode(), encoding)
            self.assertEqual(Point.decode(encoding), point)
            self.assertEqual(BASE.times(k), point)
            point = point + BASE

    def test_invalid_encodings(self):
        invalid = vectors("kInvalid")
        self.assertEqual(len(invalid), 29)
        for encoding in invalid:
            self.assertIsNone(Point.decode(encoding), encoding.hex())
        for length in (0, 31, 33):
            self.assertIsNone(Point.decode(bytes(length)))

    def test_one_way_map(self):
        words = vectors("kMap")  # two of input, one of output
        self.assertEqual(len(words), 33)
        for k in range(0, len(words), 3):
            self.assertEqual(Point.from_uniform_bytes(words[k] + words[k + 1]).encode(), words[k + 2])

    def test_an_element_has_four_representatives(self):
        [point] = random_points(1)
        torsion = Point(0, P - 1, 1, 0)  # of order two
        self.assertEqual(point + torsion, point)
        self.assertEqual((point + torsion).encode(), point.encode())
        self.assertTrue(torsion.is_identity())
        self.assertNotEqual(point, point + point)

    def test_group_laws(self):
        a, b = random_points(2)
        self.assertEqual(a + b, b + a)
        self.assertTrue((a + -a).is_identity())
        self.assertTrue(a.times(ORDER).is_identity())
        self.assertEqual(a.times(ORDER - 1), -a)

    def test_multi_scalar_multiply(self):
        for count in (0, 1, 5, 210):
            terms = [(RNG.randrange(ORDER), point) for point in random_points(count)]
            terms += [(0, BASE), (-1, BASE), (ORDER + 3, BASE)]
            expected = IDENTITY
            for scalar, point in terms:
                expected = expected + point.times(scalar)
            self.assertEqual(multi_scalar_multiply(terms), expected)


class TranscriptTest(unittest.TestCase):
    def test_chain_is_as_specified(self):
        def step(state, kind, label, data):
            return hashlib.sha512(
                state + struct.pack("<BI", kind, len(label)) + label + struct.pack("<Q", len(data)) + data
            ).digest()

        state = step(bytes(64), 1, b"protocol", b"p")
        state = step(state, 1, b"label", b"data")
        state = step(state, 2, b"c", b"")
        transcript = Transcript("p")
        transcript.absorb("label", b"data")
        self.assertEqual(transcript.challenge("c"), int.from_bytes(state, "little") % ORDER)
        fork = transcript.fork("part", 7)
        self.assertEqual(fork.state, step(state, 3, b"part 7", b""))
        self.assertEqual(transcript.state, state)
        transcript.absorb_fork(fork)
        self.assertEqual(transcript.state, step(state, 1, b"fork", fork.state))

    def test_a_zero_challenge_on_a_fork_is_remembered(self):
        transcript = Transcript("p")
        fork = transcript.fork("part", 0)
        fork.drew_zero = True
        transcript.absorb_fork(fork)
        self.assertTrue(transcript.drew_zero)

    def test_generators(self):
        """The known answers of src/argument/generators_test.cpp."""
        expected = [
            "6c357aa65e16293d5fe9c3f2a24c8995829310926014d0ee4be19fd273311309",
            "b076c63047050bc42f274a6c7d0d0f2a07b2f590078bd3a8cf57b23071be9218",
            "22f8c41d1c5cca37c29c8154f0064ded77eaeffe5966750c69ab55db6ce84647",
            "8a9e6d44235e65a121ade421244620ae8d251e5715e2858ac8358ab0cdbf7454",
            "683cc42998507db27c4588175474d7247b63ae5b0c25dc3f5cac3feab1539e7b",
        ]
        points = [position(0), position(1), position(2), BLINDING, VALUE]
        self.assertEqual([point.encode().hex() for point in points], expected)


class Multilinear(unittest.TestCase):
    def test_product_functions_are_what_they_say(self):
        r, s = ([RNG.randrange(ORDER) for _ in range(5)] for _ in range(2))
        bits = [[i >> 4 - k & 1 for k in range(5)] for i in range(32)]
        self.assertEqual(eq_table(r), [eq(r, b) for b in bits])
        cases = [
            (eq_factors(r), lambda i: eq(r, bits[i])),
            (multiply_factors(eq_factors(r), eq_factors(s)), lambda i: eq(r, bits[i]) * eq(s, bits[i])),
            (power_factors(r), lambda i: eq(r, bits[i]) * 2**i),
        ]
        for f, definition in cases:
            for end in range(40):
                self.assertEqual(prefix(f, end), sum(definition(i) for i in range(min(end, 32))) % ORDER)
            self.assertEqual([value_at(f, i) for i in range(32)], [definition(i) % ORDER for i in range(32)])
        self.assertEqual((prefix([], 0), prefix([], 1)), (0, 1))

    def test_expressions(self):
        a, b = Expression(3, {0: 1, 2: 5}), Expression(4, {2: -5 % ORDER, 3: 1})
        difference = (a + b) * 2 - (b * 2 + 1)
        self.assertEqual((difference.constant, difference.terms[0], difference.terms[2]), (5, 2, 10))
        self.assertEqual(difference.terms[3], 0)


def commit(values, blinding):
    """Σ v_i g[i] + blinding · h"""
    return multi_scalar_multiply([*((v, position(i)) for i, v in enumerate(values)), (blinding, BLINDING)])


def inner(a, b):
    return sum(x * y for x, y in zip(a, b)) % ORDER


def prove_inner_product(main, a, alpha, b):
    """Section 9 of docs/argument.md as the prover runs it, on folded generators."""
    d, delta = [RNG.randrange(ORDER) for _ in a], RNG.randrange(ORDER)
    proof = SimpleNamespace(pads=BASE.encode(), left=[], right=[])
    proof.mask, proof.mask_value = commit(d, delta).encode(), inner(d, b)
    main.absorb("mask", proof.mask)
    main.absorb("mask value", scalar_bytes([proof.mask_value]))
    c = main.challenge("opening")
    proof.blinding = (delta + c * alpha) % ORDER
    main.absorb("blinding", scalar_bytes([proof.blinding]))
    base = VALUE.times(main.challenge("value base"))
    v, g = [(x + c * y) % ORDER for x, y in zip(d, a)], [position(i) for i in range(len(a))]
    half = 2 ** log2_ceil(len(a))
    while half > 1:
        half //= 2
        v_lo, v_hi, b_lo, b_hi, g_lo, g_hi = (part for w in (v, b, g) for part in (w[:half], w[half:]))
        left = multi_scalar_multiply([*zip(v_lo, g_hi), (inner(v_lo, b_hi), base)]).encode()
        right = multi_scalar_multiply([*zip(v_hi, g_lo), (inner(v_hi, b_lo), base)]).encode()
        main.absorb("left", left)
        main.absorb("right", right)
        x = main.challenge("fold")
        inverse, missing = pow(x, -1, ORDER), half - len(v_hi)
        v = [(lo + x * hi) % ORDER for lo, hi in zip(v_lo, v_hi + [0] * missing)]
        b = [(lo + inverse * hi) % ORDER for lo, hi in zip(b_lo, b_hi + [0] * missing)]
        g = [lo + hi.times(inverse) for lo, hi in zip(g_lo, g_hi + [IDENTITY] * missing)]
        proof.left.append(left)
        proof.right.append(right)
    [proof.last] = v
    return proof


class InnerProduct(unittest.TestCase):
    def setUp(self):
        self.a, self.b = ([RNG.randrange(ORDER) for _ in range(6)] for _ in range(2))
        self.commitment = commit(self.a, 5)
        self.value = inner(self.a, self.b)
        self.proof = prove_inner_product(Transcript("p"), self.a, 5, self.b)

    def answer(self, main=None, commitment=None, value=None):
        opening = Opening({0: 1}, 0, self.b, self.value if value is None else value)
        try:
            terms = settle(main or Transcript("p"), opening, self.proof, [commitment or self.commitment])
            require_identity(terms, "opening")
        except Rejection as rejection:
            return rejection.reason
        return "accepted"

    def test_the_truth_is_accepted_and_nothing_else(self):
        self.assertEqual(self.answer(), "accepted")
        self.assertEqual(self.answer(value=self.value + 1), "equation")
        self.assertEqual(self.answer(commitment=self.commitment + BASE), "equation")
        self.assertEqual(self.answer(main=Transcript("q")), "equation")

    def test_points_are_elements_and_not_the_identity(self):
        for bad in (bytes(32), bytes([1]) + bytes(31)):
            for name, value in [("pads", bad), ("mask", bad), ("left", [bad] * 3), ("right", [bad] * 3)]:
                self.setUp()
                setattr(self.proof, name, value)
                self.assertEqual(self.answer(), "point")

    def test_a_zero_challenge_is_refused(self):
        main = Transcript("p")
        main.drew_zero = True
        self.assertEqual(self.answer(main=main), "zero challenge")


if __name__ == "__main__":
    unittest.main()
