"""The reference verifier's files and statements: what is read, and everything that is refused."""

import struct
import unittest

import deployment
from argument import MAGIC, Proof, Shape
from files import BadInput, ModelCommitment, ProofFile, RegistrationFile, Rejection, frame, unframe
from registration import Registered, Registration, make_paddings, make_projections
from request import Guide, Mask
from ristretto import BASE, ORDER
from window import Plan, Window


class Files(unittest.TestCase):
    def refused(self, parse, data, message):
        with self.assertRaisesRegex(BadInput, message):
            parse(data)

    def test_frames(self):
        data = frame(b"ZKAPEXCM", 1, b"content")
        self.assertEqual(unframe(b"ZKAPEXCM", 1, data), (b"content", data[-32:]))
        for parse, given, message in [
            (lambda d: unframe(b"ZKAPEXCM", 1, d), data[:40], "kind"),
            (lambda d: unframe(b"ZKAPEXPF", 1, d), data, "kind"),
            (lambda d: unframe(b"ZKAPEXCM", 2, d), data, "version"),
            (lambda d: unframe(b"ZKAPEXCM", 1, d), data[:-1] + b"x", "damaged"),
        ]:
            self.refused(parse, given, message)

    def test_a_model_commitment_has_one_encoding(self):
        commitment = ModelCommitment(bytes(32), bytes(32), [(b"a", bytes(32)), (b"b", bytes(range(32)))], [bytes(32)] * 3)
        self.assertEqual(ModelCommitment.parse(commitment.encode()), commitment)
        trailing = frame(b"ZKAPEXCM", 3, unframe(b"ZKAPEXCM", 3, commitment.encode())[0] + b"\0")
        self.refused(ModelCommitment.parse, trailing, "after the end")

    def test_a_proof_has_the_length_of_its_shape(self):
        shape = Shape(row_length=4, rows=1, forks=[2], pairs=1, products=1)
        sound = MAGIC + bytes(shape.bytes - len(MAGIC))
        self.assertEqual(Proof(sound, shape).last, 0)
        for data, reason in [
            (sound + bytes(1), "length"),
            (sound[:-1], "length"),
            (b"x" + sound[1:], "version"),
            (sound[:-32] + ORDER.to_bytes(32, "little"), "scalar"),
        ]:
            with self.assertRaises(Rejection) as rejected:
                Proof(data, shape)
            self.assertEqual(rejected.exception.reason, reason)


def deployment_file(
    bits=3, fraction=10, width=14, floor=3, digits=1, places=1, cap=(64, 1), projections=192, chunks=(16, 32, 64),
    geometry=(8, 64), tensors=None, anchor=b"\0",
):  # fmt: skip
    content = struct.pack("<IIIQQIQQ", bits, fraction, width, floor, digits, places, *cap)
    content += struct.pack("<IQQQ", projections, *chunks)
    tensors = [(b"a", 1, [40]), (b"b", 0, [3]), (b"c", 1, [7, 11])] if tensors is None else tensors
    content += struct.pack("<QQI", *geometry, len(tensors))
    for name, covered, shape in tensors:
        content += struct.pack("<I", len(name)) + name + struct.pack(f"<BB{len(shape)}Q", covered, len(shape), *shape)
    return frame(b"ZKAPEXDP", 3, content + anchor)


