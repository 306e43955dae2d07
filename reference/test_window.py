"""A window as its verifier replays it, against a prover in the clear: all pads are zero, as in test_projection.py."""

import random
import unittest
from fractions import Fraction

from argument import MAGIC, Verifier
from deployment import Deployment
from files import ModelCommitment, ProofFile
from multilinear import eq_table
from registration import Registered
from request import Mask
from ristretto import BASE, ORDER
from test_files import MASKED, deployment_file, guided_file, mask_file
from test_projection import ReplayTest, Sender, bit_rows, project, prove_projection
from window import Plan, RuleWeights, Window

RNG = random.Random(3)
SIDE, ROW = 8, 64  # S and n: one square fills a row


def solve(a, b):
    """a x = b, a positive definite."""
    rows = [[Fraction(v) for v in [*row, right]] for row, right in zip(a, b)]
    for k, pivot in enumerate(rows):
        pivot[:] = [v / pivot[k] for v in pivot]
        for other in rows:
            if other is not pivot:
                other[:] = [v - other[k] * p for v, p in zip(other, pivot)]
    return [row[-1] for row in rows]


def bits_of(values, planes):
    """Plane q of slot b: bits q S .. q S + S − 1 of its value."""
    return [[v >> q * SIDE + j & 1 for v in values for j in range(SIDE)] for q in range(planes)]


def in_rows(table):
    return [table[t : t + ROW] for t in range(0, len(table), ROW)]


