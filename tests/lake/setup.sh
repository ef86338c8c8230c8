#!/usr/bin/env bash
# Makes .work/lake, an environment with an S3 server, and brings the jars of S3 into Ivy's cache (690
# MB), with the JDBC driver of a Hive Metastore. Installs PostgreSQL where it is missing, if this is
# root on Debian. Quick when there is nothing to do. PYTHON is honoured.
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

venv=.work/lake
pins=tests/lake/constraints.txt
inputs=$(cat "$pins" tests/lake/ivy.xml tests/lake/setup.sh | cksum)
stamp=$venv/.ready
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$inputs" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi
python=${PYTHON:-.venv/bin/python}
echo "Making $venv with $("$python" --version) …"
.venv/bin/uv venv --quiet --clear --python "$python" "$venv"
.venv/bin/uv pip install --quiet --python "$venv/bin/python" --constraint "$pins" 'moto[server]'
echo "Fetching the jars of S3 and of a Hive Metastore …"
.venv/bin/python -m tests.lake.object_store
.venv/bin/python -m tests.lake.hive_metastore
printf '%s' "$inputs" >"$stamp"
