"""A registry of container images on loopback, for a real podman: what was put into it is served, to those who may."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
_ASKED = re.compile(r"/v2/(.+)/(manifests|blobs)/([^/]+)")


class Registry(ThreadingHTTPServer):
    """Names and layers in memory. While `open` is not set, layers are asked for but not sent; `sent` are their bytes.
    With a `password`, nobody gets anything without it.
    """

    daemon_threads = True

    def __init__(self, *, user: str = "", password: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server_port}"
        self.password = password
        self.wants = base64.b64encode(f"{user}:{password}".encode()).decode() if password else ""
        self.open = threading.Event()
        self.open.set()
        self.sent: list[int] = []
        self.refused = 0
        self._blobs: dict[str, tuple[str, bytes]] = {}
        self._tags: dict[tuple[str, str], str] = {}

    def put(self, name: str, *layers: bytes) -> str:
        """Keep an image made of these archives under `path:tag`; its full name."""
        told = [self._keep(layer, LAYER) for layer in layers]
        diffs = {"type": "layers", "diff_ids": [layer["digest"] for layer in told]}
        config = {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": diffs}
        document = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self._keep(json.dumps(config).encode(), CONFIG),
            "layers": told,
        }
        path, _, tag = name.rpartition(":")
        self._tags[path, tag] = self._keep(json.dumps(document).encode(), MANIFEST)["digest"]
        return f"{self.host}/{name}"

    def find(self, path: str, kind: str, wanted: str) -> tuple[str, bytes] | None:
        """Type and content of what is asked for."""
        digest = self._tags.get((path, wanted), wanted) if kind == "manifests" else wanted
        return self._blobs.get(digest)

    def _keep(self, data: bytes, kind: str) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self._blobs[digest] = (kind, data)
        return {"mediaType": kind, "digest": digest, "size": len(data)}


class Handler(BaseHTTPRequestHandler):
    """The reading half of the distribution protocol."""

    protocol_version = "HTTP/1.1"
    server: Registry

    def do_GET(self) -> None:
        """Manifests and blobs."""
        if self.server.wants and self.headers.get("Authorization") != f"Basic {self.server.wants}":
            self.server.refused += 1
            self._send(401, "application/json", b"{}")
            return
        asked = _ASKED.fullmatch(self.path)
        if asked is None:
            self._send(200 if self.path == "/v2/" else 404, "application/json", b"{}")
            return
        found = self.server.find(*asked.groups())
        if found is None:
            self._send(404, "application/json", b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')
            return
        if found[0] == LAYER:
            self.server.open.wait(60)
            self.server.sent.append(len(found[1]))
        self._send(200, *found)

    do_HEAD = do_GET

    def _send(self, status: int, kind: str, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(body).hexdigest()}")
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="images"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def serving(*, user: str = "", password: str = "") -> Iterator[Registry]:
    """A registry that answers."""
    registry = Registry(user=user, password=password)
    thread = threading.Thread(target=registry.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        registry.open.set()
        registry.shutdown()
        registry.server_close()
        thread.join(10)
