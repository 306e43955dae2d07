"""What `make install` puts under a prefix can be used by somebody else's CMake project."""

import os
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

C_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(zkapex 0.1 REQUIRED)
foreach(kind shared static)
  add_executable(${kind} main.c)
  target_link_libraries(${kind} PRIVATE zkapex::c_${kind})
endforeach()
"""
C_PROGRAM = """#include <stdio.h>
#include <zkapex.h>

int main(void) {
  zkapex_session* session;
  if (zkapex_session_new(NULL, &session) != ZKAPEX_OK) return 1;
  zkapex_deployment* deployment;
  const zkapex_status status = zkapex_deployment_open(session, "nothing", &deployment);
  printf("%s: %d, %s\\n", zkapex_version(), (int)status, zkapex_error_text(session));
  zkapex_free(session);
  return 0;
}
"""
C_SAYS = "0.1.0: 2, cannot read nothing: No such file or directory\n"


def run(*command, **environment):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **environment})
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
            units = sorted(p.name for p in (root / "usr/lib/systemd/user").iterdir())
            self.assertEqual(units, ["zkapex-agent-once.service", "zkapex-agent-once.timer", "zkapex-agent.service"])
            (root / "CMakeLists.txt").write_text(PROJECT)
            (root / "main.cpp").write_text(PROGRAM)
            run("cmake", "-S", root, "-B", root / "build", f"-DCMAKE_PREFIX_PATH={root / 'usr'}")
            run("cmake", "--build", root / "build")
            self.assertEqual(run(root / "build" / "consumer"), "8 generators, no mask\n")
            self.check_c_library(root)

    def check_c_library(self, root):
        prefix, project = root / "usr", root / "c"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(C_PROJECT)
        (project / "main.c").write_text(C_PROGRAM)
        run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", project / "build")
        for kind in ("shared", "static"):
            self.assertEqual(run(project / "build" / kind), C_SAYS)
        found = next(prefix.rglob("zkapex.pc")).parent
        flags = run("pkg-config", "--cflags", "--libs", "zkapex", PKG_CONFIG_PATH=str(found)).split()
        run("cc", project / "main.c", "-o", root / "with-pkg-config", *flags)
        self.assertEqual(run(root / "with-pkg-config", LD_LIBRARY_PATH=str(found.parent)), C_SAYS)


if __name__ == "__main__":
    unittest.main()
