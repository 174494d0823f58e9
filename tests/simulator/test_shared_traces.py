"""The real traces, short pieces of them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bench.data import OPENB, PHILLY, data_file
from bench.openb_lists import load
from scheduling.simulator.cluster import uniform_nodes
from scheduling.simulator.policy import preset, read_policy
from scheduling.simulator.settings import Order
from scheduling.simulator.traces import openb, philly
from tests.simulator.checking import check
from tests.simulator.runs import HOUR_MS, replay

pytestmark = pytest.mark.shared_data
LISTS = {"default": 8152, "gpuspec33": 8152, "gpushare100": 8152, "multigpu50": 9061, "cpu250": 9420}


@pytest.mark.parametrize(("name", "pods"), LISTS.items())
def test_every_openb_list_reads(name, pods):
    lists = load(name, None)
    assert (len(lists.nodes), len(lists.pods), lists.capacity_milli) == (1213, pods, 6_212_000)


def test_a_day_of_openb_runs_clean():
    nodes = openb.read_nodes(data_file(None, OPENB, "openb_node_list_gpu_node.csv"))
    pods = openb.read_pods(data_file(None, OPENB, "openb_pod_list_default.csv"), {n.model for n in nodes})
    jobs = openb.sim_jobs(pods)
    first = jobs[-60].submitted_ms
    run, log = replay(
        [j for j in jobs if j.submitted_ms >= first],
        on=openb.node_infos(nodes[:40]),
        until_ms=first + 24 * HOUR_MS,
    )
    assert check(log).problems == []
    assert run.work.submitted >= 10 and run.pending.count == 0


def test_half_a_day_of_philly_runs_clean_and_fifo_waits_longer():
    since = datetime(2017, 10, 3, tzinfo=UTC)
    found = philly.read_jobs(data_file(None, PHILLY, "philly_jobs.csv.gz"), since=since)
    assert len(found) == 74_966
    jobs = philly.sim_jobs(found[:250], devices_per_node=8)
    nodes = uniform_nodes(8, devices=8, cores=0, memory_mib=1, model="accelerator")
    mean = {}
    for order in Order:
        run, log = replay(jobs, on=nodes, order=order, policy=preset("packing"), cycle_ms=60_000)
        assert check(log).problems == [] and run.work.completed == 250
        mean[order] = sum(sum(waits) for waits in run.waits.by_size.values()) / 250
    assert mean[Order.FIFO] >= mean[Order.PLAN]


def test_the_sample_document_gives_the_sample_weights():
    path = data_file(None, "policy", "hybrid-scheduler.yaml")
    assert read_policy(path, preset("packing")).weights_ppm == preset("sample").weights_ppm
