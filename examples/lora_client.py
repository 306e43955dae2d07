"""A client that fine-tunes OPT by a LoRA adapter of PEFT, answers a request with a proof, and learns on."""

import os
import tempfile

import peft
import torch
import transformers

import zkapex.torch as zt

os.chdir(tempfile.mkdtemp())
torch.manual_seed(0)
config = transformers.OPTConfig(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=64,
                                max_position_embeddings=32, word_embed_proj_dim=32)
theta0 = transformers.OPTForCausalLM(config)
theta0.save_pretrained("theta0")


def text(count):
    ids = torch.randint(0, 96, (count, 12))
    return {"input_ids": ids, "labels": ids}


def fine_tune(model, batch, steps):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    return model(**batch).loss.item()


# The provider: one deployment for all clients, anchored at its own model.
zt.save(theta0, "theta0.safetensors")
deployment = zt.Deployment.from_model(theta0, "deployment.zka", block=16)
ledger = zt.Ledger("ledger", deployment, base="theta0.safetensors")
zt.save_scores(zt.saliency(theta0, [text(8)], deployment), "scores.safetensors")

# The client: its own data, an adapter, and with the adapter merged a model that it commits to.
personal = text(8)
model = peft.get_peft_model(transformers.OPTForCausalLM.from_pretrained("theta0"),
                            peft.LoraConfig(r=4, target_modules=["fc1", "fc2"]))
print(f"fine-tuned to a loss of {fine_tune(model, personal, 10):.3f}")
zt.fisher(model, [personal], deployment, "store.zka")
client = zt.register(model, deployment, "alice", "alice", curvature="store.zka", base="theta0.safetensors")
assert ledger.admit(client.registration)

# A window: what the proof is about is the merged model, which it leaves.
request = zt.Request.make(deployment, "psi.zka", window="2026-11", scores="scores.safetensors", ratio="0.02")
ledger.publish(request)
proof = zt.unlearn(model, client, request)
verdict = ledger.verify(request, proof.data)
client.settle(accepted=verdict)
assert verdict, verdict.detail
print(f"window accepted: {request.report['masked']} weights removed, proof of {len(proof.data)} bytes")

# Learning on must keep what was removed at zero: an adapter of the attention leaves the MLPs alone.
merged = model.unload()
merged = peft.get_peft_model(merged, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
fine_tune(merged, personal, 5)
update = zt.update(merged, client, "update.zka", base="theta0.safetensors")
verdict = ledger.admit_update("update.zka")
client.settle(accepted=verdict, update=True)
assert verdict, verdict.detail
print(f"update accepted: {update['update_bytes']} bytes")
