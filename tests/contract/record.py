"""Writes wire files of the present protocol version: `python -m tests.contract.record`.

Files of released versions are never rewritten.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from agent import protocol as p

FOLDER = Path(__file__).parent / f"v{p.VERSION}"
GPU = "GPU-6f2c1e0a-0000-4000-8000-000000000001"
BUS = "0000:3b:00.0"


def facts() -> p.Facts:
    return p.Facts(
        machine_id="0123456789abcdef0123456789abcdef",
        hostname="node-1",
        agent_version="0.1.0",
        arch="x86_64",
        os="Debian GNU/Linux 12",
        kernel="6.1.0",
        cpu_model="Xeon",
        cpus=[
            p.Cpu(id=0, core=0, socket=0, numa=0, max_mhz=3500),
            p.Cpu(id=1, core=1, socket=0, online=False),
        ],
        numa=[p.Numa(id=0, cpus=[0, 1], memory_mib=65536, distances=[10])],
        memory_mib=65536,
        mounts=[p.Mount(path="/data", source="10.0.0.1:/data", fs_type="nfs4", total_mib=1048576)],
        runtimes=[p.Runtime(name="docker", version="27.0")],
        devices=[
            p.DeviceFacts(
                vendor=p.Vendor.NVIDIA,
                index=0,
                uuid=GPU,
                pci_bus_id=BUS,
                model="NVIDIA A100-SXM4-80GB",
                memory_total_mib=81920,
                memory_reserved_mib=600,
                compute_units=108,
                numa_node=0,
                cpu_affinity=[0, 1],
                driver_version="570.00",
                power_limit_w=400,
                partitions=[
                    p.Partition(
                        name="3g.40gb",
                        uuid="MIG-6f2c1e0a-0000-4000-8000-000000000004",
                        memory_total_mib=40192,
                        instance=2,
                        compute_instance=0,
                        compute_milli=428,
                        memory_group=2,
                    )
                ],
            ),
            p.DeviceFacts(vendor=p.Vendor.ASCEND, index=1, pci_bus_id="0000:c1:00.0"),
        ],
        links=[p.Link(a=0, b=1, kind="PIX", lanes=12, bandwidth_mb_s=300_000)],
        labels={"zone": "a"},
        node_set="left",
        images=["registry/train:1"],
        datasets=["imagenet"],
        reserved_cpus=[0],
        isolates_users=True,
        warnings=["no container runtime"],
        stored_images=[p.StoredImage(name="registry/train:1", digest="sha256:2", size_mib=900)],
    )


def full_report() -> p.Report:
    return p.Report(
        version=p.VERSION,
        boot_id="b6b0a6c4-0000-4000-8000-000000000002",
        seq=42,
        sent_at_ms=1_767_225_600_000,
        facts_digest="sha256:1",
        epoch=7,
        cluster_id="7b1d8c52-0000-4000-8000-000000000003",
        facts=facts(),
        node=p.NodeSample(cpu_used_milli=1500, memory_used_mib=2048, load1_milli=900, power_mw=250_000),
        samples=[
            p.DeviceSample(
                device=GPU, memory_used_mib=1024, utilization_pct=80, temperature_c=60, power_mw=300_000
            )
        ],
        checks=[
            p.Check(device=GPU, result=p.CheckResult.OK),
            p.Check(device="0000:c1:00.0", result=p.CheckResult.FATAL, code="xid-79", evidence="Xid 79"),
        ],
        tasks=[
            p.TaskState(
                placement=5,
                attempt=1,
                fence=1_767_225_500_000,
                phase=p.TaskPhase.ENDED,
                started_at_ms=1,
                ended_at_ms=2,
                cpus=[1],
                uid=60001,
                pid=4711,
                adopted=True,
                exit_code=0,
                reason=p.ExitReason.EXITED,
                message="done",
                log_bytes=10,
                memory_used_mib=100,
                cpu_used_milli=900,
            )
        ],
        clock=p.ClockSample(offset_us=-1200, uncertainty_us=900),
    )


def reply() -> p.Reply:
    return p.Reply(
        version=p.VERSION,
        cluster_id="7b1d8c52-0000-4000-8000-000000000003",
        authoritative=True,
        epoch=7,
        received_at_ms=1_767_225_600_000,
        sent_at_ms=1_767_225_600_003,
        report_interval_s=10,
        want_facts=False,
        assignments=[
            p.Assignment(
                placement=5,
                job=9,
                attempt=1,
                fence=1_767_225_500_000,
                want=p.Want.RUN,
                name="train",
                command=["python3", "train.py"],
                env={"SEED": "1"},
                cpus=[0, 1],
                memory_mib=1024,
                devices=[
                    p.AssignedDevice(
                        vendor=p.Vendor.NVIDIA,
                        index=0,
                        uuid=GPU,
                        pci_bus_id=BUS,
                        memory_mib=40960,
                        compute_milli=500,
                    )
                ],
                working_dir="/data/run",
                loader_cpus=[1],
                time_limit_s=3600,
                grace_s=30,
                strict_single=True,
            )
        ],
    )


def messages() -> dict[str, msgspec.Struct]:
    """File name -> message."""
    return {
        "enrol_request": p.EnrolRequest(
            version=p.VERSION,
            token="hre_secret",
            machine_id="0123456789abcdef0123456789abcdef",
            boot_id="b6b0a6c4-0000-4000-8000-000000000002",
            hostname="node-1",
            agent_version="0.1.0",
            previous_token="hrn_secret",
        ),
        "enrol_reply": p.EnrolReply(
            version=p.VERSION,
            cluster_id="7b1d8c52-0000-4000-8000-000000000003",
            node=3,
            token="hrn_secret",
            report_interval_s=10,
        ),
        "report_full": full_report(),
        "report_small": p.Report(
            version=p.VERSION, boot_id="boot", seq=1, sent_at_ms=1_767_225_600_000, facts_digest="sha256:1"
        ),
        "reply": reply(),
        "log_reply": p.LogReply(next_offset=10, truncated=True),
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, message in messages().items():
        pretty = msgspec.json.format(p.encode(message), indent=1)
        (FOLDER / f"{name}.json").write_bytes(pretty + b"\n")


if __name__ == "__main__":
    main()
