#!/bin/sh
# Puts the addresses together from the secrets, then becomes the command.
set -eu
quote() { python -c 'import sys, urllib.parse; print(urllib.parse.quote(open(sys.argv[1]).read().strip(), safe=""))' "$1"; }
export DATABASE_URL="${DATABASE_URL:-postgres://headrace:$(quote /run/secrets/postgres_password)@postgres:5432/headrace}"
export REDIS_URL="${REDIS_URL:-redis://:$(quote /run/secrets/valkey_password)@valkey:6379/0}"
exec "$@"
