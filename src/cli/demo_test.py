"""The demo from outside, as small as it gets: its files, its report, its page, its verdicts."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

from idx_images import write_idx

PROGRAM = sys.argv.pop()
MODELS = ["before", "mask_only", "ours", "exact"]


def zkapex(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)


class Figures(HTMLParser):
    """Collects (pointer into report.json, text) of every figure, and everything that could load something."""

    def __init__(self, text):
        super().__init__()
        self.figures, self.addresses, self.tags, self.open = [], [], set(), None
        self.cells, self.depth = [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        for name, value in attributes:
            if name in ("src", "href", "srcset", "data", "action"):
                self.addresses.append(value)
            if name == "data-figure":
                self.open = value
        if tag == "td":
            self.cells.append("")

    def handle_data(self, text):
        if self.open is not None:
            self.figures.append((self.open, text))
            self.open = None
        elif self.cells and self.lasttag == "td":
            self.cells[-1] += text


def resolve(report, pointer):
    for part in pointer.strip("/").split("/"):
        report = report[int(part)] if isinstance(report, list) else report[part]
    return report


def matches(text, value):
    """Whether a figure on the page is the value, rounded, in the unit that stands behind it."""
    number, _, unit = text.partition(" ")
    shown = float(number)
    value = {"%": 100, "kB": 1e-3, "MB": 1e-6}.get(unit, 1) * value
    if "e" in number:
        return abs(shown - value) <= 0.051 * abs(value)
    places = len(number.partition(".")[2])
    return abs(shown - value) <= 0.5001 * 10 ** -places


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.here = Path(cls.folder.name)
        write_idx(cls.here, "train", 1400)
        write_idx(cls.here, "t10k", 400)
        cls.out = cls.here / "out"
        cls.run_ = cls.demo(cls.out)
        cls.report = json.loads((cls.out / "report.json").read_text()) if cls.run_.returncode == 0 else None
        cls.page = (cls.out / "report.html").read_text() if cls.run_.returncode == 0 else ""

    @classmethod
    def demo(cls, out, *flags):
        return zkapex("demo", "--quick", "--data", cls.here, "--threads", 1, "-q", "-o", out, *flags)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.assertEqual(self.run_.returncode, 0, self.run_.stderr)

    def check_refused(self, run, *parts):
        self.assertEqual(run.returncode, 2, run)
        self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr)

    def test_the_report_has_every_figure(self):
        self.assertEqual([client["name"] for client in self.report["clients"]], ["alice", "bob"])
        for client in self.report["clients"]:
            self.assertEqual(client["verdict"], "accepted")
            self.assertEqual(list(client["models"]), MODELS)
            for model in client["models"].values():
                for key in ("forget_accuracy", "personal_accuracy"):
                    self.assertTrue(0 <= model[key] <= 1)
                self.assertTrue(0 <= model["membership"]["auc_low"] <= model["membership"]["auc"] <= 1)
            self.assertTrue(0 < client["measured_error"] <= float(self.report["deployment"]["certified_error"]))
            for model in MODELS:
                for side in ("members", "others"):
                    self.assertAlmostEqual(sum(client["losses"][model][side]), 1)
            self.assertEqual(sum(layer["masked"] for layer in client["layers"]), self.report["request"]["masked"])
            self.assertTrue(all(example["image"].startswith("data:image/png;base64,") for example in client["examples"]))
            for key in ("registration_bytes", "proof_bytes"):
                self.assertGreater(client[key], 0)
        self.assertGreater(self.report["verification"]["registrations_seconds"], 0)
        self.assertEqual(len(self.report["targets"]), 2)

    def test_cheats_are_rejected_with_their_reasons(self):
        reasons = {cheat["name"]: (cheat["verdict"], cheat["reason"]) for cheat in self.report["cheats"]}
        self.assertEqual(reasons, {"request-skipped": ("rejected", "equation"), "step-forged": ("rejected", "equation"),
                                   "anothers-proof": ("rejected", "window"),
                                   "anothers-proof-relabelled": ("rejected", "equation"), "redundant": ("rejected", "equation")})

    def test_the_files_can_be_verified_again(self):
        ledger = self.out / "another-ledger"
        inbox = self.out / "provider/inbox"
        admitted = zkapex("admit", "--ledger", ledger, "--deployment", self.out / "provider/deployment.zka", "--base",
                          self.out / "provider/original", "--registration",
                          inbox / "alice/registration.zka", inbox / "bob/registration.zka", "-q")
        self.assertEqual(admitted.returncode, 0, admitted)
        common = ["verify", "--ledger", ledger, "--mask", self.out / "provider/psi.zka", "-q", "--json"]
        self.assertEqual(zkapex(*common, "--proof", inbox / "alice/proof.zka").returncode, 0)
        cheats = zkapex(*common, "--batch", self.out / "cheats")
        self.assertEqual((cheats.returncode, json.loads(cheats.stdout)["rejected"]), (1, 4))
        self.assertEqual(zkapex(*common, "--proof", inbox / "bob/proof.zka").returncode, 0)
        for command in self.report["commands"]:
            run = zkapex(*command.split()[1:])
            self.assertEqual(run.returncode, 1 if command.endswith("cheats") else 0, (command, run.stderr))

    def test_the_page_needs_nothing_else(self):
        parsed = Figures(self.page)
        self.assertFalse(re.search(r"https?:|//[a-z]|url\(|@import", self.page))
        self.assertFalse(parsed.tags & {"script", "link", "iframe", "object", "video"})
        self.assertTrue(parsed.addresses)
        self.assertTrue(all(address.startswith("data:") for address in parsed.addresses))
        self.assertEqual(self.page.count("<svg"), self.page.count("</svg>"))

    def test_every_figure_of_the_page_is_in_the_report(self):
        parsed = Figures(self.page)
        self.assertGreater(len(parsed.figures), 40)
        for pointer, text in parsed.figures:
            value = resolve(self.report, pointer)
            if value is None:
                self.assertEqual(text, "–")
            else:
                self.assertTrue(matches(text, value), (pointer, text, value))
        # The tables have no number that is not such a figure, but for the certified error, a text in the report.
        for cell in parsed.cells:
            self.assertFalse(re.search(r"\d", cell.replace(self.report["deployment"]["certified_error"], "")), cell)

    def test_the_same_seed_gives_the_same_figures(self):
        again = self.demo(self.here / "again", "--json")
        self.assertEqual(again.returncode, 0, again.stderr)
        report = json.loads(again.stdout)
        self.assertEqual(report, json.loads((self.here / "again" / "report.json").read_text()))
        for one, other in zip(self.report["clients"], report["clients"]):
            for key in ("models", "losses", "layers", "examples", "proof_bytes", "measured_error"):
                self.assertEqual(one[key], other[key], key)

    def test_refusals(self):
        self.check_refused(self.demo(self.out), "earlier demo", "--force")
        (self.here / "full").mkdir()
        (self.here / "full" / "thesis.txt").write_text("precious")
        self.check_refused(self.demo(self.here / "full", "--force"), "something else")
        self.assertEqual((self.here / "full" / "thesis.txt").read_text(), "precious")
        self.check_refused(zkapex("demo", "--quick", "--data", self.here / "nowhere", "-q", "-o", self.here / "x"), "nowhere", "--data")
        self.check_refused(self.demo(self.here / "y", "--on", "training"), "--on")


if __name__ == "__main__":
    unittest.main()
