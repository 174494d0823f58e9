"""The command lines that fetch and remove images on a node without an agent. They are constants as those of looks; what
they are about comes by standard input, where no shell reads it as words: the image's name in the first line and, to
fetch, the registry's secret in the second.
"""

from __future__ import annotations

from inventory.remote.commands import Command

FETCH_LIMIT_S, REMOVE_LIMIT_S = 3000, 60
MOST_BYTES = 64 << 10
# Said where the image is there.
HERE = "#here"
_IMAGE = "IFS= read -r image || exit 64"
_ENGINE = (
    "engine=$(command -v podman || command -v docker) || "
    '{ echo "neither podman nor docker is installed"; exit 69; }'
)
# In memory where that is possible, for one user, and gone with the command. One that was killed leaves its own to the
# next: a node fetches one image at a time.
_SECRET = (
    "IFS= read -r secret; umask 077; for base in /dev/shm /tmp; do [ -w $base ] && break; done; "
    "name=$base/headrace-registry-$(id -u); rm -rf $name.*; folder=$(mktemp -d $name.XXXXXX) || exit 73; "
    'trap "rm -rf $folder" EXIT; trap "exit 74" HUP INT TERM; '
)
_FETCH_SCRIPT = "; ".join(
    (
        _IMAGE,
        _ENGINE,
        f"{_SECRET}"
        'if [ -n "$secret" ]; then printf "%s" "$secret" >$folder/config.json; '
        "export REGISTRY_AUTH_FILE=$folder/config.json DOCKER_CONFIG=$folder; fi",
        'unset secret; "$engine" pull --quiet "$image" 2>&1 </dev/null',
    )
)
_LOOK_SCRIPT = "; ".join(
    (_IMAGE, _ENGINE, f'"$engine" image inspect --format "{HERE}" "$image" 2>/dev/null </dev/null || exit 0')
)
_REMOVE_SCRIPT = "; ".join((_IMAGE, _ENGINE, 'exec "$engine" rmi "$image" 2>&1 </dev/null'))

LOOK = Command("look for an image", _LOOK_SCRIPT, limit_s=REMOVE_LIMIT_S, most_bytes=MOST_BYTES)
FETCH = Command("fetch an image", _FETCH_SCRIPT, limit_s=FETCH_LIMIT_S, most_bytes=MOST_BYTES)
REMOVE = Command("remove an image", _REMOVE_SCRIPT, limit_s=REMOVE_LIMIT_S, most_bytes=MOST_BYTES)
