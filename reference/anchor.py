"""Rows that are near those of a public reference (docs/window.md, section 6): Σ (s − a)² + slack = B for every group,
all groups in one sum with the powers of γ. An update has more groups: progress that it keeps (section 8)."""

from dataclasses import dataclass

from argument import Expression, Pair
from deployment import COVERED
from files import reject_if
from multilinear import eq, eq_factors, eq_table, log2_ceil, power_factors, powers, prefix
from request import THOUSAND
from ristretto import ORDER

UNIT = 2**22  # entries that are proved together


@dataclass
class Unit:
    """Consecutive rows; runs of them as (group, first, end), counted from the unit's first row."""

    row_length: int
    covered: bool
    first_row: int  # among the rows of its kind
    rows: int
    first_point: int  # among the relation's rows
    runs: list

    @property
    def row_variables(self):
        return log2_ceil(self.rows)

    @property
    def variables(self):
        return self.row_variables + log2_ceil(self.row_length)

    @property
    def scalars(self):
        return 1 + 3 * self.variables + 2

    def weight_at(self, gammas, r_row):
        """W being γ^k on the rows of group k."""
        at_row = eq_factors(r_row)
        parts = (gammas[group] * (prefix(at_row, end) - prefix(at_row, first)) for group, first, end in self.runs)
        return sum(parts) % ORDER

    def replay(self, gammas, base, verifier, channel):
        """K = Σ_i W(i) (s(i) − a(i))²"""
        [k] = channel.receive("K", 1)
        r, claim = channel.sumcheck("anchor", self.variables, 3, k)
        theta, square = channel.receive("theta, d^2", 2)
        r_row, r_position = r[: self.row_variables], r[self.row_variables :]
        verifier.require_zero(claim - square * self.weight_at(gammas, r_row))
        rows, positions = eq_table(r_row), eq_table(r_position)
        entries = base.rows(self.covered, self.first_row, self.rows)
        reference = sum(rows[t] * positions[l] * entry for t, l, entry in entries) % ORDER
        away = theta - Expression(reference)
        verifier.products.append((away, away, square))
        verifier.pairs.append(Pair(dict(enumerate(rows[: self.rows], self.first_point)), r_position, theta))
        return k


