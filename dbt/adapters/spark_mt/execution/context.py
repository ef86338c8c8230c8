"""Execution context: parallel work, progress, cancellation, and deferred rows of the refresh log.

A hosted stream has a row when its state changes: that waits for the next write. Figures of running
streams, and scheduled refreshes that had nothing to do, wait up to a minute. They are written
together, so the number of commits depends on time, not on the number of tables.
"""

from __future__ import annotations

import getpass
import os
import socket
import sys
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.job import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.ports import JobLog
    from dbt.adapters.spark_mt.planning.steps import Register

    Action = Callable[[], None]


FIRST_HEARTBEAT_S = 2.0
"""Duration of a refresh before its first row of the log; a faster one costs no extra commit."""
HEARTBEAT_S = 20.0


FIGURES_MS = 60_000
"""How long figures wait after the last write."""
MOST_ROWS = 500
"""The largest number of rows in one commit: they are literals of one statement."""
_FIRST = 3
"""How many refreshes of a process take clearly longer than later ones of the same tables."""
_START_TIME = 19
"""Index of the start time among the fields of `/proc/<pid>/stat` after the command's name."""


class RunBoth(Protocol):
    """Runs two actions, both to the end."""

    def __call__(self, background: Action, main: Action) -> None:
        """Run `background`, which never raises, and `main`; return or raise what `main` does."""


def run_sequential(background: Action, main: Action) -> None:
    """Run `main`, then `background`."""
    try:
        main()
    finally:
        background()


def run_parallel(background: Action, main: Action) -> None:
    """Run both at the same time, `background` in a thread of its own."""
    # A thread of its own has no context else, which says what is logged.
    work = partial(copy_context().run, background)
    thread = Thread(target=work, name="materialized-table-log", daemon=True)
    thread.start()
    try:
        main()
    finally:
        thread.join()


class RunningHeartbeat(Protocol):
    """A heartbeat that runs until it is stopped."""

    def stop(self) -> None:
        """End it; no beat is running when this returns. May be called again."""


class Heartbeat(Protocol):
    """Starts heartbeats."""

    def __call__(self, beat: Action) -> RunningHeartbeat:
        """Call `beat`, which never raises, after a delay and then repeatedly."""


class Processes(Protocol):
    """Identifies this process, and the processes of this machine that have ended."""

    def owner(self) -> Owner:
        """Return this process."""

    def is_gone(self, owner: Owner) -> bool:
        """Whether `owner` has certainly ended; False for a process of another machine."""


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """Execution and records of a connection's statements.

    Args:
        log: The log of refreshes.
        deferred: Rows about hosted streams of this process that are not written yet.
        processes: Identifies the process that writes the rows.
        heartbeat: Records repeatedly that a refresh is still running.
        run_both: Runs the writes of records and the other work, one after the other or in parallel.
        committed: The refreshes that this process committed.
        is_cancellation: Whether an error means that a user stopped the statement.
    """

    log: JobLog
    deferred: DeferredRows
    processes: Processes
    heartbeat: Heartbeat
    run_both: RunBoth
    committed: CommittedRefreshes
    is_cancellation: Callable[[BaseException], bool]


class CommittedRefreshes:
    """The number of refreshes that a process committed; safe for several threads."""

    def __init__(self) -> None:
        self._number = 0
        self._lock = Lock()

    def add(self) -> None:
        """Count one."""
        with self._lock:
            self._number += 1

    @property
    def are_first(self) -> bool:
        """Whether the JVM still loads and compiles code that each refresh needs."""
        return self._number < _FIRST


class ThreadedHeartbeat:
    """Heartbeats in a thread.

    Args:
        first_s: Seconds until the first beat.
        every_s: Seconds from one beat to the next.
    """

    def __init__(self, first_s: float = FIRST_HEARTBEAT_S, every_s: float = HEARTBEAT_S) -> None:
        self._first_s = first_s
        self._every_s = every_s

    def __call__(self, beat: Action) -> RunningHeartbeat:
        """Start a thread that calls `beat`."""
        stopped = Event()

        def run() -> None:
            pause = self._first_s
            while not stopped.wait(pause):
                beat()
                pause = self._every_s

        work = partial(copy_context().run, run)
        thread = Thread(target=work, name="materialized-table-heartbeat", daemon=True)
        thread.start()
        return _HeartbeatThread(stopped, thread)


@dataclass(frozen=True, slots=True)
class _HeartbeatThread:
    stopped: Event
    thread: Thread

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join()


