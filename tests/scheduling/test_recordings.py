"""Recordings of live cycles: what is kept, what makes room, and that they replay to the same bytes."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from controlplane.base.locks import LeaseLost
from controlplane.policy.active import active_policy
from scheduling import cycle, recordings
from scheduling.engine.codec import Recording as Call
from scheduling.engine.codec import decode, encode
from scheduling.expected import expected_jobs, refresh_expected
from scheduling.models import Cycle, Recording
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def replayed(*arguments: str) -> str:
    out = StringIO()
    call_command("replay_cycle", *arguments, stdout=out)
    return out.getvalue()


def busy_cluster(user) -> cycle.Worker:
    """Three cycles of one worker, so that its state was changed node by node."""
    for name in ("alpha", "beta", "gamma"):
        node = make.make_node(name, cores=16, node_set="lab", labels={"disk": "ssd", "name": 'q"uo\u4e2d'})
        for index in range(4):
            make.make_device(node, index=index, numa_node=index // 2, foreign_mib=300 * index)
    worker = cycle.Worker()
    for number in range(3):
        for _ in range(3):
            make.make_job(user, queue="inference", resources={"device_memory": f"{number * 5 + 4}Gi"})
        make.make_job(user, resources={"devices": 2, "cores": 4})
        make.make_job(user, priority=number, resources={"devices": 40})
        refresh_expected()
        make.run_cycle(worker)
    return worker


def test_live_cycles_replay_to_the_same_bytes(user, tmp_path):
    busy_cluster(user)
    rows = list(Recording.objects.order_by("pk"))
    assert len(rows) == 3 and sum(row.placed for row in rows) > 5
    assert [row.cycle for row in rows] == list(Cycle.objects.order_by("pk"))
    for row in rows:
        found = recordings.replay(recordings.load(row.pk))
        assert found.difference is None
        assert encode(found.plan) == encode(recordings.load(row.pk).plan)
        file = tmp_path / f"{row.pk}.json"
        assert replayed(str(row.pk), "--out", str(file)).startswith("identical: ")
        assert replayed(str(file)).startswith("identical: ")
        assert decode(Call, file.read_text()) == recordings.load(row.pk)
        file.write_text(file.read_text().replace('"format": 1', '"format": 2'))
        with pytest.raises(CommandError, match="format 2, this version reads 1"):
            replayed(str(file))
        assert recordings.document(recordings.load(row.pk)) == encode(recordings.load(row.pk))
    assert recordings.load(rows[-1].pk).expected == expected_jobs() != ()


def test_another_plan_is_told_with_the_first_difference(user, tmp_path):
    busy_cluster(user)
    document = json.loads(encode(recordings.load(Recording.objects.latest("pk").pk)))
    file = tmp_path / "changed.json"
    document["plan"]["placed"][0]["node"] += 1
    file.write_text(json.dumps(document))
    with pytest.raises(SystemExit) as left:
        replayed(str(file))
    assert left.value.code == 1
    node = document["plan"]["placed"][0]["node"]
    found = recordings.replay(decode(Call, file.read_text()))
    assert found.difference == f"plan.placed[0].node: {node} then, {node - 1} now"
    document["plan"]["placed"].append(document["plan"]["placed"][0])
    document["plan"]["placed"][0] |= {"node": node - 1}
    found = recordings.replay(decode(Call, json.dumps(document)))
    assert found.difference is not None and "entries then" in found.difference


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"nodes": 1}', "\x00", "[" * 100_000])
def test_what_is_no_recording_is_told(content, tmp_path):
    file = tmp_path / "broken.json"
    file.write_text(content)
    with pytest.raises(CommandError, match=r"broken\.json"):
        replayed(str(file))
    with pytest.raises(CommandError, match="no recording 999"):
        replayed("999")
    with pytest.raises(CommandError, match=r"missing\.json"):
        replayed(str(tmp_path / "missing.json"))


def test_waiting_for_the_same_reason_is_no_news(user):
    make.make_node()
    make.make_job(user, resources={"devices": 1})
    worker = cycle.Worker()
    for _ in range(3):
        make.run_cycle(worker)
    assert (Recording.objects.count(), Cycle.objects.count()) == (1, 3)
    make.make_job(user, resources={"devices": 2})
    make.run_cycle(worker)
    assert Recording.objects.latest("pk").refused == 2
    make.run_cycle()
    assert Recording.objects.count() == 3, "a new process writes down what it finds"


def test_the_oldest_make_room(user):
    busy_cluster(user)
    calls = [recordings.load(row.pk) for row in Recording.objects.order_by("pk")]
    newest = Cycle.objects.latest("pk")
    few = active_policy().retention.__class__(
        **dict.fromkeys(active_policy().retention.__struct_fields__, 1) | {"recordings": 2}
    )
    recordings.store(newest, calls, few)
    assert list(Recording.objects.values_list("cycle", flat=True)) == [newest.pk, newest.pk]
    Recording.objects.update(bytes=600_000)
    recordings.store(newest, [], few)
    assert Recording.objects.count() == 1, "two of them are more than a MiB"
    Recording.objects.update(bytes=recordings.MIB + 1)
    recordings.store(newest, [], few)
    assert Recording.objects.count() == 1, "the newest stays, however large"


def test_a_recording_that_fails_costs_no_cycle(user, monkeypatch):
    def broken(call: Call) -> bytes:
        raise MemoryError

    monkeypatch.setattr(recordings, "pack", broken)
    make.make_node()
    make.make_job(user)
    make.run_cycle()
    assert Cycle.objects.get().placed == 1 and not Recording.objects.exists()


def test_costly_recordings_are_made_seldom(user, monkeypatch):
    monkeypatch.setattr(recordings, "COSTLY_S", -1.0)
    monkeypatch.setattr(recordings, "RESTS_FOR", 10**9)
    make.make_node()
    worker = cycle.Worker()
    for _ in range(2):
        make.make_job(user)
        make.run_cycle(worker)
    assert (Recording.objects.count(), Cycle.objects.count()) == (1, 2)


def test_a_cycle_that_died_leaves_no_calls_to_the_next(user, monkeypatch):
    make.make_node()
    worker = cycle.Worker()

    def lost(*_given: object, **_named: object) -> None:
        raise LeaseLost("cycle")

    make.make_job(user)
    with monkeypatch.context() as patch:
        patch.setattr(cycle, "store_reasons", lost)
        make.run_cycle(worker)
    assert worker.recorder.calls and not Recording.objects.exists()
    make.make_job(user)
    make.run_cycle(worker)
    assert [row.cycle for row in Recording.objects.all()] == [Cycle.objects.latest("pk")]


def test_recordings_hold_no_names_and_no_environment(user):
    make.make_node()
    make.make_job(user, name="hush", env={"TOKEN": "s3cret-value"}, command=["/bin/run", "--key", "k3y"])
    make.run_cycle()
    document = encode(recordings.load(Recording.objects.get().pk))
    assert not any(text in document for text in ("hush", "TOKEN", "s3cret", "k3y", user.username))


def test_recordings_survive_their_cycles(user):
    make.make_node()
    make.make_job(user, resources={"devices": 1})
    make.run_cycle()
    Cycle.objects.all().delete()
    assert recordings.replay(recordings.load(Recording.objects.get().pk)).difference is None
