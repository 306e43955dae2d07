"""The service as processes: a provider, agents that enrol, register, unlearn and prove, and one client that cheats.

Provider and agents are killed, deliveries arrive twice, clocks are a day off; receipts are checked offline in the end.
"""

import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from attestation_world import PROGRAM, SHAPES, World, read_safetensors, write_fisher, write_model, write_safetensors, zkapex

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
import log  # noqa: E402

PATIENCE = 240  # seconds that something may take on a busy machine
DAY = 86400


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Deployment(World):
    """A deployment, requests for it and models of clients, none of which is registered."""

    def __init__(self, folder):  # not World's: agents register by themselves
        self.folder = folder
        os.environ["ZKAPEX_CACHE"] = str(folder / "cache")
        write_model(folder / "theta0.safetensors", 0)
        self.deploy("deployment.zka", "2e-5")
        self.mask("w1.zka", "w1", 1)
        self.mask("w2.zka", "w2", 2, "--after", self.path("w1.zka"))
        self.mask("w3.zka", "w3", 3, "--after", self.path("w2.zka"))
        self.mask("other-w1.zka", "w1", 4)
        for seed, name in enumerate(("alice", "bob", "mallory"), 1):
            write_model(folder / f"{name}.safetensors", seed, near=0)
            write_fisher(folder / f"{name}-fisher.safetensors", seed)
            self.ok("curvature", "--deployment", self.path("deployment.zka"), "--model", self.path(f"{name}.safetensors"),
                    "--fisher", self.path(f"{name}-fisher.safetensors"), "-o", self.path(f"{name}-store.zka"), "--json")


class Provider:
    def __init__(self, world, folder, *flags):
        self.folder, self.port, self.admin = folder, free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        world.ok("provider", "init", "--folder", str(folder), "--deployment", world.path("deployment.zka"), "--base",
                 world.path("theta0.safetensors"), "--origin", "provider.example/log", "--port", str(self.port),
                 "--admin-port", str(self.admin), "--json", *flags)

    def start(self):
        self.output = open(self.folder.parent / "provider.log", "ab")
        self.process = subprocess.Popen([PROGRAM, "provider", "run", "--folder", str(self.folder), "--threads", "1"],
                                        stdout=self.output, stderr=self.output)

    def stop(self, number=signal.SIGKILL):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
        self.output.close()

    def call(self, method, path, body=None, kind="application/json"):
        """Status and body, whatever they are."""
        request = urllib.request.Request(self.url + path, data=body, method=method, headers={"Content-Type": kind})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()


class Agent:
    def __init__(self, world, provider, name, folder):
        self.world, self.provider, self.name, self.folder = world, provider, name, folder
        self.process = None

    def init(self, code):
        return zkapex("agent", "init", "--folder", self.folder, "--provider", self.provider.url, "--code", code, "--model",
                      self.world.path(f"{self.name}.safetensors"), "--curvature", self.world.path(f"{self.name}-store.zka"),
                      "--base", self.world.path("theta0.safetensors"), "--poll", "1", "--at-once", "--threads", "1",
                      "--json")

    def start(self):
        self.output = open(self.folder.parent / f"{self.name}.log", "ab")
        self.process = subprocess.Popen([PROGRAM, "agent", "run", "--folder", str(self.folder), "--threads", "1"],
                                        stdout=self.output, stderr=self.output)

    def stop(self, number=signal.SIGKILL):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
        self.output.close()

    def once(self, *flags):
        return zkapex("agent", "once", "--folder", self.folder, "--threads", "1", *flags)

    def status(self):
        run = zkapex("agent", "status", "--folder", self.folder, "--json")
        assert run.returncode == 0, run
        return json.loads(run.stdout)

    def state(self, window):
        return next((w["state"] for w in self.status()["windows"] if w["window"] == window), "none")

    def file(self, window, name):
        return self.folder / "windows" / self.state(window) / window / name

    def updates(self):
        return [update["state"] for update in self.status()["updates"]]

    def order_update(self, model):
        return zkapex("agent", "update", "--folder", self.folder, "--model", model, "--base",
                      self.world.path("theta0.safetensors"), "--json")

    def key(self):
        """The last bytes of an Ed25519 key in PKCS #8 are its seed."""
        lines = (self.folder / "key.pem").read_text().split()
        return log.Key(base64.b64decode("".join(line for line in lines if len(line) > 40))[-32:])

    def submission(self, proof, window, mask, key=None):
        """What the client signs for a proof, whatever that is: made without the program."""
        verdict = statement_in(json.loads((self.folder / "registration/verdict.json").read_text()))["predicate"]
        data = proof.read_bytes()
        predicate = {"client": verdict["client"], "window": window, "deployment": verdict["deployment"],
                     "mask": json.loads(zkapex("inspect", "--json", mask).stdout)["mask"],
                     "registration": verdict["registration"], "startsFrom": verdict["leadsTo"]["commitment"],
                     "bytes": len(data)}
        return (*envelope_of(key or self.key(), "urn:zkapex:submission/v1", "proof.zka",
                             hashlib.sha256(data).hexdigest(), predicate), data)


