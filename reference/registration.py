"""A registration, or an update: the covered weights θ_p are zero on padding and below 2^e_θ in size, every entry of
the curvature's squares is below 2^e_L, and every entry of tensors that are not covered below 2^63; with an anchor,
every tensor is near the base model's (docs/window.md, section 6). An update is held to past windows, too (section 8).
"""

from dataclasses import dataclass

from anchor import AnchorPart
from argument import MAX_FORKS, Expression, Pair, Proof, Shape, Verifier, decode_points, settle
from deployment import OTHER_BITS, Segment, make_segments
from files import MAX_IDENTIFIER, ModelCommitment, Reader, reject_if, unframe
from multilinear import eq, eq_factors, eq_table, log2_ceil
from projection import Projection
from transcript import Transcript


@dataclass
class Padding:
    """A segment in which some committed entries carry no weight, or one that was removed: there they must be zero."""

    layout: object
    segment: Segment
    removed: list  # indices in the segment

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
        """0 = Σ_i eq(τ, i) (1 − real_i) θ(i), where what was removed is not real"""
        channel = verifier.fork("unit")
        tau = channel.transcript.challenges("tau", self.variables)
        r, claim = channel.sumcheck("padding", self.variables, 3, Expression())
        [theta] = channel.receive("theta", 1)
        slots = self.variables - log2_ceil(self.layout.stride)
        real = self.segment.real_sum(eq_factors(r[:slots]), r[slots:])
        at = eq_table(r) if self.removed else []
        real -= sum(at[i] for i in self.removed)
        verifier.require_zero(claim - theta * (eq(tau, r) * (1 - real)))
        weights = eq_table(r[: self.row_variables])[: self.segment.rows]
        rows = dict(enumerate(weights, self.segment.first_row))
        verifier.pairs.append(Pair(rows, r[self.row_variables :], theta))


def make_paddings(layout, cut, removed=()):
    """`removed`: padded indices."""
    out = []
    for segment in make_segments(layout, cut):
        first, size = segment.first_row * layout.row, segment.rows * layout.row
        inside = [i - first for i in removed if 0 <= i - first < size]
        if inside or segment.weights < size:
            out.append(Padding(layout, segment, inside))
            too_large = out[-1].variables > 31
            reject_if(too_large, "statement", f"a part of {segment.rows} rows is too large")
    return out


def make_projections(deployment, curvature_rows, slack_rows=0):
    """Of the weights, of the curvature and of other tensors where there are any; rows and bit rows one after another."""
    layout = deployment.layout
    parts = [
        (layout.rows, deployment.weight_chunk, deployment.weight_bound),
        (curvature_rows, deployment.curvature_chunk, deployment.curvature_bound),
        (layout.unchanged_rows, deployment.other_chunk, OTHER_BITS),
    ]
    out, first_row, first_bit_row = [], 0, sum(rows for rows, _, _ in parts) + slack_rows
    for number, (rows, chunk, bits) in enumerate(parts):
        if rows > 0:
            shape = (layout.row, rows, chunk, deployment.projections, bits)
            out.append(Projection(*shape, number, first_row, first_bit_row))
            first_row, first_bit_row = first_row + rows, first_bit_row + out[-1].bit_rows
    return out


def make_shape(paddings, anchor, projections, known=None):
    later_rows = sum(projection.bit_rows for projection in projections)
    return Shape(
        row_length=projections[0].row_length,
        rows=sum(projection.rows for projection in projections) + anchor.rows + later_rows,
        forks=[padding.scalars for padding in paddings]
        + anchor.forks
        + [f for projection in projections for f in projection.forks]
        + ([1] if known else []),
        pairs=len(paddings) + len(anchor.forks) + sum(projection.pairs for projection in projections) + bool(known),
        products=anchor.products + sum(projection.products for projection in projections),
        later_rows=later_rows,
    )


@dataclass
class KnownRows:
    """Rows that the statement brings, and that the prover can open; first_row counts from the first of them."""

    row_length: int
    rows: int
    first_row: int

    def replay(self, verifier):
        channel, row_variables = verifier.fork("unit"), log2_ceil(self.rows)
        tau = channel.transcript.challenges("tau", row_variables + log2_ceil(self.row_length))
        [value] = channel.receive("current", 1)
        weights = eq_table(tau[:row_variables])[: self.rows]
        rows = dict(enumerate(weights, verifier.shape.rows + self.first_row))
        verifier.pairs.append(Pair(rows, tau[row_variables:], value))


