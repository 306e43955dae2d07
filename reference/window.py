"""A window: θ_u is what the operator makes of the committed θ_p, with the committed curvature, for the mask M
(docs/window.md, sections 1 to 5).

An index i of a segment is (slot b, position j in it), and also (row, position in the row). u_i = 1 where i carries a
weight outside M, else 0; m_i = 1 − u_i, so 1 on padding too; x = θ_u − θ_p; y = L Lᵀ x + (μ + t) x − t Δ block by
block, where t and Δ are 0 without a guide. Bit planes 0 .. Q−1 are those of the blocks' slacks Y_blk − Σ u y²; the last
ones, of segment 0 only, have one row each, with the slacks of the rules. The operator mask-only has none of y, L and
planes, and one rule without a slack: nothing outside M moves. θ_u is committed as it is, and a projection shows that
its entries are below 2^e_θ in size.
"""

from dataclasses import dataclass

from argument import MAX_FORKS, Expression, Pair, Proof, Shape, Verifier, decode_points, settle
from deployment import Segment, make_segments
from files import MAX_WINDOWS, ModelCommitment, reject_if
from multilinear import eq, eq3, eq_factors, eq_table, log2_ceil, multiply_factors, power_factors, powers, prefix, value_at
from projection import Projection, plane_rows
from request import Rule
from ristretto import ORDER
from transcript import Transcript


@dataclass
class WindowSegment:
    segment: Segment
    masked: list  # indices i
    row_variables: int
    variables: int
    slot_variables: int
    first_slack_row: int
    rule_planes: int  # of the planes, at the end
    planes: int
    groups: list  # (number of the run of rows, first row of the segment, end): the last ends with the cube

    @property
    def plane_variables(self):
        return log2_ceil(self.planes)