@dataclass
class Slacks:
    """NB bits each, as many slacks to a row as it has room for; all rows are one plane."""

    row_length: int
    count: int
    bits: int  # NB
    first_row: int

    @property
    def per_row(self):
        return self.row_length // self.bits

    @property
    def rows(self):
        return -(-self.count // self.per_row)

    @property
    def variables(self):
        return log2_ceil(self.rows) + log2_ceil(self.row_length)

    @property
    def scalars(self):
        return 1 + 3 * self.variables + 2 + 2

    def weight_at(self, gammas, r_row, r_position):
        """Bit b of slack k = p A + a, A to a row, stands in row p at a NB + b, with the weight γ^k 2^b."""
        at_power, out = power_factors(r_position), 0
        for p, row in enumerate(eq_table(r_row)[: self.rows]):
            for a, gamma in enumerate(gammas[p * self.per_row :][: self.per_row]):
                begin = a * self.bits
                bits = prefix(at_power, begin + self.bits) - prefix(at_power, begin)
                out += row * gamma * bits * pow(2, -begin, ORDER)
        return out % ORDER

    def replay(self, gammas, verifier, channel):
        """α S = Σ_i [eq(τ, i) (b(i)² − b(i)) + α w(i) b(i)]"""
        [total] = channel.receive("S", 1)
        tau = channel.transcript.challenges("tau", self.variables)
        alpha = channel.transcript.challenge("alpha")
        r, claim = channel.sumcheck("slacks", self.variables, 3, total * alpha)
        value, rest = channel.receive("slack evaluations", 2)
        r_row, r_position = r[: log2_ceil(self.rows)], r[log2_ceil(self.rows) :]
        weight = alpha * self.weight_at(gammas, r_row, r_position)
        verifier.require_zero(claim - value * weight - rest * eq(tau, r))
        _, b = verifier.planes(channel, [], rest)
        verifier.require_zero(value - b)
        rows = eq_table(r_row)[: self.rows]
        verifier.pairs.append(Pair(dict(enumerate(rows, self.first_row)), r_position, b))
        return total


def make_units(layout, covered, groups, rows, first_point):
    """Rows in units of 2^22 entries, or of one row where that is longer; `groups` as (number, tensor)."""
    at_once, out = max(1, UNIT // layout.row), []
    for first in range(0, rows, at_once):
        count = min(at_once, rows - first)
        runs = []
        for k, tensor in groups:
            low, high = max(tensor.first_row, first), min(tensor.first_row + tensor.rows, first + count)
            if low < high:
                runs.append((k, low - first, high - first))
        out.append(Unit(layout.row, covered, first, count, first_point + first, runs))
    return out


@dataclass
class ProgressUnit:
    """Rows of a model that follow a guide, Δ by padded index, from where an earlier model was."""

    unit: Unit
    delta: dict
    first_before: int  # the earlier model's first row here, among the rows that the statement brings

    @property
    def scalars(self):
        return self.unit.scalars

    def replay(self, gammas, verifier, channel, proof_rows):
        """K = Σ_i 1000 W(i) Δ(i) (p(i) − s(i))"""
        unit = self.unit
        [k] = channel.receive("K", 1)
        r, claim = channel.sumcheck("progress", unit.variables, 3, k)
        theta, before = channel.receive("theta, before", 2)
        r_row, r_position = r[: unit.row_variables], r[unit.row_variables :]
        rows, positions, first = eq_table(r_row), eq_table(r_position), unit.first_row * unit.row_length
        inside = ((i - first, value) for i, value in self.delta.items() if 0 <= i - first < unit.rows * unit.row_length)
        drawn = sum(rows[i // unit.row_length] * positions[i % unit.row_length] * value for i, value in inside)
        weight = THOUSAND * unit.weight_at(gammas, r_row) * drawn % ORDER
        verifier.require_zero(claim - (before - theta) * weight)
        delta = channel.transcript.challenge("delta")
        opened = dict(enumerate(rows[: unit.rows], unit.first_point))
        opened |= {proof_rows + self.first_before + t: delta * row % ORDER for t, row in enumerate(rows[: unit.rows])}
        verifier.pairs.append(Pair(opened, r_position, theta + before * delta))
        return k


class AnchorPart:
    """What an anchored registration has beside ranges, and an update for each window with a guide, given as (Δ by
    padded index, π). Without an anchor and guides there is nothing of it."""

    def __init__(self, deployment, curvature_rows, guides=()):
        layout, anchor = deployment.layout, deployment.anchor
        self.units, self.progress, self.slacks, self.bounds, bits = [], [], None, [], 1
        first_other = layout.rows + curvature_rows
        if anchor:
            groups, bits, self.bounds = list(enumerate(anchor.tensors)), anchor.bits, list(anchor.bounds)
            covered = [(k, tensor) for k, tensor in groups if tensor.kind == COVERED]
            others = [(k, tensor) for k, tensor in groups if tensor.kind != COVERED]
            self.units = make_units(layout, True, covered, layout.rows, 0)
            self.units += make_units(layout, False, others, layout.unchanged_rows, first_other)
        for number, (delta, progress) in enumerate(guides):
            self._keep_progress(layout, delta, progress, number * layout.rows)
        if self.progress:
            bits = max(bits, (THOUSAND * layout.coordinates * 2 ** (2 * deployment.width - 1)).bit_length())
        if self.bounds:
            reject_if(bits > layout.row, "statement", "slacks have no room in a row")
            self.slacks = Slacks(layout.row, len(self.bounds), bits, first_other + layout.unchanged_rows)

    def _keep_progress(self, layout, delta, progress, first_before):
        """1000 Σ Δ (p − s) ≤ −π ΣΔ², in every covered tensor with a Δ."""
        drawn = []
        for tensor in (t for t in layout.tensors if t.kind == COVERED and t.count > 0):
            first, end = tensor.first_row * layout.row, (tensor.first_row + tensor.rows) * layout.row
            squares = sum(value**2 for i, value in delta.items() if first <= i < end)
            if squares > 0:
                drawn.append((len(self.bounds), tensor))
                self.bounds.append(-progress * squares)
        for unit in make_units(layout, True, drawn, layout.rows, 0):
            if unit.runs:
                self.progress.append(ProgressUnit(unit, delta, first_before + unit.first_row))

    @property
    def rows(self):
        return self.slacks.rows if self.slacks else 0

    @property
    def forks(self):
        """Scalars on each; a pair, too."""
        return [part.scalars for part in (*self.units, *self.progress, self.slacks)] if self.slacks else []

    @property
    def products(self):
        return len(self.units) + 1 if self.slacks else 0

    def draw(self, main):
        return powers(main.challenge("anchor"), len(self.bounds)) if self.slacks else []

    def replay(self, gammas, base, verifier, name):
        """Returns what must be zero after the forks: Σ_k γ^k (sum + slack − bound)."""
        total = Expression(-sum(gamma * bound for gamma, bound in zip(gammas, self.bounds, strict=True)))
        for unit in self.units:
            total += unit.replay(gammas, base, verifier, verifier.fork(name))
        for unit in self.progress:
            total += unit.replay(gammas, verifier, verifier.fork(name), verifier.shape.rows)
        return total + self.slacks.replay(gammas, verifier, verifier.fork(name))
