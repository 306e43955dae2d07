"""Clients that go on learning: update, admit --update, settle --update."""

import json
import unittest

from attestation_world import COVERED, SHAPES, WithWorld, read_safetensors, write_safetensors, zkapex


class Update(WithWorld):
    def told(self, *arguments):
        quiet = [] if arguments[0] in ("settle", "inspect") else ["--quiet"]
        run = zkapex(*arguments, *quiet, "--json")
        self.assertEqual(run.returncode, 0, run)
        return json.loads(run.stdout)

    def model(self, change=lambda name, numbers: [v * 1.01 for v in numbers]):
        """Alice's unlearned model, trained on; zeros stay zeros."""
        numbers = read_safetensors(self.root / "alice-1.safetensors")
        write_safetensors(self.scratch / "next.safetensors", {n: (SHAPES[n], change(n, list(numbers[n]))) for n in SHAPES},
                          dtype="F64")
        return self.scratch / "next.safetensors"

    def update(self, state, model, *flags, out="update.zka"):
        return ["update", "--client", state, "--model", model, "--base", self.root / "theta0.safetensors", "-o",
                self.scratch / out, *flags]

    def admit(self, ledger, out="update.zka"):
        return zkapex("admit", "--ledger", ledger, "--deployment", self.root / "deployment.zka", "--base",
                      self.root / "theta0.safetensors", "--update", self.scratch / out, "--quiet", "--json")

    def ledger_after_a_window(self):
        ledger = self.new_ledger()
        self.check_accepted(self.verify(ledger=ledger))
        return ledger

    def test_a_client_learns_on_between_windows(self):
        ledger, state = self.ledger_after_a_window(), self.copy_of("alice-1")
        made = self.told(*self.update(state, self.model()))
        self.assertEqual(made["curvature"], "as before")
        seen = self.told("inspect", self.scratch / "update.zka")
        self.assertEqual((seen["kind"], seen["client"], seen["update"]), ("update", "alice", made["update"]))
        self.assertEqual(self.told("inspect", state)["pending_updates"], [made["attempt"]])
        verdict = json.loads(self.admit(ledger).stdout)["updates"][0]
        self.assertEqual((verdict["verdict"], verdict["client"], verdict["update"]), ("accepted", "alice", made["update"]))
        self.assertIn("learned again", " ".join(verdict["not_proved"]))
        settled = self.told("settle", "--client", state, "--accepted", "--update")
        self.assertEqual((settled["verdict"], settled["update"]), ("accepted", made["update"]))
        self.assertEqual(self.told("inspect", state)["last_update"], made["update"])
        # Handed in again, it was there before; the next window starts from the new model.
        again = json.loads(self.admit(ledger).stdout)["updates"][0]
        self.assertEqual((again["verdict"], again["known_before"], verdict["known_before"]), ("accepted", True, False))
        self.check_accepted(self.unlearn(state, "w2.zka"))
        self.check_accepted(self.verify(proof=self.scratch / "p.zka", mask="w2.zka", ledger=ledger))
        self.check_accepted(zkapex("settle", "--client", state, "--accepted"))
        self.told(*self.update(state, self.scratch / "u.safetensors", "--curvature", self.root / "alice-store.zka",
                               out="second.zka"))
        self.assertEqual(json.loads(self.admit(ledger, "second.zka").stdout)["updates"][0]["curvature"], "new")

    def test_what_is_refused(self):
        state = self.copy_of("alice-1")

        def refill(name, numbers):
            return [v or 0.01 for v in numbers] if name == COVERED[0] else numbers

        self.check_refused(zkapex(*self.update(state, self.model(refill))), COVERED[0], "removed")
        far = self.model(lambda name, numbers: [v * (3 if name == "classifier.weight" else 1) for v in numbers])
        self.check_refused(zkapex(*self.update(state, far)), "classifier.weight", "drifted")
        self.check_refused(zkapex("update", "--client", state, "--model", self.model(), "-o", self.scratch / "u.zka"),
                           "--base")
        self.check_refused(zkapex(*self.update(state, self.model(), out="next.safetensors")), "next.safetensors")
        self.check_refused(zkapex("settle", "--client", state, "--accepted", "--update"), "no such update is pending")
        self.check_refused(zkapex("admit", "--ledger", self.new_ledger(), "--deployment", self.root / "deployment.zka",
                                  "--base", self.root / "theta0.safetensors"), "--registration or --update")

    def test_what_is_rejected(self):
        ledger, state = self.new_ledger(), self.copy_of("alice-1")
        self.told(*self.update(state, self.model()))
        run = self.admit(ledger)  # which has not seen the window
        self.assertEqual((run.returncode, json.loads(run.stdout)["updates"][0]["reason"]), (1, "model"))
        self.forge_last_scalar(self.scratch / "update.zka", self.scratch / "forged.zka")
        run = self.admit(self.ledger_after_a_window(), "forged.zka")
        self.assertEqual((run.returncode, json.loads(run.stdout)["updates"][0]["reason"]), (1, "equation"))
        (self.scratch / "noise.zka").write_bytes(b"noise")
        run = self.admit(ledger, "noise.zka")
        self.assertEqual((run.returncode, json.loads(run.stdout)["updates"][0]["reason"]), (1, "file"))
        (self.scratch / "long.zka").write_bytes(bytes(10**7))
        run = self.admit(ledger, "long.zka")
        self.assertEqual((run.returncode, json.loads(run.stdout)["updates"][0]["reason"]), (1, "length"))
        rejected = self.told("settle", "--client", state, "--rejected", "--update")
        self.assertNotIn("update", rejected)
        self.assertNotIn("pending_updates", self.told("inspect", state))


if __name__ == "__main__":
    unittest.main()