class Plan:
    """Segments and counts, all from public inputs. Rows of the proof: θ_u's; slack planes, segment after segment; the
    rules' rows; then, committed after the first challenge, the bit rows of the projection of θ_u."""

    def __init__(self, deployment, mask, segmentation):
        layout = deployment.layout
        self.deployment, self.layout, self.segmentation = deployment, layout, segmentation
        self.mask, self.compensates = mask, mask.operator != "mask-only"
        self.rules, self.groups = mask.rules(deployment), mask.row_groups(layout)
        self.rule_count, self.bounds = len(self.rules) * len(self.groups), mask.bounds(deployment)
        self.slack_bits = self.bounds.slack_bits if self.compensates else 0  # NB
        self.slack_planes = -(-self.slack_bits // layout.stride)  # Q
        self.rules_per_plane = layout.row // self.slack_bits if self.compensates else 1
        self.rule_planes = -(-self.rule_count // self.rules_per_plane)
        self.first_rule_row = layout.rows * (1 + self.slack_planes)
        self.first_rows = self.first_rule_row + self.rule_planes  # before the first challenge
        shape = (layout.row, layout.rows, deployment.weight_chunk, deployment.projections, deployment.weight_bound)
        self.projection = Projection(*shape, number=0, first_row=0, first_bit_row=self.first_rows)
        self.rows = self.first_rows + self.projection.bit_rows
        parts = len(segmentation) + len(self.projection.forks)
        reject_if(parts > MAX_FORKS, "statement", f"{parts} parts are too many")
        indices = [layout.padded_index(coordinate) for coordinate in mask.support]
        self.segments = []
        for number, segment in enumerate(make_segments(layout, segmentation)):
            row_variables = log2_ceil(segment.rows)
            variables = row_variables + log2_ceil(layout.row)
            reject_if(variables > 31, "statement", f"a segment of {segment.rows} rows is too large")
            first, end = segment.first_row * layout.row, (segment.first_row + segment.rows) * layout.row
            rule_planes = self.rule_planes if number == 0 else 0
            masked = [i - first for i in indices if first <= i < end]
            slot_variables, planes = variables - log2_ceil(layout.stride), self.slack_planes + rule_planes
            first_slack_row = layout.rows + self.slack_planes * segment.first_row
            self.segments.append(
                WindowSegment(
                    segment,
                    masked,
                    row_variables,
                    variables,
                    slot_variables,
                    first_slack_row,
                    rule_planes,
                    planes,
                    self._groups_of(segment, 2**row_variables),
                )
            )

    def _groups_of(self, segment, all_rows):
        out = []
        for number, (first, rows) in enumerate(self.groups):
            low = max(first, segment.first_row) - segment.first_row
            high = min(first + rows, segment.first_row + segment.rows) - segment.first_row
            if low < high:
                out.append((number, low, high))
        number, low, _ = out[-1]
        return [*out[:-1], (number, low, all_rows)]

    def evaluations(self, s):
        """Scalars sent at the end of the joint sumcheck."""
        return 6 + s.planes if self.compensates else 3

    def scalars(self, s):
        out = 1 + 3 * s.variables + self.evaluations(s)
        if self.compensates:
            out += 3 * s.plane_variables + 2 + 2 * s.variables + 3 + 3 * s.variables + 3
        return out

    def shape(self):
        pairs, products = (3, 5) if self.compensates else (1, 1)
        return Shape(
            row_length=self.layout.row,
            rows=self.rows,
            forks=[self.scalars(s) for s in self.segments] + self.projection.forks,
            pairs=pairs * len(self.segments) + self.projection.pairs,
            products=products * len(self.segments) + self.projection.products,
            later_rows=self.projection.bit_rows,
        )


def window_transcript(plan, mask, registered, current, proof):
    """Up to the first challenge."""
    main = Transcript("zkapex window 5")
    main.absorb("operator", mask.operator.encode())
    main.absorb("deployment", plan.deployment.digest)
    main.absorb("segmentation", b"".join(rows.to_bytes(8, "little") for rows in plan.segmentation))
    main.absorb("mask", mask.digest)
    main.absorb("window", mask.window)
    main.absorb("client", registered.client)
    main.absorb("registration", registered.digest)
    main.absorb("nonce", mask.nonce)
    main.absorb("start", current.digest())
    main.absorb("model", b"".join(current.rows))
    main.absorb("curvature", b"".join(registered.curvature))
    main.absorb("theta_u", b"".join(proof.rows[: plan.layout.rows]))
    main.absorb("bit rows", b"".join(proof.rows[plan.layout.rows : plan.first_rows]))
    main.absorb("unchanged", b"".join(registered.unchanged))
    main.absorb("pads", proof.pads)
    return main


class RuleWeights:
    """All rules as one, Σ_k γ^k (slack of rule k): by run of rows the weights of Σ_M x², Σ_C x², Σ Δ x and Σ Δ². The
    one of mask-only, Σ_C x² = 0, has no slack."""

    def __init__(self, plan, main):
        gamma = main.challenge("rules") if plan.rule_count > 1 else 1
        self.powers = powers(gamma, plan.rule_count) if plan.rule_count else []
        self.groups = []
        for g in range(len(plan.groups)):
            own = self.powers[g * len(plan.rules) :]
            total = Rule() if plan.compensates else Rule(moved=-1)
            for power, rule in zip(own, plan.rules):
                total.removed += power * rule.removed
                total.moved += power * rule.moved
                total.followed += power * rule.followed
                total.guide += power * rule.guide
            self.groups.append(total)


class SegmentReplay:
    """One segment on its fork. Rows are numbered: those of the proof, then Com(θ_p), then Com(C_p)."""

    def __init__(self, plan, s, rules, verifier):
        self.plan, self.s, self.rules, self.verifier = plan, s, rules, verifier
        self.deployment, self.layout = plan.deployment, plan.layout
        self.channel = verifier.fork("segment")
        self.transcript = self.channel.transcript

    def run(self):
        """Returns this segment's part of the rules: K, and what of them depends on the guide alone."""
        k = self.joint_sumcheck()
        self.x = self.theta_u - self.theta_p
        if self.plan.compensates:
            self.kappa, self.b = self.verifier.planes(self.channel, self.tau_k, self.rest)
            self.verifier.products.append((self.y, self.y, self.y_square))
        self.verifier.products.append((self.x, self.x, self.x_square))
        if self.plan.compensates:
            self.products_with_the_factor()
        self.open()
        for group, low, high in self.s.groups:
            squares = sum(value**2 for _, value in self.guide_in(low, high))
            k = k + self.rules.groups[group].guide * squares
        return k

    def guide_in(self, low, high):
        """(index in the segment, Δ) where Δ is not zero, in rows low .. high − 1 of the segment."""
        guide, first = self.plan.mask.guide, self.s.segment.first_row * self.layout.row
        for i in range(low * self.layout.row, min(high, self.s.segment.rows) * self.layout.row) if guide else ():
            if first + i in guide.delta:
                yield i, guide.delta[first + i]

    def joint_sumcheck(self):
        """Σ_i { eq(τ, i) Σ_k eq(τ_k, k) (b_k(i)² − b_k(i))                            bits are bits
               + α_0 eq(τ, i) m_i θ_u(i)                                               masked, padded weights are zero
               + α_1 eq(τ_b, b) [u_i y_i² + Σ_q 2^(qS+j) b_q(i)]                       every block's residual
               + α_2 [(removed m_i + moved u_i) x_i² + followed Δ_i x_i − Σ_p w_p(i) b_p(i)] }    the rules
           = α_1 Y_blk Σ_{b committed} eq(τ_b, b) + α_2 K; the first and the third term with compensation only"""
        s, plan, channel = self.s, self.plan, self.channel
        [k] = channel.receive("K", 1)
        if plan.compensates:
            self.tau_k = self.transcript.challenges("tau_k", s.plane_variables)
        tau = self.transcript.challenges("tau", s.variables)
        alpha = self.transcript.challenges("alpha", 3)
        claim = k * alpha[2]
        if plan.compensates:
            slots = s.segment.rows * self.layout.slots_per_row
            committed = prefix(eq_factors(tau[: s.slot_variables]), slots)
            claim = claim + alpha[1] * plan.bounds.residual * committed
        self.r, claim = channel.sumcheck("joint", s.variables, 3, claim)
        sent = channel.receive("joint evaluations", plan.evaluations(s))
        for value, coefficient in zip(sent, self.joint_coefficients(tau, alpha), strict=True):
            claim = claim - value * coefficient
        self.verifier.require_zero(claim)
        if plan.compensates:
            self.y, self.y_square, *sent, self.rest = sent
        self.x_square, self.theta_u, self.theta_p, *self.slacks = sent
        return k

    def joint_coefficients(self, tau, alpha):
        """What multiplies the values sent in the summand at r. With compensation y, y², x², θ_u, θ_p, the slack planes,
        the rules' planes where there are any, the rest over the planes; without it x², θ_u, θ_p."""
        plan, s, r = self.plan, self.s, self.r
        r_b, r_j, tau_b = r[: s.slot_variables], r[s.slot_variables :], tau[: s.slot_variables]
        group_u, weighted_u = self.free_weights(r_b, r_j, tau_b)
        e, m = eq(tau, r), 1 - sum(group_u)
        row, squares, followed, self.guide_at_r = eq_factors(r[: s.row_variables]), 0, 0, 0
        for (group, low, high), u in zip(s.groups, group_u, strict=True):
            weights, rows = self.rules.groups[group], prefix(row, high) - prefix(row, low)
            squares += weights.removed * (rows - u) + weights.moved * u
            followed += weights.followed * rows
            self.guide_at_r += sum(value * value_at(eq_factors(r), i) for i, value in self.guide_in(low, high))
        squares, followed, zeros = alpha[2] * squares, alpha[2] * followed * self.guide_at_r, alpha[0] * e * m
        if not plan.compensates:
            return [squares, zeros, 0]
        out = [0, alpha[1] * weighted_u, squares, zeros + followed, -followed]
        stride, residual = self.layout.stride, alpha[1] * eq(tau_b, r_b)
        for q in range(plan.slack_planes):  # 2^(qS+j) where qS + j < NB
            bits = min(stride, plan.slack_bits - q * stride)
            out.append(residual * 2 ** (q * stride) * prefix(power_factors(r_j), bits))
        for p in range(s.rule_planes):
            out.append(-alpha[2] * self.rule_weight(p))
        return out + [e]

    def rule_weight(self, p):
        """Rule k = p A + a, A to a row, has its bits in plane p at a NB + b, b < NB, with the weight γ^k 2^b."""
        plan, at_power, out = self.plan, power_factors(self.r), 0
        for a, power in enumerate(self.rules.powers[p * plan.rules_per_plane :][: plan.rules_per_plane]):
            begin = a * plan.slack_bits
            bits = prefix(at_power, begin + plan.slack_bits) - prefix(at_power, begin)
            out += power * bits * pow(2, -begin, ORDER)
        return out

    def free_weights(self, r_b, r_j, tau_b):
        """The extensions of u_i in each group and of eq(τ_b, b) u_i at (r_b, r_j): what carries a weight, less the
        mask."""
        segment, at_slot, per_row = self.s.segment, eq_factors(r_b), self.layout.slots_per_row
        runs = [range(low * per_row, high * per_row) for _, low, high in self.s.groups]
        group_u = [segment.real_sum(at_slot, r_j, among=run) for run in runs]
        weighted_u = segment.real_sum(multiply_factors(at_slot, eq_factors(tau_b)), r_j)
        slot, tau, inside = eq_table(r_b), eq_table(tau_b), eq_table(r_j)
        for i in self.s.masked:
            b, j = divmod(i, self.layout.stride)
            [group] = [k for k, run in enumerate(runs) if b in run]
            group_u[group] -= slot[b] * inside[j]
            weighted_u -= slot[b] * tau[b] * inside[j]
        return [u % ORDER for u in group_u], weighted_u % ORDER

    def products_with_the_factor(self):
        """y at r, by two products with L. With v(b, l) = eq(r_b, b) Σ_j eq(r_j, j) L_b[j, l] and z = Lᵀ x:
        y(r) − (μ + t) x(r) + t Δ(r) = Σ_{b,l} v z, to ρ; then both at once
        v(ρ) + η z(ρ) = Σ_{b,j} L(b, j, ρ_l) (e(b) eq(r_j, j) + η eq(ρ_b, b) x(b, j)), to σ, e multilinear with
        e(b) = eq(ρ_b, b) eq(r_b, b)."""
        s, channel, verifier = self.s, self.channel, self.verifier
        pull = self.plan.mask.pull
        claim = self.y - self.x * (self.deployment.floor + pull) + pull * self.guide_at_r
        self.rho, claim = channel.sumcheck("product 1", s.variables, 2, claim)
        v, z, vz = channel.receive("v, z, vz", 3)
        verifier.require_zero(claim - vz)
        verifier.products.append((v, z, vz))
        eta = self.transcript.challenge("eta")
        self.sigma, claim = channel.sumcheck("product 2", s.variables, 3, v + z * eta)
        self.factor, self.x_sigma, factor_x = channel.receive("L, x, Lx", 3)
        rho_b, r_b, sigma_b = (point[: s.slot_variables] for point in (self.rho, self.r, self.sigma))
        at_row = eq(self.r[s.slot_variables :], self.sigma[s.slot_variables :])
        at_factor, at_product = eq3(rho_b, r_b, sigma_b) * at_row, eq(rho_b, sigma_b) * eta
        verifier.require_zero(claim - self.factor * at_factor - factor_x * at_product)
        verifier.products.append((self.factor, self.x_sigma, factor_x))

    def open(self):
        """The pairs. At r: θ_u + δ θ_p, and with compensation + δ² Σ_k eq(κ, k) b_k + Σ_k δ^(3+k) b_k over all planes;
        at σ: θ_u − θ_p; at (σ, ρ_l): L."""
        s, plan, rows = self.s, self.plan, self.s.row_variables
        one, delta, delta2, *of_planes = powers(self.transcript.challenge("delta"), 3 + s.planes)
        value = self.theta_u * one + self.theta_p * delta
        row = eq_table(self.r[:rows])
        combination = self.model_rows(one, delta, row)
        if plan.compensates:
            value = value + self.b * delta2
            for slack, weight in zip(self.slacks, of_planes, strict=True):
                value = value + slack * weight
            planes = [delta2 * e + own for e, own in zip(eq_table(self.kappa), of_planes)]
            combination |= self.slack_rows(planes, row)
        self.verifier.pairs.append(Pair(combination, self.r[rows:], value))
        if not plan.compensates:
            return

        row = eq_table(self.sigma[:rows])
        self.verifier.pairs.append(Pair(self.model_rows(1, -1, row), self.sigma[rows:], self.x_sigma))

        # A row of the curvature holds n / S² squares, or a part of one: its number is the highest variables of σ.
        stride = self.layout.stride
        point, high = self.sigma + self.rho[s.slot_variables :], rows + log2_ceil(stride)
        first = plan.rows + self.layout.rows + s.segment.first_row * stride
        weight = eq_table(point[:high])
        combination = {first + t: weight[t] for t in range(s.segment.rows * stride)}
        self.verifier.pairs.append(Pair(combination, point[high:], self.factor))

    def model_rows(self, of_theta_u, of_theta_p, row):
        """θ_u's rows of this segment are among the first of the proof, θ_p's the first after those of the proof."""
        out, first = {}, self.s.segment.first_row
        for t in range(self.s.segment.rows):
            out[first + t] = of_theta_u * row[t] % ORDER
            out[self.plan.rows + first + t] = of_theta_p * row[t] % ORDER
        return out

    def slack_rows(self, planes, row):
        out = plane_rows(self.s.first_slack_row, planes[: self.plan.slack_planes], row[: self.s.segment.rows])
        for p in range(self.s.rule_planes):  # one row each
            out[self.plan.first_rule_row + p] = planes[self.plan.slack_planes + p] * row[0] % ORDER
        return out


def check_history(registered, current, last_mask, mask):
    """A window comes once, and keeps removed what the client's last one removed."""
    reject_if(current.update != registered.model.update, "model", "an update that is not known has led to the model")
    if not current.windows:
        reject_if(current.rows != registered.model.rows, "model", "without windows, the model is the registered one")
        return
    reject_if(len(current.windows) >= MAX_WINDOWS, "window", "as many windows as a registration allows")
    applied = any(window == mask.window for window, _ in current.windows)
    reject_if(applied, "window", "this window was applied already")
    known = last_mask is not None and last_mask.digest == current.windows[-1][1]
    reject_if(not known, "mask", "the mask of the client's last window is not known")
    kept = set(last_mask.support) <= set(mask.support)
    reject_if(not kept, "mask", "the mask leaves out weights that the client's last one removed")


class Window:
    """The proof of a window against the client's registration, its model before the window, `current`, and the mask of
    its last window, if there was one."""

    def __init__(self, deployment, registered, current, last_mask, mask, file):
        reject_if(file.deployment != deployment.digest, "deployment", "the proof is for another deployment")
        same_mask = file.mask == mask.digest and file.window == mask.window
        reject_if(not same_mask, "mask", "the proof was made for another mask")
        self.plan = Plan(deployment, mask, file.segmentation)
        check_history(registered, current, last_mask, mask)
        reject_if(file.client != registered.client, "client", "the proof is of another client")
        same = file.registration == registered.digest == current.registration
        reject_if(not same, "registration", "the proof or the model commitment belongs to another registration")
        reject_if(file.model != current.digest(), "model", "the proof starts from another model than the current one")
        self.registered, self.current, self.mask = registered, current, mask
        self.shape = self.plan.shape()
        self.proof = Proof(file.proof, self.shape)

    def check(self):
        """The sum that must vanish."""
        plan, registered, current, proof = self.plan, self.registered, self.current, self.proof
        fits = (
            len(current.rows) == plan.layout.rows
            and len(registered.unchanged) == plan.layout.unchanged_rows
            and len(registered.curvature) == plan.layout.rows * plan.layout.stride
        )
        reject_if(not fits, "statement", "the commitments do not have the rows of the deployment's layout")
        encoded = proof.rows + current.rows + (registered.curvature if plan.compensates else [])
        rows = decode_points(encoded, "row commitments")
        main = self.transcript()
        verifier = Verifier(self.shape, proof, main)
        self.replay(verifier)
        return settle(main, verifier.reduce(), proof, rows)

    def transcript(self):
        return window_transcript(self.plan, self.mask, self.registered, self.current, self.proof)

    def replay(self, verifier):
        challenge = verifier.main.challenge("projection")
        verifier.absorb_rows("projections", self.shape.later_rows)
        rules, total = RuleWeights(self.plan, verifier.main), Expression()
        for s in self.plan.segments:
            total = total + SegmentReplay(self.plan, s, rules, verifier).run()
        self.plan.projection.replay(challenge, verifier, "segment")
        verifier.require_zero(total)  # over the segments

    def next_model(self):
        """Com(θ_u), the first rows of the proof: the model that the next window starts from."""
        rows = self.proof.rows[: self.plan.layout.rows]
        windows = [*self.current.windows, (self.mask.window, self.mask.digest)]
        return ModelCommitment(self.current.registration, self.current.update, windows, rows)
