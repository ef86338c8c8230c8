"""Owner of the lock of a Derby metastore, found before a JVM starts.

Derby, Spark's default metastore, serves one process. A second one hangs for more than 20 seconds a
statement and then gives no reason. The lock is a POSIX record lock on `metastore_db/dbex.lck`, so
the kernel knows its owner.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from pathlib import Path

from dbt.adapters.spark_mt.definition import conditions

LOCK_FILE = "dbex.lck"
_ENDING_S = 20.0
_POLL_EVERY_S = 0.1
_INIT = "1"
"""The process that becomes the parent of a process whose own parent has ended."""


def check_metastore_is_free(metastore: Path) -> None:
    """Make sure that no other process has the Derby database `metastore` open.

    A JVM ends a little later than the command that started it, and the next command of a shell
    comes sooner. So the end of a JVM without this parent is waited for.

    Raises:
        MetastoreInUseError: One has; it is named.
    """
    deadline = time.monotonic() + _ENDING_S
    holder = lock_holder(metastore / LOCK_FILE)
    while holder and _is_left_alone(holder) and time.monotonic() < deadline:
        time.sleep(_POLL_EVERY_S)
        holder = lock_holder(metastore / LOCK_FILE)
    if holder is not None:
        raise conditions.METASTORE_IN_USE(metastore=metastore, holder=_describe(holder))


def lock_holder(path: Path) -> int | None:
    """Return the id of the process that holds a record lock on `path`.

    Returns:
        None when the file is not locked or not there, or where the system has no such locks; 0 when
        the holder lives outside of this container.
    """
    try:
        import fcntl  # noqa: PLC0415 - Unix only
    except ImportError:
        return None
    # struct flock: Linux (type, whence, start, len, pid), BSD (start, len, pid, type, whence)
    bsd = sys.platform != "linux"
    layout, pid_at, type_at = ("qqihh", 2, 3) if bsd else ("hhqqi", 4, 0)
    ask = [0, 0, 0, fcntl.F_WRLCK, 0] if bsd else [fcntl.F_WRLCK, 0, 0, 0, 0]
    try:
        with path.open("rb+") as file:
            answer = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(layout, *ask))
    except (FileNotFoundError, PermissionError):
        return None
    found = struct.unpack(layout, answer)
    return None if found[type_at] == fcntl.F_UNLCK else max(found[pid_at], 0)


def _describe(pid: int) -> str:
    if pid == 0:
        return "a process outside of this container"
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return f"process {pid}"
    program = os.fsdecode(words[0]).rpartition("/")[2]
    return f"process {pid} ({program}, started by process {_parent(pid)})"


def _is_left_alone(pid: int) -> bool:
    return _parent(pid) == _INIT


def _parent(pid: int) -> str:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:  # gone, or a system without /proc
        return "?"
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return fields.get("PPid", "?").strip()
