"""The first rows: made once, secrets on disk only, and a fresh token for the local agent each time."""

from pathlib import Path

import pytest
from django.core.management import call_command

from agent.config import load_config
from controlplane.accounts.models import Role, Team, User
from controlplane.base.models import Cluster
from controlplane.embedded.first_rows import write_first_rows
from controlplane.embedded.local_agent import write_agent_config
from controlplane.embedded.plan import Address
from controlplane.embedded.state import StateFolder
from controlplane.policy.models import PolicyVersion
from inventory.models import EnrolmentToken
from inventory.tokens import digest

pytestmark = pytest.mark.django_db


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    folder = StateFolder(tmp_path / "state")
    folder.ensure()
    return folder


def test_admin_can_sign_in_with_the_password_of_the_file(state: StateFolder) -> None:
    password = write_first_rows(state)
    admin = User.objects.get(username="admin")
    assert password is not None and admin.check_password(password)
    assert admin.role == Role.ADMIN
    assert state.admin_password.read_text().strip() == password
    assert state.admin_password.stat().st_mode & 0o777 == 0o600
    assert Team.objects.get(slug="default").members.get() == admin


def test_again_changes_nothing_that_people_did(state: StateFolder) -> None:
    write_first_rows(state)
    admin = User.objects.get(username="admin")
    admin.set_password("their own")
    admin.save(update_fields=["password"])
    cluster = Cluster.objects.get()
    assert write_first_rows(state) is None
    assert User.objects.get(username="admin").check_password("their own")
    assert Cluster.objects.get().uid == cluster.uid
    assert PolicyVersion.objects.filter(active=True).count() == 1


def test_the_local_agent_always_finds_one_unused_token(state: StateFolder) -> None:
    write_first_rows(state)
    first = state.enrolment_token.read_text().strip()
    write_first_rows(state)
    second = state.enrolment_token.read_text().strip()
    assert first != second
    assert EnrolmentToken.objects.get().token_hash == digest(second)
    assert state.enrolment_token.stat().st_mode & 0o777 == 0o600


def test_the_agent_reads_the_configuration_written_for_it(state: StateFolder) -> None:
    write_first_rows(state)
    path = write_agent_config(state, Address("127.0.0.1", 8123))
    config = load_config(path, flags={}, environment={})
    assert config.server == "http://127.0.0.1:8123"
    assert Path(config.token_file or "").read_text().strip() == state.enrolment_token.read_text().strip()


def test_the_command_shows_the_password_only_when_asked(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADRACE_STATE", str(state.root))
    call_command("bootstrap")
    password = state.admin_password.read_text().strip()
    assert password not in capsys.readouterr().out
    User.objects.all().delete()
    call_command("bootstrap", "--show-password")
    assert state.admin_password.read_text().strip() in capsys.readouterr().out
