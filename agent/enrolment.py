"""Becoming a node of a cluster: a one-time token is traded for an identity that is kept."""

from __future__ import annotations

import hashlib
import hmac
import ssl
from collections.abc import Callable
from pathlib import Path

from agent import __version__, protocol
from agent.config import Config, ConfigError, Identity, load_identity, read_secret, save_identity
from agent.host import machine
from agent.protocol import EnrolRequest
from agent.transport import Backoff, Refused, Transport, Unreachable

PIN_MARK = "#sha256="
DUPLICATE_MACHINE, NEEDS_APPROVAL = "duplicate-machine", "takeover-needs-approval"


def enrol(
    config: Config, *, pause: Callable[[float], bool] | None = None, root: Path = Path("/")
) -> Identity:
    """Enrol with the token of `token_file`. With `pause`, an unreachable server is asked again until pause()
    is true.
    """
    if not config.server:
        raise ConfigError("server: missing; give --server https://HOST:PORT")
    if config.token_file is None:
        raise ConfigError(
            "token_file: missing; ask an operator for an enrolment token and give --token-file FILE"
        )
    state_dir = Path(config.state_dir)
    token, pin = split_token(read_secret(Path(config.token_file)))
    previous = load_identity(state_dir)
    request = EnrolRequest(
        version=protocol.VERSION,
        token=token,
        machine_id=config.machine_id or machine.machine_id(root, state_dir),
        boot_id=machine.boot_id(root),
        hostname=config.hostname or machine.hostname(),
        agent_version=__version__,
        previous_token=previous.token if previous else None,
    )
    backoff = Backoff()
    while True:
        try:
            return _try_enrol(config, request, pin)
        except Unreachable as error:
            if pause is None or pause(backoff.next_s()):
                raise ConfigError(f"server: {config.server} does not answer ({error})") from error


def _try_enrol(config: Config, request: EnrolRequest, pin: str | None) -> Identity:
    state_dir = Path(config.state_dir)
    ca_file = pinned_ca(config, pin)
    transport = Transport(config.server, ca_file=ca_file)
    try:
        reply = transport.enrol(request)
    except Refused as error:
        raise ConfigError(explain_refusal(error)) from error
    finally:
        transport.close()
    identity = Identity(
        server=config.server,
        cluster_id=reply.cluster_id,
        node=reply.node,
        token=reply.token,
        machine_id=request.machine_id,
        report_interval_s=reply.report_interval_s,
    )
    save_identity(state_dir, identity)
    return identity


def split_token(text: str) -> tuple[str, str | None]:
    """An enrolment token may end in `#sha256=HEX`, the digest of the only CA certificate to be believed."""
    token, mark, pin = text.partition(PIN_MARK)
    if mark and (len(pin) != 64 or any(char not in "0123456789abcdef" for char in pin.lower())):
        raise ConfigError("token_file: the part after #sha256= must be 64 hexadecimal digits")
    return token, pin.lower() or None


def pinned_ca(config: Config, pin: str | None) -> str | None:
    """The CA file to trust: the configured one, or the server's own if it has the pinned digest (kept for
    later runs).
    """
    kept = Path(config.state_dir) / "ca.pem"
    if pin is None or not config.server.startswith("https"):
        return config.ca_file or (str(kept) if kept.exists() else None)
    pem = Path(config.ca_file).read_bytes() if config.ca_file else Transport(config.server).fetch_ca()
    try:
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.decode("ascii").strip())).hexdigest()
    except ValueError as error:
        raise ConfigError(f"ca: the certificate is not PEM ({error})") from error
    if not hmac.compare_digest(digest, pin):
        raise ConfigError(
            "ca: the server's certificate is not the one the enrolment token names; do not trust this server"
        )
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept.write_bytes(pem)
    return str(kept)


def explain_refusal(error: Refused) -> str:
    """What to do about a refused enrolment."""
    if error.code == NEEDS_APPROVAL:
        return (
            "enrolment refused: a silent node has this machine id. Keep its state folder, or let an admin create an"
            f" enrolment token for that node. ({error})"
        )
    if error.code == DUPLICATE_MACHINE:
        return (
            "enrolment refused: a live node has this machine id (duplicate-machine). If this is a cloned image, give"
            f" it a new /etc/machine-id; if the node was reinstalled, let an admin approve the takeover. ({error})"
        )
    if error.status in (401, 403):
        return f"enrolment refused: the token is unknown, used or expired; ask an operator for a new one. ({error})"
    return f"enrolment refused: {error}"
