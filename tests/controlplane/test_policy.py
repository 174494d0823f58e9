"""The policy document: what is accepted, what is refused with which line, and how a version becomes active."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from controlplane.accounts.models import AuditEntry, User
from controlplane.policy import service
from controlplane.policy.active import ActivePolicy, active_policy, active_version
from controlplane.policy.models import PolicyVersion
from controlplane.policy.reading import PolicyError, read_document
from tests.conftest import SHARED_DATA
from tests.controlplane.conftest import client_of

SAMPLE = Path(service.__file__).with_name("sample.yaml")


def with_lines(*lines: str) -> str:
    return "\n".join(["scheduler:", *(f"  {line}" for line in lines)])


def test_defaults_are_those_of_the_requirements() -> None:
    document = read_document("scheduler: {}")
    health = document.health
    assert (health.report_interval_s, health.silent_after_s, health.lost_after_s) == (10, 45, 180)
    assert (health.failed_checks, health.unknown_checks, health.good_checks) == (3, 3, 5)
    assert (health.mass_silence_percent, health.clock_offset_alert_ms, health.auto_release) == (30, 50, False)
    assert document.memory_precheck.ratio == (6, 5)
    queues = [
        (q.name, q.priority, q.quota_ppm, q.preemptable, q.borrow) for q in document.queue_policy.queues
    ]
    assert queues == [
        ("inference", 100, 300_000, False, False),
        ("training", 70, 500_000, False, False),
        ("offline", 30, 200_000, True, False),
    ]
    assert (document.memory_guard.shared_percent, document.memory_guard.whole_percent) == (90, 97)
    assert (document.preemption.grace_s, document.preemption.min_run_s) == (120, 600)


@pytest.mark.shared_data
def test_the_shared_sample_is_accepted_unchanged_and_ours_says_the_same() -> None:
    shared = (SHARED_DATA / "policy" / "hybrid-scheduler.yaml").read_text()
    assert read_document(shared) == read_document(SAMPLE.read_text())


def test_the_sample_in_figures() -> None:
    document = read_document(SAMPLE.read_text())
    assert document.scoring_weights.by_term() == {
        "resource-fit": 350_000, "affinity": 250_000, "topology": 200_000, "balance": 120_000,
        "fragmentation-penalty": 80_000, "power": 0,
    }  # fmt: skip
    assert document.resource_filters[0].key == "example.com/gpu-memory"
    assert document.cpu_policy.high_bandwidth_nodesets == ("node-group-a",)


def test_sections_may_stand_beside_scheduler() -> None:
    inside = yaml.safe_load(SAMPLE.read_text())["scheduler"]
    outside = {"scheduler": {"name": inside.pop("name")}, **inside}
    assert read_document(yaml.safe_dump(outside)) == read_document(SAMPLE.read_text())
    assert read_document(yaml.safe_dump({**inside, "name": "hybrid-scheduler"})) == read_document(
        SAMPLE.read_text()
    )


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        (with_lines("name: x", "colour: red"), 3, "colour"),
        (with_lines("health:", "  silent-after: 3"), 3, "health.silent-after"),
        (with_lines("health:", "  failed-checks: 0"), 3, "health.failed-checks"),
        (with_lines("health:", "  failed-checks: many"), 3, "health.failed-checks"),
        (with_lines("health:", "  failed-checks: 3.0"), 3, "health.failed-checks"),
        (with_lines("health:", "  silent-after-s: 45", "  lost-after-s: 45"), 4, "health.lost-after-s"),
        (with_lines("health:", "  silent-after-s: 5"), 3, "health.silent-after-s"),
        (with_lines("scoring-weights:", "  fragmentation-penalty: 0"), 3, "scoring-weights.fragmentation-penalty"),
        (with_lines("scoring-weights:", "  fragmentation-penalty: 0.009"), 3, "scoring-weights.fragmentation-penalty"),
        (with_lines("scoring-weights:", "  topology: -0.1"), 3, "scoring-weights.topology"),
        (with_lines("scoring-weights:", "  topology: .nan"), 3, "scoring-weights.topology"),
        (with_lines("scoring-weights:", "  topology: .inf"), 3, "scoring-weights.topology"),
        (with_lines("scoring-weights:", "  topology: 0.12345678"), 3, "scoring-weights.topology"),
        (with_lines("scoring-weights:", "  topology: true"), 3, "scoring-weights.topology"),
        (with_lines("scoring-weights:", "  speed: 1"), 3, "scoring-weights.speed"),
        (with_lines("queue-policy:", "  queues: []"), 3, "queue-policy.queues"),
        (with_lines("queue-policy:", "  queues:", "  - name: a", "    priority: 1", "    quota: 130%"), 6,
         "queue-policy.queues[0].quota"),
        (with_lines("queue-policy:", "  queues:", "  - {name: a, priority: 1, quota: 0.3}"), 4,
         "queue-policy.queues[0].quota"),
        (with_lines("queue-policy:", "  queues:", "  - {name: a, priority: 1}", "  - {name: a, priority: 2}"), 5,
         "queue-policy.queues[1].name"),
        (with_lines("queue-policy:", "  queues:", "  - {name: a, priority: 1, borrow: true}"), 4,
         "queue-policy.queues[0].borrow"),
        (with_lines("queue-policy:", "  queues:", "  - {name: Big Queue, priority: 1}"), 4,
         "queue-policy.queues[0].name"),
        (with_lines("queue-policy:", "  queues:", "  - {name: a}"), 4, "queue-policy.queues[0]"),
        (with_lines("resource-filters:", "- {type: disk, key: a}"), 3, "resource-filters[0].type"),
        (with_lines("memory-precheck:", "  factor: 0.5"), 3, "memory-precheck.factor"),
        (with_lines("valley-window:", "  time-zone: Mars/Base"), 3, "valley-window.time-zone"),
        (with_lines("valley-window:", "  from: '25:00'"), 3, "valley-window.from"),
        (with_lines("cpu-policy:", "  bind-core: false"), 3, "cpu-policy.bind-core"),
        (with_lines("health:", "  probe-interval-s: 1"), 3, "health.probe-interval-s"),
        (with_lines("cycle:", "  interval-s: 1"), 3, "cycle.interval-s"),
        (with_lines("name: a", "name: b"), 3, "name"),
        ("scheduler:\n  name: a\nname: b", 3, "name"),
        ("scheduler: [1]", 1, "scheduler"),
        ("- 1", 1, ""),
        ("", 1, ""),
        ("scheduler:\n  name: [", 2, ""),
        ("scheduler:\n  ? [a]\n  : 1", 2, "scheduler"),
        ("a: !!python/object/apply:os.system [ls]", 1, "a"),
    ],
)  # fmt: skip
def test_bad_documents_name_line_and_field(text: str, line: int, field: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_document(text)
    assert (caught.value.line, caught.value.field) == (line, field), caught.value.reason
    assert caught.value.reason


def test_bombs_are_refused() -> None:
    laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    for text in (laughs, "a: " + "[" * 5000, "a: &a [*a]", "x" * (2 << 20)):
        with pytest.raises(PolicyError):
            read_document(text)


@given(ppm=st.integers(0, 1_000_000))
def test_quotas_are_exact(ppm: int) -> None:
    text = f"{Decimal(ppm) / 10_000:f}%"
    document = read_document(
        with_lines("queue-policy:", f"  queues: [{{name: a, priority: 1, quota: '{text}'}}]")
    )
    assert document.queue_policy.queues[0].quota_ppm == ppm


@given(ppm=st.integers(10_000, 1_000_000))
def test_weights_are_exact(ppm: int) -> None:
    document = read_document(
        with_lines("scoring-weights:", f"  fragmentation-penalty: {Decimal(ppm) / 1_000_000:f}")
    )
    assert document.scoring_weights.fragmentation_penalty == ppm


@given(text=st.text(alphabet="ab:-[]{}&*!%@'\"\n #0.,?|>\x00\ud800\t", max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        read_document(text)
    except PolicyError as error:
        assert error.reason


@pytest.mark.django_db
def test_without_a_version_the_defaults_hold() -> None:
    assert active_version().number == 0
    assert active_policy() == read_document("scheduler: {}")


@pytest.mark.django_db
def test_versions_count_up_and_one_is_active(admin: User, django_assert_num_queries) -> None:
    service.activate(SAMPLE.read_text(), author=admin, reason="start")
    service.activate(with_lines("health:", "  silent-after-s: 60"), author=admin, reason="patience")
    assert active_version().number == 2 and active_policy().health.silent_after_s == 60
    assert list(PolicyVersion.objects.filter(active=True).values_list("number", flat=True)) == [2]
    assert AuditEntry.objects.filter(action="policy-activate", actor=admin).count() == 2
    with django_assert_num_queries(1):
        active_policy()


@pytest.mark.django_db
def test_followers_decide_with_the_transaction(admin: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(active: ActivePolicy) -> None:
        assert active.document.name == "hybrid-scheduler"
        raise ValueError("no")

    monkeypatch.setattr(service, "_followers", [refuse])
    with pytest.raises(ValueError):
        service.activate(SAMPLE.read_text(), author=admin, reason="start")
    assert not PolicyVersion.objects.exists() and not AuditEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_parallel_activations_are_numbered_without_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_followers", [])

    def activate(number: int) -> None:
        try:
            service.activate(SAMPLE.read_text(), author=None, reason=str(number))
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(activate, range(6)))
    assert sorted(PolicyVersion.objects.values_list("number", flat=True)) == [1, 2, 3, 4, 5, 6]
    assert PolicyVersion.objects.filter(active=True).count() == 1


@pytest.mark.django_db
def test_load_policy_is_idempotent(tmp_path: Path) -> None:
    call_command("load_policy", verbosity=0)
    file = tmp_path / "other.yaml"
    file.write_text(with_lines("name: other"))
    call_command("load_policy", str(file), verbosity=0)
    assert active_version().number == 1 and active_policy().name == "hybrid-scheduler"
    file.write_text(with_lines("nme: other"))
    with translation.override("en"), pytest.raises(CommandError, match=r"other\.yaml: line 2: nme"):
        call_command("load_policy", str(file))
    with pytest.raises(CommandError, match="nowhere"):
        call_command("load_policy", str(tmp_path / "nowhere"))


def test_policies_over_http(admin: User) -> None:
    client = client_of(admin)
    assert client.get("/api/v1/policies/active").status_code == 404
    made = client.post("/api/v1/policies", {"document": SAMPLE.read_text(), "reason": "start"}, format="json")
    assert (made.status_code, made.json()["number"]) == (201, 1)
    active = client.get("/api/v1/policies/active").json()
    assert (active["number"], active["author"], active["document"]) == (1, "root", SAMPLE.read_text())
    assert "document" not in client.get("/api/v1/policies").json()["results"][0]


def test_a_bad_policy_over_http_names_the_line(admin: User) -> None:
    body = {"document": with_lines("name: x", "colour: red"), "reason": "x"}
    answer = client_of(admin).post("/api/v1/policies", body, format="json")
    assert answer.status_code == 400
    assert (answer.json()["params"]["line"], answer.json()["params"]["field"]) == (3, "colour")
    assert answer.json()["errors"][0]["field"] == "document"


@pytest.mark.parametrize(
    ("text", "english", "chinese"),
    [
        (with_lines("colour: red"), "line 2: colour: ", "第 2 行：colour"),
        ("\u00e9" * 2**19 + "xx", "document: ", "文档："),
    ],
)
def test_a_bad_policy_is_told_in_one_language(admin: User, text: str, english: str, chinese: str) -> None:
    body = {"document": text, "reason": "x"}
    for language, begins in (("en", english), ("zh-Hans", chinese)):
        headers = {"Accept-Language": language}
        answer = client_of(admin).post("/api/v1/policies", body, format="json", headers=headers)
        (error,) = answer.json()["errors"]
        assert error["message"].startswith(begins)


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ("[{name: a, metric: heat, above: 3}]", "alert-rules[0].metric"),
        ("[{name: a, metric: node-cpu-percent}]", "alert-rules[0]"),
        ("[{name: a, metric: node-cpu-percent, above: 3, below: 1}]", "alert-rules[0]"),
        ("[{name: a, metric: node-cpu-percent, above: 3, clear: 5}]", "alert-rules[0].clear"),
        ("[{name: a, metric: node-cpu-percent, below: 3, clear: 1}]", "alert-rules[0].clear"),
        ("[{name: a, metric: node-cpu-percent, above: 3, for-s: -1}]", "alert-rules[0].for-s"),
        ("[{name: a, metric: node-cpu-percent, above: 3, models: [A100]}]", "alert-rules[0].models"),
        ("[{name: a, metric: device-memory-percent, above: 100}]", "alert-rules[0].above"),
        ("[{name: a, metric: device-power-percent, above: -5}]", "alert-rules[0].above"),
        ("[{name: a, metric: device-utilization-percent, below: 0}]", "alert-rules[0].below"),
        ("[{name: a, metric: node-memory-percent, below: 101}]", "alert-rules[0].below"),
        ("[{name: a, metric: node-cpu-percent, above: 90, clear: -5}]", "alert-rules[0].clear"),
        ("[{name: a, metric: node-cpu-percent, below: 10, clear: 150}]", "alert-rules[0].clear"),
        ("[{name: a, metric: device-memory-percent, above: 85, models: ['']}]", "alert-rules[0].models"),
        ("[{name: a, metric: node-cpu-percent, above: 85, node-sets: [' ']}]", "alert-rules[0].node-sets"),
    ],
)
def test_alert_rules_that_mean_nothing_are_refused(rules: str, field: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_document(f"scheduler:\n  alert-rules: {rules}\n")
    assert (caught.value.line, caught.value.field) == (2, field)


def test_coarser_readings_are_kept_at_least_as_long() -> None:
    with pytest.raises(PolicyError, match="minute-readings-days"):
        read_document("scheduler:\n  retention: {raw-readings-hours: 100, minute-readings-days: 1}\n")
