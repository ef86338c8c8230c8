"""Changes of an Iceberg table's rows between two versions.

The operations of the snapshots in between decide. Where these only appended files, the incremental
read has the rows. Where files were rewritten, the table `changes` has the rows of these files.
Iceberg does not read it for tables with delete files: then all rows of both versions are compared.
So are those of versions between which `main` was rolled back or replaced.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, ChangeExtent, ChangeKind
from dbt.adapters.spark_mt.query.bags import with_weights
from dbt.adapters.spark_mt.query.relation_states import WEIGHT
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg.metadata import EMPTY
from dbt.adapters.spark_mt.spark.query import version_rows
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors, unlogged

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.table_format import VersionRange
    from dbt.adapters.spark_mt.spark.iceberg.history import IcebergHistory
    from dbt.adapters.spark_mt.spark.iceberg.metadata import Snapshot, TableMetadata


_NOT_OF_TYPES = frozenset({"required", "doc", "initial-default", "write-default"})


@dataclass(frozen=True, slots=True)
class SnapshotChanges:
    """What the snapshots of a range of versions say of its changes.

    Args:
        metadata: The table.
        after: The snapshot after which changes count; None for the beginning of the table.
        path: The snapshots of the range, the oldest first; None where the one version does not lead
            to the other.
    """

    metadata: TableMetadata
    after: Snapshot | None
    path: tuple[Snapshot, ...] | None

    @property
    def adds_only(self) -> bool:
        """Whether it is known that no row left the table."""
        return self.path is not None and all(each.adds_only for each in self.path)

    @property
    def adds_rows(self) -> bool:
        """Whether a snapshot changes rows."""
        return any(each.changes_rows for each in self.path or ())

    @property
    def removes_rows(self) -> bool:
        """Whether a snapshot counts rows that it removed, rather than files that it rewrote."""
        deleting = (each for each in self.path or () if each.changes_rows)
        return any(each.marks_rows or each.operation == "delete" for each in deleting)

    @property
    def has_deletes(self) -> bool:
        """Whether the table has delete files: then Iceberg reads no rows of rewritten files."""
        return any(each.has_deletes for each in self._snapshots)

    @property
    def keeps_columns(self) -> bool:
        """Whether all snapshots have the columns that the table has now."""
        return all(each.schema_id == self.metadata.schema_id for each in self._snapshots)

    @property
    def _snapshots(self) -> tuple[Snapshot, ...]:
        """The snapshots of the range, and the one before it."""
        return (*(self.path or ()), *((self.after,) if self.after else ()))


class RangeReader:
    """Reader of ranges, in a private session.

    Args:
        spark: The session.
        history: Reads the metadata of tables.
        as_of: Returns what a query reads for a table at a version.
    """

    def __init__(
        self,
        spark: SparkSession,
        history: IcebergHistory,
        as_of: Callable[[TableRef, int], str],
    ) -> None:
        self._spark = spark
        self._history = history
        self._versions = version_rows.VersionRows(spark, as_of, history.keeps_columns)

    def changed_types(self, range_: VersionRange) -> tuple[str, ...]:
        """As `TableChanges.changed_types`, by the ids of columns."""
        found = self._changes(range_)
        if range_.is_empty or range_.after == BEFORE_ALL or found is None:
            return ()
        before, now = (
            found.metadata.schema(position.version) for position in (range_.after, range_.upto)
        )
        return changed_types(before, now, range_.columns)

    def kind(self, range_: VersionRange, *, net: bool) -> ChangeKind:
        if range_.is_empty or range_.after == BEFORE_ALL:
            return ChangeKind.NONE if range_.is_empty else ChangeKind.ADDED
        found = self._changes(range_)
        if found is not None and found.adds_only:
            return ChangeKind.ADDED if found.adds_rows else ChangeKind.NONE
        counts = found is not None and found.removes_rows and not net
        if counts or (found is not None and not self._versions.is_comparable(range_)):
            return ChangeKind.REMOVED
        return ChangeKind.GONE if found is None else self._compared(range_, found)

    def extent(self, range_: VersionRange) -> ChangeExtent:
        """As `TableChanges.extent`; snapshots count the rows of the files that they rewrote."""
        if range_.is_empty:
            return ChangeExtent(ChangeKind.NONE)
        found = self._changes(range_)
        return ChangeExtent(ChangeKind.GONE) if found is None else _extent(range_, found)

    def added(self, range_: VersionRange) -> str:
        """Return a query for the rows that the range added."""
        after, upto = range_.after.version, range_.upto.version
        found = None if range_.is_empty else self._changes(range_)
        if range_.is_empty or (found is not None and found.adds_only and not found.adds_rows):
            return self._versions.at(range_, upto, "false")
        if after <= EMPTY or found is None:
            return self._versions.at(range_, upto)
        # The incremental read skips what is no append, and has the columns that the table has now.
        if found.adds_only and found.keeps_columns:
            return f"SELECT {self._versions.listed(range_)} FROM {_between(range_)}"
        return self._difference(range_, upto, after)

    def removed(self, range_: VersionRange) -> str | None:
        """Return a query for the rows that the range removed; None where it removed none."""
        after, upto = range_.after.version, range_.upto.version
        if range_.is_empty or after <= EMPTY:
            return None
        found = self._changes(range_)
        if found is not None and found.adds_only:
            return None
        return self._difference(range_, after, upto)

    def weighted(self, range_: VersionRange, weight: str) -> tuple[str, ...]:
        """Return queries for the rows that the range added or removed, and how often.

        The first one reads the rows of rewritten files, where Iceberg can.
        """
        found, weight = self._changes(range_), quote(weight)
        if found is None or found.adds_only or range_.is_empty or range_.after.version <= EMPTY:
            return (f"SELECT *, 1L AS {weight} FROM (\n{self.added(range_)}\n)",)
        return self._all_ways(range_, found, weight)

    def _compared(self, range_: VersionRange, found: SnapshotChanges) -> ChangeKind:
        """Return what the rows say; an error that is no missing file is one of the last way."""
        *rewritten, versions = self._all_ways(range_, found, WEIGHT)
        for rows in rewritten:
            with suppress_spark_errors(lambda failure: not failure.is_cancelled), unlogged():
                return self._versions.kind(rows)
        with suppress_spark_errors(lambda failure: failure.is_unreadable_version):
            return self._versions.kind(versions)
        return ChangeKind.GONE

    def _all_ways(
        self, range_: VersionRange, found: SnapshotChanges, weight: str
    ) -> tuple[str, ...]:
        upto, after = (
            self._versions.at(range_, position.version) for position in (range_.upto, range_.after)
        )
        queries = [with_weights(upto, after, weight)]
        if found.path is not None and not found.has_deletes and found.keeps_columns:
            counts = f"IF(_change_type = 'INSERT', 1L, -1L) AS {weight}"
            changes = _between(range_, "changes")
            queries.insert(0, f"SELECT {self._versions.listed(range_)}, {counts} FROM {changes}")
        if not self._versions.is_comparable(range_):
            return tuple(queries)
        return tuple(self._versions.weighted(range_, rows, weight) for rows in queries)

    def _difference(self, range_: VersionRange, one: int, other: int) -> str:
        """Return the rows at one version that another lacks, each as often as it is missing.

        Where rows cannot be compared, these are all rows of the one version. They are more than
        needed, and enough to find the keys that changes touch.
        """
        rows = self._versions.at(range_, one)
        if not self._versions.is_comparable(range_):
            return rows
        return self._versions.difference(range_, rows, self._versions.at(range_, other))

    def _changes(self, range_: VersionRange) -> SnapshotChanges | None:
        """Return what the snapshots of a range say; None where one of its versions has expired."""
        after, upto = range_.after, range_.upto
        versions = (max(after.version, EMPTY), upto.version)
        metadata = self._history.holding(range_.table, *versions)
        if metadata is None or not metadata.holds(upto.version):
            return None
        if after != BEFORE_ALL and not metadata.holds(after.version):
            return None
        path = metadata.path(after.version, upto.version)
        return SnapshotChanges(metadata, metadata.at(after.version), path)


def _between(range_: VersionRange, metadata_table: str = "") -> str:
    """Return what a query reads for the snapshots of a range: what they appended, or changed."""
    name = f"{range_.table.name.sql}.{metadata_table}" if metadata_table else range_.table.name.sql
    return (
        f"{name} WITH ('start-snapshot-id' = '{range_.after.identity}', "
        f"'end-snapshot-id' = '{range_.upto.identity}')"
    )


def _extent(range_: VersionRange, found: SnapshotChanges) -> ChangeExtent:
    before, rows = (
        _rows(found.metadata, max(position.version, EMPTY))
        for position in (range_.after, range_.upto)
    )
    if range_.after == BEFORE_ALL:
        return ChangeExtent(ChangeKind.ADDED, rows, rows)
    if found.path is None:
        return ChangeExtent(ChangeKind.REMOVED, before + rows, rows)
    changed = sum(each.changed for each in found.path)
    if found.adds_only:
        kind = ChangeKind.ADDED if found.adds_rows else ChangeKind.NONE
        return ChangeExtent(kind, changed, rows)
    compared = iceberg_format.COPY_ON_WRITE if found.has_deletes else ""
    return ChangeExtent(ChangeKind.REMOVED, changed, rows, compared)


def _rows(metadata: TableMetadata, version: int) -> int:
    snapshot = metadata.at(version)
    return 0 if snapshot is None else snapshot.rows


def changed_types(
    before: Mapping[str, Any], now: Mapping[str, Any], columns: Collection[str] | None
) -> tuple[str, ...]:
    """Return which columns are others in one schema than in another.

    Args:
        before: The document of the one schema.
        now: The document of the other one.
        columns: The names of the columns that count, in lower case; None for all.
    """
    old, new = _fields(before), _fields(now)
    names = {**old, **new} if columns is None else columns
    return tuple(
        f"{name} was {_shown(old.get(name))} and is {_shown(new.get(name))}"
        for name in sorted(names)
        if old.get(name) != new.get(name)
    )


def _fields(schema: Mapping[str, Any]) -> dict[str, tuple[int, Any]]:
    return {f["name"].lower(): (f["id"], _type(f["type"])) for f in schema["fields"]}


def _type(document: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the document of a type without what does not change the values of rows."""
    if isinstance(document, dict):
        return {k: _type(v) for k, v in document.items() if k not in _NOT_OF_TYPES}
    return [_type(each) for each in document] if isinstance(document, list) else document


def _shown(field: tuple[int, Any] | None) -> str:
    if field is None:
        return "not there"
    id_, type_ = field
    return f"{type_ if isinstance(type_, str) else json.dumps(type_)} (column {id_})"
