"""zkapex for any ``torch.nn.Module``.

>>> import zkapex.torch as zt
>>> deployment = zt.Deployment.from_model(model, "deployment.zka")              # provider
>>> zt.fisher(model, loader, deployment, "store.zka")                           # client
>>> client = zt.register(model, deployment, "alice", "alice", curvature="store.zka", base="theta0.safetensors")
>>> proof = zt.unlearn(model, client, "psi.zka")                                # in place

A *loss* is a function of the model and a batch that gives one loss for each sample, or their sum. Without one, batches
are mappings of a Hugging Face model's arguments with ``labels``, or pairs of inputs and labels for cross entropy.
"""

from .._client import Client
from .._provider import Ledger, Request, Verdict
from ._checkpoints import load_into, merged, save, tensors_of
from ._curvature import fisher
from ._deployment import DEFAULT_COVER, Deployment, covered_names
from ._gradients import default_loss, sample_gradients
from ._rehearsal import GuidedClient, rehearse
from ._saliency import saliency, save_scores
from ._steps import Proof, register, unlearn, update

__all__ = [
    "DEFAULT_COVER", "Client", "Deployment", "GuidedClient", "Ledger", "Proof", "Request", "Verdict", "covered_names",
    "default_loss", "fisher", "load_into", "merged", "register", "rehearse", "saliency", "sample_gradients", "save",
    "save_scores", "tensors_of", "unlearn", "update",
]
