"""Delta log: commits and data files of a range of versions, read at little cost.

`DESCRIBE HISTORY` costs 0.3 s and more. A job of the public DataFrame API reads the `commitInfo`
lines of a few commits in 0.1 s. In the driver's process a commit costs 0.002 s.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.definition.table_format import CommitEffect
from dbt.adapters.spark_mt.execution.table_history import Commit
from dbt.adapters.spark_mt.spark.delta import commits as commit_files
from dbt.adapters.spark_mt.spark.session.driver_files import escaped
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.execution.table_format import TableDescription
    from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles


_COMMIT_FILE = re.compile(r"/(\d{20})\.json\b(?!\.)", re.ASCII)
_COMMIT_NAMES = "?" * 20 + ".json"
"""Not those of compacted logs and of checkpoints, which say the same again."""
_AT_ONCE = 30
"""Of more than 32 paths Spark's listing is a job with a task for each."""
_FIRST_STEP = 10
"""How many commits are read at first on the way back: most often the newest one is enough."""
_PROBES = 15
"""How many commits are looked at in one job, in search of an instant."""
_COMMITS_WITH_ID = 10
"""In how many of the newest commits a table's metadata is looked for."""


class DeltaLog:
    """Logs of tables by their paths, read by jobs of Spark: from anywhere."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def versions(self, table: TableRef) -> list[int]:
        """Return the versions whose commit files exist, oldest first; none without a log.

        The one question whose cost grows with the log.
        """
        with suppress_spark_errors(lambda failure: failure.is_missing_table):
            return versions_in("\n".join(self._directory(table).inputFiles()))
        return []

    def is_there(self, table: TableRef) -> bool:
        """Whether a table has a log."""
        return self.newest(table) >= 0

    def newest(self, table: TableRef) -> int:
        """Return the newest version of a table; -1 where there is no log."""
        return max(self.versions(table), default=-1)

    def is_newest(self, table: TableRef, version: int) -> bool:
        return version >= 0 and self.newest(table) == version

    def commit(self, table: TableRef, version: int) -> Commit | None:
        """Return one commit, or None where the log does not hold it."""
        held = self._holds(table, version, version)
        return self.commits([(table, version)]).get((table, version)) if held else None

    def commits(self, wanted: Iterable[tuple[TableRef, int]]) -> dict[tuple[TableRef, int], Commit]:
        """Return commits, read in one job; without those that are gone."""
        keys = {commit_file(table, version): (table, version) for table, version in wanted}
        with suppress_spark_errors(lambda failure: failure.is_missing_table):
            return self._commits(keys)
        return self._commits({path: key for path, key in keys.items() if self._holds(*key, key[1])})

    def _commits(
        self, keys: Mapping[str, tuple[TableRef, int]]
    ) -> dict[tuple[TableRef, int], Commit]:
        if not keys:
            return {}
        lines = (
            self._spark.read.text([escaped(path) for path in keys])
            .where(_starts_with(commit_files.COMMIT_INFO))
            .select("value", "_metadata.file_path")
            .collect()
        )
        by_tail = {_tail(path): key for path, key in keys.items()}
        found = ((by_tail.get(_tail(unquote(path))), line) for line, path in lines)
        return {
            key: commit_files.parse_commit(key[1], line) for key, line in found if key is not None
        }

    def oldest(self, table: TableRef) -> Commit | None:
        first = next(iter(self.versions(table)), None)
        return None if first is None else self.commit(table, first)

    def at(self, table: TableRef, instant_ms: int) -> int | None:
        versions = self.versions(table)
        first, end = 0, len(versions)
        while first < end:
            probes = range(first, end, max(1, (end - first) // _PROBES))
            times = self._commit_times(table, (versions[at] for at in probes))
            late = [at for at in probes if times[versions[at]] >= instant_ms]
            early = [at for at in probes if times[versions[at]] < instant_ms]
            first = early[-1] + 1 if early else first
            end = late[0] if late else end
        return versions[first - 1] if first else None

    def _commit_times(self, table: TableRef, versions: Iterable[int]) -> dict[int, int]:
        """Return when commits were made, as DESCRIBE HISTORY and TIMESTAMP AS OF show it.

        That is the time of the commit's file, unless the table has its times in its commits.

        Returns:
            Milliseconds since the epoch, UTC, by version.
        """
        paths = [escaped(commit_file(table, version)) for version in versions]
        lines = (
            self._spark.read.text(paths)
            .where(_starts_with(commit_files.COMMIT_INFO))
            .selectExpr(
                "_metadata.file_name",
                "coalesce(CAST(get_json_object(value, '$.commitInfo.inCommitTimestamp') AS BIGINT),"
                " unix_millis(_metadata.file_modification_time))",
            )
        )
        return {int(name.partition(".")[0]): int(at) for name, at in lines.collect()}

    def file_actions(
        self, table: TableRef, first: int, last: int
    ) -> list[commit_files.FileAction] | None:
        """Return which files came and went from version `first` to `last`, in no order.

        Returns:
            None where the log no longer holds one of these versions.
        """
        if not self._holds(table, first, last):
            return None
        lines = (
            self._between(table, first, last)
            .where(f"{_starts_with(commit_files.ADD)} OR {_starts_with(commit_files.REMOVE)}")
            .selectExpr(
                "*", f"{_starts_with(commit_files.ADD)} AS adds", "_metadata.file_name AS name"
            )
            .selectExpr(
                "name",
                "adds",
                "get_json_object(value, IF(adds, '$.add.path', '$.remove.path'))",
                "get_json_object(value, IF(adds, '$.add.dataChange', '$.remove.dataChange'))",
                "CAST(get_json_object(get_json_object(value, "
                "IF(adds, '$.add.stats', '$.remove.stats')), '$.numRecords') AS BIGINT)",
            )
        )
        return [
            commit_files.FileAction(
                int(name.partition(".")[0]), path, adds, changes != "false", rows
            )
            for name, adds, path, changes, rows in lines.collect()
        ]

    def table_schema(self, table: TableRef, version: int, *, after: int | None = None) -> str:
        """Return the columns of a version as JSON; empty where no commit after another has them."""
        first = min(self.versions(table), default=version) if after is None else after + 1
        return str(self._description(table, first, version).get("schemaString", ""))

    def _description(self, table: TableRef, first: int, last: int) -> dict[str, Any]:
        """Return the newest `metaData` of some commits; nothing where none has it."""
        if first > last:
            return {}
        lines = self._between(table, first, last).where(_starts_with(commit_files.METADATA))
        found = lines.orderBy("_metadata.file_path", ascending=False).limit(1).collect()
        return dict(json.loads(found[0]["value"])["metaData"]) if found else {}

    def description(self, table: TableRef, version: int) -> TableDescription | None:  # noqa: ARG002 - a job
        return None

    def columns(self, table: TableRef, version: int) -> tuple[str, ...] | None:  # noqa: ARG002 - a job
        """Return the names of a version's columns; None where only Spark has them."""
        return None

    def size(self, table: TableRef, version: int) -> tuple[int, int] | None:  # noqa: ARG002 - a job
        return None

    def rows(self, table: TableRef, version: int) -> int | None:  # noqa: ARG002 - a job
        """Return how many rows a table has at a version; None where only a job could count them."""
        return None

    def table_id(self, table: TableRef) -> str:
        """Return Delta's identity of the table, empty where the commits no longer have it."""
        newest = self.newest(table)
        if newest < 0:
            return ""
        first = max(0, newest - _COMMITS_WITH_ID + 1)
        first = first if self._holds(table, first, newest) else newest
        return str(self._description(table, first, newest).get("id", ""))

    def stamp(self, table: TableRef, version: int) -> str:
        """Return what differs when another table's commit has a version; empty where none has."""
        commit = self.commit(table, version)
        return commit.identity if commit else ""

    def first_row_change(self, table: TableRef, after: int, upto: int) -> Commit | None:
        """As `TableHistory.first_row_change`.

        A commit changes rows if it adds or removes a file and does not say that no data changes.
        """
        if after >= upto:
            return None
        lines = (
            self._between(table, after + 1, upto)
            .where(f"{_starts_with(commit_files.ADD)} OR {_starts_with(commit_files.REMOVE)}")
            .where(
                "coalesce(get_json_object(value, '$.add.dataChange'), "
                "get_json_object(value, '$.remove.dataChange'), 'true') <> 'false'"
            )
            .selectExpr("min(_metadata.file_name) AS name")
        )
        name = lines.collect()[0]["name"]
        return None if name is None else self.commit(table, int(name.partition(".")[0]))

    def keeps_columns(self, table: TableRef, after: int, upto: int) -> bool:
        if after >= upto:
            return after == upto
        if not self._holds(table, after + 1, upto):
            return False
        lines = self._between(table, after + 1, upto)
        described = " OR ".join(map(_starts_with, commit_files.DESCRIBING))
        return lines.where(described).isEmpty()

    def backwards(self, table: TableRef, newest: int | None = None) -> Iterator[Commit]:
        """Yield commits from a version, or from the newest one, to the oldest."""
        versions, step = self.versions(table), _FIRST_STEP
        if newest is not None:
            versions = [version for version in versions if version <= newest]
        while versions:
            chunk, versions = versions[-step:], versions[:-step]
            step *= 8
            lines = self._between(table, chunk[0], chunk[-1]).where(
                _starts_with(commit_files.COMMIT_INFO)
            )
            rows = lines.select("value", "_metadata.file_name").collect()
            found = (
                commit_files.parse_commit(int(row[1].partition(".")[0]), row[0]) for row in rows
            )
            yield from sorted(found, key=lambda commit: -commit.version)

    def _holds(self, table: TableRef, first: int, last: int) -> bool:
        """Whether the log still has all commits from `first` to `last`: old ones go together."""
        return {first, last} <= set(self.versions(table))

    def _directory(self, table: TableRef) -> DataFrame:
        """Read as one path: of many paths Spark checks each by a task of a job."""
        reader = self._spark.read.option("pathGlobFilter", _COMMIT_NAMES)
        return reader.text(escaped(f"{table.handle}/_delta_log"))

    def _between(self, table: TableRef, first: int, last: int) -> DataFrame:
        """Return the lines of commits; Spark reads no other files, as it has their names."""
        wanted = range(first, last + 1)
        if len(wanted) <= _AT_ONCE:
            paths = [escaped(commit_file(table, version)) for version in wanted]
            return self._spark.read.text(paths)
        begin, end = (quote_text(f"{version:020}.json") for version in (first, last))
        return self._directory(table).where(f"_metadata.file_name BETWEEN {begin} AND {end}")


