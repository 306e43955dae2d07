"""The C library as programs see it: its symbols, its header in C11 and C++, and a whole story that a C program tells,
whose files are those that the command makes.

Arguments: the folder of libzkapex.so, the program zkapex."""

import filecmp
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import made_up_log

PROGRAM, LIBRARY = Path(sys.argv.pop()).resolve(), Path(sys.argv.pop()).resolve()
ROOT = Path(__file__).resolve().parents[2]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def compile_c(source, program):
    run("cc", "-std=c11", "-O1", *STRICT, f"-I{ROOT / 'include'}", source, "-o", program, f"-L{LIBRARY}", "-lzkapex",
        f"-Wl,-rpath,{LIBRARY}")


class CLibrary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.root = Path(cls.temporary.name)
        os.environ["ZKAPEX_CACHE"] = str(cls.root / "cache")
        (cls.root / "c").mkdir()
        made_up_log.write(cls.root / "c")
        compile_c(ROOT / "src/capi/flow_test.c", cls.root / "flow")
        cls.said = run(cls.root / "flow", cls.root / "c")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def of_c(self, name):
        return self.root / "c" / name

    def check_same(self, name, *command):
        """The command makes the same file as the C program did."""
        made = self.root / f"command-{name}"
        run(PROGRAM, *command, "-o", made)
        self.assertTrue(filecmp.cmp(made, self.of_c(name), shallow=False), name)

    def test_a_c_program_does_all_steps(self):
        self.assertEqual(self.said, "all steps done\n")

    def test_deployment_store_and_request_are_the_commands(self):
        deployment = ["--deployment", self.of_c("deployment.zka")]
        self.check_same("deployment.zka", "deploy", "--model", self.of_c("theta0.safetensors"), "--cover",
                        "layers.{i}.mlp.fc1.weight", "--block", "8")
        self.check_same("store.zka", "curvature", *deployment, "--model", self.of_c("theta.safetensors"), "--fisher",
                        self.of_c("gradients.safetensors"))
        self.check_same("psi.zka", "mask", *deployment, "--scores", self.of_c("scores.safetensors"), "--ratio", "0.1",
                        "--window", "w1", "--nonce", "aa".rjust(64, "0"))

    def test_the_command_unlearns_to_the_same_model(self):
        run(PROGRAM, "register", "--deployment", self.of_c("deployment.zka"), "--model", self.of_c("theta.safetensors"),
            "--curvature", self.of_c("store.zka"), "--base", self.of_c("theta0.safetensors"), "--client", "carol", "-o",
            self.root / "carol")
        self.check_same("unlearned.safetensors", "unlearn", "--client", self.root / "carol", "--mask",
                        self.of_c("psi.zka"), "--proof", self.root / "carol.zka")

    def test_what_one_of_them_registered_and_proved_the_other_verifies(self):
        ledger = self.root / "new-ledger"
        run(PROGRAM, "admit", "--ledger", ledger, "--deployment", self.of_c("deployment.zka"), "--base",
            self.of_c("theta0.safetensors"), "--registration", self.of_c("alice/registration.zka"))
        run(PROGRAM, "verify", "--ledger", ledger, "--mask", self.of_c("psi.zka"), "--proof", self.of_c("proof.zka"))

    def test_the_example_is_a_client(self):
        compile_c(ROOT / "examples/client.c", self.root / "client")
        names = ("deployment.zka", "theta.safetensors", "store.zka", "theta0.safetensors")
        run(self.root / "client", "register", self.root / "dave", *map(self.of_c, names), "dave")
        run(self.root / "client", "unlearn", self.root / "dave", self.of_c("psi.zka"), self.root / "dave.safetensors",
            self.root / "dave.zka")
        self.assertTrue(filecmp.cmp(self.root / "dave.safetensors", self.of_c("unlearned.safetensors"), shallow=False))
        said = run(self.root / "client", "settle", self.root / "dave", "rejected")
        self.assertIn('"verdict":"rejected"', said)
        again = subprocess.run([self.root / "client", "settle", self.root / "dave", "rejected"], capture_output=True,
                               text=True)
        self.assertEqual(again.returncode, 2)
        self.assertRegex(again.stderr, r"client: [^\n]+\n\Z")

    def test_only_the_interface_is_exported(self):
        library = LIBRARY / "libzkapex.so"
        lines = run("nm", "-D", "--defined-only", library).splitlines()
        names = {line.split()[-1].replace("@@", "@") for line in lines if line.split()[-2] != "A"}
        declared = {word.split("(")[0].lstrip("*") for line in (ROOT / "include/zkapex.h").read_text().splitlines()
                    if line.startswith("ZKAPEX_API") for word in line.split() if "(" in word}
        self.assertEqual(names, {f"{name}@ZKAPEX_0.1" for name in declared})
        self.assertGreater(len(declared), 20)

    def test_the_header_is_cpp_too(self):
        source = self.root / "header.cpp"
        source.write_text("#include <zkapex.h>\n#include <zkapex.h>\nint main() { return zkapex_version() == nullptr; }\n")
        program = self.root / "header"
        run("c++", "-std=c++11", *STRICT, f"-I{ROOT / 'include'}", source, "-o", program, f"-L{LIBRARY}", "-lzkapex",
            f"-Wl,-rpath,{LIBRARY}")
        run(program)


if __name__ == "__main__":
    unittest.main()
