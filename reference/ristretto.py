"""ristretto255 (RFC 9496) on Python integers: encoding, equality, the one-way map, sums of multiples.

Nothing here is constant time, and nothing needs to be: a verifier has no secrets.
"""

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493  # of the group: scalars are integers mod this, ℓ

D = -121665 * pow(121666, -1, P) % P  # −x² + y² = 1 + D x² y²
SQRT_M1 = pow(2, (P - 1) // 4, P)


def is_negative(a):
    return a % P & 1 == 1


def absolute(a):
    return -a % P if is_negative(a) else a % P


def sqrt_ratio_m1(u, v):
    """(True, √(u/v)) if u/v is a square, else (False, √(i u/v)) with i = √−1; the root is non-negative."""
    u, v = u % P, v % P
    r = u * v**3 * pow(u * v**7, (P - 5) // 8, P) % P
    check = v * r * r % P
    flipped, flipped_i = check == -u % P, check == -u * SQRT_M1 % P
    if flipped or flipped_i:
        r = r * SQRT_M1 % P
    return check == u or flipped, absolute(r)


INVSQRT_A_MINUS_D = sqrt_ratio_m1(1, -1 - D)[1]
# RFC 9496 fixes this root to be the odd one.
SQRT_AD_MINUS_ONE = P - sqrt_ratio_m1(-D - 1, 1)[1]
ONE_MINUS_D_SQ = (1 - D * D) % P
D_MINUS_ONE_SQ = (D - 1) ** 2 % P


class Point:
    """An element, by a representative in extended coordinates: x = X/Z, y = Y/Z, x y = T/Z."""

    __slots__ = ("x", "y", "z", "t")

    def __init__(self, x, y, z, t):
        self.x, self.y, self.z, self.t = x, y, z, t

    def __add__(self, other):
        a = (self.y - self.x) * (other.y - other.x) % P
        b = (self.y + self.x) * (other.y + other.x) % P
        c = 2 * D * self.t % P * other.t % P
        d = 2 * self.z * other.z % P
        e, f, g, h = b - a, d - c, d + c, b + a
        return Point(e * f % P, g * h % P, f * g % P, e * h % P)

    def __neg__(self):
        return Point(-self.x % P, self.y, self.z, -self.t % P)

    def __eq__(self, other):
        """Equality of elements: representatives may differ by 4-torsion."""
        return (self.x * other.y - self.y * other.x) % P == 0 or (self.y * other.y - self.x * other.x) % P == 0

    __hash__ = None

    def is_identity(self):
        return self == IDENTITY

    def times(self, scalar):
        out = IDENTITY
        for bit in bin(scalar % ORDER)[2:]:
            out = out + out
            if bit == "1":
                out = out + self
        return out

    def encode(self):
        u1 = (self.z + self.y) * (self.z - self.y) % P
        u2 = self.x * self.y % P
        _, invsqrt = sqrt_ratio_m1(1, u1 * u2 * u2)
        den1, den2 = invsqrt * u1 % P, invsqrt * u2 % P
        z_inv = den1 * den2 * self.t % P
        if is_negative(self.t * z_inv):
            x, y, den_inv = self.y * SQRT_M1 % P, self.x * SQRT_M1 % P, den1 * INVSQRT_A_MINUS_D % P
        else:
            x, y, den_inv = self.x, self.y, den2
        if is_negative(x * z_inv):
            y = -y % P
        return absolute(den_inv * (self.z - y)).to_bytes(32, "little")

    @staticmethod
    def decode(data):
        """The element with this encoding; None for bytes that are not the one encoding of an element."""
        if len(data) != 32:
            return None
        s = int.from_bytes(data, "little")
        if s >= P or is_negative(s):
            return None
        u1, u2 = (1 - s * s) % P, (1 + s * s) % P
        v = (-D * u1 * u1 - u2 * u2) % P
        was_square, invsqrt = sqrt_ratio_m1(1, v * u2 * u2)
        den_x = invsqrt * u2 % P
        den_y = invsqrt * den_x * v % P
        x = absolute(2 * s * den_x)
        y = u1 * den_y % P
        t = x * y % P
        if not was_square or is_negative(t) or y == 0:
            return None
        return Point(x, y, 1, t)

    @staticmethod
    def from_uniform_bytes(data):
        """The one-way map of section 4.3.4, from 64 bytes."""
        return _map(data[:32]) + _map(data[32:64])


IDENTITY = Point(0, 1, 1, 0)
BASE = Point.decode(bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"))


def _map(data):
    t = int.from_bytes(data, "little") % 2**255 % P
    r = SQRT_M1 * t * t % P
    u = (r + 1) * ONE_MINUS_D_SQ % P
    v = (-1 - r * D) * (r + D) % P
    was_square, s = sqrt_ratio_m1(u, v)
    c = P - 1
    if not was_square:
        s, c = -absolute(s * t) % P, r
    n = (c * (r - 1) * D_MINUS_ONE_SQ - v) % P
    w0, w1 = 2 * s * v % P, n * SQRT_AD_MINUS_ONE % P
    w2, w3 = (1 - s * s) % P, (1 + s * s) % P
    return Point(w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P)


def multi_scalar_multiply(terms):
    """Σ scalar · point over (scalar, point) pairs, by buckets: every window of the scalars' bits sorts the points by
    digit, and Σ digit · bucket comes out of two running sums."""
    terms = [(scalar % ORDER, point) for scalar, point in terms if scalar % ORDER]
    width = 4 if len(terms) < 200 else 6 if len(terms) < 1000 else 8
    total = IDENTITY
    for window in reversed(range(-(-ORDER.bit_length() // width))):
        for _ in range(width):
            total = total + total
        buckets = [IDENTITY] * 2**width
        for scalar, point in terms:
            digit = scalar >> width * window & 2**width - 1
            buckets[digit] = buckets[digit] + point
        running = IDENTITY
        for bucket in reversed(buckets[1:]):
            running = running + bucket
            total = total + running
    return total
