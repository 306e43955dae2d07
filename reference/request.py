"""The request Ψ of a window (docs/formats.md, "Mask"): which weights become zero, by which operator, and for `guided`
where the others are drawn and what rules the step has to meet (docs/window.md, section 1)."""

from dataclasses import dataclass

from files import MAX_IDENTIFIER, Reader, check_identifier, refuse_if, unframe
from ristretto import ORDER

OPERATORS = {1: "group-obs", 2: "mask-only", 3: "guided"}
THOUSAND = 1000  # fractions of rules are in thousandths
TOP_LEVEL = 15


@dataclass
class Rule:
    """removed Σ_M x² + moved Σ_C x² + followed Σ Δ x + guide Σ Δ² ≥ 0, over a run of rows."""

    removed: int = 0
    moved: int = 0
    followed: int = 0
    guide: int = 0


@dataclass
class Bounds:
    residual: int  # Y_blk
    slack_bits: int  # NB


class Guide:
    """Δ: −m, 0 or m for each weight outside the mask, with a magnitude m for each Fisher block."""

    def __init__(self, r):
        tensors, blocks, length = r.u32(), r.u64(), r.u64()
        refuse_if(8 * tensors + -(-blocks // 2) + length > r.left, "truncated: the guide does not fit")
        self.scales = [r.u64() for _ in range(tensors)]
        levels = r.raw(-(-blocks // 2))
        self.levels = [level for byte in levels for level in (byte & 15, byte >> 4)]
        refuse_if(blocks % 2 == 1 and self.levels[-1] != 0, "a level follows the last block")
        self.levels = self.levels[:blocks]
        self.bytes = r.raw(length)

    def check_for(self, deployment, mask):
        layout = deployment.layout
        blocks = sum(-(-t.count // layout.block) for t in layout.covered)
        fits = len(self.scales) == len(layout.covered) and len(self.levels) == blocks
        refuse_if(not fits, "the guide has not as many scales and levels as the layout")
        refuse_if(any(scale > 2 ** (deployment.width - 1) - 1 for scale in self.scales), "a scale is too large")
        weights = layout.coordinates - len(mask.support)
        refuse_if(len(self.bytes) != -(-weights // 5), "the guide has not as many trits as there are weights")
        refuse_if(any(byte >= 3**5 for byte in self.bytes), "five trits are below 243")
        trits = [byte // 3**place % 3 for byte in self.bytes for place in range(5)]
        refuse_if(any(trits[weights:]), "the guide goes on after its last weight")
        self._place(layout, mask, trits)

    def _place(self, layout, mask, trits):
        """Δ by padded index, where it is not zero."""
        self.delta, masked, trit, block = {}, set(mask.support), iter(trits), 0
        for scale, tensor in zip(self.scales, layout.covered, strict=True):
            for k in range(tensor.count):
                if k % layout.block == 0:
                    magnitude, block = self.magnitude(scale, self.levels[block]), block + 1
                if tensor.first_coordinate + k in masked:
                    continue
                value = (0, magnitude, -magnitude)[next(trit)]
                if value != 0:
                    self.delta[layout.padded_index(tensor.first_coordinate + k)] = value

    @staticmethod
    def magnitude(scale, level):
        """scale / √2^(15 − level), 1/√2 being 181/256, rounded down in both steps; none for level 0."""
        if level == 0:
            return 0
        halvings = TOP_LEVEL - level
        return (scale if halvings % 2 == 0 else scale * 181 // 256) >> halvings // 2


class Mask:
    def __init__(self, data):
        content, self.digest = unframe(b"ZKAPEXPS", 5, data)
        r = Reader(content)
        self.deployment, self.window, self.nonce = r.raw(32), r.text(MAX_IDENTIFIER), r.raw(32)
        self.predecessor = r.raw(32)
        check_identifier(self.window)
        number = r.u8()
        refuse_if(number not in OPERATORS, f"there is no operator {number}")
        self.operator = OPERATORS[number]
        count, low_bits, length = r.u64(), r.u8(), r.u64()
        self.support = self._coordinates(r.raw(length), count, low_bits)
        self.guide = None
        self.pull = 0
        if self.operator == "guided":
            self.method = r.text(MAX_IDENTIFIER)
            check_identifier(self.method)
            self.pull = r.u64()  # t
            self.progress, self.distance, self.distance_removed = r.u32(), r.u32(), r.u32()  # π, κ, κ′
            refuse_if(self.pull > 2**40, "the pull is out of range")
            rules = self.progress <= THOUSAND and max(self.distance, self.distance_removed) <= 10**6
            refuse_if(not rules, "a rule is out of range")
            self.guide = Guide(r)
        refuse_if(count == 0 and self.guide is None, "the mask is empty")
        r.finish()

    @staticmethod
    def _coordinates(data, count, low_bits):
        """Rice's code of gaps: gap >> k ones, a zero, the low k bits, the lowest first; bytes from their lowest bit."""
        refuse_if(low_bits > 63, f"gaps with {low_bits} low bits")
        bits, left, at = int.from_bytes(data, "little"), 8 * len(data), 0
        refuse_if(count > left, f"truncated: {count} coordinates do not fit")
        text = bin(bits)[2:].zfill(left)[::-1] if left else ""
        out, following = [], 0
        for _ in range(count):
            zero = text.find("0", at)
            refuse_if(zero < 0 or zero + 1 + low_bits > left, "truncated: the gaps end early")
            low = int(text[zero + 1 : zero + 1 + low_bits][::-1] or "0", 2)
            out.append(following + ((zero - at) << low_bits) + low)
            following, at = out[-1] + 1, zero + 1 + low_bits
            refuse_if(following >= 2**64, "a coordinate is over 64 bits")
        refuse_if(left - at >= 8 or "1" in text[at:], "something follows the last gap")
        mean = (out[-1] - (count - 1)) // count if out else 0
        best = max(1, mean // 2 + mean // 8 + mean // 16).bit_length() - 1 if out else 0
        refuse_if(low_bits != best, "the gaps are not in their one code")
        return out

    def check_for(self, deployment):
        refuse_if(self.deployment != deployment.digest, "the mask was made for another deployment")
        outside = self.support and self.support[-1] >= deployment.layout.coordinates
        refuse_if(outside, "the mask names a coordinate that the layout does not have")
        if self.guide is not None:
            self.guide.check_for(deployment, self)
        self.bounds(deployment)

    def rules(self, deployment):
        """Those of each run of rows, in order."""
        cap = Rule(removed=deployment.cap_numerator, moved=-deployment.cap_denominator)
        if self.operator != "guided":
            return [cap] if self.operator == "group-obs" else []
        cap.guide = cap.removed
        return [
            cap,
            Rule(followed=THOUSAND, guide=-self.progress),
            Rule(self.distance_removed, -THOUSAND, 2 * THOUSAND, self.distance - THOUSAND),
        ]

    def row_groups(self, layout):
        """(first row, rows) of the runs that rules sum over: each covered tensor for guided, else all rows."""
        if self.operator != "guided":
            return [(0, layout.rows)]
        first = [t.first_slot // layout.slots_per_row for t in layout.covered] + [layout.rows]
        return [(a, b - a) for a, b in zip(first, first[1:])]

    def bounds(self, deployment):
        """Y_blk and NB; refused where a sum could wrap around, or a slack has no room."""
        if self.guide is None:
            return Bounds(deployment.residual_bound, deployment.slack_bits)
        layout, rules = deployment.layout, self.rules(deployment)
        residual = deployment.residual_bound_for(self.pull)
        most = max(max(r.removed, 0) + max(r.guide, 0) + 2 * max(r.followed, 0) for r in rules)
        largest = most * layout.coordinates * 4 ** (deployment.width - 1)
        slack_bits = max(residual.bit_length(), largest.bit_length())
        deployment.check_slack_bits(slack_bits, len(rules) * len(layout.covered))
        self._check_no_wrap(deployment, rules, slack_bits)
        return Bounds(residual, slack_bits)

    def _check_no_wrap(self, deployment, rules, slack_bits):
        layout, room, slack = deployment.layout, ORDER // 4, 2**slack_bits
        moved, delta = 2 * (2**deployment.weight_bound - 1), 2 ** (deployment.width - 1) - 1
        entry = 2**deployment.curvature_bound - 1
        y = (layout.stride * layout.block * entry**2 + deployment.floor + self.pull) * moved + self.pull * delta
        refuse_if(layout.block * y * y + slack >= room, "a residual can wrap around in the field")
        for rule in rules:
            squares = (abs(rule.removed) + abs(rule.moved)) * moved**2
            one = squares + abs(rule.followed) * moved * delta + abs(rule.guide) * delta**2
            refuse_if(layout.rows * layout.row * one + slack >= room, "a rule can wrap around in the field")
