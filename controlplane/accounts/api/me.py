"""The caller's own account and tokens."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import ensure_csrf_cookie
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import operations
from controlplane.accounts.api.serializers import (
    MeEditSerializer,
    MeSerializer,
    PasswordChangedSerializer,
    PasswordChangeSerializer,
    TokenMadeSerializer,
    TokenMakeSerializer,
    TokenSerializer,
)
from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.passwords import change_own_password
from controlplane.accounts.permissions import Action, allows, permissions_by_method, token_of
from controlplane.accounts.scoping import signed_in, visible_teams
from controlplane.base.api import PAGE_PARAMETERS, page, page_of, read_body
from controlplane.base.identity import this_cluster
from controlplane.base.problems import Fault, invalid, not_found


def describe(user: User) -> dict[str, Any]:
    """What the console needs to know about the caller."""
    cluster = this_cluster()
    return {
        "username": user.username,
        "email": user.email,
        "role": user.role,
        "language": user.language or None,
        "teams": user.team_roles,
        "permissions": [action.value for action in Action if allows(user, action)],
        "cluster": {
            "name": cluster.name,
            "uid": cluster.uid,
            "paused": cluster.paused,
            "version": settings.VERSION,
        },
    }


@method_decorator(ensure_csrf_cookie, name="dispatch")
class MeView(APIView):
    """GET also hands out the CSRF cookie, signed in or not."""

    permission_classes = [permissions_by_method(GET=Action.ME_READ, PATCH=Action.ME_EDIT)]

    @extend_schema(operation_id="me", responses=MeSerializer)
    def get(self, request: Request) -> Response:
        return Response(MeSerializer(describe(signed_in(request))).data)

    @extend_schema(operation_id="me_edit", request=MeEditSerializer, responses=MeSerializer)
    def patch(self, request: Request) -> Response:
        body = read_body(request, MeEditSerializer)
        operations.edit_me(signed_in(request), language=body["language"])
        return Response(MeSerializer(describe(signed_in(request))).data)


class PasswordView(APIView):
    """The caller's password."""

    permission_classes = [permissions_by_method(POST=Action.ME_PASSWORD)]

    @extend_schema(
        operation_id="me_password", request=PasswordChangeSerializer, responses=PasswordChangedSerializer
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, PasswordChangeSerializer)
        revoked = change_own_password(request, signed_in(request), **body)
        return Response(PasswordChangedSerializer({"tokens_revoked": revoked}).data)


class TokensView(APIView):
    """The caller's tokens."""

    permission_classes = [permissions_by_method(GET=Action.TOKEN_READ, POST=Action.TOKEN_CREATE)]

    @extend_schema(operation_id="tokens", parameters=PAGE_PARAMETERS, responses=page_of(TokenSerializer))
    def get(self, request: Request) -> Response:
        return page(
            request, own_tokens(signed_in(request)).select_related("team"), serializer=TokenSerializer
        )

    @extend_schema(
        operation_id="token_make", request=TokenMakeSerializer, responses={201: TokenMadeSerializer}
    )
    def post(self, request: Request) -> Response:
        body = read_body(request, TokenMakeSerializer)
        team = visible_teams(request.user).filter(slug=body["team"]).first() if body["team"] else None
        if body["team"] and team is None:
            raise invalid("team", Fault.NOT_FOUND, message=_("There is no such team, or you are not in it."))
        made = operations.make_token(request, body, team=team)
        return Response({**TokenSerializer(made.row).data, "token": made.secret}, status=201)


class TokenView(APIView):
    """One token of the caller."""

    permission_classes = [permissions_by_method(DELETE=Action.TOKEN_REVOKE)]

    @extend_schema(operation_id="token_revoke", responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        token = own_tokens(signed_in(request)).filter(pk=token_id).first()
        if token is None:
            raise not_found()
        operations.revoke_token(request, token)
        return Response(status=204)


def own_tokens(user: User) -> Any:
    """The tokens of the caller; a token narrowed to one team sees only tokens of that team."""
    used = token_of(user)
    tokens = ApiToken.objects.filter(user=user)
    return tokens.filter(team=used.team_id) if used and used.team_id else tokens
