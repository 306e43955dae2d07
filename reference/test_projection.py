"""Projections and registrations as their verifier replays them, against a prover in the clear: all pads are zero, so
that what is sent is what is meant, and every equation, product and pair can be looked at by itself."""

import hashlib
import random
import struct
import unittest
from types import SimpleNamespace

from anchor import AnchorPart
from argument import MAGIC, Shape, Verifier
from deployment import Deployment
from files import RegistrationFile
from multilinear import eq_table, log2_ceil
from projection import Projection, draw_entries
from registration import Registration, make_paddings, make_projections, make_shape
from ristretto import BASE, ORDER
from test_files import deployment_file
from transcript import Transcript, scalar_bytes

RNG = random.Random(2)


def evaluate(values, point):
    """A table may be a prefix."""
    return sum(e * v for e, v in zip(eq_table(point), values) if v) % ORDER


class Sender:
    """Messages of one fork, in the clear."""

    def __init__(self, transcript):
        self.transcript, self.sent = transcript, []

    def send(self, label, *values):
        self.transcript.absorb(label, scalar_bytes([v % ORDER for v in values]))
        self.sent += [v % ORDER for v in values]

    def sumcheck(self, label, variables, degree, tables, summand):
        """Σ_i summand(tables at i), by its definition. Returns the point and the values of the tables there."""
        tables = [table + [0] * (2**variables - len(table)) for table in tables]
        point = []
        for k in range(variables):
            at = [0] * (degree + 1)
            for low, high in zip(zip(*(t[::2] for t in tables)), zip(*(t[1::2] for t in tables))):
                if any(low) or any(high):
                    for x in range(degree + 1):
                        at[x] += summand(*((1 - x) * a + x * b for a, b in zip(low, high)))
            name = f"{label} round {k}"
            constant, _, *higher = coefficients(at)
            self.send(name, constant, *higher)
            x = self.transcript.challenge(name)
            tables = [[(a + x * (b - a)) % ORDER for a, b in zip(t[::2], t[1::2])] for t in tables]
            point.insert(0, x)
        return point, [table[0] for table in tables]


def coefficients(at):
    """Of the polynomial with these values at 0, 1, 2, .."""
    out = [0] * len(at)
    for k, value in enumerate(at):
        basis, divisor = [1], 1
        for other in range(len(at)):
            if other != k:
                basis = [a - other * b for a, b in zip([0] + basis, basis + [0])]
                divisor *= k - other
        factor = value * pow(divisor, -1, ORDER)
        out = [(o + factor * b) % ORDER for o, b in zip(out, basis)]
    return out


def project(p, challenge, rows):
    """v(t, c, q), q up to a power of two."""
    entries = list(draw_entries(challenge, p.number, p.count * p.chunk))
    matrix = [entries[q * p.chunk : (q + 1) * p.chunk] for q in range(p.count)]
    out = []
    for row in rows:
        for c in range(0, p.row_length, p.chunk):
            out += [sum(r * s for r, s in zip(signs, row[c : c + p.chunk])) for signs in matrix]
            out += [0] * (2**p.count_variables - p.count)
    return out + [0] * (p.value_rows * p.row_length - len(out))


def bit_rows(p, v):
    """Unit by unit, plane by plane, row by row."""
    out, first = [], 0
    for rows in p.units:
        for k in range(p.bits):
            for t in range(first, first + rows):
                out.append([x >> k & 1 for x in v[t * p.row_length : (t + 1) * p.row_length]])
        first += rows
    return out


def prove_projection(p, challenge, rows, v, bits, fork):
    """The units, then the link. `fork`: the next one's sender."""
    for rows_of_unit in p.units:
        unit, bits = bits[: p.bits * rows_of_unit], bits[p.bits * rows_of_unit :]
        planes = [sum(unit[k * rows_of_unit : (k + 1) * rows_of_unit], []) for k in range(p.bits)]
        prove_bits(planes, log2_ceil(rows_of_unit) + p.position_variables, fork())
    channel = fork()
    tau = channel.transcript.challenges("tau", p.row_variables + p.chunk_variables)
    rho = channel.transcript.challenges("rho", p.count_variables)
    weights = eq_table(tau[: p.row_variables])
    f = [sum(w * s for w, s in zip(weights, column)) % ORDER for column in zip(*rows)]
    folded = p.fold(challenge, eq_table(rho)[: p.count])
    channel.send("v", evaluate(v, [0] * (log2_ceil(len(v)) - len(tau + rho)) + tau + rho))
    table = [c * e % ORDER for c in eq_table(tau[p.row_variables :]) for e in folded]
    _, (value, _) = channel.sumcheck("link", p.position_variables, 2, [f, table], lambda a, b: a * b)
    channel.send("f", value)


