"""Stream sources by format: tables with versions, Kafka, files and generated rows.

Queries over tables that Spark reads only as streams are analysed in sessions in which views replace
these tables.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, VersionedPosition
from dbt.adapters.spark_mt.execution.ports import SourceSpan
from dbt.adapters.spark_mt.execution.table_format import VersionedTables, VersionRange
from dbt.adapters.spark_mt.query.analyzer import FILE_FORMATS, ONLY_STREAMS
from dbt.adapters.spark_mt.query.text import shape_of
from dbt.adapters.spark_mt.spark.catalog import objects, source_options
from dbt.adapters.spark_mt.spark.query import offsets, query_relations
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import QueryContext
    from dbt.adapters.spark_mt.definition.positions import ChangeKind, Position
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.ports import StartPosition
    from dbt.adapters.spark_mt.execution.table_format import SourceTables
    from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader


VersionedFormats: TypeAlias = "Callable[[str], StreamableTables | None]"
"""Returns the format of a provider, in lower case; None where its tables have no versions."""
_VIEW = "__materialized_table_stand_in_"


class StreamSource(Protocol):
    """One table of the catalog that can be read as a stream.

    Frames belong to the session for which the source was opened, and come into a query through
    `createOrReplaceTempView`.
    """

    def latest(self) -> Position:
        """Return where the source ends now; unknown where only a checkpoint has it."""
        ...

    def earliest(self) -> Position:
        """Return before the oldest that it still has."""
        ...

    def position_at(self, instant_ms: int) -> StartPosition:
        """Return the position right before what came at or after an instant.

        Args:
            instant_ms: Milliseconds since the epoch, UTC.

        Raises:
            MaterializedTableError: The format has no times.
        """
        ...

    def stream(
        self, after: Position | None = None, limits: Mapping[str, str] = source_options.NO_LIMITS
    ) -> DataFrame:
        """Open it as a stream of what comes after a position; from its beginning for None.

        Args:
            after: The position.
            limits: How much a batch takes at most; those of other formats have no effect.
        """
        ...

    def batch(self, after: Position | None, upto: Position) -> DataFrame:
        """Open what lies between two positions as rows at rest; from its beginning for None.

        Raises:
            MaterializedTableError: It has none.
        """
        ...

    def position_of(self, offset: str) -> Position:
        """Return what an entry in the offsets of a checkpoint, the source's own JSON, means."""
        ...

    def kind(self, after: Position | None, upto: Position) -> ChangeKind:
        """Return what happened to its rows between two positions."""
        ...

    def changes_types(
        self, after: Position, upto: Position, columns: Collection[str] | None
    ) -> bool:
        """Whether columns (None for all) have other types at one position than at another."""
        ...

    @property
    def is_versioned(self) -> bool:
        """Whether its positions are versions of a table."""
        ...

    def identity(self) -> str:
        """Return the identity by which offsets name the table; empty where they do not."""
        ...

    def identity_in(self, offset: object) -> str | None:
        """Return which table an entry in the offsets, as parsed JSON, names; empty for none.

        Returns:
            None for an entry that is not of such a source.
        """
        ...

    def is_of(self, position: Position) -> bool:
        """Whether a position is one of this very table, and not of one that had its place."""
        ...


