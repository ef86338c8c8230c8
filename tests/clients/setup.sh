#!/usr/bin/env bash
# Makes environments of clients in .work/clients/, without this package and without a JVM: plain
# dbt-spark with two releases of dbt, dbt v2, SQLMesh. Quick when there is nothing to do. PYTHON is
# honoured.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=.work/clients
python=${PYTHON:-.venv/bin/python}
uv=.venv/bin/uv
mkdir -p "$work"
# dbt's new parser is used on request only, and downloads a program when it is installed.
echo 'dbt-core-experimental-parser ; sys_platform == "none"' >"$work/overrides.txt"

# environment NAME PACKAGE…
environment() {
    local venv=$work/$1 stamp=$work/$1/.ready inputs
    shift
    inputs="$("$python" --version) $*"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$inputs" ] && "$venv/bin/python" -c '' 2>/dev/null; then
        return
    fi
    echo "Making $venv …"
    "$uv" venv --quiet --clear --python "$python" "$venv"
    "$uv" pip install --quiet --python "$venv/bin/python" --override "$work/overrides.txt" "$@"
    printf '%s' "$inputs" >"$stamp"
}

environment dbt-1.11 dbt-core==1.11.16 dbt-spark==1.11.0 pyspark-client==4.2.0
environment dbt-1.12 dbt-core==1.12.6 dbt-spark==1.11.0 pyspark-client==4.2.0
# Of dbt v2 the registry has no wheel of a final release: those are downloaded from its own server.
environment dbt-2 dbt==2.0.0rc196
environment sqlmesh sqlmesh==0.236.4 pyspark-client==4.2.0
