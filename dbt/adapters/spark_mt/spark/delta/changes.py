"""Changes of a Delta table's rows between two versions.

The log names the data files that were added and removed; rows are read from these files only. A
range in which files were only added is read as it is. Of files that stay, and in which commits
marked rows as removed, these rows are read. Otherwise the rows of the files are compared before and
after, as bags. A table that was rebuilt with the same rows therefore has no
change.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from dbt.adapters.spark_mt.definition.columns import quote, quote_text
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, ChangeExtent, ChangeKind
from dbt.adapters.spark_mt.query.bags import with_weights
from dbt.adapters.spark_mt.query.relation_states import WEIGHT
from dbt.adapters.spark_mt.spark.delta.driver_views import marked_rows
from dbt.adapters.spark_mt.spark.delta.schemas import (
    changed_types,
    has_moved_columns,
    maps_names,
)
from dbt.adapters.spark_mt.spark.formats.delta import DELETION_VECTORS, as_of
from dbt.adapters.spark_mt.spark.query import version_rows
from dbt.adapters.spark_mt.spark.query.query_relations import has_rows
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors, unlogged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.table_format import VersionRange
    from dbt.adapters.spark_mt.spark.delta.commits import FileAction
    from dbt.adapters.spark_mt.spark.delta.log import DeltaLog


_FILE_METADATA = "_metadata"
_CHANGE_FEED = "delta.enableChangeDataFeed"
_UNIQUE_NAME = re.compile(
    r"^(?:part|cdc)-\d+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[-.\w]*\.parquet$"
)
"""Names that Delta itself gives hold a random number, so that no two files share one."""

MOST_FILES = 5000
"""Up to how many files are named in a query."""


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What happened to the files of a table in a range of versions.

    Args:
        added: Names of files that brought rows, by the version at which they can be read: the last
            of the range, or an earlier one for files that were rewritten since.
        touched: Names of all files that came or went.
        removes_rows: Whether rows left the table, as far as the files show.
        removing: The versions whose commits removed files with rows.
        named: Whether the names distinguish the files, and are few enough for a query.
        marks_rows: Whether commits marked rows of files as removed, or no longer so, and no file
            came and went as a whole: read commit by commit, no row is then read twice.
    """

    added: Mapping[int, tuple[str, ...]]
    touched: tuple[str, ...]
    removes_rows: bool
    named: bool
    removing: tuple[int, ...] = ()
    marks_rows: bool = False

    @property
    def files_to_read(self) -> tuple[str, ...] | None:
        """Names of the files that a query for the changes reads; None for all."""
        return self.touched if self.named else None


_UNKNOWN = FileChanges({}, (), removes_rows=True, named=False)
"""What is assumed of a range where files do not show which rows changed.

That is one with a commit that is no longer in the log, or in which a column got another place in
the files: it was renamed, or dropped and added again.
"""


def properties_of(session: SparkSession, name: TableName) -> Mapping[str, str]:
    """Return the properties that a table has now."""
    found = session.sql(f"SHOW TBLPROPERTIES {name.sql}").collect()
    return {str(row["key"]): str(row["value"]) for row in found}


def feeds_changes(properties: Mapping[str, str]) -> bool:
    """Whether commits of a table with these properties record the rows that they change."""
    return properties.get(_CHANGE_FEED, "").lower() == "true"


def marks_rows(properties: Mapping[str, str]) -> bool:
    """Whether a table with these properties has deletion vectors."""
    return properties.get(DELETION_VECTORS, "").lower() == "true"