def prove_bits(planes, variables, channel):
    tau_k = channel.transcript.challenges("tau_k", log2_ceil(len(planes)))
    tau = channel.transcript.challenges("tau", variables)
    weights = eq_table(tau_k)

    def rest(values):
        return sum(w * (b * b - b) for w, b in zip(weights, values))

    _, (_, *at_r) = channel.sumcheck("bits", variables, 3, [eq_table(tau), *planes], lambda e, *b: e * rest(b))
    channel.send("rest", rest(at_r))
    _, (_, b) = channel.sumcheck("planes", len(tau_k), 3, [weights, at_r], lambda e, b: e * (b * b - b))
    channel.send("b, b^2", b, b * b)


class ReplayTest(unittest.TestCase):
    def broken(self, verifier, rows):
        """What does not hold, with pads of zero: of the equations, the products, the pairs."""
        equations = [k for k, e in enumerate(verifier.equations) if e.constant != 0]
        values = [[factor.constant for factor in product] for product in verifier.products]
        products = [k for k, (a, b, c) in enumerate(values) if (a * b - c) % ORDER]
        pairs = []
        for k, pair in enumerate(verifier.pairs):
            vector = [0] * len(rows[0])
            for row, coefficient in pair.rows.items():
                for i, entry in enumerate(rows[row]):
                    if entry:
                        vector[i] += coefficient * entry
            if (evaluate(vector, pair.point) - pair.value.constant) % ORDER:
                pairs.append(k)
        return equations, products, pairs


