"""Addresses of the inventory."""

from django.urls import path

from inventory.api.devices import (
    DeviceEventsView,
    DeviceModelsView,
    DevicesView,
    DeviceView,
    LinksView,
    device_operation_view,
)
from inventory.api.images import (
    ImageNodesView,
    ImageOrdersView,
    ImagePushesView,
    ImagesView,
    ImageView,
    ImageWaitsView,
)
from inventory.api.nodes import (
    EnrolmentTokensView,
    NodeLabelsView,
    NodesView,
    NodeView,
    node_operation_view,
)
from inventory.api.readings import DeviceReadingsView, GroupsReadingsView, NodeReadingsView, ReadingsView
from inventory.api.registry_secrets import RegistrySecretsView
from inventory.api.remote import (
    HostKeyScanView,
    RemoteHostKeyView,
    RemoteHostsView,
    RemoteHostView,
    SshKeysView,
)

NODE_OPERATIONS = ("cordon", "uncordon", "drain", "maintenance", "release", "obey")
DEVICE_OPERATIONS = ("cordon", "uncordon", "release")

urlpatterns = [
    path("nodes", NodesView.as_view()),
    path("nodes/<int:node_id>", NodeView.as_view()),
    *(path(f"nodes/<int:node_id>/{name}", node_operation_view(name).as_view()) for name in NODE_OPERATIONS),
    path("nodes/<int:node_id>/labels", NodeLabelsView.as_view()),
    path("nodes/<int:node_id>/readings", NodeReadingsView.as_view()),
    path("images", ImagesView.as_view()),
    path("images/pushes", ImagePushesView.as_view()),
    path("images/secrets", RegistrySecretsView.as_view()),
    path("images/orders", ImageOrdersView.as_view()),
    path("images/<int:image_id>", ImageView.as_view()),
    path("images/<int:image_id>/nodes", ImageNodesView.as_view()),
    path("images/<int:image_id>/waits", ImageWaitsView.as_view()),
    path("devices", DevicesView.as_view()),
    path("devices/<int:device_id>", DeviceView.as_view()),
    path("devices/<int:device_id>/readings", DeviceReadingsView.as_view()),
    path("devices/<int:device_id>/events", DeviceEventsView.as_view()),
    path("device-models", DeviceModelsView.as_view()),
    path("links", LinksView.as_view()),
    path("readings", ReadingsView.as_view()),
    path("readings/groups", GroupsReadingsView.as_view()),
    *(
        path(f"devices/<int:device_id>/{name}", device_operation_view(name).as_view())
        for name in DEVICE_OPERATIONS
    ),
    path("enrolment-tokens", EnrolmentTokensView.as_view()),
    path("remote-hosts", RemoteHostsView.as_view()),
    path("remote-hosts/scan", HostKeyScanView.as_view()),
    path("remote-hosts/<int:host_id>", RemoteHostView.as_view()),
    path("remote-hosts/<int:host_id>/host-key", RemoteHostKeyView.as_view()),
    path("ssh-keys", SshKeysView.as_view()),
]