def versions_in(listing: str) -> list[int]:
    """Return the versions of the commit files among the paths of a listing, in order."""
    return sorted(int(found[1]) for found in _COMMIT_FILE.finditer(listing))


def commit_file(table: TableRef, version: int) -> str:
    """Return the path of the file in a table's log that holds a commit."""
    return f"{table.handle}/_delta_log/{version:020}.json"


def _tail(path: str) -> str:
    """Return the part of a path that every API spells alike: no scheme, no leading slashes."""
    return re.sub(r"^\w+:", "", path).lstrip("/")


def _starts_with(prefix: str) -> str:
    """Return a condition on a line, as text.

    PySpark's functions read a setting of the thread's active session before they make a column.
    Over Connect that session may have been closed long ago.
    """
    return f"startswith(value, {quote_text(prefix)})"


class DriverLog(DeltaLog):
    """Logs read without jobs, where Spark's driver is this process.

    Nothing that a statement asks for costs more in a long log than in a short one: the newest
    version is looked for after the newest checkpoint, and commits are read one by one.
    """

    def __init__(self, spark: SparkSession, files: DriverFiles) -> None:
        super().__init__(spark)
        self._files = files
        self._known: dict[str, int] = {}

    def versions(self, table: TableRef) -> list[int]:
        """As `DeltaLog.versions`."""
        return versions_in(self._files.listing(f"{table.handle}/_delta_log"))

    def is_there(self, table: TableRef) -> bool:
        """As `DeltaLog.is_there`; one that was found is there until a search finds nothing."""
        return self._known.get(table.handle, -1) >= 0 or self.newest(table) >= 0

    def newest(self, table: TableRef) -> int:
        """As `DeltaLog.newest`; the search begins at the version that it found before."""
        version = self._known.get(table.handle, -1)
        if version < 0:
            version = int(self._last_checkpoint(table).get("version", 0))
        is_there = self._has(table, version)
        found = self._end(table, version) if is_there else super().newest(table)
        self._known[table.handle] = found
        return found

    def is_newest(self, table: TableRef, version: int) -> bool:
        """Whether a version is the newest one of a table: two files are checked."""
        return self._has(table, version) and not self._has(table, version + 1)

    def commit(self, table: TableRef, version: int) -> Commit | None:
        """Return one commit, or None where the log does not hold it.

        A commit without `commitInfo` is identified by its actions.
        """
        path = commit_file(table, version)
        first = self._files.first_line(path)
        if first is None:
            return None
        if first.startswith(commit_files.COMMIT_INFO):
            return commit_files.parse_commit(version, first)
        text = self._files.read(path)
        for line in text.split("\n"):
            if line.startswith(commit_files.COMMIT_INFO):
                return commit_files.parse_commit(version, line)
        identity = hashlib.sha256(text.encode()).hexdigest()[:32]
        written_ms = self._files.modified_ms(path) or 0
        return Commit(version, version - 1, written_ms, "", None, None, identity)

    def commits(self, wanted: Iterable[tuple[TableRef, int]]) -> dict[tuple[TableRef, int], Commit]:
        """As `DeltaLog.commits`, one by one."""
        found = {key: self.commit(*key) for key in wanted}
        return {key: commit for key, commit in found.items() if commit is not None}

    def stamp(self, table: TableRef, version: int) -> str:
        """As `DeltaLog.stamp`: when the commit's file was written, which costs no reading."""
        path = commit_file(table, version)
        written_ms = self._files.modified_ms(path) if version >= 0 else None
        return "" if written_ms is None else str(written_ms)

    def file_actions(
        self, table: TableRef, first: int, last: int
    ) -> list[commit_files.FileAction] | None:
        """As `DeltaLog.file_actions`; a few commits are read without a job."""
        if last - first >= _AT_ONCE:
            return super().file_actions(table, first, last)
        texts = [
            self._files.read_if_there(commit_file(table, version))
            for version in range(first, last + 1)
        ]
        if any(text is None for text in texts):
            return None
        return [
            commit_files.file_action(first + at, line)
            for at, text in enumerate(texts)
            for line in (text or "").split("\n")  # statistics may hold U+2028
            if line.startswith((commit_files.ADD, commit_files.REMOVE))
        ]

    def first_row_change(self, table: TableRef, after: int, upto: int) -> Commit | None:
        for version in range(after + 1, upto + 1):
            commit = self.commit(table, version)
            if commit is None or commit.effect is CommitEffect.NO_ROWS:
                continue
            if self._files.first_line_where(commit_file(table, version), commit_files.changes_rows):
                return commit
        return None

    def keeps_columns(self, table: TableRef, after: int, upto: int) -> bool:
        """As `TableHistory.keeps_columns`; a few commits are read without a job."""
        if upto - after > _AT_ONCE:
            return super().keeps_columns(table, after, upto)
        texts = (
            self._files.read_if_there(commit_file(table, version))
            for version in range(after + 1, upto + 1)
        )
        return after <= upto and not any(
            text is None or commit_files.DESCRIBES.search(text) for text in texts
        )

    def backwards(self, table: TableRef, newest: int | None = None) -> Iterator[Commit]:
        """As `DeltaLog.backwards`; each commit is read when it is asked for."""
        version = self.newest(table) if newest is None else newest
        while version >= 0 and (commit := self.commit(table, version)) is not None:
            yield commit
            version -= 1

    def table_schema(self, table: TableRef, version: int, *, after: int | None = None) -> str:
        """As `DeltaLog.table_schema`; the checksum file of a version has it."""
        metadata = self._checksum(table, version).get("metadata") if after is None else None
        found = str((metadata or {}).get("schemaString") or "")
        return found or super().table_schema(table, version, after=after)

    def _description(self, table: TableRef, first: int, last: int) -> dict[str, Any]:
        """As in `DeltaLog`; a few commits are read without a job, the newest first."""
        if last - first >= _AT_ONCE:
            return super()._description(table, first, last)
        for version in range(last, first - 1, -1):
            text = self._files.read_if_there(commit_file(table, version)) or ""
            for line in text.split("\n"):  # comments may hold U+2028
                if line.startswith(commit_files.METADATA):
                    return dict(json.loads(line)["metaData"])
        return {}

    def _holds(self, table: TableRef, first: int, last: int) -> bool:
        return self._has(table, first) and self._has(table, last)

    def _has(self, table: TableRef, version: int) -> bool:
        return version >= 0 and self._files.is_file(commit_file(table, version))

    def _end(self, table: TableRef, version: int) -> int:
        """Return the newest version from one on: there are no gaps, so strides find it."""
        stride = 1
        while self._has(table, version + stride):
            version += stride
            stride *= 2
        while stride > 1:
            stride //= 2
            if self._has(table, version + stride):
                version += stride
        return version

    def description(self, table: TableRef, version: int) -> TableDescription | None:
        """As `TableHistory.description`; most writers add a checksum file to each commit."""
        return commit_files.checksum_description(self._checksum(table, version))

    def columns(self, table: TableRef, version: int) -> tuple[str, ...] | None:
        """As `DeltaLog.columns`; the checksum file of a version has them."""
        metadata = self._checksum(table, version).get("metadata") or {}
        if not (schema := metadata.get("schemaString")):
            return None
        return tuple(str(field["name"]) for field in json.loads(schema)["fields"])

    def table_id(self, table: TableRef) -> str:
        """As `DeltaLog.table_id`; the checksum file of the newest version has it."""
        metadata = self._checksum(table, self.newest(table)).get("metadata") or {}
        return str(metadata.get("id", "")) or super().table_id(table)

    def size(self, table: TableRef, version: int) -> tuple[int, int] | None:
        with suppress(KeyError):
            found = self._checksum(table, version)
            return int(found["numFiles"]), int(found["tableSizeBytes"])
        with suppress(KeyError):
            found = self._last_checkpoint(table)
            return int(found["numOfAddFiles"]), int(found["sizeInBytes"])
        return None

    def rows(self, table: TableRef, version: int) -> int | None:
        """As `DeltaLog.rows`; the checksum file of a version lists its files, up to some 50."""
        found = self._checksum(table, version)
        files = found.get("allFiles", ())
        return commit_files.rows_of_files(files) if len(files) == found.get("numFiles") else None

    def _checksum(self, table: TableRef, version: int) -> dict[str, Any]:
        """Return what the checksum file of a version has; nothing without one."""
        path = commit_file(table, version).replace(".json", ".crc")
        with suppress(ValueError), suppress_spark_errors():
            return dict(json.loads(self._files.read_if_there(path) or "{}"))
        return {}

    def _last_checkpoint(self, table: TableRef) -> dict[str, Any]:
        """Return what Delta notes of the newest checkpoint; nothing while it is being written.

        The file is a hint, which is overwritten: for a moment it may be empty, or have a checksum
        that is not its own.
        """
        with suppress(ValueError), suppress_spark_errors():
            text = self._files.read_if_there(f"{table.handle}/_delta_log/_last_checkpoint")
            return dict(json.loads(text or "{}"))
        return {}
