"""Runs refreshes in a few threads: one per table at a time, upstream before downstream.

A run never holds up another table for long: it waits for its upstream tables, where these are due
at the same time, only up to a bound.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from threading import Condition
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.asked_refresh import AskedRefresh

    Execute = Callable[[Callable[[], None]], object]
    """Runs an action somewhere else, soon."""

IDLE_MS = 60_000
"""How long the dispatcher sleeps at most when nothing is pending."""


@dataclass(frozen=True, slots=True)
class Run:
    """A refresh that shall be run.

    Args:
        table: Of which table.
        asked: What was asked for.
        ready_at_ms: Before when it must not begin, milliseconds since the epoch, UTC.
        patience_ms: How long behind that it waits for upstream tables at most.
        replaces: Whether it makes up for every run of the table that is pending: a run over the
            newest state of the sources does, one for certain partitions does not.
    """

    table: TableName
    asked: AskedRefresh
    ready_at_ms: int
    patience_ms: int = 0
    replaces: bool = False


@dataclass(slots=True)
class _Queue:
    pending: deque[Run] = field(default_factory=deque)
    is_running: bool = False


class Dispatcher:
    """Decides which pending run comes next.

    Args:
        perform: Carries a run out, and returns the one that tries it again; it never raises.
        execute: Runs an action in one of a pool's threads.
        most: How many runs at a time.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(
        self,
        perform: Callable[[Run], Run | None],
        execute: Execute,
        most: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._perform = perform
        self._execute = execute
        self._most = most
        self._now_ms = now_ms
        self._queues: dict[TableName, _Queue] = {}
        self._upstream: Mapping[TableName, frozenset[TableName]] = {}
        self._changed = Condition()
        self._running = 0
        self._is_closed = False

    @property
    def running(self) -> int:
        """How many runs are under way."""
        return self._running

    def is_running(self, table: TableName) -> bool:
        """Whether a run of the table is under way."""
        queue = self._queues.get(table)
        return queue is not None and queue.is_running

    def order_by(self, upstream: Mapping[TableName, frozenset[TableName]]) -> None:
        """Tell which tables come before which."""
        with self._changed:
            self._upstream = upstream

    def submit(self, run: Run) -> None:
        """Add a run; it begins when its time has come."""
        with self._changed:
            if self._is_closed:
                return
            queue = self._queues.setdefault(run.table, _Queue())
            if run.replaces:
                kept = (each for each in queue.pending if not each.replaces)
                queue.pending = deque(kept)
            queue.pending.append(run)
            self._changed.notify_all()

    def withdraw(self, table: TableName) -> None:
        """Take every pending run of a table back; one that is under way goes on."""
        with self._changed:
            if table in self._queues:
                self._queues[table].pending.clear()

    def pump(self) -> int:
        """Begin every run that may begin now.

        Returns:
            Milliseconds until another one may.
        """
        with self._changed:
            now = self._now_ms()
            while self._running < self._most and (run := self._next(now)) is not None:
                queue = self._queues[run.table]
                queue.pending.remove(run)
                queue.is_running = True
                self._running += 1
                self._execute(partial(self._run, run))
            return self._pause(now)

    def work(self) -> None:
        """Begin runs until closed; for a thread of its own."""
        while not self._is_closed:
            pause_ms = self.pump()
            with self._changed:
                if not self._is_closed:
                    self._changed.wait(max(pause_ms, 1) / 1000)

    def close(self, within_s: float) -> bool:
        """Begin nothing more, and wait for what is under way.

        Args:
            within_s: The longest time to wait, in seconds.

        Returns:
            Whether everything has ended by then.
        """
        with self._changed:
            self._is_closed = True
            for queue in self._queues.values():
                queue.pending.clear()
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._running == 0, within_s)

    def _run(self, run: Run) -> None:
        again: Run | None = None
        try:
            again = self._perform(run)
        finally:
            with self._changed:
                queue = self._queues[run.table]
                queue.is_running = False
                self._running -= 1
                if again is not None and not self._is_closed and not _is_made_up_for(again, queue):
                    queue.pending.appendleft(again)
                self._changed.notify_all()

    def _next(self, now: int) -> Run | None:
        ready = (
            queue.pending[0]
            for queue in self._queues.values()
            if queue.pending and not queue.is_running and queue.pending[0].ready_at_ms <= now
        )
        in_order = sorted(ready, key=lambda run: run.ready_at_ms)
        return next((run for run in in_order if not self._must_wait(run, now)), None)

    def _must_wait(self, run: Run, now: int) -> bool:
        """Whether an upstream table is about to be refreshed, and there is still time to wait."""
        if now >= run.ready_at_ms + run.patience_ms:
            return False
        return any(self._is_due(name, now) for name in self._upstream.get(run.table, ()))

    def _is_due(self, table: TableName, now: int) -> bool:
        queue = self._queues.get(table)
        if queue is None:
            return False
        return queue.is_running or any(run.ready_at_ms <= now for run in queue.pending)

    def _pause(self, now: int) -> int:
        times = [
            at
            for queue in self._queues.values()
            if queue.pending and not queue.is_running
            for run in (queue.pending[0],)
            for at in (run.ready_at_ms, run.ready_at_ms + run.patience_ms)
            if at > now
        ]
        return min([at - now for at in times], default=IDLE_MS)


def _is_made_up_for(again: Run, queue: _Queue) -> bool:
    """Whether a newer run that is pending does what a failed one should have done."""
    return again.replaces and any(run.replaces for run in queue.pending)
