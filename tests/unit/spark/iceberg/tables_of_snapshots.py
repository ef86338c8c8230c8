"""Metadata documents of Iceberg tables, as tests describe them."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, VersionedPosition
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.execution.table_format import VersionRange
from dbt.adapters.spark_mt.spark.iceberg.history import IcebergHistory
from dbt.adapters.spark_mt.spark.iceberg.metadata import parse

TABLE = TableRef(TableName("t", "s", "ice"), "iceberg", "/t")
UUID = "8d4d"
NO_DELETES = dict.fromkeys(
    ("total-delete-files", "total-position-deletes", "total-equality-deletes"), "0"
)
APPEND = {"operation": "append", "added-data-files": "1", "added-records": "10"}
NOTHING = {"operation": "append"}
REWRITE = {
    "operation": "overwrite",
    "added-data-files": "1",
    "deleted-data-files": "1",
    "added-records": "10",
    "deleted-records": "10",
}
COMPACTION = {**REWRITE, "operation": "replace"}
DELETE = {"operation": "delete", "deleted-data-files": "1", "deleted-records": "10"}
MARKS = {
    "operation": "overwrite",
    "added-delete-files": "1",
    "added-position-deletes": "1",
    "total-delete-files": "1",
    "total-position-deletes": "1",
    "total-records": "100",
}
SCHEMA = {
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "int"},
        {"id": 2, "name": "K", "required": False, "type": "string"},
    ],
}


def snapshot(number, summary=None, parent=None, schema=0):
    """A snapshot whose id is ten times its number, committed at its number of seconds."""
    counted = {**NO_DELETES, "total-records": "100", **(summary or APPEND)}
    above = number - 1 if parent is None else parent
    found = {
        "sequence-number": number,
        "snapshot-id": number * 10,
        "timestamp-ms": number * 1000,
        "summary": counted,
        "schema-id": schema,
    }
    return {**found, "parent-snapshot-id": above * 10} if above else found


def document(*snapshots, head=None, moves=None, **more):
    """The document of a table; `main` moved to each snapshot in turn, by default."""
    ids = [each["snapshot-id"] for each in snapshots]
    log = moves or [(each["timestamp-ms"], each["snapshot-id"]) for each in snapshots]
    return {
        "format-version": 2,
        "table-uuid": UUID,
        "location": "/t",
        "last-updated-ms": 500,
        "current-schema-id": 0,
        "schemas": [SCHEMA],
        "current-snapshot-id": (ids[-1] if ids else -1) if head is None else head * 10,
        "snapshots": list(snapshots),
        "snapshot-log": [{"timestamp-ms": at, "snapshot-id": id_} for at, id_ in log],
        **more,
    }


def metadata(*snapshots, **more):
    """The metadata of a table with these snapshots."""
    return parse(document(*snapshots, **more))


class Reader:
    """Metadata that a test sets."""

    def __init__(self, found):
        self.found = found

    def read(self, name):
        return self.found if name == TABLE.name else None


def history(*snapshots, **more):
    """The history of a table with these snapshots."""
    return IcebergHistory(Reader(metadata(*snapshots, **more)))


def position(number):
    """The position of a version."""
    if number < 0:
        return BEFORE_ALL
    return VersionedPosition(number, str(number * 10) if number else UUID)


def between(after, upto, columns=None):
    """The range from one version to another."""
    return VersionRange(TABLE, position(after), position(upto), columns)
