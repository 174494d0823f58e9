"""Who may do what: one table of actions, roles and token scopes, and the ways to ask it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from controlplane.accounts.models import ApiToken, Membership, Role, Scope, Team, TeamRole, User
from controlplane.base.problems import Problem
from controlplane.base.queries import check_query_names

if TYPE_CHECKING:
    from rest_framework.views import APIView


Caller = User | AnonymousUser


class Action(StrEnum):
    """Everything a person or token may be allowed to do."""

    ME_READ = "me-read"
    ME_EDIT = "me-edit"
    ME_PASSWORD = "me-password"
    TOKEN_READ = "token-read"
    TOKEN_CREATE = "token-create"
    TOKEN_REVOKE = "token-revoke"
    USER_READ = "user-read"
    USER_EDIT = "user-edit"
    TEAM_READ = "team-read"
    TEAM_CREATE = "team-create"
    TEAM_EDIT = "team-edit"
    TEAM_MEMBER_EDIT = "team-member-edit"
    AUDIT_READ = "audit-read"
    ALERT_READ = "alert-read"
    ALERT_HANDLE = "alert-handle"
    POLICY_READ = "policy-read"
    POLICY_ACTIVATE = "policy-activate"
    QUEUE_READ = "queue-read"
    QUEUE_EDIT = "queue-edit"
    JOB_READ = "job-read"
    JOB_SUBMIT = "job-submit"
    JOB_CANCEL = "job-cancel"
    TEMPLATE_EDIT = "template-edit"
    NODE_READ = "node-read"
    NODE_OPERATE = "node-operate"
    NODE_OBEY = "node-obey"
    NODE_ENROL = "node-enrol"
    NODE_TAKEOVER = "node-takeover"
    DEVICE_OPERATE = "device-operate"
    MAP_READ = "map-read"
    OVERVIEW_READ = "overview-read"
    CYCLE_READ = "cycle-read"
    STATUS_READ = "status-read"
    METRICS_READ = "metrics-read"
    RECORDING_READ = "recording-read"
    RECORDING_WISH = "recording-wish"
    WHAT_IF = "what-if"
    CLUSTER_PAUSE = "cluster-pause"


class Grade(StrEnum):
    """Roles as the table knows them: LEAD and MEMBER are meant within the team of the object."""

    ADMIN = "admin"
    OPERATOR = "operator"
    LEAD = "lead"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may; `scope` is what a token needs on top (None: never by token; `whole`: all scopes, and no team), `besides`
    another one that will do; `own` limits members to what they own.
    """

    grades: frozenset[Grade]
    scope: Scope | None
    own: bool = False
    whole: bool = False
    besides: Scope | None = None


EVERYBODY = frozenset(Grade)
OPERATORS = frozenset({Grade.ADMIN, Grade.OPERATOR})
LEADS = frozenset({Grade.ADMIN, Grade.LEAD})
ADMINS = frozenset({Grade.ADMIN})
# All that a person may do; the scope `metrics` adds nothing to it.
WHOLE = frozenset({Scope.READ, Scope.SUBMIT, Scope.WRITE})

PERMISSIONS: dict[Action, Rule] = {
    Action.ME_READ: Rule(EVERYBODY, Scope.READ),
    Action.ME_EDIT: Rule(EVERYBODY, Scope.WRITE),
    # Who knows the password rules the account: no token that may less than its owner gets near it.
    Action.ME_PASSWORD: Rule(EVERYBODY, Scope.WRITE, whole=True),
    Action.TOKEN_READ: Rule(EVERYBODY, Scope.READ),
    # A token that could make tokens could widen itself.
    Action.TOKEN_CREATE: Rule(EVERYBODY, None),
    Action.TOKEN_REVOKE: Rule(EVERYBODY, Scope.WRITE),
    Action.USER_READ: Rule(ADMINS, Scope.READ),
    Action.USER_EDIT: Rule(ADMINS, Scope.WRITE),
    Action.TEAM_READ: Rule(EVERYBODY, Scope.READ),
    Action.TEAM_CREATE: Rule(ADMINS, Scope.WRITE),
    Action.TEAM_EDIT: Rule(LEADS, Scope.WRITE),
    Action.TEAM_MEMBER_EDIT: Rule(LEADS, Scope.WRITE),
    Action.AUDIT_READ: Rule(OPERATORS, Scope.READ),
    Action.ALERT_READ: Rule(EVERYBODY, Scope.READ),
    Action.ALERT_HANDLE: Rule(OPERATORS, Scope.WRITE),
    Action.POLICY_READ: Rule(EVERYBODY, Scope.READ),
    Action.POLICY_ACTIVATE: Rule(ADMINS, Scope.WRITE),
    Action.QUEUE_READ: Rule(EVERYBODY, Scope.READ),
    Action.QUEUE_EDIT: Rule(ADMINS, Scope.WRITE),
    Action.JOB_READ: Rule(EVERYBODY, Scope.READ),
    Action.JOB_SUBMIT: Rule(EVERYBODY, Scope.SUBMIT),
    Action.JOB_CANCEL: Rule(EVERYBODY, Scope.SUBMIT, own=True),
    # Others submit what a template says: a pipeline's token makes jobs and changes nothing else.
    Action.TEMPLATE_EDIT: Rule(EVERYBODY, Scope.WRITE, own=True),
    Action.NODE_READ: Rule(EVERYBODY, Scope.READ),
    Action.NODE_OPERATE: Rule(OPERATORS, Scope.WRITE),
    # What a restored backup says of a node may end jobs that the backup does not know.
    Action.NODE_OBEY: Rule(ADMINS, Scope.WRITE),
    Action.NODE_ENROL: Rule(OPERATORS, Scope.WRITE),
    # Whoever holds such a token becomes a node that others know, without its old token.
    Action.NODE_TAKEOVER: Rule(ADMINS, Scope.WRITE),
    Action.DEVICE_OPERATE: Rule(OPERATORS, Scope.WRITE),
    Action.MAP_READ: Rule(EVERYBODY, Scope.READ),
    Action.OVERVIEW_READ: Rule(EVERYBODY, Scope.READ),
    Action.CYCLE_READ: Rule(EVERYBODY, Scope.READ),
    Action.STATUS_READ: Rule(EVERYBODY, Scope.READ),
    Action.METRICS_READ: Rule(EVERYBODY, Scope.METRICS, besides=Scope.READ),
    Action.RECORDING_READ: Rule(OPERATORS, Scope.READ),
    # It may cost a large cluster seconds between two cycles.
    Action.RECORDING_WISH: Rule(ADMINS, Scope.WRITE),
    Action.WHAT_IF: Rule(OPERATORS, Scope.READ),
    Action.CLUSTER_PAUSE: Rule(OPERATORS, Scope.WRITE),
}


