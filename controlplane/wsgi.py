"""The WSGI application: REST, agent reports (behind a door of their own) and the static console."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

django = get_wsgi_application()

# Loads what needs the apps, so it comes after them.
from controlplane.agentapi.gate import behind_gate  # noqa: E402
from controlplane.base.settling import settle  # noqa: E402

application = behind_gate(django)
settle()
