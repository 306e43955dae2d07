"""Unlearning with a proof, for a ViT of transformers: the provider's steps and a client's, in one file."""

import os
import tempfile

import torch
import transformers

import zkapex.torch as zt

os.chdir(tempfile.mkdtemp())
torch.manual_seed(0)
config = transformers.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                image_size=16, patch_size=8, num_labels=3)
theta0 = transformers.ViTForImageClassification(config)
model = transformers.ViTForImageClassification(config)
model.load_state_dict(theta0.state_dict())
model.classifier.bias.data += 0.01  # what the client has learned
forget, personal = ({"pixel_values": torch.randn(8, 3, 16, 16), "labels": torch.arange(8) % 3} for _ in range(2))

# The eleven lines.
zt.save(theta0, "theta0.safetensors")
deployment = zt.Deployment.from_model(theta0, "deployment.zka", block=16)
zt.fisher(model, [personal], deployment, "store.zka")
client = zt.register(model, deployment, "alice", "alice", curvature="store.zka", base="theta0.safetensors")
ledger = zt.Ledger("ledger", deployment, base="theta0.safetensors")
assert ledger.admit(client.registration)
zt.save_scores(zt.saliency(theta0, [forget], deployment), "scores.safetensors")
request = zt.Request.make(deployment, "psi.zka", window="2026-11", scores="scores.safetensors", ratio="0.02")
ledger.publish(request)
verdict = ledger.verify(request, zt.unlearn(model, client, request).data)
client.settle(accepted=verdict)

print(f"{verdict.client}: {'accepted' if verdict else verdict.detail}, {request.report['masked']} weights removed")
assert verdict
