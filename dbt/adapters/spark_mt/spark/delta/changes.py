"""Changes of a Delta table's rows between two versions.

The log names the data files that were added and removed; rows are read from these files only. A
range in which files were only added is read as it is. Otherwise the rows of these files are
compared before and after, as bags. A table that was rebuilt with the same rows therefore has no
change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, ChangeExtent, ChangeKind
from dbt.adapters.spark_mt.spark.delta.files import FileChanges, changed_rows, file_changes
from dbt.adapters.spark_mt.spark.delta.format import FORMAT
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.types import ddl_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.table_format import VersionRange
    from dbt.adapters.spark_mt.spark.delta.log import DeltaLog


_INCOMPARABLE = frozenset({"map", "variant"})
_CHANGE_FEED = "delta.enableChangeDataFeed"


class RangeReader:
    """Reader of ranges, in a session in which versions of any age can be read.

    Args:
        spark: A private session.
        log: Reads logs.
    """

    def __init__(self, spark: SparkSession, log: DeltaLog) -> None:
        self._spark = spark
        self._log = log
        self._schemas: dict[tuple[TableName, int], StructType] = {}

    def kind(self, range_: VersionRange) -> ChangeKind:
        """Return what happened in a range whose first position was verified.

        Columns of types that Spark cannot compare (maps) count as changed with their file.
        """
        if range_.is_empty or range_.after == BEFORE_ALL:
            return ChangeKind.NONE if range_.is_empty else ChangeKind.ADDED
        changes = self._files(range_)
        if changes is None:
            return ChangeKind.GONE
        try:
            with unlogged():
                return self._read_kind(range_, changes)
        except Exception as error:
            if is_spark_error(error) and failure_of(error).is_unreadable_version:
                return ChangeKind.GONE
            raise

    def _read_kind(self, range_: VersionRange, changes: FileChanges) -> ChangeKind:
        """Return what happened, by the files alone where these show it."""
        if changes.removes_rows or not (changes.named or self._is_comparable(range_)):
            return self._compared(range_)
        for version, files in changes.added.items():
            if version != range_.upto.version and changes.named:  # rewritten since: still there?
                self._has_rows(self._rows(range_, version, files))
        return ChangeKind.ADDED if changes.added else ChangeKind.NONE

    def extent(self, range_: VersionRange) -> ChangeExtent:
        """Return how much happened in a range whose first position was verified.

        It costs reading the commits, and a count that the log of the table answers.
        """
        if range_.is_empty:
            return ChangeExtent(ChangeKind.NONE)
        first, last = range_.after.version + 1, range_.upto.version
        actions = self._log.file_actions(range_.location, first, last)
        if actions is None:
            return ChangeExtent(ChangeKind.GONE)
        changes = file_changes(actions, last)
        recorded = self._log.commits(
            (range_.location, version) for version in {a.version for a in actions}
        )
        counted = {commit.version: commit.changed for commit in recorded.values()}
        try:
            with unlogged():
                rows = self._count(FORMAT.at(range_.name.sql, last))
        except Exception as error:
            if is_spark_error(error) and failure_of(error).is_unreadable_version:
                return ChangeExtent(ChangeKind.GONE)
            raise
        kind = ChangeKind.REMOVED if changes.removes_rows else ChangeKind.NONE
        if changes.added and not changes.removes_rows:
            kind = ChangeKind.ADDED
        return ChangeExtent(kind, changed_rows(actions, counted, rows), rows)

    def _count(self, relation: str) -> int:
        return int(self._spark.sql(f"SELECT count(*) FROM {relation}").collect()[0][0])

    def added(self, range_: VersionRange) -> str:
        """Return a query for the rows that the range added, with the columns of its end."""
        if range_.is_empty:
            return f"{self._rows(range_, range_.upto.version)} WHERE false"
        if range_.after == BEFORE_ALL:
            return self._rows(range_, range_.upto.version)
        changes = self._known_files(range_)
        if changes.removes_rows or not changes.named:
            return self._difference(range_, range_.upto.version, range_.after.version)
        parts = [
            self._rows(range_, version, files) for version, files in changes.added.items()
        ] or [f"{self._rows(range_, range_.upto.version)} WHERE false"]
        return "\nUNION ALL\n".join(parts)

    def removed(self, range_: VersionRange) -> str | None:
        """Return a query for the rows that the range removed; None where it removed none."""
        if range_.is_empty or range_.after == BEFORE_ALL:
            return None
        if not self._known_files(range_).removes_rows:
            return None
        return self._difference(range_, range_.after.version, range_.upto.version)

    def weighted(self, range_: VersionRange, weight: str) -> tuple[str, ...]:
        """Return queries for the rows that the range added or removed, and how often.

        The first one reads the change data feed, if the table has one now. Delta refuses it where
        the table did not have one throughout. The last one reads the files that came and went.
        """
        weight, both = quote(weight), range_.after != BEFORE_ALL and not range_.is_empty
        changes = self._known_files(range_) if both else None
        if changes is None or (changes.named and not changes.removes_rows):
            return (f"SELECT *, 1L AS {weight} FROM (\n{self.added(range_)}\n)",)
        found = (self._recorded(range_, weight), self._of_files(range_, changes, weight))
        queries = tuple(query for query in found if query)
        if not self._is_comparable(range_):
            return queries
        columns = ", ".join(quote(f.name) for f in self._schema(range_, range_.upto.version))
        return tuple(
            f"SELECT {columns}, sum({weight}) AS {weight} FROM (\n{rows}\n) "
            f"GROUP BY {columns} HAVING sum({weight}) <> 0"
            for rows in queries
        )

    def _of_files(self, range_: VersionRange, changes: FileChanges, weight: str) -> str:
        files = changes.touched if changes.named else None
        before, after = range_.after.version, range_.upto.version
        return (
            f"SELECT *, 1L AS {weight} FROM (\n{self._rows(range_, after, files)}\n)\nUNION ALL\n"
            f"SELECT *, -1L AS {weight} FROM (\n{self._rows(range_, before, files)}\n)"
        )

    def _recorded(self, range_: VersionRange, weight: str) -> str | None:
        """Return the rows of the change data feed; None where it cannot cover the range."""
        before, after = range_.after.version, range_.upto.version
        if self._schema(range_, before) != self._schema(range_, after):
            return None
        name = range_.name.sql
        key = quote_text(_CHANGE_FEED)
        enabled = self._spark.sql(f"SHOW TBLPROPERTIES {name} ({key})").collect()
        if not enabled or str(enabled[0]["value"]).lower() != "true":
            return None
        feed = f"table_changes({quote_text(name)}, {before + 1}, {after})"
        columns = ", ".join(quote(f.name) for f in self._schema(range_, after))
        counts = "IF(_change_type IN ('insert', 'update_postimage'), 1L, -1L)"
        return f"SELECT {columns}, {counts} AS {weight} FROM {feed}"

    def _compared(self, range_: VersionRange) -> ChangeKind:
        if not self._is_comparable(range_):
            return ChangeKind.REMOVED
        before, after = range_.after.version, range_.upto.version
        if self._has_rows(self._difference(range_, before, after)):
            return ChangeKind.REMOVED
        added = self._has_rows(self._difference(range_, after, before))
        return ChangeKind.ADDED if added else ChangeKind.NONE

    def _has_rows(self, query: str) -> bool:
        return bool(self._spark.sql(f"SELECT 1 FROM (\n{query}\n) LIMIT 1").collect())

    def _difference(self, range_: VersionRange, one: int, other: int) -> str:
        """Return the rows at one version that another lacks, each as often as it is missing.

        Where rows cannot be compared, these are all rows of the files that came or went. They are
        more than needed, and enough to find the keys that changes touch.
        """
        changes = self._known_files(range_)
        files = changes.touched if changes.named else None
        rows = self._rows(range_, one, files)
        if not self._is_comparable(range_):
            return rows
        return f"{rows}\nEXCEPT ALL\n{self._rows(range_, other, files)}"

    def _rows(self, range_: VersionRange, version: int, files: Iterable[str] | None = None) -> str:
        there = {f.name.lower() for f in self._schema(range_, version)}
        columns = ", ".join(
            quote(f.name)
            if f.name.lower() in there
            else f"CAST(NULL AS {ddl_type(f.dataType)}) AS {quote(f.name)}"
            for f in self._schema(range_, range_.upto.version)
        )
        query = f"SELECT {columns} FROM {range_.name.sql} VERSION AS OF {version}"
        if files is None:
            return query
        return f"{query} WHERE _metadata.file_name IN ({', '.join(map(quote_text, files))})"

    def _is_comparable(self, range_: VersionRange) -> bool:
        schema = self._schema(range_, range_.upto.version)
        return not any(_has_incomparable(field.dataType) for field in schema)

    def _schema(self, range_: VersionRange, version: int) -> StructType:
        """Return the columns of a version, which never change; reading them costs 0.03 s."""
        key = (range_.name, version)
        if key not in self._schemas:
            query = f"SELECT * FROM {FORMAT.at(range_.name.sql, version)}"
            self._schemas[key] = self._spark.sql(query).schema
        return self._schemas[key]

    def _known_files(self, range_: VersionRange) -> FileChanges:
        changes = self._files(range_)
        if changes is None:
            return FileChanges({}, (), removes_rows=True, named=False)
        return changes

    def _files(self, range_: VersionRange) -> FileChanges | None:
        """Return what happened to the files; None where a commit is no longer in the log."""
        first, last = range_.after.version + 1, range_.upto.version
        actions = self._log.file_actions(range_.location, first, last)
        return None if actions is None else file_changes(actions, last)


def _has_incomparable(type_: DataType) -> bool:
    if type_.typeName() in _INCOMPARABLE:
        return True
    if type_.typeName() == "array":
        return _has_incomparable(type_.elementType)  # type: ignore[attr-defined]
    if type_.typeName() == "struct":
        return any(_has_incomparable(f.dataType) for f in type_.fields)  # type: ignore[attr-defined]
    return False
