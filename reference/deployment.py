"""The deployment: layout and parameters (docs/formats.md), and the segments of a layout's rows."""

from bisect import bisect_right
from dataclasses import dataclass

from argument import MAX_FORKS
from files import Reader, refuse_if, reject_if, unframe
from multilinear import eq_factors, log2_ceil, prefix, value_at
from ristretto import ORDER

MAX_PADDED = 2**40  # weights with their padding
MAX_CHUNK = 2**16  # entries that are projected together
COVERED, SPLIT = 1, 2  # kinds of tensors beside 0: the weights that change; two entries an element
NEAR, SAME, ADDED, FREE = range(4)  # what an anchor asks of a tensor
OTHER_BITS = 63  # e_u: of the projections of tensors that are not covered


def is_power_of_two(value):
    return value > 0 and value & (value - 1) == 0


@dataclass
class Tensor:
    """A covered tensor. Blocks of B weights sit in slots of S entries; the last block may hold `rest` weights only."""

    count: int
    first_coordinate: int
    first_slot: int
    full_blocks: int
    rest: int


@dataclass
class Placed:
    """Any tensor of a layout, and where its rows are among those of its kind, covered or not."""

    name: bytes
    kind: int
    shape: list
    count: int
    first_row: int
    rows: int

    @property
    def entries(self):
        return self.count * (2 if self.kind == SPLIT else 1)


