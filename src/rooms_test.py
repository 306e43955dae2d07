"""Each folder of src/ is a room, and a room includes only itself and rooms above it in this list."""

import re
import tempfile
import unittest
from pathlib import Path

SRC = Path(__file__).resolve().parent
ROOMS = ["base", "algebra", "argument", "weights", "curvature", "unlearning", "attestation", "parties", "costs", "learning",
         "experiments", "cli"]
# The rooms above this one go on devices, without a machine-learning framework.
FIRST_ROOM_WITH_TORCH = "learning"

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def violations(src):
    """One sentence for each include that breaks the rule."""
    found = []
    for folder in sorted(p for p in src.iterdir() if p.is_dir() and p.name != "__pycache__"):
        if folder.name not in ROOMS:
            found.append(f"{folder.name}/ is not in the list of rooms")
            continue
        rank = ROOMS.index(folder.name)
        for file in sorted(f for f in folder.rglob("*") if f.suffix in (".h", ".cpp")):
            where = file.relative_to(src)
            for own, system in INCLUDE.findall(file.read_text(encoding="utf-8")):
                room = own.split("/")[0]
                if system.startswith(("torch/", "ATen/", "c10/")) and rank < ROOMS.index(FIRST_ROOM_WITH_TORCH):
                    found.append(f"{where} includes <{system}>: this room must build without libtorch")
                elif own and room not in ROOMS:
                    found.append(f'{where} includes "{own}": write "room/file.h"')
                elif own and ROOMS.index(room) > rank:
                    found.append(f'{where} includes "{own}": {room}/ is below {folder.name}/')
                elif own and not (src / own).is_file():
                    found.append(f'{where} includes "{own}": no such file')
    return found


class Rooms(unittest.TestCase):
    def test_the_sources_keep_the_order(self):
        self.assertEqual(violations(SRC), [])

    def check_one_include(self, line, expected, name="algebra/x.cpp"):
        with tempfile.TemporaryDirectory() as folder:
            src = Path(folder)
            for room in ("base", "algebra", "argument", "learning"):
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
            ['algebra/x.cpp includes "argument/y.h": argument/ is below algebra/'])
        self.check_one_include(
            '#include "algebra/y.h"', ['base/deep/x.h includes "algebra/y.h": algebra/ is below base/'], name="base/deep/x.h")

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
