#!/usr/bin/env bash
# Builds the sdist, and the wheel from it; checks both; then does what a new user does: installs the
# wheel in an empty environment, runs dbt init and dbt debug, and builds a small project.
# Run by `make package`. Everything is in .work/package; PYTHON is honoured.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/.work/package
python=${PYTHON:-$(.venv/bin/python -c 'import os, sys; print(os.path.realpath(sys.executable))')}

step() {
    printf '\n== %s\n' "$1"
}

# The checking tools have an environment of their own: nothing that is shipped or tested needs them.
build() {
    step "Build and check"
    rm -rf "$work/dist" build
    [ -x "$work/tools/bin/python" ] || .venv/bin/uv venv --quiet --python "$python" "$work/tools"
    .venv/bin/uv pip install --quiet --python "$work/tools/bin/python" \
        --constraint tools/package-constraints.txt build twine check-wheel-contents
    "$work/tools/bin/python" -m build --outdir "$work/dist" . | tail -n 1
    "$work/tools/bin/twine" check --strict "$work"/dist/*
    "$work/tools/bin/check-wheel-contents" "$work"/dist/*.whl
}

install() {
    step "Install in an empty environment"
    rm -rf "$work/user" "$work/project"
    .venv/bin/uv venv --quiet --python "$python" "$work/user"
    .venv/bin/uv pip install --quiet --python "$work/user/bin/python" \
        --constraint constraints.txt --build-constraint constraints.txt "$work"/dist/*.whl
    .venv/bin/uv pip check --python "$work/user/bin/python"
    # -I: a checkout in the current folder must not be what is imported
    "$work/user/bin/python" -I - "$work/user" <<'PYTHON'
import sys
from dbt.adapters import spark_mt
assert spark_mt.__file__.startswith(sys.argv[1]), f"imported from {spark_mt.__file__}"
PYTHON
}

# dbt numbers the adapters that it finds in no certain order, so it is asked first, without an answer.
answers() {
    local number
    number=$({ dbt init probe </dev/null 2>&1 || true; } | sed -n 's/^\[\([0-9]*\)\] spark_mt$/\1/p')
    rm -rf probe
    # the adapter, the method (2: Spark in dbt's own process), catalog, schema, threads
    printf '%s\n' "${number:?dbt init does not offer spark_mt}" 2 spark_catalog small 2
}

project() {
    rm small/models/example/*
    cat >small/seeds/orders.csv <<'CSV'
id,customer,amount
1,ann,10
2,bob,20
3,ann,5
CSV
    cat >small/models/example/customers.sql <<'SQL'
{{ config(materialized='materialized_table', freshness='1 day') }}
select customer, count(*) as orders, sum(amount) as amount
from {{ ref('orders') }}
group by customer
SQL
    cat >small/models/example/schema.yml <<'YAML'
models:
  - name: customers
    data_tests: [materialized_table_equals_query, materialized_table_healthy]
YAML
}

# `expect TEXT COMMAND …` shows what a command prints, and fails without the text.
expect() {
    local output text=$1
    shift
    output=$("$@" 2>&1) || { printf '%s\n' "$output"; exit 1; }
    printf '%s\n' "$output"
    grep --quiet --fixed-strings -- "$text" <<<"$output" || {
        printf 'Expected "%s" in the output of: %s\n' "$text" "$*" >&2
        exit 1
    }
}

use() {
    step "dbt init, dbt debug, dbt build"
    mkdir "$work/project"
    cd "$work/project"
    export PATH=$work/user/bin:$PATH DBT_PROFILES_DIR=$work/project DBT_SEND_ANONYMOUS_USAGE_STATS=false
    # Each command has a JVM of its own, which ends before the second compiler and compiled queries pay.
    export SPARK_SUBMIT_OPTS='-XX:+UseSerialGC -XX:MetaspaceSize=256m -XX:TieredStopAtLevel=1 -Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN'
    unset VIRTUAL_ENV PYTHONPATH
    answers >answers
    expect 'Profile small written' dbt --no-use-colors init small <answers
    project
    cd small
    expect 'All checks passed!' dbt --no-use-colors debug
    expect '[CREATED' dbt --no-use-colors build
    expect '| ann      |      2 |     15 |' dbt --no-use-colors show --quiet --select customers
    spark-mt --version
}

build
install
use
echo
echo "Ready: $(cd "$work/dist" && ls | tr '\n' ' ')"
