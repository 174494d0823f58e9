"""Security headers of every answer."""

from __future__ import annotations

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self' ws://{host} wss://{host}; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class SecurityHeaders(MiddlewareMixin):
    """Content-Security-Policy and companions; a view may set its own, stricter ones."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        # 'self' does not cover websockets in older browsers, so the host is named, once checked against ALLOWED_HOSTS.
        response.headers.setdefault("Content-Security-Policy", POLICY.format(host=_host(request)))
        response.headers.setdefault("X-Frame-Options", "DENY")
        response.headers.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
        if request.path.startswith(("/api/", "/_allauth/", "/agent/")):
            response.headers.setdefault("Cache-Control", "no-store")
        return response


def _host(request: HttpRequest) -> str:
    try:
        return request.get_host()
    except DisallowedHost:
        return "localhost"
