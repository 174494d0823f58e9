"""What fetching ahead is worth, in numbers: the same job on a node that has nothing, and on one that was served over
SSH before its agent came; real sshd, podman, registry and agents.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from agent.protocol import TaskPhase, TaskState
from controlplane.base import clock
from inventory.images import pushes
from inventory.models import ImagePush, Node, PushState
from inventory.tasks import fetch_images_over_ssh, probe_over_ssh
from scheduling.models import Placement
from scheduling.selectors.images import summary
from tests.agent.conftest import AgentProcess, end_supervisors
from tests.agent.containers import engine_command, one_file, programs, why_no_containers
from tests.agent.server import ControlPlane, assignment
from tests.inventory.conftest import machine, ssh_key  # noqa: F401 - fixtures
from tests.registry import serving
from tests.scheduling import factories as make

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(bool(why_no_containers()), reason=why_no_containers() or "-"),
]


def started_by_an_agent(folder: Path, engine: list[str], image: str) -> TaskState:
    """How an agent on this store starts a container of the image."""
    plane = ControlPlane()
    agent = AgentProcess(plane.url, folder, ("--container-engine", " ".join(engine)))
    agent.options += ("--container-pull-options=--tls-verify=false", "--container-networks", "none")
    try:
        agent.start()
        plane.want(assignment(1, "sh", "-c", "exit 0", image=image))
        return plane.wait_task(1, TaskPhase.ENDED, 60)
    finally:
        if agent.process is not None:
            agent.end(signal.SIGKILL)
        end_supervisors(agent.state)
        plane.close()


@pytest.mark.django_db
def test_what_was_fetched_over_ssh_is_a_hit_and_takes_nothing_of_the_wait(machine):  # noqa: F811
    folder = Path(tempfile.mkdtemp(prefix="hr-warm-"))
    folder.chmod(0o711)
    stores = [folder / name for name in ("cold", "warm")]
    make.make_queues()
    user = make.make_user(team=make.make_team())
    try:
        with serving() as registry:
            image = registry.put("team/train:1", programs(), one_file("weights", os.urandom(8 << 20)))
            settings = folder / "registries.conf"
            settings.write_text(f'[[registry]]\nlocation = "{registry.host}"\ninsecure = true\n')
            for store in stores:
                store.mkdir(mode=0o711)
            engine = engine_command(stores[1])
            real = shlex.join([str(shutil.which("podman")), *engine[1:]])
            script = f'#!/bin/sh\nexport CONTAINERS_REGISTRIES_CONF={settings}\nexec {real} "$@"\n'
            machine.tool("podman", script)
            machine.host(fetches_images=True)
            assert probe_over_ssh() == 1
            pushes.want([(Node.objects.get().pk, image)], here={})
            assert fetch_images_over_ssh() == 1
            push = ImagePush.objects.get()
            assert (push.stage, push.problem) == (PushState.DONE, "")
            Node.objects.all().delete()

            figures = []
            for store in stores:
                state = started_by_an_agent(store, engine_command(store), image)
                assert state.exit_code == 0, state.message
                node = make.make_node()
                make.make_job(user, image=image)
                make.run_cycle()
                placement = Placement.objects.get(node=node)
                Placement.objects.update(assigned_at=clock.now() - timedelta(minutes=1))
                running = make.task(placement, TaskPhase.RUNNING, started_at_ms=1000, pull=state.pull)
                make.report(node, running)
                make.report(node, make.ended(placement))
                Node.objects.filter(pk=node.pk).update(state="cordoned")
                figures.append(summary(1))
            assert [(one["hits"], one["starts"]) for one in figures] == [(0, 1), (1, 2)]
            cold, both = figures
            assert cold["pull_s"]["p50"] > 0 and both["pull_s"]["mean"] < cold["pull_s"]["mean"]
            assert both["pull_percent"] < cold["pull_percent"]
            print(f"fetched over SSH in {push.ms} ms; hits {cold['hits']}/1 -> {both['hits']}/2;", end=" ")
            print(
                f"pull {cold['pull_s']['mean']:.2f} s -> {both['pull_s']['mean']:.2f} s on average,", end=" "
            )
            print(f"{cold['pull_percent']} % -> {both['pull_percent']} % of the wait")
    finally:
        for store in stores:
            subprocess.run([*engine_command(store), "unshare", "true"], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
