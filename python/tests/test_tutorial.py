"""The code of docs/tutorial.md, block after block in one folder, as a reader would run it, with `zkapex` on the path.

Arguments: libzkapex.so; or --installed."""

import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if sys.argv[-1] == "--installed":
    sys.argv.pop()
else:
    os.environ["ZKAPEX_LIBRARY"] = str(Path(sys.argv.pop()).resolve())
    sys.path.insert(0, str(ROOT / "python" / "src"))


class Tutorial(unittest.TestCase):
    def test_its_code_runs(self):
        text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 5)
        names = {"__name__": "tutorial"}
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                for number, block in enumerate(blocks):
                    exec(compile(block, f"block {number} of tutorial.md", "exec"), names)
            finally:
                os.chdir(before)
                if "service" in names:
                    names["service"].kill()
                    names["service"].wait()
        self.assertTrue(names["verdict"].accepted)
        self.assertTrue(names["shown"].passed)


if __name__ == "__main__":
    unittest.main()
