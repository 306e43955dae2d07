"""Registering and unlearning from outside: honest runs, files and states."""

import hashlib
import json
import os
import random
import shutil
import stat
import struct
import subprocess
import unittest

from attestation_world import (COVERED, COVERED_WEIGHTS, PROGRAM, SHAPES, WithWorld, flip, peak_memory_of,
                               read_safetensors, write_model,
                               write_safetensors, zkapex)


class Attestation(WithWorld):
    # Honest runs

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

    def test_a_window_is_applied_once(self):
        self.check_refused(self.unlearn(self.copy_of("alice-1"), "w1.zka"), "w1", "already")

    def test_mask_only(self):
        psi = self.scratch / "mask-only.zka"
        made = zkapex("mask", "--deployment", self.root / "deployment.zka", "--scores",
                      self.root / "scores-w1.zka.safetensors", "--ratio", "0.1", "--window", "w1", "--operator",
                      "mask-only", "-o", psi, "--json")
        self.assertEqual(made.returncode, 0, made)
        self.assertEqual(json.loads(made.stdout)["operator"], "mask-only")
        self.check_accepted(self.unlearn(self.copy_of("alice"), psi))
        # What is due is the provider's to say: nobody passes for compensated who only masked.
        self.check_rejected("mask", proof=self.scratch / "p.zka")
        self.check_rejected("mask", mask=psi)
        run = self.verify(proof=self.scratch / "p.zka", mask=psi, flags=["--json"])
        self.check_accepted(run)
        verdict = json.loads(run.stdout)
        self.assertEqual((verdict["operator"], verdict["certified_error"]), ("mask-only", "0"))
        before = read_safetensors(self.root / "alice.safetensors")
        after = read_safetensors(self.scratch / "u.safetensors")
        self.assertTrue(all(abs(u - v) <= 2**-37 or v == 0 for name in before for u, v in zip(before[name], after[name])))
        # Passed off as compensated: under the digest of the mask that asks for that, behind two others.
        data = bytearray((self.scratch / "p.zka").read_bytes())
        data[76:108] = (self.root / "w1.zka").read_bytes()[-32:]
        self.write_framed(self.scratch / "forged.zka", data)
        self.check_rejected("length", proof=self.scratch / "forged.zka")

    def test_guided(self):
        """A request made from a checkpoint that has unlearned: its step from theta0 is what clients are drawn along."""
        before = read_safetensors(self.root / "theta0.safetensors")
        rng = random.Random(5)
        moved = {name: [v + rng.choice((-0.02, 0.02)) for v in values] for name, values in before.items()}
        write_safetensors(self.scratch / "far.safetensors", {name: (SHAPES[name], moved[name]) for name in moved})
        psi, client = self.scratch / "guided.zka", self.copy_of("alice")
        mask = ["mask", "--deployment", self.root / "deployment.zka", "--window", "w1", "--json", "--pull", "100000"]
        guide = ["--guide-base", self.root / "theta0.safetensors", "--guide-from", self.scratch / "far.safetensors"]
        scores = ["--scores", self.root / "scores-w1.zka.safetensors", "--ratio", "0.02"]
        for flags in (scores, []):  # a mask may be empty
            made = zkapex(*mask, *guide, *flags, "-o", psi, "--force")
            self.assertEqual(made.returncode, 0, made)
            report = json.loads(made.stdout)
            self.assertEqual((report["operator"], report["pull"], report["progress"]), ("guided", 100000, 0.2))
            self.assertEqual(report["masked"] == 0, not flags)
            self.check_accepted(self.unlearn(client, psi, "--force"))
            run = self.verify(proof=self.scratch / "p.zka", mask=psi, flags=["--json"])
            self.check_accepted(run)
            self.assertEqual(json.loads(run.stdout)["operator"], "guided")
            self.check_rejected("mask", proof=self.scratch / "p.zka")
        # With so strong a pull and nothing removed, the step is nearly the guide.
        old, new = (read_safetensors(path) for path in (self.root / "alice.safetensors", self.scratch / "u.safetensors"))
        name = COVERED[0]
        steps = [(v - u) * (1 if m > b else -1) for u, v, b, m in zip(old[name], new[name], before[name], moved[name])]
        self.assertGreater(sum(steps) / len(steps), 0.01)
        shown = json.loads(zkapex("inspect", "--json", psi).stdout)
        self.assertEqual((shown["operator"], shown["pull"], shown["masked"]), ("guided", 100000, 0))

        # A guide that is too large for the client; rules that its step cannot meet; rules that ask for nothing.
        large = zkapex(*mask, *guide, "--guide-scale", "20", "-o", psi, "--force")
        self.assertEqual(large.returncode, 0, large)
        self.check_refused(self.unlearn(client, psi, "--force"), "--max-guide")
        self.check_refused(self.unlearn(client, psi, "--force", "--max-guide", "x"), "--max-guide")
        strict = zkapex(*mask, *guide, "--progress", "1", "-o", psi, "--force")
        self.assertEqual(strict.returncode, 0, strict)
        # A trial tells beforehand, and leaves nothing behind but the model that it was asked for.
        state = sorted((str(p), p.read_bytes()) for p in client.rglob("*") if p.is_file())
        tried = zkapex("unlearn", "--client", client, "--mask", psi, "--dry-run", "-o", self.scratch / "tried.safetensors",
                       "--json")
        self.assertEqual(tried.returncode, 0, tried)
        report = json.loads(tried.stdout)
        self.assertFalse(report["rules_hold"])
        self.assertIn("rule on its progress", report["broken"])
        self.assertEqual([t["name"] for t in report["tensors"]], sorted(COVERED))
        self.assertTrue(all(0.5 < t["progress"] < 1 and 0 < t["distance"] < 0.5 for t in report["tensors"]), report)
        self.assertNotEqual(read_safetensors(self.scratch / "tried.safetensors")[COVERED[0]], old[COVERED[0]])
        self.assertEqual(sorted((str(p), p.read_bytes()) for p in client.rglob("*") if p.is_file()), state)
        trial = ["unlearn", "--client", client, "--mask", psi, "--dry-run"]
        self.check_refused(zkapex(*trial, "--proof", "p"), "--proof")
        self.check_refused(zkapex(*trial, "-o", client / "secret.zka", "--force"), "secret.zka")
        self.check_refused(zkapex(*trial, "-o", psi, "--force"), "guided.zka")
        self.check_refused(zkapex(*trial, "--max-guide", "0.01"), "--max-guide")
        self.check_refused(zkapex("unlearn", "--client", client, "--mask", psi, "--proof", self.scratch / "q"), "--dry-run")
        self.check_refused(self.unlearn(client, psi, "--force"), "rule on its progress")
        loose = zkapex(*mask, *guide, "--progress", "0", "--distance", "11", "-o", psi, "--force")
        self.assertEqual(len(json.loads(loose.stdout)["warnings"]), 2, loose)

    def test_guides_that_are_none(self):
        mask = ["mask", "--deployment", self.root / "deployment.zka", "--window", "w", "-o", self.scratch / "m.zka"]
        base = ["--guide-base", self.root / "theta0.safetensors"]
        guide = [*base, "--guide-from", self.root / "alice.safetensors"]
        scores = ["--scores", self.root / "scores-w1.zka.safetensors", "--ratio", "0.1"]
        for flags, message in [
            (base, "a guide is the way"), ([], "give both"), ([*guide, *scores[:2]], "give both"), (scores[2:], "give both"),
            ([*guide, "--operator", "group-obs"], "has no guide"), ([*scores, "--operator", "guided"], "--guide-from"),
            ([*guide, "--progress", "2"], "more than all"), ([*guide, "--distance", "0.0001"], "thousandths"),
            ([*guide, "--distance", "1001"], "thousandths"), ([*guide, "--distance-removed", "far"], "--distance-removed"),
            ([*guide, "--pull", str(2**40 + 1)], "pull"), ([*guide, "--guide-scale", "1e30"], "larger than any weight"),
            ([*base, "--guide-from", self.root / "alice-fisher.safetensors"], "alice-fisher.safetensors: "),
        ]:
            with self.subTest(flags=flags):
                self.check_refused(zkapex(*mask, *flags), message)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_memory_is_a_promise(self):
        model = self.root / "alice.safetensors"
        register = ["register", "--deployment", self.root / "deployment.zka", "--model", model, "--curvature",
                    self.root / "alice-store.zka", "--client", "alice"]
        anchored = ["--base", self.root / "theta0.safetensors"]
        state = self.copy_of("alice")
        unlearn = ["unlearn", "--client", state, "--mask", self.root / "w1.zka"]
        outputs = ["-o", self.scratch / "u.safetensors", "--proof", self.scratch / "p.zka"]
        ledger = self.new_ledger()
        verify = ["verify", "--ledger", ledger, "--mask", self.root / "w1.zka", "--proof", self.root / "alice-1.zka"]
        admit = ["admit", "--ledger", self.scratch / "new-ledger", "--deployment", self.root / "deployment.zka",
                 *anchored, "--registration", self.root / "alice/registration.zka"]
        for command in ([*register, *anchored, "-o", self.scratch / "new"], [*unlearn, *outputs], verify, admit):
            refused = zkapex(*command, "--quiet", "--memory", "1M", "--threads", "2")
            self.check_refused(refused, "of memory are needed with 2 threads, but the budget is 1.0 MiB")
            least = float(refused.stderr.split()[3]) * 1.01
            self.assertRegex(refused.stderr, r"at least [0-9.]+ MiB")
            budget = f"{int(least * 1024)}K"
            if "ZKAPEX_SANITIZED" in os.environ:
                continue  # sanitizers take memory of their own
            peak = peak_memory_of(*command, "--quiet", "--memory", budget, "--threads", "2", "--json")
            self.assertLessEqual(peak, 1.1 * least * 2**20)

    def test_an_estimate_does_nothing_else(self):
        state = self.copy_of("alice")
        before = sorted(str(path) for path in state.rglob("*"))
        unlearn = ["unlearn", "--client", state, "--mask", self.root / "w1.zka"]
        run = zkapex(*unlearn, "--estimate", "--json", "--threads", "2")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        estimate = json.loads(run.stdout)
        self.assertEqual(set(estimate), {"seconds", "memory_bytes", "proof_bytes", "scratch_bytes"})
        self.assertIn("nothing was done", zkapex(*unlearn, "--estimate").stdout)
        self.assertEqual(sorted(str(path) for path in state.rglob("*")), before)
        self.check_refused(zkapex(*unlearn, "--estimate", "--memory", "1M"), "at least")
        self.check_accepted(self.unlearn(state, "w1.zka", "--threads", "2"))
        shown = json.loads(zkapex("inspect", "--json", self.scratch / "p.zka").stdout)
        self.assertEqual(shown["proof_bytes"], estimate["proof_bytes"])
        run = zkapex("register", "--deployment", self.root / "deployment.zka", "--model",
                     self.root / "alice.safetensors", "--curvature", self.root / "alice-store.zka", "--client", "alice",
                     "-o", self.scratch / "new", "--estimate", "--json")
        self.assertEqual(run.returncode, 0, run)
        self.assertGreater(json.loads(run.stdout)["proof_bytes"], 0)
        self.assertFalse((self.scratch / "new").exists())

    def test_files_that_moved(self):
        state = self.copy_of("alice")
        model, store = self.scratch / "m.safetensors", self.scratch / "s.zka"
        shutil.copy(self.root / "alice.safetensors", model)
        shutil.copy(self.root / "alice-store.zka", store)
        self.check_accepted(self.unlearn(state, "w1.zka", "--model", model, "--curvature", store))
        self.check_accepted(zkapex("settle", "--client", state, "--accepted"))
        shown = json.loads(zkapex("inspect", "--json", state / "secret.zka").stdout)
        self.assertEqual((shown["model"], shown["curvature"]), (str(model), str(store)))
        self.assertEqual([w["window"] for w in shown["windows"]], ["w1"])
        # Where they are not said to be, they are looked for where they were.
        for lost, option in ((model, "--model"), (store, "--curvature")):
            with self.subTest(option):
                lost.rename(self.scratch / "elsewhere")
                self.check_refused(self.unlearn(state, "w2.zka"), str(lost), option)
                (self.scratch / "elsewhere").rename(lost)

    # Attacks

    def test_a_false_range_proof_is_found(self):
        # The client itself forges its registration and proves under it.
        state = self.copy_of("bob")
        data = bytearray((state / "registration.zka").read_bytes())
        data[-33 - 31] ^= 1
        self.write_framed(state / "registration.zka", data)
        self.check_refused(self.unlearn(state, "w1.zka"), "not the registration of this secret")

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
        for name in ("alice/secret.zka", "alice-1/secret.zka", "alice-1.safetensors", "alice-store.zka"):
            self.assertEqual(stat.S_IMODE((self.root / name).stat().st_mode), 0o600, name)
        self.assertEqual(stat.S_IMODE((self.root / "alice").stat().st_mode), 0o700)

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
        ):
            self.check_refused(zkapex(*arguments), "exists already", "--force")
        registration = (state / "registration.zka").read_bytes()
        self.check_refused(zkapex("register", *common, "--base", self.root / "theta0.safetensors", "--curvature",
                                  self.root / "alice-store.zka", "--client", "alice", "-o", state), "exists already", "--force to replace this client")
        self.assertEqual((state / "registration.zka").read_bytes(), registration)

    def test_a_killed_window_can_be_repeated(self):
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
            if not proof.exists():
                self.check_accepted(zkapex(*arguments, "--force"))
            self.check_accepted(self.verify(proof=proof))
            self.check_accepted(zkapex("settle", "--client", state, "--accepted", "--proof", proof))
            self.assertTrue(out.is_file())

    def test_an_interrupted_registration_is_begun_again(self):
        state = self.copy_of("alice")
        (state / "secret.zka").unlink()
        run = zkapex("register", "--deployment", self.root / "deployment.zka", "--model", self.root / "alice.safetensors",
                     "--base", self.root / "theta0.safetensors", "--curvature", self.root / "alice-store.zka", "--client",
                     "alice", "-o", state)
        self.assertEqual(run.returncode, 0, run)
        self.assertTrue((state / "secret.zka").is_file())

    def test_an_interrupted_store_is_gone_on_with(self):
        whole = (self.root / "alice-store.zka").read_bytes()
        store = self.scratch / "s.zka"
        # What a run that was stopped has left: the first blocks, and a note of what they are made from.
        fisher = {name: {"type": "F32", "shape": [32, len(values) // 32],
                         "sha256": hashlib.sha256(struct.pack(f"<{len(values)}f", *values)).hexdigest()}
                  for name, values in sorted(read_safetensors(self.root / "alice-fisher.safetensors").items())}
        note = {"command": "curvature", "relative_damping": 0.2, "fisher": fisher}
        (self.scratch / "s.zka.partial").write_bytes(whole[:len(whole) // 2])
        (self.scratch / "s.zka.partial.json").write_text(json.dumps(note, indent=2) + "\n")
        run = zkapex("curvature", "--deployment", self.root / "deployment.zka", "--model",
                     self.root / "alice.safetensors", "--fisher", self.root / "alice-fisher.safetensors", "-o", store,
                     "--json", "--memory", "64M")
        self.assertEqual(run.returncode, 0, run)
        self.assertGreater(json.loads(run.stdout)["blocks_from_an_earlier_run"], 0)
        self.assertEqual(store.read_bytes(), whole)

    def test_missing_inputs(self):
        self.check_refused(self.unlearn("nowhere", "w1.zka"), "nowhere")
        self.check_refused(zkapex("inspect", "nowhere.zka"), "nowhere.zka")

    def test_parameters_are_checked(self):
        deploy = ["deploy", "--model", self.root / "theta0.safetensors", "-o", self.scratch / "d.zka"]
        self.check_refused(zkapex(*deploy), "--preset", "--cover")
        self.check_refused(zkapex(*deploy, "--preset", "vit-99"), "vit-fc1")
        self.check_refused(zkapex(*deploy, "--cover", "nothing.like.this"), "nothing.like.this")
        for cap in ("four", "7/x"):
            self.check_refused(zkapex(*deploy, "--preset", "vit", "--cap", cap), "--cap")
        self.check_refused(zkapex(*deploy, "--preset", "vit", "--error", "-1"))
        self.check_refused(zkapex(*deploy, "--preset", "vit", "--floor", str(2**40), "--error", "1e15"), "lower the error")
        self.check_refused(zkapex(*deploy, "--preset", "vit", "--row-length", "1000"))
        self.check_refused(zkapex(*deploy, "--preset", "vit", "--block", "1"), "larger blocks")
        write_model(self.scratch / "large.safetensors", 1, scale=100)
        self.check_refused(zkapex("deploy", "--model", self.scratch / "large.safetensors", "--preset", "vit", "-o",
                                  self.scratch / "d.zka"), "dense.weight")
        mask = ["mask", "--deployment", self.root / "deployment.zka", "--scores", self.root / "theta0.safetensors", "-o",
                self.scratch / "m.zka"]
        self.check_refused(zkapex(*mask, "--ratio", "2", "--window", "w"), "ratio")
        self.check_refused(zkapex(*mask, "--ratio", "0.1", "--window", ""))
        self.check_refused(zkapex(*mask, "--ratio", "0.1", "--window", "w", "--nonce", "12"), "--nonce")
        self.check_refused(zkapex(*mask, "--ratio", "0.1", "--window", "w1", "--after", self.root / "w1.zka"),
                           "the mask of the window 'w1' itself")
        self.check_refused(zkapex(*mask, "--ratio", "0.1", "--window", "w", "--operator", "magic"), "mask-only")
        self.check_refused(self.unlearn(self.root / "alice", "w1.zka", out="same", proof="same"), "different names")
        store = ["curvature", "--deployment", self.root / "deployment.zka", "--model", self.root / "alice.safetensors", "-o",
                 self.scratch / "s.zka"]
        self.check_refused(zkapex(*store, "--fisher", self.root / "alice.safetensors"), "gradients have")
        fisher = ["--fisher", self.root / "alice-fisher.safetensors"]
        self.check_refused(zkapex(*store, *fisher, "--damping", "-1"))
        self.check_refused(zkapex(*store, *fisher, "--damping", "1", "--relative-damping", "1"), "excludes")
        self.check_refused(zkapex(*store, *fisher, "--memory", "1K"))
        self.check_refused(zkapex("curvature", "--deployment", self.root / "deployment.zka", "--model", fisher[1], *fisher, "-o",
                                  self.scratch / "s.zka"), "alice-fisher.safetensors: ")
        self.check_refused(zkapex("register", "--deployment", self.root / "deployment.zka", "--model",
                                  self.root / "alice.safetensors", "--curvature", self.root / "alice-store.zka", "--client",
                                  "a\nb", "-o", self.scratch / "client"), "control characters")
        self.check_refused(zkapex("register", "--deployment", self.root / "other-deployment.zka", "--model",
                                  self.root / "alice.safetensors", "--curvature", self.root / "alice-store.zka", "--client",
                                  "alice", "-o", self.scratch / "client"), "made for another deployment")
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
            ("deployment.zka", "deployment", "2e-5"), ("w1.zka", "mask", "group-obs"),
            ("alice/registration.zka", "registration", "alice"), ("alice-1.zka", "proof", "w1"),
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
        for command in ("inspect", "deploy", "mask", "curvature", "register", "unlearn", "update", "settle", "admit",
                        "verify"):
            run = zkapex(command, "--help")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn(f"Examples:\n  zkapex {command} ", run.stdout)


if __name__ == "__main__":
    unittest.main()
