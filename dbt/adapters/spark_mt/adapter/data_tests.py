"""Queries for the rows with which the generic tests of materialized tables fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.execution import failing_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.execution.failing_rows import Checks, FailingRow


_NO_ROW = "SELECT CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING), 0L WHERE false"


def stale_rows(tables: Checks, name: str, within: str | None) -> Iterator[FailingRow]:
    """Yield why a table is not fresh.

    Args:
        tables: The tables of a session.
        name: The table's name, in backticks where it needs them.
        within: The lag that is allowed, as a model's freshness; None for that of its own freshness.

    Raises:
        InvalidValueError: `within` is no duration.
    """
    allowed = None if within is None else Freshness.parse(within)
    return failing_rows.stale_rows(tables, name, allowed)


def rows_query(rows: Iterable[FailingRow]) -> str:
    """Return a query for the rows, none of them included."""
    listed = [
        f"({quote_text(r.table)}, {quote_text(r.problem)}, {quote_text(r.details)}, {r.failures}L)"
        for r in rows
    ]
    body = "VALUES\n  " + ",\n  ".join(listed) if listed else _NO_ROW
    return (
        "SELECT table_name, problem, details, failures FROM (\n"
        f"{body}\n) AS _(table_name, problem, details, failures)"
    )
