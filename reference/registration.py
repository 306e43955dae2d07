"""A registration: the covered weights θ_p are zero on padding and below 2^e_θ in size, every entry of the curvature's
squares is below 2^e_L, and every entry of tensors that are not covered below 2^63 (docs/window.md, section 6)."""

from dataclasses import dataclass

from argument import MAX_FORKS, Expression, Pair, Proof, Shape, Verifier, decode_points, settle
from deployment import OTHER_BITS, Segment, make_segments
from files import ModelCommitment, reject_if
from multilinear import eq, eq_factors, eq_table, log2_ceil
from projection import Projection
from transcript import Transcript


@dataclass
class Padding:
    """A segment in which some committed entries carry no weight: there they must be zero."""

    layout: object
    segment: Segment

    @property
    def row_variables(self):
        return log2_ceil(self.segment.rows)

    @property
    def variables(self):
        return self.row_variables + log2_ceil(self.layout.row)

    @property
    def scalars(self):
        return 3 * self.variables + 1

    def replay(self, verifier):
        """0 = Σ_i eq(τ, i) (1 − real_i) θ(i)"""
        channel = verifier.fork("unit")
        tau = channel.transcript.challenges("tau", self.variables)
        r, claim = channel.sumcheck("padding", self.variables, 3, Expression())
        [theta] = channel.receive("theta", 1)
        slots = self.variables - log2_ceil(self.layout.stride)
        real = self.segment.real_sum(eq_factors(r[:slots]), r[slots:])
        verifier.require_zero(claim - theta * (eq(tau, r) * (1 - real)))
        weights = eq_table(r[: self.row_variables])[: self.segment.rows]
        rows = dict(enumerate(weights, self.segment.first_row))
        verifier.pairs.append(Pair(rows, r[self.row_variables :], theta))


def make_paddings(layout, cut):
    out = []
    for segment in make_segments(layout, cut):
        if segment.weights < segment.rows * layout.row:
            out.append(Padding(layout, segment))
            too_large = out[-1].variables > 31
            reject_if(too_large, "statement", f"a part of {segment.rows} rows is too large")
    return out


def make_projections(deployment):
    """Of the weights, of the curvature, of other tensors where there are any; rows and bit rows one after another."""
    layout = deployment.layout
    parts = [
        (layout.rows, deployment.weight_chunk, deployment.weight_bound),
        (layout.rows * layout.stride, deployment.curvature_chunk, deployment.curvature_bound),
        (layout.unchanged_rows, deployment.other_chunk, OTHER_BITS),
    ]
    out, first_row, first_bit_row = [], 0, sum(rows for rows, _, _ in parts)
    for number, (rows, chunk, bits) in enumerate(parts):
        if rows > 0:
            shape = (layout.row, rows, chunk, deployment.projections, bits)
            out.append(Projection(*shape, number, first_row, first_bit_row))
            first_row, first_bit_row = first_row + rows, first_bit_row + out[-1].bit_rows
    return out


def make_shape(paddings, projections):
    later_rows = sum(projection.bit_rows for projection in projections)
    return Shape(
        row_length=projections[0].row_length,
        rows=sum(projection.rows for projection in projections) + later_rows,
        forks=[padding.scalars for padding in paddings] + [f for projection in projections for f in projection.forks],
        pairs=len(paddings) + sum(projection.pairs for projection in projections),
        products=sum(projection.products for projection in projections),
        later_rows=later_rows,
    )


@dataclass
class Registered:
    """What windows are verified against."""

    digest: bytes
    client: bytes
    unchanged: list  # rows of the tensors that no operator touches
    curvature: list  # Com(C_p)
    model: ModelCommitment  # Com(θ_p)


class Registration:
    """A registration file against its deployment: what it commits to, and what must vanish for it to be proved."""

    def __init__(self, deployment, file):
        reject_if(file.deployment != deployment.digest, "deployment", "the registration is for another deployment")
        self.deployment, self.file, layout = deployment, file, deployment.layout
        self.projections = make_projections(deployment)
        parts = len(file.cut) + sum(len(projection.forks) for projection in self.projections)
        reject_if(parts > MAX_FORKS, "statement", f"{parts} parts are too many")
        self.paddings = make_paddings(layout, file.cut)
        self.shape = make_shape(self.paddings, self.projections)
        self.proof = Proof(file.proof, self.shape)
        rows, squares = self.proof.rows[: self.shape.first_rows], layout.rows * (1 + layout.stride)
        self.model, self.curvature, self.unchanged = rows[: layout.rows], rows[layout.rows : squares], rows[squares:]

    def registered(self):
        digest = self.file.digest
        model = ModelCommitment(digest, [], self.model)
        return Registered(digest, self.file.client, self.unchanged, self.curvature, model)

    def transcript(self):
        """Up to the first challenge."""
        main = Transcript("zkapex registration 2")
        main.absorb("deployment", self.deployment.digest)
        main.absorb("client", self.file.client)
        main.absorb("cut", b"".join(v.to_bytes(8, "little") for v in [len(self.file.cut), *self.file.cut]))
        main.absorb("model", b"".join(self.model))
        main.absorb("curvature", b"".join(self.curvature))
        main.absorb("unchanged", b"".join(self.unchanged))
        main.absorb("pads", self.proof.pads)
        return main

    def replay(self, verifier):
        challenge = verifier.main.challenge("projection")
        verifier.absorb_rows("projections", self.shape.later_rows)
        for padding in self.paddings:
            padding.replay(verifier)
        for projection in self.projections:
            projection.replay(challenge, verifier, "unit")

    def check(self):
        """The sum that must vanish."""
        points = decode_points(self.proof.rows, "rows of the registration")
        main = self.transcript()
        verifier = Verifier(self.shape, self.proof, main)
        self.replay(verifier)
        return settle(main, verifier.reduce(), self.proof, points)
