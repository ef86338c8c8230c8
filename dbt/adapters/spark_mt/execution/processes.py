"""Who we are, and whether another process of this machine is still there."""

from __future__ import annotations

import getpass
import os
import socket
import sys
from functools import cache
from pathlib import Path

from dbt.adapters.spark_mt.definition.job import Owner

_START_TIME = 19
"""Which word of `/proc/<pid>/stat` behind the command's name tells when the process began."""


class LocalProcesses:
    """Looks at the processes of this machine; knows nothing of others.

    Where the system has `/proc` (Linux), a process is known by its number, its start and the
    namespace that numbers it, so that neither a reused number nor another container's process is
    taken for it. Elsewhere the number alone counts, and on Windows a process is never called gone.
    """

    def owner(self) -> Owner:
        """Return this process."""
        pid = os.getpid()
        return Owner(_host(), pid, _identity(pid), _user())

    def is_gone(self, owner: Owner) -> bool:
        """Whether `owner` certainly runs no more; False for a process of another machine."""
        if owner.host != _host() or sys.platform == "win32":
            return False
        here = _identity(os.getpid())
        if _namespace(here) != _namespace(owner.process):
            return False
        return not _exists(owner.pid) or (bool(here) and _identity(owner.pid) != owner.process)


@cache
def _host() -> str:
    return socket.gethostname()


@cache
def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container's user without a name
        return ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _identity(pid: int) -> str:
    """Namespace and start of a process; empty where there is no `/proc`, or no such process."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - Path would resolve the link
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"{namespace} {stat.rpartition(')')[2].split()[_START_TIME]}"


def _namespace(identity: str) -> str:
    return identity.partition(" ")[0]