class VersionedSource:
    """What the sources of all formats with versions have in common: all but offsets.

    A stream continues with the table that it was opened with.

    Args:
        spark: A private session, to which the frames belong.
        name: The table's full name.
        reader: Reads positions of tables.
        tables: The format of the table.
    """

    is_versioned = True

    def __init__(
        self,
        spark: SparkSession,
        name: TableName,
        reader: SparkSourceReader,
        tables: SourceTables[Any, str],
    ) -> None:
        self._spark = spark
        self._name = name
        self._reader = reader
        self._tables = tables

    def latest(self) -> VersionedPosition:
        """Return the newest version."""
        return self._reader.newest(self._name)

    def earliest(self) -> VersionedPosition:
        """As `StreamSource.earliest`: the oldest version is read as a whole."""
        return BEFORE_ALL

    def position_at(self, instant_ms: int) -> StartPosition:
        """Return the version right before the first commit made at or after an instant."""
        return self._reader.position_at(self._name, instant_ms)

    def identity(self) -> str:
        """Return the identity of the table, by which offsets name it."""
        return self._reader.identity(self._name)

    def is_of(self, position: Position) -> bool:
        """As `StreamSource.is_of`, by the identity of the version."""
        # A number may also be one of another table, which has the place now.
        if not isinstance(position, VersionedPosition) or position == BEFORE_ALL:
            return True
        commit = self._tables.history.commit(self._table, position.version)
        return commit is not None and commit.identity == position.identity

    def kind(self, after: Position | None, upto: Position) -> ChangeKind:
        """Return what happened to the rows between two versions."""
        begin = BEFORE_ALL if after is None else versioned(after)
        return self._reader.changes(SourceSpan(self._name, begin, versioned(upto)), net=True)

    def changes_types(
        self, after: Position, upto: Position, columns: Collection[str] | None
    ) -> bool:
        """Whether columns have other types at one version than at another."""
        if not isinstance(after, VersionedPosition) or not isinstance(upto, VersionedPosition):
            return False
        return bool(self._reader.changed_types(SourceSpan(self._name, after, upto, columns)))

    def batch(self, after: Position | None, upto: Position) -> DataFrame:
        """Open the rows that were added between two versions; all of `upto` for None."""
        begin = BEFORE_ALL if after is None else versioned(after)
        range_ = VersionRange(self._table, begin, versioned(upto))
        return self._spark.sql(self._tables.changes(self._spark).added(range_))

    @cached_property
    def _table(self) -> TableRef:
        return self._reader.table(self._name)


def versioned(position: Position) -> VersionedPosition:
    """Return a position that is a version.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(position, VersionedPosition):
        raise TypeError(f"{position} is no version")  # noqa: TRY003, EM102
    return position


class StreamableTables(VersionedTables["SparkSession", str], Protocol):
    """Tables with versions that can be read as streams."""

    def stream_source(
        self, session: SparkSession, name: TableName, reader: SparkSourceReader
    ) -> StreamSource:
        """Open a table as a source of streams, whose frames belong to the session."""
        ...


def stream_source(
    private: SparkSession,
    name: TableName,
    format_: str,
    reader: SparkSourceReader,
    versioned: VersionedFormats,
) -> StreamSource | None:
    """Open a table of the catalog as a source of streams.

    Args:
        private: A session of the caller's own, to which the frames will belong.
        name: The table's full name.
        format_: Its provider, lower case.
        reader: Reads positions of tables.
        versioned: Opens tables with versions.

    Returns:
        None where tables of this format cannot be read as streams.
    """
    if (tables := versioned(format_)) is not None:
        return tables.stream_source(private, name, reader)
    if format_ == offsets.KAFKA:
        return offsets.KafkaSource(private, name)
    if format_ in FILE_FORMATS:
        return offsets.FilesSource(private, name, format_)
    return offsets.RateSource(private, name, format_) if format_ in ONLY_STREAMS else None


def stand_ins_of(views: Mapping[TableName, tuple[str, str]]) -> query_relations.StandIns:
    """Return what stands for tables that Spark reads in no query, of their formats and views."""
    return query_relations.StandIns(
        tuple(
            query_relations.StandIn(name, view, only_streams=format_ == offsets.KAFKA)
            for name, (format_, view) in views.items()
            if format_ == offsets.KAFKA or format_ in ONLY_STREAMS
        )
    )


@contextmanager
def standing_in(
    spark: SparkSession, query: str, context: QueryContext
) -> Iterator[tuple[SparkSession, query_relations.StandIns]]:
    """Open a session in which views stand for the tables of a query that Spark cannot read.

    The session knows no temporary object of the user's. Nothing is read: no broker is asked.

    Yields:
        The session, and the views; none where the query reads no such table.
    """
    formats = _formats(spark, query, context)
    views = {name: (each, f"{_VIEW}{n}") for n, (name, each) in enumerate(formats.items())}
    with PrivateSessions(spark).open(context) as session:
        found = stand_ins_of(views)
        for each in found.views:
            if each.only_streams:
                frame = offsets.KafkaSource(session.spark, each.name).stream()
            else:
                frame = offsets.RateSource(session.spark, each.name, formats[each.name]).stream()
            frame.createOrReplaceTempView(each.view)
        yield session.spark, found


def _formats(spark: SparkSession, query: str, context: QueryContext) -> dict[TableName, str]:
    """Return the formats of the tables that a query names, as far as the catalog has them."""
    names = {query_relations.full_name(ref, context) for ref in shape_of(query).relations}
    with suppress_spark_errors():
        return objects.providers_of(spark, [TableName.of(*n) for n in sorted(names) if len(n) == 3])
    return {}
