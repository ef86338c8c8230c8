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


FIRST_BEAT_S = 2.0
"""How long a refresh runs before the log hears of it: a fast one costs no commit more."""
BEAT_S = 20.0


class Beside(Protocol):
    """Carries out two actions, both to the end."""

    def __call__(self, aside: Action, main: Action) -> None:
        """Run `aside`, which never raises, and `main`; both have ended when this returns or raises.

        Raises:
            Exception: Whatever `main` raises.
        """
        ...


def in_turn(aside: Action, main: Action) -> None:
    """Run one after the other; the order is always the same."""
    try:
        main()
    finally:
        aside()


def together(aside: Action, main: Action) -> None:
    """Run both at the same time, `aside` in a thread of its own."""
    thread = Thread(target=aside, name="materialized-table-log", daemon=True)
    thread.start()
    try:
        main()
    finally:
        thread.join()


class Beating(Protocol):
    """A heartbeat that goes on until it is stopped."""

    def stop(self) -> None:
        """End it; no beat is under way when this returns. May be called again."""
        ...


class Heartbeat(Protocol):
    """Starts heartbeats."""

    def __call__(self, beat: Action) -> Beating:
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
class Conduct:
    """How a connection carries out statements and what it tells about them.

    Args:
        log: Where refreshes are told.
        deferred: Where rows about streams wait that this process hosts.
        processes: Who tells it.
        heartbeat: Tells that a refresh is still under way.
        beside: Runs what is told beside what is done.
        is_cancellation: Whether an error means that somebody stopped the statement.
    """

    log: JobLog
    deferred: DeferredRows
    processes: Processes
    heartbeat: Heartbeat
    beside: Beside
    is_cancellation: Callable[[BaseException], bool]


class ThreadedHeartbeat:
    """Beats in a thread.

    Args:
        first_s: Seconds until the first beat.
        every_s: Seconds from one beat to the next.
    """

    def __init__(self, first_s: float = FIRST_BEAT_S, every_s: float = BEAT_S) -> None:
        self._first_s = first_s
        self._every_s = every_s

    def __call__(self, beat: Action) -> Beating:
        """Start a thread that beats."""
        return _BeatingThread(beat, self._first_s, self._every_s)


class _BeatingThread:
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
