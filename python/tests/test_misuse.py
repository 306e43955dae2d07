"""What a caller does wrong without PyTorch: each is one sentence, and nothing crashes or is taken for something else.

Arguments: libzkapex.so, the program zkapex. With the package installed: the program alone, and --installed."""

import copy
import errno
import json
import os
import pathlib
import pickle
import stat
import struct
import threading
import typing
import unittest
from decimal import Decimal
from unittest import mock

import numpy

from numpy_world import BLOCK, NAME, World

import zkapex


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Handles(World):
    def test_none_is_copied_or_pickled(self):
        writer = zkapex.CurvatureWriter(self.deployment, self.here / "s.zka")
        with zkapex.Session() as session:
            for handle in (self.deployment, self.request, session, writer, self.ledger()):
                for use in (copy.copy, copy.deepcopy, pickle.dumps):
                    if isinstance(handle, zkapex.Ledger) and use is copy.copy:
                        continue  # which shares the deployment, as it should
                    with self.assertRaisesRegex(TypeError, "can be neither copied nor pickled"):
                        use(handle)

    def test_one_that_is_used_is_not_closed(self):
        deployment = zkapex.Deployment(self.root / "deployment.zka")
        request = zkapex.Request(self.root / "psi.zka", deployment)
        ledger = zkapex.Ledger(self.here / "ledger", deployment, base=self.root / "theta0.safetensors")
        client = self.register()
        self.assertTrue(ledger.admit(client.registration))
        said = []

        def close_all(*_):
            for handle in (deployment, request, session):
                try:
                    handle.close()
                except zkapex.Error as refused:
                    said.append(str(refused))

        with zkapex.Session(progress=close_all) as session:
            self.assertEqual(ledger.verify(request, b"no proof", session=session).reason, "file")
        self.assertEqual(said[:3], [f"the {what} is in use: close it when that step is over"
                                    for what in ("deployment", "request", "session")])
        self.assertEqual(ledger.verify(request, b"no proof").reason, "file")

    def test_another_thread_cannot_close_it_either_nor_use_the_session(self):
        began, over = threading.Event(), threading.Event()
        session = zkapex.Session(progress=lambda *_: (began.set(), over.wait(60)))
        made = []
        thread = threading.Thread(target=lambda: made.append(self.register(session=session)))
        thread.start()
        self.assertTrue(began.wait(60))
        with self.assertRaisesRegex(zkapex.Error, "the session is in use"):
            session.close()
        with self.assertRaisesRegex(zkapex.Error, "the session is in use"):
            zkapex.Deployment(self.root / "deployment.zka", session=session)
        over.set()
        thread.join()
        self.assertEqual(made[0].folder, self.here / "alice")
        session.close()

    def test_one_that_is_closed_says_so(self):
        with zkapex.Deployment(self.root / "deployment.zka") as deployment:
            with zkapex.Request(self.root / "psi.zka", deployment) as request:
                pass
        with self.assertRaisesRegex(zkapex.Error, "the deployment is closed"):
            zkapex.Request(self.root / "psi.zka", deployment)
        with self.assertRaisesRegex(zkapex.Error, "the deployment is closed"):
            zkapex.Ledger(self.here / "l", deployment).admit(b"x")
        with self.assertRaisesRegex(zkapex.Error, "the request is closed"):
            self.ledger().verify(request, b"x")
        with zkapex.Session() as session:
            pass
        session.close()
        with self.assertRaisesRegex(zkapex.Error, "the session is closed"):
            zkapex.Deployment(self.root / "deployment.zka", session=session)


    def test_what_is_opened_is_what_steps_use(self):
        path, asked = self.here / "d.zka", self.here / "r.zka"

        def deploy(**more):
            return zkapex.Deployment.make(self.root / "theta0.safetensors", path, preset="vit", force=True, **more)

        def ask(name=asked, of=None, **more):
            return zkapex.Request.make(of or self.deployment, name, window="w1", force=True,
                                       scores=self.root / "scores.safetensors", **more)

        deployment, request, client = deploy(block=BLOCK), ask(ratio="0.1"), self.register()
        deploy(block=2 * BLOCK)
        ask(ratio="0.3")
        for step in (lambda: ask(self.here / "none.zka", deployment, ratio="0.1"),
                     lambda: zkapex.Client.register(deployment, "m", "c", "bob", self.here / "bob"),
                     lambda: ask(self.here / "none.zka", ratio="0.4", after=request),
                     lambda: client.try_request(request),
                     lambda: client.unlearn(request, self.here / "u", self.here / "none.zka")):
            with self.assertRaisesRegex(zkapex.Error, "(d|r).zka is not what it was when this .* opened"):
                step()
        self.assertFalse((self.here / "none.zka").exists())
        asked.unlink()
        with self.assertRaisesRegex(zkapex.Error, "r.zka is not what it was"):
            client.try_request(request)
        deployment, request = deploy(block=BLOCK), ask(ratio="0.1")
        self.assertTrue(client.try_request(request)["rules_hold"])
        deployment.close()
        request.close()
        with self.assertRaisesRegex(zkapex.Error, "the request is closed"):
            client.try_request(request)
        with self.assertRaisesRegex(zkapex.Error, "the deployment is closed"):
            zkapex.Client.register(deployment, "m", "c", "bob", self.here / "bob")

    def test_paths_stay_what_they_are_in_another_folder(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.root)
        deployment = zkapex.Deployment("deployment.zka")
        request = zkapex.Request("psi.zka", deployment)
        ledger = zkapex.Ledger(os.path.relpath(self.here / "ledger"), deployment, base="theta0.safetensors")
        client = zkapex.Client(os.path.relpath(self.register().folder))
        os.chdir("/")
        self.assertTrue(ledger.folder.is_absolute() and ledger.admit(client.registration))
        self.assertTrue(client.try_request(request)["rules_hold"])
        with self.assertRaisesRegex(zkapex.Error, "folder is empty"):
            zkapex.Client("")


