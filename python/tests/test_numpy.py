"""The package without PyTorch: a whole story from NumPy arrays, and that its files are those of the command.

Arguments: libzkapex.so, the program zkapex. With the package installed: the program alone, and --installed."""

import filecmp
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy

from numpy_world import BLOCK, NAME, NONCE, PROGRAM, SAMPLES, SHAPE, WEIGHTS, World

import zkapex

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src/capi"))
import docstrings  # noqa: E402
import made_up_log  # noqa: E402


def command(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done
    return done


class WithNumPy(World):
    def check_same(self, made, *arguments):
        command(*arguments, "-o", self.here / "by-command")
        self.assertTrue(filecmp.cmp(self.here / "by-command", made, shallow=False), made)

    def test_files_are_those_of_the_command(self):
        deployment = ["--deployment", self.root / "deployment.zka"]
        self.check_same(self.root / "deployment.zka", "deploy", "--model", self.root / "theta0.safetensors", "--preset",
                        "vit", "--block", BLOCK)
        os.remove(self.here / "by-command")
        self.check_same(self.root / "store.zka", "curvature", *deployment, "--model", self.root / "theta.safetensors",
                        "--fisher", self.root / "gradients.safetensors")
        os.remove(self.here / "by-command")
        self.check_same(self.root / "psi.zka", "mask", *deployment, "--scores", self.root / "scores.safetensors",
                        "--ratio", "0.1", "--window", "w1", "--nonce", NONCE)

    def test_what_a_deployment_and_a_request_are(self):
        self.assertEqual([(t.name, t.shape, t.weights, t.blocks) for t in self.deployment.covered],
                         [(NAME, SHAPE, WEIGHTS, 30)])
        self.assertEqual((self.deployment.block, self.deployment.blocks), (BLOCK, 30))
        self.assertEqual((self.request.window, self.request.report["masked"]), ("w1", 24))
        self.assertEqual(self.statistics["blocks"], 30)
        self.assertEqual(zkapex.__version__, zkapex.version())

    def test_a_window_from_registration_to_settlement(self):
        client, ledger = self.register(), self.ledger()
        self.assertTrue(ledger.admit(client.registration))
        self.assertFalse(ledger.publish(self.request)["published_before"])
        self.assertTrue(ledger.publish(self.request)["published_before"])
        tried = client.try_request(self.request)
        self.assertTrue(tried["rules_hold"])
        client.unlearn(self.request, self.here / "u.safetensors", self.here / "p.zka")
        proof = (self.here / "p.zka").read_bytes()
        self.assertEqual(ledger.verify(self.request, proof[:-1]).reason, "file")
        forged = bytearray(proof)
        forged[len(forged) // 2] ^= 1
        rejected, accepted = ledger.verify_batch(self.request, [forged, proof])
        self.assertFalse(rejected)
        self.assertTrue(accepted)
        self.assertEqual(accepted.client, "alice")
        self.assertTrue(accepted.not_proved)
        self.assertEqual(client.settle(accepted=True)["window"], "w1")
        model = zkapex.read_safetensors(self.here / "u.safetensors")
        self.assertEqual(int((model[NAME] == 0).sum()), 24)
        client.update(self.here / "u.safetensors", self.here / "update.zka", base=self.root / "theta0.safetensors")
        self.assertTrue(ledger.admit_update(self.here / "update.zka"))
        client.settle(accepted=True, update=True)

    def test_a_receipt_is_checked_as_the_command_does(self):
        made_up_log.write(self.here)
        policy = self.here / "policy"
        receipt, deployment, forged = (self.here / f"{name}.tlog-proof" for name in ("verdict", "deployment", "forged"))
        shown = zkapex.check_receipt(receipt, policy, deployment=deployment.read_bytes())
        self.assertTrue(shown and shown.passed and shown.provider_checked)
        self.assertEqual((shown.statement, shown.detail), ("verdict", None))
        told = command("audit", "receipt", receipt, "--policy", policy, "--deployment", deployment, "--json").stdout
        self.assertEqual(json.loads(told), shown.report)
        alone = zkapex.check_receipt(forged, policy)
        self.assertTrue(alone and not alone.provider_checked)
        refused = zkapex.check_receipt(forged, policy, deployment=deployment)
        self.assertFalse(refused or refused.passed)
        self.assertIn("not signed by the provider", refused.detail)
        self.assertFalse(zkapex.check_receipt(receipt, policy, entry=b"another"))
        for damaged in (b"", b"hello", receipt.read_bytes()[:40]):
            self.assertRegex(zkapex.check_receipt(damaged, policy).detail, "receipt")
        shown = zkapex.check_receipt(receipt, policy, deployment=b"")  # not taken for one that was not given
        self.assertRegex(shown.detail, "the deployment's receipt: this is no receipt")

    def test_the_command_unlearns_to_the_same_model(self):
        client = self.register()
        client.unlearn(self.request, self.here / "u.safetensors", self.here / "p.zka")
        client.settle(accepted=False)
        self.check_same(self.here / "u.safetensors", "unlearn", "--client", client.folder, "--mask", self.request.path,
                        "--proof", self.here / "by-command.zka")

    def test_blocks_and_gradients_may_take_turns_and_a_run_goes_on(self):
        fisher = [self.gradients[:, k:k + BLOCK].astype(float) for k in range(0, WEIGHTS, BLOCK)]
        blocks = numpy.stack([g.T @ g / SAMPLES for g in fisher])
        first = zkapex.CurvatureWriter(self.deployment, self.here / "s.zka", run="r")
        first.gradients(self.gradients[:, :80])  # a slice: read where it is
        first.close()
        with zkapex.CurvatureWriter(self.deployment, self.here / "s.zka", run="r") as store:
            self.assertEqual(store.written, 10)
            store.blocks(blocks[10:20])
            store.gradients(self.gradients[:, 160:].astype("float64"))
        self.assertTrue((self.here / "s.zka").exists())
        with self.assertRaisesRegex(zkapex.Error, "whole blocks"):
            zkapex.CurvatureWriter(self.deployment, self.here / "t.zka").gradients(self.gradients[:, :81])
        with self.assertRaisesRegex(zkapex.Error, "float32 or float64"):
            zkapex.CurvatureWriter(self.deployment, self.here / "t.zka").blocks(blocks.astype(int))
        with self.assertRaisesRegex(zkapex.Error, "dimensions"):
            zkapex.CurvatureWriter(self.deployment, self.here / "t.zka").blocks(blocks[0])

    def test_an_error_is_the_commands_sentence(self):
        with self.assertRaises(zkapex.Error) as raised:
            zkapex.Deployment.make(self.root / "theta0.safetensors", self.here / "d.zka", cover=["nothing.*"])
        done = subprocess.run([PROGRAM, "deploy", "--model", str(self.root / "theta0.safetensors"), "--cover",
                               "nothing.*", "-o", str(self.here / "d.zka")], capture_output=True, text=True)
        said = str(raised.exception).replace("cover=", "--cover")  # which Python has in place of the option
        self.assertEqual((done.returncode, done.stderr), (2, f"zkapex: {said}\n"))
        self.assertFalse((self.here / "d.zka").exists())

    def test_progress_is_heard_and_an_exception_cancels(self):
        heard = []
        with zkapex.Session(threads=1, progress=lambda *part: heard.append(part)) as session:
            self.register("bob", session=session)
        self.assertEqual({stage for stage, _, _ in heard}, {"reading", "registering"})
        self.assertEqual(heard[-1][1], heard[-1][2])

        class Enough(Exception):
            pass

        def stop(*_):
            raise Enough

        with zkapex.Session(progress=stop) as session, self.assertRaises(Enough):
            self.register("carol", session=session)
        self.assertFalse((self.here / "carol").exists())
        self.register("carol")

    def test_a_signal_cancels_and_nothing_is_left(self):
        real = zkapex._library._Heard.__call__

        def hear(*part):
            for _ in range(2):  # whoever is in a hurry presses it again
                os.kill(os.getpid(), signal.SIGINT)
            return real(*part)

        self.handle(signal.SIGINT, signal.default_int_handler)
        with mock.patch.object(zkapex._library._Heard, "__call__", hear):
            for progress in (None, lambda *_: None):
                with zkapex.Session(progress=progress) as session, self.assertRaises(KeyboardInterrupt):
                    self.register(session=session)
                self.assertEqual(list(self.here.iterdir()), [])
        with zkapex.Session() as session:
            self.register(session=session)  # which an earlier signal does not cancel
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_signal_while_a_store_is_opened_leaves_nothing(self):
        self.handle(signal.SIGINT, signal.default_int_handler)
        opened = zkapex._library.library.zkapex_curvature_open

        def interrupted(*arguments):
            status = opened(*arguments)
            os.kill(os.getpid(), signal.SIGINT)  # heard when the handle is there already
            return status

        with mock.patch.object(zkapex._library.library, "zkapex_curvature_open", interrupted):
            with self.assertRaises(KeyboardInterrupt) as raised:  # which holds on to what it came out of
                zkapex.CurvatureWriter(self.deployment, self.here / "s.zka")
        self.assertEqual(list(self.here.iterdir()), [])
        zkapex.CurvatureWriter(self.deployment, self.here / "s.zka").close()
        del raised

    def test_a_signal_whose_handler_raises_nothing_cancels_nothing(self):
        came = []
        self.handle(signal.SIGUSR1, lambda *_: came.append(True))
        with zkapex.Session(progress=lambda *_: os.kill(os.getpid(), signal.SIGUSR1)) as session:
            self.register(session=session)
        self.assertTrue(came)

    def handle(self, number, handler):
        self.addCleanup(signal.signal, number, signal.signal(number, handler))

    def test_progress_is_shown_by_tqdm_where_that_is_installed(self):
        bars = []

        class Bar:
            def __init__(self, total, desc):
                self.total, self.stage, self.n, self.closed = total, desc, 0, False
                bars.append(self)

            def update(self, parts):
                self.n += parts

            def close(self):
                self.closed = True

        installed = {"tqdm": types.SimpleNamespace(), "tqdm.auto": types.SimpleNamespace(tqdm=Bar)}
        with mock.patch.dict(sys.modules, installed):
            with zkapex.Session(progress=True) as session:
                self.register("dora", session=session)
        self.assertEqual([(bar.stage, bar.closed) for bar in bars], [("reading", True), ("registering", True)])
        self.assertEqual(bars[-1].n, bars[-1].total)
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}), zkapex.Session(progress=True) as session:
            self.register("emil", session=session)

    def test_other_threads_run_meanwhile_and_have_sessions_of_their_own(self):
        ticks, clients = [], []
        done = threading.Event()

        def tick():
            while not done.wait(0.001):
                ticks.append(None)

        ticking = threading.Thread(target=tick)
        ticking.start()
        workers = [threading.Thread(target=lambda n=n: clients.append(self.register(f"c{n}"))) for n in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        done.set()
        ticking.join()
        self.assertEqual(len(clients), 2)
        self.assertGreater(len(ticks), 5)

    def test_a_forked_process_works_and_leaves_its_parents_sessions_alone(self):
        session = zkapex.Session()
        other = []  # a thread's own session, which the child has without the thread
        ready, done = threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: (other.append(self.register("before")), ready.set(), done.wait(60)))
        thread.start()
        ready.wait(60)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self.register("child")
                self.register("again", session=session)
            except zkapex.Error as error:
                status = 0 if "forked" in str(error) else 2
            finally:
                os._exit(status)
        done.set()
        thread.join()
        for _ in range(600):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.1)
        else:
            os.kill(child, signal.SIGKILL)
            self.fail("the child did not end")
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertTrue((self.here / "child" / "secret.zka").exists())

    def test_tensors_of_all_types_are_written_and_read(self):
        tensors = {"a": numpy.arange(6, dtype="int64").reshape(2, 3), "b": numpy.float16([1.5]), "c": numpy.array(True),
                   "d": numpy.zeros((0, 3), "float32")}
        zkapex.write_safetensors(self.here / "x.safetensors", tensors)
        read = zkapex.read_safetensors(self.here / "x.safetensors")
        for name, array in tensors.items():
            self.assertTrue(numpy.array_equal(read[name], array), name)
            self.assertEqual((read[name].dtype, read[name].shape), (array.dtype, array.shape))
        (self.here / "y").write_bytes(b"nothing of the kind")
        with self.assertRaisesRegex(zkapex.Error, "no safetensors"):
            zkapex.read_safetensors(self.here / "y")

    @unittest.skipUnless(shutil.which("cmake"), "needs CMake")
    def test_a_link_to_a_library_is_installed_as_the_library(self):
        (self.here / "libzkapex.so.0").write_bytes(b"the library")
        (self.here / "libzkapex.so").symlink_to("libzkapex.so.0")
        for step in (["-S", Path(__file__).resolve().parents[1], "-B", self.here / "build",
                      f"-DZKAPEX_LIBRARY={self.here}/libzkapex.so"],
                     ["--install", self.here / "build", "--component", "python", "--prefix", self.here / "made"]):
            subprocess.run(["cmake", *map(str, step)], check=True, capture_output=True)
        installed = self.here / "made" / "libzkapex.so"
        self.assertEqual((installed.is_symlink(), installed.read_bytes()), (False, b"the library"))

    def test_examples_of_docstrings(self):
        world = self.here / "world"
        world.mkdir()
        for name in ("theta0.safetensors", "theta.safetensors"):
            (world / name).write_bytes((self.root / name).read_bytes())
        (world / "S.safetensors").write_bytes((self.root / "scores.safetensors").read_bytes())
        made_up_log.write(world)
        deployment = zkapex.Deployment.make(world / "theta0.safetensors", world / "deployment.zka", preset="vit")
        with zkapex.CurvatureWriter(deployment, world / "store.zka") as store:
            store.gradients(self.gradients)
        request = zkapex.Request.make(deployment, world / "psi.zka", window="2026-11", scores=world / "S.safetensors",
                                      ratio="0.04")
        client = zkapex.Client.register(deployment, world / "theta.safetensors", world / "store.zka", "alice",
                                        world / "alice", base=world / "theta0.safetensors")
        zkapex.Ledger(world / "ledger", deployment, base=world / "theta0.safetensors").admit(client.registration)

        def names():
            return {"zkapex": zkapex, "numpy": numpy, "deployment": deployment, "request": request,
                    "client": zkapex.Client("alice"), "per_sample": {NAME: self.gradients},
                    "ledger": zkapex.Ledger("ledger", deployment, base="theta0.safetensors")}

        docstrings.check(self, zkapex, world, names, {
            "zkapex": ["deployment.zka", "psi.zka", "alice", "ledger"], "CurvatureWriter": ["store.zka"],
            "Ledger": ["ledger"]})