class RangeReader:
    """Reader of ranges, in a private session, in which versions of any age can be read."""

    def __init__(self, spark: SparkSession, log: DeltaLog) -> None:
        self._spark = spark
        self._log = log
        self._versions = version_rows.VersionRows(
            spark, lambda table, version: as_of(table.name, version), log.keeps_columns
        )
        self._found: dict[tuple[TableRef, int, int], FileChanges | None] = {}

    def changed_types(self, range_: VersionRange) -> tuple[str, ...]:
        """As `TableChanges.changed_types`; the log has the schemas of both versions."""
        if range_.is_empty or range_.after == BEFORE_ALL or self._versions.keeps_columns(range_):
            return ()
        after, upto = range_.after.version, range_.upto.version
        now = self._log.table_schema(range_.table, upto, after=after)
        if not now:
            return ()  # only the protocol changed
        before = self._log.table_schema(range_.table, after)
        if not before:  # the log was cleaned up to a checkpoint
            if maps_names(now):
                return ("the names of columns in the data files are not known",)
            before = self._versions.schema(range_, after).json()
        return changed_types(before, now, range_.columns)

    def kind(self, range_: VersionRange, *, net: bool) -> ChangeKind:
        """As `TableChanges.kind`.

        Columns of types that Spark cannot compare (maps) count as changed with their file.
        """
        if range_.is_empty or range_.after == BEFORE_ALL:
            return ChangeKind.NONE if range_.is_empty else ChangeKind.ADDED
        changes = self._files(range_)
        with suppress_spark_errors(lambda failure: failure.is_unreadable_version):
            if changes is not None:
                return self._read_kind(range_, changes, net=net)
        return ChangeKind.GONE

    def _read_kind(self, range_: VersionRange, changes: FileChanges, *, net: bool) -> ChangeKind:
        """Return what happened, by the log alone where it shows that."""
        if not net and self._counts_changed_rows(range_, changes.removing):
            return ChangeKind.REMOVED
        if changes.removes_rows or not (changes.named or self._versions.is_comparable(range_)):
            return self._compared(range_, changes)
        for version, files in changes.added.items():
            if version != range_.upto.version and changes.named:  # rewritten since: still there?
                has_rows(self._spark, self._rows(range_, version, files))
        return ChangeKind.ADDED if changes.added else ChangeKind.NONE

    def extent(self, range_: VersionRange) -> ChangeExtent:
        """Return how much happened in a range whose first position was verified.

        It costs reading the commits, and for a table of many files a job that counts its rows.
        """
        if range_.is_empty:
            return ChangeExtent(ChangeKind.NONE)
        first, last = range_.after.version + 1, range_.upto.version
        actions = self._log.file_actions(range_.table, first, last)
        if actions is None:
            return ChangeExtent(ChangeKind.GONE)
        changes = self._files(range_) or _UNKNOWN
        recorded = self._log.commits(
            (range_.table, version) for version in {a.version for a in actions}
        )
        counted = {commit.version: commit.changed for commit in recorded.values()}
        kind = ChangeKind.ADDED if changes.added else ChangeKind.NONE
        if changes.removes_rows:
            kind = ChangeKind.REMOVED
        with suppress_spark_errors(lambda failure: failure.is_unreadable_version):
            rows = self._log.rows(range_.table, last)
            if rows is None:
                query = f"SELECT count(*) FROM {as_of(range_.table.name, last)}"
                rows = int(self._spark.sql(query).collect()[0][0])
            changed = rows if changes is _UNKNOWN else changed_rows(actions, counted, rows)
            return ChangeExtent(kind, changed, rows)
        return ChangeExtent(ChangeKind.GONE)

    def added(self, range_: VersionRange) -> str:
        """Return a query for the rows that the range added."""
        if range_.is_empty:
            return f"{self._rows(range_, range_.upto.version)} WHERE false"
        if range_.after == BEFORE_ALL:
            return self._rows(range_, range_.upto.version)
        changes = self._files(range_) or _UNKNOWN
        before, after = range_.after.version, range_.upto.version
        if changes.removes_rows or not changes.named:
            return self._difference(range_, changes, after, before)
        parts = [self._rows(range_, version, files) for version, files in changes.added.items()]
        return "\nUNION ALL\n".join(parts) or f"{self._rows(range_, after)} WHERE false"

    def removed(self, range_: VersionRange) -> str | None:
        """Return a query for the rows that the range removed; None where it removed none."""
        if range_.is_empty or range_.after == BEFORE_ALL:
            return None
        changes = self._files(range_) or _UNKNOWN
        if not changes.removes_rows:
            return None
        return self._difference(range_, changes, range_.after.version, range_.upto.version)

    def weighted(self, range_: VersionRange, weight: str) -> tuple[str, ...]:
        """Return queries for the rows that the range added or removed, and how often.

        The first one reads the change data feed, if the table has one now. Delta refuses it where
        the table did not have one throughout. Without a feed, it reads the rows that commits marked
        in deletion vectors. The last one reads the files that came and went.
        """
        weight, both = quote(weight), range_.after != BEFORE_ALL and not range_.is_empty
        changes = self._files(range_) or _UNKNOWN if both else None
        if changes is None or (changes.named and not changes.removes_rows):
            return (f"SELECT *, 1L AS {weight} FROM (\n{self.added(range_)}\n)",)
        return self._both_ways(range_, changes, weight)

    def _both_ways(
        self, range_: VersionRange, changes: FileChanges, weight: str
    ) -> tuple[str, ...]:
        recorded = None if changes is _UNKNOWN else self._by_commits(range_, changes, weight)
        found = (recorded, self._of_files(range_, changes, weight))
        queries = tuple(query for query in found if query)
        if not self._versions.is_comparable(range_):
            return queries
        return tuple(self._versions.weighted(range_, rows, weight) for rows in queries)

    def _of_files(self, range_: VersionRange, changes: FileChanges, weight: str) -> str:
        files, before, after = changes.files_to_read, range_.after.version, range_.upto.version
        rows, others = (self._rows(range_, version, files) for version in (after, before))
        return with_weights(rows, others, weight)

    def _by_commits(self, range_: VersionRange, changes: FileChanges, weight: str) -> str | None:
        """Return the rows that each commit added or removed; None where only the files say that."""
        before, after = range_.after.version, range_.upto.version
        if self._versions.schema(range_, before) != self._versions.schema(range_, after):
            return None
        described = self._log.description(range_.table, after)
        name, rows = range_.table.name, ""
        if feeds_changes(described.properties if described else properties_of(self._spark, name)):
            rows = f"table_changes({quote_text(name.sql)}, {before + 1}, {after})"
        elif changes.marks_rows:
            rows = marked_rows(self._spark, range_.table, before + 1, after)
        if not rows:
            return None
        columns = self._versions.listed(range_)
        counts = "IF(_change_type IN ('insert', 'update_postimage'), 1L, -1L)"
        return f"SELECT {columns}, {counts} AS {weight} FROM {rows}"

    def _counts_changed_rows(self, range_: VersionRange, versions: Iterable[int]) -> bool:
        """Whether one of some commits reports rows that it updated or deleted."""
        found = self._log.commits((range_.table, version) for version in versions)
        return any(commit.changed for commit in found.values())

    def _compared(self, range_: VersionRange, changes: FileChanges) -> ChangeKind:
        """Return what happened by the rows that came and went, from the feed where that has them.

        A comparison of files costs more than the query of many a table.
        """
        if not self._versions.is_comparable(range_):
            return ChangeKind.REMOVED
        *feed, files = self._both_ways(range_, changes, WEIGHT)
        for rows in feed:
            with suppress_spark_errors(lambda failure: not failure.is_cancelled), unlogged():
                return self._versions.kind(rows)
        return self._versions.kind(files)

    def _difference(self, range_: VersionRange, changes: FileChanges, one: int, other: int) -> str:
        """Return the rows at one version that another lacks, each as often as it is missing.

        Where rows cannot be compared, these are all rows of the files that came or went. They are
        more than needed, and enough to find the keys that changes touch.
        """
        rows = self._rows(range_, one, changes.files_to_read)
        if not self._versions.is_comparable(range_):
            return rows
        others = self._rows(range_, other, changes.files_to_read)
        return self._versions.difference(range_, rows, others)

    def _rows(self, range_: VersionRange, version: int, files: Iterable[str] | None = None) -> str:
        if files is None:
            return self._versions.at(range_, version)
        named = f"{_FILE_METADATA}.file_name IN ({', '.join(map(quote_text, files))})"
        return self._versions.at(range_, version, named)

    def _files(self, range_: VersionRange) -> FileChanges | None:
        """Return what happened to the files; None where a commit is no longer in the log."""
        first, last = range_.after.version + 1, range_.upto.version
        key = (range_.table, first, last)
        if key not in self._found:
            actions = self._log.file_actions(range_.table, first, last)
            self._found[key] = None if actions is None else self._changed(range_, actions)
        return self._found[key]

    def _changed(self, range_: VersionRange, actions: Iterable[FileAction]) -> FileChanges:
        changes = file_changes(actions, range_.upto.version)
        if self._moves_columns(range_) or self._changes_between(range_, changes):
            return _UNKNOWN
        columns = self._log.columns(range_.table, range_.upto.version)
        if columns is None:
            columns = tuple(self._versions.schema(range_, range_.upto.version).names)
        # a column of this name hides that of Spark
        is_hidden = _FILE_METADATA in map(str.lower, columns)
        return replace(changes, named=False) if is_hidden else changes

    def _changes_between(self, range_: VersionRange, changes: FileChanges) -> bool:
        """Whether files are read at a version of a range where columns are others than at its end.

        So it is after a column was renamed and got its name back.
        """
        if self._versions.keeps_columns(range_):
            return False
        upto = range_.upto.version
        versions = [version for version in changes.added if version != upto]
        if not versions:
            return False
        now, *others = (
            self._log.table_schema(range_.table, version) for version in (upto, *versions)
        )
        known = bool(now) and all(others)
        return not known or any(changed_types(text, now, range_.columns) for text in others)

    def _moves_columns(self, range_: VersionRange) -> bool:
        """Whether a column has another name in the data files than it had, which changes rows."""
        after, upto = range_.after.version, range_.upto.version
        if range_.after == BEFORE_ALL or self._versions.keeps_columns(range_):
            return False
        now = self._log.table_schema(range_.table, upto, after=after)
        if not maps_names(now):
            return False
        before = self._log.table_schema(range_.table, after)
        return not before or has_moved_columns(before, now, range_.columns)