class Write(Protocol):
    """Writes rows."""

    def __call__(self, *jobs: Job, tables: Sequence[Register]) -> object:
        """Write rows about jobs and tables of one catalog, all in one commit."""


@dataclass(frozen=True, slots=True)
class _Row:
    job: Job
    table: Register | None
    is_change: bool


class DeferredRows:
    """Keeps the newest row of each job until it is written; safe for several threads.

    A kill of the process loses figures, and records of refreshes that had nothing to do.

    Args:
        write: Writes rows.
        now_ms: The current instant, milliseconds since the epoch, UTC.
        covered: Whether a manager's lease shows that the streams of this process run. Otherwise
            each of them must have a row a minute.
    """

    def __init__(self, write: Write, now_ms: Callable[[], int], *, covered: bool = False) -> None:
        self._write = write
        self._now_ms = now_ms
        self.covered = covered
        self._rows: dict[str, _Row] = {}
        self._written_ms = 0
        self._lock = Lock()
        self._writing = Lock()

    def changed(self, job: Job, table: Register | None = None) -> None:
        """Keep a row about a change of state until the next write."""
        self._keep(_Row(job, table, is_change=True))

    def progressed(self, job: Job, table: Register | None = None) -> None:
        """Keep a row with new figures, also those of its table, for up to a minute."""
        self._keep(_Row(job, table, is_change=False))

    def drop(self, job_id: str) -> None:
        """Drop the row of a job, if one waits: a later one was written without it."""
        with self._lock:
            self._rows.pop(job_id, None)

    def waiting(self) -> tuple[Job, ...]:
        """Return the jobs whose rows are not written yet, in the order they came."""
        with self._lock:
            return tuple(row.job for row in self._rows.values())

    def write_due(self) -> None:
        """Write all waiting rows if one of them must not wait longer; raises as `write`."""
        with self._lock:
            has_changes = any(row.is_change for row in self._rows.values())
            has_waited = self._now_ms() - self._written_ms >= FIGURES_MS
        if has_changes or has_waited:
            self.write()

    def write(self) -> None:
        """Write the rows that wait now, in order; rows that come meanwhile wait for the next call.

        Raises:
            Exception: The log could not be written; rows that were not written still wait.
        """
        with self._writing:
            self._write_waiting()

    def write_apart(self, pause_ms: int) -> None:
        """Write as `write`, unless another call does so now or did so within a time.

        A caller of many is not held up by rows of the others.
        """
        if self._now_ms() - self._written_ms < pause_ms or not self._writing.acquire(
            blocking=False
        ):
            return
        try:
            self._write_waiting()
        finally:
            self._writing.release()

    def _write_waiting(self) -> None:
        # As many as wait now: while others come as fast as they are written, this would not end.
        left = len(self.waiting())
        while left > 0 and (rows := self._first()):
            left -= len(rows)
            # A restarted stream writes rows of the same table; the newest one counts.
            tables = {row.table.definition.name: row.table for row in rows if row.table}
            self._write(*(row.job for row in rows), tables=list(tables.values()))
            self._forget(rows)

    def _keep(self, row: _Row) -> None:
        with self._lock:
            before = self._rows.pop(row.job.job_id, row)
            table, is_change = row.table or before.table, row.is_change or before.is_change
            self._rows[row.job.job_id] = _Row(row.job, table, is_change)

    def _first(self) -> list[_Row]:
        with self._lock:
            return list(self._rows.values())[:MOST_ROWS]

    def _forget(self, rows: Sequence[_Row]) -> None:
        with self._lock:
            for row in rows:
                if self._rows.get(row.job.job_id) is row:
                    del self._rows[row.job.job_id]
            self._written_ms = self._now_ms()


class LocalProcesses:
    """Reads the processes of this machine only.

    If the system has `/proc` (Linux), a process is identified by its number, its start time and the
    namespace of the number. So a reused number or a process of another container is not taken for
    it. On other systems the number alone counts, and on Windows no process counts as gone.
    """

    def owner(self) -> Owner:
        """Return this process."""
        pid = os.getpid()
        return Owner(_host(), pid, _identity(pid), _user())

    def is_gone(self, owner: Owner) -> bool:
        """Whether `owner` has certainly ended; False for a process of another machine."""
        if owner.host != _host() or sys.platform == "win32":
            return False
        here = _identity(os.getpid())
        if here.partition(" ")[0] != owner.process.partition(" ")[0]:  # another namespace
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
    """Return namespace and start of a process; empty without `/proc`, or without the process."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - Path would resolve the link
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"{namespace} {stat.rpartition(')')[2].split()[_START_TIME]}"
