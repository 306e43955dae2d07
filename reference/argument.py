"""The argument (docs/argument.md, sections 5 to 11), as its verifier sees it: sealed scalars are affine expressions in
the pads; equations, products and pairs end as one opening claim; that ends as one sum of points that must vanish."""

from dataclasses import dataclass

from files import reject_if
from multilinear import eq, eq_table, log2_ceil, powers
from ristretto import ORDER, Point, multi_scalar_multiply
from transcript import BLINDING, VALUE, position, scalar_bytes


class Expression:
    """constant + Σ coefficient_p · pad_p: what is known of a scalar s that was sent as s + pad."""

    def __init__(self, constant=0, terms=None):
        self.constant, self.terms = constant % ORDER, terms or {}

    def __add__(self, other):
        if isinstance(other, int):
            return Expression(self.constant + other, self.terms)
        terms = dict(self.terms)
        for pad, coefficient in other.terms.items():
            terms[pad] = (terms.get(pad, 0) + coefficient) % ORDER
        return Expression(self.constant + other.constant, terms)

    def __mul__(self, factor):
        return Expression(self.constant * factor, {pad: c * factor % ORDER for pad, c in self.terms.items()})

    def __sub__(self, other):
        return self + other * -1


def total(expressions):
    out = Expression()
    for expression in expressions:
        out = out + expression
    return out


@dataclass
class Shape:
    """How many of everything a statement's proof has; n is the length of a row."""

    row_length: int
    rows: int
    forks: list  # sealed scalars on each
    pairs: int
    products: int
    later_rows: int = 0  # the last of the rows: those committed after the first challenge

    @property
    def first_rows(self):
        return self.rows - self.later_rows

    @property
    def position_rounds(self):
        return log2_ceil(self.row_length)

    @property
    def main_scalars(self):
        return 2 * self.position_rounds + self.pairs + 2

    @property
    def sealed_scalars(self):
        return sum(self.forks) + self.main_scalars

    @property
    def generators(self):
        """n′: a pad for each sealed scalar, two masks for each product."""
        return self.row_length + self.sealed_scalars + 2 * self.products

    @property
    def opening_rounds(self):
        return log2_ceil(self.generators)

    @property
    def bytes(self):
        points = self.rows + 2 + 2 * self.opening_rounds
        return 8 + 32 * (points + self.sealed_scalars + 2 * self.products + 3)


MAGIC = b"zkapexP\x01"
MAX_FORKS, MAX_ROWS = 2**16, 2**32  # of a statement; rows of one fork


class Proof:
    """The bytes of a proof, whose length and parts follow from the shape alone. Points are decoded where they are
    used: `decode_points`."""

    def __init__(self, data, shape):
        reject_if(len(data) != shape.bytes, "length", f"{len(data)} bytes, these parameters imply {shape.bytes}")
        reject_if(not data.startswith(MAGIC), "version", "not a proof of this version")
        words = (data[at : at + 32] for at in range(len(MAGIC), len(data), 32))

        def points(count):
            return [next(words) for _ in range(count)]

        def scalars(count):
            out = [int.from_bytes(word, "little") for word in points(count)]
            reject_if(any(s >= ORDER for s in out), "scalar", "a scalar is not canonical")
            return out

        self.rows = points(shape.rows)
        self.pads = next(words)
        self.forks = [scalars(count) for count in shape.forks]
        self.main = scalars(shape.main_scalars)
        self.masked_factors = scalars(2 * shape.products)
        self.mask = next(words)  # D
        self.mask_value, self.blinding = scalars(2)  # <d, b>, r
        self.left, self.right = points(shape.opening_rounds), points(shape.opening_rounds)
        [self.last] = scalars(1)


def decode_points(encodings, what):
    out = []
    for encoding in encodings:
        point = Point.decode(encoding)
        reject_if(point is None, "point", f"{what}: not an element of the group")
        reject_if(point.is_identity(), "point", f"{what}: the identity")
        out.append(point)
    return out


