"""Delta table as a source of streams."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL
from dbt.adapters.spark_mt.spark.catalog.source_options import NO_LIMITS
from dbt.adapters.spark_mt.spark.query.sources import position_in
from dbt.adapters.spark_mt.spark.query.stream_sources import VersionedSource, versioned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.positions import Position, VersionedPosition


_NOT_YET_WRITTEN = "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled"
"""Without it a stream cannot begin at the version that the next commit will have."""
_WHOLE_COMMITS = {"maxFilesPerTrigger": str(2**31 - 1)}
"""A batch with a limit may end inside a commit, which is no version to compare anything with."""
_AFTER_COMMIT = -1


class DeltaSource(VersionedSource):
    """A Delta table, whose positions are versions.

    A stream continues where the table was when it was opened.
    """

    def position_of(self, offset: str) -> VersionedPosition:
        """As `StreamSource.position_of`.

        Raises:
            MaterializedTableError: The batch read a part of a commit.
            SourceNotFoundError: The version is no longer in the log.
        """
        version = version_read(self._name, json.loads(offset))
        return position_in(self._tables.history, self._table, version)

    def identity_in(self, offset: object) -> str | None:
        is_ours = isinstance(offset, dict) and "reservoirId" in offset
        return str(offset["reservoirId"]) if is_ours else None  # type: ignore[index]

    def stream(
        self,
        after: Position | None = None,
        limits: Mapping[str, str] = NO_LIMITS,  # noqa: ARG002 - a commit is never divided
    ) -> DataFrame:
        """Open the source as a stream of the commits after a position; a conf is changed.

        Without one its first batch is the whole table as it is then. A batch ends after a commit,
        whatever the limits.
        """
        self._spark.conf.set(_NOT_YET_WRITTEN, "true")
        self._table = self._reader.table(self._name)
        reader = self._spark.readStream.options(**_WHOLE_COMMITS)
        if after is not None and after != BEFORE_ALL:
            reader = reader.option("startingVersion", str(versioned(after).version + 1))
        return reader.table(self._name.sql)


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
