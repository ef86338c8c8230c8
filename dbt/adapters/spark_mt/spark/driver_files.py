"""Files of checkpoints and logs, on the file system that Spark uses.

PySpark has no public way to delete a directory, or to read a small file without a job. A job would
cost each batch 0.1 s. Streams run in the driver's process only, where Hadoop's file systems can be
reached. Only this module does so.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error, unlogged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from pyspark.sql import SparkSession

    _T = TypeVar("_T")


_GLOB = re.compile(r"([\\*?\[\]{}])")
_MISSING = frozenset({"FILE_NOT_FOUND", "NoSuchFileException"})


def escaped(path: str) -> str:
    """Return a path for readers of Spark, which take paths as patterns."""
    return _GLOB.sub(r"\\\1", path)


def listed_names(spark: SparkSession, directory: str) -> list[str]:
    """Return the names of the files in a directory, by Spark: from anywhere, also over Connect.

    Returns:
        Sorted; none where there is no directory.
    """
    try:
        with unlogged():
            paths = spark.read.text(escaped(directory)).inputFiles()
    except Exception as error:
        if is_spark_error(error) and failure_of(error).is_missing_table:
            return []
        raise
    return sorted(unquote(path.rpartition("/")[2]) for path in paths)


class DriverFiles:
    """Small files of a classic session's file systems.

    Args:
        spark: A classic session.
    """

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        jvm: Any = context._jvm  # noqa: SLF001 - see above
        self._conf: Any = context._jsc.hadoopConfiguration()  # noqa: SLF001
        # Looked up once: each part of a class's name is a question to the JVM.
        self._path: Any = jvm.org.apache.hadoop.fs.Path
        self._text: Any = jvm.org.apache.commons.io.IOUtils.toString
        self._lines: Any = jvm.java.io.BufferedReader
        self._decoded: Any = jvm.java.io.InputStreamReader
        self._paths: Any = jvm.org.apache.hadoop.fs.FileUtil.stat2Paths
        self._shown: Any = jvm.scala.runtime.ScalaRunTime.stringOf

    def read(self, path: str) -> str:
        """Return the text of a file.

        Raises:
            py4j.protocol.Py4JJavaError: There is none, or it cannot be read.
        """
        with self._opened(path) as stream:
            return str(self._text(stream, "UTF-8"))

    def read_if_there(self, path: str) -> str | None:
        """Return the text of a file, or None where there is none."""
        return _unless_missing(self.read, path)

    def first_line(self, path: str) -> str | None:
        """Return the first line of a file without reading on, or None where there is none."""
        return _unless_missing(self._first_line, path)

    def first_line_where(self, path: str, holds: Callable[[str], bool]) -> str | None:
        """Return the first line of a file that meets a condition, without reading on.

        Returns:
            None where no line does, and where there is no file.
        """
        return _unless_missing(lambda path: self._first_line_where(path, holds), path)

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory."""
        target = self._path(path)
        return bool(target.getFileSystem(self._conf).exists(target))

    def touch(self, path: str) -> None:
        """Make an empty file, and the directories above it."""
        target = self._path(path)
        target.getFileSystem(self._conf).create(target, True).close()  # noqa: FBT003 - as below

    def delete(self, path: str) -> None:
        """Remove a file or directory with all that is in it, if it is there."""
        target = self._path(path)
        target.getFileSystem(self._conf).delete(target, True)  # noqa: FBT003 - Java has no names for arguments

    def modified_ms(self, path: str) -> int | None:
        """Return when a file was written or something was added to a directory; None for neither.

        Milliseconds since the epoch, UTC.
        """
        return _unless_missing(self._modified_ms, path)

    def listing(self, path: str) -> str:
        """Return the paths in a directory as one text; empty where there is no directory.

        One answer of the JVM, however many there are; for patterns, as paths may hold anything.
        """
        return _unless_missing(self._listing, path) or ""

    @contextmanager
    def _opened(self, path: str) -> Iterator[Any]:
        target = self._path(path)
        stream = target.getFileSystem(self._conf).open(target)
        try:
            yield stream
        finally:
            stream.close()

    def _first_line(self, path: str) -> str:
        with self._opened(path) as stream:
            line = self._lines(self._decoded(stream, "UTF-8")).readLine()
        return "" if line is None else str(line)

    def _first_line_where(self, path: str, holds: Callable[[str], bool]) -> str | None:
        with self._opened(path) as stream:
            lines = self._lines(self._decoded(stream, "UTF-8"))
            while (line := lines.readLine()) is not None:
                if holds(str(line)):
                    return str(line)
        return None

    def _modified_ms(self, path: str) -> int:
        target = self._path(path)
        return int(target.getFileSystem(self._conf).getFileStatus(target).getModificationTime())

    def _listing(self, path: str) -> str:
        target = self._path(path)
        statuses = target.getFileSystem(self._conf).listStatus(target)
        return str(self._shown(self._paths(statuses)))

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, sorted; none where there is no directory."""
        target = self._path(path)
        system = target.getFileSystem(self._conf)
        if not system.exists(target):
            return []
        return sorted(str(status.getPath().getName()) for status in system.listStatus(target))


def _unless_missing(ask: Callable[[str], _T | None], path: str) -> _T | None:
    """Return what is asked of a file or directory, or None where there is none.

    Existence is not checked first: another process may remove it after the check.
    """
    try:
        return ask(path)
    except Exception as error:
        if is_spark_error(error) and failure_of(error).condition in _MISSING:
            return None
        raise
