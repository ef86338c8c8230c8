"""Positions of a query's sources: versions of tables and ends of logs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import with_article
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    ChangeExtent,
    ChangeKind,
    DefinitionPosition,
    OffsetPosition,
    Position,
    Positions,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.execution.ports import StartPosition
from dbt.adapters.spark_mt.execution.table_format import VersionRange
from dbt.adapters.spark_mt.query.analyzer import Source, SourceKind
from dbt.adapters.spark_mt.spark.catalog.objects import VIEW_TYPES
from dbt.adapters.spark_mt.spark.catalog.table_details import NoTable
from dbt.adapters.spark_mt.spark.query.offsets import KAFKA, FilesSource, KafkaSource
from dbt.adapters.spark_mt.spark.session.input_size import FEW_ROWS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition
    from dbt.adapters.spark_mt.execution.ports import SourceSpan
    from dbt.adapters.spark_mt.execution.table_format import TableHistory
    from dbt.adapters.spark_mt.spark.catalog.table_details import (
        OtherTable,
        SparkTables,
        TableDetails,
    )
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions


_ATTEMPTS = 20
_NOT_HELD = "its log no longer holds version {}"


class LogReader:
    """Reader of logs of Kafka, each time in a session that is closed again.

    Args:
        sessions: Opens them.
    """

    def __init__(self, sessions: PrivateSessions) -> None:
        self._sessions = sessions

    def ends(self, names: Collection[TableName]) -> dict[str, Position]:
        """Return where logs end; unknown of a table whose own options let it end elsewhere.

        Raises:
            SourceNotFoundError: A table, a topic or the broker cannot be reached.
        """
        found: dict[str, Position] = {}
        for name in names:
            with self._kafka(name) as source:
                followed = source.is_followable
                found[str(name)] = source.latest() if followed else UnknownPosition()
        return found

    def earliest(self, name: TableName) -> OffsetPosition | None:
        """Return where a log begins now; None where its own options let it begin elsewhere."""
        with self._kafka(name) as source:
            found = source.earliest() if source.is_followable else None
        return found if isinstance(found, OffsetPosition) else None

    def first_change_after(self, name: TableName, position: OffsetPosition) -> int | None:
        """Return the time of the first record after a position, None where there is none.

        Milliseconds since the epoch, UTC; None as well where the format has no times.
        """
        if position.format != KAFKA:
            return None
        with self._kafka(name) as source:
            return source.first_change_after(position)

    def is_readable(self, name: TableName, position: OffsetPosition) -> bool:
        """Whether all records after a position are still there, as far as the format shows."""
        if position.format != KAFKA:
            return False
        with self._kafka(name) as source:
            return source.is_readable(position)

    def changes(self, name: TableName, after: FollowedPosition, upto: OffsetPosition) -> ChangeKind:
        """Return what happened to a log between two positions."""
        if isinstance(after, OffsetPosition) and after.format != upto.format:
            return ChangeKind.REPLACED
        with self._sessions.open() as session:
            if upto.format == KAFKA:
                return KafkaSource(session.spark, name).kind(after, upto)
            return FilesSource(session.spark, name, upto.format).kind(after, upto)

    def position_at(self, name: TableName, format_: str, instant_ms: int) -> StartPosition:
        """Return the position of the first records with a time at or after an instant.

        Raises:
            MaterializedTableError: The format has no times.
        """
        if format_ != KAFKA:
            raise conditions.SOURCE_WITHOUT_TIME(source=name, format=format_)
        with self._kafka(name) as source:
            return source.position_at(instant_ms)

    @contextmanager
    def _kafka(self, name: TableName) -> Iterator[KafkaSource]:
        with self._sessions.open() as session:
            yield KafkaSource(session.spark, name)


class SparkSourceReader:
    """Reader of positions: logs of tables and of Kafka, fingerprints of views and functions."""

    def __init__(
        self, tables: SparkTables, details: TableDetails, sessions: PrivateSessions
    ) -> None:
        self._tables = tables
        self._history = tables.history
        self._details = details
        self._sessions = sessions
        self._logs = LogReader(sessions)

    def positions(self, sources: Sequence[Source]) -> Positions:
        """As `SourceReader.positions`."""
        # Versions are listed until two listings in a row agree: then all of them were current at
        # the same time, between the two. In between, the ends of logs are read one by one.
        fixed: dict[str, Position] = {
            str(s.name): _fixed_position(s) for s in sources if s.kind is not SourceKind.VERSIONED
        }
        versioned = [s.name for s in sources if s.kind is SourceKind.VERSIONED]
        logs = [s.name for s in sources if s.format == KAFKA]
        return fixed | self._settled(dict.fromkeys(versioned), dict.fromkeys(logs))

    def newest(self, source: TableName) -> VersionedPosition:
        """Return the newest version of a table.

        Raises:
            SourceNotFoundError: It is gone.
        """
        return self.at_version(source, self._newest(source))

    def at_version(self, source: TableName, version: int) -> VersionedPosition:
        """Return the position that a version of a table is, `BEFORE_ALL` before the first.

        Raises:
            SourceNotFoundError: The table is gone, or its log no longer holds the version.
        """
        table = self.table(source)
        return position_in(self._history(table), table, version)

    def first_record_after(self, source: TableName, position: OffsetPosition) -> int | None:
        """Return the time of the first record of a log after a position; None without one."""
        return self._logs.first_change_after(source, position)

    def is_readable(self, source: TableName, position: FollowedPosition) -> bool:
        """Whether the source still has the very version that `position` names, or all after it."""
        if isinstance(position, OffsetPosition):
            return self._logs.is_readable(source, position)
        table = self._detail(source)
        if not isinstance(table, TableRef):
            return False
        commit = self._history(table).commit(table, position.version)
        return commit is not None and commit.identity == position.identity

    def is_current(self, source: Source, position: Position) -> bool:
        """As `SourceReader.is_current`; for a table that takes the check of three files."""
        if isinstance(position, DefinitionPosition):
            text = self._details.definition_text(source.name, source.kind)
            return text is not None and _definition(text).same_state(position)
        if not isinstance(position, VersionedPosition):
            return False
        detail = self._details.of(source.name)
        return (
            isinstance(detail, TableRef)
            and self._history(detail).is_newest(detail, position.version)
            and self.is_readable(source.name, position)
        )

    def earliest(self, source: TableName) -> FollowedPosition | None:
        """Return where a topic of Kafka begins now; None for any other source."""
        return self._logs.earliest(source) if self._detail(source).format == KAFKA else None

    def identity(self, source: TableName) -> str:
        """Return the format's own identity of a table."""
        return self._details.identity(source)

    def table(self, source: TableName) -> TableRef:
        """Return a table with versions.

        Raises:
            SourceNotFoundError: It is gone, or has no versions any more.
        """
        found = self._detail(source)
        if not isinstance(found, TableRef):
            problem = f"it is {with_article(found.format)} table, which keeps no versions"
            raise conditions.SOURCE_NOT_FOUND(source=source, problem=problem)
        return found

    def changed_types(self, span: SourceSpan) -> tuple[str, ...]:
        """As `SourceReader.changed_types`; most often the log alone shows that there are none."""
        range_ = self._range(span)
        if range_ is None or self._keeps_columns(range_) or not self._is_readable(range_):
            return ()
        with self._sessions.open() as session:
            return self._tables.of(range_.table).changes(session.spark).changed_types(range_)

    def keeps_rows(self, span: SourceSpan) -> bool:
        """As `SourceReader.keeps_rows`."""
        range_ = self._range(span)
        if range_ is None or range_.after == BEFORE_ALL:
            return False
        after, upto = range_.after.version, range_.upto.version
        changed = self._history(range_.table).first_row_change(range_.table, after, upto)
        return changed is None and self._is_readable(range_)

    def changes(self, span: SourceSpan, *, net: bool) -> ChangeKind:
        """Return what happened to the rows of a source between two of its positions.

        A table that was created again in another format was replaced.
        """
        if isinstance(span.upto, OffsetPosition):
            return self._logs.changes(span.source, span.after, span.upto)
        range_ = self._range(span)
        if range_ is None:
            return ChangeKind.REPLACED
        if not self._is_readable(range_):
            return self._why_unreadable(range_)
        with self._sessions.open() as session:
            return self._tables.of(range_.table).changes(session.spark).kind(range_, net=net)

    def extent(self, span: SourceSpan) -> ChangeExtent:
        """Return how much happened to a table between two of its positions, from its log."""
        range_ = self._range(span)
        if range_ is None:
            return ChangeExtent(self.changes(span, net=True))
        if not self._is_readable(range_):
            return ChangeExtent(self._why_unreadable(range_))
        with self._sessions.open() as session:
            session.configure(FEW_ROWS)  # those of the log
            return self._tables.of(range_.table).changes(session.spark).extent(range_)

    def position_at(self, source: TableName, instant_ms: int) -> StartPosition:
        """Return the position right before the first commit made at or after an instant."""
        detail = self._detail(source)
        if not isinstance(detail, TableRef):
            return self._logs.position_at(source, detail.format, instant_ms)
        version = self._history(detail).at(detail, instant_ms)
        if version is None:
            return StartPosition(BEFORE_ALL, is_complete=False)
        return StartPosition(position_in(self._history(detail), detail, version))

    def _range(self, span: SourceSpan) -> VersionRange | None:
        """Return a span of a table's versions; None where positions or the table have none."""
        after, upto = span.after, span.upto
        if isinstance(after, OffsetPosition) or isinstance(upto, OffsetPosition):
            return None
        table = self._detail(span.source)
        if not isinstance(table, TableRef):
            return None
        return VersionRange(table, after, upto, span.columns)

    def _keeps_columns(self, range_: VersionRange) -> bool:
        if range_.is_empty or range_.after == BEFORE_ALL:
            return True
        after, upto = range_.after.version, range_.upto.version
        return self._history(range_.table).keeps_columns(range_.table, after, upto)

    def _is_readable(self, range_: VersionRange) -> bool:
        """Whether the first position of a range still is one of this table."""
        known = range_.is_empty or range_.after == BEFORE_ALL
        return known or self.is_readable(range_.table.name, range_.after)

    def _why_unreadable(self, range_: VersionRange) -> ChangeKind:
        """Return GONE if its log was cleaned up so far, else REPLACED, by a namesake."""
        oldest = self._history(range_.table).oldest(range_.table)
        cleaned = oldest is not None and range_.after.version < oldest.version
        return ChangeKind.GONE if cleaned else ChangeKind.REPLACED

    def _settled(
        self, names: Iterable[TableName], logs: Collection[TableName]
    ) -> dict[str, Position]:
        versions = self._listed(names)
        for _ in range(_ATTEMPTS):
            ends = self._logs.ends(logs)
            again = self._listed(names) if len(versions) + len(logs) > 1 else versions
            if versions == again:
                return self._positions(versions) | ends
            versions = again
        raise conditions.SOURCES_TOO_BUSY(
            sources=", ".join(sorted(map(str, versions))),
            attempts=_ATTEMPTS,
            reason="they were only listed, so nothing in the query can help",
        )

    def _positions(self, versions: dict[TableName, int]) -> dict[str, Position]:
        keys = {name: (self.table(name), v) for name, v in versions.items()}
        commits = self._tables.commits(keys.values())
        found: dict[str, Position] = {}
        for name, key in keys.items():
            if key not in commits:
                raise conditions.SOURCE_NOT_FOUND(source=name, problem=_NOT_HELD.format(key[1]))
            found[str(name)] = VersionedPosition(key[1], commits[key].identity)
        return found

    def _listed(self, names: Iterable[TableName]) -> dict[TableName, int]:
        return {name: self._newest(name) for name in names}

    def _newest(self, name: TableName) -> int:
        table = self.table(name)
        newest = self._history(table).newest(table)
        if newest < 0:
            raise conditions.SOURCE_NOT_FOUND(source=name, problem="its log is empty")
        return newest

    def _detail(self, name: TableName) -> TableRef | OtherTable:
        detail = self._details.of(name)
        if isinstance(detail, NoTable):
            problem = detail.problem or "there is no such table"
            raise conditions.SOURCE_NOT_FOUND(source=name, problem=problem)
        return detail


def position_in(history: TableHistory, table: TableRef, version: int) -> VersionedPosition:
    """Return the position that a version of a table is, `BEFORE_ALL` before the first.

    Raises:
        SourceNotFoundError: The commit of the version no longer exists.
    """
    if version < 0:
        return BEFORE_ALL
    commit = history.commit(table, version)
    if commit is None:
        raise conditions.SOURCE_NOT_FOUND(source=table.name, problem=_NOT_HELD.format(version))
    return VersionedPosition(version, commit.identity)


def _fixed_position(source: Source) -> Position:
    if source.kind is SourceKind.UNVERSIONED:  # those of logs are looked up
        return UnknownPosition()
    return _definition(source.definition_text)


def _definition(text: str) -> DefinitionPosition:
    definition, _, types = text.partition(VIEW_TYPES)
    return DefinitionPosition.of(definition, types)
