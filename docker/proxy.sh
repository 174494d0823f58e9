#!/bin/sh
# Writes the configuration for HEADRACE_NAME and runs nginx in the foreground.
set -eu
: "${HEADRACE_NAME:?name the host that browsers and agents use, such as headrace.example.org}"
for file in /etc/headrace/tls/server.crt /etc/headrace/tls/server.key; do
  [ -r "$file" ] || { echo "missing $file: mount the folder with certificate and key at /etc/headrace/tls" >&2; exit 1; }
done
envsubst '$HEADRACE_NAME' < /etc/nginx/proxy.conf.template > /etc/nginx/conf.d/headrace.conf
exec nginx -g 'daemon off;'
