"""Auditing from outside: a log that plain Python wrote (reference/log.py), about files that the program made."""

import csv
import hashlib
import json
import shutil
import sys
import unittest
from pathlib import Path

from attestation_world import WithWorld, zkapex

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
import log  # noqa: E402

ORIGIN = "provider.example/log"
CLIENT = "0123456789abcdef0123456789abcdef"
LOG_KEY, PROVIDER, CLIENT_KEY, WITNESS = (log.Key(bytes([number]) * 32) for number in (1, 2, 3, 4))


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def frame_digest(path):
    """What other files name a framed file by: the digest at its end."""
    return Path(path).read_bytes()[-32:].hex()


class Entries:
    """The entries of a log, each made when all before it are known."""

    def __init__(self, deployment):
        self.deployment, self.entries = frame_digest(deployment), []
        self.add("deployment", "deployment.zka", sha256(deployment), {
            "deployment": self.deployment, "bytes": deployment.stat().st_size, "log": log.verifier_key(ORIGIN, LOG_KEY),
            "provider": {"algorithm": "ed25519", "publicKey": log.b64(PROVIDER.spki)}, "certifiedError": "2e-5",
            "anchored": True, "operators": ["group-obs"], "certificateRequired": False, "retentionDays": 30,
            "verdictSeconds": 3600, "time": "2026-11-01T00:00:00Z"}, PROVIDER)
        self.add("client", "key", CLIENT_KEY.id, {
            "client": CLIENT, "deployment": self.deployment, "algorithm": "ed25519",
            "publicKey": log.b64(CLIENT_KEY.spki), "rotation": 0}, CLIENT_KEY, PROVIDER)

    def leaves(self):
        return [log.leaf_hash(entry) for entry in self.entries]

    def seen(self):
        return {"size": len(self.entries), "root": log.tree_hash(self.leaves()).hex()}

    def add(self, kind, subject, digest, predicate, *keys, padding=b""):
        payload = log.statement(kind, subject, digest, predicate) + padding
        self.entries.append(log.envelope(payload, *keys))
        return hashlib.sha256(payload).hexdigest()

    def registration(self, path):
        self.registered = frame_digest(path)
        return self.add("registration", "registration.zka", sha256(path), {
            "client": CLIENT, "deployment": self.deployment, "registration": self.registered,
            "bytes": path.stat().st_size, "certificate": False, "checkpoint": self.seen()}, CLIENT_KEY)

    def window(self, path, name, inspected):
        self.mask = frame_digest(path)
        return self.add("window", "psi.zka", sha256(path), {
            "window": name, "deployment": self.deployment, "mask": self.mask, "predecessor": "0" * 64,
            "nonce": inspected["nonce"], "operator": "group-obs", "bytes": path.stat().st_size,
            "opens": "2026-11-02T00:00:00Z", "deadline": "2026-11-09T00:00:00Z", "checkpoint": self.seen()}, PROVIDER)

    def submission(self, path, name, start):
        return self.add("submission", "proof.zka", sha256(path), {
            "client": CLIENT, "window": name, "deployment": self.deployment, "mask": self.mask,
            "registration": self.registered, "startsFrom": start, "bytes": path.stat().st_size}, CLIENT_KEY)

    def update(self, path, start, digest=None, padding=b""):
        return self.add("update", "update.zka", sha256(path), {
            "client": CLIENT, "deployment": self.deployment, "registration": self.registered,
            "update": digest or frame_digest(path), "startsFrom": start, "bytes": path.stat().st_size,
            "curvature": False}, CLIENT_KEY, padding=padding)

    def verdict(self, identifier, of, path, time, commitment=None, start=None, window=None, reason=None, key=PROVIDER):
        predicate = {
            "verifier": {"id": "urn:zkapex:verifier", "version": {"zkapex": "0.1.0"}}, "timeVerified": time,
            "resourceUri": f"urn:zkapex:client:{CLIENT}", "verificationResult": "FAILED" if reason else "PASSED",
            "of": of, "id": identifier, "file": {"sha256": sha256(path), "bytes": path.stat().st_size},
            "client": CLIENT, "deployment": self.deployment, "registration": self.registered,
            "certifiedError": "2e-5", "curvature": "assumed", "received": time}
        if reason:
            predicate |= {"reason": reason, "detail": "a reason"}
        else:
            predicate["leadsTo"] = {"sha256": sha256(commitment), "bytes": commitment.stat().st_size,
                                    "commitment": frame_digest(commitment)}
        if start:
            predicate["startsFrom"] = start
        if window:
            predicate |= {"window": window, "mask": self.mask, "operator": "group-obs"}
        subject = ("handed-in.zka", sha256(path)) if reason else ("commitment.zka", sha256(commitment))
        return self.add("verdict", *subject, predicate, key)


