#!/usr/bin/env bash
# Makes .work/lake, an environment with an S3 server, and brings the jars of S3 into Ivy's cache (690
# MB), with what a Hive Metastore needs. Quick when there is nothing to do. PYTHON is honoured.
set -euo pipefail
cd "$(dirname "$0")/../.."

tests/lake/setup_metastore.sh

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
echo "Fetching the jars of S3 …"
.venv/bin/python -m tests.lake.object_store
printf '%s' "$inputs" >"$stamp"
