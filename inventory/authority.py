"""The private CA of this installation, if it has one."""

from __future__ import annotations

import hashlib
import os
import ssl
from pathlib import Path

CA_VARIABLE = "HEADRACE_AGENT_CA_FILE"
PIN_MARK = "#sha256="


def authority_pem() -> str | None:
    """The certificate named by HEADRACE_AGENT_CA_FILE, or None."""
    path = os.environ.get(CA_VARIABLE)
    return Path(path).read_text(encoding="ascii") if path else None


def pinned(token: str) -> str:
    """The token followed by the digest of the only CA that its bearer may believe."""
    pem = authority_pem()
    if pem is None:
        return token
    return token + PIN_MARK + hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.strip())).hexdigest()
