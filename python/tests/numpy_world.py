"""What tests without PyTorch share: the package and the program that the arguments name, and a small deployment with a
client's files.

Arguments: libzkapex.so, the program zkapex. With the package installed: the program alone, and --installed."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop()
if sys.argv[-1] == "--installed":
    sys.argv.pop()
else:
    os.environ["ZKAPEX_LIBRARY"] = sys.argv.pop()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy

import zkapex

NAME = "layers.0.mlp.fc1.weight"
SHAPE, BLOCK, SAMPLES = (20, 12), 8, 32
WEIGHTS = SHAPE[0] * SHAPE[1]
NONCE = "ab" * 32


class World(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.root = Path(cls.temporary.name)
        os.environ["ZKAPEX_CACHE"] = str(cls.root / "cache")
        rng = numpy.random.default_rng(1)
        base = rng.normal(0, 0.1, SHAPE).astype("float32")
        other = rng.normal(1, 0.1, 3).astype("float32")
        cls.gradients = rng.normal(0, 1, (SAMPLES, WEIGHTS)).astype("float32")
        write = zkapex.write_safetensors
        write(cls.root / "theta0.safetensors", {NAME: base, "norm.weight": other})
        write(cls.root / "theta.safetensors",
              {NAME: base + rng.normal(0, 0.005, SHAPE).astype("float32"), "norm.weight": other})
        write(cls.root / "scores.safetensors", {NAME: rng.normal(0, 1, SHAPE)})
        write(cls.root / "gradients.safetensors", {NAME: cls.gradients})
        cls.deployment = zkapex.Deployment.make(cls.root / "theta0.safetensors", cls.root / "deployment.zka",
                                                preset="vit", block=BLOCK)
        with zkapex.CurvatureWriter(cls.deployment, cls.root / "store.zka") as store:
            store.gradients(cls.gradients)
        cls.statistics = store.statistics
        cls.request = zkapex.Request.make(cls.deployment, cls.root / "psi.zka", window="w1", ratio="0.1",
                                          scores=cls.root / "scores.safetensors", nonce=NONCE)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.here = Path(tempfile.mkdtemp(dir=self.root))

    def register(self, name="alice", **arguments):
        return zkapex.Client.register(self.deployment, self.root / "theta.safetensors", self.root / "store.zka", name,
                                      self.here / name, base=self.root / "theta0.safetensors", **arguments)

    def ledger(self):
        return zkapex.Ledger(self.here / "ledger", self.deployment, base=self.root / "theta0.safetensors")
