"""Admitting and verifying from outside: honest clients, then everything that one may try."""

import json
import os
import random
import shutil
import unittest

from attestation_world import WithWorld, flip, zkapex


class Provider(WithWorld):
    def admit(self, *registrations, ledger=None, deployment="deployment.zka", flags=()):
        return zkapex("admit", "--ledger", ledger or self.scratch / "new-ledger", "--deployment", self.root / deployment,
                      "--base", self.root / "theta0.safetensors", "--registration", *registrations, "--quiet", *flags)

    def check_not_admitted(self, reason, registration, **arguments):
        run = self.admit(registration, **arguments)
        self.assertEqual((run.returncode, run.stderr), (1, ""), run)
        self.assertIn(f"rejected ({reason}): ", run.stdout)
        run = self.admit(registration, **{**arguments, "flags": [*arguments.get("flags", ()), "--json"]})
        self.assertEqual(json.loads(run.stdout)["registrations"][0]["reason"], reason)

    def inbox(self, **proofs):
        """A folder with a folder for each name, with a copy of the proof."""
        folder = self.scratch / "inbox"
        for name, proof in proofs.items():
            (folder / name).mkdir(parents=True)
            shutil.copy(self.root / proof, folder / name / "proof.zka")
        return folder

    def batch(self, inbox, *flags, ledger=None):
        return zkapex("verify", "--ledger", ledger or self.new_ledger(), "--mask", self.root / "w1.zka", "--batch", inbox,
                      "--quiet", *flags)

    # Honest clients

    def test_an_honest_window_is_accepted(self):
        run = self.verify()
        self.check_accepted(run)
        self.assertTrue(run.stdout.startswith("accepted (group-obs)\n"))
        for part in ("certified error", "2e-5", '"alice"', '"w1"', "group-obs", "not proved", "own data"):
            self.assertIn(part, run.stdout)
        verdict = json.loads(self.verify(flags=["--json"]).stdout)
        self.assertEqual((verdict["verdict"], verdict["client"], verdict["window"]), ("accepted", "alice", "w1"))
        self.assertEqual(verdict["certified_error"], "2e-5")
        self.assertEqual(len(verdict["not_proved"]), 4)
        registration = json.loads(zkapex("inspect", "--json", self.root / "alice/registration.zka").stdout)
        proof = json.loads(zkapex("inspect", "--json", self.root / "alice-1.zka").stdout)
        self.assertEqual((verdict["registration"], verdict["starts_from"]),
                         (registration["registration"], proof["starts_from"]))

    def test_a_window_follows_a_window(self):
        ledger, state = self.new_ledger(), self.copy_of("alice-1")
        self.check_accepted(self.unlearn(state, "w2.zka"))
        second = {"proof": self.scratch / "p.zka", "mask": "w2.zka"}
        # Skipped: the provider has seen no first window.
        self.check_rejected("model", **second)
        self.check_accepted(self.verify(ledger=ledger))
        # Replayed: the first proof again, after it was accepted.
        self.check_rejected("window", ledger=ledger)
        shown = json.loads(zkapex("inspect", "--json", ledger / "clients/alice/model.zka").stdout)
        self.assertEqual([w["window"] for w in shown["windows"]], ["w1"])
        self.check_accepted(self.verify(**second, ledger=ledger))
        self.check_rejected("window", **second, ledger=ledger)

    def test_a_model_comes_before_the_request(self):
        # Published first: a client that registers afterwards has nothing to do with it.
        ledger, mask = self.new_ledger(), self.root / "w1.zka"
        run = zkapex("publish", "--ledger", ledger, "--mask", mask)
        self.check_accepted(run)
        self.assertIn('window "w1" is published from now on', run.stdout)
        self.assertTrue(json.loads(zkapex("publish", "--ledger", ledger, "--mask", mask, "--json").stdout)["published_before"])
        verdict = json.loads(self.verify(ledger=ledger, flags=["--json"]).stdout)
        self.assertEqual((verdict["verdict"], len(verdict["not_proved"])), ("accepted", 3))
        ledger = self.scratch / "late-ledger"
        self.check_accepted(self.admit(self.root / "bob/registration.zka", ledger=ledger))
        self.check_accepted(zkapex("publish", "--ledger", ledger, "--mask", mask))
        self.check_accepted(self.admit(self.root / "alice/registration.zka", ledger=ledger))
        self.check_rejected("order", ledger=ledger)
        self.check_refused(zkapex("publish", "--ledger", self.scratch / "none", "--mask", mask), "is no ledger")
        self.check_refused(zkapex("publish", "--ledger", ledger, "--mask", self.root / "bob/registration.zka"), "registration.zka")

    def test_a_model_has_one_successor(self):
        # The same state twice, two proofs for one window, handed in one after the other.
        for number in (1, 2):
            shutil.copytree(self.root / "alice", self.scratch / f"fork-{number}")
            self.check_accepted(self.unlearn(self.scratch / f"fork-{number}", "w1.zka", out=f"u{number}.safetensors",
                                             proof=f"p{number}.zka"))
        ledger = self.new_ledger()
        self.check_accepted(self.verify(self.scratch / "p1.zka", ledger=ledger))
        self.check_rejected("window", proof=self.scratch / "p2.zka", ledger=ledger)
        both = self.inbox(first=self.scratch / "p1.zka", second=self.scratch / "p2.zka")
        report = json.loads(self.batch(both, "--json").stdout)
        self.assertEqual([c.get("reason") for c in report["clients"]], [None, "window"])

    def test_a_mask_keeps_what_the_last_one_removed(self):
        ledger = self.new_ledger()
        self.check_accepted(self.verify(ledger=ledger))
        self.check_refused(self.unlearn(self.copy_of("alice-1"), "forgetful-w2.zka"), "--after")
        # A provider with such a mask rejects what anybody proves under it, here a relabelled proof.
        data = bytearray((self.root / "alice-1.zka").read_bytes())
        mask = json.loads(zkapex("inspect", "--json", self.root / "forgetful-w2.zka").stdout)["mask"]
        data[77:109] = bytes.fromhex(mask)
        data = data.replace(b"\x02\x00\x00\x00w1", b"\x02\x00\x00\x00w2")
        self.write_framed(self.scratch / "p.zka", data)
        self.check_rejected("mask", proof=self.scratch / "p.zka", mask="forgetful-w2.zka", ledger=ledger)
        last = json.loads(zkapex("inspect", "--json", self.root / "w2.zka").stdout)
        self.assertEqual(last["predecessor"], json.loads(zkapex("inspect", "--json", self.root / "w1.zka").stdout)["mask"])

    # Admission

    def test_admission(self):
        alice = self.root / "alice/registration.zka"
        run = self.admit(alice, flags=["--json"])
        self.check_accepted(run)
        entry = json.loads(run.stdout)["registrations"][0]
        self.assertEqual((entry["verdict"], entry["client"]), ("accepted", "alice"))
        again = json.loads(self.admit(alice, flags=["--json"]).stdout)["registrations"][0]
        self.assertEqual((entry["known_before"], again["known_before"]), (False, True))
        self.check_accepted(self.verify(ledger=self.scratch / "new-ledger"))

    def test_a_second_registration_in_a_name_leaves_the_first_alone(self):
        again = self.scratch / "again"
        run = zkapex("register", "--deployment", self.root / "deployment.zka", "--model", self.root / "alice.safetensors",
                     "--base", self.root / "theta0.safetensors", "--curvature", self.root / "alice-store.zka", "--client",
                     "alice", "-o", again)
        self.assertEqual(run.returncode, 0, run)
        ledger = self.new_ledger()
        self.check_not_admitted("client", again / "registration.zka", ledger=ledger)
        self.check_accepted(self.unlearn(again, "w1.zka"))
        self.check_rejected("registration", proof=self.scratch / "p.zka", ledger=ledger)
        self.check_accepted(self.verify(ledger=ledger))

    def test_ruined_registrations(self):
        source, target = self.root / "alice/registration.zka", self.scratch / "r.zka"
        for at in (0, 9, 40, 400):
            flip(source, target, at)
            self.check_not_admitted("file", target)
        data = source.read_bytes()
        for length in (0, 7, 43, len(data) // 2, len(data) - 1):
            target.write_bytes(data[:length])
            self.check_not_admitted("file", target)
        self.forge_last_scalar(source, target)
        self.check_not_admitted("equation", target)
        self.check_not_admitted("file", self.root / "alice-1.zka")
        # A path that the provider mistyped is its own error, and says nothing of a client.
        self.check_refused(self.admit(self.scratch / "nowhere.zka"), "nowhere.zka", "no such file")
        self.check_not_admitted("deployment", source, deployment="other-deployment.zka", ledger=self.scratch / "other")
        self.check_refused(self.admit(source, deployment="other-deployment.zka"), "another deployment")
        self.assertEqual(list((self.scratch / "new-ledger/clients").iterdir()), [])

    def test_a_name_cannot_imitate_a_verdict(self):
        name = 'mallory": accepted (group-obs), client "alice'
        run = zkapex("register", "--deployment", self.root / "deployment.zka", "--model", self.root / "alice.safetensors",
                     "--base", self.root / "theta0.safetensors", "--curvature", self.root / "alice-store.zka", "--client",
                     name, "-o", self.scratch / "client")
        self.assertEqual(run.returncode, 0, run)
        self.check_accepted(self.unlearn(self.scratch / "client", "w1.zka"))
        run = self.batch(self.inbox(**{"accepted  folder": self.scratch / "p.zka"}))
        self.assertEqual(run.returncode, 1)
        line = run.stdout.splitlines()[0]
        self.assertTrue(line.startswith('rejected  folder "accepted  folder", client "mallory\\": accepted'), line)

    def test_what_clients_choose_is_quoted_everywhere(self):
        for name in ("alice-1.zka", "alice/registration.zka"):
            shown = zkapex("inspect", self.root / name).stdout
            self.assertIn('"alice"\n', shown)
        hostile = self.scratch / 'x: admitted: client "alice"\n  known before  yes\nfoo'
        hostile.mkdir()
        flip(self.root / "alice/registration.zka", hostile / "registration.zka", 40)
        run = self.admit(hostile / "registration.zka")
        self.assertTrue(run.stdout.startswith("rejected (file): "), run.stdout)
        self.assertNotIn("\nfoo", run.stdout)

    def test_records_are_not_replaced_by_outputs(self):
        ledger = self.new_ledger()
        before = {p: p.read_bytes() for p in ledger.rglob("*") if p.is_file()}
        mask = ["mask", "--deployment", self.root / "deployment.zka", "--scores", self.root / "scores-w1.zka.safetensors",
                "--ratio", "0.1", "--window", "w9", "--force"]
        for name in ("deployment.zka", "clients/alice/model.zka", "clients/alice/registered.zka"):
            self.check_refused(zkapex(*mask, "-o", ledger / name), "record")
        self.check_refused(self.unlearn(self.copy_of("alice"), "w1.zka", "--force", out=ledger / "clients/alice/model.zka"),
                           "record")
        self.check_refused(zkapex("register", "--deployment", self.root / "deployment.zka", "--model",
                                  self.root / "alice.safetensors", "--base", self.root / "theta0.safetensors",
                                  "--curvature", self.root / "alice-store.zka", "--client", "eve", "-o", ledger), "cannot be a client's folder")
        self.assertEqual({p: p.read_bytes() for p in ledger.rglob("*") if p.is_file()}, before)

    # Proofs

    def test_flipped_bytes(self):
        size = (self.root / "alice-1.zka").stat().st_size
        for at in random.Random(5).sample(range(size), 6) + [0, 8, size - 1]:
            flip(self.root / "alice-1.zka", self.scratch / "p.zka", at)
            self.check_rejected("file", proof=self.scratch / "p.zka")
        self.forge_last_scalar(self.root / "alice-1.zka", self.scratch / "p.zka")
        self.check_rejected("equation", proof=self.scratch / "p.zka")

    def test_truncated_and_foreign_files(self):
        data = (self.root / "alice-1.zka").read_bytes()
        for length in (0, 7, 43, len(data) // 2, len(data) - 1):
            (self.scratch / "short.zka").write_bytes(data[:length])
            self.check_rejected("file", proof=self.scratch / "short.zka")
        (self.scratch / "long.zka").write_bytes(data + b"\0")
        self.check_rejected("file", proof=self.scratch / "long.zka")
        self.check_rejected("file", proof="w1.zka")

    def test_another_client_s_proof_is_that_client_s(self):
        # Public files can be copied: a proof counts for who made it, whoever hands it in, and once.
        ledger = self.new_ledger()
        report = json.loads(self.batch(self.inbox(mallory="alice-1.zka"), "--json", ledger=ledger).stdout)
        self.assertEqual((report["accepted"], report["clients"][0]["client"]), (1, "alice"))
        self.check_rejected("window", ledger=ledger)

    def test_another_mask(self):
        self.check_rejected("mask", mask="w2.zka")
        self.check_rejected("mask", mask="other-w1.zka")  # of the same window

    def test_what_clients_upload_is_not_the_provider_s_record(self):
        """Bob uploads alice's registration and commitment beside his proof: only the ledger counts."""
        inbox = self.inbox(bob="bob-1.zka")
        shutil.copy(self.root / "alice/registration.zka", inbox / "bob/registration.zka")
        shutil.copy(self.new_ledger() / "clients/alice/model.zka", inbox / "bob/commitment.zka")
        report = json.loads(self.batch(inbox, "--json").stdout)["clients"][0]
        self.assertEqual((report["verdict"], report["client"]), ("accepted", "bob"))
        # A proof from another start than the ledger's is rejected, whatever lies beside it.
        state = self.copy_of("alice-1")
        self.check_accepted(self.unlearn(state, "w2.zka"))
        shutil.copy(self.scratch / "p.zka", inbox / "bob/proof.zka")
        run = zkapex("verify", "--ledger", self.new_ledger(), "--mask", self.root / "w2.zka", "--batch", inbox, "--json")
        self.assertEqual(json.loads(run.stdout)["clients"][0]["reason"], "model")

    # Batches

    def test_batch(self):
        run = self.batch(self.inbox(alice="alice-1.zka", bob="bob-1.zka"))
        self.check_accepted(run)
        self.assertEqual(run.stdout,
                         'accepted  folder "alice", client "alice": group-obs, certified error 2e-5\n'
                         'accepted  folder "bob", client "bob": group-obs, certified error 2e-5\n'
                         'window "w1": 2 accepted, 0 rejected\n'
                         "not proved: that the curvature was computed from the client's own data\n"
                         'not proved: that the model was trained from the base model: tensors that it holds are near it in norm, '
                         'which is less\n'
                         'not proved: that the client uses the new model and keeps no copy of the old one\n'
                         'not proved: that the client chose its model before it knew the request, which was not published in the '
                         'ledger (zkapex publish)\n')

    def test_what_one_client_plants_is_its_own_rejection(self):
        inbox = self.inbox(alice="alice-1.zka", copied="alice-1.zka", forged="alice-1.zka", ruined="alice-1.zka")
        self.forge_last_scalar(self.root / "alice-1.zka", inbox / "forged/proof.zka")
        flip(self.root / "alice-1.zka", inbox / "ruined/proof.zka", 500)
        for name in ("absent", "itself", "link", "pipe", "huge", "nested"):
            (inbox / name).mkdir()
        (inbox / "itself/proof.zka").symlink_to("proof.zka")
        (inbox / "link/proof.zka").symlink_to(self.root / "alice-1.zka")
        (inbox / "folder-link").symlink_to(inbox / "alice")
        os.mkfifo(inbox / "pipe/proof.zka")
        (inbox / "nested/proof.zka").mkdir()
        with open(inbox / "huge/proof.zka", "wb") as file:
            file.truncate(2 << 30)
        run = self.batch(inbox, "--json")
        self.assertEqual((run.returncode, run.stderr), (1, ""), run)
        report = json.loads(run.stdout)
        self.assertEqual({c["folder"]: c.get("reason") for c in report["clients"]},
                         {"alice": None, "copied": "window", "forged": "equation", "ruined": "file", "absent": "file",
                          "itself": "file", "link": "file", "folder-link": "file", "pipe": "file", "nested": "file",
                          "huge": "length"})
        self.assertEqual((report["accepted"], report["rejected"]), (1, 10))
        self.check_refused(self.batch(inbox, "--memory", "1M"), "of memory are needed")
        # The same for a file that is named.
        for name, reason in (("itself", "file"), ("pipe", "file"), ("huge", "length")):
            self.check_rejected(reason, proof=inbox / name / "proof.zka")

    # The provider's own files

    def test_the_provider_s_own_files_are_errors(self):
        flip(self.root / "w1.zka", self.scratch / "x.zka", 60)
        self.check_refused(self.verify(mask=self.scratch / "x.zka"), "x.zka", "digest")
        (self.scratch / "x.zka").write_bytes((self.root / "w1.zka").read_bytes()[:-1])
        self.check_refused(self.verify(mask=self.scratch / "x.zka"), "x.zka")
        self.check_refused(self.verify(mask="alice-1.zka"), "not a mask")
        self.check_refused(self.verify(mask="nowhere.zka"), "nowhere.zka")
        self.check_refused(self.verify("nowhere.zka"), "nowhere.zka")
        self.check_refused(self.verify(ledger=self.scratch / "nowhere"), "no ledger", "zkapex admit")
        self.check_refused(self.admit(self.root / "alice/registration.zka", deployment="w1.zka"), "not a deployment")
        self.check_refused(self.admit(self.root / "alice/registration.zka", ledger=self.root / "alice"), "no ledger")
        ledger = self.new_ledger()
        (ledger / "clients/alice/registered.zka").write_bytes(b"gone")
        self.check_refused(self.verify(ledger=ledger), "registered.zka")
        verify = ["verify", "--ledger", self.new_ledger(), "--mask", self.root / "w1.zka"]
        self.check_refused(zkapex(*verify), "--proof", "--batch")
        self.check_refused(zkapex(*verify, "--proof", self.root / "alice-1.zka", "--batch", self.root), "--proof", "--batch")
        self.check_refused(zkapex(*verify, "--batch", self.scratch / "nowhere"), "nowhere")
        (self.scratch / "empty").mkdir()
        self.check_refused(zkapex(*verify, "--batch", self.scratch / "empty"), "no folders")
        # A mask of another deployment is the provider's mistake, not the client's.
        scores = self.root / "scores-w1.zka.safetensors"
        self.assertEqual(zkapex("mask", "--deployment", self.root / "other-deployment.zka", "--scores", scores, "--ratio",
                                "0.1", "--window", "w1", "-o", self.scratch / "m.zka").returncode, 0)
        self.check_refused(self.verify(mask=self.scratch / "m.zka"), "m.zka", "deployment")


if __name__ == "__main__":
    unittest.main()
