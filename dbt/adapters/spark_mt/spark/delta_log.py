"""A Delta table's log through the public DataFrame API: cheap enough to look at for each statement.

`DESCRIBE HISTORY` costs 0.3 s and more. Listing a log's directory costs 0.02 s, and reading the
`commitInfo` lines of a few commits 0.1 s, for any number of tables in one job.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from dbt.adapters.spark_mt.definition.commit_facts import decode_commit
from dbt.adapters.spark_mt.definition.identifier import quote_text
from dbt.adapters.spark_mt.execution.history import Commit
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.file_changes import FileAction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.spark.driver_files import DriverFiles

_COMMIT_FILE = re.compile(r"(\d{20})\.json$")
_GLOB = re.compile(r"([\\*?\[\]{}])")
_PREFIX = '{"commitInfo"'
_METADATA_PREFIX = '{"metaData"'
_ADD = '{"add"'
_REMOVE = '{"remove"'


class DeltaLog:
    """Reads logs by the location of their table.

    Args:
        spark: The session.
        files: Reads single commits without a job of Spark, where the driver is this process.
    """

    def __init__(self, spark: SparkSession, files: DriverFiles | None = None) -> None:
        self._spark = spark
        self._files = files

    def versions(self, location: str) -> list[int]:
        """Return the versions whose commit files exist, oldest first; none without a log."""
        pattern = _escaped(location) + "/_delta_log/*.json"
        try:
            paths = self._spark.read.text(pattern).inputFiles()
        except Exception as error:
            if is_spark_error(error) and failure_of(error).is_missing_table:
                return []
            raise
        found = map(_COMMIT_FILE.search, paths)
        return sorted(int(match[1]) for match in found if match)

    def newest(self, location: str, known: int = -1) -> int:
        """Return the newest version of a table; -1 where there is no log.

        Args:
            location: Where the table lives.
            known: A version that it had before, from which the look goes on where it still is.
        """
        if known < 0 or self._files is None or not self._files.exists(commit_file(location, known)):
            return max(self.versions(location), default=-1)
        while self._files.exists(commit_file(location, known + 1)):
            known += 1
        return known

    def is_newest(self, location: str, version: int) -> bool:
        """Whether a version is the newest one of a table, as cheaply as possible."""
        if self._files is None:
            return self.versions(location)[-1:] == [version]
        here, next_one = (commit_file(location, v) for v in (version, version + 1))
        return self._files.exists(here) and not self._files.exists(next_one)

    def commit(self, location: str, version: int) -> Commit | None:
        """Return one commit, or None where the log does not hold it."""
        if self._files is None:
            held = version in self.versions(location)
            return self.commits([(location, version)]).get((location, version)) if held else None
        text = self._files.read_if_there(commit_file(location, version))
        return None if text is None else first_commit(version, text)

    def may_mention(self, location: str, version: int, word: str) -> bool:
        """Whether a commit's file has a word; True where only a job of Spark could tell."""
        if self._files is None:
            return True
        text = self._files.read_if_there(commit_file(location, version))
        return text is None or word in text

    def commits(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Commit]:
        """Return commits by (location, version), read in one job."""
        keys = {commit_file(location, version): (location, version) for location, version in wanted}
        if not keys:
            return {}
        lines = (
            self._spark.read.text([_escaped(path) for path in keys])
            .where(_starts_with(_PREFIX))
            .select("value", "_metadata.file_path")
            .collect()
        )
        by_tail = {_tail(path): key for path, key in keys.items()}
        return {
            key: parse_commit(key[1], row[0])
            for row in lines
            if (key := by_tail.get(_tail(unquote(row[1])))) is not None
        }

    def commit_times(self, location: str, versions: Iterable[int]) -> dict[int, int]:
        """Return when commits were made, as DESCRIBE HISTORY and TIMESTAMP AS OF tell it.

        That is the time of the commit's file, unless the table has its times in its commits.

        Returns:
            Milliseconds since the epoch, UTC, by version.
        """
        paths = [_escaped(commit_file(location, version)) for version in versions]
        lines = (
            self._spark.read.text(paths)
            .where(_starts_with(_PREFIX))
            .selectExpr(
                "_metadata.file_name",
                "coalesce(CAST(get_json_object(value, '$.commitInfo.inCommitTimestamp') AS BIGINT),"
                " unix_millis(_metadata.file_modification_time))",
            )
        )
        return {int(name.partition(".")[0]): int(at) for name, at in lines.collect()}

    def file_actions(self, location: str, first: int, last: int) -> list[FileAction] | None:
        """Return which files came and went from version `first` to `last`, in no order.

        Returns:
            None where the log no longer holds one of these versions.
        """
        wanted = range(first, last + 1)
        if not set(wanted) <= set(self.versions(location)):
            return None
        lines = (
            self._spark.read.text([_escaped(commit_file(location, version)) for version in wanted])
            .where(f"{_starts_with(_ADD)} OR {_starts_with(_REMOVE)}")
            .selectExpr("*", f"{_starts_with(_ADD)} AS adds", "_metadata.file_name AS name")
            .selectExpr(
                "name",
                "adds",
                "get_json_object(value, IF(adds, '$.add.path', '$.remove.path'))",
                "get_json_object(value, IF(adds, '$.add.dataChange', '$.remove.dataChange'))",
            )
        )
        return [
            FileAction(int(name.partition(".")[0]), path, adds, changes_rows=changes != "false")
            for name, adds, path, changes in lines.collect()
        ]

    def table_id(self, location: str) -> str:
        """Return Delta's identity of the table, empty where the commits no longer tell it."""
        paths = [
            _escaped(commit_file(location, version)) for version in self.versions(location)[-10:]
        ]
        lines = self._spark.read.text(paths).where(_starts_with(_METADATA_PREFIX))
        newest = lines.orderBy("_metadata.file_path", ascending=False).limit(1).collect()
        return str(json.loads(newest[0]["value"])["metaData"]["id"]) if newest else ""

    def backwards(self, location: str, step: int = 10) -> Iterable[Commit]:
        """Yield commits from the newest to the oldest, read in growing steps."""
        versions = self.versions(location)
        while versions:
            chunk, versions = versions[-step:], versions[:-step]
            found = self.commits((location, version) for version in chunk)
            yield from sorted(found.values(), key=lambda commit: -commit.version)
            step *= 8


