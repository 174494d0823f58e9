"""Names of models and node sets that nothing has are refused where somebody gives them, with the known ones near."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Role
from controlplane.policy import service
from controlplane.policy.reading import PolicyError
from inventory.known_names import near
from inventory.models import NodeSet
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db

HOT = "metric: device-temperature-c, above: 90"


def activate(rules: str, caps: str = "") -> None:
    queues = f"[{{name: training, priority: 70{caps}}}]"
    text = f"scheduler:\n  queue-policy: {{queues: {queues}}}\n  alert-rules: {rules}\n"
    service.activate(text, author=None, reason="test")


@pytest.mark.parametrize(
    ("rules", "caps", "field", "said"),
    [
        (f"[{{name: a, {HOT}, models: [A100, H10O]}}]", "", "alert-rules[0].models[1]", "H100"),
        (f"[{{name: a, {HOT}, models: [Zeta-9]}}]", "", "alert-rules[0].models[0]", "Zeta-9."),
        (f"[{{name: a, {HOT}, models: [turbocard-y2]}}]", "", "alert-rules[0].models[0]", "TurboCard X2"),
        (f"[{{name: a, {HOT}, node-sets: [rack-q]}}]", "", "alert-rules[0].node-sets[0]", "rack-a"),
        ("[]", ", model-caps: {a10O: 50%}", "queue-policy.queues[0].model-caps.a10O", "A10"),
    ],
)
def test_a_policy_that_names_what_nothing_has_is_refused(rules, caps, field, said):
    make.make_device(make.make_node(), model="TurboCard X2")
    NodeSet.objects.create(name="rack-a")
    with pytest.raises(PolicyError) as refused:
        activate(rules, caps)
    assert refused.value.field == field and refused.value.line in {2, 3}
    assert said in refused.value.reason


def test_what_is_reported_catalogued_or_there_may_be_named():
    make.make_device(make.make_node(), model="TurboCard X2")
    NodeSet.objects.create(name="rack-a")
    activate(
        f"[{{name: a, {HOT}, models: [turbocard, a100, 'Ascend 910B3', nvidia], node-sets: [rack-a]}}]",
        ", model-caps: {turbocard-x2: 10%}",
    )


def test_the_api_names_the_field_and_the_fix():
    make.make_queues()
    make.make_team()
    client = APIClient()
    client.force_login(make.make_user("adm", role=Role.ADMIN))
    document = f"alert-rules: [{{name: a, {HOT}, models: [H10O]}}]"
    for address in ("policies", "queues/preview"):
        body = {"document": document} | ({"reason": "x"} if address == "policies" else {})
        answer = client.post(f"/api/v1/{address}", body, format="json")
        assert answer.status_code == 400 and answer["Content-Type"] == "application/problem+json"
        assert answer.json()["params"]["field"] == "alert-rules[0].models[0]"
        assert "H100" in answer.json()["params"]["reason"]
    quota = {"queue": "training", "team": "vision", "model": "H10O", "quota_milli": 1}
    (error,) = client.post("/api/v1/team-quotas", quota, format="json").json()["errors"]
    assert (error["field"], error["code"]) == ("model", "not-found") and "H100" in error["message"]


def test_near_names_are_found_whatever_their_case():
    assert near("a10o", ["Maker A100", "V100", "a10"]) == ["a10", "Maker A100"]
    assert near("x", []) == []