class Arguments(World):
    def make(self, **changed):
        return zkapex.Deployment.make(self.root / "theta0.safetensors", self.here / "d.zka",
                                      **{"preset": "vit", "block": BLOCK, "force": True, **changed})

    def ask(self, **changed):
        return zkapex.Request.make(self.deployment, self.here / "r.zka",
                                   **{"window": "w", "scores": self.root / "scores.safetensors", "ratio": "0.1",
                                      "force": True, **changed})

    def test_numbers_fit(self):
        for wrong in (dict(block=-1), dict(block=2**64 + 16), dict(bits=2**32 + 8), dict(width=-40)):
            with self.assertRaisesRegex(zkapex.Error, "is a number from 0 to"):
                self.make(**wrong)
        for wrong in (dict(block=1.5), dict(block="16")):
            with self.assertRaisesRegex(TypeError, "block is a whole number"):
                self.make(**wrong)
        with self.assertRaisesRegex(zkapex.Error, "memory is a number from 0"):
            zkapex.Session(memory=-1)
        for wrong in (-1, 1025):
            with self.assertRaisesRegex(zkapex.Error, "threads is a number from 0 to 1024"):
                zkapex.Session(threads=wrong)
        self.assertEqual(self.make(block=numpy.int64(BLOCK)).block, BLOCK)

    def test_a_zero_is_not_taken_for_the_default(self):
        for name in ("block", "bits", "floor", "width"):
            with self.assertRaisesRegex(zkapex.Error, f"{name} of 0 is not supported"):
                self.make(**{name: 0})
        for wrong in (dict(damping=0.0), dict(relative_damping=0)):
            with self.assertRaisesRegex(zkapex.Error, "damping of 0 is not supported"):
                zkapex.CurvatureWriter(self.deployment, self.here / "s.zka", **wrong)
        for wrong in (dict(pull=0), dict(guide_scale=0)):
            with self.assertRaisesRegex(zkapex.Error, "of 0 is not supported"):
                self.ask(**wrong)

    def test_a_guides_rules_need_a_guide(self):
        for wrong in ("pull", "progress", "distance", "distance_removed"):
            with self.assertRaisesRegex(zkapex.Error, f"{wrong}= without a guide"):
                self.ask(**{wrong: 1})

    def test_texts_have_no_nul_and_decimals_are_exact(self):
        with self.assertRaisesRegex(zkapex.Error, "window must not have a NUL"):
            self.ask(window="a\0b")
        with self.assertRaisesRegex(zkapex.Error, "path must not have a NUL"):
            zkapex.Deployment(f"{self.root}/deployment.zka\0x")
        for ratio in (0.1, Decimal("0.1"), numpy.float32(0.1)):
            self.assertEqual(self.ask(ratio=ratio).report["masked"], 24)
        with self.assertRaisesRegex(TypeError, "path is a text"):
            zkapex.Deployment(b"deployment.zka")

    def test_what_is_an_object_is_no_path(self):
        path = self.root / "deployment.zka"
        for call in (lambda: zkapex.Request(self.root / "psi.zka", path), lambda: zkapex.Ledger("l", path),
                     lambda: zkapex.CurvatureWriter(path, "s.zka"), lambda: zkapex.Request.make(path, "r", window="w"),
                     lambda: zkapex.Request(self.root / "psi.zka", self.request)):
            with self.assertRaisesRegex(TypeError, "deployment is a zkapex.Deployment, not a"):
                call()
        ledger, wrong = self.ledger(), self.root / "psi.zka"
        for call in (lambda: ledger.verify(wrong, b"x"), lambda: ledger.publish(wrong),
                     lambda: ledger.verify_batch(wrong, [b"x"])):
            with self.assertRaisesRegex(TypeError, "request is a zkapex.Request, not a"):
                call()
        with self.assertRaisesRegex(TypeError, "proofs is a list"):
            self.ledger().verify_batch(self.request, b"x")
        with self.assertRaisesRegex(TypeError, "session is a zkapex.Session"):
            zkapex.Deployment(path, session="s")
        with self.assertRaisesRegex(TypeError, "request is a zkapex.Request or a path"):
            zkapex.Client("alice").try_request(None)
        with self.assertRaisesRegex(TypeError, "force is True or False"):
            self.make(force="no")
        with self.assertRaisesRegex(TypeError, "progress is a function"):
            zkapex.Session(progress=5)

    def test_files_that_are_not_there_are_an_error(self):
        with self.assertRaisesRegex(zkapex.Error, "cannot read nothing: No such file"):
            self.ledger().admit("nothing")
        with self.assertRaisesRegex(TypeError, "bytes or the path of a file"):
            self.ledger().admit(None)

    def test_one_pattern_need_not_be_a_list(self):
        self.assertEqual([tensor.name for tensor in self.make(preset=None, cover=NAME).covered], [NAME])
        self.make(free="norm.weight")

    def test_sentences_name_pythons_arguments(self):
        self.register()
        with self.assertRaisesRegex(zkapex.Error, "force=True"):
            self.register()
        with self.assertRaisesRegex(zkapex.Error, "scores= and ratio="):
            self.ask(ratio=None)
        with self.assertRaisesRegex(zkapex.Error, "raise it with memory=, or give fewer threads="):
            self.register("bob", session=zkapex.Session(memory=1))
        with self.assertRaisesRegex(zkapex.Error, "^ratio: 'x' is not"):
            self.ask(ratio="x")
        with self.assertRaisesRegex(zkapex.Error, r"cannot read \S*/a--proof"):
            zkapex.Deployment(self.here / "a--proof")

    def test_fisher_blocks_are_of_the_deployments_size(self):
        with self.assertRaisesRegex(zkapex.Error, f"are {BLOCK} × {BLOCK}, and these are 4 × 16"):
            zkapex.CurvatureWriter(self.deployment, self.here / "s.zka").blocks(numpy.zeros((1, 4, 16)))
        with self.assertRaisesRegex(zkapex.Error, "31 blocks were given, and 30 are missing"):
            zkapex.CurvatureWriter(self.deployment, self.here / "s.zka").blocks(numpy.zeros((31, BLOCK, BLOCK)))

    def test_types_can_be_asked_for(self):
        for name in zkapex.__all__:
            for value in (getattr(zkapex, name), getattr(getattr(zkapex, name), "__init__", None)):
                if callable(value) and getattr(value, "__module__", "").startswith("zkapex"):
                    typing.get_type_hints(value)
        typing.get_type_hints(zkapex.Client.settle)
        typing.get_type_hints(zkapex.Ledger.verify_batch)