def commit_file(location: str, version: int) -> str:
    """Return the path of the file in a table's log that holds a commit."""
    return f"{location}/_delta_log/{version:020}.json"


def _tail(path: str) -> str:
    """The part of a path that is spelt alike by every API: no scheme, no slashes in front."""
    return re.sub(r"^\w+:", "", path).lstrip("/")


def _starts_with(prefix: str) -> str:
    """A condition on a line, as text.

    PySpark's functions ask whichever session is the thread's active one for a setting before they
    make a column, and over Connect that session may have been closed long ago.
    """
    return f"startswith(value, {quote_text(prefix)})"


def _escaped(path: str) -> str:
    return _GLOB.sub(r"\\\1", path)


def first_commit(version: int, text: str) -> Commit:
    """Return the commit that a log's file tells of.

    Args:
        version: The table's version.
        text: The file.
    """
    return parse_commit(version, next(x for x in text.splitlines() if x.startswith(_PREFIX)))


def parse_commit(version: int, line: str) -> Commit:
    """Return the commit of a `commitInfo` line."""
    info = json.loads(line)["commitInfo"]
    return Commit(
        version=version,
        timestamp_ms=int(info.get("inCommitTimestamp") or info.get("timestamp") or 0),
        operation=str(info.get("operation", "")),
        parameters=info.get("operationParameters") or {},
        facts=decode_commit(info.get("userMetadata")),
        rows=_rows(info.get("operationMetrics") or {}),
        identity=str(info.get("txnId") or info.get("timestamp")),
    )


_MERGED = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


def _rows(metrics: dict[str, str]) -> int | None:
    """Return how many rows were written; an emptied partition has no such count, and no files.

    A MERGE also writes rows again that share a file with others: only those that changed count.
    """
    if _MERGED[0] in metrics:
        return sum(int(metrics.get(name, 0)) for name in _MERGED)
    rows = metrics.get("numOutputRows", "0" if metrics.get("numFiles") == "0" else None)
    return None if rows is None else int(rows)
