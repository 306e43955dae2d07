"""Each folder of src/ is a room, and a room includes only itself and the rooms that it stands on."""

import re
import tempfile
import unittest
from pathlib import Path

SRC = Path(__file__).resolve().parent
# What each room stands on, and with it all that those stand on. Two trunks, cryptography and weights, know nothing of
# each other and meet in attestation.
STANDS_ON = {
    "base": [],
    "algebra": ["base"], "argument": ["algebra"],
    "weights": ["base"], "curvature": ["weights"], "unlearning": ["curvature"],
    "attestation": ["argument", "unlearning"], "parties": ["attestation"], "costs": ["argument"],
    "log": ["base"], "exchange": ["log", "parties"],
    "service": ["exchange"], "agent": ["exchange"],
    "capi": ["exchange"],
    "data": ["base"], "tables": ["data", "parties"],
    "learning": ["data", "unlearning"], "experiments": ["tables", "learning"], "demo": ["experiments"],
    "cli": ["agent", "service", "costs", "demo"],
}
# The others go on devices, without a machine-learning framework.
WITH_TORCH = {"learning", "experiments", "demo", "cli"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def below(room):
    """The room itself and all that it stands on."""
    return {room}.union(*map(below, STANDS_ON[room]))


def violations(src):
    """One sentence for each include that breaks the rule."""
    found = []
    for folder in sorted(p for p in src.iterdir() if p.is_dir() and p.name != "__pycache__"):
        if folder.name not in STANDS_ON:
            found.append(f"{folder.name}/ is not in the list of rooms")
            continue
        allowed = below(folder.name)
        for file in sorted(f for f in folder.rglob("*") if f.suffix in (".h", ".cpp")):
            where = file.relative_to(src)
            for own, system in INCLUDE.findall(file.read_text(encoding="utf-8")):
                room = own.split("/")[0]
                if system.startswith(("torch/", "ATen/", "c10/")) and folder.name not in WITH_TORCH:
                    found.append(f"{where} includes <{system}>: this room must build without libtorch")
                elif own and room not in STANDS_ON:
                    found.append(f'{where} includes "{own}": write "room/file.h"')
                elif own and room not in allowed:
                    found.append(f'{where} includes "{own}": {folder.name}/ does not stand on {room}/')
                elif own and not (src / own).is_file():
                    found.append(f'{where} includes "{own}": no such file')
    return found


class Rooms(unittest.TestCase):
    def test_the_sources_keep_the_order(self):
        self.assertEqual(violations(SRC), [])

    def check_one_include(self, line, expected, name="algebra/x.cpp"):
        with tempfile.TemporaryDirectory() as folder:
            src = Path(folder)
            for room in ("base", "algebra", "argument", "weights", "learning"):
                (src / room).mkdir()
                (src / room / "y.h").write_text("#pragma once\n")
            (src / name).parent.mkdir(parents=True, exist_ok=True)
            (src / name).write_text("// first line\n" + line + "\n")
            self.assertEqual(violations(src), expected)

    def test_rooms_above_and_the_room_itself_are_allowed(self):
        self.check_one_include('#include "base/y.h"', [])
        self.check_one_include('#include "algebra/y.h"', [])
        self.check_one_include("#include <vector>", [])
        self.check_one_include("#include <torch/torch.h>", [], name="learning/x.cpp")

    def test_a_room_below_is_refused(self):
        self.check_one_include(
            '  #  include "argument/y.h"',
            ['algebra/x.cpp includes "argument/y.h": algebra/ does not stand on argument/'])
        self.check_one_include(
            '#include "algebra/y.h"', ['base/deep/x.h includes "algebra/y.h": base/ does not stand on algebra/'], name="base/deep/x.h")

    def test_the_trunks_do_not_know_each_other(self):
        for room, other in (("argument", "weights"), ("weights", "algebra"), ("unlearning", "argument"), ("data", "weights")):
            self.assertNotIn(other, below(room))
        self.check_one_include(
            '#include "weights/y.h"', ['argument/x.h includes "weights/y.h": argument/ does not stand on weights/'],
            name="argument/x.h")
        self.assertLessEqual({"argument", "unlearning"}, below("attestation"))

    def test_other_ways_in_are_refused(self):
        self.check_one_include('#include "y.h"', ['algebra/x.cpp includes "y.h": write "room/file.h"'])
        self.check_one_include('#include "../base/y.h"', ['algebra/x.cpp includes "../base/y.h": write "room/file.h"'])
        self.check_one_include('#include "base/z.h"', ['algebra/x.cpp includes "base/z.h": no such file'])
        self.check_one_include(
            "#include <torch/torch.h>",
            ["algebra/x.cpp includes <torch/torch.h>: this room must build without libtorch"])
        self.check_one_include("", ["attic/ is not in the list of rooms"], name="attic/x.cpp")


if __name__ == "__main__":
    unittest.main()
