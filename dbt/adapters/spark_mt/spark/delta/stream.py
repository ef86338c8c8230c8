"""Delta table as a source of streams."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, VersionedPosition
from dbt.adapters.spark_mt.execution.ports import SourceSpan
from dbt.adapters.spark_mt.execution.table_format import VersionRange
from dbt.adapters.spark_mt.spark.catalog.source_options import NO_LIMITS
from dbt.adapters.spark_mt.spark.delta.changes import RangeReader
from dbt.adapters.spark_mt.spark.query.sources import position_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.positions import ChangeKind, Position
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.ports import StartPosition
    from dbt.adapters.spark_mt.spark.delta.log import DeltaLog
    from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader


_NOT_YET_WRITTEN = "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled"
"""Without it a stream cannot begin at the version that the next commit will have."""
_WHOLE_COMMITS = {"maxFilesPerTrigger": str(2**31 - 1)}
"""A batch with a limit may end inside a commit, which is no version to compare anything with."""
_AFTER_COMMIT = -1


class DeltaSource:
    """A Delta table, whose positions are versions.

    A stream reads on where the table lived when it was opened.

    Args:
        spark: A private session, to which the frames belong; one conf of it is changed.
        name: The table's full name.
        reader: Reads positions of tables.
        log: Reads logs.
    """

    is_versioned = True

    def __init__(
        self, spark: SparkSession, name: TableName, reader: SparkSourceReader, log: DeltaLog
    ) -> None:
        self._spark = spark
        self._name = name
        self._reader = reader
        self._log = log

    def latest(self) -> VersionedPosition:
        """Return the newest version."""
        return self._reader.newest(self._name)

    def earliest(self) -> VersionedPosition:
        """Return the position before all rows: the oldest version is read as a whole."""
        return BEFORE_ALL

    def position_at(self, instant_ms: int) -> StartPosition:
        """Return the version right before the first commit made at or after an instant."""
        return self._reader.position_at(self._name, instant_ms)

    def position_of(self, offset: str) -> VersionedPosition:
        """Return what an entry in the offsets of a checkpoint means.

        Raises:
            MaterializedTableError: The batch read a part of a commit.
            SourceNotFoundError: The version is no longer in the log.
        """
        version = version_read(self._name, json.loads(offset))
        return position_in(self._log, self._table, version)

    def identity(self) -> str:
        """Return the id of the table, by which offsets name it."""
        return self._reader.identity(self._name)

    def identity_in(self, offset: object) -> str | None:
        """Return which table an entry in the offsets names; None for one of another kind."""
        is_ours = isinstance(offset, dict) and "reservoirId" in offset
        return str(offset["reservoirId"]) if is_ours else None  # type: ignore[index]

    def is_of(self, position: Position) -> bool:
        # Delta reads on after a number, also in the log of another table that has the place now.
        if not isinstance(position, VersionedPosition) or position == BEFORE_ALL:
            return True
        commit = self._log.commit(self._table, position.version)
        return commit is not None and commit.identity == position.identity

    def kind(self, after: Position | None, upto: Position) -> ChangeKind:
        """Return what happened to the rows between two versions."""
        begin = BEFORE_ALL if after is None else _versioned(after)
        return self._reader.changes(SourceSpan(self._name, begin, _versioned(upto)), net=True)

    def changes_types(
        self, after: Position, upto: Position, columns: Collection[str] | None
    ) -> bool:
        """Whether columns have other types at one version than at another."""
        if not isinstance(after, VersionedPosition) or not isinstance(upto, VersionedPosition):
            return False
        return bool(self._reader.changed_types(SourceSpan(self._name, after, upto, columns)))

    @cached_property
    def _table(self) -> TableRef:
        return self._reader.table(self._name)

    def stream(
        self,
        after: Position | None = None,
        limits: Mapping[str, str] = NO_LIMITS,  # noqa: ARG002 - a commit is never divided
    ) -> DataFrame:
        """Open the source as a stream of the commits after a position.

        Without one its first batch is the whole table as it is then. A batch ends after a commit,
        whatever the limits.
        """
        self._spark.conf.set(_NOT_YET_WRITTEN, "true")
        self._table = self._reader.table(self._name)
        reader = self._spark.readStream.options(**_WHOLE_COMMITS)
        if after is not None and after != BEFORE_ALL:
            reader = reader.option("startingVersion", str(_versioned(after).version + 1))
        return reader.table(self._name.sql)

    def batch(self, after: Position | None, upto: Position) -> DataFrame:
        """Open the rows that were added between two versions; all of `upto` for None."""
        begin = BEFORE_ALL if after is None else _versioned(after)
        range_ = VersionRange(self._table, begin, _versioned(upto))
        return self._spark.sql(RangeReader(self._spark, self._log).added(range_))


def version_read(source: TableName | str, offset: Mapping[str, Any]) -> int:
    """Return the version up to which an offset of Delta's means that everything was read.

    Args:
        source: The table, for the message.
        offset: As in the offsets of a checkpoint.

    Raises:
        MaterializedTableError: It means a part of a commit, or of the table that a stream began
            with.
    """
    if offset["index"] != _AFTER_COMMIT or offset["isStartingVersion"]:
        raise conditions.OFFSET_INSIDE_COMMIT(source=source, offset=json.dumps(offset))
    return int(offset["reservoirVersion"]) - 1


def _versioned(position: Position) -> VersionedPosition:
    if not isinstance(position, VersionedPosition):
        raise TypeError(f"{position} is no version")  # noqa: TRY003, EM102
    return position
