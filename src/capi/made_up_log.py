"""A small log for tests of receipts, written by plain Python (reference/log.py): a deployment, and a verdict on a
registration, of files that nobody has."""

import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
import log  # noqa: E402

ORIGIN = "provider.example/log"
CLIENT = "0123456789abcdef0123456789abcdef"
LOG_KEY, PROVIDER, SOMEBODY = (log.Key(bytes([number]) * 32) for number in (1, 2, 3))


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def deployment():
    return log.envelope(log.statement("deployment", "deployment.zka", digest("deployment"), {
        "deployment": digest("frame"), "bytes": 1000, "log": log.verifier_key(ORIGIN, LOG_KEY),
        "provider": {"algorithm": "ed25519", "publicKey": log.b64(PROVIDER.spki)}, "certifiedError": "2e-5",
        "anchored": True, "operators": ["group-obs"], "certificateRequired": False, "retentionDays": 30,
        "verdictSeconds": 3600, "time": "2026-11-01T00:00:00Z"}), PROVIDER)


def verdict(key):
    return log.envelope(log.statement("verdict", "commitment.zka", digest("model"), {
        "verifier": {"id": "urn:zkapex:verifier", "version": {"zkapex": "0.1.0"}},
        "timeVerified": "2026-11-01T10:00:00Z", "resourceUri": f"urn:zkapex:client:{CLIENT}",
        "verificationResult": "PASSED", "of": "registration", "id": digest("id"),
        "file": {"sha256": digest("registration"), "bytes": 2000}, "client": CLIENT, "deployment": digest("frame"),
        "registration": digest("registered"), "certifiedError": "2e-5", "curvature": "assumed",
        "received": "2026-11-01T09:00:00Z",
        "leadsTo": {"sha256": digest("model"), "bytes": 3000, "commitment": digest("commitment")}}), key)


def write(folder):
    """policy, and receipts: deployment.tlog-proof, verdict.tlog-proof, and forged.tlog-proof, of a verdict that somebody
    else has signed."""
    entries = [deployment(), verdict(PROVIDER), verdict(SOMEBODY)]
    leaves = [log.leaf_hash(entry) for entry in entries]
    note = log.checkpoint(ORIGIN, LOG_KEY, leaves)
    Path(folder, "policy").write_text(f"log {log.verifier_key(ORIGIN, LOG_KEY)}\nquorum none\n", encoding="utf-8")
    for index, name in enumerate(("deployment", "verdict", "forged")):
        Path(folder, f"{name}.tlog-proof").write_text(log.receipt(entries[index], index, leaves, note), encoding="utf-8")