@dataclass
class Registered:
    """What windows are verified against."""

    digest: bytes
    client: bytes
    unchanged: list  # rows of the tensors that no operator touches
    curvature: list  # Com(C_p)
    model: ModelCommitment  # Com(θ_p)

    @staticmethod
    def parse(data):
        """The provider's record, of a registration or of an update."""
        content, _ = unframe(b"ZKAPEXRD", 3, data)
        r = Reader(content)
        digest, update, client = r.raw(32), r.raw(32), r.text(MAX_IDENTIFIER)
        unchanged, curvature, model = r.points(), r.points(), r.points()
        r.finish()
        return Registered(digest, client, unchanged, curvature, ModelCommitment(digest, update, [], model))


class CommittedModel:
    """What registrations and updates prove of the rows in their proof. `removed`: padded indices that are zero;
    `guides`: see AnchorPart; `reference`: the base model, or where windows have moved it, where there is an anchor;
    `known`: of an update, the rows that it goes on from."""

    def __init__(self, deployment, file, curvature, removed=(), guides=(), reference=None, known=None):
        self.deployment, self.file, self.reference, layout = deployment, file, reference, deployment.layout
        self.known = known
        curvature_rows = layout.rows * layout.stride if curvature else 0
        self.anchor = AnchorPart(deployment, curvature_rows, guides)
        self.projections = make_projections(deployment, curvature_rows, self.anchor.rows)
        parts = len(file.cut) + len(self.anchor.forks) + sum(len(projection.forks) for projection in self.projections)
        parts += bool(known)
        reject_if(parts > MAX_FORKS, "statement", f"{parts} parts are too many")
        self.paddings = make_paddings(layout, file.cut, removed)
        self.shape = make_shape(self.paddings, self.anchor, self.projections, known)
        self.proof = Proof(file.proof, self.shape)
        rows, squares = self.proof.rows[: self.shape.first_rows], layout.rows + curvature_rows
        unchanged = squares + layout.unchanged_rows
        self.model, self.curvature = rows[: layout.rows], rows[layout.rows : squares]
        self.unchanged, self.slacks = rows[squares:unchanged], rows[unchanged:]

    def absorb_rows(self, main):
        main.absorb("cut", b"".join(v.to_bytes(8, "little") for v in [len(self.file.cut), *self.file.cut]))
        main.absorb("model", b"".join(self.model))
        main.absorb("curvature", b"".join(self.curvature))
        main.absorb("unchanged", b"".join(self.unchanged))
        main.absorb("slacks", b"".join(self.slacks))
        main.absorb("pads", self.proof.pads)

    def replay(self, verifier):
        challenge = verifier.main.challenge("projection")
        verifier.absorb_rows("projections", self.shape.later_rows)
        gammas = self.anchor.draw(verifier.main)
        for padding in self.paddings:
            padding.replay(verifier)
        distances = self.anchor.replay(gammas, self.reference, verifier, "unit") if gammas else None
        for projection in self.projections:
            projection.replay(challenge, verifier, "unit")
        if self.known:
            self.known.replay(verifier)
        if gammas:
            verifier.require_zero(distances)

    def check(self, main, statement_rows=()):
        """The sum that must vanish; `main` is the transcript up to the first challenge."""
        points = decode_points([*self.proof.rows, *statement_rows], "rows")
        verifier = Verifier(self.shape, self.proof, main)
        self.replay(verifier)
        return settle(main, verifier.reduce(), self.proof, points)


class Registration:
    """A registration file against its deployment: what it commits to, and what must vanish for it to be proved."""

    def __init__(self, deployment, file, base=None):
        """`base`: the base model, where the deployment has an anchor."""
        reject_if(file.deployment != deployment.digest, "deployment", "the registration is for another deployment")
        self.deployment, self.file = deployment, file
        self.committed = CommittedModel(deployment, file, True, reference=base)

    def registered(self):
        digest, committed = self.file.digest, self.committed
        model = ModelCommitment(digest, rows=committed.model)
        return Registered(digest, self.file.client, committed.unchanged, committed.curvature, model)

    def transcript(self):
        """Up to the first challenge."""
        main = Transcript("zkapex registration 3")
        main.absorb("deployment", self.deployment.digest)
        main.absorb("client", self.file.client)
        self.committed.absorb_rows(main)
        return main

    def check(self):
        """The sum that must vanish."""
        return self.committed.check(self.transcript())
