"""What `dbt parse` costs with many models, each time in a fresh process and from nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.projects import Project, write_project
from benchmarks.report import Measurement

MODELS = 500
QUERY = "select id, id % 7 as remainder from range(100)"
TABLE = "{{ config(materialized='table', file_format='delta') }}\n" + QUERY
MATERIALIZED = (
    "{{ config(materialized='materialized_table', freshness='3 minutes', cluster_by=['id']) }}\n"
    + QUERY
)
PROFILE = {"type": "spark_mt", "schema": "bench"}


def measure(folder: Path, samples: int) -> Measurement:
    """Parse 500 tables and 500 materialized tables in turn."""
    tables = _project(folder / "tables", TABLE)
    materialized = _project(folder / "materialized", MATERIALIZED)
    pairs = [(_parse(materialized), _parse(tables)) for _ in range(samples)]
    ours, baseline = zip(*pairs, strict=True)
    return Measurement(f"dbt parse, {MODELS} models", ours, baseline, most_ratio=1.2)


def _project(folder: Path, sql: str) -> Project:
    return write_project(folder, PROFILE, {f"model_{i:03}": sql for i in range(MODELS)})


def _parse(project: Project) -> float:
    dbt = Path(sys.executable).with_name("dbt")
    command = [str(dbt), "--quiet", "--no-partial-parse", "parse"]
    start = time.perf_counter()
    subprocess.run([*command, *project.arguments], check=True, stdin=subprocess.DEVNULL)  # noqa: S603 - our own command
    return time.perf_counter() - start
