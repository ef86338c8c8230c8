#!/usr/bin/env bash
# Runs test suites, each in a pytest process of its own: a JVM holds one Spark configuration, and
# suites need different ones. Prints every suite's closing line again at the end.
#   tools/test.sh [pytest options] -- suite …
set -uo pipefail
cd "$(dirname "$0")/.."

options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
done
shift

output=$(mktemp)
trap 'rm -f "$output"' EXIT
status=0
closing=()
for suite in "$@"; do
    echo "== $suite"
    .venv/bin/python -m pytest "$suite" ${options[@]+"${options[@]}"} 2>&1 | tee "$output"
    code=${PIPESTATUS[0]}
    # 5: the options leave no test of this suite to run
    [ "$code" -eq 0 ] || [ "$code" -eq 5 ] || status=1
    closing+=("$(printf '%-28s %s' "$suite" "$(tail -n 1 "$output")")")
done
echo
printf '%s\n' ${closing[@]+"${closing[@]}"}
exit "$status"
