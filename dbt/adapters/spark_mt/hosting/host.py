"""Host: one thread per hosted table, so that no table delays another."""

from __future__ import annotations

from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.positions import reaches
from dbt.adapters.spark_mt.hosting.policy import HostPhase

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.hosting.hosted_table import HostedTable
    from dbt.adapters.spark_mt.hosting.policy import HostProgress


_WAITING_S = 0.05
"""How often whoever waits for a table looks at its progress, which is in memory."""
_POLLS_PER_SECOND = int(1 / _WAITING_S)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A state of the sources that a caller waits for.

    Args:
        positions: Positions that the table's rows must reach.
        left: Positions that the sources have left, as `left_positions`.
        are_comparable: Whether positions are those of the same sources as the wanted ones: the
            versions of a table that was created again count from zero again.
        since_ms: The instant at or after which the host must have looked at the sources, for those
            that have no positions; milliseconds since the epoch, UTC.
    """

    positions: Positions
    left: Positions = field(default_factory=dict)
    are_comparable: Callable[[Positions], bool] = lambda _: True
    since_ms: int = 0

    def is_met(self, progress: HostProgress) -> bool:
        """Whether a table that does so well reflects it."""
        positions = progress.positions
        if positions is None or progress.checked_at_ms < self.since_ms:
            return False
        return reaches(positions, self.positions, self.left) and self.are_comparable(positions)


class Host:
    """Keeps tables fresh in this process.

    Args:
        hosted: Makes the refresh of a table, with ports of its own.
    """

    def __init__(self, hosted: Callable[[TableName], HostedTable]) -> None:
        self._hosted = hosted
        self._lock = Lock()
        self._threads: dict[TableName, _Hosting] = {}
        self._leaving: list[_Hosting] = []

    def start(self, name: TableName) -> None:
        """Keep a table fresh from now on; nothing if it is kept fresh already."""
        with self._lock:
            before = self._threads.get(name)
            if before is None or not before.looks_again():
                self._threads[name] = _Hosting(self._hosted(name))

    def stop(self, name: TableName) -> None:
        """Stop between two batches; the table keeps its rows, and nothing of it changes.

        Raises:
            NotHostedError: It is not kept fresh here.
        """
        self._hosting(name).stop()

    def hosted(self) -> frozenset[TableName]:
        """Return the tables that are kept fresh now."""
        with self._lock:
            return frozenset(n for n, hosting in self._threads.items() if hosting.is_alive)

    def notice(self, name: TableName) -> None:
        """Check at once whether a table was changed; do nothing if it is not hosted."""
        with self._lock:
            hosting = self._threads.get(name)
        if hosting is not None:
            hosting.table.notice()
            hosting.wake()

    def forget(self, name: TableName) -> None:
        """Stop a table without waiting for it, and forget how it did; nothing if it never was.

        Whoever hosts it next is safe from what the old thread still does: the fence decides.
        """
        with self._lock:
            hosting = self._threads.pop(name, None)
            self._leaving = [each for each in self._leaving if each.is_alive]
            if hosting is not None:
                self._leaving.append(hosting)
        if hosting is not None:
            hosting.ask_to_stop()

    def drain(self, within_s: float) -> bool:
        """Wait for tables that were forgotten to come to the end of their batches.

        Args:
            within_s: The longest time to wait, in seconds.

        Returns:
            Whether all of them have.
        """
        until = monotonic() + within_s
        with self._lock:
            leaving = tuple(self._leaving)
        return all(hosting.has_ended_by(until) for hosting in leaving)

    def progress(self, name: TableName) -> HostProgress:
        """Return how a table does.

        Raises:
            NotHostedError: It was never kept fresh here.
        """
        return self._hosting(name).table.progress

    def await_fresh(self, name: TableName, wanted: Wanted, timeout_s: float) -> HostProgress:
        """Wait until a table reflects a state of its sources.

        Args:
            name: The table.
            wanted: The state.
            timeout_s: The longest time to wait, in seconds.

        Raises:
            NotHostedError: It is not kept fresh here.
            NotFreshError: It does not within the time, or cannot.
        """
        hosting = self._hosting(name)
        ticks = hosting.ticks
        hosting.wake()
        for look in range(max(1, int(timeout_s / _WAITING_S))):
            progress = hosting.table.progress
            if wanted.is_met(progress):
                return progress
            checked_since = hosting.ticks > ticks + 1 or not hosting.is_alive
            if checked_since and progress.phase in {HostPhase.SUSPENDED, HostPhase.ENDED}:
                break
            hosting.pause(_WAITING_S)
            if progress.phase is HostPhase.STREAMING and look % _POLLS_PER_SECOND == 0:
                hosting.wake()
        progress = hosting.table.progress
        problem = f": {progress.problem}" if progress.problem else ""
        raise conditions.NOT_FRESH(
            table=name, phase=progress.phase.value, problem=problem, seconds=timeout_s
        )

    def close(self) -> None:
        """Stop everything."""
        with self._lock:
            hostings = list(self._threads.values())
        for hosting in hostings:
            hosting.ask_to_stop()
        for hosting in hostings:
            hosting.stop()

    def _hosting(self, name: TableName) -> _Hosting:
        with self._lock:
            hosting = self._threads.get(name)
        if hosting is None:
            raise conditions.NOT_HOSTED(table=name)
        return hosting


@dataclass(slots=True)
class _Hosting:
    table: HostedTable
    ticks: int = 0
    _woken: Event = field(default_factory=Event)
    _stopped: Event = field(default_factory=Event)
    _ending: Lock = field(default_factory=Lock)
    _has_ended: bool = False
    _must_check: bool = False
    _thread: Thread = field(init=False)

    def __post_init__(self) -> None:
        name = f"materialized-table-host {self.table.progress.table}"
        self._thread = Thread(target=partial(copy_context().run, self._run), name=name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def wake(self) -> None:
        self._woken.set()

    def looks_again(self) -> bool:
        """Let it look at the table once more, even if it is about to find that there is none.

        Returns:
            Whether it will: not after it has ended.
        """
        with self._ending:
            self._must_check = self.is_alive and not self._has_ended
            return self._must_check and not self._stopped.is_set()

    def pause(self, seconds: float) -> None:
        self._stopped.wait(seconds)

    def ask_to_stop(self) -> None:
        self._stopped.set()
        self._woken.set()
        self.table.leave()

    def stop(self) -> None:
        self.ask_to_stop()
        self._thread.join()

    def has_ended_by(self, until: float) -> bool:
        self._thread.join(max(0.0, until - monotonic()))
        return not self.is_alive

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.clear()
            with self._ending:
                self._must_check = False
            pause_ms = self.table.tick()
            self.ticks += 1
            if pause_ms < 0:
                if self._ends():
                    return
                continue
            if pause_ms and not self._stopped.is_set():
                self._woken.wait(pause_ms / 1000)
        self.table.end()

    def _ends(self) -> bool:
        """Whether no caller has asked for the table since the tick began that found it gone."""
        with self._ending:
            self._has_ended = not self._must_check
            return self._has_ended
