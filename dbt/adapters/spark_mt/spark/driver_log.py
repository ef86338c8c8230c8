"""A Delta table's log, read in the driver's own process."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.history import Commit
from dbt.adapters.spark_mt.spark.delta_log import (
    COMMIT_INFO,
    DeltaLog,
    commit_file,
    parse_commit,
    versions_in,
)
from dbt.adapters.spark_mt.spark.errors import is_spark_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.spark.driver_files import DriverFiles


class DriverLog(DeltaLog):
    """Reads commits without jobs, where Spark's driver is this process.

    Nothing that a statement asks for costs more in a long log than in a short one: the newest
    version is looked for behind the newest checkpoint, and commits are read one by one.

    Args:
        spark: A classic session.
        files: Its file systems.
    """

    def __init__(self, spark: SparkSession, files: DriverFiles) -> None:
        super().__init__(spark)
        self._files = files

    def versions(self, location: str) -> list[int]:
        """Return the versions whose commit files exist, oldest first; none without a log."""
        return versions_in(self._files.listing(f"{location}/_delta_log"))

    def newest(self, location: str, known: int = -1) -> int:
        """As `DeltaLog.newest`."""
        version = known if known >= 0 else self._checkpointed(location)
        if not self._has(location, version):
            return super().newest(location)
        return self._end(location, version)

    def is_newest(self, location: str, version: int) -> bool:
        """Whether a version is the newest one of a table: a look at two files."""
        return self._has(location, version) and not self._has(location, version + 1)

    def next_after(self, location: str, version: int) -> int | None:
        """As `DeltaLog.next_after`."""
        if self._has(location, version + 1):
            return version + 1
        return None if self._has(location, version) else super().next_after(location, version)

    def commit(self, location: str, version: int) -> Commit | None:
        """Return one commit, or None where the log does not hold it.

        A commit that says nothing about itself is known by what it does.
        """
        path = commit_file(location, version)
        line = self._files.first_line(path)
        if line is None or line.startswith(COMMIT_INFO):
            return None if line is None else parse_commit(version, line)
        text = self._files.read(path)
        told = next((each for each in text.splitlines() if each.startswith(COMMIT_INFO)), None)
        if told is not None:
            return parse_commit(version, told)
        identity = hashlib.sha256(text.encode()).hexdigest()[:32]
        return Commit(version, self._files.modified_ms(path) or 0, "", {}, None, None, identity)

    def commits(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Commit]:
        """Return commits by (location, version)."""
        found = {key: self.commit(*key) for key in wanted}
        return {key: commit for key, commit in found.items() if commit is not None}

    def backwards(self, location: str) -> Iterator[Commit]:
        """Yield commits from the newest to the oldest, each read when it is asked for."""
        version = self.newest(location)
        while version >= 0 and (commit := self.commit(location, version)) is not None:
            yield commit
            version -= 1

    def may_mention(self, location: str, version: int, word: str) -> bool:
        """Whether a commit's file has a word; True where the file is gone."""
        text = self._files.read_if_there(commit_file(location, version))
        return text is None or word in text

    def _holds(self, location: str, first: int, last: int) -> bool:
        return self._has(location, first) and self._has(location, last)

    def _has(self, location: str, version: int) -> bool:
        return version >= 0 and self._files.exists(commit_file(location, version))

    def _end(self, location: str, version: int) -> int:
        """The newest version from one on: there are no gaps, so strides find it."""
        stride = 1
        while self._has(location, version + stride):
            version += stride
            stride *= 2
        while stride > 1:
            stride //= 2
            if self._has(location, version + stride):
                version += stride
        return version

    def _checkpointed(self, location: str) -> int:
        """The version of the newest checkpoint; 0 without one, or while that is being told.

        The file is a hint, which is overwritten: for a moment it may be empty, or have a checksum
        that is not its own.
        """
        try:
            text = self._files.read_if_there(f"{location}/_delta_log/_last_checkpoint")
            return int(json.loads(text or '{"version": 0}')["version"])
        except Exception as error:
            if is_spark_error(error) or isinstance(error, ValueError):
                return 0
            raise
