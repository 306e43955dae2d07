"""A small S3 for tests: keeps objects in memory, and takes no request whose signature (SigV4) does not hold.

Prints its port. Ends with its standard input.
"""

import hashlib
import hmac
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ACCESS, SECRET = "access", "secret/key"
objects = {}


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(method, path, headers, signed, scope):
    """What AWS asks for, from the request as it arrived."""
    lines = [method, path, ""] + [f"{name}:{' '.join(headers[name].split())}" for name in signed.split(";")]
    canonical = "\n".join(lines + ["", signed, headers["x-amz-content-sha256"]])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in scope.split("/"):
        key = mac(key, part)
    return mac(key, text).hex()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def trusted(self, body):
        headers = {name.lower(): value for name, value in self.headers.items()}
        kind, _, rest = headers.get("authorization", "").partition(" ")
        fields = dict(field.strip().split("=", 1) for field in rest.split(",") if "=" in field)
        access, _, scope = fields.get("Credential", "").partition("/")
        signed = fields.get("SignedHeaders", "")
        if kind != "AWS4-HMAC-SHA256" or access != ACCESS or not {"host", "x-amz-date"} <= set(signed.split(";")):
            return False
        if "x-amz-content-sha256" not in signed.split(";") or scope.split("/")[1:] != ["region-1", "s3", "aws4_request"]:
            return False
        if headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
            return False
        return hmac.compare_digest(fields["Signature"], signature(self.command, self.path, headers, signed, scope))

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.trusted(body):
            return self.answer(403)
        if self.command == "PUT":
            if b"no room" in body:
                return self.answer(507)
            # An object whose content is to be damaged says so.
            objects[self.path] = body.replace(b"damage me", b"damaged!!")
            return self.answer(200)
        if self.path not in objects:
            return self.answer(404)
        if self.command == "DELETE":
            if b"keep me" in objects[self.path]:
                return self.answer(503)
            del objects[self.path]
            return self.answer(204)
        found = objects[self.path]
        return self.answer(200, b"" if self.command == "HEAD" else found, len(found))

    do_GET = do_PUT = do_HEAD = do_DELETE = handle_any


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)
