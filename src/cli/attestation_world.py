"""A provider and two registered clients, made by the program itself, for tests of the commands."""

import hashlib
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop()
LAYERS = 2
SHAPES = {"vit.embeddings.position_embeddings": (5, 12), "classifier.weight": (3, 12), "classifier.bias": (3,)}
for layer in range(LAYERS):
    SHAPES[f"vit.encoder.layer.{layer}.intermediate.dense.weight"] = (20, 12)
    SHAPES[f"vit.encoder.layer.{layer}.output.dense.weight"] = (12, 19)  # ends in a partial block
    SHAPES[f"vit.encoder.layer.{layer}.attention.output.dense.weight"] = (12, 12)
COVERED = [name for name in SHAPES if "intermediate" in name or (".output.dense" in name and "attention" not in name)]
FORMATS = {"F16": "e", "F32": "f", "F64": "d"}
COVERED_WEIGHTS = sum(math.prod(SHAPES[name]) for name in COVERED)


def pack(dtype, numbers):
    if dtype == "BF16":  # the upper half of an F32, cut off
        return b"".join(struct.pack("<f", v)[2:] for v in numbers)
    return struct.pack(f"<{len(numbers)}{FORMATS[dtype]}", *numbers)


def unpack(dtype, data):
    if dtype == "BF16":
        return tuple(struct.unpack("<f", b"\0\0" + data[k:k + 2])[0] for k in range(0, len(data), 2))
    return struct.unpack(f"<{len(data) // struct.calcsize(FORMATS[dtype])}{FORMATS[dtype]}", data)


def write_safetensors(path, tensors, dtype="F32"):
    """tensors: {name: (shape, numbers)}"""
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        piece = pack(dtype, numbers)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            out[name] = unpack(entry["dtype"], raw[8 + length + begin:8 + length + end])
    return out


def write_model(path, seed, scale=0.1, dtype="F32", near=None):
    """Random numbers; with `near`, a model of that seed and something more, a tenth of it in size."""
    rng, base = random.Random(seed), random.Random(near)
    part = 1 if near is None else 0.1

    def number():
        return part * rng.gauss(0, scale) + (0 if near is None else base.gauss(0, scale))

    write_safetensors(path, {name: (shape, [number() for _ in range(math.prod(shape))])
                             for name, shape in SHAPES.items()}, dtype)


def write_fisher(path, seed, samples=32):
    rng = random.Random(seed)
    tensors = {}
    for name in COVERED:
        count = math.prod(SHAPES[name])
        tensors[name] = ((samples, count), [rng.gauss(0, 1) for _ in range(samples * count)])
    write_safetensors(path, tensors)


def flip(path, target, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    target.write_bytes(data)


class World:
    """A provider and two registered clients, made once by the program itself; tests copy what they change."""

    def __init__(self, folder):
        self.folder = folder
        os.environ["ZKAPEX_CACHE"] = str(folder / "cache")
        write_model(folder / "theta0.safetensors", 0)
        self.deploy("deployment.zka", "2e-5")
        self.deploy("other-deployment.zka", "1e-5")
        self.mask("w1.zka", "w1", 1)
        self.mask("w2.zka", "w2", 2, "--after", self.path("w1.zka"))
        self.mask("w3.zka", "w3", 3, "--after", self.path("w2.zka"))
        self.mask("other-w1.zka", "w1", 4)
        self.mask("forgetful-w2.zka", "w2", 2)
        self.client("alice", 1)
        self.client("bob", 2)
        # Nobody has done a window in this ledger: tests copy it.
        self.admit("ledger", "alice", "bob")

    def path(self, name):
        return str(self.folder / name)

    def ok(self, *arguments):
        run = zkapex(*arguments)
        assert run.returncode == 0, run
        return json.loads(run.stdout)

    def deploy(self, name, error):
        return self.ok("deploy", "--model", self.path("theta0.safetensors"), "--preset", "vit", "--block", "8",
                       "--error", error, "-o", self.path(name), "--json")

    def mask(self, name, window, seed, *flags):
        scores = self.folder / f"scores-{name}.safetensors"
        write_model(scores, 100 + seed)
        return self.ok("mask", "--deployment", self.path("deployment.zka"), "--scores", str(scores), "--ratio", "0.1",
                       "--window", window, "-o", self.path(name), "--json", *flags)

    def admit(self, ledger, *clients):
        return self.ok("admit", "--ledger", self.path(ledger), "--deployment", self.path("deployment.zka"), "--base",
                       self.path("theta0.safetensors"), "--registration",
                       *(self.path(f"{client}/registration.zka") for client in clients), "--json")

    def client(self, name, seed, dtype="F32"):
        write_model(self.folder / f"{name}.safetensors", seed, dtype=dtype, near=0)
        write_fisher(self.folder / f"{name}-fisher.safetensors", seed)
        common = ["--deployment", self.path("deployment.zka"), "--model", self.path(f"{name}.safetensors"), "--json"]
        self.ok("curvature", *common, "--fisher", self.path(f"{name}-fisher.safetensors"),
                "-o", self.path(f"{name}-store.zka"))
        self.ok("register", *common, "--base", self.path("theta0.safetensors"), "--curvature",
                self.path(f"{name}-store.zka"), "--client", name, "-o", self.path(name))


def zkapex(*arguments, **environment):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                          env={**os.environ, **environment})


