"""Secrets of private registries: kept in files, named by jobs and orders, told to no one but the nodes that fetch."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from agent import protocol
from agent.protocol import SecretReply, SecretRequest
from controlplane.accounts.models import AuditEntry, Membership
from controlplane.base.problems import Problem
from controlplane.policy.active import active_policy
from inventory.images import pushes, secrets
from inventory.images.secrets import SecretMissing, SecretUnusable, find, used_for
from inventory.models import Image, Node, NodeState
from queues.submission import Submission, submit
from scheduling.backends.agent import desired_set
from scheduling.models import Phase, Placement
from tests.agentapi.speaking import enrolled, post
from tests.inventory.test_api import signed_in
from tests.inventory.test_images_api import having
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db
HOST, PASSWORD = "registry.example:5000", "wAlrus-44-tusk"
IMAGE = f"{HOST}/team/model:1"


@pytest.fixture(autouse=True)
def folder(tmp_path, settings):
    settings.REGISTRY_SECRETS_DIR = tmp_path / "secrets"
    return settings.REGISTRY_SECRETS_DIR


@pytest.fixture
def user():
    make.make_queues()
    return make.make_user(team=make.make_team())


def make_secret(name="models", *, teams=(), registry=HOST):
    return secrets.make(name, registry=registry, user="robot", password=PASSWORD, teams=teams)


def refused(user, **changes) -> list[tuple[str, str]]:
    with pytest.raises(Problem) as caught:
        submit(Submission(user, make.body(**changes)))
    return [(e.field, e.code) for e in caught.value.errors]


def test_a_secret_is_a_private_file_and_shows_nothing_of_itself(folder):
    secret = make_secret(teams=["vision"])
    assert (folder / "models").stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
    assert PASSWORD not in repr(secret) and secret.auths[HOST] not in repr(secret)
    assert secret.auths[HOST] not in repr(SecretReply(1, secret.auths))
    with pytest.raises(FileExistsError):
        make_secret()
    docker = make_secret("hub", registry="docker.io")
    assert "index.docker.io" in docker.document() and "\n" not in docker.document()
    assert docker.is_for("python:3") and not docker.is_for(IMAGE)
    secrets.remove("models")
    with pytest.raises(SecretMissing):
        find("models")


def test_files_that_others_read_or_that_are_something_else_are_not_used(folder):
    make_secret()
    content = (folder / "models").read_bytes()
    (folder / "models").chmod(0o640)
    with pytest.raises(SecretUnusable, match="owner only"):
        find("models")
    (folder / "elsewhere").write_bytes(content)
    (folder / "elsewhere").chmod(0o600)
    (folder / "link").symlink_to(folder / "elsewhere")
    helper = b'{"auths": {}, "credHelpers": {"a": "tool"}}'
    for name, data in (("tool", helper), ("bad", b'{"auths": "wAlrus'), ("empty", b"")):
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o600)
    for name in ("link", "tool", "bad", "empty"):
        with pytest.raises(SecretUnusable) as caught:
            find(name)
        assert "wAlrus" not in str(caught.value)
    for name in ("../models", "a/b", "", ".hidden"):
        with pytest.raises(SecretMissing):
            find(name)


def say(*arguments: str, stdin: str = "") -> str:
    out = io.StringIO()
    call_command("registry_secret", *arguments, stdout=out, stdin=io.StringIO(stdin))
    return out.getvalue()


def test_the_command_keeps_lists_and_removes_and_the_password_is_no_argument(user):
    add = ("add", "models", "--registry", HOST, "--user", "robot")
    assert "image_secret: models" in say(*add, "--team", "vision", stdin=f"{PASSWORD}\n")
    assert say("list") == f"models  {HOST}  vision\n"
    for more, words in ((("--team", "none"), "no team none"), ((), "this name already")):
        with pytest.raises(CommandError, match=words):
            say(*add, *more, stdin=f"{PASSWORD}\n")
    with pytest.raises(CommandError, match="password"):
        say("add", "other", "--registry", HOST, "--user", "robot")
    say("remove", "models")
    told = list(AuditEntry.objects.values_list("action", flat=True))
    assert told == ["registry-secret-add", "registry-secret-remove"]
    assert PASSWORD not in str(list(AuditEntry.objects.values()))


def test_a_job_names_a_secret_of_its_team_for_an_image_of_its_registry(user):
    make_secret(teams=["vision"])
    make_secret("others", teams=["speech"])
    named = {"image": IMAGE, "image_secret": "models"}
    assert refused(user, image_secret="models") == [("image_secret", "image-missing")]
    unknown = refused(user, **named | {"image_secret": "none"})
    assert (
        unknown == refused(user, **named | {"image_secret": "others"}) == [("image_secret", "no-such-secret")]
    )
    elsewhere = refused(user, **named | {"image": "registry.example/team/model:1"})
    assert elsewhere == [("image_secret", "other-registry")]
    job = make.make_job(user, **named)
    assert job.spec["image_secret"] == "models" and PASSWORD not in str(job.spec)
    assert used_for([IMAGE, "other:1"]) == {IMAGE: "models"} and Image.objects.get().secret == "models"


def test_the_list_shows_to_each_what_its_teams_may_name(user, client):
    make_secret("all")
    make_secret("ours", teams=["vision"])
    make_secret("theirs", teams=["speech"])
    client.force_login(user)
    answer = client.get("/api/v1/images/secrets")
    rows = {row["name"]: row for row in answer.json()["results"]}
    assert set(rows) == {"all", "ours"} and rows["ours"]["registries"] == [HOST]
    make.make_team("speech")
    whole = signed_in("admin").get("/api/v1/images/secrets")
    assert [row["name"] for row in whole.json()["results"]] == ["all", "ours", "theirs"]
    for body in (answer.content, whole.content):
        assert PASSWORD.encode() not in body and find("all").auths[HOST].encode() not in body


def asked(one, name="models"):
    return post("images/secret", SecretRequest(1, name), token=one.token)


def test_a_node_gets_the_secrets_of_its_own_orders_only(user):
    secret, one, other = make_secret(), enrolled(), enrolled("machine-2", "boot-2")
    Node.objects.update(state=NodeState.READY)
    assert post("images/secret", SecretRequest(1, "models")).status_code == 401
    assert asked(one).status_code == 403
    job = make.make_job(user, image=IMAGE, image_secret="models")
    placement = Placement.objects.create(
        job=job, node_id=one.node, attempt=1, fence=1, phase=Phase.ASSIGNED, cpus=[]
    )
    (assignment,) = desired_set(Node.objects.get(pk=one.node))[1]
    assert assignment.image_secret == "models" and PASSWORD not in repr(assignment)
    answer = asked(one)
    assert protocol.decode(answer.content, SecretReply).auths == secret.auths
    assert answer["Cache-Control"] == "no-store"
    assert [asked(other).status_code, asked(one, "none").status_code] == [403, 403]
    Placement.objects.filter(pk=placement.pk).update(phase=Phase.RELEASED)
    assert asked(one).status_code == 403

    pushes.want([(other.node, IMAGE)], here={})
    assert asked(other).status_code == 403
    assert pushes.next_orders(other.node, active_policy().images)[0] == [IMAGE]
    assert asked(other).status_code == 200
    secrets.remove("models")
    gone = asked(other)
    assert gone.status_code == 409 and gone.json()["code"] == "secret-unusable"


def test_a_secret_that_was_taken_from_a_team_goes_to_none_of_its_jobs_any_more(user):
    make_secret(teams=["vision"])
    one, other = enrolled(), enrolled("machine-2", "boot-2")
    Node.objects.update(state=NodeState.READY)
    job = make.make_job(user, image=IMAGE, image_secret="models")
    Placement.objects.create(job=job, node_id=one.node, attempt=1, fence=1, phase=Phase.ASSIGNED, cpus=[])
    pushes.want([(other.node, IMAGE)], here={})
    assert pushes.next_orders(other.node, active_policy().images)[0] == [IMAGE]
    assert [asked(one).status_code, asked(other).status_code] == [200, 200]
    make.make_team("speech")
    secrets.remove("models")
    make_secret(teams=["speech"])
    assert [asked(one).status_code, asked(other).status_code] == [403, 200]
    secrets.remove("models")
    make_secret(teams=["vision"], registry="other.example")
    assert [asked(one).status_code, asked(other).status_code] == [403, 403]


def test_an_order_by_hand_names_a_secret_too():
    make_secret()
    node = having("machine-1")
    client = signed_in()

    def order(**more):
        body = {"action": "warm", "image": IMAGE, "nodes": [node.pk], "reason": "why", **more}
        return client.post("/api/v1/images/orders", body, content_type="application/json")

    assert order(secret="none").json()["errors"][0]["field"] == "secret"
    assert order(secret="models", image="python:3").status_code == 400
    assert order(secret="models").json()["outcomes"][0]["changed"] and used_for([IMAGE]) == {IMAGE: "models"}


def test_members_of_both_teams_name_both(user):
    make_secret("theirs", teams=["speech"])
    Membership.objects.create(user=user, team=make.make_team("speech"))
    named = {"image": IMAGE, "image_secret": "theirs"}
    assert refused(user, team="vision", **named) == [("image_secret", "no-such-secret")]
    assert make.make_job(user, team="speech", **named).pk
