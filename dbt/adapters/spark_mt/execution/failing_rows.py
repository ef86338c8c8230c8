"""Rows with which CHECK, and the generic tests of dbt, say what is wrong with a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution import checks, results
from dbt.adapters.spark_mt.execution.lookup import existing_table
from dbt.adapters.spark_mt.execution.show import path_text
from dbt.adapters.spark_mt.statements.nodes import CheckKind
from dbt.adapters.spark_mt.statements.parser import parse_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.freshness import Freshness
    from dbt.adapters.spark_mt.execution.checks import Difference, Lag
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.statements.nodes import CheckTable


SHOWN = 100
"""How many differing rows are named."""
_ROWS = results.columns(
    ("table", "STRING"), ("problem", "STRING"), ("details", "STRING"), ("failures", "BIGINT")
)


class Checks(Protocol):
    """Checks of a table by its name, which is in backticks where it needs them."""

    def lag(self, name: str) -> Lag:
        """Measure the lag to the base tables."""
        ...

    def difference(self, name: str, *, limit: int = SHOWN) -> Difference:
        """Compare the rows with those of the query."""
        ...

    def health(self, name: str) -> tuple[str, ...]:
        """Return why the table is not healthy."""
        ...


@dataclass(frozen=True, slots=True)
class FailingRow:
    """A row that a test fails with; it counts for so many `failures`."""

    table: str
    problem: str
    details: str
    failures: int = 1


def stale_rows(tables: Checks, name: str, within: Freshness | None) -> Iterator[FailingRow]:
    """Yield why a table is not fresh.

    Args:
        tables: The checks.
        name: The table's name, here and below.
        within: The lag that is allowed; None for that of its own freshness.
    """
    allowed = None if within is None else within.seconds
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


def differing_rows(tables: Checks, name: str, limit: int) -> Iterator[FailingRow]:
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


def unhealthy_rows(tables: Checks, name: str) -> Iterator[FailingRow]:
    """Yield why a table is not healthy."""
    for problem in tables.health(name):
        yield FailingRow(name, "not healthy", problem)


class _EnvironmentChecks:
    """`Checks` on ports."""

    def __init__(self, environment: Environment) -> None:
        self._env = environment

    def lag(self, name: str) -> Lag:
        return checks.lag_of(self._env, parse_name(name))

    def difference(self, name: str, *, limit: int = SHOWN) -> Difference:
        return checks.difference(self._env, parse_name(name), limit)

    def health(self, name: str) -> tuple[str, ...]:
        return checks.health_problems(self._env, parse_name(name))


def checked(statement: CheckTable, environment: Environment) -> results.StatementResult:
    """Return a row for each problem that CHECK finds; none if all is well.

    Raises:
        MaterializedTableError: There is no such table.
    """
    tables, name = _EnvironmentChecks(environment), statement.name.sql
    existing_table(environment, environment.store.full_name(statement.name))
    if statement.kind is CheckKind.HEALTH:
        found = unhealthy_rows(tables, name)
    elif statement.kind is CheckKind.FRESHNESS:
        found = stale_rows(tables, name, statement.within)
    else:
        found = differing_rows(tables, name, SHOWN)
    rows = tuple((row.table, row.problem, row.details, row.failures) for row in found)
    return results.StatementResult(_ROWS, rows)
