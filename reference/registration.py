"""A registration: the covered weights θ_p are w-bit integers and zero on padding; with a certificate, every entry of
the curvature's squares is a c-bit integer. One range proof a unit of rows: docs/window.md, section 6."""

from dataclasses import dataclass

from argument import Expression, Pair, Proof, Shape, Verifier, decode_points, settle
from deployment import Segment, make_segments
from files import ModelCommitment, reject_if
from multilinear import eq, eq_factors, eq_table, log2_ceil, prefix, value_at
from ristretto import ORDER
from transcript import Transcript


def sign_weights(bits):
    """1, 2, 4, .., −2^(bits−1): an integer from its bits in two's complement."""
    return [2**k for k in range(bits - 1)] + [-(2 ** (bits - 1))]


def value_rows(planes, rows, bits):
    """V_t = Σ_k ±2^k R[k, t], from bit rows plane after plane; encoded."""
    points = decode_points(planes[: rows * bits], "bit rows")
    out = []
    for t in range(rows):
        value = -points[(bits - 1) * rows + t]
        for k in reversed(range(bits - 1)):
            value = value + value + points[k * rows + t]
        reject_if(value.is_identity(), "point", f"value row {t} is the identity")
        out.append(value.encode())
    return out


def real_sum(segment, f, r_j):
    """Σ f(slot) eq(r_j, j) over the indices (slot, j) of a segment that carry a weight, f a product function."""
    inside = eq_factors(r_j)
    out = 0
    for first, blocks, weights in segment.pieces:
        slots = value_at(f, first) if blocks == 1 else prefix(f, first + blocks) - prefix(f, first)
        out += slots * prefix(inside, weights)
    return out % ORDER


@dataclass
class Unit:
    """Rows of integers whose bits are committed plane by plane."""

    model: bool  # weights, which must be zero on padding; else squares of the curvature
    segment: Segment
    planes: int
    first_bit_row: int
    row_variables: int
    variables: int

    @property
    def bit_rows(self):
        return self.planes * self.segment.rows

    @property
    def plane_variables(self):
        return log2_ceil(self.planes)

    @property
    def scalars(self):
        return 3 * self.variables + (2 if self.model else 1) + 3 * self.plane_variables + 2


def make_units(deployment, file):
    layout = deployment.layout
    segments = [(True, s, deployment.width) for s in make_segments(layout, file.model_cut)]
    expected = layout.rows * layout.stride if file.certificate else 0
    covers = 0 not in file.curvature_cut and sum(file.curvature_cut) == expected
    reject_if(not covers, "statement", "the cut of the curvature does not cover every row once")
    first = 0
    for rows in file.curvature_cut:
        segments.append((False, Segment(first, rows, []), deployment.curvature_bits))
        first += rows
    units, first_bit_row = [], 0
    for model, segment, planes in segments:
        row_variables = log2_ceil(segment.rows)
        variables = row_variables + log2_ceil(layout.row)
        reject_if(variables > 31, "statement", f"a part of {segment.rows} rows is too large")
        units.append(Unit(model, segment, planes, first_bit_row, row_variables, variables))
        first_bit_row += units[-1].bit_rows
    return units


def registration_transcript(deployment, file, proof):
    cut = [len(file.model_cut), *file.model_cut, *file.curvature_cut]
    main = Transcript("zkapex registration 1")
    main.absorb("deployment", deployment.digest)
    main.absorb("client", file.client)
    main.absorb("cut", bytes([file.certificate]) + b"".join(v.to_bytes(8, "little") for v in cut))
    main.absorb("curvature", b"".join(file.curvature))
    main.absorb("bit rows", b"".join(proof.rows))
    main.absorb("unchanged", b"".join(file.unchanged))
    main.absorb("pads", proof.pads)
    return main


