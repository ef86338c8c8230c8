"""What a manager and its JVM use at an instant, seen from outside of both."""

from __future__ import annotations

import csv
import re
import subprocess
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.soak.managed import Managed

_MB = 2**20
_LINE = re.compile(r"\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)")
_TOTAL = re.compile(r"Total\s+(\d+)\s+(\d+)")
_SESSION = "org.apache.spark.sql.classic.SparkSession"
_HOLDER = "org.apache.spark.sql.connect.service.SessionHolder"
_LISTED = "org.apache.hadoop.fs.LocatedFileStatus"


@dataclass(frozen=True)
class Usage:
    """One line of the curve.

    Args:
        minute: Since the tables are kept fresh.
        heap_mb: Live objects of the JVM, after full collections.
        sessions: Live classic `SparkSession`s.
        connect_sessions: Live sessions of Spark Connect.
        listed_files: Live `LocatedFileStatus`: entries of listings that are kept.
        threads: Of the JVM.
        files: Open file descriptors of the JVM.
        rss_mb: Resident memory of the JVM.
        python_rss_mb: Resident memory of the manager's Python process.
        python_threads: Its threads.
        python_files: Its open file descriptors.
        cpu_s: Processor time of both since they began.
    """

    minute: float
    heap_mb: float
    sessions: int
    connect_sessions: int
    listed_files: int
    threads: int
    files: int
    rss_mb: float
    python_rss_mb: float
    python_threads: int
    python_files: int
    cpu_s: float


def usage(managed: Managed, minute: float) -> Usage:
    """Look at a manager; full collections of its JVM included."""
    jvm, python = managed.jvm, managed.process.pid
    objects, heap = histogram(jvm)
    return Usage(
        minute=round(minute, 2),
        heap_mb=round(heap / _MB, 1),
        sessions=objects.get(_SESSION, 0),
        connect_sessions=objects.get(_HOLDER, 0),
        listed_files=objects.get(_LISTED, 0),
        threads=_status(jvm, "Threads"),
        files=_files(jvm),
        rss_mb=round(_status(jvm, "VmRSS") / 1024, 1),
        python_rss_mb=round(_status(python, "VmRSS") / 1024, 1),
        python_threads=_status(python, "Threads"),
        python_files=_files(python),
        cpu_s=round(_cpu(jvm) + _cpu(python), 1),
    )


def histogram(pid: int) -> tuple[dict[str, int], int]:
    """Live objects of a JVM by class, and the bytes of all.

    What a cleaner releases after a collection goes with the next one.
    """
    for _ in range(2):
        _jcmd(pid, "GC.run")
    text = _jcmd(pid, "GC.class_histogram")
    found = {name: int(count) for count, _, name in _LINE.findall(text)}
    total = _TOTAL.search(text)
    assert total is not None, text[-500:]
    return found, int(total[2])


def write(path: Path, curve: Sequence[Usage]) -> None:
    """Write the curve as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, [field.name for field in fields(Usage)])
        lines.writeheader()
        lines.writerows(asdict(each) for each in curve)


def _jcmd(pid: int, command: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own command
        ["jcmd", str(pid), command],  # noqa: S607 - of the JDK on the path
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout


def _status(pid: int, key: str) -> int:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return int(re.search(rf"^{key}:\s+(\d+)", text, re.MULTILINE)[1])  # type: ignore[index]


def _files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _cpu(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / 100
