"""The learning commands from outside: raw data to a verified proof and to figures, refusals before time is spent,
runs that are repeated and resumed."""

import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from pathlib import Path

PROGRAM = sys.argv.pop()
DATA = Path(__file__).resolve().parent.parent / "learning" / "testdata"

CONFIG = {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 16, "num_hidden_layers": 2,
          "num_attention_heads": 2, "intermediate_size": 24, "image_size": 8, "patch_size": 4, "num_channels": 1, "initializer_range": 0.2,
          "id2label": {"0": "a", "1": "b", "2": "c"}, "label2id": {"a": 0, "b": 1, "c": 2}}


def zkapex(*arguments, text=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=300)


def bright_row(label, draw):
    """The pixels of an 8 by 8 image with a bright row that tells the class."""
    return bytes(255 if p // 8 == 2 * label + 1 else draw.randrange(100) for p in range(64))


def write_idx(directory, part, count):
    draw = random.Random(part)
    labels = [draw.randrange(3) for _ in range(count)]
    pixels = b"".join(bright_row(label, draw) for label in labels)
    (directory / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 8, 8) + pixels)
    (directory / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + bytes(labels))


def write_png(path, pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[8 * row:8 * row + 8] for row in range(8))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


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


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Case(unittest.TestCase):
    def run_ok(self, *arguments, **options):
        run = zkapex(*arguments, **options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def check_refused(self, run, *parts):
        self.assertEqual(run.returncode, 2, run)
        self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr)


