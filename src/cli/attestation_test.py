"""Registering, unlearning and verifying from outside: honest runs, then everything a client may try."""

import hashlib
import json
import math
import os
import random
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop()
LAYERS = 2
SHAPES = {"vit.embeddings.position_embeddings": (5, 12), "classifier.weight": (3, 12), "classifier.bias": (3,)}
for layer in range(LAYERS):
    SHAPES[f"vit.encoder.layer.{layer}.intermediate.dense.weight"] = (20, 12)
    SHAPES[f"vit.encoder.layer.{layer}.output.dense.weight"] = (12, 19)  # ends in a partial block
    SHAPES[f"vit.encoder.layer.{layer}.attention.output.dense.weight"] = (12, 12)
COVERED = [name for name in SHAPES if "intermediate" in name or (".output.dense" in name and "attention" not in name)]
COVERED_WEIGHTS = sum(math.prod(SHAPES[name]) for name in COVERED)


def write_safetensors(path, tensors):
    """tensors: {name: (shape, numbers)}, all as F32."""
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        piece = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            out[name] = struct.unpack(f"<{(end - begin) // 4}f", raw[8 + length + begin:8 + length + end])
    return out


def write_model(path, seed, scale=0.1):
    rng = random.Random(seed)
    write_safetensors(path, {name: (shape, [rng.gauss(0, scale) for _ in range(math.prod(shape))])
                             for name, shape in SHAPES.items()})


def write_fisher(path, seed, samples=32):
    rng = random.Random(seed)
    tensors = {}
    for name in COVERED:
        count = math.prod(SHAPES[name])
        tensors[name] = ((samples, count), [rng.gauss(0, 1) for _ in range(samples * count)])
    write_safetensors(path, tensors)


def flip(path, target, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    target.write_bytes(data)


class World:
    """A provider and two registered clients, made once by the program itself; tests copy what they change."""

    def __init__(self, folder):
        self.folder = folder
        os.environ["ZKAPEX_CACHE"] = str(folder / "cache")
        write_model(folder / "theta0.safetensors", 0)
        self.deploy("deployment.zka", "2e-5")
        self.deploy("other-deployment.zka", "1e-5")
        for seed, window in ((1, "w1"), (2, "w2"), (3, "w3")):
            self.mask(f"{window}.zka", window, seed)
        self.mask("other-w1.zka", "w1", 4)
        self.client("alice", 1, [])
        self.client("bob", 2, ["--no-certificate"])

    def path(self, name):
        return str(self.folder / name)

    def ok(self, *arguments):
        run = zkapex(*arguments)
        assert run.returncode == 0, run
        return json.loads(run.stdout)

    def deploy(self, name, error):
        return self.ok("deploy", "--model", self.path("theta0.safetensors"), "--preset", "vit", "--block", "8",
                       "--error", error, "-o", self.path(name), "--json")

    def mask(self, name, window, seed):
        scores = self.folder / f"scores-{name}.safetensors"
        write_model(scores, 100 + seed)
        return self.ok("mask", "--deployment", self.path("deployment.zka"), "--scores", str(scores), "--ratio", "0.1",
                       "--window", window, "-o", self.path(name), "--json")

    def client(self, name, seed, flags):
        write_model(self.folder / f"{name}.safetensors", seed)
        write_fisher(self.folder / f"{name}-fisher.safetensors", seed)
        common = ["--deployment", self.path("deployment.zka"), "--model", self.path(f"{name}.safetensors"), "--json"]
        self.ok("curvature", *common, "--fisher", self.path(f"{name}-fisher.safetensors"),
                "-o", self.path(f"{name}-store.zka"))
        self.ok("register", *common, "--curvature", self.path(f"{name}-store.zka"), "--client", name, *flags,
                "-o", self.path(name))


def zkapex(*arguments, **environment):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                          env={**os.environ, **environment})


