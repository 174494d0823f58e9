"""What is kept on disk, the clock, the settings, and the environment of a job."""

import os
from pathlib import Path

import pytest

from agent.clock import OffsetEstimator, Stamp
from agent.config import ConfigError, Identity, load_config, load_identity, parse_setting, save_identity
from agent.enrolment import explain_refusal, split_token
from agent.journal import Journal, Obeyed
from agent.protocol import AssignedDevice, ExitReason, Vendor
from agent.runners.environment import job_environment, visible_devices
from agent.runners.identity import FIRST_UID, LAST_UID, UserPool, can_isolate
from agent.task import Outcome, Record, TaskKey
from agent.transport import Backoff, Refused, check_address
from tests.agent.server import assignment

OUTCOME = Outcome(reason=ExitReason.EXITED, ended_at_ms=5, exit_code=3, log_bytes=9)
STATUS = "Name:\tagent\nCapEff:\t000001ffffffffff\n"
IDENTITY_MAP = "         0          0 4294967295\n"


def record(placement: int = 1) -> Record:
    return Record(assignment=assignment(placement), boot_id="b", created_at_ms=1, uid=61200)


def test_the_journal_comes_back_as_written(tmp_path: Path) -> None:
    Journal(tmp_path).write(record())
    journal = Journal(tmp_path)
    assert journal.read_all() == [record()]
    assert oct((tmp_path / "tasks/1-1-1/record.json").stat().st_mode & 0o777) == "0o600"


