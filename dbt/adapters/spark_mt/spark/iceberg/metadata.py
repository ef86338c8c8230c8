"""Metadata of Iceberg tables: snapshots, their ancestry, schemas and properties.

The document is that of the table specification. Where Spark's driver is this process, it is read
through Iceberg's own classes. Over Spark Connect, two statements read the file that the catalog
names. A document never changes, so one that is known by its file is not parsed again.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dbt.adapters.spark_mt.spark.session.driver_files import escaped
from dbt.adapters.spark_mt.spark.session.driver_java import java_class
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors, unlogged
from dbt.adapters.spark_mt.spark.session.outages import naming_outages
from dbt.adapters.spark_mt.spark.session.private_session import active

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName

EMPTY = 0
"""The version of a table before its first snapshot."""
APPEND = "append"
_COMPACTION = "replace"
_GZIP = b"\x1f\x8b"
_FILES = ("added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files")
_DELETES = ("total-delete-files", "total-position-deletes", "total-equality-deletes")
_MARKED = ("added-position-deletes", "added-equality-deletes")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of a table.

    Args:
        number: The sequence number; 0 for a snapshot of format version 1.
        id: The id.
        parent: The id of the snapshot before it; None without one.
        timestamp_ms: When it was committed, milliseconds since the epoch, UTC.
        operation: `append`, `replace`, `overwrite` or `delete`.
        summary: What the writer counted.
        schema_id: The id of its schema.
    """

    number: int
    id: int
    parent: int | None
    timestamp_ms: int
    operation: str
    summary: Mapping[str, str]
    schema_id: int

    def count(self, key: str) -> int:
        """Return a count of the summary; 0 where the writer did not count."""
        return int(self.summary.get(key, 0))

    @property
    def changes_rows(self) -> bool:
        """Whether files with rows or with deletes came or went, other than by a compaction."""
        return self.operation != _COMPACTION and any(map(self.count, _FILES))

    @property
    def adds_only(self) -> bool:
        """Whether no row left the table."""
        return self.operation == APPEND or not self.changes_rows

    @property
    def has_deletes(self) -> bool:
        """Whether rows are left out by delete files, or the writer did not count these."""
        return any(self.summary.get(key, "1") != "0" for key in _DELETES)

    @property
    def marks_rows(self) -> bool:
        """Whether delete files came with it."""
        return any(map(self.count, _MARKED))

    @property
    def changed(self) -> int:
        """At most how many rows it added, changed and removed, with those that it wrote again."""
        if not self.changes_rows:
            return 0
        return sum(map(self.count, ("added-records", "deleted-records", *_MARKED)))

    @property
    def rows(self) -> int:
        """About how many rows the table has."""
        return self.count("total-records") - self.count("total-position-deletes")


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """A table as its catalog has it.

    Args:
        uuid: The identity of the table.
        format_version: The version of the table format.
        location: The directory of its files.
        properties: Its properties.
        schemas: The documents of its schemas by their ids.
        schema_id: The current schema.
        snapshots: All snapshots that exist, by their ids.
        head: The newest snapshot of the branch `main`; None without one.
        moves: When `main` moved to which snapshot, the oldest first; expired ones are left out.
        created_ms: The time of the oldest change that is known.
        partitioned_by: The columns by whose values, as they are, the table is partitioned.
        specs: How many partitionings it has had.
        branches: The newest snapshots of its branches by their names; an expired one is left out.
    """

    uuid: str
    format_version: int
    location: str
    properties: Mapping[str, str]
    schemas: Mapping[int, Mapping[str, Any]]
    schema_id: int
    snapshots: Mapping[int, Snapshot]
    head: Snapshot | None
    moves: tuple[tuple[int, int], ...]
    created_ms: int
    partitioned_by: tuple[str, ...]
    specs: int = 1
    branches: Mapping[str, Snapshot] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in their order."""
        return tuple(str(each["name"]) for each in self.schemas[self.schema_id]["fields"])

    @property
    def newest(self) -> int:
        """The newest version."""
        return EMPTY if self.head is None else self.head.number

    def at(self, number: int) -> Snapshot | None:
        """Return the snapshot with a number.

        Snapshots of format version 1 all have the number 0. Of these the newest one counts to which
        `main` leads.
        """
        if number == EMPTY:
            return next((s for s in self.ancestry(self.head) if s.number == EMPTY), None)
        return next((s for s in self.snapshots.values() if s.number == number), None)

    def holds(self, number: int) -> bool:
        """Whether a version can be read."""
        return number == EMPTY or self.at(number) is not None

    def identity(self, number: int) -> str:
        """Return the identity of a version; empty where the table does not have it."""
        if (found := self.at(number)) is not None:
            return str(found.id)
        return self.uuid if number == EMPTY else ""

    def ancestry(self, snapshot: Snapshot | None) -> Iterator[Snapshot]:
        """Yield a snapshot and those before it, as far as they exist."""
        while snapshot is not None:
            yield snapshot
            snapshot = None if snapshot.parent is None else self.snapshots.get(snapshot.parent)

    def leads_to(self, one: Snapshot | None, other: Snapshot) -> bool:
        """Whether a snapshot is another one or comes before it; None is before all."""
        return one is None or any(each.id == one.id for each in self.ancestry(other))

    def path(self, after: int, upto: int) -> tuple[Snapshot, ...] | None:
        """Return the snapshots after one version up to another, the oldest first.

        Returns:
            None where the first version is not before the second: `main` was rolled back or
            replaced in between, or the snapshots in between have expired.
        """
        begin = self.at(after)
        found: list[Snapshot] = []
        for snapshot in self.ancestry(self.at(upto)):
            if begin is not None and snapshot.id == begin.id:
                return tuple(reversed(found))
            found.append(snapshot)
        is_whole = begin is None and after <= EMPTY and (not found or found[-1].parent is None)
        return tuple(reversed(found)) if is_whole else None

    def schema(self, number: int) -> Mapping[str, Any]:
        """Return the document of the schema of a version."""
        found = self.at(number)
        return self.schemas[self.schema_id if found is None else found.schema_id]


class MetadataReader(Protocol):
    """Reads the metadata of tables."""

    def read(self, name: TableName) -> TableMetadata | None:
        """Return the metadata of a table as it is now; None where the catalog has no such table."""


class DriverMetadata:
    """Implementation of `MetadataReader` for a classic session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._parsed: dict[TableName, tuple[str, TableMetadata]] = {}

    def read(self, name: TableName) -> TableMetadata | None:
        table = loaded(self._spark, name)
        if table is None:
            self._parsed.pop(name, None)
            return None
        current = table.operations().current()
        file = str(current.metadataFileLocation() or "")
        known = self._parsed.get(name)
        if known is not None and file and known[0] == file:
            return known[1]
        found = parse(document_of(self._spark, current))
        self._parsed[name] = file, found
        return found


