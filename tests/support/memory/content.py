"""Rows of a materialized table over one state of its sources, and constraint checks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Check
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, VersionedPosition, unmoved
from dbt.adapters.spark_mt.query.syntax import token_key
from dbt.adapters.spark_mt.resolution.columns import has_distinct_columns, query_positions
from dbt.adapters.spark_mt.resolution.validation import result_problems
from tests.support.memory.literals import literal_value
from tests.support.memory.tables import NamedRows
from tests.support.memory.versioned import in_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition, StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import (
        FollowedPosition,
        Positions,
        SourcePositions,
    )
    from dbt.adapters.spark_mt.execution.ports import SourceReader
    from dbt.adapters.spark_mt.planning.steps import ApplyChanges, FillPartitions, RefreshRun
    from tests.support.memory.queries import MemoryQueries
    from tests.support.memory.tables import Row, Rows, VersionedTable

    Predicate = Callable[[Mapping[str, object]], bool]


_ATTEMPTS = 5


class MemoryContent:
    """Computes rows of queries and knows CHECK expressions."""

    def __init__(self, queries: MemoryQueries, sources: SourceReader) -> None:
        self._queries = queries
        self._sources = sources
        self._checks: dict[str, Predicate] = {}

    def register_check(self, expression: str, holds: Predicate) -> None:
        """Say what a CHECK expression means for a row, by column name."""
        self._checks[token_key(expression)] = holds

    def compute(
        self, definition: StoredDefinition, run: RefreshRun, since: SourcePositions | None = None
    ) -> tuple[Rows, Positions]:
        """Return the table's rows, and the state of the sources that they reflect.

        Args:
            definition: What is computed.
            run: The state of the sources.
            since: Only rows added to these sources after these positions count; None: all do.

        Raises:
            MaterializedTableError: A query that cannot be pinned saw its sources move each time.
            RefreshSchemaError: The query returns other columns than it did.
            RefreshFailedError: A version of a source is gone.
        """
        resolved = definition.resolved
        analyzed = self._queries.analyze_stored(resolved)
        if problems := result_problems(resolved, analyzed.columns):
            raise conditions.RESULT_CHANGED(violations=problems, table=definition.name)
        if since is not None:
            return self._limited(definition, run, dict(since), _added), run.positions
        if analyzed.pinnable:
            return self._limited(definition, run, {}, _added), run.positions
        return self._settled(definition, run)

    def merged(self, step: ApplyChanges, there: Rows) -> tuple[Rows, int]:
        """Return the rows of a table after its touched keys were computed, and how many changed."""
        definition = step.definition
        key = _key_of(definition.resolved)
        since = dict(step.since)
        touched = {
            key(row)
            for difference in (_added, _removed)
            for row in self._limited(definition, step.run, since, difference)
        }
        computed = self._limited(definition, step.run, {}, _added)
        rows = tuple(row for row in computed if key(row) in touched)
        self.check(definition, rows)
        kept = tuple(row for row in there if key(row) not in touched)
        gone = sum(key(row) in touched and row not in rows for row in there)
        return kept + rows, gone + sum(row not in there for row in rows)

    def _limited(
        self,
        definition: StoredDefinition,
        run: RefreshRun,
        since: Mapping[str, FollowedPosition],
        difference: Callable[[Rows, Rows], Rows],
    ) -> Rows:
        """Compute the query over a part of the rows of the sources that `since` names."""

        def read(name: TableName, table: VersionedTable) -> NamedRows:
            now = _at(definition.name, table, run.positions[str(name)])
            after = since.get(str(name))
            if after is None:
                return now
            before = NamedRows.of(now.columns, ())
            if after != BEFORE_ALL:
                before = _at(definition.name, table, after)
            before, now = in_columns(before, now, run.columns_of(str(name)))
            return NamedRows.of(now.columns, difference(before, now))

        return _in_columns(self._queries.stored_rows(definition.resolved, read), definition)

    def check(self, definition: StoredDefinition, rows: Rows) -> None:
        """Make sure that rows satisfy the constraints.

        Raises:
            ConstraintViolatedError: They do not; each violation names the values.
        """
        found = [*self._violations(definition.resolved, rows)]
        if found:
            raise conditions.CONSTRAINT_VIOLATED(violations=found, table=definition.name)

    def _settled(self, definition: StoredDefinition, run: RefreshRun) -> tuple[Rows, Positions]:
        """Compute at the newest versions until nothing moved meanwhile, as the Spark side does."""
        before = run.positions
        for _ in range(_ATTEMPTS):
            rows = self._queries.stored_rows(definition.resolved)
            after = self._sources.positions(run.sources)
            if unmoved(before, after):
                return _in_columns(rows, definition), after
            before = after
        names = ", ".join(str(source.name) for source in run.sources)
        raise conditions.SOURCES_TOO_BUSY(
            sources=names, attempts=_ATTEMPTS, reason="it was registered as not pinnable"
        )

    def _violations(self, definition: ResolvedDefinition, rows: Rows) -> Iterator[str]:
        names = [column.name for column in definition.columns]
        records = [dict(zip(names, row, strict=True)) for row in rows]
        if (key := definition.declared.primary_key) is not None:
            yield from _key_violations(key.columns, records)
        for constraint in definition.declared.constraints:
            if isinstance(constraint, Check):
                holds = self._checks[token_key(constraint.expression)]
                broken = (record for record in records if not holds(record))
                yield from (f"check ({constraint.expression}) fails: {r}" for r in broken)
        for column in definition.columns:
            if not column.nullable and any(record[column.name] is None for record in records):
                yield f"NULL in column {column.name}, which is NOT NULL"


def _added(before: Rows, now: Rows) -> Rows:
    return tuple((Counter(now) - Counter(before)).elements())


def _removed(before: Rows, now: Rows) -> Rows:
    return _added(now, before)


def _key_of(definition: ResolvedDefinition) -> Callable[[Row], Row]:
    declared = definition.declared.primary_key
    columns = [column.name for column in definition.columns]
    places = [columns.index(column) for column in (declared.columns if declared else ())]
    return lambda row: tuple(row[place] for place in places)


def in_partitions(step: FillPartitions, row: Row) -> bool:
    """Whether a row of the table lies in one of the step's partitions."""
    columns = step.definition.resolved.columns
    values = {c.name: (value, c.type) for c, value in zip(columns, row, strict=True)}
    return any(
        all(_equals(*values[column], literal) for column, literal in partition)
        for partition in step.partitions
    )


def _equals(value: object, type_: str, literal: str | None) -> bool:
    return value is None if literal is None else value == literal_value(literal, type_)


def _at(table: TableName, source: VersionedTable, position: object) -> NamedRows:
    if not isinstance(position, VersionedPosition) or position.identity != source.identity:
        raise conditions.REFRESH_FAILED(table=table, problem=f"a source is no longer at {position}")
    return source.rows_at(position.version)


def _in_columns(rows: NamedRows, definition: StoredDefinition) -> Rows:
    resolved = definition.resolved
    if problems := result_problems(resolved, rows.columns):
        raise conditions.RESULT_CHANGED(violations=problems, table=definition.name)
    if has_distinct_columns(resolved):
        rows = rows.selecting(resolved.query_columns)
    places = query_positions(resolved)
    return tuple(tuple(row[place] for place in places) for row in rows)


def _key_violations(key: tuple[str, ...], records: list[dict[str, object]]) -> Iterator[str]:
    listed = ", ".join(key)
    counts = Counter(tuple(record[column] for column in key) for record in records)
    for values, count in counts.items():
        if None in values:
            yield f"NULL in the primary key ({listed}): {values}"
        elif count > 1:
            yield f"duplicate primary key ({listed}): {values}"
