"""The transparency log in plain Python, after docs/log.md: Ed25519, signed notes, the tree, tiles, receipts, DSSE."""

import base64
import hashlib
import json

# Ed25519 of RFC 8032, in extended coordinates; slow, and not in constant time.
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add_points(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar, point):
    out = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            out = add_points(out, point)
        point = add_points(point, point)
        scalar >>= 1
    return out


def base_point():
    y = 4 * pow(5, P - 2, P) % P
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P != 0:
        x = x * pow(2, (P - 1) // 4, P) % P
    x = P - x if x & 1 else x
    return x, y, 1, x * y % P


BASE = base_point()


def encode_point(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


class Key:
    """An Ed25519 key from its seed."""

    SPKI = bytes.fromhex("302a300506032b6570032100")

    def __init__(self, seed):
        digest = hashlib.sha512(seed).digest()
        self.scalar = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | 1 << 254
        self.prefix = digest[32:]
        self.public = encode_point(multiply(self.scalar, BASE))
        self.spki = self.SPKI + self.public
        self.id = hashlib.sha256(self.spki).hexdigest()

    def sign(self, message):
        r = int.from_bytes(hashlib.sha512(self.prefix + message).digest(), "little") % ORDER
        encoded = encode_point(multiply(r, BASE))
        h = int.from_bytes(hashlib.sha512(encoded + self.public + message).digest(), "little") % ORDER
        return encoded + ((r + h * self.scalar) % ORDER).to_bytes(32, "little")


def b64(data):
    return base64.b64encode(data).decode()


def note_key_id(name, kind, public):
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:4]


def verifier_key(name, key, kind=1):
    return f"{name}+{note_key_id(name, kind, key.public).hex()}+{b64(bytes([kind]) + key.public)}"


def signature_line(text, name, key):
    return f"\u2014 {name} {b64(note_key_id(name, 1, key.public) + key.sign(text.encode()))}\n"


def cosignature_line(text, name, key, time):
    signed = key.sign(f"cosignature/v1\ntime {time}\n{text}".encode())
    return f"\u2014 {name} {b64(note_key_id(name, 4, key.public) + time.to_bytes(8, 'big') + signed)}\n"


def leaf_hash(entry):
    return hashlib.sha256(b"\x00" + entry).digest()


def tree_hash(leaves):
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + tree_hash(leaves[:split]) + tree_hash(leaves[split:])).digest()


def inclusion_proof(leaves, index):
    """The sibling of the leaf first."""
    if len(leaves) < 2:
        return []
    split = 1 << (len(leaves) - 1).bit_length() - 1
    if index < split:
        return [*inclusion_proof(leaves[:split], index), tree_hash(leaves[split:])]
    return [*inclusion_proof(leaves[split:], index - split), tree_hash(leaves[:split])]


def tile_path(level, index, width):
    groups = f"{index % 1000:03}"
    while index := index // 1000:
        groups = f"x{index % 1000:03}/{groups}"
    return f"tile/{level}/{groups}" + ("" if width == 256 else f".p/{width}")


def checkpoint(origin, key, leaves, witnesses=()):
    """`witnesses`: (name, key, time) of each."""
    text = f"{origin}\n{len(leaves)}\n{b64(tree_hash(leaves))}\n"
    lines = [signature_line(text, origin, key), *(cosignature_line(text, *witness) for witness in witnesses)]
    return text + "\n" + "".join(lines)


def receipt(entry, index, leaves, note):
    hashes = "".join(b64(item) + "\n" for item in inclusion_proof(leaves, index))
    return f"c2sp.org/tlog-proof@v1\nextra {b64(entry)}\nindex {index}\n{hashes}\n{note}"


def write_log(folder, entries, note):
    """All files of a log, with tiles of the last size only."""
    def write(path, data):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)

    write("checkpoint", note.encode())
    for start in range(0, len(entries), 256):
        part = entries[start:start + 256]
        write(tile_path("entries", start // 256, len(part)), b"".join(len(e).to_bytes(2, "big") + e for e in part))
    level, hashes = 0, [leaf_hash(entry) for entry in entries]
    while hashes:
        tiles = [hashes[start:start + 256] for start in range(0, len(hashes), 256)]
        for number, tile in enumerate(tiles):
            write(tile_path(level, number, len(tile)), b"".join(tile))
        level, hashes = level + 1, [tree_hash(tile) for tile in tiles if len(tile) == 256]


PAYLOAD_TYPE = "application/vnd.in-toto+json"


def statement(kind, subject, sha256, predicate):
    return json.dumps({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": subject, "digest": {"sha256": sha256}}],
        "predicateType": f"urn:zkapex:{kind}/v1",
        "predicate": predicate,
    }).encode()


def envelope(payload, *keys):
    """The bytes of an entry: an envelope in its one form."""
    message = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(payload)} ".encode() + payload
    signatures = [{"keyid": key.id, "sig": b64(key.sign(message))} for key in keys]
    content = {"payload": b64(payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures}
    return json.dumps(content, separators=(",", ":")).encode()
