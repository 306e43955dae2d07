"""Commands as somebody tries them who has not read everything: loose parameters, misspelt patterns, files of another
kind, files that another run left, odd tensors. Each is refused with a line that helps, or works."""

import hashlib
import json
import math
import random
import struct
import tempfile
import unittest
from pathlib import Path

from attestation_world import COVERED, SHAPES, flip, write_fisher, write_model, zkapex

DTYPES = {"F32": "f", "I64": "q", "U64": "Q", "I32": "i", "U8": "B", "BOOL": "?", "F8_E4M3": "B"}


def write_typed(path, tensors):
    """tensors: {name: (dtype, shape, numbers)}"""
    header, data = {}, b""
    for name, (dtype, shape, numbers) in tensors.items():
        piece = struct.pack(f"<{len(numbers)}{DTYPES[dtype]}", *numbers)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def tensor_bytes(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    return {name: (entry["dtype"], entry["shape"], raw[8 + length:][slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


class FirstUse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.root = Path(cls.temporary.name)
        write_model(cls.root / "theta.safetensors", 0)
        write_fisher(cls.root / "fisher.safetensors", 0)
        write_model(cls.root / "scores.safetensors", 1)
        made = [["deploy", "--model", cls.root / "theta.safetensors", "--preset", "vit", "--block", 8, "-o",
                 cls.root / "deployment.zka"],
                ["mask", "--deployment", cls.root / "deployment.zka", "--scores", cls.root / "scores.safetensors", "--ratio",
                 "0.1", "--window", "w1", "-o", cls.root / "psi.zka"],
                ["curvature", *cls.inputs(), "--fisher", cls.root / "fisher.safetensors", "-o", cls.root / "store.zka"],
                ["register", *cls.inputs(), *cls.base(), "--curvature", cls.root / "store.zka", "--client", "alice", "-o",
                 cls.root / "client"]]
        for arguments in made:
            run = zkapex(*arguments, "--quiet", ZKAPEX_CACHE=str(cls.root / "cache"))
            assert run.returncode == 0, run
        splits = {"format": "zkapex-splits", "version": 1, "seed": 7, "forget": "class:3",
                  "sets": {"train": {"source": "idx:d#train", "indices": [0, 1, 2]}}}
        (cls.root / "splits.json").write_text(json.dumps(splits, sort_keys=True))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.here = Path(scratch.name)

    @classmethod
    def inputs(cls):
        return ["--deployment", cls.root / "deployment.zka", "--model", cls.root / "theta.safetensors"]

    @classmethod
    def base(cls):
        return ["--base", cls.root / "theta.safetensors"]

    def told(self, *arguments):
        run = zkapex(*arguments, "--quiet", "--json", ZKAPEX_CACHE=str(self.root / "cache"))
        self.assertEqual(run.returncode, 0, run)
        return json.loads(run.stdout)

    def check_refused(self, run, *parts):
        self.assertEqual((run.returncode, run.stdout), (2, ""), run)
        self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr)

    def deploy(self, *flags, model="theta.safetensors"):
        return ["deploy", "--model", self.root / model, "--block", 8, "-o", self.here / "d.zka", *flags]

    # Parameters

    def test_loose_parameters_need_a_word_and_are_named(self):
        self.assertEqual(self.told("inspect", self.root / "deployment.zka")["loose"], [])
        for flags, parts in ((["--error", "0.5"], ["certified error 5e-1"]), (["--cap", 2**32], ["cap 4294967296/1"]),
                             (["--error", "0.011", "--cap", "201/2"], ["certified error 11e-3", "cap 201/2"])):
            deploy = self.deploy("--preset", "vit", *flags)
            self.check_refused(zkapex(*deploy), "--allow-loose", *parts)
            self.assertEqual(list(self.here.iterdir()), [])
            for report in (self.told(*deploy, "--allow-loose", "--force"), self.told("inspect", self.here / "d.zka")):
                self.assertEqual(len(report["loose"]), len(parts))
                for sentence, part in zip(report["loose"], parts):
                    self.assertIn(part, sentence)
            self.assertIn(parts[0], zkapex("inspect", self.here / "d.zka").stdout)
            (self.here / "d.zka").unlink()
        self.check_refused(zkapex(*self.deploy("--preset", "vit", "--error", "1e12", "--allow-loose")), "says nothing")
        self.assertEqual(self.told(*self.deploy("--preset", "vit", "--error", "1e-2", "--cap", "100"))["loose"], [])

    def test_verdicts_name_loose_parameters(self):
        at = self.here.joinpath
        self.told(*self.deploy("--preset", "vit", "--error", "0.5", "--allow-loose"))
        inputs = ["--deployment", at("d.zka"), "--model", self.root / "theta.safetensors"]
        self.told("curvature", *inputs, "--fisher", self.root / "fisher.safetensors", "-o", at("s.zka"))
        self.told("register", *inputs, *self.base(), "--curvature", at("s.zka"), "--client", "bob", "-o", at("client"))
        self.told("mask", *inputs[:2], "--scores", self.root / "scores.safetensors", "--ratio", "0.1", "--window", "w", "-o",
                  at("psi.zka"))
        self.told("unlearn", "--client", at("client"), "--mask", at("psi.zka"), "-o", at("u.safetensors"), "--proof", at("p.zka"))
        admit = ["admit", "--ledger", at("ledger"), *inputs[:2], *self.base(), "--registration",
                 at("client/registration.zka")]
        verify = ["verify", "--ledger", at("ledger"), "--mask", at("psi.zka"), "--proof", at("p.zka")]
        for report in (self.told(*admit), self.told(*verify)):
            self.assertIn("certified error 5e-1", report.get("loose", ["nothing"])[0])
        self.assertIn("\nloose: ", zkapex(*admit, "--quiet").stdout)

    def test_weights_that_do_not_fit_are_named(self):
        for name in (COVERED[0], "classifier.bias"):
            model = {n: ("F32", shape, [0.0] * math.prod(shape)) for n, shape in SHAPES.items()}
            model[name][2][1] = math.inf
            write_typed(self.here / "m.safetensors", model)
            deploy = ["deploy", "--model", self.here / "m.safetensors", "--preset", "vit", "--block", 8, "-o", self.here / "d.zka"]
            self.check_refused(zkapex(*deploy, "--quiet"), f"tensor '{name}': element 1 is inf")
        self.assertFalse((self.here / "d.zka").exists())

    def test_patterns_that_match_nothing_are_named(self):
        deploy = self.deploy("--preset", "vit", "--cover", "classifier.weight", "--cover", "encoder.layr.*")
        self.check_refused(zkapex(*deploy, "--cover", "fc9"), "--cover encoder.layr.*", "--cover fc9")
        self.check_refused(zkapex(*self.deploy("--preset", "opt", "--cover", "classifier.weight")), "--preset opt")
        self.assertEqual(list(self.here.iterdir()), [])
        report = self.told(*self.deploy("--preset", "vit", "--cover", "classifier.weight"))
        self.assertEqual(report["covered"], sorted([*COVERED, "classifier.weight"]))
        text = zkapex(*self.deploy("--preset", "vit", "--cover", "classifier.weight", "--force")).stdout
        self.assertRegex(text, r"covered +classifier\.weight, vit\.encoder\.layer\.\{i\}\.intermediate\.dense\.weight \(2\), ")

    def test_masks_that_look_like_a_mistake_are_warned_of(self):
        mask = ["mask", "--deployment", self.root / "deployment.zka", "--window", "w", "-o", self.here / "m.zka"]
        rng = random.Random(2)
        write_typed(self.here / "s.safetensors", {name: ("F32", SHAPES[name], [rng.random() for _ in range(math.prod(SHAPES[name]))])
                                                  for name in COVERED})
        run = zkapex(*mask, "--scores", self.here / "s.safetensors", "--ratio", "0.1")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        for flags, part in ((["--scores", self.here / "s.safetensors", "--ratio", "1"], "all of the"),
                            (["--scores", self.root / "theta.safetensors", "--ratio", "0.1"], "'classifier.bias'")):
            run = zkapex(*mask, *flags, "--force", "--json")
            self.assertEqual(run.returncode, 0, run)
            self.assertRegex(run.stderr, rf"\Azkapex: warning: [^\n]*{part}[^\n]*\n\Z")
            self.assertEqual(run.stderr, f"zkapex: warning: {json.loads(run.stdout)['warnings'][0]}\n")

    # Tensors that hold no weights

    def test_what_is_not_covered_may_be_of_any_type(self):
        rng = random.Random(3)
        model = {name: ("F32", shape, [rng.gauss(0, 0.1) for _ in range(math.prod(shape))]) for name, shape in SHAPES.items()}
        odd = {"bn.num_batches_tracked": ("I64", (), [2**63 - 1]), "hash": ("U64", (2,), [2**64 - 1, 0]),
               "keys": ("I64", (40,), [-(2**63), *range(39)]),
               "ids": ("I32", (3,), [-5, 0, 7]), "mask": ("BOOL", (2, 2), [True, False, False, True]),
               "table": ("U8", (300,), [k % 256 for k in range(300)]), "small": ("F8_E4M3", (2,), [1, 255])}
        write_typed(self.here / "m.safetensors", {**model, **odd})
        inputs = ["--deployment", self.here / "d.zka", "--model", self.here / "m.safetensors"]
        self.told("deploy", "--model", self.here / "m.safetensors", "--preset", "vit", "--block", 8, "-o", self.here / "d.zka")
        self.told("curvature", *inputs, "--fisher", self.root / "fisher.safetensors", "-o", self.here / "s.zka")
        self.told("register", *inputs, "--base", self.here / "m.safetensors", "--curvature", self.here / "s.zka", "--client",
                  "bob", "-o", self.here / "client")
        self.told("mask", "--deployment", self.here / "d.zka", "--scores", self.root / "scores.safetensors", "--ratio", "0.1",
                  "--window", "w", "-o", self.here / "psi.zka")
        self.told("unlearn", "--client", self.here / "client", "--mask", self.here / "psi.zka", "-o",
                  self.here / "u.safetensors", "--proof", self.here / "p.zka")
        before, after = tensor_bytes(self.here / "m.safetensors"), tensor_bytes(self.here / "u.safetensors")
        self.assertEqual({name for name in before if before[name] != after[name]}, set(COVERED))
        covered = ["deploy", "--model", self.here / "m.safetensors", "--cover", "table", "--block", 8, "-o", self.here / "e.zka"]
        self.check_refused(zkapex(*covered), "'table'", "U8", "F32")
        write_typed(self.here / "l.safetensors", {**model, "large": ("F32", (1,), [2.0**30])})
        self.check_refused(zkapex("deploy", "--model", self.here / "l.safetensors", "--preset", "vit", "--block", 8, "-o",
                                  self.here / "e.zka"), "'large'")
        self.assertFalse((self.here / "e.zka").exists())

    # What another run left

    def test_a_store_goes_on_from_the_same_inputs_only(self):
        # The last block cannot be factored: what came before it stays.
        name = COVERED[-1]
        count = math.prod(SHAPES[name])
        tensors = {n: ("F32", s, list(struct.unpack(f"<{len(b) // 4}f", b)))
                   for n, (_, s, b) in tensor_bytes(self.root / "fisher.safetensors").items()}
        tensors[name][2][count - 1] = math.nan
        write_typed(self.here / "bad.safetensors", tensors)
        store, partial = self.here / "s.zka", self.here / "s.zka.partial"
        command = ["curvature", *self.inputs(), "--quiet", "--threads", 1, "-o", store]
        bad, good = ["--fisher", self.here / "bad.safetensors"], ["--fisher", self.root / "fisher.safetensors"]
        self.check_refused(zkapex(*command, *bad), "Fisher block 117")
        left = partial.read_bytes()
        self.assertGreater(len(left), 1000)
        for other in (good, [*bad, "--damping", "1e-2"], [*bad, "--relative-damping", "2e-2"]):
            self.check_refused(zkapex(*command, *other), "s.zka.partial", "another run", "--force")
            self.assertEqual(partial.read_bytes(), left)
        self.check_refused(zkapex(*command, *bad), "Fisher block 117")
        self.assertEqual(partial.read_bytes(), left)
        run = zkapex(*command, *good, "--force", "--json")
        self.assertEqual((run.returncode, json.loads(run.stdout)["blocks_from_an_earlier_run"]), (0, 0))
        self.assertEqual(store.read_bytes(), (self.root / "store.zka").read_bytes())
        self.assertEqual(sorted(self.here.glob("*.partial*")), [])

    # Files of another kind

    def test_a_wrong_file_is_told_what_it_is(self):
        (self.here / "torch.pt").write_bytes(b"PK\3\4" + bytes(100))
        deployment, mask = ["--deployment", self.root / "deployment.zka"], self.root / "psi.zka"
        theta, store = self.root / "theta.safetensors", self.root / "store.zka"
        common = ["--window", "w", "--ratio", "0.1", "-o", self.here / "x.zka"]
        for arguments, parts in (
            (["mask", "--deployment", theta, "--scores", theta, *common], ["theta.safetensors: this is a checkpoint, not a deployment"]),
            (["mask", "--deployment", mask, "--scores", theta, *common], ["psi.zka: this is a mask, not a deployment"]),
            (["mask", *deployment, "--scores", store, *common], ["store.zka: this is a curvature store, not a checkpoint"]),
            (["deploy", "--model", self.root / "splits.json", "--preset", "vit", "-o", self.here / "x.zka"],
             ["splits.json: this is a split file, not a checkpoint"]),
            (["deploy", "--model", self.here / "torch.pt", "--preset", "vit", "-o", self.here / "x.zka"],
             ["torch.pt: this is a zip archive", "safetensors"]),
            (["register", *self.inputs(), "--curvature", mask, "--client", "c", "-o", self.here / "x"],
             ["psi.zka: this is a mask, not a curvature store"]),
            (["unlearn", "--client", self.root / "client", "--mask", self.root / "deployment.zka", "-o", self.here / "u",
              "--proof", self.here / "p"], ["deployment.zka: this is a deployment, not a mask"]),
        ):
            self.check_refused(zkapex(*arguments, "--quiet"), *parts)
        # Longer than any deployment.
        with open(self.here / "long.safetensors", "wb") as file:
            file.write(theta.read_bytes())
            file.truncate(2**28 + 1)
        self.check_refused(zkapex("mask", "--deployment", self.here / "long.safetensors", "--scores", theta, *common),
                           "this is a checkpoint, not a deployment")

    def test_inspect_knows_splits_folders_and_what_is_foreign(self):
        splits = self.told("inspect", self.root / "splits.json")
        self.assertEqual((splits["kind"], splits["seed"], splits["forget"]), ("split file", 7, "class:3"))
        self.assertEqual(splits["sets"], {"train": {"samples": 3, "source": "idx:d#train"}})
        self.assertIn("class:3", zkapex("inspect", self.root / "splits.json").stdout)
        folder = self.told("inspect", self.root / "client")
        self.assertEqual((folder["kind"], folder["client"]), ("client's folder", "alice"))
        self.assertIn("registration.zka", folder["files"])
        self.told("admit", "--ledger", self.here / "ledger", "--deployment", self.root / "deployment.zka", *self.base(),
                  "--registration", self.root / "client" / "registration.zka")
        ledger = self.told("inspect", self.here / "ledger")
        self.assertEqual((ledger["kind"], ledger["clients"]), ("ledger", [{"client": "alice", "windows": []}]))
        (record,) = self.here.glob("ledger/clients/*/registered.zka")
        self.assertEqual(self.told("inspect", record)["kind"], "verified registration")
        (self.here / "model").mkdir()
        self.check_refused(zkapex("inspect", self.here / "model"), "is a folder", "model.safetensors", "registration.zka")
        (self.here / "model" / "config.json").write_text("{}")
        self.check_refused(zkapex("inspect", self.here / "model"), "without weights")
        (self.here / "model" / "model.safetensors").write_bytes((self.root / "theta.safetensors").read_bytes())
        self.assertEqual(self.told("inspect", self.here / "model")["kind"], "checkpoint")
        for content, part in ((b"", "is empty"), (b"PK\3\4" + bytes(20), "a zip archive"),
                              (b'{"a": 1}', "a JSON document, not a file of zkapex"),
                              (b"hello, world", "68656c6c6f2c2077"), (b"x", "bytes 78")):
            (self.here / "foreign").write_bytes(content)
            self.check_refused(zkapex("inspect", self.here / "foreign"), "foreign", part)
        for sets in ("3", "[]", '{"train": 3}', '{"train": {}}', '{"train": {"indices": 3}}'):
            (self.here / "splits.json").write_text(f'{{"format": "zkapex-splits", "sets": {sets}}}')
            self.check_refused(zkapex("inspect", self.here / "splits.json"), "damaged")

    def test_inspect_names_what_is_damaged(self):
        for name in ("deployment.zka", "psi.zka", "store.zka", "client/registration.zka"):
            flip(self.root / name, self.here / "x.zka", 20)
            self.check_refused(zkapex("inspect", self.here / "x.zka"), "x.zka: ")

    def test_both_digests_of_a_file_are_told(self):
        for name, key in (("deployment.zka", "deployment"), ("psi.zka", "mask"), ("client/registration.zka", "registration")):
            data = (self.root / name).read_bytes()
            report = self.told("inspect", self.root / name)
            self.assertEqual((report[key], report["sha256"]), (data[-32:].hex(), hashlib.sha256(data).hexdigest()))
        for name in ("store.zka", "theta.safetensors", "splits.json", "client/secret.zka"):
            data = (self.root / name).read_bytes()
            self.assertEqual(self.told("inspect", self.root / name)["sha256"], hashlib.sha256(data).hexdigest())
        made = self.told(*self.deploy("--preset", "vit"))
        self.assertEqual(made["sha256"], hashlib.sha256((self.here / "d.zka").read_bytes()).hexdigest())

    # Errors for programs

    def test_errors_are_json_too(self):
        for arguments in (["inspect", self.here / "nowhere"], ["inspect", "--nonsense"], ["inspct"], ["mask"], []):
            run = zkapex(*arguments, "--json")
            self.assertEqual(run.returncode, 2, run)
            self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
            self.assertEqual(run.stderr, f"zkapex: {json.loads(run.stdout)['error']}\n")
            self.check_refused(zkapex(*arguments))


if __name__ == "__main__":
    unittest.main()
