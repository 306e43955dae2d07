"""zkapex.torch on small models: numbers against Hugging Face's own (src/learning/testdata), stories on ViT, OPT, GPT-2,
BERT and Llama, adapters of PEFT, half precision. Needs torch, transformers and peft.

Arguments: libzkapex.so; or --installed."""

import copy
import tempfile
import unittest
from collections import OrderedDict
from pathlib import Path

import numpy
import torch
from torch.nn import functional as F

from torch_world import ROOT, WithFolder, images, tiny, tokens

import docstrings
import transformers
import zkapex
import zkapex.torch as zt

TESTDATA = ROOT / "src" / "learning" / "testdata"


def obs_delta(fisher, theta, masked):
    """The Group-OBS change of one block, with a damping of 0.01 times the mean diagonal."""
    damped, kept = fisher + 0.01 * fisher.diagonal().mean() * torch.eye(len(theta)), ~masked
    out = torch.where(masked, -theta, 0)
    if masked.any() and kept.any():
        out[kept] = torch.linalg.solve(damped[kept][:, kept], -damped[kept][:, masked] @ out[masked])
    return out


class Golden(unittest.TestCase):
    """Against numbers of transformers' own implementation on the checkpoints of the C++ tests."""

    def check(self, name, model, batch):
        expected = zkapex.read_safetensors(TESTDATA / name / "expected.safetensors")
        # In the reference's own precision; then without rounding of one's own, where the reference's is left.
        self.check_single(expected, model, batch, 1e-6)
        model.double()
        batch = {key: value.double() if value.is_floating_point() else value for key, value in batch.items()}
        first, blocks = self.check_single(expected, model, batch, 2e-6)
        exact = zkapex.read_safetensors(TESTDATA / name / "obs_delta_double.safetensors")[f"obs_delta.{first}"]
        theta, masks = zt.tensors_of(model)[first].reshape(-1, 16), expected[f"obs_mask.{first}"].reshape(-1, 16) != 0
        self.close(torch.stack([obs_delta(f, t, torch.tensor(m)) for f, t, m in zip(blocks, theta, masks)]), exact,
                   1e-6)

    def check_single(self, expected, model, batch, tolerance):
        """The numbers that the reference has in single precision. Gives the first matrix, and all its Fisher blocks."""
        names = zt.covered_names(model)
        with tempfile.TemporaryDirectory() as folder:
            deployment = zt.Deployment.from_model(model, Path(folder) / "d.zka", block=16)
            scores = zt.saliency(model, [batch], deployment, chunk=3)
        parts = zip(*zt.sample_gradients(model, batch, names, chunk=3))
        gradients = {n: torch.cat(part).double() for n, part in zip(names, parts)}
        for n in names:
            self.close(scores[n], expected[f"saliency.{n}"], tolerance)
            self.close(gradients[n].mean(0), expected[f"grad.{n}"], tolerance)
            self.close(gradients[n].square().mean(0), expected[f"fisher_diag.{n}"], tolerance)
        first = next(k for k in expected if k.startswith("block_fisher.")).split(".", 1)[1]
        flat = gradients[first].flatten(1).unflatten(1, (-1, 16))
        blocks = torch.einsum("sbi,sbj->bij", flat, flat) / len(flat)
        some = expected[f"block_fisher.{first}"]
        self.close(blocks[:len(some)], some, tolerance)
        return first, blocks

    def close(self, mine, theirs, tolerance):
        theirs = torch.tensor(numpy.array(theirs)).double()
        self.assertLess((mine.double().reshape(theirs.shape) - theirs).abs().max() / theirs.abs().max(), tolerance)

    def test_vit(self):
        read = zkapex.read_safetensors(TESTDATA / "vit" / "input.safetensors")
        self.check("vit", transformers.ViTForImageClassification.from_pretrained(TESTDATA / "vit").eval(),
                   {name: torch.tensor(numpy.array(read[name])) for name in ("pixel_values", "labels")})

    def test_opt(self):
        ids = torch.tensor(numpy.array(zkapex.read_safetensors(TESTDATA / "opt" / "input.safetensors")["input_ids"]))
        self.check("opt", transformers.OPTForCausalLM.from_pretrained(TESTDATA / "opt").eval(),
                   {"input_ids": ids, "labels": ids})