class Pipeline(Case):
    """A provider's and a client's models, made once by the commands; tests write to folders of their own."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = root = Path(cls.folder.name)
        os.environ["ZKAPEX_CACHE"] = str(root / "cache")
        write_idx(root, "train", 300)
        write_idx(root, "t10k", 120)
        (root / "small").mkdir()
        (root / "small" / "config.json").write_text(json.dumps(CONFIG))
        cls.splits = root / "splits.json"
        cls.common = ["--splits", cls.splits, "-q", "--threads", 1]
        made = [
            ["split", "--data", f"idx:{root}#train", "--test-data", f"idx:{root}#t10k", "--personal", 60,
             "--personal-test", 30, "--test", 100, "--forget", "class:1", "-o", cls.splits],
            ["train", "--from-scratch", "--model", root / "small", *cls.common, "--epochs", 3, "--batch", 8,
             "--rate", "5e-3", "-o", root / "original"],
            ["personalize", "--model", root / "original", *cls.common, "--method", "lora", "--rank", 2, "--epochs", 2,
             "--rate", "1e-2", "-o", root / "personal"],
            ["deploy", "--model", root / "original" / "model.safetensors", "--preset", "vit", "--block", 8, "--anchor", "0.8",
             "-o", root / "deployment.zka"],
            ["saliency", "--model", root / "original", *cls.common, "--ratio", "0.1", "--deployment",
             root / "deployment.zka", "--window", "w1", "-o", root / "psi.zka"],
            ["fisher", "--model", root / "personal", *cls.common, "--deployment", root / "deployment.zka",
             "-o", root / "store.zka"]]
        for arguments in made:
            run = zkapex(*arguments)
            assert run.returncode == 0, run

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.here = Path(scratch.name)

    def evaluate(self, model, *flags):
        return json.loads(self.run_ok("evaluate", "--model", model, *self.common, "--json", *flags))

    def copy_of(self, model):
        shutil.copytree(self.root / model, self.here / model)
        return self.here / model

    # What the commands make

    def test_records_tell_what_was_done(self):
        for file, outputs in (("original/train.json", ["original/config.json", "original/model.safetensors"]),
                              ("personal/personalize.json", ["personal/config.json", "personal/model.safetensors"]),
                              ("psi.zka.json", ["psi.zka"]), ("store.zka.json", ["store.zka"])):
            record = json.loads((self.root / file).read_text())
            self.assertEqual(record["seed"], 0)
            self.assertEqual(record["options"]["--threads"], "1")
            self.assertEqual(set(record["versions"]), {"program", "libtorch", "threads", "device"})
            self.assertEqual(record["inputs"]["splits"], sha256(self.splits))
            self.assertEqual(record["outputs"], {Path(name).name: sha256(self.root / name) for name in outputs})
        record = json.loads((self.root / "original" / "train.json").read_text())
        losses = record["training"]["epoch_losses"]
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[-1], losses[0])
        record = json.loads((self.root / "store.zka.json").read_text())
        self.assertEqual(record["fisher"]["samples"], 60)
        self.assertEqual(record["inputs"]["deployment"], sha256(self.root / "deployment.zka"))
        self.assertEqual(record["inputs"]["model"]["model.safetensors"], sha256(self.root / "personal" / "model.safetensors"))

    def test_json_is_the_record(self):
        run = json.loads(self.run_ok("train", "--from-scratch", "--model", self.root / "small", *self.common, "--json", "-o",
                                     self.here / "model"))
        self.assertEqual(run, json.loads((self.here / "model" / "train.json").read_text()))
        for command, out in ((["saliency", "--ratio", "0.1", "--window", "w2"], "psi.zka"), (["fisher"], "store.zka")):
            run = json.loads(self.run_ok(*command, "--model", self.root / "original", *self.common, "--deployment",
                                         self.root / "deployment.zka", "--json", "-o", self.here / out))
            self.assertEqual(run, json.loads((self.here / f"{out}.json").read_text()))
            self.assertEqual(run["outputs"], {out: sha256(self.here / out)})
        run = json.loads(self.run_ok("baseline", "ga", "--model", self.root / "personal", *self.common, "--json", "-o",
                                     self.here / "ga"))
        self.assertEqual(run, json.loads((self.here / "ga" / "baseline.json").read_text()))
        sets = json.loads(self.run_ok("split", "--data", f"idx:{self.root}#train", "--forget", "random:0.1", "--personal", 30,
                                      "--json", "-o", self.here / "splits.json"))
        self.assertEqual(sets["personal"], {"samples": 30, "source": f"idx:{self.root}#train+sketch"})

    def test_from_data_to_a_verified_proof(self):
        mask = json.loads(self.run_ok("inspect", "--json", self.root / "psi.zka"))
        removed = 154  # of 2 · 2 · 16 · 24 weights, rounded up
        self.assertEqual((mask["window"], mask["masked"]), ("w1", removed))
        self.run_ok("register", "--deployment", self.root / "deployment.zka", "--model",
                    self.root / "personal" / "model.safetensors", "--base", self.root / "original" / "model.safetensors",
                    "--curvature", self.root / "store.zka", "--client", "c", "-q", "-o", self.here / "client")
        unlearned = self.here / "unlearned.safetensors"
        trial = ["unlearn", "--client", self.here / "client", "--mask", self.root / "psi.zka", "-q", "--splits", self.splits]
        self.check_refused(zkapex(*trial, "--dry-run"), "--splits", "-o")
        self.check_refused(zkapex(*trial, "-o", unlearned, "--proof", self.here / "p"), "--dry-run")
        self.check_refused(zkapex(*trial, "--dry-run", "-o", self.here / "t", "--model-folder", self.here), "config.json", "--model-folder")
        tried = json.loads(self.run_ok(*trial, "--dry-run", "-o", self.here / "tried.safetensors", "--sets", "forget,retain", "--json"))
        self.run_ok("unlearn", "--client", self.here / "client", "--mask", self.root / "psi.zka", "-q", "-o", unlearned,
                    "--proof", self.here / "proof.zka")
        for model, when in (([], "before"), (["--weights", unlearned], "after")):
            figures = self.evaluate(self.root / "personal", *model, "--sets", "forget,retain")["sets"]
            self.assertEqual({name: both[when] for name, both in tried["accuracy"].items()}, figures)
        self.run_ok("admit", "--ledger", self.here / "ledger", "--deployment", self.root / "deployment.zka", "--base",
                    self.root / "original" / "model.safetensors", "--registration", self.here / "client" / "registration.zka", "-q")
        self.run_ok("verify", "--ledger", self.here / "ledger", "--mask", self.root / "psi.zka", "--proof",
                    self.here / "proof.zka", "-q")

        masked = self.here / "masked"
        with_mask = ["--deployment", self.root / "deployment.zka", "--mask", self.root / "psi.zka"]
        self.run_ok("baseline", "mask-only", "--model", self.root / "personal", *self.common, *with_mask, "-o", masked)
        before, after = (read_safetensors(m / "model.safetensors") for m in (self.root / "personal", masked))
        changed = sum(a != b for name in before for a, b in zip(before[name], after[name]))
        self.assertEqual(changed, removed)
        self.assertEqual(json.loads((masked / "baseline.json").read_text())["inputs"]["mask"], sha256(self.root / "psi.zka"))

        self.check_refused(zkapex("evaluate", "--model", unlearned, *self.common), "unlearned.safetensors", "--weights")
        figures = self.evaluate(self.root / "personal", "--weights", unlearned, "--before", self.root / "personal", "--masked", masked, *with_mask, "--exact",
                                self.root / "original", "-o", self.here / "figures.json")
        self.assertEqual(json.loads((self.here / "figures.json").read_text())["metrics"], figures)
        self.assertEqual(json.loads((self.here / "figures.json").read_text())["inputs"]["weights"], sha256(unlearned))
        self.assertEqual(set(figures), {"sets", "membership", "alignment", "recovery", "forgetting"})
        again = self.evaluate(self.root / "personal", "--exact", unlearned)["alignment"]
        self.assertGreater(again["forget"], 0)
        self.assertEqual(set(figures["alignment"]), {"forget", "personal-test"})
        self.assertEqual(figures["recovery"]["before"], self.evaluate(self.root / "personal")["sets"]["personal-test"]["accuracy"])
        self.assertEqual(figures["recovery"]["masked"], self.evaluate(masked)["sets"]["personal-test"]["accuracy"])
        # The operator minimises the loss on the personal data: masked weights are zero, compensation is not.
        terms = figures["forgetting"]
        self.assertNotEqual(terms["compensation"], 0)
        self.assertGreaterEqual(terms["bound"], -terms["compensation"])

    def test_other_ways_to_unlearn(self):
        original = self.evaluate(self.root / "original", "--exact", self.root / "original")
        self.assertGreater(original["sets"]["test"]["accuracy"], 0.9)
        self.assertEqual(original["alignment"]["forget"], 0)
        self.assertEqual(original["membership"]["others"], "forget-test")
        for method, flags in (("ga", []), ("neggrad+", ["--alpha", "0.5"]), ("scrub", ["--msteps", 2])):
            self.run_ok("baseline", method, "--model", self.root / "original", *self.common, "--rate", "0.02", "--epochs", 3,
                        "--forget-batch", 8, "--retain-batch", 64, *flags, "-o", self.here / method)
        ga, neggrad = self.evaluate(self.here / "ga")["sets"], self.evaluate(self.here / "neggrad+")["sets"]
        self.assertGreater(ga["forget"]["loss"], 2 * original["sets"]["forget"]["loss"])
        self.assertGreater(neggrad["forget"]["loss"], original["sets"]["forget"]["loss"])
        self.assertLess(neggrad["retain"]["loss"], ga["retain"]["loss"])
        self.assertEqual(json.loads((self.here / "scrub" / "baseline.json").read_text())["options"]["--msteps"], "2")

    # Requests that forget

    def rehearse(self, out, *flags):
        options = {"--model": self.root / "original", "--deployment": self.root / "deployment.zka", "--window": "w1", "--ratio": "0.02",
                   "--domains": "inverted", "--client-epochs": 1, "--batch": 16, "-o": out}
        options |= dict(zip(flags[::2], flags[1::2]))
        return ["rehearse", *self.common, *(word for option in options.items() for word in option)]

    def prove(self, request):
        """What a client makes of the request, after the provider accepted its proof."""
        self.run_ok("register", "--deployment", self.root / "deployment.zka", "--model", self.root / "personal" / "model.safetensors",
                    "--curvature", self.root / "store.zka", "--base", self.root / "original" / "model.safetensors", "--client", "c",
                    "-q", "-o", self.here / "client")
        unlearned = self.here / "unlearned.safetensors"
        self.run_ok("unlearn", "--client", self.here / "client", "--mask", request, "-q", "-o", unlearned, "--proof", self.here / "proof.zka",
                    "--max-guide", "2")
        self.run_ok("admit", "--ledger", self.here / "ledger", "--deployment", self.root / "deployment.zka", "--registration",
                    self.here / "client" / "registration.zka", "--base", self.root / "original" / "model.safetensors", "-q")
        self.run_ok("verify", "--ledger", self.here / "ledger", "--mask", request, "--proof", self.here / "proof.zka", "-q")
        return self.evaluate(self.root / "personal", "--weights", unlearned, "--sets", "forget,retain")["sets"]

    def test_a_rehearsed_request_is_proved_and_forgets(self):
        psi = self.here / "psi.zka"
        told = json.loads(self.run_ok(*self.rehearse(psi, "--steps", 80, "--rate", "5e-3"), "--json"))
        self.assertEqual([client["client"] for client in told["clients"]], ["original", "inverted"])
        for client in told["clients"]:
            self.assertLess(client["forget"]["after"]["accuracy"], 0.2)
            self.assertGreater(client["retain"]["after"]["accuracy"], client["retain"]["before"]["accuracy"] - 0.1)
            self.assertGreater(client["least_progress"], told["request"]["progress"])
        self.assertEqual(json.loads((self.here / "psi.zka.json").read_text()), told)
        self.assertEqual(sorted(f.name for f in self.here.iterdir()), ["psi.zka", "psi.zka.json"])
        self.assertLess(told["furthest"], 0.5)
        self.assertNotIn("clients refuse", str(told.get("warnings")))
        before, after = self.evaluate(self.root / "personal", "--sets", "forget,retain")["sets"], self.prove(psi)
        self.assertGreater(before["forget"]["accuracy"], 0.5)
        self.assertLess(after["forget"]["accuracy"], 0.2)
        self.assertGreater(after["retain"]["accuracy"], before["retain"]["accuracy"] - 0.1)

    def test_what_another_method_unlearned_becomes_a_request(self):
        self.run_ok("baseline", "neggrad+", "--model", self.root / "original", *self.common, "--rate", "0.02", "--epochs", 3,
                    "--forget-batch", 8, "--retain-batch", 64, "--alpha", "0.5", "-o", self.here / "neggrad")
        psi = self.here / "psi.zka"
        told = json.loads(self.run_ok(*self.rehearse(psi, "--guide-from", self.here / "neggrad", "--ratio", 0, "--method", "NegGrad+"),
                                      "--json"))
        self.assertEqual(json.loads(self.run_ok("inspect", "--json", psi))["method"], "NegGrad+")
        self.assertGreater(told["clients"][0]["forget"]["after"]["loss"], told["clients"][0]["forget"]["before"]["loss"])
        before = self.evaluate(self.root / "personal")["sets"]
        self.assertGreater(self.prove(psi)["forget"]["loss"], before["forget"]["loss"])
        # What clients refuse unless they are told otherwise is said.
        far = json.loads(self.run_ok(*self.rehearse(self.here / "far.zka", "--guide-from", self.here / "neggrad", "--ratio", 0,
                                                    "--guide-scale", 2000), "--json"))
        self.assertGreater(far["furthest"], 0.5)
        self.assertIn("clients refuse more than 5e-1", str(far["warnings"]))
        # Beside what a mask sets off this guide is nothing.
        self.check_refused(zkapex(*self.rehearse(self.here / "x.zka", "--guide-from", self.here / "neggrad", "--ratio", "0.2")),
                           "follows the guide", "a smaller mask")
        self.check_refused(zkapex(*self.rehearse(self.here / "x.zka", "--guide-from", self.root / "store.zka")), "store.zka")

    def test_a_killed_rehearsal_ends_as_an_uninterrupted_one(self):
        def without_nonce(file):
            nonce = json.loads(self.run_ok("inspect", "--json", file))["nonce"]
            return file.read_bytes()[:-32].replace(bytes.fromhex(nonce), bytes(32))
        flags = ["--steps", 60, "--checkpoint-every", 5]
        out, state = self.here / "killed.zka", self.here / "killed.zka.work" / "guide.safetensors"
        process = subprocess.Popen([PROGRAM, *map(str, self.rehearse(out, *flags))], stdout=subprocess.DEVNULL)
        while not state.is_file() and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue(state.is_file())
        self.assertFalse(out.exists())
        self.check_refused(zkapex(*self.rehearse(out, *flags, "--pull", 500)), "another run")
        self.run_ok(*self.rehearse(out, *flags))
        self.assertFalse(state.parent.exists())
        self.run_ok(*self.rehearse(self.here / "whole.zka", *flags))
        self.assertEqual(without_nonce(out), without_nonce(self.here / "whole.zka"))

    def test_rehearsals_that_cannot_be(self):
        for flags, said in ((["--domains", "pastel"], "there is no style 'pastel'"), (["--forgetting", "files"], "not 'files'"),
                            (["--forgetting", "samples"], "validation"), (["--rate", "0"], "must be positive"),
                            (["--ratio", "2"], "2"), (["--batch", "1"], "two at least"), (["--after", self.root / "store.zka"], "store.zka"),
                            (["--after", self.root / "psi.zka"], "the mask of the window 'w1' itself"),
                            (["--device", "tpu"], "tpu"), (["--deployment", self.here / "nowhere"], "nowhere")):
            self.check_refused(zkapex(*self.rehearse(self.here / "psi.zka", *flags)), said)
            self.assertFalse((self.here / "psi.zka").exists())
            shutil.rmtree(self.here / "psi.zka.work", ignore_errors=True)

    def test_exact_retraining_then_personalization(self):
        self.run_ok("train", "--from-scratch", "--model", self.root / "small", *self.common, "--set", "retain", "--epochs", 3,
                    "--batch", 8, "--rate", "5e-3", "-o", self.here / "retrained")
        self.run_ok("personalize", "--model", self.here / "retrained", *self.common, "--method", "linear", "-o",
                    self.here / "exact")
        figures = self.evaluate(self.here / "retrained", "--sets", "forget,retain")["sets"]
        self.assertEqual(figures["forget"]["accuracy"], 0)
        self.assertGreater(figures["retain"]["accuracy"], 0.9)
        before, after = (read_safetensors(self.here / m / "model.safetensors") for m in ("retrained", "exact"))
        self.assertEqual([name for name in before if before[name] != after[name]], ["classifier.bias", "classifier.weight"])

    def test_adapters_of_peft_come_in_and_go_out(self):
        adapter = self.root / "personal" / "adapter"
        self.assertEqual(json.loads((adapter / "adapter_config.json").read_text())["r"], 2)
        merged = self.evaluate(self.root / "personal")
        again = self.evaluate(self.root / "original", "--adapter", adapter, "-o", self.here / "figures.json")
        self.assertEqual(again, merged)
        inputs = json.loads((self.here / "figures.json").read_text())["inputs"]
        self.assertEqual(inputs["adapter"]["adapter_model.safetensors"], sha256(adapter / "adapter_model.safetensors"))
        self.run_ok("fisher", "--model", self.root / "original", "--adapter", adapter, *self.common, "--deployment",
                    self.root / "deployment.zka", "-o", self.here / "store.zka")
        self.assertEqual(sha256(self.here / "store.zka"), sha256(self.root / "store.zka"))

    def test_branches_are_registered_with_the_model(self):
        adapted, original, deployment = self.here / "adapted", self.root / "original", self.here / "deployment.zka"
        self.run_ok("personalize", "--model", original, *self.common, "--method", "adaptformer", "--bottleneck", 4, "-o", adapted)
        self.run_ok("deploy", "--model", adapted, "--base", original, "--preset", "vit", "--block", 8, "--added", "0.3", "-o", deployment)
        for name, command in (("psi.zka", ["saliency", "--model", original, "--ratio", "0.1", "--window", "w1"]),
                              ("store.zka", ["fisher", "--model", adapted])):
            self.run_ok(*command, *self.common, "--deployment", deployment, "-o", self.here / name)
        self.run_ok("register", "--deployment", deployment, "--model", adapted, "--base", original, "--curvature",
                    self.here / "store.zka", "--client", "c", "-q", "-o", self.here / "client")
        unlearned = self.here / "unlearned.safetensors"
        self.run_ok("unlearn", "--client", self.here / "client", "--mask", self.here / "psi.zka", "-q", "-o", unlearned,
                    "--proof", self.here / "proof.zka")
        admitted = self.run_ok("admit", "--ledger", self.here / "ledger", "--deployment", deployment, "--base", original,
                               "--registration", self.here / "client" / "registration.zka", "-q", "--json")
        self.assertIn("adaptformer.{i}.down.weight (2)", json.dumps(json.loads(admitted)["registrations"][0]["not_proved"]))
        self.run_ok("verify", "--ledger", self.here / "ledger", "--mask", self.here / "psi.zka", "--proof", self.here / "proof.zka", "-q")
        # What comes out has the branches in it, and they count.
        branches = read_safetensors(adapted / "adaptformer.safetensors")
        self.assertEqual({name: read_safetensors(unlearned)[name] for name in branches}, branches)
        whole = self.evaluate(adapted, "--weights", unlearned)
        (self.here / "frozen").mkdir()
        shutil.copy(adapted / "config.json", self.here / "frozen")
        self.check_refused(zkapex("evaluate", "--model", self.here / "frozen", "--weights", unlearned, *self.common), "adaptformer.0")
        self.assertNotEqual(whole, self.evaluate(adapted))
        # A provider rehearses without them.
        told = json.loads(self.run_ok(*self.rehearse(self.here / "guided.zka", "--deployment", deployment, "--window", "w2", "--after",
                                                     self.here / "psi.zka", "--steps", 4, "--rate", "5e-3"), "--json"))
        self.assertEqual(told["request"]["method"], "rehearsal")
        # Left out, they are missed.
        self.check_refused(zkapex("register", "--deployment", deployment, "--model", adapted / "model.safetensors", "--base", original,
                                  "--curvature", self.here / "store.zka", "--client", "d", "-q", "-o", self.here / "d"), "adaptformer.0")

    def test_kinds_of_saliency(self):
        scores = {}
        for kind in ("paper", "retain-ratio", "magnitude", "random"):
            out = self.here / f"{kind}.safetensors"
            self.run_ok("saliency", "--model", self.root / "original", *self.common, "--kind", kind, "-o", out)
            scores[kind] = read_safetensors(out)
            self.assertEqual(len(scores[kind]), 4)
        weights = read_safetensors(self.root / "original" / "model.safetensors")
        for name, values in scores["magnitude"].items():
            self.assertEqual(values, tuple(map(abs, weights[name])))
        # The mask cut from scores in a file is the one that --ratio cuts.
        self.run_ok("mask", "--deployment", self.root / "deployment.zka", "--scores", self.here / "paper.safetensors",
                    "--ratio", "0.1", "--window", "w1", "-o", self.here / "psi.zka")
        masked = []
        for k, mask in enumerate((self.here / "psi.zka", self.root / "psi.zka")):
            self.run_ok("baseline", "mask-only", "--model", self.root / "original", *self.common, "--deployment",
                        self.root / "deployment.zka", "--mask", mask, "-o", self.here / f"masked{k}")
            masked.append(sha256(self.here / f"masked{k}" / "model.safetensors"))
        self.assertEqual(masked[0], masked[1])

    # The same again, and after an interruption

    def test_the_same_arguments_give_the_same_bytes(self):
        for name in ("a", "b"):
            self.run_ok("train", "--from-scratch", "--model", self.root / "small", "--splits", self.splits, "-q",
                        "--threads", 2, "-o", self.here / name)
            self.run_ok("fisher", "--model", self.root / "personal", "--splits", self.splits, "-q", "--threads", 2,
                        "--deployment", self.root / "deployment.zka", "--samples", 20, "-o", self.here / f"{name}.zka")
        self.assertEqual(sha256(self.here / "a" / "model.safetensors"), sha256(self.here / "b" / "model.safetensors"))
        self.assertEqual(sha256(self.here / "a.zka"), sha256(self.here / "b.zka"))

    def test_a_killed_training_ends_as_an_uninterrupted_one(self):
        arguments = ["train", "--from-scratch", "--model", self.root / "small", *self.common, "--batch", 4, "--epochs", 12,
                     "--checkpoint-every", 5]
        out, state = self.here / "killed", self.here / "killed" / "training.safetensors"
        process = subprocess.Popen([PROGRAM, *map(str, arguments), "-o", str(out)], stdout=subprocess.DEVNULL)
        while not state.is_file() and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue(state.is_file())
        self.check_refused(zkapex(*arguments, "--rate", "1e-2", "-o", out), "another run")
        self.run_ok(*arguments, "-o", out)
        record = json.loads((out / "train.json").read_text())
        self.assertGreater(record["training"]["resumed_at"], 0)
        self.assertFalse(state.exists())
        self.run_ok(*arguments, "-o", self.here / "whole")
        self.assertEqual(sha256(out / "model.safetensors"), sha256(self.here / "whole" / "model.safetensors"))

    def test_an_interrupted_store_is_gone_on_with(self):
        arguments = ["fisher", "--model", self.root / "personal", *self.common, "--deployment", self.root / "deployment.zka"]
        whole = (self.root / "store.zka").read_bytes()
        # What a run that was stopped has left: the first blocks, and a note of what it was.
        note = json.loads((self.root / "store.zka.json").read_text())
        del note["fisher"], note["outputs"], note["options"]["--quiet"]
        note["options"]["--output"] = str(self.here / "s.zka")
        (self.here / "s.zka.partial").write_bytes(whole[:len(whole) // 2])
        (self.here / "s.zka.partial.json").write_text(json.dumps(note, indent=2) + "\n")
        self.check_refused(zkapex(*arguments, "--samples", 30, "-o", self.here / "s.zka"), "another run")
        self.run_ok(*arguments, "-o", self.here / "s.zka")
        self.assertGreater(json.loads((self.here / "s.zka.json").read_text())["fisher"]["resumed_at"], 0)
        self.assertEqual((self.here / "s.zka").read_bytes(), whole)
        self.assertEqual(list(self.here.glob("*.partial*")), [])

    # Refusals, before time is spent

    def test_wrong_paths(self):
        missing = self.here / "nowhere"
        common = [*self.common, "-o", self.here / "out"]
        for command in (["train"], ["personalize"], ["saliency"], ["baseline", "ga"], ["evaluate"],
                        ["fisher", "--deployment", self.root / "deployment.zka"]):
            self.check_refused(zkapex(*command, "--model", missing, *common), "nowhere")
        model = ["--model", self.root / "original"]
        self.check_refused(zkapex("train", *model, "--splits", missing, "-o", self.here / "out"), "nowhere")
        self.check_refused(zkapex("evaluate", *model, *common, "--exact", missing), "nowhere")
        self.check_refused(zkapex("evaluate", *model, *common, "--adapter", missing), "nowhere")
        self.check_refused(zkapex("fisher", *model, *common, "--deployment", missing), "nowhere")
        self.check_refused(zkapex("probe", *model, "--input", missing, "-o", self.here / "out"), "nowhere")
        self.check_refused(zkapex("tokenize", "--tokenizer", missing), "nowhere")
        self.check_refused(zkapex("split", "--data", f"idx:{missing}#train", "-o", self.here / "out"), "nowhere")
        self.check_refused(zkapex("train-tokenizer", "--data", missing, "-o", self.here / "out"), "nowhere")
        self.assertEqual(list(self.here.iterdir()), [])

    def test_sets_that_cannot_be(self):
        data = ["split", "--data", f"idx:{self.root}#train", "-o", self.here / "s"]
        self.check_refused(zkapex(*data, "--forget", "class:7"), "class 7 does not exist")
        self.check_refused(zkapex(*data, "--forget", "random:0.0001"), "empty")
        self.check_refused(zkapex(*data, "--personal", 301), "not enough samples", "personal")
        document = json.loads(self.splits.read_text())
        model = ["--model", self.root / "original", "-o", self.here / "out"]
        for name, indices, part in (("forget", [], "'forget' is empty"),
                                    ("personal", document["sets"]["forget"]["indices"], "share samples")):
            changed = json.loads(self.splits.read_text())
            changed["sets"][name]["indices"] = indices
            (self.here / "splits.json").write_text(json.dumps(changed))
            for command in (["train"], ["saliency"], ["baseline", "scrub"], ["evaluate"]):
                self.check_refused(zkapex(*command, *model, "--splits", self.here / "splits.json"), part)
        self.check_refused(zkapex("train", *model, *self.common, "--set", "other"), "'other'")
        self.check_refused(zkapex("evaluate", *model, *self.common, "--sets", "test,other"), "'other'")

    def test_models_that_do_not_fit(self):
        out = [*self.common, "-o", self.here / "out"]
        self.check_refused(zkapex("train", "--model", self.root / "small", *out), "model.safetensors")
        wrong = self.copy_of("original")
        for key, value, parts in (("intermediate_size", 20, ["intermediate.dense.weight", "[24, 16]", "[20, 16]"]),
                                  ("num_hidden_layers", 1, ["layer.1"]), ("num_hidden_layers", 3, ["layer.2"]),
                                  ("num_attention_heads", 3, ["3 heads", "16"]), ("model_type", "bert", ["bert"])):
            (wrong / "config.json").write_text(json.dumps({**CONFIG, key: value}))
            self.check_refused(zkapex("evaluate", "--model", wrong, *out), *parts)
        scratch = ["train", "--from-scratch", "--model", self.root / "small", *out]
        self.check_refused(zkapex(*scratch, "--classes", 2), "2 classes")
        self.check_refused(zkapex(*scratch, "--rate", "-1"), "learning rate")
        self.check_refused(zkapex(*scratch, "--device", "abacus"), "abacus")
        self.assertFalse((self.here / "out").exists())

    def test_devices_that_are_not_there(self):
        model, out = ["--model", self.root / "original"], ["-o", self.here / "out"]
        trained = [*model, *self.common, *out]
        for command in (["train", *trained], ["personalize", *trained], ["saliency", *trained], ["evaluate", *trained],
                        ["baseline", "ga", *trained], ["fisher", *trained, "--deployment", self.root / "deployment.zka"],
                        ["probe", *model, "--input", DATA / "vit" / "input.safetensors", *out], ["demo", "--quick", *out],
                        ["bench", "learning", "--quick"]):
            self.check_refused(zkapex(*command, "--device", "cuda:63"), "there is no GPU for 'cuda:63'")
        self.assertFalse((self.here / "out").exists())

    def test_losses_that_are_not_numbers(self):
        broken = self.copy_of("original")
        file = broken / "model.safetensors"
        data = bytearray(file.read_bytes())
        data[-4:] = struct.pack("<f", float("nan"))
        file.write_bytes(data)
        for command in (["train"], ["saliency"], ["evaluate"], ["baseline", "ga"],
                        ["fisher", "--deployment", self.root / "deployment.zka"]):
            self.check_refused(zkapex(*command, "--model", broken, *self.common, "-o", self.here / command[0]), "finite")
        self.check_refused(zkapex("train", "--from-scratch", "--model", self.root / "small", *self.common, "--rate", "1e30", "-o",
                                  self.here / "wild"), "step", "finite")


class Formats(Case):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.here = Path(scratch.name)

    def test_probe_agrees_with_hugging_face(self):
        for model in ("vit", "opt"):
            out = self.here / f"{model}.safetensors"
            expected = DATA / model / "expected.safetensors"
            self.run_ok("probe", "--model", DATA / model, "--input", DATA / model / "input.safetensors", "--mask-from",
                        expected, "-o", out)
            found, wanted = read_safetensors(out), read_safetensors(expected)
            self.assertEqual(set(found), {name for name in wanted if not name.startswith("obs_mask")})
            for name, values in found.items():
                scale = max(map(abs, wanted[name]))
                tolerance = 1e-5 if name.startswith("obs_delta") else 1e-4
                self.assertLess(max(abs(a - b) for a, b in zip(values, wanted[name])), tolerance * scale, name)

    def test_probe_tells_its_tensors_as_json(self):
        shapes = json.loads(self.run_ok("probe", "--model", DATA / "vit", "--input", DATA / "vit" / "input.safetensors", "--json",
                                        "-o", self.here / "out.safetensors"))
        self.assertEqual(set(shapes), set(read_safetensors(self.here / "out.safetensors")))

    def test_tokenize(self):
        for case in json.loads((DATA / "bpe" / "cases.json").read_text()):
            for flag, key in (([], "ids"), (["--no-special"], "ids_no_special")):
                run = subprocess.run([PROGRAM, "tokenize", "--tokenizer", DATA / "bpe", *flag],
                                     input=case["text"].encode(), capture_output=True, timeout=60)
                self.assertEqual(json.loads(run.stdout), case[key])
        told = self.run_ok("tokenize", "--tokenizer", DATA / "bpe", "--json", text="")
        self.assertEqual(set(json.loads(told)), {"ids"})

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
        (self.here / "list").write_text("f03.rs\nf17.rs\n")
        split = ["split", "--model", model, "--context", 32, "--data", f"text:{self.here}/code", "--test", 20, "--personal", 20,
                 "--personal-test", 20, "--validation", 20]
        self.run_ok(*split, "--forget", "random:0.2", "-o", splits)
        self.check_refused(zkapex(*split, "--forget", "files:" + str(self.here / "none"), "-o", self.here / "s"), "none")
        self.check_refused(zkapex(*split, "--forget", "class:1", "-o", self.here / "s"), "classes")
        common = ["--splits", splits, "--context", 32, "-q", "--threads", 1]
        self.run_ok("train", "--from-scratch", "--model", model, *common, "--epochs", 3, "--rate", "1e-2", "-o", self.here / "lm")
        figures = json.loads(self.run_ok("evaluate", "--model", self.here / "lm", *common, "--json"))
        self.assertLess(figures["sets"]["test"]["perplexity"], 60)
        self.assertEqual(figures["membership"]["others"], "test")
        # A request for text: clients are imagined on parts of the files, samples are forgotten.
        self.run_ok("deploy", "--model", self.here / "lm" / "model.safetensors", "--preset", "opt", "--block", 16, "-o", self.here / "d.zka")
        told = json.loads(self.run_ok("rehearse", "--model", self.here / "lm", *common, "--deployment", self.here / "d.zka", "--window", "w",
                                      "--ratio", "0.05", "--steps", 20, "--batch", 8, "-o", self.here / "psi.zka", "--json"))
        self.assertEqual([client["client"] for client in told["clients"]], ["original", "1-2", "2-2"])
        for client in told["clients"]:
            self.assertGreater(client["forget"]["after"]["loss"], 0)

    def test_folders_of_images(self):
        draw = random.Random(5)
        for label, name in enumerate(("ash", "birch", "cedar")):
            (self.here / "trees" / name).mkdir(parents=True)
            for k in range(20):
                write_png(self.here / "trees" / name / f"{k:02}.png", bright_row(label, draw))
        model = self.here / "model"
        model.mkdir()
        (model / "config.json").write_text(json.dumps(CONFIG))
        (model / "preprocessor_config.json").write_text(json.dumps(
            {"size": {"height": 8, "width": 8}, "do_normalize": True, "image_mean": [0.4], "image_std": [0.3]}))
        (self.here / "list").write_text("ash/03.png\ncedar/00.png\nash/07.png\n")
        splits = self.here / "splits.json"
        self.run_ok("split", "--data", f"images:{self.here}/trees", "--personal", 9, "--test", 6, "--forget",
                    f"files:{self.here}/list", "--seed", 3, "-o", splits)
        sets = json.loads(splits.read_text())["sets"]
        self.assertEqual(sets["personal"]["source"], f"images:{self.here}/trees+sketch")
        self.assertLessEqual(set(sets["forget"]["indices"]), {3, 7, 40})
        self.run_ok("train", "--from-scratch", "--model", model, "--splits", splits, "-q", "--epochs", 6, "--batch", 4, "--rate",
                    "5e-3", "-o", self.here / "trained")
        figures = json.loads(self.run_ok("evaluate", "--model", self.here / "trained", "--splits", splits, "-q", "--json"))
        # There is no personal-test, and three members are too few to tell from others.
        self.assertEqual((set(figures), set(figures["sets"])), ({"sets"}, {"forget", "retain", "test"}))
        self.assertGreater(figures["sets"]["retain"]["accuracy"], 0.9)
        (self.here / "trees" / "ash" / "00.png").write_bytes(b"\x89PNG and nothing else")
        self.check_refused(zkapex("evaluate", "--model", self.here / "trained", "--splits", splits, "-q", "--sets",
                                  "train,personal,test"), "00.png")

    def test_help_teaches_by_examples(self):
        for command in ("split", "tokenize", "train-tokenizer", "train", "personalize", "saliency", "rehearse", "fisher", "baseline", "evaluate",
                        "probe", "bench learning"):
            self.assertIn("Examples:\n", self.run_ok(*command.split(), "--help"))
            self.assertIn(f"  {command.split()[-1]} ", self.run_ok(*command.split()[:-1], "--help"))
        self.check_refused(zkapex("train", "--nonsense"), "--nonsense", "zkapex train --help")
        self.check_refused(zkapex("trian"), "did you mean zkapex train?")

    def test_without_the_learning_program(self):
        shutil.copy(PROGRAM, self.here / "zkapex")
        alone = subprocess.run([self.here / "zkapex", "train"], capture_output=True, text=True, timeout=60)
        self.check_refused(alone, f"{self.here}/zkapex-learning", "No such file")


if __name__ == "__main__":
    unittest.main()
