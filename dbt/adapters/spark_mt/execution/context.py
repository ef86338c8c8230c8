"""Execution context: sequential and parallel work, progress and cancellation."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.job import Owner
    from dbt.adapters.spark_mt.execution.deferred_rows import DeferredRows
    from dbt.adapters.spark_mt.execution.ports import JobLog

    Action = Callable[[], None]


FIRST_HEARTBEAT_S = 2.0
"""Duration of a refresh before its first row of the log; a faster one costs no extra commit."""
HEARTBEAT_S = 20.0


class RunBoth(Protocol):
    """Runs two actions, both to the end."""

    def __call__(self, background: Action, main: Action) -> None:
        """Run `background`, which never raises, and `main`, and wait until both ended.

        Raises:
            Exception: The exception of `main`.
        """
        ...


def run_sequential(background: Action, main: Action) -> None:
    """Run `main`, then `background`."""
    try:
        main()
    finally:
        background()


def run_parallel(background: Action, main: Action) -> None:
    """Run both at the same time, `background` in a thread of its own."""
    thread = Thread(target=background, name="materialized-table-log", daemon=True)
    thread.start()
    try:
        main()
    finally:
        thread.join()


class RunningHeartbeat(Protocol):
    """A heartbeat that runs until it is stopped."""

    def stop(self) -> None:
        """End it; no beat is running when this returns. May be called again."""
        ...


class Heartbeat(Protocol):
    """Starts heartbeats."""

    def __call__(self, beat: Action) -> RunningHeartbeat:
        """Call `beat`, which never raises, after a delay and then repeatedly."""
        ...


class Processes(Protocol):
    """Identifies this process, and the processes of this machine that have ended."""

    def owner(self) -> Owner:
        """Return this process."""
        ...

    def is_gone(self, owner: Owner) -> bool:
        """Whether `owner` has certainly ended; False for a process of another machine."""
        ...


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """Execution and records of a connection's statements.

    Args:
        log: The log of refreshes.
        deferred: Rows about hosted streams of this process that are not written yet.
        processes: Identifies the process that writes the rows.
        heartbeat: Records repeatedly that a refresh is still running.
        run_both: Runs the writes of records and the other work, one after the other or in parallel.
        is_cancellation: Whether an error means that a user stopped the statement.
    """

    log: JobLog
    deferred: DeferredRows
    processes: Processes
    heartbeat: Heartbeat
    run_both: RunBoth
    is_cancellation: Callable[[BaseException], bool]


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
        return _HeartbeatThread(beat, self._first_s, self._every_s)


class _HeartbeatThread:
    def __init__(self, beat: Action, first_s: float, every_s: float) -> None:
        self._stopped = Event()
        self._thread = Thread(
            target=self._run,
            args=(beat, first_s, every_s),
            name="materialized-table-heartbeat",
            daemon=True,
        )
        self._thread.start()

    def _run(self, beat: Action, first_s: float, every_s: float) -> None:
        pause = first_s
        while not self._stopped.wait(pause):
            beat()
            pause = every_s

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