class ProjectionTest(ReplayTest):
    def test_entries_are_as_specified(self):
        challenge = RNG.randrange(ORDER)
        stream = b""
        for counter in (0, 1):
            seed = b"zkapex projection" + challenge.to_bytes(32, "little") + struct.pack("<IQ", 7, counter)
            stream += hashlib.sha512(seed).digest()
        word = int.from_bytes(stream, "little")
        expected = [(0, 0, 1, -1)[word >> 2 * k & 3] for k in range(512)]
        self.assertEqual(list(draw_entries(challenge, 7, 300)), expected)
        self.assertEqual(len(list(draw_entries(challenge, 7, 256))), 256)

    def shape(self, **change):
        fields = dict(row_length=8, rows=3, chunk=4, count=5, bits=7, number=0, first_row=0, first_bit_row=3)
        return Projection(**fields | change)

    def test_folding(self):
        p = self.shape(count=5, chunk=4)
        entries, weights = list(draw_entries(9, 0, 20)), [RNG.randrange(ORDER) for _ in range(5)]
        expected = [sum(weights[q] * entries[4 * q + l] for q in range(5)) % ORDER for l in range(4)]
        self.assertEqual(p.fold(9, weights), expected)

    def replay(self, p, rows, alter=None):
        """Proved and replayed, on a transcript that has no more than the challenge. `alter` changes what v is."""
        prover, verifier_main = Transcript("p"), Transcript("p")
        challenge = prover.challenge("projection")
        v = project(p, challenge, rows)
        if alter:
            alter(v)
        bits, forks = bit_rows(p, v), []

        def fork():
            forks.append(Sender(prover.fork("unit", len(forks))))
            return forks[-1]

        prove_projection(p, challenge, rows, v, bits, fork)
        sent = [fork.sent for fork in forks]
        self.assertEqual([len(scalars) for scalars in sent], p.forks)
        shape = Shape(p.row_length, len(rows) + len(bits), p.forks, p.pairs, p.products, len(bits))
        verifier = Verifier(shape, SimpleNamespace(forks=sent), verifier_main)
        p.replay(verifier_main.challenge("projection"), verifier, "unit")
        self.assertEqual((len(verifier.pairs), len(verifier.products)), (p.pairs, p.products))
        return self.broken(verifier, rows + bits)

    def rows(self, p, most):
        return [[RNG.randrange(-most, most + 1) for _ in range(p.row_length)] for _ in range(p.rows)]

    def test_honest_projections_hold(self):
        for change in [
            dict(),
            dict(chunk=8, count=1, rows=1, first_bit_row=1),  # v is the beginning of one row
            dict(chunk=1, bits=5, count=2),
            dict(chunk=8, count=16, rows=5, first_bit_row=5),
        ]:
            p = self.shape(**change)
            rows = self.rows(p, (2 ** (p.bits - 1) - 1) // p.chunk)
            self.assertEqual(self.replay(p, rows), ([], [], []))

    def test_units(self):
        p = self.shape()
        self.assertEqual((p.value_rows, p.units), (6, [6]))
        p.units = [4, 2]  # as if they were long
        self.assertEqual(self.replay(p, self.rows(p, 15)), ([], [], []))

    def test_what_is_not_the_projection_breaks_the_link(self):
        p = self.shape()
        for at in (0, 13, 47):  # also in the padding of λ

            def alter(v, at=at):
                v[at] += 1

            self.assertEqual(self.replay(p, self.rows(p, 7), alter), ([2], [], []))

    def test_what_does_not_fit_has_no_bits(self):
        p = self.shape()
        rows = self.rows(p, 7)
        rows[2][7] = 2**p.bits
        self.assertEqual(self.replay(p, rows), ([], [], [1]))  # the value of v is not that of the bits


class RegistrationTest(ReplayTest):
    """A whole registration; λ = 192, three tensors, one of them not covered."""

    @classmethod
    def setUpClass(cls):
        cls.deployment = Deployment(deployment_file(chunks=(64, 64, 64)))
        layout = cls.deployment.layout
        real = {layout.padded_index(c) for c in range(layout.coordinates)}
        cls.real = [int(i in real) for i in range(layout.rows * layout.row)]

    def rows(self):
        """Of the model, of the curvature, of others."""
        model = [RNG.randrange(-8000, 8001) * real for real in self.real]
        rows = [model[t : t + 64] for t in range(0, len(model), 64)]
        rows += [[RNG.randrange(-3, 4) for _ in range(64)] for _ in range(24)]
        return rows + [[RNG.randrange(-(2**50), 2**50) for _ in range(64)]]

    def registration(self, cut):
        """With one point for every row, and nothing said yet."""
        layout = self.deployment.layout
        anchor = AnchorPart(self.deployment, layout.rows * layout.stride)
        projections = make_projections(self.deployment, layout.rows * layout.stride)
        shape = make_shape(make_paddings(layout, cut), anchor, projections)
        proof = MAGIC + BASE.encode() * (shape.rows + 1)
        proof += bytes(shape.bytes - len(proof))
        return Registration(self.deployment, RegistrationFile(bytes(32), self.deployment.digest, b"c", cut, proof))

    def replay(self, registration, rows):
        main, forks, committed = registration.transcript(), [], registration.committed
        challenge = main.challenge("projection")
        main.absorb("projections", BASE.encode() * committed.shape.later_rows)

        def fork():
            forks.append(Sender(main.fork("unit", len(forks))))
            return forks[-1]

        for padding in committed.paddings:
            self.prove_padding(padding, rows, fork())
        later = []
        for p in committed.projections:
            mine = rows[p.first_row : p.first_row + p.rows]
            v = project(p, challenge, mine)
            later.append(bit_rows(p, v))
            prove_projection(p, challenge, mine, v, later[-1], fork)
        committed.proof.forks = [fork.sent for fork in forks]
        self.assertEqual([len(sent) for sent in committed.proof.forks], committed.shape.forks)
        verifier = Verifier(committed.shape, committed.proof, registration.transcript())
        committed.replay(verifier)
        return self.broken(verifier, rows + sum(later, []))

    def prove_padding(self, padding, rows, channel):
        first, count = padding.segment.first_row, padding.segment.rows
        tau = channel.transcript.challenges("tau", padding.variables)
        theta = sum(rows[first : first + count], [])
        free = [1 - real for real in self.real[first * 64 : (first + count) * 64]]
        free += [1] * (2**padding.variables - len(free))
        tables = [eq_table(tau), free, theta]
        _, (_, _, value) = channel.sumcheck("padding", padding.variables, 3, tables, lambda e, m, t: e * m * t)
        channel.send("theta", value)

    def test_an_honest_registration_holds(self):
        for cut, paddings in [([3], 1), ([1, 2], 2), ([1, 1, 1], 2)]:  # the second row is full
            registration = self.registration(cut)
            self.assertEqual(len(registration.committed.paddings), paddings)
            self.assertEqual(self.replay(registration, self.rows()), ([], [], []))

    def test_a_weight_on_padding_is_seen(self):
        registration, rows = self.registration([1, 2]), self.rows()
        rows[2][40] = 1
        self.assertEqual(self.replay(registration, rows), ([1], [], []))

    def test_a_large_entry_is_seen(self):
        """Its projections have no bits: the value of v, before the last pair of each of the three projections."""
        for row, bits, pair in [(2, 20, 2), (26, 9, 5), (27, 63, 8)]:
            registration, rows = self.registration([3]), self.rows()
            rows[row][10] = 2**bits
            self.assertEqual(self.replay(registration, rows), ([], [], [pair]))


if __name__ == "__main__":
    unittest.main()
