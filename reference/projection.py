"""Ranges by random projection (docs/argument.md, section 14): every entry of some committed rows is below 2^e in size.

After the rows a matrix R of 0, +1 and −1 is drawn, and the prover commits to the bits of v(t, c, q) = Σ_l R[q, l]
s_t(c m + l), for rows t, chunks c of m entries and q < λ. Shown are that they are bits, unit by unit of v's rows, and
that v are the projections of the committed rows: the link.
"""

import hashlib
import struct
from dataclasses import dataclass
from itertools import chain

from argument import MAX_FORKS, MAX_ROWS, Expression, Pair, sign_weights
from files import reject_if
from multilinear import eq, eq_table, log2_ceil
from ristretto import ORDER
from transcript import scalar_bytes

SIGNS = (0, 0, 1, -1)
ENTRIES = [[SIGNS[byte >> shift & 3] for shift in (0, 2, 4, 6)] for byte in range(256)]  # two bits each, low bits first


def draw_entries(challenge, number, count):
    """The first `count` entries of R, row by row, of the projection with that number."""
    seed = b"zkapex projection" + scalar_bytes([challenge]) + struct.pack("<I", number)
    digests = (hashlib.sha512(seed + struct.pack("<Q", counter)).digest() for counter in range(-(-count // 256)))
    return chain.from_iterable(ENTRIES[byte] for digest in digests for byte in digest)


@dataclass
class Projection:
    row_length: int  # n
    rows: int  # T
    chunk: int  # m
    count: int  # λ
    bits: int  # e
    number: int  # among the projections of a relation
    first_row: int  # of the T rows, and of v's bit rows, among those of the relation
    first_bit_row: int

    def __post_init__(self):
        """v's rows are cut into units of 2^22 entries, or of one row where that is longer; the last may be shorter."""
        at_once = max(1, 2**22 // self.row_length)
        too_many = self.rows > MAX_ROWS or self.value_rows > MAX_FORKS * at_once
        reject_if(too_many, "statement", f"{self.rows} rows are too many to project")
        self.units = [min(at_once, self.value_rows - first) for first in range(0, self.value_rows, at_once)]

    @property
    def position_variables(self):
        return log2_ceil(self.row_length)

    @property
    def row_variables(self):
        return log2_ceil(self.rows)

    @property
    def chunk_variables(self):
        return log2_ceil(self.row_length // self.chunk)

    @property
    def count_variables(self):
        return log2_ceil(self.count)

    @property
    def value_rows(self):
        """Rows that v takes: λ is padded to a power of two."""
        return -(-self.rows * 2 ** (self.chunk_variables + self.count_variables) // self.row_length)

    @property
    def bit_rows(self):
        return self.bits * self.value_rows

    @property
    def forks(self):
        """Scalars on each: the units', then the link's."""
        variables = [log2_ceil(rows) + self.position_variables for rows in self.units]
        return [3 * v + 1 + 3 * log2_ceil(self.bits) + 2 for v in variables] + [2 * self.position_variables + 2]

    @property
    def pairs(self):
        return len(self.units) + 2

    @property
    def products(self):
        return len(self.units)

    def replay(self, challenge, verifier, name):
        """`name`: of the relation's forks."""
        first = self.first_bit_row
        for rows in self.units:
            self._replay_unit(rows, first, verifier, verifier.fork(name))
            first += self.bits * rows
        self._replay_link(challenge, verifier, verifier.fork(name))

    def _replay_unit(self, rows, first, verifier, channel):
        """Bits are bits, as in section 12."""
        tau_k = channel.transcript.challenges("tau_k", log2_ceil(self.bits))
        tau = channel.transcript.challenges("tau", log2_ceil(rows) + self.position_variables)
        r, claim = channel.sumcheck("bits", len(tau), 3, Expression())
        [rest] = channel.receive("rest", 1)
        verifier.require_zero(claim - rest * eq(tau, r))
        kappa, b = verifier.planes(channel, tau_k, rest)
        row, position = r[: log2_ceil(rows)], r[log2_ceil(rows) :]
        combination = plane_rows(first, eq_table(kappa)[: self.bits], eq_table(row)[:rows])
        verifier.pairs.append(Pair(combination, position, b))

    def _replay_link(self, challenge, verifier, channel):
        """v(τ, ρ) = Σ_{c, l} eq(τ_c, c) E(l) f(c m + l), E = Σ_q eq(ρ, q) R[q, ·], f = Σ_t eq(τ_t, t) s_t, to ξ."""
        tau = channel.transcript.challenges("tau", self.row_variables + self.chunk_variables)
        rho = channel.transcript.challenges("rho", self.count_variables)
        tau_row, tau_chunk = tau[: self.row_variables], tau[self.row_variables :]
        [v] = channel.receive("v", 1)
        xi, claim = channel.sumcheck("link", self.position_variables, 2, v)
        [f] = channel.receive("f", 1)
        xi_chunk, xi_inside = xi[: self.chunk_variables], xi[self.chunk_variables :]
        folded = self.fold(challenge, eq_table(rho)[: self.count])
        inside = sum(e * weight for e, weight in zip(folded, eq_table(xi_inside), strict=True))
        verifier.require_zero(claim - f * (eq(tau_chunk, xi_chunk) * inside))
        verifier.pairs.append(self._values_at(tau + rho, v))
        weights = eq_table(tau_row)[: self.rows]
        verifier.pairs.append(Pair({self.first_row + t: w for t, w in enumerate(weights)}, xi, f))

    def fold(self, challenge, weights):
        """Σ_q weight_q R[q, l] for every l."""
        entries = draw_entries(challenge, self.number, self.count * self.chunk)
        out = [0] * self.chunk
        for weight in weights:
            of_sign = (0, weight, -weight)  # the last is number −1
            for l, sign in zip(range(self.chunk), entries):
                out[l] += of_sign[sign]
        return [e % ORDER for e in out]

    def _values_at(self, point, v):
        """The values of v at (τ, ρ), from their bits; v may be shorter than a row, and is then the beginning of one."""
        point = [0] * (self.position_variables - len(point)) + point
        split = len(point) - self.position_variables
        weights, signs = eq_table(point[:split])[: self.value_rows], sign_weights(self.bits)
        combination, bit_row, row = {}, self.first_bit_row, 0
        for rows in self.units:
            combination |= plane_rows(bit_row, signs, weights[row : row + rows])
            bit_row, row = bit_row + self.bits * rows, row + rows
        return Pair(combination, point[split:], v)


def plane_rows(first, planes, rows):
    """Σ_k planes[k] Σ_t rows[t] R[k, t] over bit rows that come plane after plane."""
    weights = (plane * row % ORDER for plane in planes for row in rows)
    return dict(enumerate(weights, first))