class DeploymentTest(unittest.TestCase):
    def test_derived_values(self):
        d = deployment.Deployment(deployment_file())
        self.assertEqual(d.residual_bound, 94371)  # ⌊(3 · 0.1 · 1024)²⌋
        self.assertEqual(d.slack_bits, (64 * 117 * 4**14).bit_length())
        self.assertEqual((d.weight_bound, d.curvature_bound), (14 + 4, 3 + 5))
        layout = d.layout
        self.assertEqual((layout.rows, layout.unchanged_rows, layout.coordinates), (3, 1, 117))
        self.assertEqual([layout.padded_index(c) for c in (0, 39, 40, 116)], [0, 39, 64, 64 + 76])

    def test_split_tensors_take_two_entries_an_element(self):
        for kind, rows in ((0, 1), (2, 2)):
            split = deployment.Deployment(deployment_file(tensors=[(b"a", 1, [40]), (b"b", kind, [33])])).layout
            self.assertEqual(split.unchanged_rows, rows)

    def test_segments_cover_every_weight_once(self):
        layout = deployment.Deployment(deployment_file(geometry=(7, 64))).layout
        expected = [layout.padded_index(c) for c in range(layout.coordinates)]
        for cut in ([1] * layout.rows, [layout.rows]):
            found = []
            for segment in deployment.make_segments(layout, cut):
                for first, blocks, weights in segment.pieces:
                    slots = range(first, first + blocks)
                    base = segment.first_row * layout.row
                    found += [base + slot * layout.stride + j for slot in slots for j in range(weights)]
            self.assertEqual(found, expected)
        for cut in ([], [layout.rows - 1], [layout.rows + 1], [layout.rows, 0]):
            with self.assertRaises(Rejection) as rejected:
                deployment.make_segments(layout, cut)
            self.assertEqual(rejected.exception.reason, "statement")

    def test_what_is_outside_the_supported_set_is_refused(self):
        large = (b"a", 1, [2**39])
        refused = [
            ("curvature bits", dict(bits=1)), ("curvature bits", dict(bits=17)), ("fraction bits", dict(fraction=54)),
            ("weights of", dict(width=1)), ("weights of", dict(width=54)), ("floor", dict(floor=0)),
            ("floor", dict(floor=2**40 + 1)), ("out of range", dict(digits=0)), ("out of range", dict(places=19)),
            ("out of range", dict(digits=10**15 + 1)), ("one form", dict(digits=10)), ("below one", dict(places=18)),
            ("cap is", dict(cap=(2**32 + 1, 1))), ("cap is", dict(cap=(1, 0))), ("cap is", dict(cap=(1, 2**32 + 1))),
            ("says nothing", dict(digits=46, places=0)),  # √8 · (2^14 − 1) / 2^10 = 45.25…
            ("191 projections", dict(projections=191)), ("257 projections", dict(projections=257)),
            ("chunks of 0", dict(chunks=(0, 1, 1))), ("chunks of 48", dict(chunks=(1, 48, 1))),
            ("chunks of 128", dict(chunks=(1, 1, 128))),
            ("chunks of 131072", dict(geometry=(8, 2**18), chunks=(1, 2**17, 1))),
            ("projections of 64", dict(width=53, geometry=(8, 2**16), chunks=(2**11, 1, 1))),
            ("slacks", dict(width=53, cap=(2**32, 1), chunks=(1, 1, 1))), ("slacks", dict(width=30)),
            ("bit planes", dict(width=30, geometry=(1, 128))), ("rows of", dict(geometry=(4, 32))),
            ("blocks of", dict(geometry=(0, 64))), ("blocks of", dict(geometry=(1025, 2**22))),
            ("rows of", dict(geometry=(8, 96))), ("rows of", dict(geometry=(8, 2**23))),
            ("too short", dict(geometry=(65, 64))), ("no weight", dict(tensors=[])),
            ("no weight", dict(tensors=[(b"a", 0, [1])])), ("kind 3", dict(tensors=[(b"a", 3, [1])])),
            ("order", dict(tensors=[(b"b", 1, [1]), (b"a", 1, [1])])),
            ("order", dict(tensors=[(b"a", 1, [1]), (b"a", 1, [1])])),
            ("dimensions", dict(tensors=[(b"a", 1, [1] * 17)])),
            ("overflows", dict(tensors=[(b"a", 1, [2**32, 2**32, 0])])),
            ("tensor of", dict(tensors=[(b"a", 0, [2**40 + 1])])),
            ("with padding", dict(tensors=[large, (b"b", 1, [2**39 + 1])])),
            ("a length of", dict(tensors=[(b"a" * (2**16 + 1), 1, [1])])),
        ]  # fmt: skip
        for message, change in refused:
            with self.subTest(**change), self.assertRaisesRegex(BadInput, message):
                deployment.Deployment(deployment_file(**change))

    def test_trailing_bytes_are_refused(self):
        content, _ = unframe(b"ZKAPEXDP", 3, deployment_file())
        with self.assertRaises(BadInput):
            deployment.Deployment(frame(b"ZKAPEXDP", 3, content + b"\0"))

    def test_sums_that_can_wrap_are_refused(self):
        """What counts is e, bits with their chunk: 8 · (64 · 4^32 · 2^(e_θ + 1))² is about 2^249 for e_θ = 52."""
        near = dict(bits=16, fraction=24, cap=(1, 1), geometry=(8, 2**16))
        for change in [dict(width=36), dict(width=37, chunks=(2**15, 2**16, 1)), dict(width=37, bits=15)]:
            deployment.Deployment(deployment_file(**near | dict(chunks=(2**16, 2**16, 1)) | change))
        with self.assertRaisesRegex(BadInput, "residual can wrap"):
            deployment.Deployment(deployment_file(**near | dict(chunks=(2**16, 2**16, 1), width=37)))


