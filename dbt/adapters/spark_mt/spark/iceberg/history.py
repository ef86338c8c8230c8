"""History of Iceberg tables: snapshots of the branch `main` as commits with versions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import commit_metadata
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.execution.table_format import FENCE, TableDescription
from dbt.adapters.spark_mt.execution.table_history import Commit
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg.metadata import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.spark.iceberg.metadata import (
        MetadataReader,
        Snapshot,
        TableMetadata,
    )

_CREATION = "create"
_HIDDEN = frozenset({"comment", "external", "location", "owner", "provider"})
"""Properties that Spark shows in other places."""
_MOVE = "set the current snapshot"
"""What `rollback_to_snapshot`, `set_current_snapshot` and CREATE OR REPLACE do to `main`."""


class IcebergHistory:
    """Implementation of `execution.table_format.TableHistory`.

    Version 0 is the table before its first snapshot. A rollback leads to a version with a lower
    number, and makes no commit. Questions about the newest version ask the catalog. Those about a
    version that was found are answered by what was read then: no version ever changes.
    """

    def __init__(self, reader: MetadataReader) -> None:
        self._reader = reader
        self._read: dict[TableName, TableMetadata] = {}

    def metadata(self, table: TableRef) -> TableMetadata | None:
        """Return the metadata of a table as it is now; None without a table."""
        found = self._reader.read(table.name)
        if found is None:
            self._read.pop(table.name, None)
        else:
            self._read[table.name] = found
        return found

    def holding(self, table: TableRef, *versions: int) -> TableMetadata | None:
        """Return metadata of a table that has some versions, the newest where none is known."""
        known = self._read.get(table.name)
        if known is not None and all(map(known.holds, versions)):
            return known
        return self.metadata(table)

    def is_there(self, table: TableRef) -> bool:
        return self.metadata(table) is not None

    def newest(self, table: TableRef) -> int:
        found = self.metadata(table)
        return -1 if found is None else found.newest

    def is_newest(self, table: TableRef, version: int) -> bool:
        return version >= EMPTY and self.newest(table) == version

    def oldest(self, table: TableRef) -> Commit | None:
        *_, last = (None, *self.backwards(table))
        return last

    def at(self, table: TableRef, instant_ms: int) -> int | None:
        found = self.metadata(table)
        if found is None:
            return None
        before = [id_ for at, id_ in found.moves if at < instant_ms and id_ in found.snapshots]
        if before:
            return found.snapshots[before[-1]].number
        is_whole = not found.moves or _is_first(found, found.moves[0][1])
        return EMPTY if is_whole else None

    def commit(self, table: TableRef, version: int) -> Commit | None:
        found = self.holding(table, version)
        return None if found is None else commit_at(found, version)

    def commits(self, wanted: Iterable[tuple[TableRef, int]]) -> dict[tuple[TableRef, int], Commit]:
        found = {key: self.commit(*key) for key in wanted}
        return {key: commit for key, commit in found.items() if commit is not None}

    def backwards(self, table: TableRef, newest: int | None = None) -> Iterator[Commit]:
        found = self.metadata(table) if newest is None else self.holding(table, newest)
        if found is None:
            return
        last, begin = None, found.head if newest is None else found.at(newest)
        for last in found.ancestry(begin):
            commit = _commit(found, last)
            yield replace(commit, fence=highest_number(found)) if last is found.head else commit
        if last is None or (last.parent is None and last.number > EMPTY):
            yield _creation(found)

    def stamp(self, table: TableRef, version: int) -> str:
        found = self.holding(table, version)
        return "" if found is None or version < EMPTY else found.identity(version)

    def first_row_change(self, table: TableRef, after: int, upto: int) -> Commit | None:
        found = self.holding(table, after, upto)
        if found is None or after == upto:
            return None
        path = found.path(after, upto)
        if path is None:
            return _move(found, after, upto)
        return next((_commit(found, each) for each in path if each.changes_rows), None)

    def keeps_columns(self, table: TableRef, after: int, upto: int) -> bool:
        """As `TableHistory.keeps_columns`; a schema is another one when a column is another one."""
        found = self.holding(table, after, upto)
        if found is None or not (found.holds(after) and found.holds(upto)):
            return False
        return found.schema(after) == found.schema(upto)

    def description(self, table: TableRef, version: int) -> TableDescription | None:
        found = self.metadata(table)
        if found is None or found.newest != version:
            return None
        return TableDescription(found.properties.get("comment", ""), shown_properties(found))

    def size(self, table: TableRef, version: int) -> tuple[int, int] | None:
        found = self.holding(table, version)
        snapshot = None if found is None else found.at(version)
        if snapshot is None:
            return None
        files = sum(map(snapshot.count, ("total-data-files", "total-delete-files")))
        return files, snapshot.count("total-files-size")


def commit_of(snapshot: Snapshot) -> commit_metadata.CommitMetadata | None:
    """Return our metadata of a snapshot; None where it has none that can be read."""
    return _metadata(snapshot)[0]


def down_to_ours(metadata: TableMetadata) -> int:
    """Return how many snapshots there are from the newest one down to the newest one of ours.

    That one has the positions of the table. One snapshot counts where none is ours.
    """
    line = list(metadata.ancestry(metadata.head))
    ours = (place for place, each in enumerate(line, 1) if iceberg_format.COMMIT in each.summary)
    return next(ours, 1)


def shown_properties(metadata: TableMetadata) -> dict[str, str]:
    """Return the properties of a table as Spark shows them."""
    known = {k: v for k, v in metadata.properties.items() if k not in _HIDDEN}
    head = "none" if metadata.head is None else str(metadata.head.id)
    file_format = metadata.properties.get("write.format.default", "parquet")
    return {
        **known,
        "current-snapshot-id": head,
        "format": f"iceberg/{file_format}",
        "format-version": str(metadata.format_version),
    }


def commit_at(metadata: TableMetadata, version: int) -> Commit | None:
    """Return the commit of a version; None where the table does not have it."""
    if (snapshot := metadata.at(version)) is not None:
        return _commit(metadata, snapshot)
    return _creation(metadata) if version == EMPTY else None


def _commit(metadata: TableMetadata, snapshot: Snapshot) -> Commit:
    before = None if snapshot.parent is None else metadata.snapshots.get(snapshot.parent)
    is_gone = snapshot.parent is not None and before is None
    # The number of a snapshot that has expired is not known, and was lower.
    previous = snapshot.number - 1 if is_gone else before.number if before else EMPTY
    added = snapshot.summary.get("added-records")
    metadata_of_it, problem = _metadata(snapshot)
    return Commit(
        version=snapshot.number,
        previous=previous,
        timestamp_ms=snapshot.timestamp_ms,
        operation=snapshot.operation,
        metadata=metadata_of_it,
        rows=None if added is None else int(added),
        identity=str(snapshot.id),
        problem=problem,
        effect=CommitEffect.ROWS if snapshot.changes_rows else CommitEffect.NO_ROWS,
    )


def _metadata(snapshot: Snapshot) -> tuple[commit_metadata.CommitMetadata | None, str]:
    """Return our metadata of a snapshot, or why it cannot be read."""
    try:
        return commit_metadata.decode_commit(snapshot.summary.get(iceberg_format.COMMIT)), ""
    except commit_metadata.UnreadableMetadataError as error:
        return None, str(error)


def highest_number(metadata: TableMetadata, fence: str = FENCE) -> int:
    """Return the highest number that a fence of a table has accepted; 0 for none.

    It is a property. Where that is gone, or before the second commit, the snapshots have it to
    which `main` led, also those before a rollback.
    """
    known = metadata.properties.get(iceberg_format.fence_property(fence), "")
    numbers = [int(known)] if known.isdigit() else [0]
    if fence == FENCE:
        ids = {id_ for _, id_ in metadata.moves} | {s.id for s in metadata.ancestry(metadata.head)}
        found = (_metadata(metadata.snapshots[id_])[0] for id_ in ids & metadata.snapshots.keys())
        numbers += [each.seq for each in found if each is not None]
    return max(numbers)


def _creation(metadata: TableMetadata) -> Commit:
    return Commit(
        version=EMPTY,
        previous=-1,
        timestamp_ms=metadata.created_ms,
        operation=_CREATION,
        metadata=None,
        rows=0,
        identity=metadata.uuid,
        effect=CommitEffect.NO_ROWS,
    )


def _move(metadata: TableMetadata, after: int, upto: int) -> Commit | None:
    """Return the move of `main` away from a version, as a commit of the version that it led to."""
    begin, end = metadata.at(after), metadata.at(upto)
    left = [at for at, (_, id_) in enumerate(metadata.moves) if begin and id_ == begin.id]
    later = metadata.moves[left[-1] + 1 :] if left else ()
    moved_ms = later[0][0] if later else end.timestamp_ms if end else metadata.created_ms
    return Commit(
        version=upto,
        previous=after,
        timestamp_ms=moved_ms,
        operation=_MOVE,
        metadata=None,
        rows=None,
        identity=metadata.identity(upto),
        effect=CommitEffect.RESTORE,
    )


def _is_first(metadata: TableMetadata, id_: int) -> bool:
    """Whether a snapshot exists, and was the first one of its table."""
    found = metadata.snapshots.get(id_)
    return found is not None and found.parent is None and found.number > EMPTY
