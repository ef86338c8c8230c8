"""Runs refreshes in a few threads: one per table at a time, upstream before downstream.

A run never holds up another table for long: it waits for its upstream tables, where these are due
at the same time, only up to a bound.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
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
        is_submitted: Whether somebody asked for this very run and knows its name, who is told when
            it does not begin.
    """

    table: TableName
    asked: AskedRefresh
    ready_at_ms: int
    patience_ms: int = 0
    replaces: bool = False
    is_submitted: bool = False

    @property
    def keeps_order(self) -> bool:
        """Whether it must not begin before older ones that are tried again."""
        return not self.replaces and not self.is_submitted


@dataclass(slots=True)
class _Queue:
    pending: deque[Run] = field(default_factory=deque)
    is_running: bool = False

    def first_ready(self, now: int) -> Run | None:
        """Return the run that may begin; those for partitions begin in their order."""
        if self.is_running:
            return None
        blocked = False
        for run in self.pending:
            if run.ready_at_ms <= now and not (blocked and run.keeps_order):
                return run
            blocked = blocked or run.keeps_order
        return None


class Dispatcher:
    """Decides which pending run comes next.

    Args:
        perform: Carries a run out, and returns the one that tries it again; it never raises.
        execute: Runs an action in one of a pool's threads.
        most: How many runs at a time.
        now_ms: The current instant, milliseconds since the epoch, UTC.
        withdrawn: Takes each submitted run that will not begin.
    """

    def __init__(
        self,
        perform: Callable[[Run], Run | None],
        execute: Execute,
        most: int,
        now_ms: Callable[[], int],
        withdrawn: Callable[[Run], None] = lambda _: None,
    ) -> None:
        self._perform = perform
        self._execute = execute
        self._most = most
        self._now_ms = now_ms
        self._withdrawn = withdrawn
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
            if not self._is_closed:
                self._add(run)
                return
        if run.is_submitted:
            self._withdrawn(run)

    def withdraw(self, table: TableName) -> None:
        """Take every pending run of a table back; one that is under way goes on."""
        self._take_back(table, lambda _: True)

    def withdraw_scheduled(self, table: TableName) -> None:
        """Take back what a schedule asked for; what people asked for stays."""
        self._take_back(table, lambda run: not run.is_submitted)

    def hasten(self, table: TableName) -> None:
        """Try at once what waits to be tried again: the table was changed."""
        with self._changed:
            queue, now = self._queues.get(table), self._now_ms()
            if queue is not None:
                soon = (replace(r, ready_at_ms=min(r.ready_at_ms, now)) for r in queue.pending)
                queue.pending = deque(soon)
                self._changed.notify_all()

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
        with self._changed:
            while not self._is_closed:
                self._changed.wait(max(self.pump(), 1) / 1000)

    def close(self, within_s: float) -> bool:
        """Begin nothing more, and wait for what is under way.

        Args:
            within_s: The longest time to wait, in seconds.

        Returns:
            Whether everything has ended by then.
        """
        with self._changed:
            self._is_closed = True
            tables = tuple(self._queues)
            self._changed.notify_all()
        for table in tables:
            self.withdraw(table)
        with self._changed:
            return self._changed.wait_for(lambda: self._running == 0, within_s)

    def _add(self, run: Run) -> None:
        queue = self._queues.setdefault(run.table, _Queue())
        if run.replaces:
            queue.pending = deque(each for each in queue.pending if not each.replaces)
        queue.pending.append(run)
        self._changed.notify_all()

    def _take_back(self, table: TableName, chosen: Callable[[Run], bool]) -> None:
        with self._changed:
            queue = self._queues.get(table)
            if queue is None:
                return
            taken = [run for run in queue.pending if chosen(run)]
            queue.pending = deque(run for run in queue.pending if not chosen(run))
            self._tidy(table)
        for run in taken:
            if run.is_submitted:
                self._withdrawn(run)

    def _tidy(self, table: TableName) -> None:
        queue = self._queues[table]
        if not queue.pending and not queue.is_running:
            del self._queues[table]

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
                self._tidy(run.table)
                self._changed.notify_all()

    def _next(self, now: int) -> Run | None:
        found = (queue.first_ready(now) for queue in self._queues.values())
        ready = sorted((run for run in found if run is not None), key=lambda run: run.ready_at_ms)
        return next((run for run in ready if not self._must_wait(run, now)), None)

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
            if not queue.is_running
            for run in queue.pending
            for at in (run.ready_at_ms, run.ready_at_ms + run.patience_ms)
            if at > now
        ]
        return min([at - now for at in times], default=IDLE_MS)


def _is_made_up_for(again: Run, queue: _Queue) -> bool:
    """Whether a newer run that is pending does what a failed one should have done."""
    return again.replaces and any(run.replaces for run in queue.pending)