def coded(support):
    """Rice's code of gaps: the number of low bits, and the bytes."""
    mean = (support[-1] - len(support) + 1) // len(support) if support else 0
    low_bits = max(1, mean // 2 + mean // 8 + mean // 16).bit_length() - 1
    text, following = "", 0
    for coordinate in support:
        gap, following = coordinate - following, coordinate + 1
        low = bin(gap % 2**low_bits)[2:].zfill(low_bits)[::-1] if low_bits else ""
        text += "1" * (gap >> low_bits) + "0" + low
    return low_bits, int(text[::-1] or "0", 2).to_bytes(-(-len(text) // 8), "little")


def guide_bytes(pull=60, progress=0, distance=1000, removed=5000, scales=(400, 300), levels=None, trits=None, spare=0,
                method=b"NPO"):
    """For 117 weights in 15 blocks, of which 7 are masked."""
    levels = [15, 14, 13] * 5 if levels is None else levels
    trits = [k % 3 for k in range(110)] if trits is None else trits
    packed = bytes(a | b << 4 for a, b in zip([*levels, spare][::2], [*levels, spare][1::2]))
    groups = [trits[k : k + 5] for k in range(0, len(trits), 5)]
    content = struct.pack("<I", len(method)) + method
    content += struct.pack("<QIIIIQQ", pull, progress, distance, removed, len(scales), len(levels), len(groups))
    content += struct.pack(f"<{len(scales)}Q", *scales) + packed
    return content + bytes(sum(t * 3**k for k, t in enumerate(group)) for group in groups)


def mask_file(digest, window=b"w", support=(0, 6), operator=1, gaps=None, count=None, low_bits=None, guide=b""):
    head = digest + struct.pack("<I", len(window)) + window + bytes(64)
    best, data = coded(support)
    data = data if gaps is None else gaps
    fields = len(support) if count is None else count, best if low_bits is None else low_bits, len(data)
    return frame(b"ZKAPEXPS", 5, head + struct.pack("<BQBQ", operator, *fields) + data + guide)


MASKED = (0, 6, 8, 11, 52, 62, 113)


def guided_file(digest, support=MASKED, **guide):
    return mask_file(digest, support=support, operator=3, guide=guide_bytes(**guide))


class MaskTest(unittest.TestCase):
    def setUp(self):
        self.deployment = deployment.Deployment(deployment_file())
        self.digest = self.deployment.digest

    def test_coordinates(self):
        for support in ([0], [0, 6], [7, 8, 9, 116], list(range(117)), [2**64 - 2], [5, 2**63]):
            mask = Mask(mask_file(self.digest, support=support))
            self.assertEqual((mask.window, mask.support), (b"w", support))
        Mask(mask_file(self.digest)).check_for(self.deployment)

    def test_other_files_are_refused(self):
        one = dict(support=(9,))
        refused = [
            ("empty", dict(support=())), ("do not fit", dict(count=17)), ("end early", dict(gaps=b"\xff\xff")),
            ("follows the last gap", dict(count=1)), ("follows the last gap", dict(one, gaps=b"\x2b")),
            ("follows the last gap", dict(one, gaps=b"\x0b\x00")), ("one code", dict(one, low_bits=1, gaps=b"\x2f")),
            ("64 low bits", dict(one, low_bits=64)),
            ("over 64 bits", dict(one, low_bits=63, gaps=b"\xfd" + b"\xff" * 7 + b"\x01")),
            ("identifier has", dict(window=b"")), ("a length", dict(window=b"w" * 256)),
            ("control", dict(window=b"a\n")), ("control", dict(window=b"\x7f")),
            ("control", dict(window=b"\xc2\x9b")), ("UTF-8", dict(window=b"m\xff")),
            ("no operator 0", dict(operator=0)), ("no operator 4", dict(operator=4)),
            ("after the end", dict(guide=b"\0")), ("truncated", dict(operator=3)),
        ]  # fmt: skip
        for message, change in refused:
            with self.subTest(**change), self.assertRaisesRegex(BadInput, message):
                Mask(mask_file(self.digest, **change))

    def test_it_fits_its_deployment(self):
        for message, mask in [
            ("another deployment", mask_file(bytes(32))),
            ("does not have", mask_file(self.digest, support=(0, 117))),
        ]:
            with self.assertRaisesRegex(BadInput, message):
                Mask(mask).check_for(self.deployment)

    def test_a_guide(self):
        mask = Mask(guided_file(self.digest))
        mask.check_for(self.deployment)
        delta, index = mask.guide.delta, self.deployment.layout.padded_index
        self.assertNotIn(index(0), delta)  # masked
        self.assertNotIn(index(1), delta)  # the first trit
        self.assertEqual((delta[index(2)], delta[index(3)]), (400, -400))
        self.assertEqual(delta[index(10)], 400 * 181 // 256)  # the second block's level is 14
        self.assertEqual([Guide.magnitude(1000, k) for k in (15, 14, 13, 12, 1, 0)], [1000, 707, 500, 353, 7, 0])
        Mask(guided_file(self.digest, support=(), trits=[1] * 117 + [0] * 3)).check_for(self.deployment)

    def test_guides_that_do_not_fit(self):
        refused = [
            ("pull", dict(pull=2**40 + 1)), ("a rule", dict(progress=1001)), ("a rule", dict(distance=10**6 + 1)),
            ("a rule", dict(removed=10**6 + 1)), ("scales and levels", dict(scales=(1,))),
            ("scales and levels", dict(levels=[1] * 14)), ("a level follows", dict(spare=1)),
            ("too large", dict(scales=(1, 2**13))), ("as many trits", dict(trits=[0] * 115)),
            ("below 243", dict(trits=[0] * 105 + [0, 0, 0, 0, 3])),
            ("after its last", dict(support=MASKED[:-1] + (114, 116), trits=[0] * 109 + [1])),
            ("slacks", dict(pull=2**40)), ("identifier has", dict(method=b"")), ("a length", dict(method=b"m" * 256)),
            ("control", dict(method=b"a\n")),
        ]  # fmt: skip
        for message, change in refused:
            with self.subTest(**change), self.assertRaisesRegex(BadInput, message):
                Mask(guided_file(self.digest, **change)).check_for(self.deployment)


class Statements(unittest.TestCase):
    """Public inputs that do not fit together, before any point or equation counts."""

    def setUp(self):
        self.deployment = deployment.Deployment(deployment_file())  # 3 rows, 24 of the curvature, 1 unchanged
        self.mask = Mask(mask_file(self.deployment.digest))

    def rejected(self, reason, act):
        with self.assertRaises(Rejection) as rejected:
            act()
        self.assertEqual(rejected.exception.reason, reason)

    def registration(self, cut=(3,), more=0, digest=None):
        """Of zero bytes, as many as there must be."""
        content = (digest or self.deployment.digest) + struct.pack("<I", 1) + b"c"
        content += struct.pack(f"<I{len(cut)}Q", len(cut), *cut)
        v_rows = (3 * 4 * 4, 24 * 2 * 4, 4)  # 256 values, 4 rows, for each chunk
        rows, units = 3 + 24 + 1 + 18 * v_rows[0] + 8 * v_rows[1] + 63 * v_rows[2], [(6, 5), (8, 3), (2, 6)]
        paddings = {(3,): [8], (1, 2): [6, 7], (1, 1, 1): [6, 6]}.get(tuple(cut), [])  # the second row has none
        forks = [3 * v + 1 for v in paddings]
        for row_variables, plane_variables in units:
            forks += [3 * (row_variables + 6) + 1 + 3 * plane_variables + 2, 2 * 6 + 2]
        shape = Shape(64, rows, forks, len(paddings) + 3 * 3, 3)
        proof = MAGIC + bytes(shape.bytes - len(MAGIC) + more)
        file = frame(b"ZKAPEXRG", 2, content + struct.pack("<Q", len(proof)) + proof)
        return Registration(self.deployment, RegistrationFile.parse(file))

    def test_registrations_that_do_not_fit(self):
        for cut in [(3,), (1, 2), (1, 1, 1)]:
            self.rejected("point", self.registration(cut).check)  # counts are right: the zero bytes come next
            self.rejected("length", lambda cut=cut: self.registration(cut, more=1))
        self.rejected("deployment", lambda: self.registration(digest=bytes(32)))
        for cut in [(), (2,), (3, 0), (2, 2), (1,) * 2**16]:
            self.rejected("statement", lambda cut=cut: self.registration(cut))

    def test_sizes_of_a_registration(self):
        large = dict(geometry=(8, 128), tensors=[(b"a", 1, [2**32])])
        layout = deployment.Deployment(deployment_file(**large)).layout
        self.assertEqual(make_paddings(layout, [layout.rows]), [])
        large["tensors"][0][2][0] -= 1
        layout = deployment.Deployment(deployment_file(**large)).layout
        self.rejected("statement", lambda: make_paddings(layout, [layout.rows]))
        most, more = (deployment.Deployment(deployment_file(**large, chunks=(64, m, 1))) for m in (32, 16))
        self.assertEqual(len(make_projections(most, layout.rows * layout.stride)[1].units), 2**16)
        self.rejected("statement", lambda: make_projections(more, layout.rows * layout.stride))
        many = deployment.Deployment(deployment_file(chunks=(1, 1, 1), tensors=[(b"a", 1, [2**15])]))
        weights, curvature = make_projections(many, many.layout.rows * many.layout.stride)
        self.assertEqual(weights.units, [2**16] * 2)
        self.assertEqual((weights.first_bit_row, curvature.first_bit_row), (9 * 2**9, 9 * 2**9 + 14 * 2**17))

    def window(self, model=3, curvature=24, unchanged=1):
        rows = [BASE.encode()]
        current = ModelCommitment(bytes(32), rows=rows * model)
        registered = Registered(bytes(32), b"c", rows * unchanged, rows * curvature, current)
        shape = Plan(self.deployment, self.mask, [3]).shape()
        file = ProofFile(
            self.deployment.digest, bytes(32), self.mask.digest, current.digest(), b"c", b"w", [3],
            MAGIC + bytes(shape.bytes - len(MAGIC)),
        )  # fmt: skip
        return Window(self.deployment, registered, current, None, self.mask, file)

    def test_rows_of_a_window(self):
        self.rejected("point", self.window().check)
        for change in (dict(model=2), dict(curvature=25), dict(unchanged=0)):
            self.rejected("statement", self.window(**change).check)

    def test_counts_of_a_window(self):
        """41 bits of slack in slots of 8: 6 planes. 256 values, 4 rows, in 18 bits for each of the 12 chunks."""
        later, projection = 18 * 48, [3 * 12 + 1 + 3 * 5 + 2, 2 * 6 + 2]
        compensated = Plan(self.deployment, self.mask, [1, 2]).shape()
        first = 1 + 3 * 6 + 13 + 3 * 3 + 2 + (2 * 6 + 3) + (3 * 6 + 3)
        second = 1 + 3 * 7 + 12 + 3 * 3 + 2 + (2 * 7 + 3) + (3 * 7 + 3)
        rows = 3 + 6 * 3 + 1 + later
        self.assertEqual(compensated, Shape(64, rows, [first, second, *projection], 2 * 3 + 3, 2 * 5 + 1, later))
        # Two tensors with three rules each, a rule to a row.
        guided = Plan(self.deployment, Mask(guided_file(self.deployment.digest)), [1, 2])
        bits = guided.slack_bits
        self.assertEqual((guided.rule_planes, 32 < bits <= 64, guided.slack_planes), (6, True, -(-bits // 8)))
        self.assertEqual(guided.segments[0].planes, guided.slack_planes + 6)
        self.assertEqual(guided.first_rows, 3 + 3 * guided.slack_planes + 6)
        mask_only = Mask(mask_file(self.deployment.digest, operator=2))
        masked = Plan(self.deployment, mask_only, [1, 2]).shape()
        forks = [1 + 3 * 6 + 3, 1 + 3 * 7 + 3, *projection]
        self.assertEqual(masked, Shape(64, 3 + later, forks, 2 * 1 + 3, 2 * 1 + 1, later))

    def test_sizes_of_a_window(self):
        large = deployment.Deployment(deployment_file(geometry=(8, 128), tensors=[(b"a", 1, [2**32])]))
        mask = Mask(mask_file(large.digest))
        self.rejected("statement", lambda: Plan(large, mask, [large.layout.rows]))
        many = deployment.Deployment(deployment_file(tensors=[(b"a", 1, [64 * (2**16 - 1)])]))
        mask = Mask(mask_file(many.digest, operator=2))
        # 2^16 − 17 segments and the 17 forks of a projection
        self.assertEqual(len(Plan(many, mask, [17] + [1] * (2**16 - 18)).shape().forks), 2**16)
        self.rejected("statement", lambda: Plan(many, mask, [16] + [1] * (2**16 - 17)))


if __name__ == "__main__":
    unittest.main()