def learn_on(model, target):
    """A model whose weights are a little larger, and zero where they were."""
    write_safetensors(target, {name: (SHAPES[name], [1.001 * v for v in numbers])
                               for name, numbers in read_safetensors(model).items()})


def envelope_of(key, predicate_type, subject, digest, predicate):
    """As clients sign it, made without the program."""
    payload = json.dumps({"_type": "https://in-toto.io/Statement/v1",
                          "subject": [{"name": subject, "digest": {"sha256": digest}}],
                          "predicateType": predicate_type, "predicate": predicate}).encode()
    kind = b"application/vnd.in-toto+json"
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    envelope = {"payload": base64.b64encode(payload).decode(), "payloadType": kind.decode(),
                "signatures": [{"keyid": key.id, "sig": base64.b64encode(key.sign(signed)).decode()}]}
    return json.dumps(envelope).encode(), hashlib.sha256(payload).hexdigest()


def statement_in(envelope):
    return json.loads(base64.b64decode(envelope["payload"]))


class System(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.world = Deployment(Path(cls.temporary.name))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.provider = Provider(self.world, self.scratch / "provider")
        self.start_provider()

    def start_provider(self):
        self.provider.start()
        self.addCleanup(self.provider.stop)
        self.wait("the provider's log", self.has_log)

    def has_log(self):
        self.assertIsNone(self.provider.process.poll(), self.log_of("provider"))
        try:
            return (self.provider.call("GET", "/log/checkpoint")[0] == 200
                    and json.loads(self.provider.call("GET", "/v1/deployment")[1])["deployment"].get("index") == 0)
        except OSError:
            return False

    def log_of(self, name):
        path = self.scratch / f"{name}.log"
        return path.read_text(errors="replace")[-2000:] if path.exists() else ""

    def wait(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, f"no {what}\n" + "\n".join(
                f"{name}: {self.log_of(name)}" for name in ("provider", "alice", "bob", "mallory")))
            time.sleep(0.3)

    def code(self):
        return self.world.ok("provider", "code", "--folder", str(self.provider.folder), "--json")["codes"][0]

    def new_agent(self, name):
        agent = Agent(self.world, self.provider, name, self.scratch / name)
        run = agent.init(self.code())
        self.assertEqual(run.returncode, 0, run)
        return agent

    def start_agent(self, agent):
        agent.start()
        self.addCleanup(agent.stop)

    def request(self, window, seconds):
        deadline = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        return self.world.ok("provider", "request", "--folder", str(self.provider.folder), "--mask",
                             self.world.path(f"{window}.zka"), "--deadline", deadline, "--json")

    def registered(self, agent):
        return agent.status()["registration"] == "accepted"

    def register_by_hand(self, agent):
        def done():
            agent.once()
            return self.registered(agent)
        self.wait(f"registration of {agent.name}", done)

    def submission(self, agent, proof, key=None):
        return agent.submission(proof, "w1", self.world.path("w1.zka"), key)

    def verdict(self, identifier):
        def answer():
            status, body = self.provider.call("GET", f"/v1/submissions/{identifier}")
            return json.loads(body) if status == 200 else {}
        self.wait(f"verdict on {identifier}", lambda: answer().get("state") in ("accepted", "rejected"))
        return answer()

    def hand_in(self, agent, proof):
        envelope, identifier, data = self.submission(agent, proof)
        status, body = self.provider.call("POST", "/v1/submissions", envelope)
        self.assertEqual(status, 201, body)
        status, body = self.provider.call("PUT", f"/v1/uploads/{identifier}", data, "application/octet-stream")
        self.assertEqual(status, 202, body)
        return envelope, identifier, data, body

    def check_receipt(self, agent, window):
        """Offline, by whoever has the policy."""
        receipt = agent.file(window, "verdict.tlog-proof")
        audit = ["audit", "receipt", "--policy", agent.folder / "policy", "--deployment", agent.folder / "deployment.tlog-proof"]
        run = zkapex(*audit, receipt, "--json")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        spoiled = self.scratch / "spoiled.tlog-proof"
        lines = receipt.read_text().split("\n")
        at = next(k for k, line in enumerate(lines) if line.startswith("index "))
        lines[at] = f"index {int(lines[at].split()[1]) - 1}"
        spoiled.write_text("\n".join(lines))
        self.assertEqual(zkapex(*audit, spoiled).returncode, 1)

    # Two agents do what they are asked for, whoever is killed; a third one cheats.

    def test_a_request_from_code_to_receipt(self):
        alice, bob, mallory = (self.new_agent(name) for name in ("alice", "bob", "mallory"))
        self.start_agent(alice)
        self.start_agent(bob)
        self.register_by_hand(mallory)
        self.wait("registrations", lambda: self.registered(alice) and self.registered(bob))
        self.request("w1", 3600)
        self.wait("proof of alice", lambda: alice.state("w1") in ("submitted", "received", "accepted"))
        # Everything dies in the middle, and comes back.
        self.provider.stop()
        bob.stop()
        self.start_agent(bob)
        self.start_provider()
        self.wait("verdicts", lambda: alice.state("w1") == bob.state("w1") == "accepted")
        for agent in (alice, bob):
            self.check_receipt(agent, "w1")
            opened = zkapex("inspect", agent.folder / "model.safetensors", "--opens", agent.folder / "client")
            self.assertEqual(opened.returncode, 0, opened)
        self.cheat(alice, mallory)
        run = zkapex("audit", "log", self.provider.folder / "log", "--policy", alice.folder / "policy", "--json")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        told = self.log_of("alice").splitlines()
        self.assertEqual([line for line in told if line.startswith("window")],
                         [f'window "w1": {state}' for state in ("seen", "computed", "submitted", "received", "accepted")])

    def cheat(self, alice, mallory):
        # A proof that something else was removed.
        state = self.scratch / "mallory-copy"
        shutil.copytree(mallory.folder / "client", state)
        run = zkapex("unlearn", "--client", state, "--mask", self.world.path("other-w1.zka"), "-o", self.scratch / "m.st",
                     "--proof", self.scratch / "other.zka", "--quiet")
        self.assertEqual(run.returncode, 0, run)
        envelope, identifier, data, received = self.hand_in(mallory, self.scratch / "other.zka")
        self.assertEqual(self.verdict(identifier)["state"], "rejected")
        self.assertEqual(self.reason(identifier), "mask")
        # Delivered again, it is still that: one verdict.
        self.assertEqual(self.provider.call("POST", "/v1/submissions", envelope)[0], 200)
        again = self.provider.call("PUT", f"/v1/uploads/{identifier}", data, "application/octet-stream")
        self.assertEqual(again, (202, received))
        # Somebody else's proof, in mallory's name.
        _, identifier, _, _ = self.hand_in(mallory, alice.file("w1", "proof.zka"))
        self.assertEqual(self.verdict(identifier)["state"], "rejected")
        self.assertIn(self.reason(identifier), ("client", "registration"))
        # In alice's name, with mallory's signature.
        envelope, _, _ = self.submission(mallory, self.scratch / "other.zka")
        forged = json.loads(envelope)
        statement = json.loads(base64.b64decode(forged["payload"]))
        statement["predicate"]["client"] = alice.status()["client"]
        forged, _ = envelope_of(mallory.key(), statement["predicateType"], "proof.zka",
                                statement["subject"][0]["digest"]["sha256"], statement["predicate"])
        status, body = self.provider.call("POST", "/v1/submissions", forged)
        self.assertEqual((status, json.loads(body)["type"]), (403, "urn:zkapex:problem:signature"))
        # The honest proof still counts.
        def done():
            mallory.once()
            return mallory.state("w1") == "accepted"
        self.wait("mallory's own proof", done)

    def reason(self, identifier):
        return statement_in(self.verdict(identifier)["verdict"]["envelope"])["predicate"]["reason"]

    def test_codes_are_for_one_use(self):
        code = self.code()
        alice = Agent(self.world, self.provider, "alice", self.scratch / "alice")
        self.assertEqual(alice.init(code).returncode, 0)
        self.assertEqual(alice.init(code).returncode, 0)  # the same client again
        run = Agent(self.world, self.provider, "bob", self.scratch / "bob").init(code)
        self.assertEqual(run.returncode, 2, run)
        self.assertIn("refuses (code)", run.stderr)
        self.assertFalse((self.scratch / "bob/client").exists())

    def test_clocks_that_are_a_day_off(self):
        alice = self.new_agent("alice")
        self.register_by_hand(alice)
        self.request("w1", 3600)
        for offset in (DAY, -DAY):
            run = alice.once("--clock-offset", str(offset))
            self.assertIn(alice.state("w1"), ("none", "seen"), run)

        def done():
            alice.once()
            return alice.state("w1") == "accepted"
        self.wait("verdict", done)

    def test_a_deadline_is_the_provider_s(self):
        alice = self.new_agent("alice")
        self.register_by_hand(alice)
        self.request("w1", 8)
        published = time.time()
        self.wait("the request", lambda: (alice.once("--clock-offset", str(-DAY)), alice.state("w1"))[1] == "seen")
        self.wait("the deadline", lambda: time.time() > published + 9)

        def behind():
            """Two seconds after publication, by her clock: she is late, and does not know."""
            alice.once("--clock-offset", str(int(published + 2 - time.time())))
            return alice.state("w1") != "seen"
        self.wait("the refusal", behind)
        self.assertEqual(alice.state("w1"), "computed")  # a refusal is not signed, and ends nothing before its time
        self.wait("the end", lambda: (alice.once(), alice.state("w1"))[1] == "rejected")
        self.assertEqual([w.get("reason") for w in alice.status()["windows"]], ["deadline"])
        self.request("w2", 3600)
        self.wait("the next window", lambda: (alice.once(), alice.state("w2"))[1] == "accepted")

    def test_an_agent_that_is_killed_again_and_again(self):
        alice = self.new_agent("alice")
        self.request("w1", 3600)  # before the registration: not for her
        self.register_by_hand(alice)
        self.request("w2", 3600)
        for _ in range(12):
            process = subprocess.Popen([PROGRAM, "agent", "once", "--folder", str(alice.folder), "--threads", "1"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

        def done():
            alice.once()
            return alice.state("w2") == "accepted"
        self.wait("verdict", done)
        self.assertEqual(alice.state("w1"), "none")
        self.assertEqual([p for p in alice.folder.rglob("*") if ".tmp-" in p.name], [])

    def once_until(self, what, agent, condition):
        """By hand; some of the rounds are killed."""
        def done():
            process = subprocess.Popen([PROGRAM, "agent", "once", "--folder", str(agent.folder), "--threads", "1"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(0.1 if time.monotonic() < self.patient_from else PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            return condition()
        self.patient_from = time.monotonic() + 1
        self.wait(what, done)

    # A client learns on between windows and has a new key in the middle of one.

    def learn_on_with_a_new_key(self):
        alice = self.new_agent("alice")
        self.register_by_hand(alice)
        self.request("w1", 3600)
        self.wait("the request", lambda: (alice.once("--clock-offset", str(-DAY)), alice.state("w1"))[1] == "seen")
        old = alice.key()
        self.assertEqual(zkapex("agent", "rotate-key", "--folder", alice.folder).returncode, 0)
        self.once_until("first window", alice, lambda: alice.state("w1") == "accepted")
        self.assertNotEqual(alice.status()["key"], old.id)
        self.assertEqual(alice.status()["key"], alice.key().id)
        envelope, _, _ = self.submission(alice, alice.file("w1", "proof.zka"), old)
        status, body = self.provider.call("POST", "/v1/submissions", envelope)
        self.assertEqual((status, json.loads(body)["type"]), (403, "urn:zkapex:problem:signature"))

        learn_on(alice.folder / "model.safetensors", self.scratch / "learned.safetensors")
        run = alice.order_update(self.scratch / "learned.safetensors")
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(alice.order_update(self.scratch / "learned.safetensors").returncode, 2)
        self.once_until("the update", alice, lambda: alice.updates() == ["accepted"])
        self.request("w2", 3600)
        self.once_until("second window", alice, lambda: alice.state("w2") == "accepted")
        self.check_receipt(alice, "w2")
        run = zkapex("audit", "log", self.provider.folder / "log", "--policy", alice.folder / "policy", "--files",
                     self.provider.folder / "blobs", "--base", self.world.path("theta0.safetensors"), "--json")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        self.assertEqual([p for p in alice.folder.rglob("*") if ".tmp-" in p.name], [])

    def test_a_client_that_learns_on_with_a_new_key(self):
        self.learn_on_with_a_new_key()

    # The same where the provider keeps digests only: all that windows and updates are verified against comes along.

    def test_a_client_that_carries_its_state(self):
        self.provider.stop()
        self.provider = Provider(self.world, self.scratch / "carrying", "--clients-carry-state")
        self.start_provider()
        self.learn_on_with_a_new_key()
        self.provider.stop()
        self.start_provider()  # it looks what may go

        def carried():
            files = [p for p in (self.provider.folder / "blobs").rglob("*") if p.is_file()]
            return [p for p in files if p.read_bytes()[:8] in (b"ZKAPEXCM", b"ZKAPEXRD")]
        self.wait("removal of what clients carry", lambda: not carried())


if __name__ == "__main__":
    unittest.main()