class Layout:
    """How tensors map to rows: covered ones by Fisher blocks, the others as they are. A row never holds two tensors."""

    def __init__(self, reader):
        self.block, self.row = reader.u64(), reader.u64()  # B, n
        count = reader.u32()
        refuse_if(count > 2**20, f"{count} tensors")
        shapes = [self._read_tensor(reader) for _ in range(count)]
        self._check_geometry()
        self.stride = 2 ** log2_ceil(self.block)  # S
        self.slots_per_row = self.row // self.stride
        self.rows = self.unchanged_rows = self.coordinates = 0
        self.covered, self.tensors = [], []
        previous = None
        for name, kind, shape in shapes:
            refuse_if(previous is not None and name <= previous, "tensors are not in the order of their names")
            previous = name
            self._place(name, kind, shape)
        refuse_if(self.coordinates == 0, "the layout covers no weight")

    @staticmethod
    def _read_tensor(reader):
        name, kind = reader.text(2**16), reader.u8()
        refuse_if(kind > SPLIT, f"a tensor of kind {kind}")
        return name, kind, [reader.u64() for _ in range(reader.u8())]

    def _check_geometry(self):
        refuse_if(not 1 <= self.block <= 1024, f"blocks of {self.block}")
        refuse_if(not is_power_of_two(self.row) or self.row > 2**22, f"rows of {self.row} entries")
        refuse_if(self.row < 64, f"rows of {self.row} entries")
        refuse_if(self.row < 2 ** log2_ceil(self.block), "rows are too short for a block")

    def _place(self, name, kind, shape):
        refuse_if(len(shape) > 16, f"a tensor of {len(shape)} dimensions")
        count = 1
        for dimension in shape:
            count *= dimension
            refuse_if(count >= 2**64, "the product of a shape overflows 64 bits")
        refuse_if(count > MAX_PADDED, f"a tensor of {count} weights")
        first_row = self.rows if kind == COVERED else self.unchanged_rows
        if kind == COVERED:
            first_slot = self.rows * self.slots_per_row
            self.rows += -(-(-(-count // self.block) * self.stride) // self.row)
            if count > 0:
                full, rest = divmod(count, self.block)
                self.covered.append(Tensor(count, self.coordinates, first_slot, full, rest))
            self.coordinates += count
        else:
            self.unchanged_rows += -(-count * (2 if kind == SPLIT else 1) // self.row)
        rows = (self.rows if kind == COVERED else self.unchanged_rows) - first_row
        self.tensors.append(Placed(name, kind, shape, count, first_row, rows))
        too_many = max(self.rows, self.unchanged_rows) > MAX_PADDED // self.row
        refuse_if(too_many, f"the model has more than {MAX_PADDED} weights with padding")

    def padded_index(self, coordinate):
        at = bisect_right(self.covered, coordinate, key=lambda t: t.first_coordinate) - 1
        tensor = self.covered[at]
        block, j = divmod(coordinate - tensor.first_coordinate, self.block)
        return (tensor.first_slot + block) * self.stride + j


def read_decimal(reader, what):
    digits, places = reader.u64(), reader.u32()
    refuse_if(not 1 <= digits <= 10**15 or places > 18, f"{what} is out of range")
    refuse_if(places > 0 and digits % 10 == 0, f"{what} is not in its one form")
    return digits, places


class Anchor:
    """How near the base model θ0 a registered model is: Σ (θ − θ0)² ≤ ρ² Σ θ0² + α² n 4^f for each tensor."""

    def __init__(self, reader, deployment):
        layout = deployment.layout
        self.ratio = reader.u32()  # ρ in thousandths
        drift, added = read_decimal(reader, "the drift"), read_decimal(reader, "the size of added tensors")  # α
        self.base = reader.raw(32)
        self.kinds, self.squares = [], []  # of all tensors
        self.tensors, self.bounds = [], []  # those that are not free, and their B
        refuse_if(self.ratio > 10**6, f"an anchor's ratio of {self.ratio} thousandths")
        for tensor in layout.tensors:
            self.kinds.append(reader.u8())
            refuse_if(self.kinds[-1] > FREE, f"an anchor with a tensor of kind {self.kinds[-1]}")
            squares = int.from_bytes(reader.raw(24), "little") if self.kinds[-1] == NEAR else 0
            largest = 2 ** (deployment.width - 1) - 1 if tensor.kind == COVERED else deployment.largest_other
            refuse_if(squares > tensor.entries * largest**2, f"no base model's {tensor.name} has such squares")
            refuse_if(self.kinds[-1] == NEAR and tensor.kind == SPLIT, f"{tensor.name} is no tensor of weights")
            self.squares.append(squares)
            if self.kinds[-1] == FREE:
                continue
            digits, places = added if self.kinds[-1] == ADDED else drift
            drifts = self.kinds[-1] == ADDED or (self.kinds[-1] == NEAR and sum(n > 1 for n in tensor.shape) <= 1)
            absolute = (digits * 2**deployment.fraction_bits) ** 2 * tensor.entries * drifts
            scale = 10 ** (2 * places)
            self.tensors.append(tensor)
            self.bounds.append((self.ratio**2 * squares * scale + 10**6 * absolute) // (10**6 * scale))
        refuse_if(not any(tensor.entries for tensor in self.tensors), "an anchor that holds nothing")
        self.bits = max(1, max(self.bounds).bit_length())
        refuse_if(self.bits > min(240, layout.row), f"the anchor's slacks of {self.bits} bits")


class Deployment:
    """Parameters, and what follows from them: the residual bound Y_blk and the bits NB of a slack."""

    def __init__(self, data):
        content, self.digest = unframe(b"ZKAPEXDP", 3, data)
        r = Reader(content)
        self.curvature_bits, self.fraction_bits, self.width = r.u32(), r.u32(), r.u32()  # c, f, w
        self.floor = r.u64()  # μ
        digits, places = self.error = read_decimal(r, "the error")  # ε = digits · 10^−places
        self.cap_numerator, self.cap_denominator = r.u64(), r.u64()
        self.projections = r.u32()  # λ
        self.weight_chunk, self.curvature_chunk, self.other_chunk = r.u64(), r.u64(), r.u64()  # m_θ, m_L, m_u
        self.layout = Layout(r)
        refuse_if(not 2 <= self.curvature_bits <= 16, f"{self.curvature_bits} curvature bits")
        refuse_if(self.fraction_bits > 53, f"{self.fraction_bits} fraction bits")
        refuse_if(not 2 <= self.width <= 53, f"weights of {self.width} bits")
        refuse_if(not 1 <= self.floor <= 2**40, f"a curvature floor of {self.floor}")
        refuse_if(self.cap_numerator > 2**32 or not 1 <= self.cap_denominator <= 2**32, "the cap is out of range")
        self._check_projections()

        # Y_blk = ⌊(μ ε 2^f)²⌋;  NB = bits of Y_blk and of num · d · 4^w
        self.residual_bound = self.residual_bound_for(0)
        refuse_if(self.residual_bound < 1, "the error is below one unit of the fixed point")
        largest_cap = self.cap_numerator * self.layout.coordinates * 4**self.width
        self.slack_bits = max(self.residual_bound.bit_length(), largest_cap.bit_length())
        self.check_slack_bits(self.slack_bits, 1)
        self._check_no_wrap()
        # ε from √B (2^w − 1) units on is met by every model
        farthest = self.layout.block * ((2**self.width - 1) * 10**places) ** 2
        refuse_if((digits * 2**self.fraction_bits) ** 2 >= farthest, "the error says nothing")

        anchored = r.u8()
        refuse_if(anchored > 1, f"{anchored} anchors")
        self.anchor = Anchor(r, self) if anchored else None
        r.finish()

    def residual_bound_for(self, pull):
        """⌊((μ + t) ε 2^f)²⌋"""
        digits, places = self.error
        return ((self.floor + pull) * digits * 2**self.fraction_bits) ** 2 // 10 ** (2 * places)

    def check_slack_bits(self, bits, rules):
        """Slacks of blocks are in planes of S bits, those of rules as many to a row as it has room for."""
        refuse_if(bits > min(240, self.layout.row), f"slacks of {bits} bits")
        planes = -(-bits // self.layout.stride) + -(-rules // (self.layout.row // bits))
        refuse_if(planes > 64, f"windows of {planes} bit planes")

    def _check_projections(self):
        """What is registered is known to be below 2^e: e_θ for weights, e_L for entries of the factors."""
        refuse_if(not 192 <= self.projections <= 256, f"{self.projections} projections")
        for chunk in (self.weight_chunk, self.curvature_chunk, self.other_chunk):
            fits = is_power_of_two(chunk) and chunk <= min(self.layout.row, MAX_CHUNK)
            refuse_if(not fits, f"chunks of {chunk} entries")
        self.weight_bound = self.width + log2_ceil(self.weight_chunk)  # e_θ
        self.curvature_bound = self.curvature_bits + log2_ceil(self.curvature_chunk)  # e_L
        refuse_if(self.weight_bound > 63, f"projections of {self.weight_bound} bits")
        self.largest_other = (2 ** (OTHER_BITS - 1) - 1) // self.other_chunk  # of an entry that is not covered

    def _check_no_wrap(self):
        """No sum of the relation reaches a quarter of the field, so that each stands for an integer."""
        block, stride, room = self.layout.block, self.layout.stride, ORDER // 4
        entry, moved = 2**self.curvature_bound - 1, 2 * (2**self.weight_bound - 1)  # at most: of L, of θ_u − θ_p
        y = (stride * block * entry**2 + self.floor) * moved
        refuse_if(block * y * y + 2**self.slack_bits >= room, "a residual can wrap around in the field")
        padded = self.layout.rows * self.layout.row
        moved = (self.cap_numerator + self.cap_denominator) * padded * moved**2
        refuse_if(moved + 2**self.slack_bits >= room, "the cap can wrap around in the field")


@dataclass
class Segment:
    """Consecutive covered rows that are proved together. Pieces: runs of blocks with the same number of weights each,
    as (first slot in the segment, blocks, weights of each)."""

    first_row: int
    rows: int
    pieces: list

    @property
    def weights(self):
        return sum(blocks * weights for _, blocks, weights in self.pieces)

    def real_sum(self, f, r_j, among=None):
        """Σ f(slot) eq(r_j, j) over the indices (slot, j) that carry a weight, f a product function; of those in the
        pieces that begin at a slot `among` a range."""
        inside = eq_factors(r_j)
        out = 0
        for first, blocks, weights in self.pieces:
            if among is not None and first not in among:
                continue
            slots = value_at(f, first) if blocks == 1 else prefix(f, first + blocks) - prefix(f, first)
            out += slots * prefix(inside, weights)
        return out % ORDER


def make_segments(layout, cut):
    """Every row once, in order."""
    reject_if(len(cut) > MAX_FORKS, "statement", f"a cut of {len(cut)} parts")
    reject_if(0 in cut or sum(cut) != layout.rows, "statement", "the cut does not cover every row once")
    out, row = [], 0
    for rows in cut:
        begin, end = row * layout.slots_per_row, (row + rows) * layout.slots_per_row
        pieces = []
        for tensor in layout.covered:
            partial = tensor.first_slot + tensor.full_blocks  # the slot of the shorter block, if there is one
            low, high = max(tensor.first_slot, begin), min(partial, end)
            if low < high:
                pieces.append((low - begin, high - low, layout.block))
            if tensor.rest > 0 and begin <= partial < end:
                pieces.append((partial - begin, 1, tensor.rest))
        out.append(Segment(row, rows, pieces))
        row += rows
    return out
