"""The parts of allauth that this product offers: signing in and out; nothing that mails, signs up, edits addresses."""

from __future__ import annotations

from allauth.headless.account import views
from allauth.headless.constants import Client
from django.urls import URLPattern, include, path

from controlplane.accounts.signin import SignInView

# allauth finds its own routes by these nested names.
AUTH: list[URLPattern] = [
    path("auth/session", views.SessionView.as_api_view(client=Client.BROWSER), name="current_session"),
    path("auth/login", SignInView.as_api_view(client=Client.BROWSER), name="login"),
]
ACCOUNT = path("browser/v1/", include((AUTH, "headless"), namespace="account"))
urlpatterns = [path("", include(([ACCOUNT], "headless"), namespace="browser"))]
app_name = "headless"
