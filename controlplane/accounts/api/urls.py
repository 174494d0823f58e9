"""Addresses of accounts."""

from django.urls import path, register_converter

from controlplane.accounts.api.me import MeView, PasswordView, TokensView, TokenView
from controlplane.accounts.api.teams import MembersView, MemberView, TeamsView, TeamView
from controlplane.accounts.api.trail import AuditView
from controlplane.accounts.api.users import UsersView, UserView


class UsernameConverter:
    """A user name as it may stand in an address."""

    regex = "[A-Za-z0-9][A-Za-z0-9._@+-]{0,149}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(UsernameConverter, "username")

urlpatterns = [
    path("me", MeView.as_view()),
    path("me/password", PasswordView.as_view()),
    path("tokens", TokensView.as_view()),
    path("tokens/<int:token_id>", TokenView.as_view()),
    path("users", UsersView.as_view()),
    path("users/<int:user_id>", UserView.as_view()),
    path("teams", TeamsView.as_view()),
    path("teams/<slug:slug>", TeamView.as_view()),
    path("teams/<slug:slug>/members", MembersView.as_view()),
    path("teams/<slug:slug>/members/<username:username>", MemberView.as_view()),
    path("audit", AuditView.as_view()),
]
