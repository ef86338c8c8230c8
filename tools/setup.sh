#!/usr/bin/env bash
# Makes .venv with the pinned packages and brings the jars of Delta, of Kafka and of Spark's tests into ivy's caches.
# An archive of Spark's classes, in the user's folder for caches, saves seconds in each start of a Spark.
# Run by `make setup`; quick when there is nothing to do. PYTHON and JAVA_HOME are honoured.
set -euo pipefail
cd "$(dirname "$0")/.."

# This JVM ends before the second compiler pays.
SHORT='-XX:+UseSerialGC -XX:MetaspaceSize=256m -XX:TieredStopAtLevel=1'

fail() {
    printf '%s\n' "$1" >&2
    exit 1
}

check_java() {
    local java="${JAVA_HOME:+$JAVA_HOME/bin/}java" banner major
    banner=$("$java" -version 2>&1) || fail \
        "Spark needs Java 17 or newer and none was found${JAVA_HOME:+ in JAVA_HOME=$JAVA_HOME}: install one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or point JAVA_HOME at it."
    major=$(sed -n 's/.* version "\([0-9]*\).*/\1/p' <<<"$banner" | head -n 1)
    [ "${major:-0}" -ge 17 ] || fail \
        "Spark needs Java 17 or newer, but $java is version ${major:-unknown}: install one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) and point JAVA_HOME at it."
}

fits() {
    "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3 python3.10}; do
        if fits "$candidate"; then
            printf '%s' "$candidate"
            return
        fi
    done
    fail "Python 3.10 to 3.13 is needed and none was found: install Python 3.11 (Debian, Ubuntu: apt-get install python3.11 python3.11-venv; macOS: brew install python@3.11) or name yours with make setup PYTHON=/path/to/python."
}

make_venv() {
    local python
    python=$(find_python)
    echo "Making .venv with $("$python" --version) …"
    "$python" -m venv .venv || fail \
        "$python cannot make virtual environments: install its venv module (Debian, Ubuntu: apt-get install python3-venv)."
    # Other environments of the project take the packages from uv's cache, such as PySpark, which uv builds here.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv
    .venv/bin/uv pip install --quiet --python .venv/bin/python \
        --constraint constraints.txt --build-constraint constraints.txt --editable '.[dev]'
    # A registry may have PySpark built again for each environment: 1.4 GB each, which fill the disk of a CI machine.
    [ -z "${CI:-}" ] || .venv/bin/uv cache prune --quiet
}

# Beside what fetches the jars, which leaves a core idle. Some files are templates and no Python.
compile_packages() {
    .venv/bin/python -m compileall -q .venv/lib >/dev/null 2>&1 || true
}

# Ivy and the JVM print a hundred lines; they matter only when something went wrong.
fetch_jars() {
    local log
    echo "Fetching Delta's jars, for a start of Spark that is archived, and for tests a Kafka and the queries of Spark's own …"
    log=$(.venv/bin/spark-mt archive --conf "spark.driver.extraJavaOptions=$SHORT" 2>&1 &&
        .venv/bin/python -m tests.kafka.jars 2>&1 && .venv/bin/python -m tests.corpus.jars 2>&1) || fail "$log
The jars could not be fetched: check that Maven Central is reachable, or configure a mirror for Ivy, and run make setup again."
}

inputs=$(cat pyproject.toml constraints.txt tools/setup.sh tests/kafka/ivy.xml tests/corpus/ivy.xml | cksum)
stamp=.venv/.ready
check_java
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$inputs" ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi
make_venv
compile_packages &
fetch_jars
wait
printf '%s' "$inputs" >"$stamp"
echo "Ready."
