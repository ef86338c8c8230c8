"""Archive of the classes that Spark's JVM loads, from which it starts faster.

A start loads some 28,000 classes. Class data sharing of the JVM maps them from a file instead. The
JVM itself checks that the file is valid for it and for the jars. It starts as without a file where
that is not so. Each Java and PySpark of a user has a file of its own in the user's folder for
caches.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import tempfile
from contextlib import contextmanager
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.launch.jvm import end_of_log, java, launch_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from subprocess import Popen

SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"
_OF_ARCHIVES = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit", "AOTCache")
_USED_FROM = "-XX:SharedArchiveFile="
_MADE_IN = "-XX:ArchiveClassesAtExit="
_ERRORS_ONLY = ("-Xlog:cds=error", "-Xlog:cds+dynamic=error")
"""Else the JVM names each class that it cannot archive."""
_ENDS_WITHIN_S = 180.0
_BY_OTHERS = 0o022
"""Bits of the mode with which others may write."""


def archive_file() -> Path:
    """Return where the archive for this Java and this PySpark is, or would be.

    Raises:
        RuntimeError: The user has no home folder.
    """
    from pyspark.find_spark_home import _find_spark_home

    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = chosen if chosen.is_absolute() else Path.home() / ".cache"
    key = f"{_real_java()}\0{Path(_find_spark_home()).resolve()}"
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return home / "dbt-spark-mt" / f"classes-{digest}.jsa"


@contextmanager
def archived_classes(confs: Mapping[str, str]) -> Iterator[None]:
    """Let a JVM that is launched while the block runs use the archive, if there is one.

    Options of the user about archives of classes win.

    Args:
        confs: The confs with which Spark will start.
    """
    options = os.environ.get(SUBMIT_OPTIONS, "")
    is_chosen = _is_of_archives(f"{options} {confs.get('spark.driver.extraJavaOptions', '')}")
    file = None if is_chosen else _usable_archive()
    if file is None:
        yield
        return
    option = shlex.quote(f"{_USED_FROM}{file}")
    with launch_variable(SUBMIT_OPTIONS, f"{options} {option}".strip()):
        yield


def _usable_archive() -> Path | None:
    """Return the archive; None without one, and for one that other users could have written.

    The JVM takes classes of an archive for checked.
    """
    try:
        file = archive_file()
        is_own = all(map(_is_own, (file, file.parent)))
    except (OSError, RuntimeError):  # a folder that cannot be read, a user without a home
        return None
    return file if is_own else None


def _is_own(path: Path) -> bool:
    found = path.stat()
    return os.name != "posix" or (found.st_uid == os.geteuid() and not found.st_mode & _BY_OTHERS)


def make_archive(run: Callable[[], Popen[bytes]], log: Path) -> Path:
    """Archive the classes that a Spark loads, and return the file.

    Args:
        run: Starts Spark, lets it work, asks its JVM to end, and returns the process of the JVM.
        log: The file with what the JVM prints.

    Raises:
        MaterializedTableError: The JVM ended without one, or did not end within three minutes.
    """
    file = archive_file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        made = Path(folder) / file.name
        words = shlex.split(os.environ.get(SUBMIT_OPTIONS, ""))
        kept = (word for word in words if not _is_of_archives(word))
        options = shlex.join([*kept, f"{_MADE_IN}{made}", *_ERRORS_ONLY])
        with launch_variable(SUBMIT_OPTIONS, options):
            process = run()
        try:
            is_written = process.wait(_ENDS_WITHIN_S) == 0 and made.is_file()
        except TimeoutExpired:
            process.kill()
            process.wait()
            is_written = False
        if not is_written:
            raise conditions.ARCHIVE_NOT_MADE(file=file, log=log, violations=end_of_log(log))
        made.replace(file)
    return file


def _is_of_archives(options: str) -> bool:
    """Whether options of the JVM are about archives of classes."""
    return any(word in options for word in _OF_ARCHIVES)


def _real_java() -> str:
    """Return the file that `java` is, without its links; empty without one."""
    found = java()
    return str(found.resolve()) if found else ""
