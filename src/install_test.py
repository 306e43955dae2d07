"""What `make install` puts under a prefix can be used by somebody else's CMake project."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(zkapex 0.1 REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE zkapex::parties)
"""
PROGRAM = """#include <cstdio>
#include "parties/client.h"
#include "parties/work.h"

int main() {
  zkapex::ThreadPool pool(1);
  zkapex::WorkSettings settings;
  settings.pool = &pool;
  const zkapex::Generators generators = zkapex::load_generators(8, settings);
  const auto mask = zkapex::Mask::parse({});
  std::printf("%zu generators, %s\\n", generators.size(), mask.ok() ? "a mask" : "no mask");
}
"""


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class Install(unittest.TestCase):
    def test_a_project_finds_the_library(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (BUILD / "zkapex.1").touch()  # the manual needs the programs; here it is the library that counts
            run("cmake", "--install", BUILD, "--prefix", root / "usr")
            self.assertEqual([p.name for p in root.rglob("*_testing.h")], [])
            (root / "CMakeLists.txt").write_text(PROJECT)
            (root / "main.cpp").write_text(PROGRAM)
            run("cmake", "-S", root, "-B", root / "build", f"-DCMAKE_PREFIX_PATH={root / 'usr'}")
            run("cmake", "--build", root / "build")
            self.assertEqual(run(root / "build" / "consumer"), "8 generators, no mask\n")


if __name__ == "__main__":
    unittest.main()
