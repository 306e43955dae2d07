"""Experiments from outside, as small as they get: what they write, that they go on, what they refuse."""

import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

from idx_images import write_idx

PROGRAM = sys.argv.pop()
CONFIGURATIONS = Path(__file__).resolve().parents[2] / "experiments"


def zkapex(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)


class Experiment(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.here = Path(cls.folder.name)
        write_idx(cls.here, "train", 1400)
        write_idx(cls.here, "t10k", 400)
        cls.out = cls.here / "out"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def experiment(self, name, *flags):
        return zkapex("experiment", name, "--quick", "--data", self.here, "--threads", 1, "-o", self.out, "--json", *flags)

    def check_refused(self, run, *parts):
        self.assertEqual(run.returncode, 2, run)
        self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr)

    def check_written(self, name):
        report = json.loads((self.out / f"{name}.json").read_text())
        self.assertEqual(report["experiment"], name)
        self.assertEqual(len(report["cells"]), len(list((self.out / "cells" / name).iterdir())))
        self.assertTrue(report["setup"]["model"].startswith("ViT"))
        self.assertIn("cells", report)
        self.assertEqual(xml.parse(self.out / f"{name}.svg").getroot().tag, "{http://www.w3.org/2000/svg}svg")
        text = (self.out / f"{name}.md").read_text()
        self.assertIn(f"{name}.svg", text)
        self.assertIn("QUICK", text)
        self.assertIn("| --- |", text)
        return report

    def test_table1_with_proofs_and_going_on(self):
        run = self.experiment("table1", "--seeds", 1)
        self.assertEqual(run.returncode, 0, run.stderr)
        report = self.check_written("table1")
        self.assertEqual(len(report["cells"]), 16)
        for cell in report["cells"]:
            figures = cell["figures"]
            for key in ("forget_accuracy", "held_out_accuracy", "personal_accuracy"):
                self.assertTrue(0 <= figures[key] <= 1)
            if cell["variant"].endswith("-exact"):
                self.assertAlmostEqual(figures["alignment"]["forget"], 0, places=6)
            if cell["variant"].endswith(("-ours", "-guided")):
                self.assertGreater(figures["proof"]["proof_bytes"], 0)
        self.assertEqual(report["table"]["random"]["random-ours"]["forget_accuracy"]["paper"], "50.2 ± 0.1")

        # One more seed computes its own cells alone; one that was lost is computed again, to the same figures.
        lost = self.out / "cells" / "table1" / "random-ga-seed1.json"
        figures = json.loads(lost.read_text())["figures"]
        kept = (self.out / "cells" / "table1" / "random-scrub-seed1.json").read_bytes()
        lost.unlink()
        again = self.experiment("table1", "--seeds", 2)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual((json.loads(again.stdout)["cells"], json.loads(again.stdout)["skipped"]), (32, 15))
        self.assertEqual(json.loads(lost.read_text())["figures"], figures)
        self.assertEqual((self.out / "cells" / "table1" / "random-scrub-seed1.json").read_bytes(), kept)
        self.check_refused(self.experiment("table1", "--on", "validation"), "other settings", "--force")

    def test_every_other_experiment_on_images(self):
        for name in ("adaptformer", "structured", "forget-size", "ablation-block", "ablation-damping",
                     "ablation-sparsity", "saliency-anchor", "appendix-a", "guided", "lora", "prepared", "drift"):
            with self.subTest(name):
                run = self.experiment(name, "--seeds", 1)
                self.assertEqual(run.returncode, 0, run.stderr)
                report = self.check_written(name)
                if name == "saliency-anchor":
                    overlap = report["table"]["random"]["random-ours-original"]["mask_overlap"]["mean"]
                    self.assertEqual(overlap, 1)
                if name == "appendix-a":
                    for cell in report["cells"]:
                        terms = cell["figures"]["terms"]
                        self.assertGreaterEqual(terms["compensation"], terms["lower_bound"])

    def test_refusals(self):
        self.check_refused(zkapex("experiment", "table7"), "table7", "table1", "appendix-a")
        self.check_refused(self.experiment("table1", "--on", "training"), "--on")
        self.check_refused(self.experiment("table1", "--config", self.here / "none.json"), "none.json")
        config = json.loads((CONFIGURATIONS / "table1.json").read_text())
        config["settings"]["epoch"] = 3
        (self.here / "vision.json").write_bytes((CONFIGURATIONS / "vision.json").read_bytes())
        (self.here / "bad.json").write_text(json.dumps(config))
        self.check_refused(self.experiment("table1", "--config", self.here / "bad.json"), "bad.json", "'epoch'")
        self.check_refused(self.experiment("forget-size", "--config", self.here / "bad.json"), "'table1'", "'forget-size'")
        run = zkapex("experiment", "table1", "--quick", "--data", self.here / "nowhere", "-q", "-o", self.here / "x")
        self.check_refused(run, "nowhere", "--data")


if __name__ == "__main__":
    unittest.main()
