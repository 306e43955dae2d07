"""A client's files from outside: windows that wait, outputs, interruptions, and what a checkpoint opens."""

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import unittest
from pathlib import Path

from attestation_world import COVERED, PROGRAM, SHAPES, WithWorld, read_safetensors, write_safetensors, zkapex


def is_temporary(path):
    return ".tmp-" in path.name


class Client(WithWorld):
    def settle(self, state, *flags):
        return zkapex("settle", "--client", state, *flags)

    def files_in(self, folder):
        return {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}

    def temporaries(self):
        return [p for p in self.scratch.rglob("*") if is_temporary(p)]

    def popen_unlearn(self, state, **arguments):
        command = ["unlearn", "--client", state, "--mask", self.root / "w1.zka", "-o", self.scratch / "u.safetensors",
                   "--proof", self.scratch / "p.zka", "--quiet", "--threads", "1"]
        return subprocess.Popen([PROGRAM, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                **arguments)

    # Windows wait until they are settled

    def test_a_lost_proof_does_not_strand_a_client(self):
        state = self.copy_of("alice")
        before = self.files_in(state)
        self.check_accepted(self.unlearn(state, "w1.zka"))
        self.assertEqual(before["secret.zka"], (state / "secret.zka").read_bytes())
        shown = json.loads(zkapex("inspect", "--json", state).stdout)
        self.assertEqual((shown["windows"], [p["window"] for p in shown["pending"]]), ([], ["w1"]))
        self.assertEqual(shown["pending"], json.loads(zkapex("inspect", "--json", state / "secret.zka").stdout)["pending"])
        run = self.settle(state, "--rejected", "--json")
        self.check_accepted(run)
        self.assertEqual(json.loads(run.stdout)["verdict"], "rejected")
        self.assertEqual(self.files_in(state), before)
        self.check_accepted(self.unlearn(state, "w1.zka", "--force"))
        self.check_accepted(self.unlearn(state, "w1.zka", out="again.safetensors", proof="again.zka"))
        self.check_refused(self.settle(state, "--accepted"), "--proof")
        ledger = self.new_ledger()
        self.check_accepted(self.verify(self.scratch / "again.zka", ledger=ledger))
        run = self.settle(state, "--accepted", "--proof", self.scratch / "again.zka", "--json")
        self.check_accepted(run)
        self.assertEqual([w["window"] for w in json.loads(run.stdout)["windows"]], ["w1"])
        self.assertTrue(json.loads(self.settle(state, "--accepted", "--window", "w1", "--json").stdout)["settled_before"])
        self.assertFalse((state / "pending").exists())
        self.assertEqual((state / "mask.zka").read_bytes(), (self.root / "w1.zka").read_bytes())
        self.check_accepted(self.unlearn(state, "w2.zka", out="u2.safetensors", proof="p2.zka"))
        self.check_accepted(self.verify(self.scratch / "p2.zka", mask="w2.zka", ledger=ledger))

    def test_settle_wants_a_verdict(self):
        state = self.copy_of("alice")
        self.check_refused(self.settle(state), "--accepted", "--rejected")
        self.check_refused(self.settle(state, "--accepted", "--rejected"), "excludes")
        self.check_refused(self.settle(state, "--accepted"), "no such window is pending")
        self.check_refused(self.settle("nowhere", "--accepted"), "nowhere")

    def test_a_verdict_may_be_settled_twice(self):
        # As after a run that was stopped before it could say that it was done.
        state = self.copy_of("alice")
        self.check_accepted(self.unlearn(state, "w1.zka"))
        for before in (False, True):
            run = self.settle(state, "--accepted", "--json")
            self.check_accepted(run)
            report = json.loads(run.stdout)
            self.assertEqual((report["window"], report["settled_before"]), ("w1", before))
        self.assertIn('window "w1" accepted, and settled before', self.settle(state, "--accepted").stdout)
        self.check_refused(self.settle(state, "--rejected"), "no such window is pending")

    # The written model

    def test_what_is_written_is_what_is_proved(self):
        for dtype in ("BF16", "F16"):
            name = f"client-{dtype}"
            self.world.client(name, 7, dtype)
            state = self.copy_of(name)
            run = self.unlearn(state, "w1.zka", "--json", out=f"{name}.safetensors", proof=f"{name}.zka")
            self.check_accepted(run)
            report = json.loads(run.stdout)
            self.assertEqual(report["widened_tensors"], len(COVERED))
            self.assertEqual(sorted(n for names in report["widened"].values() for n in names), sorted(COVERED))
            self.assertTrue(all(types.startswith(f"{dtype} to F") for types in report["widened"]))
            model = self.scratch / f"{name}.safetensors"
            opened = zkapex("inspect", model, "--opens", state, "--json")
            self.check_accepted(opened)
            self.assertEqual(json.loads(opened.stdout)["opens"], [f"pending window w1, attempt {report['attempt']}"])
            self.check_accepted(zkapex("inspect", self.root / f"{name}.safetensors", "--opens", state))
            self.check_accepted(self.settle(state, "--accepted"))
            self.check_accepted(zkapex("inspect", model, "--opens", state))
            # Rounded to the old type it is another model.
            rounded = self.scratch / "rounded.safetensors"
            write_safetensors(rounded, {n: (SHAPES[n], numbers) for n, numbers in read_safetensors(model).items()}, dtype)
            run = zkapex("inspect", rounded, "--opens", state)
            self.assertEqual((run.returncode, run.stderr), (1, ""), run)
            self.assertRegex(run.stdout, rf"not the committed model: tensor '{sorted(COVERED)[0]}' is not the committed one")

    def test_opens_is_for_checkpoints_and_clients(self):
        self.check_refused(zkapex("inspect", self.root / "w1.zka", "--opens", self.root / "alice"), "for checkpoints")
        self.check_refused(zkapex("inspect", self.root / "alice.safetensors", "--opens", self.scratch), "deployment.zka")
        run = zkapex("inspect", self.root / "bob.safetensors", "--opens", self.root / "alice", "--json")
        self.assertEqual((run.returncode, json.loads(run.stdout)["opens"]), (1, []))
        state = self.copy_of("alice")
        shutil.copy(self.root / "bob/registration.zka", state)
        self.check_refused(zkapex("inspect", self.root / "alice.safetensors", "--opens", state),
                           "not the registration of this secret")

    def test_another_checkpoint_is_refused(self):
        state = self.copy_of("alice")
        before = self.files_in(state)
        self.check_refused(self.unlearn(state, "w1.zka", "--model", self.root / "bob.safetensors"),
                           "not the checkpoint that was registered", "classifier.bias")
        # The registered file, replaced in place.
        moved = self.scratch / "moved.safetensors"
        shutil.copy(self.root / "alice.safetensors", moved)
        data = bytearray(moved.read_bytes())
        offset = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["classifier.bias"]["data_offsets"][0]
        data[8 + int.from_bytes(data[:8], "little") + offset] ^= 1
        moved.write_bytes(data)
        self.check_refused(self.unlearn(state, "w1.zka", "--model", moved), "moved.safetensors", "'classifier.bias' differs")
        self.assertEqual(self.files_in(state), before)

    # Outputs

    def test_outputs_that_are_inputs_or_state_are_refused(self):
        state = self.copy_of("alice")
        model, store = self.scratch / "m.safetensors", self.scratch / "s.zka"
        shutil.copy(self.root / "alice.safetensors", model)
        shutil.copy(self.root / "alice-store.zka", store)
        shutil.copy(self.root / "w1.zka", self.scratch / "w1.zka")
        before = self.files_in(self.scratch)
        moved = ["--model", model, "--curvature", store, "--force", "--quiet"]
        for target, part in ((self.scratch / "w1.zka", "is an input"), (model, "is an input"), (store, "is an input"),
                             (state / "registration.zka", "part of the client's state"),
                             (state / "secret.zka", "part of the client's state"),
                             (state / "mask.zka", "part of the client's state"),
                             (state / "pending/w1", "part of the client's state"),
                             (self.scratch / "missing/folder/x", "No such file or directory")):
            for model_out, proof_out in ((target, self.scratch / "p.zka"), (self.scratch / "u.safetensors", target)):
                run = zkapex("unlearn", "--client", state, "--mask", self.scratch / "w1.zka", "-o", model_out, "--proof",
                             proof_out, *moved)
                self.check_refused(run, part)
        self.assertEqual(self.files_in(self.scratch), before)

    def test_other_commands_do_not_replace_their_inputs_or_a_secret(self):
        state = self.copy_of("alice")
        for name in ("deployment.zka", "theta0.safetensors", "alice.safetensors", "alice-fisher.safetensors"):
            shutil.copy(self.root / name, self.scratch / name)
        at = self.scratch.joinpath
        before = self.files_in(self.scratch)
        deploy = ["deploy", "--model", at("theta0.safetensors"), "--preset", "vit", "--block", "8", "--force", "-o"]
        mask = ["mask", "--deployment", at("deployment.zka"), "--scores", at("theta0.safetensors"), "--ratio", "0.1",
                "--window", "w", "--force", "-o"]
        curvature = ["curvature", "--deployment", at("deployment.zka"), "--model", at("alice.safetensors"), "--fisher",
                     at("alice-fisher.safetensors"), "--force", "-o"]
        for command, targets in ((deploy, ["theta0.safetensors"]), (mask, ["deployment.zka", "theta0.safetensors"]),
                                 (curvature, ["deployment.zka", "alice.safetensors", "alice-fisher.safetensors"])):
            for target in targets:
                self.check_refused(zkapex(*command, at(target)), target, "is an input")
            self.check_refused(zkapex(*command, state / "secret.zka"), "secret state")
            self.check_refused(zkapex(*command, at("missing/x")), "missing", "No such file or directory")
        self.check_refused(zkapex("register", "--deployment", at("deployment.zka"), "--model", at("alice.safetensors"),
                                  "--curvature", state / "secret.zka", "--client", "alice", "--force", "-o", state),
                           "secret.zka", "is an input")
        self.assertEqual(self.files_in(self.scratch), before)

    def test_a_full_disk_leaves_everything_as_it_was(self):
        state = self.copy_of("alice")
        before = self.files_in(self.scratch)

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

        process = self.popen_unlearn(state, preexec_fn=small_files)
        self.assertEqual(process.wait(), 2)
        self.assertEqual(self.files_in(self.scratch), before)

    def test_a_pipe_is_no_input(self):
        pipe = self.scratch / "pipe"
        os.mkfifo(pipe)
        state = self.copy_of("alice")
        scores = self.root / "scores-w1.zka.safetensors"
        for run in (zkapex("mask", "--deployment", pipe, "--scores", scores, "--ratio", "0.1", "--window", "w", "-o",
                           self.scratch / "m.zka"),
                    self.unlearn(state, pipe), self.settle(state, "--accepted", "--proof", pipe), zkapex("inspect", pipe)):
            self.check_refused(run, f"cannot read {pipe}: not a regular file")

    # Interruptions

    def stop(self, number, **arguments):
        """Sends a signal to an unlearn that has begun to write."""
        process = self.popen_unlearn(self.scratch / "alice", **arguments)
        while not self.temporaries():
            self.assertIsNone(process.poll(), "it ended before it wrote anything")
        process.send_signal(number)
        self.assertEqual(process.wait(), -number)

    def test_signals_leave_no_temporaries_and_kill_none_for_long(self):
        state = self.copy_of("alice")
        before = self.files_in(self.scratch)
        for number in (signal.SIGINT, signal.SIGTERM):
            self.stop(number)
            self.assertEqual(self.files_in(self.scratch), before)
        self.stop(signal.SIGKILL)
        left = self.temporaries()
        self.assertTrue(left)
        self.assertEqual([stat.S_IMODE(p.stat().st_mode) for p in left if "safetensors" in p.name], [0o600])
        self.check_accepted(self.unlearn(state, "w1.zka"))
        self.assertEqual(self.temporaries(), [])

    def test_no_core_dumps_while_secrets_are_in_memory(self):
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        if hard == 0:
            self.skipTest("nothing here may dump core anyway")
        self.copy_of("alice")
        process = self.popen_unlearn(self.scratch / "alice",
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
        while not self.temporaries():
            self.assertIsNone(process.poll(), "it ended before it wrote anything")
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        process.kill()
        process.wait()
        line = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
        self.assertEqual(line.split()[4:6], ["0", "0"])


if __name__ == "__main__":
    unittest.main()
