#!/bin/sh
# Prints the path of a Python that may build the project, or says which package to install.
for name in ${HEADRACE_PYTHON:-} python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3; do
  path=$(command -v "$name" 2>/dev/null) || continue
  if "$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    echo "$path"
    exit 0
  fi
done
echo "Headrace needs Python 3.11 or newer and found none." >&2
echo "Fix: install it (Debian, Ubuntu: apt-get install python3) or name one: make HEADRACE_PYTHON=/path/to/python3 run" >&2
exit 1
