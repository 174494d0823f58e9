"""Recordings that are damaged, or of another version, are refused with a code of their own."""

from __future__ import annotations

import zlib
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from controlplane.accounts.models import Role
from scheduling import models, recordings
from scheduling.engine.codec import Recording, encode
from scheduling.engine.types import LinkInfo, PendingJob, Plan, Request, Running
from tests.engine.build import POLICY, device, node
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
GOOD = Recording((node(1, [device(1)]), node(2)), (PendingJob(1, 1, 1, 1, 0, 0, Request()),), POLICY, 0, 0)
RUNNING = encode(Running(1, 1, 1, 1, 1, 1)).replace('"read_bandwidth_mib_s":0', '"read_bandwidth_mib_s":-1')
TWIN, FOREIGN = node(1), replace(node(1, [device(1)]), links=(LinkInfo(1, 7, "NV4"),))


@pytest.fixture
def api():
    client = APIClient()
    client.force_login(make.make_user("olga", role=Role.OPERATOR))
    return client


def stored(packed: bytes) -> int:
    row = models.Recording.objects.create(
        nodes=2, jobs=1, placed=0, refused=0, bytes=len(packed), document=packed
    )
    return row.pk


@pytest.mark.parametrize(
    ("packed", "code"),
    [
        (b"\x00", "recording-damaged"),
        (zlib.compress(b"[]"), "recording-damaged"),
        (zlib.compress(b'{"format": 1}'), "recording-damaged"),
        (zlib.compress(b'{"format": 9}'), "recording-format"),
        (recordings.pack(replace(GOOD, format=7)), "recording-format"),
        (recordings.pack(replace(GOOD, nodes=(*GOOD.nodes, TWIN))), "recording-damaged"),
        (recordings.pack(replace(GOOD, nodes=(FOREIGN,))), "recording-damaged"),
        (recordings.pack(replace(GOOD, jobs=GOOD.jobs * 2)), "recording-damaged"),
        (recordings.pack(replace(GOOD, nodes=(node(1, [device(1), device(1)]),))), "recording-damaged"),
    ],
)
def test_what_cannot_be_read_says_why_in_both_languages(api, packed, code):
    recording = stored(packed)
    texts = set()
    for language in ("en", "zh-Hans"):
        headers = {"HTTP_ACCEPT_LANGUAGE": language}
        answer = api.get(f"/api/v1/recordings/{recording}/document", **headers)
        assert (answer.status_code, answer.json()["code"]) == (409, code)
        told = api.post("/api/v1/what-if", {"recording": recording, "edits": []}, format="json", **headers)
        (error,) = told.json()["errors"]
        assert (told.status_code, error["field"], error["code"]) == (400, "recording", code)
        assert error["message"] == answer.json()["detail"] and "%(" not in error["message"]
        texts.add(error["message"])
    assert len(texts) == 2
    with pytest.raises(CommandError):
        call_command("replay_cycle", str(recording))


def test_a_saved_document_is_checked_alike(tmp_path):
    saved = tmp_path / "twins.json"
    saved.write_text(encode(replace(GOOD, nodes=(*GOOD.nodes, TWIN))))
    with pytest.raises(CommandError, match="nodes: the id 1 stands there twice"):
        call_command("replay_cycle", str(saved))


@pytest.mark.parametrize(
    ("then", "now", "field"),
    [
        ('"memory_total_mib":81920', f'"memory_total_mib":{1 << 63}', "devices[0].memory_total_mib"),
        ('"excluded_devices":[]', f'"excluded_devices":[{1 << 70}]', "request.excluded_devices"),
        ('"format":1', f'"format":{"9" * 5000}', "digits"),
        ('"seed":0', '"seed":999,"seed":0', "Recording.seed: stands there twice"),
        ('"now_ms":0', f'"now_ms":{1 << 62}', "Recording.now_ms: must lie between"),
        ('"format":1', '"news":1,"format":2', "format: is format 2, this version reads 1"),
        ('"running":[]', f'"running":[{RUNNING}]', "running[0].read_bandwidth_mib_s: must lie between"),
    ],
)
def test_an_edited_document_no_plan_can_be_made_with_names_the_field(tmp_path, then, now, field):
    saved = tmp_path / "edited.json"
    text = encode(replace(GOOD, plan=Plan()))
    assert then in text
    saved.write_text(text.replace(then, now))
    with pytest.raises(CommandError) as told:
        call_command("replay_cycle", str(saved))
    assert field in str(told.value)
