"""What a caller does wrong with PyTorch: a step that is refused changes nothing, and models that do not fit are told.
Needs torch and transformers.

Arguments: libzkapex.so; or --installed."""

import copy
import os
import stat
import typing
import unittest
import warnings
from unittest import mock

import torch

from torch_world import WithFolder, images, tiny, tokens

import zkapex
import zkapex.torch as zt


def mlp(width=8):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))


def moved(model, by=1e-3):
    out = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in out.parameters():
            parameter.add_(by * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    return out


class WithClient(WithFolder):
    def setUp(self):
        super().setUp()
        os.chdir(self.here)
        self.addCleanup(os.chdir, "/")
        self.model, generator = mlp(), torch.Generator().manual_seed(1)
        self.base = copy.deepcopy(self.model)
        self.data = [(torch.randn(12, 6, generator=generator), torch.arange(12) % 2)]
        self.deployment = zt.Deployment.from_model(self.model, "d.zka", r"\d\.weight", block=8)
        zt.save(self.base, "theta0.safetensors")
        zt.fisher(self.model, self.data, self.deployment, "s.zka")
        zt.save_scores(zt.saliency(self.model, self.data, self.deployment), "sc.safetensors")
        self.request = zt.Request.make(self.deployment, "psi.zka", window="w1", scores="sc.safetensors", ratio="0.1")
        self.client = self.register()
        self.ledger = zt.Ledger("ledger", self.deployment, base="theta0.safetensors")
        self.assertTrue(self.ledger.admit(self.client.registration))

    def register(self, model=None, **more):
        return zt.register(model or self.model, self.deployment, "a", "a", curvature="s.zka", base=self.base, **more)

    def files(self):
        """Everything in the folder, and what is in it."""
        return {str(path): path.read_bytes() for path in self.here.rglob("*") if path.is_file()}

    def refused(self, sentence, step, kind=zkapex.Error):
        """A step that is refused changes nothing."""
        before = self.files()
        with self.assertRaisesRegex(kind, sentence):
            step()
        after = self.files()
        self.assertEqual(sorted(after), sorted(before))
        self.assertEqual(after, before)

    def still_works(self, model=None):
        proof = zt.unlearn(model or self.model, self.client, self.request)
        self.assertTrue(self.ledger.verify(self.request, proof.data))
        self.client.settle(accepted=True)


class Refusals(WithClient):
    def test_a_second_registration_replaces_nothing(self):
        self.refused("force=True", lambda: self.register(moved(self.model)))
        self.assertEqual(stat.S_IMODE((self.here / "a.safetensors").stat().st_mode), 0o600)
        self.still_works()

    def test_a_registration_that_is_forced_is_the_new_model(self):
        model = moved(self.model)
        self.register(model, force=True)
        self.register(model, force=True)
        self.assertEqual(len(list(self.here.glob("a-*.safetensors"))), 1)  # the one in use
        self.ledger = zt.Ledger("another", self.deployment, base="theta0.safetensors")
        self.assertTrue(self.ledger.admit(self.client.registration))
        self.still_works(model)

    def test_a_second_update_replaces_nothing(self):
        second, third = moved(self.model), moved(self.model, 2e-3)
        zt.update(second, self.client, "up1.zka", base=self.base)
        self.assertTrue(self.ledger.admit_update("up1.zka"))
        self.client.settle(accepted=True, update=True)
        self.refused("exists", lambda: zt.update(third, self.client, "up1.zka", base=self.base))
        zt.update(third, self.client, "up2.zka", base=self.base)
        self.client.settle(accepted=False, update=True)
        self.assertEqual(len(list(self.here.glob("a-updated-*"))), 2)
        zt.update(third, self.client, "up3.zka", base=self.base)
        self.assertEqual(len(list(self.here.glob("a-updated-*"))), 2)  # that of the rejected one is gone
        self.client.settle(accepted=False, update=True)
        self.still_works(second)

    def test_an_update_keeps_checkpoints_of_other_clients(self):
        learned = moved(self.model)
        zt.update(learned, self.client, "up1.zka", base=self.base)
        self.assertTrue(self.ledger.admit_update("up1.zka"))
        self.client.settle(accepted=True, update=True)
        os.rename("a", "a-old")
        zt.register(self.model, self.deployment, "b", "a", curvature="s.zka", base=self.base)
        # A client whose folder is called like the first part of another's files.
        zt.save(self.model, "a-updated.safetensors")
        other = zt.register(self.model, self.deployment, "c", "a-updated", curvature="s.zka", base=self.base)
        zt.update(learned, "a", "up2.zka", base=self.base)
        self.client = zkapex.Client("a-old")
        self.still_works(learned)
        self.assertTrue(other.try_request(self.request)["rules_hold"])

    def test_an_update_does_not_replace_the_clients_checkpoint(self):
        for file in ("a.safetensors", "s.zka"):
            self.refused("is an input of this command", lambda: zt.update(moved(self.model), self.client, file,
                                                                          base=self.base, force=True))

    def test_files_that_were_moved_are_named(self):
        os.rename("s.zka", "moved.zka")
        os.rename("a.safetensors", "moved.safetensors")
        self.refused("cannot read", lambda: zt.unlearn(self.model, self.client, self.request))
        self.refused("curvature=", lambda: zt.unlearn(self.model, self.client, self.request,
                                                      checkpoint="moved.safetensors"))
        proof = zt.unlearn(self.model, self.client, self.request, checkpoint="moved.safetensors", curvature="moved.zka")
        self.assertTrue(self.ledger.verify(self.request, proof.data))

    def test_damage_is_told_from_a_model_that_has_learned(self):
        secret = self.here / "a" / "secret.zka"
        whole = secret.read_bytes()
        secret.write_bytes(whole[:-40] + bytes([whole[-40] ^ 64]) + whole[-39:])
        self.refused("is damaged", lambda: zt.unlearn(self.model, self.client, self.request))
        secret.unlink()
        self.refused("is not there", lambda: zt.unlearn(self.model, self.client, self.request))

    def test_one_file_for_model_and_proof_is_refused(self):
        (self.here / "x").write_bytes(b"kept")
        self.refused("one file", lambda: zt.unlearn(self.model, self.client, self.request, model_output="x",
                                                    proof="x", force=True))

    def test_a_model_that_is_not_the_clients_is_not_replaced(self):
        learned = moved(self.model)
        weights = copy.deepcopy(learned.state_dict())
        self.refused("tensor '0.weight' differs: if it has learned on, prove that by update first",
                     lambda: zt.unlearn(learned, self.client, self.request))
        biased = copy.deepcopy(self.model)
        biased[2].bias.data.add_(0.5)
        self.refused("tensor '2.bias' differs", lambda: zt.unlearn(biased, self.client, self.request))
        self.refused(r"'0.bias' has the shape \[8\], and \[7\] in the model",
                     lambda: zt.unlearn(mlp(7), self.client, self.request))
        self.refused("do not both have '0.bias'",
                     lambda: zt.unlearn(torch.nn.Linear(6, 2), self.client, self.request, discard_changes=True))
        self.refused("a model is a torch.nn.Module", lambda: zt.unlearn({}, self.client, self.request), TypeError)
        self.assertTrue(all(torch.equal(weights[name], tensor) for name, tensor in learned.state_dict().items()))
        zt.unlearn(learned, self.client, self.request, discard_changes=True)
        zeros = sum(int((learned.state_dict()[t.name] == 0).sum()) for t in self.deployment.covered)
        self.assertEqual(zeros, self.request.report["masked"])

    def test_a_model_that_holds_no_exact_weights_stays_as_it_is(self):
        before = copy.deepcopy(self.model.state_dict())
        self.refused("does not hold it", lambda: zt.unlearn(self.model, self.client, self.request, exact=True))
        self.assertTrue(all(torch.equal(before[name], tensor) for name, tensor in self.model.state_dict().items()))
        self.assertEqual(zt.unlearn(self.model.double(), self.client, self.request, exact=True).report["rounding"], 0)

    def test_the_clients_model_is_known_in_other_types_and_in_a_later_window(self):
        half = copy.deepcopy(self.model).half()
        zt.unlearn(half, self.client, self.request)
        self.client.settle(accepted=False)
        (self.here / "a-psi-proof.zka").unlink()
        self.still_works()
        second = zt.Request.make(self.deployment, "next.zka", window="w2", scores="sc.safetensors", ratio="0.2",
                                 after=self.request)
        self.refused("'0.weight' differs", lambda: zt.unlearn(self.base, self.client, second))
        zt.unlearn(self.model, self.client, second)

    def test_weights_of_a_state_that_stands_stay(self):
        def stands(step):
            def done(*arguments, **more):
                step(*arguments, **more)
                raise KeyboardInterrupt  # which came when the step was about to end
            return done

        with mock.patch.object(zt.Client, "register", stands(zt.Client.register)):
            with self.assertRaises(KeyboardInterrupt):
                zt.register(self.model, self.deployment, "b", "b", curvature="s.zka", base=self.base)
        bob = zt.Client("b")
        self.assertTrue(self.ledger.admit(bob.registration))
        self.assertTrue(self.ledger.verify(self.request, zt.unlearn(copy.deepcopy(self.model), bob, self.request).data))
        with mock.patch.object(zt.Client, "update", stands(zt.Client.update)):
            with self.assertRaises(KeyboardInterrupt):
                zt.update(moved(self.model), self.client, "up.zka", base=self.base)
        self.assertTrue(self.ledger.admit_update("up.zka"))
        self.client.settle(accepted=True, update=True)
        self.still_works(moved(self.model))

    def test_a_registration_has_a_folder_with_a_name(self):
        for folder in ("", ".", "..", "x/.."):
            self.refused("is no name for a new folder", lambda: zt.register(
                self.model, self.deployment, "b", folder, curvature="s.zka", base=self.base))
        self.refused("drifted", lambda: zt.register(
            moved(self.model, 1.0), self.deployment, "b", "b", curvature="s.zka", base=self.base))
        self.assertFalse((self.here / "b").exists())
        self.refused("nope is no client's folder", lambda: zt.unlearn(self.model, "nope", self.request))
        (self.here / "file").touch()
        self.refused("cannot write .*file/b: ", lambda: zt.register(
            self.model, self.deployment, "b", "file/b", curvature="s.zka", base=self.base))

    def test_a_file_that_is_there_is_replaced_only_by_force(self):
        self.refused("a.safetensors exists already", lambda: zt.save(self.model, "a.safetensors"))
        self.refused("sc.safetensors exists", lambda: zt.save_scores({}, "sc.safetensors"))
        zt.save(self.model, "theta0.safetensors", force=True)

    def test_a_model_that_is_unlearned_already_is_told_so(self):
        zt.unlearn(self.model, self.client, self.request)
        self.refused("if a window that was not accepted so far has changed it",
                     lambda: zt.unlearn(self.model, self.client, self.request, proof="again.zka"))
        self.client.settle(accepted=False)
        zt.unlearn(self.model, self.client, self.request, proof="again.zka", discard_changes=True)

    def test_a_model_without_numbers_is_told(self):
        for model in (mlp().to("meta"), torch.nn.Sequential(torch.nn.LazyLinear(4))):
            self.refused("tensor '0.weight' has no numbers yet", lambda: self.register(model))

    def test_a_deployment_that_is_refused_leaves_no_file(self):
        inner = torch.nn.ModuleDict({"a": torch.nn.Linear(4, 4)})
        model = torch.nn.ModuleDict({"a": torch.nn.Linear(4, 4), "b": inner})
        self.refused("some names are the ends of others", lambda: zt.Deployment.from_model(
            model, "x.zka", r"^a\.weight", block=8))

    def test_losses_and_batches_that_are_none(self):
        x, y = self.data[0]
        for vectorize in (True, False):
            self.refused("the loss gives a float", lambda: zt.fisher(
                self.model, self.data, self.deployment, "o.zka", lambda *_: 1.0, vectorize=vectorize))
        for batch in (x, [x, y, y], (x,)):
            self.refused("neither a mapping with labels nor a pair", lambda: zt.fisher(
                self.model, [batch], self.deployment, "o.zka"))
        self.refused("do not have the same number", lambda: zt.saliency(self.model, [(x, y.sum())], self.deployment))

        def detached(model, batch):
            return model(batch[0]).detach().sum(-1)

        self.refused("does not depend on the covered weights", lambda: zt.fisher(
            self.model, self.data, self.deployment, "o.zka", detached, vectorize=False))
        with self.assertWarnsRegex(UserWarning, "all Fisher blocks are zero"):
            zt.fisher(self.model, self.data, self.deployment, "o.zka", detached)

    def test_loaders_give_the_same_samples_each_time(self):
        def fisher(loader, **more):
            return zt.fisher(self.model, loader, self.deployment, "o.zka", **more)

        for wrong in (dict(samples=0), dict(chunk=0)):
            self.refused("is a number from 1 up", lambda: fisher(self.data, **wrong))
        self.refused("there are no samples", lambda: fisher([]))
        used_up = iter(self.data)
        next(used_up)
        self.refused("an iterator, of which nothing is left", lambda: fisher(used_up))
        self.refused("times, and an iterator can only be once", lambda: fisher(iter(self.data), memory=4 * 64))

        class Shrinking(list):
            def __iter__(self):
                yield from list.__iter__(self)
                self[:] = self[:1]

        self.refused("24 samples one time and 12|12 samples one time and 24",
                     lambda: fisher(Shrinking(self.data * 2), memory=4 * 64))
        with self.assertWarnsRegex(UserWarning, "99 samples were asked for, and the loader has 12"):
            self.assertEqual(fisher(self.data, samples=99)["samples"], 12)

    def test_rehearsals_have_steps_scores_and_stores(self):
        def rehearse(store="s.zka", **more):
            return zt.rehearse(self.model, self.deployment, "r.zka", lambda *_: None, [(self.model, store)],
                               window="w", **more)

        self.refused("steps is a number from 1 up", lambda: rehearse(steps=0))
        self.refused("no score for each weight of the tensor '2.weight'",
                     lambda: rehearse(scores={"0.weight": self.model[0].weight}))
        self.refused("d.zka is no curvature store", lambda: rehearse("d.zka"))
        self.refused("cannot read nothing", lambda: rehearse("nothing"))

    def test_gradients_with_a_graph_behind_them_are_taken(self):
        weights = sum(tensor.weights for tensor in self.deployment.covered)
        gradients = torch.ones(4, weights).requires_grad_()
        with zkapex.CurvatureWriter(self.deployment, "o.zka") as store:
            at = 0
            for tensor in self.deployment.covered:
                store.gradients(gradients[:, at:at + tensor.weights])
                at += tensor.weights

    def test_a_model_of_another_architecture_has_no_gradients(self):
        for model, sentence in ((mlp(7), r"'0.weight' has the shape \[7, 6\], and \[8, 6\]"),
                                (torch.nn.Linear(6, 2), "has no tensor '0.weight'")):
            self.refused(sentence, lambda: zt.saliency(model, self.data, self.deployment))
            self.refused(sentence, lambda: zt.fisher(model, self.data, self.deployment, "other.zka"))
            self.refused(sentence, lambda: zt.register(model, self.deployment, "b", "b", curvature="s.zka"))
            self.refused(sentence, lambda: zt.rehearse(model, self.deployment, "r.zka", lambda *_: None,
                                                       [(model, "s.zka")], window="w"))
        for wrong in (dict(chunk=0), dict(chunk=-1), dict(samples=0), dict(samples=-1)):
            self.refused("is a number from 1 up", lambda: zt.saliency(self.model, self.data, self.deployment, **wrong))
        self.refused("is no regular expression", lambda: zt.Deployment.from_model(self.model, "x.zka", "("))
        self.refused("deployment is a zkapex.Deployment", lambda: zt.saliency(self.model, self.data, "d.zka"),
                     TypeError)

    def test_types_can_be_asked_for(self):
        for name in zt.__all__:
            value = getattr(zt, name)
            if getattr(value, "__module__", "").startswith("zkapex") and callable(value):
                typing.get_type_hints(value)


class Models(WithFolder):
    def test_attention_masks_are_taken_sample_after_sample(self):
        for kind in ("gpt2", "llama"):
            model, batch = tiny(kind), tokens()
            batch["attention_mask"] = torch.ones_like(batch["input_ids"])
            batch["attention_mask"][1:, 4:] = 0
            deployment = zt.Deployment.from_model(model, self.here / f"{kind}.zka", block=8)
            with self.assertWarnsRegex(UserWarning, "vectorize=False"):
                scores = zt.saliency(model, [batch], deployment)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                one_by_one = zt.saliency(model, [batch], deployment, vectorize=False)
            for name, tensor in scores.items():
                self.assertTrue(torch.equal(tensor, one_by_one[name]))

    def test_a_weight_that_has_no_part_in_the_loss_has_no_gradient(self):
        class Half(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.idle = torch.nn.Linear(6, 2), torch.nn.Linear(6, 2)

            def forward(self, x):
                return self.used(x)

        for vectorize in (True, False):
            (_, idle), = zt.sample_gradients(Half(), (torch.ones(2, 6), torch.zeros(2, dtype=torch.long)),
                                             ["used.weight", "idle.weight"], vectorize=vectorize)
            self.assertTrue(torch.equal(idle, torch.zeros(2, 2, 6)))

    def test_scores_of_half_precision_are_summed_in_single(self):
        model, batch = tiny("vit").to(torch.bfloat16), images(12)
        half = {**batch, "pixel_values": batch["pixel_values"].to(torch.bfloat16)}
        deployment = zt.Deployment.from_model(model, self.here / "d.zka", block=8)
        scores = zt.saliency(model, [half] * 40, deployment)
        once = zt.saliency(model, [half], deployment)
        for name, tensor in scores.items():  # a mean, however often the same is added
            self.assertEqual(tensor.dtype, torch.float32)
            self.assertLess((tensor - once[name]).abs().max(), 1e-4 * once[name].abs().max())

    def test_wrapped_models_have_their_own_names(self):
        model = mlp()
        wanted = list(zt.tensors_of(model))
        for wrapped in (torch.compile(model), torch.nn.DataParallel(model), torch.nn.DataParallel(torch.compile(model)),
                        torch.nn.Sequential(*[torch.compile(module) for module in model])):
            self.assertEqual(list(zt.tensors_of(wrapped)), wanted)
            (first,), = zt.sample_gradients(wrapped, (torch.ones(2, 6), torch.zeros(2, dtype=torch.long)), ["0.weight"])
            self.assertEqual(first.shape, (2, 8, 6))


if __name__ == "__main__":
    unittest.main()
