"""Sources of the streams that are measured; each side has one of its own, with the same rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "bench_streams"
_ROWS = """
SELECT id,
       CAST(pmod(hash(id), 500) AS INT) AS k,
       CAST(pmod(hash(id, 1), 1000) AS INT) AS v,
       concat('note ', pmod(hash(id, 2), 1000)) AS note,
       timestamp_millis(1735689600000 + id) AS ts
FROM range({first}, {last})
"""
_COLUMNS = "id BIGINT, k INT, v INT, note STRING, ts TIMESTAMP"


class Feed(Protocol):
    """A source that grows when a method is called."""

    @property
    def table(self) -> str:
        """Its name in the catalog."""
        ...

    def append(self, rows: int) -> None:
        """Let rows arrive at once."""
        ...

    def is_read(self, offset: str) -> bool:
        """Whether all that arrived lies before the end of a batch, in the source's own words."""
        ...


@dataclass
class DeltaFeed:
    """A Delta table; each arrival is one commit."""

    spark: SparkSession
    name: str
    _rows: int = 0
    _version: int = 0
    provider: ClassVar[str] = "delta"

    def __post_init__(self) -> None:
        """Make the table."""
        self.spark.sql(f"CREATE TABLE {self.table} ({_COLUMNS}) USING {self.provider}")

    @property
    def table(self) -> str:
        """Its name in the catalog."""
        return f"{SCHEMA}.{self.name}"

    def append(self, rows: int) -> None:
        """Commit rows."""
        content = _ROWS.format(first=self._rows, last=self._rows + rows)
        self.spark.sql(f"INSERT INTO {self.table} {content}")
        self._rows += rows
        self._version += 1

    def is_read(self, offset: str) -> bool:
        """Whether the newest version was read."""
        return int(json.loads(offset)["reservoirVersion"]) > self._version


class IcebergFeed(DeltaFeed):
    """A table of Iceberg, in the current catalog; each arrival is one snapshot."""

    provider = "iceberg"

    def is_read(self, offset: str) -> bool:
        """Whether the newest snapshot was read."""
        return int(json.loads(offset)["sequence_number"]) >= self._version


@dataclass
class KafkaFeed:
    """A table over a topic with two partitions, which the broker makes."""

    spark: SparkSession
    name: str
    servers: str
    _rows: int = 0
    _topic: str = field(init=False)

    def __post_init__(self) -> None:
        """Make the topic, by its first record, and the table."""
        self._topic = self.name
        self.append(1)
        self.spark.sql(
            f"CREATE TABLE {self.table} USING kafka OPTIONS ("
            f"'kafka.bootstrap.servers' '{self.servers}', 'subscribe' '{self._topic}')"
        )

    @property
    def table(self) -> str:
        """Its name in the catalog."""
        return f"{SCHEMA}.{self.name}"

    def append(self, rows: int) -> None:
        """Write records, as JSON."""
        content = _ROWS.format(first=self._rows, last=self._rows + rows)
        records = self.spark.sql(
            f"SELECT CAST(id AS STRING) AS key, to_json(struct(*)) AS value FROM ({content})"
        )
        writer = records.coalesce(2).write.format("kafka").option("topic", self._topic)
        writer.option("kafka.bootstrap.servers", self.servers).save()
        self._rows += rows

    def is_read(self, offset: str) -> bool:
        """Whether as many records were read as were written."""
        parts: dict[str, int] = json.loads(offset)[self._topic]
        return sum(parts.values()) >= self._rows
