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
"""How long a refresh runs before the log hears of it: a fast one costs no commit more."""
HEARTBEAT_S = 20.0


class RunBoth(Protocol):
    """Carries out two actions, both to the end."""

    def __call__(self, background: Action, main: Action) -> None:
        """Run `background`, which never raises, and `main`, and wait until both ended.

        Raises:
            Exception: Whatever `main` raises.
        """
        ...


def run_sequential(background: Action, main: Action) -> None:
    """Run one after the other; the order is always the same."""
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
    """A heartbeat that goes on until it is stopped."""

    def stop(self) -> None:
        """End it; no beat is under way when this returns. May be called again."""
        ...


class Heartbeat(Protocol):
    """Starts heartbeats."""

    def __call__(self, beat: Action) -> RunningHeartbeat:
        """Call `beat`, which never raises, after a while and then again and again."""
        ...


class Processes(Protocol):
    """Knows who we are, and which processes of this machine are gone."""

    def owner(self) -> Owner:
        """Return this process."""
        ...

    def is_gone(self, owner: Owner) -> bool:
        """Whether `owner` certainly runs no more; False for a process of another machine."""
        ...


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """How a connection carries out statements and what it tells about them.

    Args:
        log: Where refreshes are told.
        deferred: Where rows about streams wait that this process hosts.
        processes: Who tells it.
        heartbeat: Tells that a refresh is still under way.
        run_both: Runs what is told beside what is done.
        is_cancellation: Whether an error means that somebody stopped the statement.
    """

    log: JobLog
    deferred: DeferredRows
    processes: Processes
    heartbeat: Heartbeat
    run_both: RunBoth
    is_cancellation: Callable[[BaseException], bool]


class ThreadedHeartbeat:
    """Beats in a thread.

    Args:
        first_s: Seconds until the first beat.
        every_s: Seconds from one beat to the next.
    """

    def __init__(self, first_s: float = FIRST_HEARTBEAT_S, every_s: float = HEARTBEAT_S) -> None:
        self._first_s = first_s
        self._every_s = every_s

    def __call__(self, beat: Action) -> RunningHeartbeat:
        """Start a thread that beats."""
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
