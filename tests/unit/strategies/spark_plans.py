"""Plans as Spark 4.2 prints them, and in which output modes it agreed to run them as streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.spark.query.plan import read_plan

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.query.analyzer import PlanOperator

PLANS = json.loads(Path(__file__).with_name("spark_plans.json").read_text(encoding="utf-8"))
DELTA, OTHER, FILES, JSON = (TableName(name, "s", "spark_catalog") for name in "opfj")
"""Delta tables o (id, c, v, ts) and p (id, d, ts2), a Parquet table f like o, a JSON table j."""


def operators(name: str) -> PlanOperator | None:
    """The tree of a plan."""
    return tree(PLANS[name]["plan"])


def tree(lines: list[str]) -> PlanOperator | None:
    """The tree of lines as EXPLAIN EXTENDED prints them."""
    text = "\n".join(lines)
    plan = read_plan(f"== Analyzed Logical Plan ==\n{text}\n\n== Optimized Logical Plan ==\n")
    return plan.operators if plan else None


def columns(name: str) -> tuple[str, ...]:
    """The names of a query's result."""
    return tuple(PLANS[name]["columns"])
