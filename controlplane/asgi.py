"""The ASGI application: everything, with websockets and long-polls."""

import os
from importlib import import_module
from importlib.util import find_spec

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

# Loads the apps, so it comes before the routes that need them.
http = get_asgi_application()
ROUTING = "controlplane.realtime.routing"
sockets = import_module(ROUTING).websocket_urlpatterns if find_spec(ROUTING) else []

application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(sockets))),
    }
)