def peak_memory_of(*arguments):
    """The most bytes of memory that the program had until shortly before its end, by VmHWM; it succeeds.

    What the system tells after the end would include this process, of which the program is a fork.
    """
    with tempfile.TemporaryFile() as errors:
        run = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=errors)
        peak = 0
        while run.poll() is None:
            with open(f"/proc/{run.pid}/status") as status:
                peak = next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")), peak)
            time.sleep(0.002)
        errors.seek(0)
        assert run.returncode == 0, (arguments, errors.read())
    return peak


class WithWorld(unittest.TestCase):
    """Alice and bob have done their first window and take it for accepted; no provider has seen it yet."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.world = World(Path(cls.temporary.name))
        # Each client's first window, from a copy of its state: the registered state stays for other tests.
        for name in ("alice", "bob"):
            shutil.copytree(cls.world.folder / name, cls.world.folder / f"{name}-1")
            cls.world.ok("unlearn", "--client", cls.world.path(f"{name}-1"), "--mask", cls.world.path("w1.zka"),
                         "-o", cls.world.path(f"{name}-1.safetensors"), "--proof", cls.world.path(f"{name}-1.zka"),
                         "--json")
            cls.world.ok("settle", "--client", cls.world.path(f"{name}-1"), "--accepted", "--json")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.root = self.world.folder
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def check_refused(self, run, *parts):
        self.assertEqual(run.returncode, 2, run)
        self.assertFalse(run.stdout)
        self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr)

    def new_ledger(self, source="ledger"):
        """A copy of a ledger, for one test."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch)) / "ledger"
        shutil.copytree(self.root / source, folder)
        return folder

    def verify(self, proof="alice-1.zka", mask="w1.zka", ledger=None, flags=()):
        return zkapex("verify", "--ledger", ledger or self.new_ledger(), "--mask", self.root / mask, "--proof",
                      self.root / proof, "--quiet", *flags)

    def check_accepted(self, run):
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)

    def check_rejected(self, reason, **arguments):
        run = self.verify(**arguments)
        self.assertEqual((run.returncode, run.stderr), (1, ""), run)
        self.assertRegex(run.stdout, rf"\Arejected \({reason}\): [^\n]+\n")
        self.assertNotIn("certified error", run.stdout)
        run = self.verify(**{**arguments, "flags": [*arguments.get("flags", ()), "--json"]})
        self.assertEqual(run.returncode, 1)
        verdict = json.loads(run.stdout)
        self.assertEqual((verdict["verdict"], verdict["reason"]), ("rejected", reason))
        self.assertTrue(verdict["detail"])
        self.assertNotIn("certified_error", verdict)

    def unlearn(self, state, mask, *flags, out="u.safetensors", proof="p.zka"):
        return zkapex("unlearn", "--client", state, "--mask", self.root / mask, "-o", self.scratch / out, "--proof",
                      self.scratch / proof, "--quiet", *flags)

    def copy_of(self, name):
        shutil.copytree(self.root / name, self.scratch / name)
        return self.scratch / name

    def write_framed(self, path, data):
        """The file with its last 32 bytes made right again."""
        body = bytes(data[:-32])
        path.write_bytes(body + hashlib.sha256(body).digest())

    def forge_last_scalar(self, source, target):
        data = bytearray(source.read_bytes())
        data[-33 - 31] ^= 1  # lowest byte of the last scalar
        self.write_framed(target, data)