def replay_unit(layout, unit, verifier):
    """0 = Σ_i eq(τ, i) [Σ_k eq(τ_k, k)(b_k(i)² − b_k(i)) + α (1 − real_i) θ(i)], the second term for weights only."""
    channel = verifier.fork("unit")
    transcript = channel.transcript
    tau_k = transcript.challenges("tau_k", unit.plane_variables)
    tau = transcript.challenges("tau", unit.variables)
    alpha = transcript.challenge("alpha")
    r, claim = channel.sumcheck("bits", unit.variables, 3, Expression())
    *theta, rest = channel.receive("evaluations", 2 if unit.model else 1)
    e = eq(tau, r)
    claim = claim - rest * e
    if unit.model:
        slots = unit.variables - log2_ceil(layout.stride)
        padding = 1 - real_sum(unit.segment, eq_factors(r[:slots]), r[slots:])
        claim = claim - theta[0] * (alpha * e * padding)
    verifier.require_zero(claim)
    kappa, b = verifier.planes(channel, tau_k, rest)

    # The value V = Σ_k ±2^k R_k, for weights, and δ times Σ_k eq(κ, k) R_k, opened together at r.
    delta = transcript.challenge("delta")
    plane = eq_table(kappa)[: unit.planes]
    value = b
    if unit.model:
        plane = [delta * p + sign for p, sign in zip(plane, sign_weights(unit.planes))]
        value = theta[0] + b * delta
    row = eq_table(r[: unit.row_variables])
    rows = {}
    for k, p in enumerate(plane):
        for t in range(unit.segment.rows):
            rows[unit.first_bit_row + k * unit.segment.rows + t] = p * row[t] % ORDER
    verifier.pairs.append(Pair(rows, r[unit.row_variables :], value))


@dataclass
class Registered:
    """What windows are verified against."""

    digest: bytes
    client: bytes
    certificate: bool
    unchanged: list
    curvature: list  # Com(C_p)
    model: ModelCommitment  # Com(θ_p)


class Registration:
    """A registration file against its deployment: what it commits to, and what must vanish for it to be proved."""

    def __init__(self, deployment, file):
        reject_if(file.deployment != deployment.digest, "deployment", "the registration is for another deployment")
        self.deployment, self.file = deployment, file
        self.units = make_units(deployment, file)
        bit_rows = sum(unit.bit_rows for unit in self.units)
        forks = [unit.scalars for unit in self.units]
        self.shape = Shape(deployment.layout.row, bit_rows, forks, len(self.units), len(self.units))
        self.proof = Proof(file.proof, self.shape)

    def registered(self):
        file, model, curvature = self.file, [], list(self.file.curvature)
        self._check_rows()
        for unit in self.units:
            planes = self.proof.rows[unit.first_bit_row : unit.first_bit_row + unit.bit_rows]
            (model if unit.model else curvature).extend(value_rows(planes, unit.segment.rows, unit.planes))
        commitment = ModelCommitment(file.digest, [], model)
        return Registered(file.digest, file.client, file.certificate, file.unchanged, curvature, commitment)

    def _check_rows(self):
        """As many as the layout has, and points: also those that take no part in the proof."""
        file, layout = self.file, self.deployment.layout
        expected = 0 if file.certificate else layout.rows * layout.stride
        fits = len(file.unchanged) == layout.unchanged_rows and len(file.curvature) == expected
        reject_if(not fits, "statement", "the commitments do not have the rows of the deployment's layout")
        decode_points(file.unchanged, "unchanged rows")
        decode_points(file.curvature, "curvature rows")

    def check(self):
        """The sum that must vanish."""
        file, layout = self.file, self.deployment.layout
        self._check_rows()
        rows = decode_points(self.proof.rows, "bit rows")
        main = registration_transcript(self.deployment, file, self.proof)
        verifier = Verifier(self.shape, self.proof, main)
        for unit in self.units:
            replay_unit(layout, unit, verifier)
        return settle(main, verifier.reduce(), self.proof, rows)