def loaded(spark: SparkSession, name: TableName) -> Any:  # noqa: ANN401 - a table of Iceberg
    """Return a table as its catalog has it now, an object of the JVM; None without one."""
    # PySpark has no public way to Iceberg's classes.
    java: Any = spark._jsparkSession  # noqa: SLF001
    util = java_class(spark, "org.apache.iceberg.spark.Spark3Util")
    is_missing = suppress_spark_errors(lambda failure: failure.is_missing_table)
    with naming_outages(name), is_missing, unlogged(), active(spark):
        return util.loadIcebergTable(java, name.sql)
    return None


def document_of(spark: SparkSession, metadata: Any) -> dict[str, Any]:  # noqa: ANN401 - of the JVM
    """Return the document of a table's metadata, an object of the JVM."""
    parser = java_class(spark, "org.apache.iceberg.TableMetadataParser")
    found: dict[str, Any] = json.loads(parser.toJson(metadata))
    return found


class SqlMetadata:
    """Implementation of `MetadataReader` by statements, which run anywhere."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._parsed: dict[TableName, tuple[str, TableMetadata]] = {}

    def read(self, name: TableName) -> TableMetadata | None:
        is_missing = suppress_spark_errors(lambda failure: failure.is_missing_table)
        with naming_outages(name), is_missing, unlogged():
            entries = self._spark.sql(f"SELECT file FROM {name.sql}.metadata_log_entries").collect()
            file = str(entries[-1]["file"])  # the current one is the last
            known = self._parsed.get(name)
            if known is not None and known[0] == file:
                return known[1]
            found = parse(json.loads(self._content(file)))
            self._parsed[name] = file, found
            return found
        self._parsed.pop(name, None)
        return None

    def _content(self, file: str) -> bytes:
        rows = self._spark.read.format("binaryFile").load(escaped(file)).select("content").collect()
        content = bytes(rows[0]["content"])
        return gzip.decompress(content) if content.startswith(_GZIP) else content


def parse(document: Mapping[str, Any]) -> TableMetadata:
    """Return what a metadata document has."""
    snapshots = {each["snapshot-id"]: _snapshot(each) for each in document.get("snapshots", ())}
    schemas = {each["schema-id"]: each for each in document.get("schemas", ())}
    moves = tuple(
        (each["timestamp-ms"], each["snapshot-id"]) for each in document.get("snapshot-log", ())
    )
    log = document.get("metadata-log", ())
    schema_id = document.get("current-schema-id", 0)
    return TableMetadata(
        uuid=document.get("table-uuid", ""),
        format_version=document["format-version"],
        location=document["location"],
        properties=document.get("properties", {}),
        schemas=schemas,
        schema_id=schema_id,
        snapshots=snapshots,
        head=snapshots.get(document.get("current-snapshot-id") or -1),
        moves=moves,
        created_ms=log[0]["timestamp-ms"] if log else document["last-updated-ms"],
        partitioned_by=tuple(_partition_columns(document, schemas.get(schema_id, {}))),
        specs=len(document.get("partition-specs", ())),
        branches=dict(_branches(document, snapshots)),
    )


def _branches(
    document: Mapping[str, Any], snapshots: Mapping[int, Snapshot]
) -> Iterator[tuple[str, Snapshot]]:
    for name, ref in document.get("refs", {}).items():
        if ref["type"] == "branch" and ref["snapshot-id"] in snapshots:
            yield name, snapshots[ref["snapshot-id"]]


def _snapshot(document: Mapping[str, Any]) -> Snapshot:
    summary = dict(document.get("summary", {}))
    return Snapshot(
        number=document.get("sequence-number", 0),
        id=document["snapshot-id"],
        parent=document.get("parent-snapshot-id"),
        timestamp_ms=document["timestamp-ms"],
        operation=summary.pop("operation", ""),
        summary=summary,
        schema_id=document.get("schema-id", 0),
    )


def _partition_columns(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    names = {field["id"]: field["name"] for field in schema.get("fields", ())}
    for spec in document.get("partition-specs", ()):
        if spec["spec-id"] == document.get("default-spec-id", 0):
            for field in spec["fields"]:
                if field["transform"] == "identity" and field.get("source-id") in names:
                    yield names[field["source-id"]]