class Audit(WithWorld):
    """One client, registered and through its first window; commitments are kept after each step."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        world, root = cls.world, cls.world.folder
        world.client(CLIENT, 7)
        world.admit("audit-ledger", CLIENT)
        shutil.copytree(root / "audit-ledger", root / "registered-ledger")
        model = root / "audit-ledger" / "clients" / CLIENT / "model.zka"
        (root / "first.zka").write_bytes(model.read_bytes())
        world.ok("unlearn", "--client", world.path(CLIENT), "--mask", world.path("w1.zka"), "-o",
                 world.path("audited.safetensors"), "--proof", world.path("audited.zka"), "--json")
        world.ok("verify", "--ledger", world.path("audit-ledger"), "--mask", world.path("w1.zka"), "--proof",
                 world.path("audited.zka"), "--json")
        (root / "second.zka").write_bytes(model.read_bytes())
        files = root / "files"
        files.mkdir()
        cls.registration = root / CLIENT / "registration.zka"
        for path in (root / "deployment.zka", root / "w1.zka", root / "audited.zka", cls.registration):
            (files / sha256(path)).write_bytes(path.read_bytes())
        cls.inspected = world.ok("inspect", "--json", world.path("w1.zka"))
        cls.honest = cls.make_entries()

    @classmethod
    def make_entries(cls, reason=None, second=False, late=False, key=PROVIDER, lost=None):
        root, out = cls.world.folder, Entries(cls.world.folder / "deployment.zka")
        identifier = out.registration(cls.registration)
        out.verdict(identifier, "registration", cls.registration, "2026-11-01T10:00:00Z", root / "first.zka")
        out.window(root / "w1.zka", "w1", cls.inspected)
        start = frame_digest(root / "first.zka")
        identifier = out.submission(root / "audited.zka", "w1", start)
        time = "2026-11-10T00:00:00Z" if late else "2026-11-03T00:00:00Z"
        arguments = {"start": start, "window": "w1", "reason": reason, "key": key}
        out.verdict(identifier, "submission", root / "audited.zka", time, lost or root / "second.zka", **arguments)
        if second:
            out.verdict(identifier, "submission", root / "audited.zka", time, root / "second.zka", **arguments)
        return out

    def write(self, entries, witnesses=(("witness.example", WITNESS, 1_795_000_000),)):
        """The log in a folder, its policy, and receipts of the first and the last entry."""
        note = log.checkpoint(ORIGIN, LOG_KEY, entries.leaves(), witnesses)
        log.write_log(self.scratch / "log", entries.entries, note)
        (self.scratch / "policy").write_text(
            f"log {log.verifier_key(ORIGIN, LOG_KEY)}\nwitness w {log.verifier_key('witness.example', WITNESS, 4)}\nquorum w\n",
            encoding="utf-8")
        for name, index in (("deployment", 0), ("last", len(entries.entries) - 1)):
            text = log.receipt(entries.entries[index], index, entries.leaves(), note)
            (self.scratch / f"{name}.tlog-proof").write_text(text, encoding="utf-8")

    def audit(self, *flags, command="log", what=None):
        return zkapex("audit", command, what or self.scratch / "log", "--policy", self.scratch / "policy", *flags)

    def audit_receipt(self, *flags):
        return self.audit(*flags, command="receipt", what=self.scratch / "last.tlog-proof")

    def check_found(self, part, *flags):
        run = self.audit("--json", *flags)
        self.assertEqual(run.returncode, 1, run)
        self.assertIn(part, json.dumps(json.loads(run.stdout)["findings"]))
        self.assertEqual(self.audit(*flags).returncode, 1)

    # Receipts

    def test_a_receipt_is_checked_offline(self):
        self.write(self.honest)
        run = self.audit_receipt("--json", "--deployment", self.scratch / "deployment.tlog-proof")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        told = json.loads(run.stdout)
        self.assertEqual((told["verdict"], told["result"], told["client"], told["window"], told["index"], told["size"]),
                         ("accepted", "PASSED", CLIENT, "w1", 6, 7))
        self.assertEqual((told["witnesses"], told["file_sha256"]), (1, sha256(self.root / "audited.zka")))
        run = self.audit_receipt()
        self.assertEqual(run.returncode, 0)
        self.assertIn("signature was not checked", run.stderr)

    def test_a_receipt_of_a_rejection_is_a_receipt(self):
        self.write(self.make_entries(reason="equation"))
        run = self.audit_receipt("--json")
        self.assertEqual((run.returncode, json.loads(run.stdout)["reason"]), (0, "equation"))

    def test_a_receipt_that_proves_nothing(self):
        self.write(self.honest)
        path = self.scratch / "last.tlog-proof"
        good = path.read_text(encoding="utf-8")
        path.write_text(good.replace("index 6", "index 5"), encoding="utf-8")
        run = self.audit_receipt()
        self.assertEqual((run.returncode, run.stderr), (1, ""))
        self.assertRegex(run.stdout, r"\Arejected: the proof of inclusion")
        path.write_text(good, encoding="utf-8")
        run = self.audit_receipt("--deployment", path)
        self.assertEqual(run.returncode, 1)
        self.assertIn("no receipt of the deployment", run.stdout)

    def test_a_verdict_of_somebody_else(self):
        self.write(self.make_entries(key=CLIENT_KEY))
        run = self.audit_receipt("--deployment", self.scratch / "deployment.tlog-proof")
        self.assertEqual(run.returncode, 1)
        self.assertIn("not signed by the provider", run.stdout)

    def test_too_few_witnesses(self):
        self.write(self.honest, witnesses=())
        for run in (self.audit_receipt(), self.audit()):
            self.assertEqual(run.returncode, 1)
            self.assertIn("too few witnesses", run.stdout)

    def test_files_that_cannot_be_read(self):
        self.write(self.honest)
        self.check_refused(self.audit(command="receipt", what=self.root / "w1.zka"), "no receipt")
        self.check_refused(self.audit(what=self.scratch / "nowhere"), "no log")
        (self.scratch / "policy").write_text("hello\n", encoding="utf-8")
        self.check_refused(self.audit(), "line 1 of the policy")

    # Logs

    def test_an_honest_log(self):
        self.write(self.honest)
        run = self.audit("--json")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        told = json.loads(run.stdout)
        self.assertEqual((told["verdict"], told["size"], told["accepted"], told["waiting"], told["findings"]),
                         ("accepted", 7, 2, 0, []))
        self.assertTrue(self.audit().stdout.startswith("the log keeps its rules\n"))

    def test_broken_rules_are_found(self):
        self.write(self.make_entries(late=True))
        self.check_found("outside of its window")
        self.write(self.make_entries(second=True))
        self.check_found("second verdict")

    def test_a_changed_tile_and_another_history(self):
        self.write(self.honest)
        (self.scratch / "seen").write_bytes((self.scratch / "log" / "checkpoint").read_bytes())
        self.assertEqual(self.audit("--since", self.scratch / "seen").returncode, 0)
        tile = self.scratch / "log/tile/0/000.p/7"
        tile.write_bytes(tile.read_bytes()[:-1] + b"x")
        run = self.audit()
        self.assertEqual(run.returncode, 1)
        self.assertIn("tile/0/000.p/7", run.stdout)
        self.write(self.make_entries(reason="equation"))
        run = self.audit("--since", self.scratch / "seen")
        self.assertEqual(run.returncode, 1)
        self.assertIn("forked", run.stdout)

    # Verdicts made again

    def again(self):
        return "--files", self.root / "files", "--base", self.root / "theta0.safetensors"

    def test_verdicts_are_made_again(self):
        self.write(self.honest)
        run = self.audit("--json", "--quiet", *self.again())
        self.assertEqual(run.returncode, 0, run)
        told = json.loads(run.stdout)
        self.assertEqual((told["verified_again"], told["not_at_hand"]), (2, 0))

    def test_a_false_verdict_is_found(self):
        self.write(self.make_entries(reason="equation"))
        self.check_found("rejected (equation), and accepted here", *self.again())
        self.write(self.make_entries(lost=self.root / "first.zka"))
        self.check_found("leads to another commitment", *self.again())

    def test_a_file_that_was_not_signed_for_is_rejected_again(self):
        root, out = self.root, Entries(self.root / "deployment.zka")
        identifier = out.registration(self.registration)
        out.verdict(identifier, "registration", self.registration, "2026-11-01T10:00:00Z", root / "first.zka")
        out.window(root / "w1.zka", "w1", self.inspected)
        start, right = frame_digest(root / "first.zka"), out.registered
        # A good proof under a statement with another registration; then under the right one.
        for registered, reason in (("ab" * 32, "registration"), (right, None)):
            out.registered = registered
            identifier = out.submission(root / "audited.zka", "w1", start)
            out.verdict(identifier, "submission", root / "audited.zka", "2026-11-03T00:00:00Z", root / "second.zka",
                        start=start, window="w1", reason=reason)
        self.write(out)
        run = self.audit("--json", "--quiet", *self.again())
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(json.loads(run.stdout)["verified_again"], 3)

    def test_an_update_counts_once_and_as_it_was_signed_for(self):
        world, root = self.world, self.root
        state, ledger = self.copy_of(CLIENT), self.new_ledger("registered-ledger")
        update, model = self.scratch / "update.zka", ledger / "clients" / CLIENT / "model.zka"
        world.ok("settle", "--client", state, "--rejected", "--json")
        world.ok("update", "--client", state, "--model", world.path(f"{CLIENT}.safetensors"), "--base",
                 world.path("theta0.safetensors"), "-o", update, "--quiet", "--json")
        world.ok("admit", "--ledger", ledger, "--deployment", world.path("deployment.zka"), "--base",
                 world.path("theta0.safetensors"), "--update", update, "--quiet", "--json")
        out, start = Entries(root / "deployment.zka"), frame_digest(root / "first.zka")
        identifier = out.registration(self.registration)
        out.verdict(identifier, "registration", self.registration, "2026-11-01T10:00:00Z", root / "first.zka")
        # Under a statement about another update; then as it is; then once more, in other words.
        for digest, padding, reason in (("ab" * 32, b"", "file"), (None, b"", None), (None, b" ", "model")):
            identifier = out.update(update, start, digest, padding)
            out.verdict(identifier, "update", update, "2026-11-02T00:00:00Z", model, start=start, reason=reason)
        self.write(out)
        files = self.scratch / "files"
        shutil.copytree(root / "files", files)
        (files / sha256(update)).write_bytes(update.read_bytes())
        run = self.audit("--json", "--quiet", "--files", files, "--base", root / "theta0.safetensors")
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(json.loads(run.stdout)["verified_again"], 4)

    def test_files_that_are_not_at_hand_are_counted(self):
        self.write(self.honest)
        files = self.scratch / "files"
        files.mkdir()
        for path in (self.root / "deployment.zka", self.root / "w1.zka"):
            (files / sha256(path)).write_bytes(path.read_bytes())
        told = json.loads(self.audit("--json", "--files", files, "--base", self.root / "theta0.safetensors").stdout)
        self.assertEqual((told["verified_again"], told["not_at_hand"]), (0, 2))

    # Export

    def test_what_is_filed_about_a_window(self):
        self.write(self.honest)
        out = self.scratch / "filed"
        run = self.audit("--window", "w1", "-o", out, "--json", command="export")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        self.assertEqual(json.loads(run.stdout)["accepted"], 1)
        rows = list(csv.DictReader((out / "clients.csv").read_text(encoding="utf-8").splitlines()))
        self.assertEqual([(row["client"], row["result"], row["verdict_index"]) for row in rows], [(CLIENT, "PASSED", "6")])
        lines = (out / "envelopes.jsonl").read_bytes().splitlines()
        self.assertEqual(lines, [self.honest.entries[k] for k in (0, 1, 4, 5, 6)])
        for name in ("deployment", "window"):
            run = zkapex("audit", "receipt", out / f"{name}.tlog-proof", "--policy", out / "policy")
            self.assertEqual(run.returncode, 0, run)
        self.check_refused(self.audit("--window", "w1", "-o", out, command="export"), "exists")
        self.check_refused(self.audit("--window", "w9", "-o", self.scratch / "x", command="export"), "no window")
        self.assertFalse((self.scratch / "x").exists())


if __name__ == "__main__":
    unittest.main()
