#!/usr/bin/env bash
# Builds the documentation site into .work/site/html; a broken link or anchor is an error.
# Run by `make site`. The generator has an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
env=.work/site/env
[ -x "$env/bin/python" ] || .venv/bin/uv venv --quiet --python .venv/bin/python "$env"
.venv/bin/uv pip install --quiet --python "$env/bin/python" --requirement tools/site/constraints.txt
NO_MKDOCS_2_WARNING=1 "$env/bin/mkdocs" "${1:-build}" --quiet
