"""Reading files: bytes, frames, and the public files of attestation (docs/formats.md).

For each content there is one encoding. Whatever is not that encoding is `BadInput`: of the provider's own files an
error, of a client's a `Rejection`, as everything is that makes the verifier say no.
"""

import hashlib
from dataclasses import dataclass, field


class BadInput(Exception):
    """A file that is not what it should be."""


class Rejection(Exception):
    """The verifier's answer "no", with one typed reason."""

    def __init__(self, reason, detail):
        super().__init__(f"rejected ({reason}): {detail}")
        self.reason, self.detail = reason, detail


def refuse_if(condition, message):
    if condition:
        raise BadInput(message)


def reject_if(condition, reason, detail):
    if condition:
        raise Rejection(reason, detail)


MAX_DEPLOYMENT, MAX_MASK, MAX_PUBLIC, MAX_BASE = 2**28, 2**34, 2**31, 2**34  # bytes of a file
MAX_IDENTIFIER = 255  # bytes of a client's or a window's
MAX_PARTS = 2**24  # of a cut
MAX_WINDOWS = 2**16  # of one client since its registration


def read_file(path, max_bytes):
    with open(path, "rb") as file:
        data = file.read(max_bytes + 1)
    refuse_if(len(data) > max_bytes, f"the file has more than {max_bytes} bytes")
    return data


class Reader:
    """Integers little-endian and of fixed width; a text is a u32 length and that many bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    @property
    def left(self):
        return len(self.data) - self.at

    def raw(self, count):
        refuse_if(count > self.left, f"truncated: {count} bytes are needed, {self.left} are left")
        self.at += count
        return self.data[self.at - count : self.at]

    def integer(self, width):
        return int.from_bytes(self.raw(width), "little")

    def u8(self):
        return self.integer(1)

    def u32(self):
        return self.integer(4)

    def u64(self):
        return self.integer(8)

    def text(self, max_length):
        length = self.u32()
        refuse_if(length > max_length, f"a length of {length} is over the limit of {max_length}")
        return self.raw(length)

    def flag(self):
        value = self.u8()
        refuse_if(value > 1, f"a flag is {value}, not 0 or 1")
        return value == 1

    def cut(self):
        """u32 count, then u64 rows of each part."""
        count = self.u32()
        refuse_if(count > MAX_PARTS, f"a cut of {count} parts")
        refuse_if(8 * count > self.left, f"truncated: {count} parts of a cut do not fit")
        return [self.u64() for _ in range(count)]

    def points(self):
        """u64 count, then 32 bytes each."""
        count = self.u64()
        refuse_if(32 * count > self.left, f"truncated: {count} points do not fit")
        return [self.raw(32) for _ in range(count)]

    def proof(self):
        """u64 length, then exactly the rest."""
        length = self.u64()
        refuse_if(length != self.left, f"the proof has {length} bytes, {self.left} are left")
        return self.raw(length)

    def finish(self):
        refuse_if(self.left != 0, f"{self.left} bytes after the end")


def frame(magic, version, content):
    covered = magic + version.to_bytes(4, "little") + content
    return covered + hashlib.sha256(covered).digest()


def unframe(magic, version, data):
    """magic ‖ u32 version ‖ content ‖ SHA-256 of all before. The content, and the digest that names the file."""
    kind = magic.decode()
    refuse_if(len(data) < len(magic) + 4 + 32 or not data.startswith(magic), f"not a file of the kind {kind}")
    found = int.from_bytes(data[len(magic) : len(magic) + 4], "little")
    refuse_if(found != version, f"a file of the kind {kind}, version {found}, not {version}")
    covered, digest = data[:-32], data[-32:]
    refuse_if(hashlib.sha256(covered).digest() != digest, "the digest does not match: the file is damaged")
    return covered[len(magic) + 4 :], digest


def check_identifier(name):
    refuse_if(not 1 <= len(name) <= MAX_IDENTIFIER, f"an identifier has {len(name)} bytes, not 1 to {MAX_IDENTIFIER}")
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("an identifier must be valid UTF-8") from None
    refuse_if(any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in text), "an identifier has control characters")


@dataclass
class RegistrationFile:
    digest: bytes
    deployment: bytes
    client: bytes
    cut: list  # of the covered rows
    proof: bytes

    @staticmethod
    def parse(data):
        content, digest = unframe(b"ZKAPEXRG", 2, data)
        r = Reader(content)
        deployment, client = r.raw(32), r.text(MAX_IDENTIFIER)
        check_identifier(client)
        return RegistrationFile(digest, deployment, client, r.cut(), r.proof())


@dataclass
class ProofFile:
    deployment: bytes
    registration: bytes
    mask: bytes
    model: bytes  # digest of the model commitment that it starts from
    client: bytes
    window: bytes
    segmentation: list
    proof: bytes

    @staticmethod
    def parse(data):
        content, _ = unframe(b"ZKAPEXPF", 4, data)
        r = Reader(content)
        deployment, registration, mask, model = r.raw(32), r.raw(32), r.raw(32), r.raw(32)
        client, window = r.text(MAX_IDENTIFIER), r.text(MAX_IDENTIFIER)
        check_identifier(client)
        check_identifier(window)
        return ProofFile(deployment, registration, mask, model, client, window, r.cut(), r.proof())


@dataclass
class UpdateFile:
    digest: bytes
    deployment: bytes
    registration: bytes
    model: bytes  # digest of the model commitment that it goes on from
    client: bytes
    curvature: bool  # with a new one
    cut: list  # of the covered rows
    proof: bytes

    @staticmethod
    def parse(data):
        content, digest = unframe(b"ZKAPEXUP", 1, data)
        r = Reader(content)
        deployment, registration, model, client = r.raw(32), r.raw(32), r.raw(32), r.text(MAX_IDENTIFIER)
        check_identifier(client)
        curvature = r.u8()
        refuse_if(curvature > 1, "an update is with a curvature or without")
        return UpdateFile(digest, deployment, registration, model, client, curvature == 1, r.cut(), r.proof())


@dataclass
class ModelCommitment:
    """Com(θ) of a client's covered tensors, and what led there since its registration: the digest of the last update,
    zeros where there was none, and the windows: (name, digest of the mask)."""

    registration: bytes
    update: bytes = bytes(32)
    windows: list = field(default_factory=list)
    rows: list = field(default_factory=list)

    @staticmethod
    def parse(data):
        content, _ = unframe(b"ZKAPEXCM", 3, data)
        r = Reader(content)
        registration, update = r.raw(32), r.raw(32)
        count = r.u32()
        refuse_if(count > MAX_WINDOWS, f"{count} windows")
        windows = [(r.text(MAX_IDENTIFIER), r.raw(32)) for _ in range(count)]
        rows = r.points()
        r.finish()
        return ModelCommitment(registration, update, windows, rows)

    def encode(self):
        content = self.registration + self.update + len(self.windows).to_bytes(4, "little")
        for window, mask in self.windows:
            content += len(window).to_bytes(4, "little") + window + mask
        content += len(self.rows).to_bytes(8, "little") + b"".join(self.rows)
        return frame(b"ZKAPEXCM", 3, content)

    def digest(self):
        return self.encode()[-32:]