class Files(World):
    def test_damaged_checkpoints_are_errors(self):
        tensor = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
        for content in (b"", b"abc", b"\x08" + bytes(7) + b"notjson!", safetensors([1]), safetensors({"a": {}}),
                        safetensors({"a": tensor}, bytes(8)), safetensors({"a": {**tensor, "shape": [5]}}, bytes(16)),
                        safetensors({"a": {**tensor, "shape": [-1], "data_offsets": [-16, -8]}}, bytes(16)),
                        safetensors({"a": {**tensor, "data_offsets": [16, 0]}}, bytes(16)),
                        safetensors({"a": 3}), safetensors({"a": {**tensor, "shape": ["x"]}}, bytes(16))):
            (self.here / "x").write_bytes(content)
            with self.assertRaisesRegex(zkapex.Error, "no safetensors file|is damaged"):
                zkapex.read_safetensors(self.here / "x")
        for missing in (self.here / "nothing", self.here):
            with self.assertRaisesRegex(zkapex.Error, "cannot read"):
                zkapex.read_safetensors(missing)

    def test_each_byte_is_in_one_tensor_and_each_name_there_once(self):
        def tensor(begin, end):
            return {"dtype": "U8", "shape": [end - begin], "data_offsets": [begin, end]}

        good = {"__metadata__": {"format": "pt"}, "a": tensor(0, 4), "b": tensor(4, 8), "none": tensor(8, 8)}
        doubled = b'{"a":' + json.dumps(tensor(0, 4)).encode() + b',"a":' + json.dumps(tensor(0, 4)).encode() + b"}"
        (self.here / "x").write_bytes(safetensors(good, bytes(8)))
        self.assertEqual(sorted(zkapex.read_safetensors(self.here / "x")), ["a", "b", "none"])
        for content, sentence in (
                (safetensors(good, bytes(9)), "1 bytes behind the last tensor are in none"),
                (safetensors({**good, "b": tensor(0, 4)}, bytes(4)), "'b' does not begin where the one before it ends"),
                (safetensors({**good, "a": tensor(1, 4)}, bytes(8)), "'a' does not begin where"),
                (safetensors({**good, "__metadata__": 5}, bytes(8)), "__metadata__ is no mapping of texts"),
                (safetensors({**good, "__metadata__": {"n": 5}}, bytes(8)), "__metadata__ is no mapping of texts"),
                (safetensors({**good, "a": {**tensor(0, 4), "more": 1}}, bytes(8)), "'a' does not fit the file"),
                (safetensors({**good, "a": {**tensor(0, 4), "dtype": None}}, bytes(8)), "'a' does not fit the file"),
                (safetensors(doubled, bytes(4)), "its header is damaged"),
                (safetensors(b'{"a":' * 10**5 + b"}"), "its header is damaged"),
                (safetensors(json.dumps(good).encode() + b"\n", bytes(8)), "this is no safetensors file"),
                (safetensors(b" " + json.dumps(good).encode(), bytes(8)), "this is no safetensors file")):
            (self.here / "x").write_bytes(content)
            with self.assertRaisesRegex(zkapex.Error, sentence):
                zkapex.read_safetensors(self.here / "x")
            with self.assertRaises(zkapex.Error):  # the library refuses it, too
                zkapex.Deployment.make(self.here / "x", self.here / "d.zka", cover="a", no_anchor=True)

    def test_a_file_is_replaced_only_by_force_and_never_half(self):
        write = zkapex.write_safetensors
        write(self.here / "x", {"a": [1.0]})
        with self.assertRaisesRegex(zkapex.Error, "x exists already; choose another name, or force=True"):
            write(self.here / "x", {"a": [2.0]})
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with mock.patch.object(pathlib.Path, "replace", side_effect=full):
            with self.assertRaisesRegex(zkapex.Error, "cannot write .*x: No space left on device"):
                write(self.here / "x", {"a": [2.0]}, force=True)
        self.assertEqual([file.name for file in self.here.iterdir()], ["x"])
        self.assertEqual(zkapex.read_safetensors(self.here / "x")["a"].tolist(), [1.0])
        write(self.here / "x", {"a": [2.0]}, force=True)
        self.assertEqual(zkapex.read_safetensors(self.here / "x")["a"].tolist(), [2.0])

    def test_a_store_that_is_not_finished_stays_only_to_be_gone_on_with(self):
        for run, left in ((None, []), ("r", ["s.zka.partial", "s.zka.partial.json"])):
            with self.assertRaisesRegex(zkapex.Error, "10 of 30 blocks"):
                with zkapex.CurvatureWriter(self.deployment, self.here / "s.zka", run=run) as store:
                    store.gradients(self.gradients[:, :80])
            self.assertEqual(sorted(file.name for file in self.here.iterdir()), left)

    def test_a_store_of_zeros_is_warned_of(self):
        with self.assertWarnsRegex(UserWarning, "all Fisher blocks are zero"):
            with zkapex.CurvatureWriter(self.deployment, self.here / "s.zka") as store:
                store.gradients(0 * self.gradients)

    def test_a_registration_that_is_refused_leaves_no_folder(self):
        with self.assertRaisesRegex(zkapex.Error, "base"):
            zkapex.Client.register(self.deployment, self.root / "theta.safetensors", self.root / "store.zka", "alice",
                                   self.here / "alice")
        with self.assertRaisesRegex(zkapex.Error, "raise it with memory="):
            self.register(session=zkapex.Session(memory=1))
        self.assertEqual(list(self.here.iterdir()), [])
        (self.here / "alice").mkdir()
        with self.assertRaisesRegex(zkapex.Error, "raise it with memory="):
            self.register(session=zkapex.Session(memory=1))
        self.assertTrue((self.here / "alice").exists())

    def test_a_header_whose_length_looks_like_a_pickle_is_read(self):
        header = json.dumps({NAME: {"dtype": "F32", "shape": [16, 16], "data_offsets": [0, 1024]}}).ljust(640)
        (self.here / "x").write_bytes(safetensors(header.encode(), numpy.ones(256, "float32").tobytes()))
        made = zkapex.Deployment.make(self.here / "x", self.here / "d.zka", preset="vit", block=16)
        self.assertEqual(made.covered[0].shape, (16, 16))

    def test_lists_and_scalars_are_written(self):
        zkapex.write_safetensors(self.here / "x", {"a": [1.0, 2.0], "b": numpy.float32(3)})
        read = zkapex.read_safetensors(self.here / "x")
        self.assertEqual((read["a"].tolist(), read["b"].shape), ([1.0, 2.0], ()))
        with self.assertRaisesRegex(zkapex.Error, "no tensor is named __metadata__"):
            zkapex.write_safetensors(self.here / "x", {"__metadata__": numpy.zeros(2)})
        with self.assertRaisesRegex(zkapex.Error, "cannot write .*no/x: No such file"):
            zkapex.write_safetensors(self.here / "no" / "x", {})

    def test_a_private_file_is_private_from_its_first_byte_on(self):
        from zkapex._safetensors import write_pieces

        modes = []

        real = os.open
        os.open = lambda path, flags, mode=0o777: (modes.append(mode), real(path, flags, mode))[1]
        try:
            write_pieces(self.here / "x", [("a", "U8", (2,), numpy.zeros(2, "uint8"))], force=False, private=True)
        finally:
            os.open = real
        self.assertEqual((modes, stat.S_IMODE((self.here / "x").stat().st_mode)), ([0o600], 0o600))


if __name__ == "__main__":
    unittest.main()
