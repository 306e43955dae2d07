"""Multilinear extensions over the field of integers mod ℓ.

A point of the cube is written most significant variable first, and so are the bits of an index.
"""

from ristretto import ORDER


def log2_ceil(value):
    return (value - 1).bit_length()


def powers(x, count):
    """1, x, x², .."""
    out = [1]
    while len(out) < count:
        out.append(out[-1] * x % ORDER)
    return out[:count]


def eq(a, b):
    """Π_t (a_t b_t + (1 − a_t)(1 − b_t))"""
    return prod_mod(x * y + (1 - x) * (1 - y) for x, y in zip(a, b, strict=True))


def eq3(a, b, c):
    """eq(a, i) eq(b, i), as a multilinear function of i, at c: Π_t (a_t b_t c_t + (1 − a_t)(1 − b_t)(1 − c_t))"""
    return prod_mod(x * y * z + (1 - x) * (1 - y) * (1 - z) for x, y, z in zip(a, b, c, strict=True))


def eq_table(point):
    """eq(point, i) for every i of the cube."""
    table = [1]
    for x in point:
        table = [v for t in table for v in (t * (1 - x) % ORDER, t * x % ORDER)]
    return table


def prod_mod(factors):
    out = 1
    for factor in factors:
        out = out * factor % ORDER
    return out


# A product function f(i) = Π_t f_t(bit t of i) is the list of its factors (f_t(0), f_t(1)).


def eq_factors(r):
    """eq(r, i)"""
    return [((1 - x) % ORDER, x) for x in r]


def multiply_factors(f, g):
    """f(i) g(i)"""
    return [(a[0] * b[0] % ORDER, a[1] * b[1] % ORDER) for a, b in zip(f, g, strict=True)]


def power_factors(r):
    """eq(r, i) 2^i: the bit of position p contributes 2^(2^p)."""
    positions = reversed(range(len(r)))
    return [((1 - x) % ORDER, x * pow(2, 2**p, ORDER) % ORDER) for x, p in zip(r, positions)]


def prefix(f, end):
    """Σ_{i < end} f(i), in time linear in the number of variables; `end` may be beyond the cube.

    The i below `end` are split by the first bit in which they differ from it: there `end` has a one and i a zero, the
    bits before are those of `end`, the bits after are free."""
    if end >= 2 ** len(f):
        return prod_mod(zero + one for zero, one in f)
    total, before = 0, 1
    for k, (zero, one) in enumerate(f):
        if end >> len(f) - 1 - k & 1:
            total += before * zero * prod_mod(a + b for a, b in f[k + 1 :])
            before = before * one % ORDER
        else:
            before = before * zero % ORDER
    return total % ORDER


def value_at(f, i):
    return prod_mod(factors[i >> len(f) - 1 - k & 1] for k, factors in enumerate(f))