def file_changes(actions: Iterable[FileAction], upto: int) -> FileChanges:
    """Sum up the actions of the commits up to version `upto`."""
    brought: dict[str, int] = {}
    left: set[str] = set()
    touched: dict[str, None] = {}
    removing: set[int] = set()
    changing: dict[str, Counter[int]] = {}
    for action in sorted(actions, key=lambda a: (a.version, a.adds)):
        touched[action.path] = None
        if action.changes_rows:
            changing.setdefault(action.path, Counter())[action.version] += 1
        if not action.adds:
            left.add(action.path)
            if action.changes_rows:
                removing.add(action.version)
            continue
        left.discard(action.path)
        if action.changes_rows:
            brought[action.path] = action.version
    by_version: dict[int, list[str]] = {}
    for path, version in brought.items():
        by_version.setdefault(version if path in left else upto, []).append(_name(path))
    names = tuple(map(_name, touched))
    unique = all(map(_UNIQUE_NAME.match, names)) and len(names) <= MOST_FILES
    added = {version: tuple(files) for version, files in sorted(by_version.items())}
    rows = _marks_rows(changing.values())
    return FileChanges(added, names, bool(removing), unique, tuple(sorted(removing)), rows)


def _marks_rows(changing: Iterable[Mapping[int, int]]) -> bool:
    """Whether files stay with other marks; a commit removes such a file and adds it again.

    Args:
        changing: How many actions of each version change the rows of a file, by file.
    """
    stays = [[count > 1 for count in file.values()] for file in changing]
    return any(map(any, stays)) and all(file.count(False) <= 1 for file in stays)


def changed_rows(
    actions: Iterable[FileAction], counted: Mapping[int, int | None], whole: int
) -> int:
    """Return at most how many rows the commits of some actions added, changed and removed.

    Args:
        actions: What happened to the files.
        counted: What a commit reports itself, by version.
        whole: Counts for a commit whose files do not have their numbers of rows.
    """
    by_version: dict[int, list[int | None]] = {}
    for action in actions:
        if action.changes_rows:
            by_version.setdefault(action.version, []).append(action.rows)
    total = 0
    for version, files in by_version.items():
        own = counted.get(version)
        known = [rows for rows in files if rows is not None]
        total += own if own is not None else sum(known) if len(known) == len(files) else whole
    return total


def _name(path: str) -> str:
    return unquote(path).rpartition("/")[2]
