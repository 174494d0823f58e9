"""The ASGI application: everything, with websockets and long-polls."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

# Loads the apps, so it comes before the imports that need them.
http = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

from controlplane.base.settling import settle  # noqa: E402
from controlplane.realtime.routing import websocket_urlpatterns  # noqa: E402

# The consumer judges the origin itself: a cookie counts only from our own pages, a token also without an origin.
application = ProtocolTypeRouter(
    {"http": http, "websocket": AuthMiddlewareStack(URLRouter(websocket_urlpatterns))}
)
settle()
