#!/usr/bin/env bash
# Makes .work/airflow, an environment with Airflow, pytest and this package without what it depends
# on. Quick when there is nothing to do. PYTHON is honoured.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=.work/airflow
pins=tests/airflow/constraints.txt
inputs=$(cat pyproject.toml "$pins" tests/airflow/setup.sh | cksum)
stamp=$venv/.ready
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$inputs" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi
python=${PYTHON:-.venv/bin/python}
echo "Making $venv with $("$python" --version) …"
.venv/bin/uv venv --quiet --clear --python "$python" "$venv"
install() { .venv/bin/uv pip install --quiet --python "$venv/bin/python" "$@"; }
install --constraint "$pins" apache-airflow-core pytest time-machine hatchling editables
install --no-deps --no-build-isolation --editable .
printf '%s' "$inputs" >"$stamp"
