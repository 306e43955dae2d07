"""What tests with PyTorch share: the package that the arguments name, small models, and a client's story.

Arguments: libzkapex.so; or --installed."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if sys.argv[-1] == "--installed":
    sys.argv.pop()
else:
    os.environ["ZKAPEX_LIBRARY"] = sys.argv.pop()
    sys.path.insert(0, str(ROOT / "python" / "src"))
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers

import zkapex.torch as zt


def tiny(kind, **more):
    torch.manual_seed(0)
    sizes = dict(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)
    if kind == "opt":
        config = transformers.OPTConfig(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                        ffn_dim=24, max_position_embeddings=32, word_embed_proj_dim=16, **more)
        return transformers.OPTForCausalLM(config).eval()
    if kind == "gpt2":
        config = transformers.GPT2Config(vocab_size=64, n_embd=16, n_layer=1, n_head=2, n_positions=32, **more)
        return transformers.GPT2LMHeadModel(config).eval()
    if kind == "bert":
        config = transformers.BertConfig(**sizes, max_position_embeddings=32, num_labels=3, **more)
        return transformers.BertForSequenceClassification(config).eval()
    if kind == "llama":
        config = transformers.LlamaConfig(**sizes, max_position_embeddings=32, **more)
        return transformers.LlamaForCausalLM(config).eval()
    config = transformers.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                                    image_size=8, patch_size=4, num_labels=3, **more)
    return transformers.ViTForImageClassification(config).eval()


def tokens(count=4):
    ids = torch.randint(0, 64, (count, 6), generator=torch.Generator().manual_seed(1))
    return {"input_ids": ids, "labels": ids}


def images(count=4):
    generator = torch.Generator().manual_seed(1)
    return {"pixel_values": torch.randn(count, 3, 8, 8, generator=generator), "labels": torch.arange(count) % 3}


class WithFolder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.here = Path(temporary.name)
        os.environ["ZKAPEX_CACHE"] = str(self.here / "cache")

    def story(self, base, model, batch, **options):
        """Deploys for `base`, and takes a client with `model` through one window; the proof is accepted."""
        deployment = zt.Deployment.from_model(base, self.here / "d.zka", block=8, **options)
        zt.save(base, self.here / "theta0.safetensors")
        zt.fisher(model, [batch], deployment, self.here / "store.zka", chunk=2)
        client = zt.register(model, deployment, "alice", self.here / "alice", curvature=self.here / "store.zka",
                             base=self.here / "theta0.safetensors")
        ledger = zt.Ledger(self.here / "ledger", deployment, base=self.here / "theta0.safetensors")
        self.assertTrue(ledger.admit(client.registration))
        zt.save_scores(zt.saliency(base, [batch], deployment), self.here / "scores.safetensors")
        request = zt.Request.make(deployment, self.here / "psi.zka", window="w1", ratio="0.05",
                                  scores=self.here / "scores.safetensors")
        proof = zt.unlearn(model, client, request)
        verdict = ledger.verify(request, proof.data)
        self.assertTrue(verdict, verdict)
        client.settle(accepted=True)
        return deployment, request, proof
