"""Files of checkpoints and logs, on the file system that Spark uses.

PySpark has no public way to delete a directory, or to read a small file without a job. A job would
cost each batch 0.1 s. Streams run in the driver's process only, where Hadoop's file systems can be
reached. Only this module does so.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession


_Stream: TypeAlias = Any
"""A `java.io.InputStream`."""
_GLOB = re.compile(r"([\\*?\[\]{}])")
_PIECE_BYTES = 5_600
"""The JVM sends answers of more than 8 kB in two parts, and the second one waits 40 ms: for Nagle's
algorithm and a delayed acknowledgement. Bytes grow by a third on the way."""
_MISSING = frozenset({"FILE_NOT_FOUND", "NoSuchFileException"})


def escaped(path: str) -> str:
    """Return a path for readers of Spark, which take paths as patterns."""
    return _GLOB.sub(r"\\\1", path)


def listed_names(spark: SparkSession, directory: str) -> list[str]:
    """Return the names of the files in a directory, by Spark: from anywhere, also over Connect.

    Returns:
        Sorted; none where there is no directory.
    """
    with suppress_spark_errors(lambda failure: failure.is_missing_table):
        paths = spark.read.text(escaped(directory)).inputFiles()
        return sorted(unquote(path.rpartition("/")[2]) for path in paths)
    return []


class DriverFiles:
    """Small files of a classic session's file systems."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        jvm: Any = context._jvm  # noqa: SLF001 - see above
        self._conf: Any = context._jsc.hadoopConfiguration()  # noqa: SLF001
        # Looked up once: each part of a class's name is a question to the JVM.
        self._path: Any = jvm.org.apache.hadoop.fs.Path
        self._paths: Any = jvm.org.apache.hadoop.fs.FileUtil.stat2Paths
        self._shown: Any = jvm.scala.runtime.ScalaRunTime.stringOf

    def read(self, path: str) -> str:
        """Return the text of a file.

        Raises:
            py4j.protocol.Py4JJavaError: There is none, or it cannot be read.
        """
        return _decoded(self.read_bytes(path))

    def read_bytes(self, path: str) -> bytes:
        """Return what is in a file.

        Raises:
            py4j.protocol.Py4JJavaError: There is none, or it cannot be read.
        """
        with self._opened(path) as stream:
            return b"".join(_pieces(stream))

    def read_if_there(self, path: str) -> str | None:
        """Return the text of a file, or None where there is none."""
        with _suppress_missing():
            return self.read(path)
        return None

    def first_line(self, path: str) -> str | None:
        """Return the first line of a file without reading on, or None where there is none."""
        with _suppress_missing(), self._opened(path) as stream:
            return _decoded(next(_lines(stream), b""))
        return None

    def first_line_where(self, path: str, holds: Callable[[str], bool]) -> str | None:
        """Return the first line of a file that meets a condition, without reading on.

        Returns:
            None where no line does, and where there is no file.
        """
        with _suppress_missing(), self._opened(path) as stream:
            return next(filter(holds, map(_decoded, _lines(stream))), None)
        return None

    def is_file(self, path: str) -> bool:
        """Whether there is a file, without asking an object store for a directory of the name.

        S3 has no directories: whether one is there costs a listing for each file that is not.
        """
        target = self._path(path)
        return bool(target.getFileSystem(self._conf).isFile(target))

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
        target = self._path(path)
        with _suppress_missing():
            status = target.getFileSystem(self._conf).getFileStatus(target)
            return int(status.getModificationTime())
        return None

    def listing(self, path: str) -> str:
        """Return the paths in a directory as one text; empty where there is no directory.

        One answer of the JVM, however many there are; for patterns, as paths may hold anything.
        """
        target = self._path(path)
        with _suppress_missing():
            statuses = target.getFileSystem(self._conf).listStatus(target)
            return str(self._shown(self._paths(statuses)))
        return ""

    @contextmanager
    def _opened(self, path: str) -> Iterator[_Stream]:
        target = self._path(path)
        stream = target.getFileSystem(self._conf).open(target)
        try:
            yield stream
        finally:
            stream.close()

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, sorted; none where there is no directory."""
        target = self._path(path)
        with _suppress_missing():
            statuses = target.getFileSystem(self._conf).listStatus(target)
            return sorted(str(status.getPath().getName()) for status in statuses)
        return []


def _pieces(stream: _Stream) -> Iterator[bytes]:
    """Yield what a stream of the JVM holds, in answers that arrive at once."""
    while piece := stream.readNBytes(_PIECE_BYTES):
        yield piece
        if len(piece) < _PIECE_BYTES:
            return


def _lines(stream: _Stream) -> Iterator[bytes]:
    """Yield the lines of a stream of the JVM, without reading further than is asked for."""
    rest = b""
    for piece in _pieces(stream):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")


def _suppress_missing() -> suppress_spark_errors:
    """Let a file or directory be missing: another process may remove it after a check for it."""
    return suppress_spark_errors(lambda failure: failure.condition in _MISSING)
