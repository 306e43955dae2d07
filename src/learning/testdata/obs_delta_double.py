"""Writes vit/obs_delta_double.safetensors and opt/obs_delta_double.safetensors: the Group-OBS change of golden/'s first
covered matrix, from per-sample gradients of Hugging Face's own models in double precision. Needs torch and
transformers:  python3 obs_delta_double.py"""
import pathlib

import torch
from safetensors.torch import load_file, save_file
from transformers import OPTForCausalLM, ViTForImageClassification

BLOCK, RELATIVE_DAMPING = 16, 0.01


def sample_losses(model, name, inputs):
    """The loss of each sample, one after the other."""
    if name == "vit":
        for pixels, label in zip(inputs["pixel_values"].double(), inputs["labels"].long()):
            yield torch.nn.functional.cross_entropy(model(pixel_values=pixels[None]).logits, label[None])
    else:
        for ids in inputs["input_ids"].long():
            yield model(input_ids=ids[None], labels=ids[None]).loss


def obs_delta(fisher, theta, masked):
    """x_M = -theta_M, x_C = -A_CC^-1 A_CM x_M with A = F + damping."""
    damped = fisher + RELATIVE_DAMPING * fisher.diagonal().mean() * torch.eye(BLOCK).double()
    delta, kept = torch.zeros_like(theta), ~masked
    delta[masked] = -theta[masked]
    if masked.any() and kept.any():
        delta[kept] = torch.linalg.solve(damped[kept][:, kept], -damped[kept][:, masked] @ delta[masked])
    return delta


for name, kind in ("vit", ViTForImageClassification), ("opt", OPTForCausalLM):
    folder = pathlib.Path(__file__).parent / name
    expected, inputs = load_file(folder / "expected.safetensors"), load_file(folder / "input.safetensors")
    key = next(k for k in expected if k.startswith("obs_delta.")).removeprefix("obs_delta.")
    model = kind.from_pretrained(folder, attn_implementation="eager").double().eval()
    weight = next(p for n, p in model.named_parameters() if n.endswith(key))
    gradients = [torch.autograd.grad(loss, weight)[0].reshape(-1, BLOCK) for loss in sample_losses(model, name, inputs)]
    gradients = torch.stack(gradients)
    fishers = torch.einsum("nbi,nbj->bij", gradients, gradients) / len(gradients)
    masks = expected["obs_mask." + key].reshape(-1, BLOCK) != 0
    deltas = map(obs_delta, fishers, weight.detach().reshape(-1, BLOCK), masks)
    save_file({"obs_delta." + key: torch.stack(list(deltas))}, folder / "obs_delta_double.safetensors")
