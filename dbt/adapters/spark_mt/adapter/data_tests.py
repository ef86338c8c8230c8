"""Rows with which the generic tests of materialized tables fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.execution.show import path_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.api import MaterializedTables


_NO_ROW = "SELECT CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING), 0L WHERE false"


@dataclass(frozen=True, slots=True)
class FailingRow:
    """A row that a test fails with; it counts for so many `failures`."""

    table: str
    problem: str
    details: str
    failures: int = 1


def stale_rows(tables: MaterializedTables, name: str, within: str | None) -> Iterator[FailingRow]:
    """Yield why a table is not fresh.

    Args:
        tables: The tables of a session.
        name: The table's name, in backticks where it needs them, here and below.
        within: The lag that is allowed, as a model's freshness; None for that of its own freshness.

    Raises:
        InvalidValueError: `within` is no duration.
    """
    allowed = None if within is None else Freshness.parse(within).seconds
    try:
        lag = tables.lag(name)
    except MaterializedTableError as error:
        yield FailingRow(name, "unknown lag", str(error))
        return
    limit = lag.allowed_seconds if allowed is None else allowed
    lagging = lag.seconds_at(lag.measured_at_ms)
    if lagging is None:
        yield FailingRow(lag.table, "unknown lag", "its commits have no positions of the sources")
    elif lagging > limit:
        text = f"it lags its base tables by {lag.seconds} seconds, and {limit:g} are allowed"
        way = f"; the oldest missing change waited for {path_text(lag.stages)}"
        yield FailingRow(lag.table, "not fresh", text + way)


def differing_rows(tables: MaterializedTables, name: str, limit: int) -> Iterator[FailingRow]:
    """Yield by which rows a table differs from its query, or why that is unknown.

    There are up to `limit` rows, and the last one counts the others.
    """
    try:
        found = tables.difference(name, limit=limit)
    except MaterializedTableError as error:
        yield FailingRow(name, "not comparable", str(error))
        return
    parts = (f"baseline: {found.baseline}" if found.baseline else "", found.note)
    text = "; ".join(part for part in parts if part)
    about = f" ({text})" if text else ""
    if found.problem:
        yield FailingRow(found.table, "not comparable", found.problem + about)
    for row in found.rows:
        yield FailingRow(found.table, f"{row.side.value} row", row.row + about, row.copies)
    left = found.total - sum(row.copies for row in found.rows)
    if left:
        yield FailingRow(found.table, "more rows", f"{left} more rows differ" + about, left)


def unhealthy_rows(tables: MaterializedTables, name: str) -> Iterator[FailingRow]:
    """Yield why a table is not healthy."""
    for problem in tables.health(name):
        yield FailingRow(name, "not healthy", problem)


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
