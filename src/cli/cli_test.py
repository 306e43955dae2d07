"""The program from outside: output, exit status, and one clear line on stderr for every mistake."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop()
# Figures of an instrumented program mean nothing, and what is measured is tested elsewhere.
measures = unittest.skipIf("ZKAPEX_SANITIZED" in os.environ, "no measuring under sanitizers")

PATHS = ("portable", "neon", "avx2", "avx512")
KERNELS = ["field_mul", "point_madd", "commit_int8", "commit_bit", "commit_factor", "scalar_mul", "scalar_product",
           "scalar_fold", "sumcheck_pair", "fold_int8", "project_int8", "msm_131072", "decompress", "hash_to_group"]


def zkapex(*arguments, stdout=subprocess.PIPE, **environment):
    return subprocess.run([PROGRAM, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=300,
                          env={**os.environ, **environment})


class Cli(unittest.TestCase):
    def check_refused(self, run, *parts):
        self.assertEqual(run.returncode, 2, run)
        self.assertFalse(run.stdout)
        self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr)

    def test_version(self):
        run = zkapex("--version")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"\Azkapex \d+\.\d+\.\d+\n\Z")

    def test_version_as_json(self):
        for arguments in (["--version", "--json"], ["--json", "--version"]):
            run = zkapex(*arguments, ZKAPEX_CPU="portable")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            said = json.loads(run.stdout)
            self.assertEqual(list(said), ["version", "features", "instruction_sets"])
            self.assertEqual(zkapex("--version").stdout, f"zkapex {said['version']}\n")
            commands = zkapex("--help").stdout
            for feature, command in (("learning", "\n  train "), ("service", "\n  provider ")):
                self.assertEqual(said["features"].pop(feature), command in commands, feature)
            self.assertEqual(said["features"], {})
            self.assertEqual(said["instruction_sets"]["in_use"], "portable")
            self.assertIn("portable", said["instruction_sets"]["compiled"])
        run = zkapex("--version", "--json", ZKAPEX_CPU="fast")
        self.assertEqual(run.returncode, 2)
        self.assertIn("ZKAPEX_CPU=fast", json.loads(run.stdout)["error"])

    def test_help_teaches_by_examples(self):
        for arguments in (["--help"], ["-h"], ["bench", "kernels", "--help"]):
            run = zkapex(*arguments)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn("Examples:\n  zkapex bench kernels", run.stdout)

    def test_wrong_usage(self):
        self.check_refused(zkapex(), "subcommand is required", "zkapex --help")
        self.check_refused(zkapex("--nonsense"), "--nonsense", "zkapex --help")
        self.check_refused(zkapex("bench"), "zkapex bench --help")
        self.check_refused(zkapex("bench", "kernels", "--nonsense"), "--nonsense", "zkapex bench kernels --help")
        self.check_refused(zkapex("bench", "kernels", "extra"), "extra")

    def test_the_nearest_command_is_suggested(self):
        self.check_refused(zkapex("bnech"), "did you mean zkapex bench?")
        self.check_refused(zkapex("bench", "kernals"), "did you mean zkapex bench kernels?")

    def test_commands_of_the_program_beside_it(self):
        run = zkapex("audit", "--help")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("receipt", run.stdout)
        self.check_refused(zkapex("agent"), "zkapex agent --help")
        self.check_refused(zkapex("agnet"), "did you mean zkapex agent?")

    @unittest.skipIf(Path(PROGRAM).read_bytes().startswith(b"#!"), "the program is a script that runs it elsewhere")
    def test_the_program_beside_it_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = subprocess.run([shutil.copy(PROGRAM, folder), "agent", "status"], capture_output=True, text=True, timeout=60)
            self.check_refused(alone, f"{folder}/zkapex-network", "No such file")

    def test_unknown_instruction_sets_are_refused(self):
        self.check_refused(zkapex("bench", "kernels", "--quick", ZKAPEX_CPU="fast"), "ZKAPEX_CPU=fast", "portable, neon, avx2 or avx512")

    @measures
    def test_kernels_as_json(self):
        # All of them once; the portable path also by itself, with the kernels that follow the choice of instructions.
        for cpu, only in (("", []), ("portable", ["field_mul", "point_madd", "fold_int8", "decompress"])):
            run = zkapex("bench", "kernels", "--json", "--quick", "-q", *(f"--only={name}" for name in only), ZKAPEX_CPU=cpu)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            kernels = json.loads(run.stdout)["kernels"]
            self.assertEqual([kernel["name"] for kernel in kernels], only or KERNELS)
            for kernel in kernels:
                self.assertEqual(list(kernel), ["name", "ns", "baseline", "baseline_ns", "ratio"])
                self.assertIn(kernel["baseline"], ("libsodium", "portable path"))
                self.assertGreater(kernel["ns"], 0)
                self.assertGreater(kernel["baseline_ns"], 0)
                self.assertAlmostEqual(kernel["ratio"] / (kernel["baseline_ns"] / kernel["ns"]), 1, delta=0.01)

    def test_kernels_as_text(self):
        run = zkapex("bench", "kernels", "--quick", "-q", "--only", "scalar_mul", "--only", "point_madd", ZKAPEX_CPU="portable")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"\AInstruction set: portable\. .*\n\n"
                                     r"kernel +ns +for one +baseline +ns +ratio\n"
                                     r"point_madd +[\d.]+ +addition +portable path +[\d.]+ +[\d.]+\n"
                                     r"scalar_mul +[\d.]+ +product +libsodium +[\d.]+ +[\d.]+\n\Z")

    def test_unknown_kernels_are_named(self):
        self.check_refused(zkapex("bench", "kernels", "--only", "sha512"), "--only", "sha512", "scalar_mul")

    @measures
    def test_argument_as_json(self):
        run = zkapex("bench", "argument", "--json", "--quick")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        figures = json.loads(run.stdout)["argument"]
        self.assertEqual([f["relation"] for f in figures], ["range"])
        for figure in figures:
            for key in ("units", "prover_seconds", "speedup", "verifier_seconds", "proof_bytes", "peak_bytes", "ns_per_unit"):
                self.assertGreater(figure[key], 0)

    @measures
    def test_window_as_json(self):
        run = zkapex("bench", "window", "--shape", "vit-tiny", "--layers", "1", "--block", "16", "--row-length", "4096",
                     "--json", "-q")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        figures = json.loads(run.stdout)
        for key in ("d", "blocks", "masked", "commit_s", "commit_curvature_s", "project_s", "register_s", "apply_s",
                    "prove_s", "verify_s", "proof_bytes", "registration_bytes", "peak_rss_bytes", "certified_error",
                    "measured_error"):
            self.assertGreater(figures[key], 0, key)
        self.assertLess(figures["measured_error"], figures["certified_error"])
        self.assertEqual(list(figures["prove_phases_s"]), ["rules", "commit", "project", "segments", "range", "opening"])
        self.assertEqual(figures["window_estimate"]["proof_bytes"], figures["proof_bytes"])
        self.assertLessEqual(figures["peak_rss_bytes"], 1.1 * figures["window_estimate"]["memory_bytes"])
        self.assertLessEqual(figures["register_peak_rss_bytes"], 1.1 * figures["register_estimate"]["memory_bytes"])
        self.assertIn(figures["machine"]["path"], PATHS)

    @measures
    def test_windows_on_two_paths(self):
        shape = ["--shape", "vit-tiny", "--layers", "1", "--block", "16", "--row-length", "1024", "--ratio", "0.1"]
        run = zkapex("bench", "window", *shape, "--compare", "--json", "-q", ZKAPEX_CPU="")
        if run.returncode == 2:
            self.assertIn("portable path only", run.stderr)
            return
        figures = json.loads(run.stdout)
        paths = [key for key in figures if key in PATHS]
        self.assertEqual(len(paths), 2)
        for path in paths:
            self.assertEqual(figures[path]["machine"]["path"], path)
        self.assertEqual(figures[paths[0]]["proof_bytes"], figures[paths[1]]["proof_bytes"])
        self.assertGreater(figures["best_to_baseline"]["prove_s"], 0)

    @measures
    def test_batch_as_json(self):
        run = zkapex("bench", "batch", "--shape", "vit-tiny", "--layers", "1", "--block", "16", "--row-length", "4096",
                     "--counts", "1", "8", "--json", "-q")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        figures = json.loads(run.stdout)
        self.assertEqual([batch["proofs"] for batch in figures["batches"]], [1, 8])
        self.assertLess(figures["batches"][1]["to_single_ones"], 1)

    def test_the_protocols_commands_take_the_same_flags(self):
        for command in ("inspect", "deploy", "mask", "curvature", "register", "unlearn", "verify"):
            text = zkapex(command, "--help").stdout
            for flag in ("--json", "--quiet", "--threads", "--memory"):
                self.assertIn(flag, text, command)

    def test_an_error_that_cannot_be_written_is_one_too(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run([PROGRAM, "inspect", "nowhere.zka"], stdout=subprocess.DEVNULL, stderr=full, timeout=60)
        self.assertEqual(run.returncode, 2)

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            for arguments in (["--version"], ["--help"], ["bench", "kernels", "--quick", "-q", "--only=scalar_mul"]):
                self.check_refused(zkapex(*arguments, stdout=full), "No space left on device")


if __name__ == "__main__":
    unittest.main()
