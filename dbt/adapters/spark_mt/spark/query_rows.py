"""A definition's query as rows: over one state of its sources, or over what changed in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import (
    OffsetPosition,
    VersionedPosition,
    unmoved,
)
from dbt.adapters.spark_mt.execution.errors import (
    BusySourcesError,
    PositionsNotReadableError,
    RefreshFailedError,
)
from dbt.adapters.spark_mt.resolution.content import content_query
from dbt.adapters.spark_mt.resolution.process_functions import PROCESS_FUNCTION
from dbt.adapters.spark_mt.spark.pinning import Pins, pin_query
from dbt.adapters.spark_mt.spark.source_changes import RangeReader, SourceRange
from dbt.adapters.spark_mt.spark.streams.kafka import KafkaSource
from dbt.adapters.spark_mt.spark.streams.kafka_offsets import KAFKA

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from dbt.adapters.spark_mt.definition.baseline import SourcePositions
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Position, Positions
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.private_session import PrivateSession
    from dbt.adapters.spark_mt.spark.sources import SparkSourceReader
    from dbt.adapters.spark_mt.spark.table_details import TableDetails

    RangeRows = Callable[[SourceRange], str | None]

_ATTEMPTS = 5
_RESULT = "__materialized_table_result"
_CHANGES = "__materialized_table_changes_"
_ADDED, _REMOVED = "added_", "removed_"
_LOG = "__materialized_table_log_"


class QueryRows:
    """Writes a definition's query such that it reads what a refresh is about."""

    def __init__(self, sources: SparkSourceReader, log: DeltaLog, details: TableDetails) -> None:
        self._sources = sources
        self._log = log
        self._details = details

    def whole(
        self, session: PrivateSession, definition: StoredDefinition, run: RefreshRun
    ) -> tuple[str, Positions]:
        """Return the rows over all source data as a query, and the state that it reads.

        Raises:
            BusySourcesError: The query cannot be pinned, and its sources moved each time.
            PositionsNotReadableError: The same, where only the given positions will do.
        """
        _raise_if_processed(definition)
        resolved = definition.resolved
        pins = Pins(_versions(run), _whole_logs(session, run))
        pinned = pin_query(session.spark, resolved.expanded_query, resolved.context, pins)
        if pinned.text is not None:
            return content_query(resolved, pinned.text), run.positions
        content = content_query(resolved, resolved.expanded_query)
        return self._settled(session, content, run, pinned.reason)

    def added(
        self,
        session: PrivateSession,
        definition: StoredDefinition,
        run: RefreshRun,
        since: SourcePositions,
    ) -> str:
        """Return the rows over what was added to the followed sources since some positions.

        Raises:
            RefreshFailedError: The query cannot be limited to these rows.
        """
        reader = RangeReader(session.spark, self._log)
        return self._limited(session, definition, run, since, (_ADDED, reader.added))

    def touched(
        self,
        session: PrivateSession,
        definition: StoredDefinition,
        run: RefreshRun,
        since: SourcePositions,
    ) -> list[str]:
        """Return the rows over what was added, and those over what was removed.

        Rows that were removed are joined with tables that are looked up as these are now.

        Raises:
            RefreshFailedError: The query cannot be limited to these rows.
        """
        reader = RangeReader(session.spark, self._log)
        parts = [self._limited(session, definition, run, since, (_ADDED, reader.added))]
        if any(reader.removed(range_) for range_ in self._ranges(run, since)):
            limit = (_REMOVED, reader.removed)
            parts.append(self._limited(session, definition, run, since, limit))
        return parts

    def _limited(
        self,
        session: PrivateSession,
        definition: StoredDefinition,
        run: RefreshRun,
        since: SourcePositions,
        limit: tuple[str, RangeRows],
    ) -> str:
        """Let a temporary view of some rows stand in the place of each followed source."""
        _raise_if_processed(definition)
        label, rows_of = limit
        views = _whole_logs(session, run, label)
        for name, after in since:
            if name in views:
                rows = _log(session, run, name, after if label == _ADDED else run.positions[name])
                rows.createOrReplaceTempView(views[name])
        for number, range_ in enumerate(self._ranges(run, since)):
            view = f"{_CHANGES}{label}{number}"
            body = rows_of(range_) or f"SELECT * FROM {_at_end(range_)} WHERE false"
            session.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS\n{body}")
            views[str(range_.name)] = view
        resolved = definition.resolved
        pins = Pins(_versions(run), views, label)
        pinned = pin_query(session.spark, resolved.expanded_query, resolved.context, pins)
        if pinned.text is None:
            raise RefreshFailedError(table=definition.name, problem=pinned.reason)
        return content_query(resolved, pinned.text)

    def _ranges(self, run: RefreshRun, since: SourcePositions) -> list[SourceRange]:
        names = {str(source.name): source.name for source in run.sources}
        upto = run.positions
        return [
            SourceRange(names[name], self._sources.location(names[name]), after, end)
            for name, after in since
            if isinstance(end := upto[name], VersionedPosition)
            and isinstance(after, VersionedPosition)
        ]

    def _settled(
        self, session: PrivateSession, content: str, run: RefreshRun, reason: str
    ) -> tuple[str, Positions]:
        """Compute a query that cannot be pinned while nothing moves, and keep its rows."""
        before = run.positions
        names = ", ".join(str(source.name) for source in run.sources)
        for _ in range(_ATTEMPTS):
            rows = session.spark.sql(content).localCheckpoint(eager=True)
            self._details.forget()
            after = self._sources.positions(run.sources)
            if unmoved(before, after):
                rows.createOrReplaceTempView(_RESULT)
                return f"SELECT * FROM {_RESULT}", after
            if run.fixed:
                raise PositionsNotReadableError(sources=names, problem=reason)
            before = after
        raise BusySourcesError(sources=names, attempts=_ATTEMPTS, reason=reason)


def _raise_if_processed(definition: StoredDefinition) -> None:
    """The rows of the query are not those of the table, where a stream's state makes them."""
    if PROCESS_FUNCTION in dict(definition.resolved.asked.options):
        problem = "only the stream of its process function makes its rows, and only all of them"
        raise RefreshFailedError(table=definition.name, problem=problem)


def _whole_logs(session: PrivateSession, run: RefreshRun, label: str = "") -> dict[str, str]:
    """Make temporary views of all that logs held at the run's positions; by the logs' names."""
    logs = sorted(n for n, at in run.positions.items() if _is_kafka(at))
    views = {name: f"{_LOG}{label}{number}" for number, name in enumerate(logs)}
    for name, view in views.items():
        _log(session, run, name).createOrReplaceTempView(view)
    return views


def _log(
    session: PrivateSession, run: RefreshRun, name: str, after: Position | None = None
) -> DataFrame:
    """What a log held at the run's position, less what it held at an earlier one."""
    source = next(each.name for each in run.sources if str(each.name) == name)
    return KafkaSource(session.spark, source).batch(after, run.positions[name])


def _is_kafka(position: Position) -> bool:
    return isinstance(position, OffsetPosition) and position.format == KAFKA


def _versions(run: RefreshRun) -> dict[str, int]:
    return {
        name: position.version
        for name, position in run.positions.items()
        if isinstance(position, VersionedPosition)
    }


def _at_end(range_: SourceRange) -> str:
    return f"{range_.name.sql} VERSION AS OF {range_.upto.version}"