class Verdicts(World):
    def setUp(self):
        super().setUp()
        self.client, self.book = self.register(), self.ledger()
        self.assertTrue(self.book.admit(self.client.registration))

    def unlearn(self, client, name="p.zka"):
        client.unlearn(self.request, self.here / f"{name}.safetensors", self.here / name)
        return self.here / name

    def pending(self):
        return sorted(path.parent.name for path in (self.here / "alice").glob("pending*/**/secret.zka"))

    def refused(self, sentence, **arguments):
        before = self.pending()
        with self.assertRaisesRegex(zkapex.Error, sentence):
            self.client.settle(**arguments)
        self.assertEqual(self.pending(), before)

    def test_only_verdicts_are_settled(self):
        self.unlearn(self.client)
        for wrong in ("rejected", "accepted", 1, None, []):
            with self.assertRaisesRegex(TypeError, "accepted is True, False or a Verdict"):
                self.client.settle(accepted=wrong)

    def test_one_about_something_else_settles_nothing(self):
        bob = self.register("bob")
        admission = self.book.admit(bob.registration)
        proof, other, bobs = self.unlearn(self.client), self.unlearn(self.client, "q.zka"), self.unlearn(bob, "b.zka")
        self.refused("about a registration", accepted=admission)
        self.refused("does not say what it is about", accepted=zkapex.Verdict(False, {}))
        self.refused("which file it is about", accepted=self.book.verify(self.request, bytes(10**7)))
        self.refused("about client 'bob', and .*alice is that of 'alice'",
                     accepted=self.book.verify(self.request, bobs))
        self.refused("the proof that the verdict is about is not pending",
                     accepted=self.book.verify(self.request, proof.read_bytes()[:-1]))
        verdict = self.book.verify(self.request, proof)
        self.refused("about the window 'w1', not about 'w2'", accepted=verdict, window="w2")
        self.refused("about a window: settle it without update=True", accepted=verdict, update=True)
        self.refused("about one file: all=True", accepted=verdict, all=True)
        self.refused("q.zka is not the file that the verdict is about", accepted=verdict, sent=other)
        self.assertEqual(len(self.pending()), 2)
        for _ in range(2):  # of two attempts it is the one that the verdict is about, and no other later
            self.assertEqual(self.client.settle(accepted=verdict, sent=proof)["verdict"], "accepted")
        self.assertEqual(zkapex.Client(bob.folder).settle(accepted=False)["verdict"], "rejected")

    def test_a_rejection_is_settled_for_its_attempt(self):
        proof = self.unlearn(self.client)
        self.unlearn(self.client, "q.zka")
        rejected = zkapex.Ledger(self.here / "other", self.deployment, base=self.root / "theta0.safetensors")
        self.assertTrue(rejected.admit(self.register("carol").registration))
        verdict = rejected.verify(self.request, proof)
        self.assertEqual(verdict.reason, "registration")
        self.assertEqual(self.client.settle(accepted=verdict)["verdict"], "rejected")
        self.assertEqual(len(self.pending()), 1)

    def test_an_answer_that_was_lost_is_not_taken_for_a_rejection(self):
        proof = self.unlearn(self.client)
        self.book.verify(self.request, proof)
        again = self.book.verify(self.request, proof)
        self.assertEqual(again.reason, "window")
        self.refused("if this very file was accepted before and the answer was lost, settle with accepted=True",
                     accepted=again)
        self.client.settle(accepted=True, sent=proof)
        following = zkapex.Request.make(self.deployment, self.here / "next.zka", window="w2", ratio="0.2",
                                        scores=self.root / "scores.safetensors", after=self.request)
        self.client.unlearn(following, self.here / "n.safetensors", self.here / "n.zka")
        self.client.settle(accepted=self.book.verify(following, self.here / "n.zka"))

    def test_updates_too(self):
        base, model = self.root / "theta0.safetensors", self.root / "theta.safetensors"
        self.client.update(model, self.here / "one.zka", base=base)
        self.client.update(model, self.here / "two.zka", base=base)
        verdict = self.book.admit_update(self.here / "two.zka")
        self.assertTrue(verdict, verdict)
        self.refused("about an update: settle it with update=True", accepted=verdict)
        self.refused("which file it is about", accepted=self.book.admit_update(b"no update"), update=True)
        self.refused("one.zka is not the file", accepted=verdict, update=True, sent=self.here / "one.zka")
        self.assertEqual(self.client.settle(accepted=verdict, update=True)["verdict"], "accepted")
        self.refused("the update that the verdict is about is not pending", accepted=verdict, update=True)


if __name__ == "__main__":
    unittest.main()
