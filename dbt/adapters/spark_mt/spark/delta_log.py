"""A Delta table's log, read cheaply enough to look at it for each statement.

`DESCRIBE HISTORY` costs 0.3 s and more. By a job of the public DataFrame API the `commitInfo` lines
of a few commits cost 0.1 s; in the driver's own process a commit costs 0.002 s.
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
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

_COMMIT_FILE = re.compile(r"/(\d{20})\.json\b(?!\.)", re.ASCII)
_GLOB = re.compile(r"([\\*?\[\]{}])")
COMMIT_INFO = '{"commitInfo"'
_METADATA_PREFIX = '{"metaData"'
_ADD = '{"add"'
_REMOVE = '{"remove"'
_COMMIT_NAMES = "?" * 20 + ".json"
"""Not those of compacted logs and of checkpoints, which say the same again."""
_AT_ONCE = 30
"""Of more than 32 paths Spark's listing is a job with a task for each."""
_FIRST_STEP = 10
"""How many commits are read at first on the way back: most often the newest one tells."""
_TELLING_ID = 10
"""In how many of the newest commits a table's metadata is looked for."""


class DeltaLog:
    """Reads logs by the location of their table, by jobs of Spark: from anywhere.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def versions(self, location: str) -> list[int]:
        """Return the versions whose commit files exist, oldest first; none without a log.

        The one question whose cost grows with the log.
        """
        try:
            paths = self._directory(location).inputFiles()
        except Exception as error:
            if is_spark_error(error) and failure_of(error).is_missing_table:
                return []
            raise
        return versions_in("\n".join(paths))

    def newest(self, location: str, known: int = -1) -> int:  # noqa: ARG002 - a listing tells
        """Return the newest version of a table; -1 where there is no log.

        Args:
            location: Where the table lives.
            known: A version that it had before, from which the look goes on where it still is.
        """
        return max(self.versions(location), default=-1)

    def is_newest(self, location: str, version: int) -> bool:
        """Whether a version is the newest one of a table, as cheaply as possible."""
        return version >= 0 and self.newest(location) == version

    def next_after(self, location: str, version: int) -> int | None:
        """Return the first version behind one that the log holds; None where there is none."""
        return next((each for each in self.versions(location) if each > version), None)

    def commit(self, location: str, version: int) -> Commit | None:
        """Return one commit, or None where the log does not hold it."""
        held = self._holds(location, version, version)
        return self.commits([(location, version)]).get((location, version)) if held else None

    def may_mention(self, location: str, version: int, word: str) -> bool:  # noqa: ARG002
        """Whether a commit's file has a word; True where only a job of Spark could tell."""
        return True

    def commits(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Commit]:
        """Return commits by (location, version), read in one job."""
        keys = {commit_file(location, version): (location, version) for location, version in wanted}
        if not keys:
            return {}
        lines = (
            self._spark.read.text([_escaped(path) for path in keys])
            .where(_starts_with(COMMIT_INFO))
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
            .where(_starts_with(COMMIT_INFO))
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
        if not self._holds(location, first, last):
            return None
        lines = (
            self._between(location, first, last)
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
        newest = self.newest(location)
        if newest < 0:
            return ""
        first = max(0, newest - _TELLING_ID + 1)
        if not self._holds(location, first, newest):
            first = newest
        lines = self._between(location, first, newest).where(_starts_with(_METADATA_PREFIX))
        last = lines.orderBy("_metadata.file_path", ascending=False).limit(1).collect()
        return str(json.loads(last[0]["value"])["metaData"]["id"]) if last else ""

    def backwards(self, location: str) -> Iterator[Commit]:
        """Yield commits from the newest to the oldest."""
        versions, step = self.versions(location), _FIRST_STEP
        while versions:
            chunk, versions = versions[-step:], versions[:-step]
            step *= 8
            lines = self._between(location, chunk[0], chunk[-1]).where(_starts_with(COMMIT_INFO))
            told = lines.select("value", "_metadata.file_name").collect()
            found = (parse_commit(int(row[1].partition(".")[0]), row[0]) for row in told)
            yield from sorted(found, key=lambda commit: -commit.version)

    def _holds(self, location: str, first: int, last: int) -> bool:
        """Whether the log still has all commits from `first` to `last`: old ones go together."""
        return {first, last} <= set(self.versions(location))

    def _directory(self, location: str) -> DataFrame:
        """Read as one path: of many paths Spark looks at each by a task of a job."""
        reader = self._spark.read.option("pathGlobFilter", _COMMIT_NAMES)
        return reader.text(_escaped(f"{location}/_delta_log"))

    def _between(self, location: str, first: int, last: int) -> DataFrame:
        """The lines of commits; Spark reads no other files, as it knows their names."""
        wanted = range(first, last + 1)
        if len(wanted) <= _AT_ONCE:
            paths = [_escaped(commit_file(location, version)) for version in wanted]
            return self._spark.read.text(paths)
        names = (quote_text(f"{version:020}.json") for version in (first, last))
        return self._directory(location).where(
            "_metadata.file_name BETWEEN {} AND {}".format(*names)
        )


def versions_in(listing: str) -> list[int]:
    """Return the versions of the commit files among the paths of a listing, in order."""
    return sorted(int(found[1]) for found in _COMMIT_FILE.finditer(listing))


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