def token_of(user: Caller) -> ApiToken | None:
    """The API token that this request was made with; None for a session."""
    return user.used_token if isinstance(user, User) else None


def grades_of(user: Caller, team: Team | None = None) -> frozenset[Grade]:
    """The grades of a user, within `team` or, without one, in any of the user's teams.

    Who has no team yet is MEMBER of nothing in particular. A token narrowed to one team has no power over the cluster.
    """
    if isinstance(user, AnonymousUser):
        return frozenset()
    token = token_of(user)
    narrow = token.team_id if token else None
    if narrow is None and user.role == Role.ADMIN:
        return frozenset({Grade.ADMIN})
    grades = {Grade.OPERATOR} if narrow is None and user.role == Role.OPERATOR else set()
    roles = {
        m.role
        for m in _memberships(user)
        if narrow in (None, m.team_id) and (team is None or m.team_id == team.pk)
    }
    if narrow is not None and user.role == Role.ADMIN:
        roles.add(TeamRole.LEAD)
    if team is None or roles:
        grades.add(Grade.MEMBER)
    if TeamRole.LEAD in roles:
        grades.add(Grade.LEAD)
    return frozenset(grades)


def _memberships(user: User) -> list[Membership]:
    if user.cached_memberships is None:
        user.cached_memberships = list(user.memberships.all())
    return user.cached_memberships


def allows(user: Caller, action: Action, *, team: Team | None = None, owner: Model | None = None) -> bool:
    """Whether the table lets this user (and the token in use) do `action`; objects are asked with team and owner."""
    if isinstance(user, AnonymousUser) or not user.is_active:
        return False
    rule, token = PERMISSIONS[action], token_of(user)
    if token is not None and not _token_allows(token, rule, team):
        return False
    having = grades_of(user, team) & rule.grades
    if team is not None and rule.own and having == {Grade.MEMBER}:
        return owner is not None and owner.pk == user.pk
    return bool(having)


def _token_allows(token: ApiToken, rule: Rule, team: Team | None) -> bool:
    if rule.scope is None or not {rule.scope, rule.besides} & set(token.scopes):
        return False
    if rule.whole and (token.team_id is not None or not set(token.scopes) >= WHOLE):
        return False
    return token.team_id is None or team is None or token.team_id == team.pk


def require(user: Caller, action: Action, *, team: Team | None = None, owner: Model | None = None) -> None:
    """403 `forbidden` unless `allows`; for objects that the caller may see (others were not found by scoping)."""
    if not allows(user, action, team=team, owner=owner):
        raise Problem(403, "forbidden", params={"action": action.value})


class Nobody(BasePermission):
    """The default: a view that names no action is closed."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return False


class ActionPermission(BasePermission):
    """Asks the table by HTTP method; made by `permission_for` and `permissions_by_method`. Being what every view
    has, it also refuses query parameters that the view does not describe.
    """

    actions: dict[str, Action] = {}

    def has_permission(self, request: Request, view: APIView) -> bool:
        action = self.actions.get("GET" if request.method == "HEAD" else request.method or "")
        # OPTIONS and methods that the view does not have are answered by the framework.
        if action is None:
            return True
        if not allows(request.user, action):
            return False
        check_query_names(request, view)
        return True


def permission_for(action: Action) -> type[ActionPermission]:
    """A permission class for a view all of whose methods do `action`."""
    return permissions_by_method(GET=action, POST=action, PUT=action, PATCH=action, DELETE=action)


def permissions_by_method(**actions: Action) -> type[ActionPermission]:
    """A permission class with one action per method: `permissions_by_method(GET=Action.A, POST=Action.B)`."""
    return type("ActionPermission", (ActionPermission,), {"actions": dict(actions)})
