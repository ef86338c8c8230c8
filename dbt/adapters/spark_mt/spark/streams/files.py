"""File and generator sources: tables whose streams keep positions in their checkpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import ChangeKind, OffsetPosition, UnknownPosition
from dbt.adapters.spark_mt.execution.errors import SourceOnlyStreamsError, SourceWithoutTimeError
from dbt.adapters.spark_mt.spark.catalog import NO_LIMITS, only, table_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.positions import Position
    from dbt.adapters.spark_mt.execution.ports import StartPosition


FILE_FORMATS = frozenset({"avro", "csv", "json", "orc", "parquet", "text", "xml"})
RATE_FORMATS = frozenset({"rate", "rate-micro-batch"})


_LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger")


class _CheckpointedSource:
    """A source whose offsets say nothing without the checkpoint of the stream that counted them.

    So its position is unknown outside of a checkpoint. Its streams begin at its beginning, each in
    a checkpoint that it keeps.

    Args:
        spark: A private session, to which the frames belong.
        name: The table's full name.
        format_: What it is made of.
    """

    is_versioned = False

    def __init__(self, spark: SparkSession, name: TableName, format_: str) -> None:
        self._spark = spark
        self._name = name
        self._format = format_

    def latest(self) -> UnknownPosition:
        """Return an unknown position: only a checkpoint has it."""
        return UnknownPosition()

    def earliest(self) -> UnknownPosition:
        """Return an unknown position: only a checkpoint has it."""
        return UnknownPosition()

    def position_at(self, instant_ms: int) -> StartPosition:  # noqa: ARG002 - as other sources
        """Refuse: such a source has no times.

        Raises:
            SourceWithoutTimeError: Always.
        """
        raise SourceWithoutTimeError(source=self._name, format=self._format)

    def identity(self) -> str:
        """Return nothing: offsets do not name the table."""
        return ""

    def identity_in(self, offset: object) -> str | None:
        """Return nothing for offsets of such a source; None for those of another kind."""
        is_of_files = isinstance(offset, dict) and "logOffset" in offset
        is_ours = is_of_files if self._format in FILE_FORMATS else not isinstance(offset, dict)
        return "" if is_ours else None

    def is_of(self, position: Position) -> bool:  # noqa: ARG002 - not in offsets
        """Whether a position is one of this source, as far as offsets show."""
        return True

    def position_of(self, offset: str) -> OffsetPosition:
        """Return what an entry in the offsets of a checkpoint means, for that checkpoint."""
        text = json.dumps(json.loads(offset), sort_keys=True, separators=(",", ":"))
        return OffsetPosition(self._format, text)

    def kind(self, after: Position | None, upto: Position) -> ChangeKind:
        """Return what happened between two positions of one checkpoint."""
        if after is None:
            return ChangeKind.ADDED
        if after.same_state(upto):
            return ChangeKind.NONE
        return ChangeKind.ADDED if upto.reaches(after) else ChangeKind.REPLACED


class FilesSource(_CheckpointedSource):
    """A directory into which files land; they are added and never change."""

    def stream(
        self,
        after: Position | None = None,  # noqa: ARG002 - it is in the checkpoint
        limits: Mapping[str, str] = NO_LIMITS,
    ) -> DataFrame:
        """Open the source as a stream; what its checkpoint has read already is not read again."""
        reader = self._spark.readStream.options(**only(limits, _LIMITS))
        return reader.table(self._name.sql)

    def batch(self, after: Position | None, upto: Position) -> DataFrame:  # noqa: ARG002
        """Open all files that are there; positions do not show which of them a stream has read."""
        return self._spark.read.table(self._name.sql)


class RateSource(_CheckpointedSource):
    """Rows that Spark makes while a stream runs.

    Spark reads a table of this kind neither in a query nor as a stream: only the reader that is
    made here, of the table's options, does.
    """

    def stream(
        self,
        after: Position | None = None,  # noqa: ARG002 - it is in the checkpoint
        limits: Mapping[str, str] = NO_LIMITS,  # noqa: ARG002 - its own options count
    ) -> DataFrame:
        """Open the source as a stream; its checkpoint continues the count."""
        options = table_options(self._spark, self._name)
        return self._spark.readStream.format(self._format).options(**options).load()

    def batch(self, after: Position | None, upto: Position) -> DataFrame:  # noqa: ARG002
        """Refuse.

        Raises:
            SourceOnlyStreamsError: Always.
        """
        raise SourceOnlyStreamsError(source=self._name, format=self._format)
