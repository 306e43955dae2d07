"""The learning commands from outside: raw images to figures, text to a vocabulary, and refusals before time is spent."""

import json
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop()
DATA = Path(__file__).resolve().parent.parent / "learning" / "testdata"

CONFIG = {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 16, "num_hidden_layers": 2,
          "num_attention_heads": 2, "intermediate_size": 24, "image_size": 8, "patch_size": 4, "num_channels": 1, "initializer_range": 0.2,
          "id2label": {"0": "a", "1": "b", "2": "c"}, "label2id": {"a": 0, "b": 1, "c": 2}}


def zkapex(*arguments, text=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=300)


def write_idx(directory, part, count):
    """8 by 8 images with a bright row that tells the class."""
    draw = random.Random(part)
    labels = [draw.randrange(3) for _ in range(count)]
    pixels = b"".join(bytes(255 if p // 8 == 2 * label + 1 else draw.randrange(100) for p in range(64)) for label in labels)
    (directory / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 8, 8) + pixels)
    (directory / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + bytes(labels))


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    code = {"F32": "f", "F64": "d", "U8": "B"}
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            kind = code[entry["dtype"]]
            raw = data[8 + length + begin:8 + length + end]
            out[name] = struct.unpack(f"<{len(raw) // struct.calcsize(kind)}{kind}", raw)
    return out


class Learning(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.here = Path(self.folder.name)

    def run_ok(self, *arguments, **options):
        run = zkapex(*arguments, **options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def check_refused(self, run, *parts):
        self.assertEqual(run.returncode, 2, run)
        self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr)

    def make_split(self, forget="class:1"):
        write_idx(self.here, "train", 300)
        write_idx(self.here, "t10k", 120)
        (self.here / "small").mkdir()
        (self.here / "small" / "config.json").write_text(json.dumps(CONFIG))
        self.splits = self.here / "splits.json"
        self.run_ok("split", "--data", f"idx:{self.here}#train", "--test-data", f"idx:{self.here}#t10k", "--personal", 60,
                    "--personal-test", 30, "--test", 100, "--forget", forget, "-o", self.splits)

    def test_from_images_to_figures(self):
        self.make_split()
        common = ["--splits", self.splits, "-q", "--threads", 1]
        self.run_ok("train", "--from-scratch", "--model", self.here / "small", *common, "--epochs", 3, "--batch", 8, "--rate", "5e-3",
                    "-o", self.here / "original")
        record = json.loads((self.here / "original" / "train.json").read_text())
        self.assertEqual(len(record["training"]["epoch_losses"]), 3)
        self.assertEqual(sorted(record["outputs"]), ["config.json", "model.safetensors"])
        self.run_ok("personalize", "--model", self.here / "original", *common, "--method", "lora", "--rank", 2, "-o",
                    self.here / "personal")
        self.assertTrue((self.here / "personal" / "adapter" / "adapter_model.safetensors").is_file())
        self.run_ok("saliency", "--model", self.here / "original", *common, "-o", self.here / "scores.safetensors")
        scores = read_safetensors(self.here / "scores.safetensors")
        self.assertEqual(len(scores), 4)
        self.run_ok("baseline", "ga", "--model", self.here / "original", *common, "--rate", "0.01", "--epochs", 5,
                    "--forget-batch", 8, "-o", self.here / "ga")
        figures = {}
        for name in ("original", "ga"):
            figures[name] = json.loads(self.run_ok("evaluate", "--model", self.here / name, *common, "--json", "--exact",
                                                   self.here / "original", "-o", self.here / f"{name}.json"))
        self.assertGreater(figures["original"]["sets"]["test"]["accuracy"], 0.9)
        self.assertGreater(figures["ga"]["sets"]["forget"]["loss"], 2 * figures["original"]["sets"]["forget"]["loss"])
        self.assertEqual(figures["original"]["alignment"]["forget"], 0)
        self.assertEqual(figures["original"]["membership"]["others"], "forget-test")

    def test_training_twice_gives_the_same_bytes(self):
        self.make_split()
        for name in ("a", "b"):
            self.run_ok("train", "--from-scratch", "--model", self.here / "small", "--splits", self.splits, "-q",
                        "--threads", 2, "-o", self.here / name)
        first, second = ((self.here / name / "model.safetensors").read_bytes() for name in ("a", "b"))
        self.assertEqual(first, second)

    def test_probe_agrees_with_hugging_face(self):
        for model in ("vit", "opt"):
            out = self.here / f"{model}.safetensors"
            expected = DATA / model / "expected.safetensors"
            self.run_ok("probe", "--model", DATA / model, "--input", DATA / model / "input.safetensors", "--mask-from",
                        expected, "-o", out)
            found, wanted = read_safetensors(out), read_safetensors(expected)
            for name, values in wanted.items():
                if not name.startswith("obs_mask"):
                    scale = max(map(abs, values))
                    self.assertLess(max(abs(a - b) for a, b in zip(found[name], values)), 1e-4 * scale, name)

    def test_tokenize(self):
        for case in json.loads((DATA / "bpe" / "cases.json").read_text()):
            for flag, key in (([], "ids"), (["--no-special"], "ids_no_special")):
                run = subprocess.run([PROGRAM, "tokenize", "--tokenizer", DATA / "bpe", *flag],
                                     input=case["text"].encode(), capture_output=True, timeout=60)
                self.assertEqual(json.loads(run.stdout), case[key])

    def test_text_from_files_to_a_model(self):
        (self.here / "code").mkdir()
        draw = random.Random(1)
        for k in range(30):
            lines = [f"let value_{draw.randrange(20)} = call({draw.randrange(9)});\n" for _ in range(20)]
            (self.here / "code" / f"f{k:02}.rs").write_text("".join(lines))
        model = self.here / "opt"
        self.run_ok("train-tokenizer", "--data", self.here / "code", "--size", 300, "-o", model)
        config = {"model_type": "opt", "architectures": ["OPTForCausalLM"], "vocab_size": 300, "hidden_size": 16, "ffn_dim": 32,
                  "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 32, "word_embed_proj_dim": 16}
        (model / "config.json").write_text(json.dumps(config))
        splits = self.here / "splits.json"
        self.run_ok("split", "--model", model, "--window", 32, "--data", f"text:{self.here}/code", "--test", 20, "--personal",
                    20, "--personal-test", 20, "--forget", "random:0.2", "-o", splits)
        common = ["--splits", splits, "--window", 32, "-q", "--threads", 1]
        self.run_ok("train", "--from-scratch", "--model", model, *common, "--epochs", 3, "--rate", "1e-2", "-o", self.here / "lm")
        figures = json.loads(self.run_ok("evaluate", "--model", self.here / "lm", *common, "--json"))
        self.assertLess(figures["sets"]["test"]["perplexity"], 60)

    def test_refusals(self):
        self.make_split("random:0.1")
        common = ["--splits", self.splits, "-q", "-o", self.here / "out"]
        self.check_refused(zkapex("train", "--model", self.here / "nowhere", *common), "nowhere")
        self.check_refused(zkapex("train", "--model", self.here / "small", *common), "model.safetensors")
        self.check_refused(zkapex("train", "--from-scratch", "--model", self.here / "small", "--set", "other", *common), "'other'")
        self.check_refused(zkapex("train", "--from-scratch", "--model", self.here / "small", "--classes", 2, *common), "2 classes")
        self.check_refused(zkapex("train", "--from-scratch", "--model", self.here / "small", "--rate", "-1", *common), "learning rate")
        self.check_refused(zkapex("split", "--data", f"idx:{self.here}#train", "--forget", "class:7", "-o", self.here / "s"),
                           "class 7 does not exist")
        self.check_refused(zkapex("split", "--data", f"idx:{self.here}#train", "--forget", "random:0.0001", "-o", self.here / "s"),
                           "empty")
        document = json.loads(self.splits.read_text())
        document["sets"]["personal"]["indices"] = document["sets"]["forget"]["indices"]
        self.splits.write_text(json.dumps(document))
        self.check_refused(zkapex("train", "--from-scratch", "--model", self.here / "small", *common), "share samples")


if __name__ == "__main__":
    unittest.main()