class Client:
    """Weights, curvature and what a window makes of them, over all slots. Tables are by padded index."""

    def __init__(self, deployment, mask):
        self.deployment, self.mask, self.compensates = deployment, mask, mask.operator != "mask-only"
        layout = deployment.layout
        size = layout.rows * layout.row
        self.free = [0] * size  # u
        for c in range(layout.coordinates):
            self.free[layout.padded_index(c)] = int(c not in mask.support)
        self.theta_p = [0] * size
        for c in range(layout.coordinates):
            self.theta_p[layout.padded_index(c)] = RNG.randrange(-4000, 4001)
        self.factors = [[[RNG.randrange(-1, 2) for _ in range(SIDE)] for _ in range(SIDE)] for _ in range(size // SIDE)]
        self.delta = [mask.guide.delta.get(i, 0) if mask.guide else 0 for i in range(size)]
        self.theta_u = [t * u for t, u in zip(self.theta_p, self.free)]
        if self.compensates:
            for b in range(size // SIDE):
                self.compensate(b)

    def matrix(self, b):
        factor, floor = self.factors[b], self.deployment.floor + self.mask.pull
        return [[sum(x * y for x, y in zip(p, q)) + floor * (p is q) for q in factor] for p in factor]

    def compensate(self, b):
        slot = range(b * SIDE, (b + 1) * SIDE)
        a, inside = self.matrix(b), [i for i in slot if self.free[i]]
        right = [sum(a[i % SIDE][j % SIDE] * self.theta_p[j] for j in slot if not self.free[j]) for i in inside]
        right = [v + self.mask.pull * self.delta[i] for v, i in zip(right, inside)]
        moved = solve([[a[i % SIDE][j % SIDE] for j in inside] for i in inside], right)
        for i, x in zip(inside, moved):
            self.theta_u[i] += round(x)

    def finish(self, plan):
        """What follows from θ_u."""
        self.x = [u - p for u, p in zip(self.theta_u, self.theta_p)]
        self.y, residuals = [], []
        for b in range(len(self.theta_p) // SIDE):
            slot = slice(b * SIDE, (b + 1) * SIDE)
            y = [sum(a * v for a, v in zip(row, self.x[slot])) for row in self.matrix(b)]
            y = [v - self.mask.pull * d for v, d in zip(y, self.delta[slot])]
            residuals.append(sum(u * v * v for u, v in zip(self.free[slot], y)))
            self.y += y
        self.planes, self.rule_rows, self.slacks = [], [], []
        if self.compensates:
            self.planes = bits_of([plan.bounds.residual - r for r in residuals], plan.slack_planes)
            self.slacks = [self.slack(rule, *rows) for rows in plan.groups for rule in plan.rules]
        for p in range(plan.rule_planes):
            slacks = self.slacks[p * plan.rules_per_plane :][: plan.rules_per_plane]
            row = [slack >> i & 1 for slack in slacks for i in range(plan.slack_bits)]
            self.rule_rows.append(row + [0] * (ROW - len(row)))

    def slack(self, rule, first, rows):
        out = 0
        for i in range(first * ROW, (first + rows) * ROW):
            x, d = self.x[i], self.delta[i]
            out += (rule.moved if self.free[i] else rule.removed) * x * x + rule.followed * d * x + rule.guide * d * d
        return out

    def rows(self, segments):
        """Before the first challenge."""
        out = in_rows(self.theta_u)
        for s in segments:
            for plane in self.planes:
                out += in_rows(plane)[s.segment.first_row : s.segment.first_row + s.segment.rows]
        return out + self.rule_rows

    def curvature_rows(self):
        return [sum(factor, []) for factor in self.factors]


class SegmentProver:
    """docs/window.md, sections 3 and 4, by the definitions."""

    def __init__(self, client, plan, s, rules, channel):
        self.client, self.plan, self.s, self.rules, self.channel = client, plan, s, rules, channel
        self.first, self.size = s.segment.first_row * ROW, s.segment.rows * ROW
        self.full, self.slots = 2**s.variables, 2**s.slot_variables

    def table(self, values):
        values = values[self.first : self.first + self.size]
        return values + [0] * (self.full - len(values))

    def rule_tables(self):
        """The weights of x² on the mask and outside, and of Δ x, by index."""
        out = [], [], []
        for group, low, high in self.s.groups:
            weights = self.rules.groups[group]
            for table, weight in zip(out, (weights.removed, weights.moved, weights.followed)):
                table.extend([weight % ORDER] * ((high - low) * ROW))
        return out

    def prove(self):
        client, s, channel, transcript = self.client, self.s, self.channel, self.channel.transcript
        removed, moved, followed = self.rule_tables()
        free, x, planes = self.table(client.free), self.table(client.x), [self.table(p) for p in client.planes]
        delta = self.table(client.delta)
        k = sum((c * u + a * (1 - u)) * v * v for a, c, u, v in zip(removed, moved, free, x))
        k += sum(f * d * v for f, d, v in zip(followed, delta, x))
        if s.rule_planes:
            k -= sum(power * slack for power, slack in zip(self.rules.powers, client.slacks))
        channel.send("K", k)
        tau_k = transcript.challenges("tau_k", s.plane_variables) if client.compensates else []
        tau = transcript.challenges("tau", s.variables)
        alpha = transcript.challenges("alpha", 3)
        weights = eq_table(tau_k)
        theta_u, theta_p = self.table(client.theta_u), self.table(client.theta_p)
        if not client.compensates:

            def masked(e, u, x, t, _):
                return alpha[0] * e * (1 - u) * t - alpha[2] * u * x * x

            tables = [eq_table(tau), free, x, theta_u, theta_p]
            _, (_, _, x, theta_u, theta_p) = channel.sumcheck("joint", s.variables, 3, tables, masked)
            channel.send("joint evaluations", x * x, theta_u, theta_p)
            transcript.challenge("delta")
            return

        bits, count = self.plan.slack_bits, len(planes)
        slot = [e for e in eq_table(tau[: s.slot_variables]) for _ in range(SIDE)]
        slot_free = [e * u for e, u in zip(slot, free)]
        powers = [
            [e * (2 ** (q * SIDE + i % SIDE) if q * SIDE + i % SIDE < bits else 0) for i, e in enumerate(slot)]
            for q in range(count)
        ]
        for p in range(s.rule_planes):
            planes.append(client.rule_rows[p] + [0] * (self.full - ROW))
            own = self.rules.powers[p * self.plan.rules_per_plane :][: self.plan.rules_per_plane]
            row = [power * 2**b for power in own for b in range(bits)]
            powers.append(row + [0] * (self.full - len(row)))

        def rest(values):
            return sum(w * (b * b - b) for w, b in zip(weights, values))

        # (removed m + moved u) is one table.
        squares = [a * (1 - u) + c * u for a, c, u in zip(removed, moved, free)]

        def summand(e, u, f, y, x, t, _, of_square, of_x, d, *others):
            b, weight = others[: len(planes)], others[len(planes) :]
            out = e * rest(b) + alpha[0] * e * (1 - u) * t + alpha[1] * f * y * y
            out += alpha[1] * sum(w * v for w, v in zip(weight[:count], b))
            out += alpha[2] * (of_square * x * x + of_x * d * x)
            return out - alpha[2] * sum(w * v for w, v in zip(weight[count:], b[count:]))

        tables = [eq_table(tau), free, slot_free, self.table(client.y), x, theta_u, theta_p, squares, followed, delta]
        r, at_r = channel.sumcheck("joint", s.variables, 3, [*tables, *planes, *powers], summand)
        y_r, x_r, theta_u, theta_p = at_r[3:7]
        b = at_r[10 : 10 + len(planes)]
        channel.send("joint evaluations", y_r, y_r * y_r, x_r * x_r, theta_u, theta_p, *b, rest(b))
        _, (_, b) = channel.sumcheck("planes", len(tau_k), 3, [weights, b], lambda e, b: e * (b * b - b))
        channel.send("b, b^2", b, b * b)
        self.products(r, x)
        transcript.challenge("delta")

    def products(self, r, x):
        s, channel = self.s, self.channel
        first = self.first // SIDE
        factors = self.client.factors[first : first + self.size // SIDE]
        factors += [[[0] * SIDE] * SIDE] * (self.slots - len(factors))
        r_b, r_j = eq_table(r[: s.slot_variables]), eq_table(r[s.slot_variables :])
        v, z = [], []
        for b, factor in enumerate(factors):
            for column in zip(*factor):
                v.append(r_b[b] * sum(e * entry for e, entry in zip(r_j, column)))
                z.append(sum(entry * x[b * SIDE + j] for j, entry in enumerate(column)))
        rho, (v, z) = channel.sumcheck("product 1", s.variables, 2, [v, z], lambda v, z: v * z)
        channel.send("v, z, vz", v, z, v * z)
        eta = channel.transcript.challenge("eta")
        rho_l = eq_table(rho[s.slot_variables :])
        folded = [sum(e * entry for e, entry in zip(rho_l, row)) for factor in factors for row in factor]
        slot = eq_table(rho[: s.slot_variables])
        at_rho = [e for e in slot for _ in range(SIDE)]
        at_both = [e * at % ORDER for e, at in zip(slot, r_b) for _ in range(SIDE)]
        tables = [at_rho, folded, at_both, x, r_j * self.slots]
        _, at = channel.sumcheck("product 2", s.variables, 3, tables, lambda e, l, b, x, j: l * (b * j + eta * e * x))
        channel.send("L, x, Lx", at[1], at[3], at[1] * at[3])


class WindowTest(ReplayTest):
    """λ = 192, rows of 64, blocks of 8; the last tensor ends inside a row."""

    @classmethod
    def setUpClass(cls):
        cls.deployment = Deployment(deployment_file(chunks=(64, 64, 64)))
        digest = cls.deployment.digest
        files = [mask_file(digest, support=MASKED, operator=number) for number in (1, 2)] + [guided_file(digest)]
        cls.masks = {mask.operator: mask for mask in map(Mask, files)}
        for mask in cls.masks.values():
            mask.check_for(cls.deployment)

    def client(self, operator="group-obs"):
        return Client(self.deployment, self.masks[operator])

    def window(self, mask, segmentation):
        """With one point for every row, and nothing said yet."""
        layout, point = self.deployment.layout, BASE.encode()
        current = ModelCommitment(bytes(32), rows=[point] * layout.rows)
        registered = Registered(bytes(32), b"c", [point], [point] * (layout.rows * SIDE), current)
        shape = Plan(self.deployment, mask, segmentation).shape()
        proof = MAGIC + point * (shape.rows + 1)
        proof += bytes(shape.bytes - len(proof))
        file = ProofFile(
            self.deployment.digest, bytes(32), mask.digest, current.digest(), b"c", b"w", segmentation, proof
        )
        return Window(self.deployment, registered, current, None, mask, file)

    def replay(self, client, segmentation):
        window = self.window(client.mask, segmentation)
        plan, forks, main = window.plan, [], window.transcript()
        client.finish(plan)
        challenge = main.challenge("projection")
        main.absorb("projections", BASE.encode() * window.shape.later_rows)
        rules = RuleWeights(plan, main)

        def fork():
            forks.append(Sender(main.fork("segment", len(forks))))
            return forks[-1]

        for s in plan.segments:
            SegmentProver(client, plan, s, rules, fork()).prove()
        theta_u = in_rows(client.theta_u)
        v = project(plan.projection, challenge, theta_u)
        later = bit_rows(plan.projection, v)
        prove_projection(plan.projection, challenge, theta_u, v, later, fork)
        window.proof.forks = [fork.sent for fork in forks]
        self.assertEqual([len(sent) for sent in window.proof.forks], window.shape.forks)
        verifier = Verifier(window.shape, window.proof, window.transcript())
        window.replay(verifier)
        self.assertEqual((len(verifier.pairs), len(verifier.products)), (window.shape.pairs, window.shape.products))
        self.assertEqual([fork.transcript.state for fork in forks], [fork.state for fork in verifier.forks])
        rows = client.rows(plan.segments)
        self.assertEqual(len(rows), window.shape.first_rows)
        return self.broken(verifier, rows + later + in_rows(client.theta_p) + client.curvature_rows())

    def index(self, coordinate):
        return self.deployment.layout.padded_index(coordinate)

    def test_honest_windows_hold(self):
        for operator in ("group-obs", "mask-only", "guided"):
            for segmentation in ([3], [1, 2], [1, 1, 1]):
                self.assertEqual(self.replay(self.client(operator), segmentation), ([], [], []))

    def test_the_model_after_a_window_is_the_first_rows(self):
        window = self.window(self.masks["mask-only"], [3])
        window.proof.rows = [bytes([k % 256]) * 32 for k in range(len(window.proof.rows))]
        after = window.next_model()
        self.assertEqual(after.rows, window.proof.rows[:3])
        self.assertEqual(after.windows, [(b"w", self.masks["mask-only"].digest)])

    def test_what_is_not_so_breaks_the_joint_sumcheck(self):
        """A segment's first equation: with compensation it has four (joint, planes, two products), else one."""
        for operator, at in [("group-obs", 4), ("mask-only", 1), ("guided", 4)]:
            kept, padded = self.client(operator), self.client(operator)
            kept.theta_u[self.index(116)], kept.theta_u[self.index(0)] = 0, 1  # 0 is masked
            self.assertIn(0, self.replay(kept, [1, 2])[0])
            padded.theta_u[64 + 77] = 1
            self.assertIn(at, self.replay(padded, [1, 2])[0])
        moved = self.client()
        moved.theta_u[self.index(116)] += 1000
        self.assertEqual(self.replay(moved, [1, 2]), ([4], [], []))

    def test_mask_only_moves_nothing_else(self):
        """Σ K is the last equation."""
        client = self.client("mask-only")
        client.theta_u[self.index(116)] += 1
        self.assertEqual(self.replay(client, [1, 2]), ([5], [], []))

    def test_a_large_weight_is_seen(self):
        """Its projections have no bits: the value of v, before the last pair."""
        client = self.client("mask-only")
        client.theta_u[self.index(116)] = client.theta_p[self.index(116)] = 2**20
        self.assertEqual(self.replay(client, [1, 2]), ([], [], [3]))


if __name__ == "__main__":
    unittest.main()
