"""Verifiable personalized machine unlearning.

A provider fixes a deployment, clients register their models, the provider publishes a request, clients unlearn and
prove it, the provider verifies:

>>> deployment = zkapex.Deployment.make("theta0.safetensors", "deployment.zka", preset="vit")
>>> client = zkapex.Client.register(deployment, "theta.safetensors", "store.zka", "alice", "alice",
...                                 base="theta0.safetensors")
>>> ledger = zkapex.Ledger("ledger", deployment, base="theta0.safetensors")
>>> ledger.admit(client.registration)
>>> request = zkapex.Request.make(deployment, "psi.zka", window="2026-11", scores="S.safetensors", ratio="0.04")
>>> ledger.publish(request)
>>> client.unlearn(request, "unlearned.safetensors", "proof.zka")
>>> verdict = ledger.verify(request, "proof.zka")
>>> client.settle(accepted=verdict)

Every step does what the command of the same name does, to the same files. For models of PyTorch see ``zkapex.torch``.
"""

from ._client import Client
from ._curvature import CurvatureWriter
from ._library import Cancelled, Error, Session, version
from ._provider import CoveredTensor, Deployment, Ledger, Request, Verdict
from ._receipt import Receipt, check_receipt
from ._safetensors import read_safetensors, write_safetensors

__version__ = version()
__all__ = [
    "Cancelled", "Client", "CoveredTensor", "CurvatureWriter", "Deployment", "Error", "Ledger", "Receipt", "Request",
    "Session", "Verdict", "check_receipt", "read_safetensors", "version", "write_safetensors",
]