class Receiver:
    """The sealed scalars of one transcript, in order; the first is padded by pad number `pad`."""

    def __init__(self, transcript, sealed, pad):
        self.transcript, self.sealed, self.pad = transcript, iter(sealed), pad

    def receive(self, label, count):
        sealed = [next(self.sealed) for _ in range(count)]
        self.transcript.absorb(label, scalar_bytes(sealed))
        self.pad += count
        return [Expression(s, {self.pad - count + k: -1}) for k, s in enumerate(sealed)]

    def sumcheck(self, label, variables, degree, claim):
        """Section 6. Each round sends c_0, c_2, .., c_d of its polynomial p; c_1 follows from p(0) + p(1) = claim.
        Returns the point, most significant variable first, and the claim that is left."""
        point = []
        for k in range(variables):
            name = f"{label} round {k}"
            c0, *higher = self.receive(name, degree)
            x = self.transcript.challenge(name)
            claim = c0 * (1 - 2 * x) + claim * x
            for exponent, c in enumerate(higher, 2):
                claim = claim + c * (pow(x, exponent, ORDER) - x)
            point.insert(0, x)
        return point, claim


def sign_weights(bits):
    """1, 2, 4, .., −2^(bits−1): an integer from its bits in two's complement."""
    return [2**k for k in range(bits - 1)] + [-(2 ** (bits - 1))]


@dataclass
class Pair:
    """The vector committed to by Σ coefficient · row has the extension `value` at `point`."""

    rows: dict  # number of the row → coefficient
    point: list
    value: Expression


@dataclass
class Opening:
    """The vector committed to by Σ coefficient · row + pad_weight · P has the inner product `value` with `vector`."""

    rows: dict
    pad_weight: int
    vector: list
    value: int


class Verifier:
    """Collects what a relation states while it replays the forks, and reduces all of it to one opening."""

    def __init__(self, shape, proof, main):
        self.shape, self.proof, self.main = shape, proof, main
        self.forks, self.equations, self.pairs, self.products = [], [], [], []
        self.next_row = shape.first_rows

    def absorb_rows(self, label, count):
        """The next of the rows that were committed after a challenge. Returns the number of the first."""
        first = self.next_row
        self.next_row += count
        self.main.absorb(label, b"".join(self.proof.rows[first : self.next_row]))
        return first

    def fork(self, name):
        """The channel of the next fork."""
        index = len(self.forks)
        self.forks.append(self.main.fork(name, index))
        return Receiver(self.forks[-1], self.proof.forks[index], sum(self.shape.forks[:index]))

    def require_zero(self, expression):
        self.equations.append(expression)

    def planes(self, channel, tau, rest):
        """The second half of section 7: rest = Σ_k eq(τ, k)(b_k² − b_k) comes down to one κ. Returns κ and b."""
        kappa, claim = channel.sumcheck("planes", len(tau), 3, rest)
        b, square = channel.receive("b, b^2", 2)
        self.require_zero(claim - (square - b) * eq(tau, kappa))
        self.products.append((b, b, square))
        return kappa, b

    def reduce(self):
        """Section 8."""
        for fork in self.forks:
            self.main.absorb_fork(fork)
        channel = Receiver(self.main, self.proof.main, self.shape.sealed_scalars - self.shape.main_scalars)

        # 1, 2: all pairs at one point ξ of the row
        weight = powers(self.main.challenge("beta"), len(self.pairs))
        claim = total(pair.value * w for pair, w in zip(self.pairs, weight))
        xi, claim = channel.sumcheck("position", self.shape.position_rounds, 2, claim)
        values = channel.receive("t(xi)", len(self.pairs))
        terms = zip(self.pairs, weight, values)
        self.require_zero(claim - total(value * (w * eq(pair.point, xi)) for pair, w, value in terms))

        # 3: fresh, for whoever chose the values at ξ knew β
        weight = powers(self.main.challenge("beta'"), len(self.pairs))

        self._check_products(channel)

        # 5: Σ_j λ^j equation_j + Λ (<t*, eq(ξ, ·)> − Σ_p β′^p t_p(ξ)) = 0, times ζ, against t* + ζ P
        lam, zeta = self.main.challenge("lambda"), self.main.challenge("zeta")
        *lambdas, last = powers(lam, len(self.equations) + 1)
        form = total(equation * power for equation, power in zip(self.equations, lambdas))
        form = form - total(value * (last * w) for value, w in zip(values, weight))
        vector = [zeta * last * e % ORDER for e in eq_table(xi)] + [0] * (self.shape.generators - self.shape.row_length)
        for pad, coefficient in form.terms.items():
            vector[self.shape.row_length + pad] = coefficient % ORDER
        rows = {}
        for pair, w in zip(self.pairs, weight):
            for row, coefficient in pair.rows.items():
                rows[row] = (rows.get(row, 0) + w * coefficient) % ORDER
        return Opening(rows, zeta, vector, -zeta * form.constant % ORDER)

    def _check_products(self, channel):
        """4: z_a = a′ + e a, z_b = b′ + e b, Σ_t ω^t (z_a z_b − e² c)_t = T0 + e T1, masks a′, b′ among the pads."""
        omega = self.main.challenge("omega")
        t0, t1 = channel.receive("T0, T1", 2)
        e = self.main.challenge("e")
        self.main.absorb("masked factors", scalar_bytes(self.proof.masked_factors))
        difference = t0 + t1 * e
        mask = self.shape.sealed_scalars
        factors = iter(self.proof.masked_factors)
        for (a, b, c), weight in zip(self.products, powers(omega, len(self.products))):
            z_a, z_b = next(factors), next(factors)
            self.require_zero(a * e + Expression(-z_a, {mask: 1}))
            self.require_zero(b * e + Expression(-z_b, {mask + 1: 1}))
            difference = difference + c * (weight * e * e) + -weight * z_a * z_b
            mask += 2
        self.require_zero(difference)


