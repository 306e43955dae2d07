"""--memory is a promise, kept within a tenth from 80M up, on a small model and on one transformer block of ViT-B/16.

bench window measures the peak of the process (VmHWM) while a client registers, and from there to the verdict.
"""
import json
import pathlib
import subprocess
import sys
import unittest

ZKAPEX = pathlib.Path(sys.argv.pop()).resolve()
BUDGET = 80 << 20  # bytes


class Memory(unittest.TestCase):
    def check(self, shape, *flags, threads=2):
        command = [ZKAPEX, "bench", "window", "--shape", shape, "--layers", "1", "--threads", threads, "--memory", "80M",
                   "--json", "-q", *flags]
        run = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        told = json.loads(run.stdout)
        self.assertLessEqual(told["peak_rss_bytes"], 1.1 * BUDGET)
        if told["register_within_budget"]:
            self.assertLessEqual(told["register_peak_rss_bytes"], 1.1 * BUDGET)
        return told

    def test_a_small_model(self):
        self.check("vit-tiny")

    def test_blocks_of_a_few_weights(self):
        self.check("vit-tiny", "--block", "4")

    def test_one_thread(self):
        self.check("vit-b16", threads=1)

    def test_one_transformer_block(self):
        self.assertGreater(self.check("vit-b16")["segments"], 1)


if __name__ == "__main__":
    unittest.main()
