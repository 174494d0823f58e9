"""Accounts, for administrators."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import operations
from controlplane.accounts.api.serializers import (
    UserEditSerializer,
    UserMadeSerializer,
    UserMakeSerializer,
    UserSerializer,
)
from controlplane.accounts.models import User
from controlplane.accounts.permissions import Action, permissions_by_method
from controlplane.base.api import PAGE_PARAMETERS, page, page_of, read_body
from controlplane.base.problems import not_found


class UsersView(APIView):
    """All accounts."""

    permission_classes = [permissions_by_method(GET=Action.USER_READ, POST=Action.USER_EDIT)]

    @extend_schema(operation_id="users", parameters=PAGE_PARAMETERS, responses=page_of(UserSerializer))
    def get(self, request: Request) -> Response:
        users = User.objects.prefetch_related("memberships__team")
        return page(request, users, serializer=UserSerializer, ordering="username")

    @extend_schema(operation_id="user_make", request=UserMakeSerializer, responses={201: UserMadeSerializer})
    def post(self, request: Request) -> Response:
        made = operations.make_user(request, read_body(request, UserMakeSerializer))
        answer = {**UserSerializer(made.user).data, "password": made.password}
        return Response(answer, status=201)


class UserView(APIView):
    """One account; accounts are closed (active: false), never deleted, since jobs and the audit trail name them."""

    permission_classes = [permissions_by_method(GET=Action.USER_READ, PATCH=Action.USER_EDIT)]

    @extend_schema(operation_id="user", responses=UserSerializer)
    def get(self, request: Request, user_id: int) -> Response:
        return Response(UserSerializer(_find(user_id)).data)

    @extend_schema(operation_id="user_edit", request=UserEditSerializer, responses=UserSerializer)
    def patch(self, request: Request, user_id: int) -> Response:
        user = operations.edit_user(request, _find(user_id), fields=read_body(request, UserEditSerializer))
        return Response(UserSerializer(user).data)


def _find(user_id: int) -> User:
    user = User.objects.prefetch_related("memberships__team").filter(pk=user_id).first()
    if user is None:
        raise not_found()
    return user
