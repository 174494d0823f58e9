"""Recorded wire files of every protocol version are understood by today's types and today's server, for ever."""

import json
from pathlib import Path

import msgspec
import pytest

from agent import protocol
from inventory.models import Device, Node
from tests.agentapi.speaking import Agent, enrol, enrolment_token
from tests.contract import record

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("v*/*.json"))
TYPES = {
    "enrol_request": protocol.EnrolRequest,
    "enrol_reply": protocol.EnrolReply,
    "report_full": protocol.Report,
    "report_small": protocol.Report,
    "reply": protocol.Reply,
    "log_reply": protocol.LogReply,
}


def ids(path):
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", FILES, ids=ids)
def test_a_recorded_message_is_understood_and_nothing_of_it_is_lost(path):
    message = protocol.decode(path.read_bytes(), TYPES[path.stem])
    recorded = json.loads(path.read_bytes())
    assert covers(json.loads(protocol.encode(message)), recorded)


def covers(now, recorded):
    """Whether everything recorded is still there: later versions may add, not drop or rename."""
    if isinstance(recorded, dict):
        return isinstance(now, dict) and all(
            name in now and covers(now[name], recorded[name]) for name in recorded
        )
    if isinstance(recorded, list):
        return isinstance(now, list) and len(now) == len(recorded) and all(map(covers, now, recorded))
    return now == recorded


@pytest.mark.parametrize("path", FILES, ids=ids)
def test_unknown_fields_of_a_neighbouring_version_are_ignored(path):
    document = json.loads(path.read_bytes()) | {"field_of_tomorrow": {"a": [1]}}
    protocol.decode(json.dumps(document).encode(), TYPES[path.stem])


def test_every_supported_version_has_its_files():
    folders = {int(path.parent.name[1:]) for path in FILES}
    supported = range(protocol.OLDEST_SUPPORTED_VERSION, protocol.VERSION + 1)
    assert folders >= set(supported)
    assert {path.stem for path in FILES if path.parent.name == f"v{protocol.VERSION}"} == set(TYPES)


def test_todays_sender_still_speaks_as_recorded():
    for name, message in record.messages().items():
        recorded = json.loads((record.FOLDER / f"{name}.json").read_bytes())
        assert covers(msgspec.to_builtins(message), recorded), name


@pytest.mark.django_db
@pytest.mark.parametrize("version", sorted({path.parent.name for path in FILES}))
def test_todays_server_enrols_and_hears_an_agent_of_that_version(version):
    enrolment = json.loads((FOLDER / version / "enrol_request.json").read_bytes())
    enrolment |= {"token": enrolment_token(), "previous_token": None}
    answer = enrol(protocol.decode(json.dumps(enrolment).encode(), protocol.EnrolRequest))
    assert answer.status_code == 200, answer.content
    agent = Agent(answer.json()["token"])
    for name in ("report_full", "report_small"):
        reply = agent.send((FOLDER / version / f"{name}.json").read_bytes())
        assert reply.status_code == 200, reply.content
        assert set(reply.json()) >= set(json.loads((FOLDER / version / "reply.json").read_bytes()))
    assert Node.objects.get().name == "node-1"
    assert Device.objects.filter(parent=None).count() == 2
