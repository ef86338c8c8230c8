"""Iceberg table as a source of streams.

The stream is one of Java, which the driver compiles. Its batches are Iceberg's own scans.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, VersionedPosition
from dbt.adapters.spark_mt.spark.catalog.source_options import NO_LIMITS
from dbt.adapters.spark_mt.spark.iceberg import metadata
from dbt.adapters.spark_mt.spark.iceberg.metadata import EMPTY
from dbt.adapters.spark_mt.spark.query.stream_sources import VersionedSource, versioned
from dbt.adapters.spark_mt.spark.session import driver_java

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from dbt.adapters.spark_mt.definition.positions import Position

SOURCE = Path(__file__).with_name("SnapshotStream.java")
_TABLE, _NUMBER, _SNAPSHOT = "table_uuid", "sequence_number", "snapshot_id"
"""The keys of an offset, which never change: checkpoints of tables have them."""


class IcebergSource(VersionedSource):
    """An Iceberg table, whose positions are snapshots."""

    def position_of(self, offset: str) -> VersionedPosition:
        return position_in(offset)

    def identity_in(self, offset: object) -> str | None:
        return str(offset[_TABLE]) if isinstance(offset, dict) and _TABLE in offset else None

    def stream(
        self,
        after: Position | None = None,
        limits: Mapping[str, str] = NO_LIMITS,  # noqa: ARG002 - a snapshot is never divided
    ) -> DataFrame:
        """Open the source as a stream of the snapshots after a position.

        Without one its first batch is the whole table as it is then.

        Raises:
            SourceNotFoundError: The table is gone.
        """
        from pyspark.sql import DataFrame

        table = metadata.loaded(self._spark, self._name)
        if table is None:
            raise conditions.SOURCE_NOT_FOUND(source=self._name, problem="there is no such table")
        begin = BEFORE_ALL if after is None else versioned(after)
        java = driver_java.compiled(self._spark, SOURCE, ("Position",))
        offset = offset_of(begin, str(table.uuid()))
        made = driver_java.new_object(self._spark, java, table, offset)
        frame = made.frame(self._spark._jsparkSession)  # noqa: SLF001 - PySpark has no public way
        return DataFrame(frame, self._spark)


def offset_of(position: VersionedPosition, uuid: str) -> str:
    """Return the offset after which a stream begins; empty before all rows.

    Args:
        position: A position of the table.
        uuid: The identity of the table, of which a position of a snapshot has none.
    """
    if position == BEFORE_ALL:
        return ""
    number, is_empty = position.version, position.version == EMPTY
    table, snapshot = (position.identity, "") if is_empty else (uuid, position.identity)
    return json.dumps({_TABLE: table, _NUMBER: number, _SNAPSHOT: snapshot})


def position_in(offset: str) -> VersionedPosition:
    """Return the position that an offset means."""
    found = json.loads(offset)
    number = int(found[_NUMBER])
    if number < EMPTY:
        return BEFORE_ALL
    return VersionedPosition(number, str(found[_SNAPSHOT] or found[_TABLE]))
