"""Two programs for two processors: the same bytes from the same randomness, and proofs that cross over.

  arm64_test.py PROGRAM ARM64_PROGRAM

The second is run by qemu, which takes QEMU_SET_ENV for variables of the program alone.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ARM64_PROGRAM = sys.argv.pop()
from attestation_world import PROGRAM, flip, write_fisher, write_model  # noqa: E402: takes the other one

# In place of libsodium's, loaded before it.
FIXED_RANDOM = r"""
#include <stddef.h>
#include <string.h>
void randombytes_buf(void* out, size_t size) { memset(out, 0x5a, size); }
"""
SIDES = {"here": (os.path.abspath(PROGRAM), "cc"), "arm64": (os.path.abspath(ARM64_PROGRAM), "aarch64-linux-gnu-gcc")}


class Side:
    """A provider and a client in a folder of their own, by one of the programs."""

    def __init__(self, folder, program, environment):
        self.folder, self.program = folder, program
        self.environment = {**os.environ, "ZKAPEX_CACHE": "cache", **environment}
        folder.mkdir()
        write_model(folder / "theta0.safetensors", 0)
        write_model(folder / "scores.safetensors", 100)
        write_model(folder / "alice.safetensors", 1, near=0)
        write_fisher(folder / "fisher.safetensors", 1)

    def run(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments), "--json"], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=600)

    def ok(self, *arguments):
        run = self.run(*arguments)
        assert run.returncode == 0, run

    def tell_the_story(self):
        deployment = ["--deployment", "deployment.zka"]
        self.ok("deploy", "--model", "theta0.safetensors", "--preset", "vit", "--block", "8", "-o", "deployment.zka")
        self.ok("mask", *deployment, "--scores", "scores.safetensors", "--ratio", "0.1", "--window", "w1", "--nonce",
                "11" * 32, "-o", "w1.zka")
        self.ok("curvature", *deployment, "--model", "alice.safetensors", "--fisher", "fisher.safetensors", "-o", "store.zka")
        self.ok("register", *deployment, "--base", "theta0.safetensors", "--model", "alice.safetensors", "--curvature",
                "store.zka", "--client", "alice", "-o", "client")
        self.ok("unlearn", "--client", "client", "--mask", "w1.zka", "-o", "unlearned.safetensors", "--proof", "proof.zka")

    def move(self, folder):
        self.folder.rename(folder)
        self.folder = folder

    def verify(self, other, proof="proof.zka"):
        """What this side's provider says of what the other side's client handed in."""
        shutil.rmtree(self.folder / "ledger", ignore_errors=True)
        self.ok("admit", "--ledger", "ledger", "--deployment", "deployment.zka", "--base", "theta0.safetensors",
                "--registration", other.folder / "client/registration.zka")
        return self.run("verify", "--ledger", "ledger", "--mask", "w1.zka", "--proof", other.folder / proof)

    def files(self):
        return {str(path.relative_to(self.folder)): path.read_bytes()
                for path in sorted(self.folder.rglob("*")) if path.is_file()}


class TwoProcessors(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def sides(self, environment=lambda name, compiler: {}):
        out = []
        for name, (program, compiler) in SIDES.items():
            # A client's state has the places of its files in it, so both work in the same.
            out.append(Side(self.folder / "side", program, environment(name, compiler)))
            out[-1].tell_the_story()
            out[-1].move(self.folder / name)
        return out

    def fixed_random(self, name, compiler):
        library = self.folder / f"fixed-random-{name}.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=FIXED_RANDOM, text=True, check=True)
        preload = f"LD_PRELOAD={library}"
        return {"QEMU_SET_ENV": preload} if name == "arm64" else {"LD_PRELOAD": str(library), "ZKAPEX_CPU": "portable"}

    def test_the_same_randomness_gives_the_same_bytes(self):
        here, there = (side.files() for side in self.sides(self.fixed_random))
        self.assertEqual(sorted(here), sorted(there))
        for name, data in here.items():
            self.assertEqual(data, there[name], name)
        self.assertIn("proof.zka", here)

    def test_each_verifies_what_the_other_proved(self):
        here, there = self.sides()
        self.assertNotEqual(here.files()["proof.zka"], there.files()["proof.zka"])
        for provider, client in ((here, there), (there, here)):
            run = provider.verify(client)
            self.assertEqual(run.returncode, 0, run)
            flip(client.folder / "proof.zka", client.folder / "forged.zka", 1000)
            self.assertNotEqual(provider.verify(client, "forged.zka").returncode, 0)


if __name__ == "__main__":
    unittest.main()
