"""The cycle over SSH: claims, many nodes at once, restarts, and the life of a node between its looks."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from django.db import connection

from agent.protocol import CommandOutput, EnrolRequest, RemoteAnswer, RemoteRound
from controlplane.alerts.models import Alert
from controlplane.base import clock
from controlplane.policy.active import active_policy
from inventory.enrolment import EnrolmentRefused, enrol
from inventory.enrolment_tokens import make_token
from inventory.models import Node, NodeContact, NodeState, RemoteHost, RemoteProblem
from inventory.probing import probe as probe_silence
from inventory.remote import commands, hosts, probing, taking
from inventory.remote.looking import Seen, look
from inventory.remote.probing import PARALLEL, PARALLEL_TROUBLED, probe
from inventory.remote.reading import Reader
from inventory.tasks import probe_over_ssh
from tests.inventory.factories import make_credential, make_node
from tests.scheduling.factories import make_user


def rows(count, **columns):
    first = RemoteHost.objects.count()
    for number in range(first, first + count):
        RemoteHost.objects.create(
            address=f"10.0.0.{number}", user="watch", key="fleet", host_key="x", **columns
        )


def due():
    RemoteHost.objects.update(due_at=clock.now() - timedelta(seconds=1))


def refused(claimed):
    return Seen(problem=RemoteProblem.KEY_REFUSED, detail=claimed.way.user)


@pytest.mark.django_db(transaction=True)
def test_parallel_ticks_look_at_every_node_once():
    rows(30)
    looks, ready = [], threading.Barrier(3)

    def tick():
        ready.wait(10)
        try:
            probe(
                active_policy().health, look=lambda claimed: looks.append(claimed.host_id) or refused(claimed)
            )
        finally:
            connection.close()

    threads = [threading.Thread(target=tick) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait(10)
    for thread in threads:
        thread.join(30)
    assert sorted(looks) == sorted(RemoteHost.objects.values_list("pk", flat=True))
    assert set(RemoteHost.objects.values_list("claim", "failures")) == {("", 1)}


@pytest.mark.django_db
def test_nodes_that_hang_do_not_hold_up_the_others():
    """More hang than there is room for; every other node is looked at while they do."""
    rows(PARALLEL + 4, failures=3)
    rows(40)
    well, done = set(RemoteHost.objects.filter(failures=0).values_list("pk", flat=True)), threading.Event()
    seen, hanging, most = set(), set(), []

    def one(claimed):
        if claimed.host_id in well:
            seen.add(claimed.host_id)
            if seen == well:
                done.set()
            return refused(claimed)
        hanging.add(claimed.host_id)
        most.append(len(hanging))
        assert done.wait(30)
        hanging.discard(claimed.host_id)
        return refused(claimed)

    looked = probe(active_policy().health, look=one)
    assert seen == well and max(most) <= PARALLEL_TROUBLED and looked.looks >= 40 + PARALLEL_TROUBLED


class Readings:
    """A reader that notes whom it read within which limit; reading `slow` takes all of it."""

    def __init__(self, *slow):
        self._slow, self.asked, self.now_s = slow, [], 0.0

    def ask(self, asked, *, limit_s):
        self.asked.append((asked.memory, limit_s))
        if asked.memory in self._slow:
            self.now_s += limit_s
        return RemoteAnswer(problem="x")


@pytest.mark.django_db
def test_what_a_failing_or_flooding_node_says_is_read_last_and_not_for_long(monkeypatch):
    for name, failures in (("troubled", 2), ("flood", 0), ("other flood", 0), ("well", 0)):
        rows(1, memory=name, failures=failures)
    with time_machine.travel(clock.now(), tick=False) as now, ThreadPoolExecutor(1) as pool:
        reader = Readings("flood", "other flood", "troubled")
        monkeypatch.setattr(clock, "monotonic_s", lambda: reader.now_s)
        tick = probing._Tick(active_policy().health, reader, pool, refused, ends_s=0)
        for troubled in (True, False, False, False):
            future = Future()
            future.set_result(Seen())
            tick.running[future] = hosts.claim(troubled=troubled)
            tick.troubled |= {future} if troubled else set()
            now.shift(1)
        while tick.running:
            tick.finish_one()
    short_s = probing.SHORT_LIMIT_S
    assert reader.asked == [
        ("flood", probing.ANSWER_LIMIT_S),
        ("other flood", short_s),
        ("well", short_s),
        ("troubled", short_s),
    ]


def test_no_question_has_a_long_answer():
    asked = [commands.LOOK, *commands.questions_for({one.name for one in commands.TOOLS}, with_host=True)]
    assert max(one.most_bytes for one in asked) <= 1 << 20


@pytest.mark.django_db
def test_a_failing_node_is_tried_ever_less_often():
    with time_machine.travel(clock.now(), tick=False) as now:
        rows(1)
        pauses = []
        for _ in range(5):
            probe(active_policy().health, look=refused)
            pauses.append((RemoteHost.objects.get().due_at - clock.now()).total_seconds())
            now.shift(timedelta(seconds=pauses[-1]))
    assert pauses == [10, 20, 40, 60, 60]


@pytest.mark.django_db
def test_a_look_whose_holder_died_is_repeated_and_what_it_brings_late_is_dropped(machine):
    machine.host()
    with time_machine.travel(clock.now(), tick=False) as now:
        first = hosts.claim(troubled=False)
        assert first is not None and hosts.claim(troubled=False) is None
        now.shift(timedelta(seconds=hosts.CLAIM_S))
        second = hosts.claim(troubled=False)
        assert second is not None and second.token != first.token
    seen = look(first.way, with_host=True, paused={})
    with Reader() as reader:
        answer = reader.ask(RemoteRound(outputs=list(seen.outputs)))
    arrival = taking.Arrival(clock.now(), seen.peer, active_policy().health)
    with pytest.raises(taking.Stale):
        taking.take(first, answer, arrival)
    assert not Node.objects.exists()
    taking.take(second, answer, arrival)
    assert Node.objects.get().state == NodeState.READY
    with pytest.raises(taking.Stale):
        taking.take(first, answer, arrival)
    hosts.settle_badly(first, RemoteProblem.TIMED_OUT, "")
    assert RemoteHost.objects.get().problem == ""


@pytest.mark.django_db
def test_a_node_falls_silent_is_lost_and_comes_back(machine):
    machine.host()
    start = clock.now()
    with time_machine.travel(start, tick=True) as now:
        probe_over_ssh()
        probe_silence(active_policy().health)
        machine.stop()
        for seconds in range(20, 260, 20):
            now.move_to(start + timedelta(seconds=seconds))
            probe_over_ssh()
            probe_silence(active_policy().health)
        assert Node.objects.get().state == NodeState.LOST
        assert RemoteHost.objects.get().problem == "unreachable"
        assert Alert.objects.filter(code="node-lost", cleared_at=None).exists()
        machine.start()
        now.move_to(start + timedelta(seconds=400))
        assert probe_over_ssh() == 1
    assert Node.objects.get().state == NodeState.READY
    assert not Alert.objects.filter(code="node-lost", cleared_at=None).exists()


@pytest.mark.django_db
def test_a_reboot_is_no_clone_and_an_old_boot_that_speaks_again_is(machine):
    machine.host()
    probe(active_policy().health)
    machine.be("5ca1ab1e" * 4, boot="11111111-aaaa-4bbb-8ccc-000000000002")
    due()
    probe(active_policy().health)
    assert Node.objects.get().state == NodeState.READY
    machine.be("5ca1ab1e" * 4, boot="11111111-aaaa-4bbb-8ccc-000000000001")
    due()
    probe(active_policy().health)
    assert Node.objects.get().state == NodeState.QUARANTINED


@pytest.mark.django_db
def test_half_an_answer_is_no_reboot_and_no_other_machine():
    rows(1)
    boot = "11111111-aaaa-4bbb-8ccc-000000000001"
    whole = f"/etc/machine-id:{'ab' * 16}\n/proc/sys/kernel/random/boot_id:{boot}\n#whole\n".encode()
    facts = CommandOutput("host", b"#arch x86_64\n/proc/sys/kernel/hostname:n1\n#whole\n")

    def tick(data, problem=""):
        due()
        outputs = (CommandOutput("live", data, problem=problem), facts)
        probe(active_policy().health, look=lambda claimed: Seen(outputs=outputs, peer="10.0.0.1"))
        return RemoteHost.objects.get().problem

    half_id, half_boot = whole[:18], whole[: whole.index(boot.encode()) + 8]
    assert tick(half_id) == "not-understood" and tick(half_id + half_boot[48:]) == "not-understood"
    assert not Node.objects.exists()
    assert tick(whole) == ""
    assert tick(half_boot) == "not-understood"
    assert tick(half_boot, problem="live: exit status 137") == "not-understood"
    assert tick(whole) == ""
    assert Node.objects.get().state == NodeState.READY


@pytest.mark.django_db
def test_another_machine_at_the_address_is_not_taken_for_the_node(machine):
    machine.host()
    probe(active_policy().health)
    received_at = NodeContact.objects.get().received_at
    machine.be("0ddba11" + "0" * 25, boot="11111111-aaaa-4bbb-8ccc-000000000003")
    due()
    probe(active_policy().health)
    assert RemoteHost.objects.get().problem == "machine-changed"
    assert NodeContact.objects.get().received_at == received_at and Node.objects.count() == 1


@pytest.mark.django_db
def test_a_machine_without_an_identity_says_what_to_do(machine):
    machine.be("", boot="11111111-aaaa-4bbb-8ccc-000000000003")
    machine.tool("grep", (machine.folder / "bin/grep").read_text().replace("/etc/", "/sys/class/dmi/*|/etc/"))
    machine.host()
    probe(active_policy().health)
    assert RemoteHost.objects.get().problem == "no-machine-id" and not Node.objects.exists()


@pytest.mark.django_db
def test_a_node_with_an_agent_is_left_to_it(machine):
    make_credential(make_node("5ca1ab1e" * 4))
    machine.host()
    probe(active_policy().health)
    host = RemoteHost.objects.get()
    assert (host.problem, host.node) == ("has-agent", None)
    assert NodeContact.objects.get().received_at is None


@pytest.mark.django_db
def test_two_ways_to_one_machine_are_one_too_many(machine):
    machine.host()
    probe(active_policy().health)
    machine.host(address="localhost")
    probe(active_policy().health)
    assert list(RemoteHost.objects.order_by("pk").values_list("problem", flat=True)) == ["", "same-machine"]


@pytest.mark.django_db
def test_an_agent_takes_over_with_an_approval_only(machine):
    machine.host()
    probe(active_policy().health)
    node = Node.objects.get()
    request = {
        "version": 1,
        "machine_id": node.machine_id,
        "boot_id": "b",
        "hostname": "n",
        "agent_version": "1",
    }

    creator = make_user()

    def token(**columns):
        values = {"creator": creator, "life": timedelta(hours=1), "node_set": None, "replaces": None}
        return make_token(**(values | columns)).secret

    with pytest.raises(EnrolmentRefused, match="duplicate-machine"):
        enrol(EnrolRequest(token=token(), **request), silent_after_s=45)
    enrol(EnrolRequest(token=token(replaces=node), **request), silent_after_s=45)
    assert RemoteHost.objects.get().node is None
    due()
    probe(active_policy().health)
    assert RemoteHost.objects.get().problem == "has-agent"


@pytest.mark.parametrize("program", ["json.tool", "tests.inventory.no_such_reader"])
def test_a_reader_that_hangs_or_dies_says_nothing(program):
    with Reader(limit_s=1, program=program) as reader:
        answer = reader.ask(RemoteRound(outputs=[]))
    assert answer == RemoteAnswer(problem=answer.problem) and "the reader failed" in answer.problem
