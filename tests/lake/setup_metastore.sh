#!/usr/bin/env bash
# Installs PostgreSQL where it is missing, if this is root on Debian, and brings the JDBC driver of a
# Hive Metastore into Ivy's cache. Quick when there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/../.."

has_postgresql() {
    .venv/bin/python -m tests.lake.postgresql
}

install_postgresql() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends postgresql
}

if ! has_postgresql && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    log=$(install_postgresql 2>&1) || printf '%s\n' "$log" >&2
fi
if ! has_postgresql; then
    echo "A Hive Metastore of the tests needs PostgreSQL, and none was found: install it (Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql)." >&2
    exit 1
fi
.venv/bin/python -m tests.lake.hive_metastore