def settle(main, opening, proof, rows):
    """Section 9: everything that must vanish, as one sum of (scalar, point) terms. `rows`: decoded, in the order of the
    relation's numbers."""
    [pads] = decode_points([proof.pads], "commitment to the pads")
    [mask] = decode_points([proof.mask], "mask of the opening")
    main.absorb("mask", proof.mask)
    main.absorb("mask value", scalar_bytes([proof.mask_value]))
    c = main.challenge("opening")
    main.absorb("blinding", scalar_bytes([proof.blinding]))
    rho = main.challenge("value base")
    challenges = []
    for left, right in zip(proof.left, proof.right):
        main.absorb("left", left)
        main.absorb("right", right)
        challenges.append(main.challenge("fold"))
    lefts = decode_points(proof.left, "left point of the opening")
    rights = decode_points(proof.right, "right point of the opening")
    reject_if(main.drew_zero, "zero challenge", "a challenge is zero")

    # P = D + c A − r h + ρ (<d, b> + c v) q + Σ_j (x_j⁻¹ L_j + x_j R_j), A = Σ coefficient · row + pad_weight · pads
    terms = [(1, mask), (-proof.blinding, BLINDING), (c * opening.pad_weight, pads)]
    terms += [(c * coefficient, rows[number]) for number, coefficient in opening.rows.items()]
    inverses = [pow(x, -1, ORDER) for x in challenges]
    terms += [*zip(inverses, lefts), *zip(challenges, rights)]

    # must be a′ g + ρ a′ b q, where g and b are folded: entry i takes x_j⁻¹ of every round that had it in the upper
    # half, the first round by the highest bit of i
    weight = [1]
    for inverse in inverses:
        weight = [v for w in weight for v in (w, w * inverse % ORDER)]
    folded = sum(w * b for w, b in zip(weight, opening.vector)) % ORDER
    terms += [(-proof.last * w, position(i)) for i, w in enumerate(weight[: len(opening.vector)])]
    terms.append((rho * (proof.mask_value + c * opening.value - proof.last * folded), VALUE))
    return terms


def require_identity(terms, what):
    """Section 10: the proof holds if its sum is the identity."""
    reject_if(not multi_scalar_multiply(terms).is_identity(), "equation", f"the proof of the {what} does not hold")
