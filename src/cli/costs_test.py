"""zkapex experiment llm, edge and baseline-cost with --quick: they run, can be gone on with, and write what they should."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ZKAPEX = pathlib.Path(sys.argv.pop()).resolve()
EXPERIMENTS = pathlib.Path(__file__).resolve().parents[2] / "experiments"


def write_code(folder):
    """Five made-up languages that differ in their words."""
    rng = random.Random(1)
    for language in ("c", "cpp", "java", "go", "rust"):
        words = [f"{language}{k}" for k in range(20)] + ["(", ")", "{", "}", ";", "="]
        (folder / language).mkdir()
        for k in range(24):
            text = " ".join(rng.choice(words) for _ in range(40))
            (folder / language / f"{k}.txt").write_text(text)


class Costs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)

    def experiment(self, name, *arguments):
        command = [ZKAPEX, "experiment", name, "--quick", "--seeds", "2", "--config", EXPERIMENTS / f"{name}.json", "-o",
                   self.here / "out", "-q", "--json", *arguments]
        run = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=self.here)
        self.assertEqual(run.returncode, 0, run.stderr)
        told = json.loads(run.stdout)
        report = json.loads((self.here / "out" / f"{name}.json").read_text())
        for ending in ("md", "svg"):
            self.assertTrue((self.here / "out" / f"{name}.{ending}").read_text())
        return told, report

    def test_edge(self):
        told, report = self.experiment("edge")
        self.assertEqual((told["cells"], told["skipped"]), (4, 0))
        for row in ("B=128-k=2", "B=128-k=8"):
            for figure in ("prove_s", "peak_rss_bytes", "proof_bytes", "verify_s"):
                self.assertGreater(report["table"][row][figure]["mean"], 0)
        # A process without libtorch.
        self.assertLess(report["table"]["B=128-k=2"]["peak_rss_bytes"]["mean"], 150e6)
        self.assertEqual(self.experiment("edge")[0]["skipped"], 4)

    def test_baseline_cost(self):
        told, report = self.experiment("baseline-cost")
        self.assertEqual(told["cells"], 6)
        table = report["table"]
        self.assertTrue(all(table[row]["estimate"] for row in ("step", "ga", "scrub", "exact")))
        # The estimate is what was measured for an entry, times entries.
        cells = [c["figures"] for c in report["cells"] if c["variant"] == "rows=32"]
        mean = sum(c["prove_s"] for c in cells) / len(cells) / cells[0]["result_entries"]
        self.assertAlmostEqual(table["ga"]["proving_s"] / (mean * table["ga"]["entries"]), 1)
        self.assertEqual(table["step"]["entries"], 256 * 51271432 + 86292480)
        self.assertIn("estimate", (self.here / "out" / "baseline-cost.md").read_text())

    def test_llm(self):
        write_code(self.here)
        told, report = self.experiment("llm", "--data", self.here)
        self.assertEqual(told["cells"], 16)
        table = report["table"]
        for row in ("before", "mask-only", "ga", "neggrad+", "scrub", "ours", "guided", "exact"):
            self.assertGreater(table[row]["personal_perplexity"]["mean"], 1)
            self.assertEqual(table[row]["forget_accuracy"]["seeds"], 2)
        self.assertNotEqual(table["ours"]["personal_perplexity"], table["mask-only"]["personal_perplexity"])
        self.assertNotEqual(table["guided"]["personal_perplexity"], table["ours"]["personal_perplexity"])
        self.assertNotEqual(table["before"]["personal_perplexity"], table["exact"]["personal_perplexity"])

    def test_llm_needs_sources(self):
        run = subprocess.run([ZKAPEX, "experiment", "llm", "--quick", "--config", EXPERIMENTS / "llm.json", "-o",
                              self.here / "out", "-q"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("scripts/collect-code", run.stderr)


if __name__ == "__main__":
    unittest.main()