def test_a_half_made_folder_is_removed_unless_something_started_there(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for name in ("1-1-1", "2-1-1"):
        (tmp_path / "tasks" / name).mkdir()
        (tmp_path / "tasks" / name / "record.json").write_text('{"assig')
    (tmp_path / "tasks/2-1-1/start").write_text("pid=1\nboot_id=b\nuid=61200\n")
    (rebuilt,) = journal.read_all()
    assert (rebuilt.key, rebuilt.uid, rebuilt.boot_id) == (TaskKey(2, 1, 1), 61200, "b")
    assert sorted(os.listdir(tmp_path / "tasks")) == ["2-1-1"]


def test_a_task_let_go_is_remembered_until_its_log_is_gone_and_its_end_for_good(tmp_path: Path) -> None:
    journal, key = Journal(tmp_path), TaskKey(1, 1, 1)
    journal.write(record())
    (journal.folder(key) / "log").write_text("output")
    journal.spool(key, OUTCOME)
    again = Journal(tmp_path)
    assert again.read_all() == [] and again.spooled() == [record()]
    assert (again.folder(key) / "log").read_text() == "output"
    again.drop(key)
    assert again.spooled() == [] and again.past_keys() == {key} and again.past_outcome(key) == OUTCOME


def test_the_obeyed_epoch_survives(tmp_path: Path) -> None:
    Journal(tmp_path).write_obeyed(Obeyed("c1", 42, "b", 1.5), durable=True)
    assert Journal(tmp_path).read_obeyed() == Obeyed("c1", 42, "b", 1.5)
    (tmp_path / "obeyed").write_bytes(b"\x00garbage")
    assert Journal(tmp_path).read_obeyed() == Obeyed()


def exchange(estimator: OffsetEstimator, *, at_us: int, ahead_us: int, there_us: int, back_us: int) -> None:
    """Node clock = server clock + ahead_us; the server answers at once."""
    sent = Stamp(at_us, at_us - 7)
    server_ms = (at_us - ahead_us + there_us) // 1000
    received = Stamp(at_us + there_us + back_us, at_us + there_us + back_us - 7)
    estimator.add(sent, received, server_received_ms=server_ms, server_sent_ms=server_ms)


def test_the_least_round_trip_gives_the_offset() -> None:
    estimator = OffsetEstimator()
    assert estimator.best() is None
    exchange(estimator, at_us=10_000_000, ahead_us=60_000, there_us=90_000, back_us=2_000)
    exchange(estimator, at_us=20_000_000, ahead_us=60_000, there_us=1_000, back_us=1_000)
    best = estimator.best()
    assert best is not None and abs(best.offset_us - 60_000) <= best.uncertainty_us < 3_000


def test_after_a_jump_of_the_own_clock_old_exchanges_are_forgotten() -> None:
    estimator = OffsetEstimator()
    exchange(estimator, at_us=10_000_000, ahead_us=0, there_us=500, back_us=500)
    hour_us = 3_600_000_000
    sent, received = Stamp(20_000_000 + hour_us, 20_000_000 - 7), Stamp(20_004_000 + hour_us, 20_004_000 - 7)
    estimator.add(sent, received, server_received_ms=20_002, server_sent_ms=20_002)
    best = estimator.best()
    assert best is not None and abs(best.offset_us - hour_us) < 5_000


def test_settings_come_from_flags_over_environment_over_file(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text('server = "https://a"\nnode_set = "file"\nhostname = "file"\n[labels]\nrack = "1"\n')
    environment = {
        "HEADRACE_AGENT_NODE_SET": "env",
        "HEADRACE_AGENT_HOSTNAME": "env",
        "HEADRACE_AGENT_RESERVED_CPUS": "0,1",
    }
    config = load_config(file, flags={"hostname": "flag", "state_dir": None}, environment=environment)
    assert (config.server, config.node_set, config.hostname) == ("https://a", "env", "flag")
    assert (config.labels, config.reserved_cpus) == ({"rack": "1"}, [0, 1])


@pytest.mark.parametrize("text", ['srver = "x"', "interval_s = 'soon'", "server = [", "labels = 3"])
def test_a_wrong_setting_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"agent\.toml"):
        load_config(file, flags={}, environment={})


def test_the_identity_is_kept_secret(tmp_path: Path) -> None:
    identity = Identity("https://a", "c1", 7, "secret", "m1")
    assert load_identity(tmp_path / "state") is None
    save_identity(tmp_path / "state", identity)
    assert load_identity(tmp_path / "state") == identity
    assert (tmp_path / "state/node.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("data", [b"", b"\xff", b"{}", b"[" * 100_000, b'{"server": 3}', b" " * (1 << 25)])
def test_a_damaged_identity_is_put_aside_once(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "node.json").write_bytes(data)
    with pytest.raises(ConfigError, match=r"node\.json.*put aside as node\.json\.damaged\); enrol again"):
        load_identity(tmp_path)
    assert (tmp_path / "node.json.damaged").read_bytes() == data
    assert load_identity(tmp_path) is None


def test_an_identity_that_cannot_be_read_now_stays(tmp_path: Path) -> None:
    (tmp_path / "node.json").mkdir()
    with pytest.raises(ConfigError, match=r"node\.json"):
        load_identity(tmp_path)
    assert (tmp_path / "node.json").is_dir()


def test_plain_http_is_for_loopback_only() -> None:
    for good in ("http://127.0.0.1:8000", "http://localhost", "http://[::1]:1", "https://headrace.example"):
        check_address(good)
    for bad in ("http://headrace.example", "ftp://localhost", "localhost:8000", ""):
        with pytest.raises(ValueError, match=r"server|machine"):
            check_address(bad)


def test_a_token_may_pin_the_ca() -> None:
    assert split_token("abc") == ("abc", None)
    assert split_token("abc#sha256=" + "AB" * 32) == ("abc", "ab" * 32)
    with pytest.raises(ConfigError, match="64"):
        split_token("abc#sha256=12")


def test_a_refused_token_is_retried_slowly() -> None:
    backoff = Backoff()
    assert backoff.next_s() < 1.0 and backoff.next_s() <= 1.0
    assert backoff.next_s(Refused(401, "", "", {})) > 20.0


def device(vendor: Vendor, index: int, uuid: str | None = None) -> AssignedDevice:
    return AssignedDevice(vendor, index, uuid, f"0000:{index:02x}:00.0", 1024, 1000)


def test_a_job_sees_its_devices_and_no_others() -> None:
    seen = visible_devices(
        [device(Vendor.NVIDIA, 3, "GPU-x"), device(Vendor.NVIDIA, 1, "GPU-y"), device(Vendor.ASCEND, 5)]
    )
    assert (seen["CUDA_VISIBLE_DEVICES"], seen["ASCEND_RT_VISIBLE_DEVICES"]) == ("GPU-x,GPU-y", "5")
    assert set(visible_devices([]).values()) == {""} and "MLU_VISIBLE_DEVICES" in seen


def test_a_job_cannot_override_its_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_AGENT", "x")
    wanted = assignment(
        4,
        env={"HEADRACE_JOB": "0", "CUDA_VISIBLE_DEVICES": "0,1,2", "PATH": "/opt/bin", "MINE": "1"},
        cpus=[2, 3, 4],
        loader_cpus=[4],
        memory_mib=512,
    )
    environment = job_environment(wanted, home="/h")
    assert (environment["HEADRACE_JOB"], environment["CUDA_VISIBLE_DEVICES"]) == ("1004", "")
    assert (environment["HEADRACE_CPUS"], environment["HEADRACE_LOADER_CPUS"]) == ("2,3", "4")
    assert (environment["PATH"], environment["MINE"], environment["HOME"]) == ("/opt/bin", "1", "/h")
    assert environment["HEADRACE_MEMORY_MIB"] == "512" and "SECRET_OF_THE_AGENT" not in environment


def test_who_may_change_users() -> None:
    assert can_isolate(STATUS, IDENTITY_MAP, euid=0)
    assert not can_isolate(STATUS, IDENTITY_MAP, euid=1000)
    assert not can_isolate("CapEff:\t0000000000000000\n", IDENTITY_MAP, euid=0)
    assert not can_isolate(STATUS, "0 100000 1000\n", euid=0)


def test_two_agents_never_hand_out_the_same_user(tmp_path: Path) -> None:
    one, two = UserPool(tmp_path), UserPool(tmp_path)
    taken = [pool.take() for pool in (one, two, one, two)]
    assert len(set(taken)) == 4 and all(FIRST_UID <= uid <= LAST_UID for uid in taken)
    assert not two.hold(taken[0])
    one.give_back(taken[0])
    assert two.hold(taken[0])


def test_settings_given_as_text_are_understood_or_refused() -> None:
    assert parse_setting("reserved_cpus", "0-3, 8") == [0, 1, 2, 3, 8]
    assert parse_setting("observe_only", "Y") is True and parse_setting("observe_only", "off") is False
    for name, text in (
        ("reserved_cpus", "0-3,x"),
        ("reserved_cpus", "3-1"),
        ("observe_only", "perhaps"),
        ("labels", "rack"),
    ):
        with pytest.raises(ConfigError, match=name):
            parse_setting(name, text)
    with pytest.raises(ConfigError, match="max_processes"):
        load_config(None, flags={"max_processes": "0"}, environment={})


def test_a_refusal_says_what_the_server_said() -> None:
    assert "/etc/machine-id" in explain_refusal(Refused(409, "duplicate-machine", "", {}))
    approval = explain_refusal(Refused(409, "takeover-needs-approval", "", {}))
    assert "admin" in approval and "/etc/machine-id" not in approval
    other = explain_refusal(Refused(409, "something-else", "why", {}))
    assert "something-else: why" in other and "/etc/machine-id" not in other
