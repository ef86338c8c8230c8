#!/usr/bin/env bash
# Makes .work/iceberg/venv, an environment with this package and the Spark that Apache Iceberg is
# tested with, and what a Hive Metastore and a REST catalog need. Quick when there is nothing to do.
# PYTHON is honoured.
set -euo pipefail
cd "$(dirname "$0")/../.."

tests/lake/setup_metastore.sh
.venv/bin/python -m tests.iceberg.rest_catalog

work=.work/iceberg
venv=$work/venv
python=${PYTHON:-.venv/bin/python}
pyspark=4.1.4
mkdir -p "$work"
inputs="$("$python" --version) $(cat pyproject.toml constraints.txt tests/iceberg/setup.sh | cksum)"
stamp=$venv/.ready
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$inputs" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi
echo "Making $venv …"
.venv/bin/uv venv --quiet --clear --python "$python" "$venv"
sed "s/^pyspark==.*/pyspark==$pyspark/" constraints.txt >"$work/constraints.txt"
# The flights example reads its data by pkg_resources, which environments of uv do not have.
.venv/bin/uv pip install --quiet --python "$venv/bin/python" \
    --constraint "$work/constraints.txt" --build-constraint "$work/constraints.txt" \
    --editable '.[dev]' 'setuptools<81'
printf '%s' "$inputs" >"$stamp"