class Attestation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.world = World(Path(cls.temporary.name))
        # Each client's first window, from a copy of its state: the registered state stays for other tests.
        for name in ("alice", "bob"):
            shutil.copytree(cls.world.folder / name, cls.world.folder / f"{name}-1")
            cls.world.ok("unlearn", "--client", cls.world.path(f"{name}-1"), "--mask", cls.world.path("w1.zka"),
                         "-o", cls.world.path(f"{name}-1.safetensors"), "--proof", cls.world.path(f"{name}-1.zka"),
                         "--json")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.root = self.world.folder
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def check_refused(self, run, *parts):
        self.assertEqual(run.returncode, 2, run)
        self.assertFalse(run.stdout)
        self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr)

    def verify(self, client="alice", proof="alice-1.zka", mask="w1.zka", registration=None, deployment="deployment.zka",
               flags=()):
        return zkapex("verify", "--deployment", self.root / deployment, "--registration",
                      registration or self.root / client / "registration.zka", "--mask", self.root / mask, "--proof",
                      self.root / proof, "--quiet", *flags)

    def check_accepted(self, run):
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)

    def check_rejected(self, reason, **arguments):
        run = self.verify(**arguments)
        self.assertEqual((run.returncode, run.stderr), (1, ""), run)
        self.assertRegex(run.stdout, rf"\Arejected \({reason}\): [^\n]+\n")
        run = self.verify(**{**arguments, "flags": [*arguments.get("flags", ()), "--json"]})
        self.assertEqual(run.returncode, 1)
        verdict = json.loads(run.stdout)
        self.assertEqual((verdict["verdict"], verdict["reason"]), ("rejected", reason))
        self.assertTrue(verdict["detail"])

    def unlearn(self, state, mask, *flags, out="u.safetensors", proof="p.zka"):
        return zkapex("unlearn", "--client", state, "--mask", self.root / mask, "-o", self.scratch / out, "--proof",
                      self.scratch / proof, "--quiet", *flags)

    def copy_of(self, name):
        shutil.copytree(self.root / name, self.scratch / name)
        return self.scratch / name

    # Honest runs

    def test_an_honest_window_is_accepted(self):
        run = self.verify()
        self.check_accepted(run)
        self.assertTrue(run.stdout.startswith("accepted (group-obs)\n"))
        for part in ("certified error", "2e-5", "alice", "w1", "group-obs", "proved"):
            self.assertIn(part, run.stdout)
        verdict = json.loads(self.verify(flags=["--json"]).stdout)
        self.assertEqual((verdict["verdict"], verdict["client"], verdict["window"]), ("accepted", "alice", "w1"))
        self.assertEqual((verdict["certified_error"], verdict["curvature"]), ("2e-5", "proved"))

    def test_without_a_certificate_the_verdict_says_so(self):
        run = self.verify("bob", "bob-1.zka")
        self.check_accepted(run)
        self.assertTrue(run.stdout.startswith("accepted (group-obs; curvature assumed, not proved)\n"))
        verdict = json.loads(self.verify("bob", "bob-1.zka", flags=["--json"]).stdout)
        self.assertEqual(verdict["curvature"], "assumed, not proved")
        # A provider may ask for the certificate: then bob is refused, and alice, who has one, is not.
        self.check_rejected("certificate", client="bob", proof="bob-1.zka", flags=["--require-certificate"])
        self.check_accepted(self.verify(flags=["--require-certificate"]))

    def test_the_unlearned_model_is_masked_and_the_rest_unchanged(self):
        before = read_safetensors(self.root / "alice.safetensors")
        after = read_safetensors(self.root / "alice-1.safetensors")
        self.assertEqual(sorted(before), sorted(after))
        zeros = moved = 0
        for name, old in before.items():
            if name in COVERED:
                zeros += sum(v == 0 for v in after[name])
                moved += sum(u != v and v != 0 for u, v in zip(old, after[name]))
            else:
                self.assertEqual(old, after[name])
        self.assertEqual(zeros, round(0.1 * COVERED_WEIGHTS))
        self.assertGreater(moved, COVERED_WEIGHTS // 3)

    def test_a_window_follows_a_window(self):
        state = self.copy_of("alice-1")
        first = self.scratch / "after-w1.zka"
        self.check_accepted(self.verify(flags=["-o", first]))
        self.check_accepted(self.unlearn(state, "w2.zka"))
        second = {"proof": self.scratch / "p.zka", "mask": "w2.zka"}
        self.check_accepted(self.verify(**second, flags=["--commitment", first]))
        self.check_accepted(self.verify(**second, flags=["--commitment", first, "--assume-registered"]))
        # Skipped: the provider has seen no first window.
        self.check_rejected("model", **second)
        # Replayed: the first proof again, after it was accepted.
        self.check_rejected("window", flags=["--commitment", first])
        # Another client's history.
        of_bob = self.scratch / "bob-after-w1.zka"
        self.check_accepted(self.verify("bob", "bob-1.zka", flags=["-o", of_bob]))
        self.check_rejected("registration", **second, flags=["--commitment", of_bob])
        # A third window, whose proof does not pass for the second.
        after_second = self.scratch / "after-w2.zka"
        self.check_accepted(self.verify(**second, flags=["--commitment", first, "-o", after_second]))
        self.check_accepted(self.unlearn(state, "w3.zka", out="u3.safetensors", proof="p3.zka"))
        third = {"proof": self.scratch / "p3.zka", "mask": "w3.zka"}
        self.check_accepted(self.verify(**third, flags=["--commitment", after_second]))
        self.check_rejected("model", **third, flags=["--commitment", first])

    def test_a_window_is_applied_once(self):
        self.check_refused(self.unlearn(self.copy_of("alice-1"), "w1.zka"), "w1", "already")

    def test_mask_only(self):
        self.check_accepted(self.unlearn(self.copy_of("alice"), "w1.zka", "--operator", "mask-only"))
        # What is due is the provider's to say: nobody passes for compensated by saying "mask-only".
        self.check_rejected("operator", proof=self.scratch / "p.zka")
        self.check_rejected("operator", flags=["--operator", "mask-only"])
        run = self.verify(proof=self.scratch / "p.zka", flags=["--operator", "mask-only", "--json"])
        self.check_accepted(run)
        self.assertEqual(json.loads(run.stdout)["operator"], "mask-only")
        before = read_safetensors(self.root / "alice.safetensors")
        after = read_safetensors(self.scratch / "u.safetensors")
        self.assertTrue(all(u == v or v == 0 for name in before for u, v in zip(before[name], after[name])))
        # Passed off as compensated: the operator's byte comes first, behind magic and version; the digest is made anew.
        data = bytearray((self.scratch / "p.zka").read_bytes())
        data[12] = 1
        self.write_framed(self.scratch / "forged.zka", data)
        self.check_rejected("length", proof=self.scratch / "forged.zka")

    def test_segments_follow_the_memory_and_any_cut_is_accepted(self):
        self.check_accepted(self.unlearn(self.copy_of("alice"), "w1.zka", "--memory", "400K", "--threads", "1"))
        shown = json.loads(zkapex("inspect", "--json", self.scratch / "p.zka").stdout)
        self.assertGreater(shown["segments"], 1)
        self.check_accepted(self.verify(proof=self.scratch / "p.zka"))

    def test_files_that_moved(self):
        state = self.copy_of("alice")
        model, store = self.scratch / "m.safetensors", self.scratch / "s.zka"
        shutil.copy(self.root / "alice.safetensors", model)
        shutil.copy(self.root / "alice-store.zka", store)
        self.check_accepted(self.unlearn(state, "w1.zka", "--model", model, "--curvature", store))
        shown = json.loads(zkapex("inspect", "--json", state / "secret.zka").stdout)
        self.assertEqual((shown["model"], shown["curvature"]), (str(model), str(store)))
        self.assertEqual(shown["windows"], ["w1"])

    def test_batch(self):
        clients = self.scratch / "clients"
        for name in ("alice", "bob"):
            (clients / name).mkdir(parents=True)
            shutil.copy(self.root / name / "registration.zka", clients / name)
            shutil.copy(self.root / f"{name}-1.zka", clients / name / "proof.zka")
        verify = ["verify", "--deployment", self.root / "deployment.zka", "--mask", self.root / "w1.zka", "--batch",
                  clients, "--quiet"]
        run = zkapex(*verify, "-o", self.scratch / "next")
        self.check_accepted(run)
        self.assertEqual(run.stdout, "alice (client alice): accepted (group-obs)\n"
                         "bob (client bob): accepted (group-obs; curvature assumed, not proved)\n"
                                     "window w1: 2 accepted, 0 rejected, certified error 2e-5\n")
        for name in ("alice", "bob"):
            self.assertTrue((self.scratch / "next" / name / "commitment.zka").is_file())
        # Alice's commitment makes her proof a replay; mallory's files are copied from bob, mixed, ruined and absent.
        shutil.copy(self.scratch / "next/alice/commitment.zka", clients / "alice")
        for name in ("mallory-copied", "mallory-mixed", "mallory-ruined", "mallory-absent", "mallory-false"):
            shutil.copytree(clients / "bob", clients / name)
        shutil.copy(self.root / "alice-1.zka", clients / "mallory-mixed/proof.zka")
        flip(self.root / "bob-1.zka", clients / "mallory-ruined/proof.zka", 500)
        (clients / "mallory-absent/proof.zka").unlink()
        self.forge_last_scalar(self.root / "bob-1.zka", clients / "mallory-false/proof.zka")
        run = zkapex(*verify, "--json", "-o", self.scratch / "next2")
        self.assertEqual(run.returncode, 1, run)
        report = json.loads(run.stdout)
        self.assertEqual((report["accepted"], report["rejected"]), (1, 6))
        reasons = {c["folder"]: c.get("reason") for c in report["clients"]}
        self.assertEqual(reasons, {"alice": "window", "bob": None, "mallory-absent": "file", "mallory-false": "equation",
                                   "mallory-copied": "client", "mallory-mixed": "client", "mallory-ruined": "file"})
        self.assertEqual([p.name for p in (self.scratch / "next2").iterdir()], ["bob"])
        # Settled one by one where memory is short, with the same verdicts.
        run = zkapex(*verify, "--json", "--memory", "1K")
        self.assertEqual((run.returncode, json.loads(run.stdout)), (1, report))

    # Attacks

    def write_framed(self, path, data):
        """The file with its last 32 bytes made right again."""
        body = bytes(data[:-32])
        path.write_bytes(body + hashlib.sha256(body).digest())

    def forge_last_scalar(self, source, target):
        data = bytearray(source.read_bytes())
        data[-33 - 31] ^= 1  # lowest byte of the last scalar
        self.write_framed(target, data)

    def test_flipped_bytes(self):
        size = (self.root / "alice-1.zka").stat().st_size
        for at in random.Random(5).sample(range(size), 6) + [0, 8, size - 1]:
            flip(self.root / "alice-1.zka", self.scratch / "p.zka", at)
            self.check_rejected("file", proof=self.scratch / "p.zka")
        self.forge_last_scalar(self.root / "alice-1.zka", self.scratch / "p.zka")
        self.check_rejected("equation", proof=self.scratch / "p.zka")

    def test_flipped_bytes_of_a_registration(self):
        source, target = self.root / "alice/registration.zka", self.scratch / "r.zka"
        for at in (0, 9, 40, 400):
            flip(source, target, at)
            self.check_rejected("file", registration=target)
        # With the digest made right it is another registration: the proof was not made under it.
        self.forge_last_scalar(source, target)
        self.check_rejected("registration", registration=target)

    def test_a_false_range_proof_is_found(self):
        # The client itself forges its registration and proves under it.
        state = self.copy_of("bob")
        data = bytearray((state / "registration.zka").read_bytes())
        data[-33 - 31] ^= 1
        self.write_framed(state / "registration.zka", data)
        self.check_refused(self.unlearn(state, "w1.zka"), "not the registration of this secret")

    def test_truncated_files(self):
        for name, argument in (("alice-1.zka", "proof"), ("alice/registration.zka", "registration")):
            data = (self.root / name).read_bytes()
            for length in (0, 7, 43, len(data) // 2, len(data) - 1):
                (self.scratch / "short.zka").write_bytes(data[:length])
                self.check_rejected("file", **{argument: self.scratch / "short.zka"})
            (self.scratch / "long.zka").write_bytes(data + b"\0")
            self.check_rejected("file", **{argument: self.scratch / "long.zka"})

    def test_the_provider_s_own_files_are_refused_when_damaged(self):
        for name, argument in (("w1.zka", "mask"), ("deployment.zka", "deployment")):
            flip(self.root / name, self.scratch / "x.zka", 60)
            self.check_refused(self.verify(**{argument: self.scratch / "x.zka"}), "x.zka", "digest")
            (self.scratch / "x.zka").write_bytes((self.root / name).read_bytes()[:-1])
            self.check_refused(self.verify(**{argument: self.scratch / "x.zka"}), "x.zka")

    def test_two_clients_files_mixed(self):
        self.check_rejected("client", client="bob")
        self.check_rejected("client", proof="bob-1.zka")

    def test_another_mask(self):
        self.check_rejected("mask", mask="w2.zka")
        self.check_rejected("mask", mask="other-w1.zka")  # of the same window

    def test_another_deployment(self):
        self.check_refused(self.verify(deployment="other-deployment.zka"), "w1.zka", "deployment")
        scores = self.root / "scores-w1.zka.safetensors"
        self.assertEqual(zkapex("mask", "--deployment", self.root / "other-deployment.zka", "--scores", scores, "--ratio",
                                "0.1", "--window", "w1", "-o", self.scratch / "m.zka").returncode, 0)
        self.check_rejected("deployment", deployment="other-deployment.zka", mask=self.scratch / "m.zka")

    def test_a_proof_under_another_registration_of_the_same_client(self):
        again = self.scratch / "again"
        run = zkapex("register", "--deployment", self.root / "deployment.zka", "--model", self.root / "alice.safetensors",
                     "--curvature", self.root / "alice-store.zka", "--client", "alice", "--no-certificate", "-o", again)
        self.assertEqual(run.returncode, 0, run)
        self.check_rejected("registration", registration=again / "registration.zka")

    def test_a_file_of_another_kind(self):
        self.check_rejected("file", proof="w1.zka")
        self.check_rejected("file", registration=self.root / "alice-1.zka")
        self.check_refused(self.verify(mask="alice-1.zka"), "not a mask")
        self.check_refused(self.verify(deployment="w1.zka"), "not a deployment")

    # States, outputs, inputs

    def test_an_unusable_state_is_refused_and_left_alone(self):
        state = self.copy_of("alice")
        secret = (state / "secret.zka").read_bytes()
        shutil.copy(self.root / "bob/registration.zka", state)
        self.check_refused(self.unlearn(state, "w1.zka"), "not the registration of this secret")
        shutil.copy(self.root / "alice/registration.zka", state)
        flip(self.root / "alice/secret.zka", state / "secret.zka", len(secret) // 2)
        self.check_refused(self.unlearn(state, "w1.zka"), "secret.zka", "damaged")
        (state / "secret.zka").write_bytes(secret[:-5])
        self.check_refused(self.unlearn(state, "w1.zka"), "secret.zka")
        (state / "secret.zka").write_bytes(secret)
        # The wrong store, or another client's.
        self.check_refused(self.unlearn(state, "w1.zka", "--curvature", self.root / "w1.zka"), "w1.zka")
        self.check_refused(self.unlearn(state, "w1.zka", "--model", self.root / "alice-fisher.safetensors"))
        self.check_refused(self.unlearn(state, "w1.zka", "--curvature", self.root / "bob-store.zka"), "registered")
        self.assertEqual((state / "secret.zka").read_bytes(), secret)
        self.assertEqual(list(self.scratch.iterdir()), [state])

    def test_secrets_are_for_their_owner(self):
        self.assertEqual(stat.S_IMODE((self.root / "alice/secret.zka").stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE((self.root / "alice-1/secret.zka").stat().st_mode), 0o600)

    def test_existing_outputs_are_kept_unless_forced(self):
        state, kept = self.copy_of("alice"), self.scratch / "u.safetensors"
        secret = (state / "secret.zka").read_bytes()
        kept.write_text("mine")
        self.check_refused(self.unlearn(state, "w1.zka"), "exists already", "--force")
        self.assertEqual((kept.read_text(), (state / "secret.zka").read_bytes()), ("mine", secret))
        self.check_accepted(self.unlearn(state, "w1.zka", "--force"))
        self.check_accepted(self.verify(proof=self.scratch / "p.zka"))
        common = ["--deployment", self.root / "deployment.zka", "--model", self.root / "alice.safetensors"]
        for arguments in (
            ["deploy", "--model", self.root / "theta0.safetensors", "--preset", "vit", "-o", kept],
            ["mask", *common[:2], "--scores", self.root / "scores-w1.zka.safetensors", "--ratio", "0.1", "--window", "w",
             "-o", kept],
            ["curvature", *common, "--fisher", self.root / "alice-fisher.safetensors", "-o", kept],
            ["register", *common, "--curvature", self.root / "alice-store.zka", "--client", "alice", "-o", state],
        ):
            self.check_refused(zkapex(*arguments), "exists already", "--force")
        self.check_refused(self.verify(flags=["-o", kept]), "exists already", "--force")

    def test_a_killed_window_leaves_the_old_state_or_the_new_one(self):
        for number, delay in enumerate((0.0, 0.03, 0.06, 0.1, 0.15)):
            state = self.scratch / f"state-{number}"
            shutil.copytree(self.root / "alice", state)
            out, proof = self.scratch / f"u-{number}.safetensors", self.scratch / f"p-{number}.zka"
            arguments = ["unlearn", "--client", state, "--mask", self.root / "w1.zka", "-o", out, "--proof", proof, "--quiet"]
            process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL)
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            windows = json.loads(zkapex("inspect", "--json", state / "secret.zka").stdout)["windows"]
            if not windows:
                self.check_accepted(zkapex(*arguments, "--force"))
            self.check_accepted(self.verify(proof=proof))
            self.assertTrue(out.is_file())

    def test_an_interrupted_registration_is_begun_again(self):
        state = self.copy_of("alice")
        (state / "secret.zka").unlink()
        run = zkapex("register", "--deployment", self.root / "deployment.zka", "--model", self.root / "alice.safetensors",
                     "--curvature", self.root / "alice-store.zka", "--client", "alice", "--no-certificate", "-o", state)
        self.assertEqual(run.returncode, 0, run)
        self.assertTrue((state / "secret.zka").is_file())

    def test_an_interrupted_store_is_gone_on_with(self):
        whole = (self.root / "alice-store.zka").read_bytes()
        store = self.scratch / "s.zka"
        # What a run that was stopped has left: the first blocks, and a note of what they are made from.
        fisher = {name: {"type": "F32", "shape": [32, len(values) // 32],
                         "sha256": hashlib.sha256(struct.pack(f"<{len(values)}f", *values)).hexdigest()}
                  for name, values in sorted(read_safetensors(self.root / "alice-fisher.safetensors").items())}
        note = {"command": "curvature", "relative_damping": 0.01, "fisher": fisher}
        (self.scratch / "s.zka.partial").write_bytes(whole[:len(whole) // 2])
        (self.scratch / "s.zka.partial.json").write_text(json.dumps(note, indent=2) + "\n")
        run = zkapex("curvature", "--deployment", self.root / "deployment.zka", "--model",
                     self.root / "alice.safetensors", "--fisher", self.root / "alice-fisher.safetensors", "-o", store,
                     "--json", "--memory", "64M")
        self.assertEqual(run.returncode, 0, run)
        self.assertGreater(json.loads(run.stdout)["blocks_from_an_earlier_run"], 0)
        self.assertEqual(store.read_bytes(), whole)

    def test_missing_inputs(self):
        self.check_refused(self.verify(proof="nowhere.zka"), "nowhere.zka")
        self.check_refused(self.verify(registration="nowhere.zka"), "nowhere.zka")
        self.check_refused(self.verify(mask="nowhere.zka"), "nowhere.zka")
        self.check_refused(self.verify(deployment="nowhere.zka"), "nowhere.zka")
        self.check_refused(self.verify(flags=["--commitment", "nowhere.zka"]), "nowhere.zka")
        self.check_refused(self.unlearn("nowhere", "w1.zka"), "nowhere")
        self.check_refused(zkapex("inspect", "nowhere.zka"), "nowhere.zka")
        self.check_refused(zkapex("verify", "--deployment", self.root / "deployment.zka", "--mask", self.root / "w1.zka"),
                           "--registration", "--batch")
        self.check_refused(zkapex("verify", "--deployment", self.root / "deployment.zka", "--mask", self.root / "w1.zka",
                                  "--batch", self.scratch), "no folders")

    def test_parameters_are_checked(self):
        deploy = ["deploy", "--model", self.root / "theta0.safetensors", "-o", self.scratch / "d.zka"]
        self.check_refused(zkapex(*deploy), "--preset", "--cover")
        self.check_refused(zkapex(*deploy, "--preset", "vit-99"), "vit-fc1")
        self.check_refused(zkapex(*deploy, "--cover", "nothing.like.this"), "nothing.like.this")
        self.check_refused(zkapex(*deploy, "--preset", "vit", "--cap", "four"), "--cap")
        self.check_refused(zkapex(*deploy, "--preset", "vit", "--error", "-1"))
        self.check_refused(zkapex(*deploy, "--preset", "vit", "--floor", str(2**40), "--error", "1e15"), "lower the error")
        self.check_refused(zkapex(*deploy, "--preset", "vit", "--row-length", "1000"))
        self.check_refused(zkapex(*deploy, "--preset", "vit", "--block", "2"), "larger blocks")
        write_model(self.scratch / "large.safetensors", 1, scale=100)
        self.check_refused(zkapex("deploy", "--model", self.scratch / "large.safetensors", "--preset", "vit", "-o",
                                  self.scratch / "d.zka"), "dense.weight")
        mask = ["mask", "--deployment", self.root / "deployment.zka", "--scores", self.root / "theta0.safetensors", "-o",
                self.scratch / "m.zka"]
        self.check_refused(zkapex(*mask, "--ratio", "2", "--window", "w"), "ratio")
        self.check_refused(zkapex(*mask, "--ratio", "0.1", "--window", ""))
        self.check_refused(zkapex(*mask, "--ratio", "0.1", "--window", "w", "--nonce", "12"), "--nonce")
        self.check_refused(self.unlearn(self.root / "alice", "w1.zka", "--operator", "magic"), "mask-only")
        self.check_refused(self.unlearn(self.root / "alice", "w1.zka", out="same", proof="same"), "different names")
        store = ["curvature", "--deployment", self.root / "deployment.zka", "--model", self.root / "alice.safetensors", "-o",
                 self.scratch / "s.zka"]
        self.check_refused(zkapex(*store, "--fisher", self.root / "alice.safetensors"), "gradients have")
        fisher = ["--fisher", self.root / "alice-fisher.safetensors"]
        self.check_refused(zkapex(*store, *fisher, "--damping", "-1"))
        self.check_refused(zkapex(*store, *fisher, "--damping", "1", "--relative-damping", "1"), "excludes")
        self.check_refused(zkapex(*store, *fisher, "--memory", "1K"))
        self.check_refused(zkapex("register", "--deployment", self.root / "deployment.zka", "--model",
                                  self.root / "alice.safetensors", "--curvature", self.root / "alice-store.zka", "--client",
                                  "a\nb", "-o", self.scratch / "client"), "control characters")
        self.assertEqual(list(self.scratch.iterdir()), [self.scratch / "large.safetensors"])

    def test_equal_scores_and_nonce_give_equal_masks(self):
        digests = []
        for name in ("a.zka", "b.zka"):
            run = zkapex("mask", "--deployment", self.root / "deployment.zka", "--scores",
                         self.root / "theta0.safetensors", "--ratio", "4e-2", "--window", "w", "--nonce", "ab" * 32, "-o",
                         self.scratch / name, "--json")
            digests.append(json.loads(run.stdout)["mask"])
        self.assertEqual(digests[0], digests[1])

    def test_inspect_knows_every_file(self):
        for name, kind, part in (
            ("deployment.zka", "deployment", "2e-5"), ("w1.zka", "mask", "w1"),
            ("alice/registration.zka", "registration", "alice"), ("alice-1.zka", "proof", "group-obs"),
            ("alice/secret.zka", "client secret", "alice"), ("alice-store.zka", "curvature store", "blocks"),
            ("alice.safetensors", "checkpoint", "F32"),
        ):
            run = zkapex("inspect", self.root / name)
            self.assertEqual((run.returncode, run.stderr), (0, ""), run)
            self.assertTrue(run.stdout.startswith(f"{self.root / name}: {kind}\n"), run.stdout)
            self.assertIn(part, run.stdout)
            self.assertEqual(json.loads(zkapex("inspect", "--json", self.root / name).stdout)["kind"], kind)
        tensors = json.loads(zkapex("inspect", "--json", "--tensors", self.root / "deployment.zka").stdout)["tensor_list"]
        self.assertEqual(sorted(t["name"] for t in tensors if t["covered"]), sorted(COVERED))
        (self.scratch / "noise").write_bytes(bytes(range(100)))
        self.check_refused(zkapex("inspect", self.scratch / "noise"), "noise")

    def test_help_teaches_by_examples(self):
        for command in ("inspect", "deploy", "mask", "curvature", "register", "unlearn", "verify"):
            run = zkapex(command, "--help")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn(f"Examples:\n  zkapex {command} ", run.stdout)


if __name__ == "__main__":
    unittest.main()