class Stories(WithFolder):
    def test_vit(self):
        model = tiny("vit")
        before = {name: tensor.clone() for name, tensor in zt.tensors_of(model).items()}
        deployment, request, proof = self.story(tiny("vit"), model, images())
        self.check_second_window(deployment, request, model)
        self.assertLess(proof.report["rounding"], 1e-6)
        covered = {tensor.name for tensor in deployment.covered}
        zeros = 0
        for name, tensor in zt.tensors_of(model).items():
            self.assertEqual(torch.equal(tensor, before[name]), name not in covered, name)
            zeros += int((tensor == 0).sum()) if name in covered else 0
        self.assertEqual(zeros, request.report["masked"])

    def check_second_window(self, deployment, first, model):
        other = copy.deepcopy(model)
        second = zt.Request.make(deployment, self.here / "next.zka", window="w2", ratio="0.08", after=first,
                                 scores=self.here / "scores.safetensors")
        ledger = zt.Ledger(self.here / "ledger", deployment, base=self.here / "theta0.safetensors")
        self.assertTrue(ledger.verify(second, zt.unlearn(other, self.here / "alice", second).data))
        zt.Client(self.here / "alice").settle(accepted=True)
        zeros = sum(int((zt.tensors_of(other)[t.name] == 0).sum()) for t in deployment.covered)
        self.assertEqual(zeros, second.report["masked"])

    def test_opt_gpt2_bert_llama_are_covered_by_default(self):
        expected = {
            "opt": ["model.decoder.layers.0.fc1.weight", "model.decoder.layers.0.fc2.weight"],
            "gpt2": ["transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_proj.weight"],
            "bert": ["bert.encoder.layer.0.intermediate.dense.weight", "bert.encoder.layer.0.output.dense.weight"],
            "llama": [f"model.layers.0.mlp.{part}_proj.weight" for part in ("down", "gate", "up")],
        }
        for kind, names in expected.items():
            self.assertEqual(zt.covered_names(tiny(kind)), names, kind)
        with self.assertRaisesRegex(zkapex.Error, "cover"):
            zt.covered_names(torch.nn.Linear(2, 2))
        with self.assertRaisesRegex(zkapex.Error, "matches 'nothing'"):
            zt.covered_names(tiny("opt"), ["nothing"])

    def test_conv1d_is_taken_as_it_is_stored(self):
        model = tiny("gpt2")
        name = "transformer.h.0.mlp.c_fc.weight"
        layer = model.transformer.h[0].mlp.c_fc
        (mine,), = [g for g in zt.sample_gradients(model, tokens(1), [name])]
        linear = torch.nn.Linear(16, 64)
        linear.weight.data, linear.bias.data = layer.weight.data.T.contiguous(), layer.bias.data
        model.transformer.h[0].mlp.c_fc = linear
        model(**tokens(1)).loss.backward()
        self.assertEqual(mine.shape, (1, 16, 64))
        self.assertLess((mine[0].T - linear.weight.grad).abs().max(), 1e-6)

    def test_gpt2_through_a_window(self):
        self.story(tiny("gpt2"), tiny("gpt2"), tokens())

    def test_a_model_of_ones_own_with_an_own_loss(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        x, y = torch.randn(12, 6), torch.randn(12, 2)
        loss = lambda m, batch: (m(batch[0]) - batch[1]).square().sum(-1)
        deployment = zt.Deployment.from_model(model, self.here / "d.zka", r"\d\.weight", block=8)
        self.assertEqual([t.name for t in deployment.covered], ["0.weight", "2.weight"])
        model[1].eval()
        fast = torch.cat([g[0] for g in zt.sample_gradients(model, (x, y), ["0.weight"], loss, chunk=5)])
        slow = torch.cat([g[0] for g in zt.sample_gradients(model, (x, y), ["0.weight"], loss, vectorize=False)])
        self.assertEqual(fast.shape, (12, 8, 6))
        self.assertEqual([module.training for module in model], [True, False, True])
        self.assertLess((fast - slow).abs().max(), 1e-5)
        for memory in (1 << 20, 4 * 64):  # in one pass, and block after block: the same store
            zt.fisher(model, [(x, y)], deployment, self.here / f"{memory}.zka", loss, memory=memory, samples=9, chunk=4)
        one, many = ((self.here / f"{memory}.zka").read_bytes() for memory in (1 << 20, 4 * 64))
        self.assertEqual(one, many)
        with self.assertRaisesRegex(zkapex.Error, "no samples"):
            zt.fisher(model, [], deployment, self.here / "none.zka", loss)
        with self.assertRaisesRegex(zkapex.Error, "not finite"):
            zt.fisher(model, [(x / 0, y)], deployment, self.here / "nan.zka", loss)
        self.assertFalse((self.here / "nan.zka").exists())

    def test_half_precision_and_shards(self):
        base = tiny("opt").to(torch.bfloat16)
        base.save_pretrained(self.here / "hub", max_shard_size="4KB")
        self.assertTrue((self.here / "hub" / "model.safetensors.index.json").exists())
        names = [tensor.name for tensor in zkapex.Deployment.make(
            self.here / "hub", self.here / "sharded.zka", preset="opt", block=8, no_anchor=True).covered]
        deployment = zt.Deployment.from_model(base, self.here / "own.zka", block=8, no_anchor=True)
        self.assertEqual([tensor.name for tensor in deployment.covered], names)
        self.assertEqual((self.here / "own.zka").read_bytes(), (self.here / "sharded.zka").read_bytes())
        with self.assertRaisesRegex(zkapex.Error, "does not hold it"):
            model = tiny("opt")
            zt.save({n: t.double() / 3 for n, t in zt.tensors_of(model).items()}, self.here / "third.safetensors")
            zt.load_into(model, self.here / "third.safetensors", exact=True)

    def test_a_checkpoint_of_the_hub_in_bf16_and_shards_goes_through_a_window(self):
        base = tiny("opt").to(torch.bfloat16)
        base.save_pretrained(self.here / "hub", max_shard_size="4KB")
        model = copy.deepcopy(base)
        _, request, _ = self.story(base, model, tokens())  # the same model, in memory
        deployment = zkapex.Deployment(self.here / "d.zka")
        client = zkapex.Client.register(deployment, self.here / "hub", self.here / "store.zka", "bob",
                                        self.here / "bob", base=self.here / "hub")
        ledger = zkapex.Ledger(self.here / "ledger", deployment, base=self.here / "hub")
        self.assertTrue(ledger.admit(client.registration))
        client.unlearn(request, self.here / "bob.safetensors", self.here / "bob.zka")
        self.assertTrue(ledger.verify(request, self.here / "bob.zka"))
        for name, tensor in zkapex.read_safetensors(self.here / "bob.safetensors").items():
            mine = torch.tensor(numpy.array(tensor)).to(torch.bfloat16)
            self.assertTrue(torch.equal(mine, zt.tensors_of(model)[name]), name)

    def test_tied_weights_are_there_once(self):
        names = zt.tensors_of(tiny("opt")).keys()
        self.assertIn("model.decoder.embed_tokens.weight", names)
        self.assertNotIn("lm_head.weight", names)

    def test_adapters_are_merged_and_unmerged(self):
        import peft

        config = peft.LoraConfig(r=2, target_modules=["fc1", "fc2"], init_lora_weights=False)
        model = peft.get_peft_model(tiny("opt"), config)
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.data.mul_(0.05)
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        with zt.merged(model):
            self.assertFalse(torch.equal(zt.tensors_of(model)["model.decoder.layers.0.fc1.weight"],
                                         state["base_model.model.model.decoder.layers.0.fc1.base_layer.weight"]))
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, state[name]), name)
        self.assertEqual(zt.tensors_of(model).keys(), zt.tensors_of(tiny("opt")).keys())
        _, request, _ = self.story(tiny("opt"), model, tokens())
        covered = [zt.tensors_of(model)[name] for name in zt.covered_names(model)]
        self.assertEqual(sum(int((tensor == 0).sum()) for tensor in covered), request.report["masked"])
        ids = tokens()["input_ids"]
        with torch.no_grad():
            together = model(ids).logits
            model.unmerge_adapter()
            self.assertLess((model(ids).logits - together).abs().max(), 1e-5)

    def test_a_rehearsal_with_an_own_loss_makes_a_request_that_is_followed(self):
        model, batch = tiny("vit"), images(12)
        deployment = zt.Deployment.from_model(model, self.here / "d.zka", block=8)
        zt.save(model, self.here / "theta0.safetensors")
        zt.fisher(model, [batch], deployment, self.here / "store.zka")
        forget = {"pixel_values": batch["pixel_values"][::3]}
        with torch.no_grad():
            before = model(**forget).logits.softmax(-1)[:, 0].mean()
        seen = []

        def loss(changed, k):
            return -torch.log1p(-changed(**forget).logits.softmax(-1)[:, 0]).mean()

        request = zt.rehearse(model, deployment, self.here / "psi.zka", loss, [(model, self.here / "store.zka")],
                              window="w1", steps=30, rate=1e-2, scores=zt.saliency(model, [batch], deployment),
                              observe=lambda step, value: seen.append(value))
        self.assertLess(seen[-1], seen[0])
        self.assertEqual((request.report["operator"], request.report["method"]), ("guided", "rehearsal"))
        client = zt.register(model, deployment, "alice", self.here / "alice", curvature=self.here / "store.zka",
                             base=self.here / "theta0.safetensors")
        tried = client.try_request(request, self.here / "tried.safetensors", max_guide="5")
        self.assertTrue(tried["rules_hold"], tried)
        zt.load_into(model, self.here / "tried.safetensors")
        with torch.no_grad():
            self.assertLess(model(**forget).logits.softmax(-1)[:, 0].mean(), before)

    def test_examples_of_docstrings(self):
        torch.manual_seed(0)
        mlp = OrderedDict(fc1=torch.nn.Linear(16, 8), act=torch.nn.ReLU(), fc2=torch.nn.Linear(8, 4))
        layer = OrderedDict(mlp=torch.nn.Sequential(mlp))
        theta0 = torch.nn.Sequential(OrderedDict(layers=torch.nn.Sequential(torch.nn.Sequential(layer))))
        samples = torch.utils.data.TensorDataset(torch.randn(64, 16), torch.arange(64) % 4)
        loader = torch.utils.data.DataLoader(samples, batch_size=32)
        world = self.here / "world"
        world.mkdir()
        zt.save(theta0, world / "theta0.safetensors")
        deployment = zt.Deployment.from_model(theta0, world / "deployment.zka")
        zt.fisher(theta0, loader, deployment, world / "store.zka")
        zt.save_scores(zt.saliency(theta0, loader, deployment), world / "S.safetensors")
        request = zt.Request.make(deployment, world / "psi.zka", window="2026-11", scores=world / "S.safetensors",
                                  ratio="0.05")
        client = zt.register(theta0, deployment, "alice", world / "alice", curvature=world / "store.zka", base=theta0)
        zt.Ledger(world / "ledger", deployment, base=world / "theta0.safetensors").admit(client.registration)
        with torch.no_grad():
            before = [theta0(samples[:][0]).softmax(-1)]

        def names():
            return {"zt": zt, "zkapex": zkapex, "torch": torch, "F": F, "DataLoader": torch.utils.data.DataLoader,
                    "theta0": theta0, "model": copy.deepcopy(theta0), "loader": loader, "personal": samples,
                    "forget": [samples[3::4]], "deployment": deployment, "request": request,
                    "client": zt.Client("alice"), "ledger": zt.Ledger("ledger", deployment, base="theta0.safetensors"),
                    "kept": samples[:][0], "forgotten": samples[3::4][0], "before": before}

        docstrings.check(self, zt, world, names, {
            "zkapex.torch": ["deployment.zka", "store.zka", "alice*"], "fisher": ["store.zka"],
            "rehearse": ["psi.zka"]})


if __name__ == "__main__":
    unittest.main()
