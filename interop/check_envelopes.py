"""Checks envelopes and statements that zkapex wrote with securesystemslib and in-toto-attestation.

Argument: the folder that the test InteropTest.WritesALogThatOthersCheck wrote.
"""

import hashlib
import json
import sys
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

SIGNED_BY = {
    "deployment": ["provider"], "client": ["client", "provider"], "registration": ["client"], "verdict": ["provider"],
    "window": ["provider"], "p256": ["p256"],
}


def read_key(path):
    key = load_pem_public_key(path.read_bytes())
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return SSlibKey.from_crypto(key, keyid=hashlib.sha256(spki).hexdigest())


def main(folder):
    keys = {path.stem: read_key(path) for path in sorted((folder / "keys").glob("*.pem"))}
    for name, signers in SIGNED_BY.items():
        content = json.loads((folder / "envelopes" / f"{name}.json").read_text(encoding="utf-8"))
        envelope = Envelope.from_dict(content)
        verified = envelope.verify([keys[signer] for signer in signers], threshold=len(signers))
        assert len(verified) == len(signers), name
        envelope.payload += b" "
        try:
            envelope.verify([keys[signers[0]]], threshold=1)
        except VerificationError:
            pass
        else:
            raise AssertionError(f"{name}: a changed payload was accepted")
        payload = Envelope.from_dict(json.loads((folder / "envelopes" / f"{name}.json").read_text(encoding="utf-8"))).payload
        message = json_format.Parse(payload, statement_pb2.Statement())
        Statement.copy_from_pb(message).validate()
    print(f"securesystemslib and in-toto-attestation: {len(SIGNED_BY)} envelopes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
