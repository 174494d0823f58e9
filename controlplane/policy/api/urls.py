"""Addresses of the policy."""

from django.urls import path

from controlplane.policy.api.views import ActivePolicyView, PoliciesView

urlpatterns = [
    path("policies", PoliciesView.as_view()),
    path("policies/active", ActivePolicyView.as_view()),
]
