"""Whether a table holds what its query says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    OffsetPosition,
    Positions,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.execution.stored import existing_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.observation import RowDifference
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery

_LOST = (
    "nobody knows any more which state of its sources the rows reflect (a change while it was "
    "suspended, a RESTORE to a timestamp, or a log that was cleaned up)"
)
_PARTLY = "some partitions were refreshed to another state of the sources than the others"


class ComparisonFailedError(MaterializedTableError):
    """A table could not be compared with its query."""

    condition = "MATERIALIZED_TABLE_COMPARISON_FAILED"
    text = (
        "The rows of the materialized table {table} could not be compared with its query: {problem}"
    )
    remedy = "Nothing was changed. ALTER MATERIALIZED TABLE {table} REFRESH computes its rows anew."


@dataclass(frozen=True, slots=True)
class Difference:
    """How a table differs from its query over the state of the sources that its rows reflect.

    Args:
        rows: The first rows that differ.
        total: How many differ, copies counted.
        problem: Why they cannot be compared; empty where they were.
        baseline: From where the table counts its sources, for people; empty for their beginning.
        note: What to know about the comparison, for people.
    """

    table: str
    rows: tuple[RowDifference, ...] = ()
    total: int = 0
    problem: str = ""
    baseline: str = ""
    note: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether the table was compared, and holds what its query says."""
        return not self.problem and not self.total


def difference(environment: Environment, name: TableName, limit: int) -> Difference:
    """Compare a table with its query over the positions of its last commit; nothing is changed.

    Args:
        environment: The ports.
        name: The table.
        limit: How many differing rows to name at most.

    Raises:
        MaterializedTableError: There is no such table, or its query is refused now.
    """
    full = environment.store.full_name(name)
    table = existing_table(environment, full)
    analyzed = environment.stored_analyzer.analyze_stored(table.definition.resolved)
    run = environment.run("COMPARE", analyzed)
    baseline = table.definition.baseline
    result = Difference(
        str(full), baseline=baseline.describe() if baseline else "", note=_note(analyzed)
    )
    positions = table.positions
    if positions is None:
        return replace(result, problem=_LOST)
    problems = [*_problems(environment, table, analyzed, run)]
    if problems:
        return replace(result, problem="; ".join(problems))
    run = replace(run, positions=positions, fixed=True)
    try:
        found = environment.observer.differences(table, run, limit)
    except ComparisonFailedError as error:
        return replace(result, problem=error.parameters["problem"])
    return replace(result, rows=found.rows, total=found.total)


def _problems(
    environment: Environment, table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun
) -> Iterator[str]:
    if analyzed.process is not None:
        yield f"its rows are made by {analyzed.process}, and nobody else can tell which"
    if analyzed.nondeterministic:
        listed = ", ".join(analyzed.nondeterministic)
        yield f"the query gives other rows each time ({listed})"
    if environment.observer.is_partly_refreshed(table):
        yield _PARTLY
    yield from _lost_sources(environment, table.positions or {}, analyzed, run.positions)


def _lost_sources(
    environment: Environment, reflected: Positions, analyzed: AnalyzedQuery, now: Positions
) -> Iterator[str]:
    """Yield why a source cannot be read in the state that the rows reflect."""
    names = {str(source.name): source.name for source in analyzed.sources}
    for key in sorted(reflected.keys() ^ now.keys()):
        yield f"the query does not read {key} both then and now"
    for key in sorted(reflected.keys() & now.keys()):
        match reflected[key]:
            case UnknownPosition():
                yield f"the source {key} has no versions"
            case DefinitionPosition() as position if not position.same_state(now[key]):
                yield f"{key} was defined anew since"
            case (VersionedPosition() | OffsetPosition()) as position if key in names and not (
                environment.sources.is_readable(names[key], position)
            ):
                yield f"{position} of the source {key} cannot be read any more"


def _note(analyzed: AnalyzedQuery) -> str:
    if not analyzed.time_dependent:
        return ""
    listed = ", ".join(analyzed.time_dependent)
    return f"{listed} had the value of the comparison, not that of the refresh"
