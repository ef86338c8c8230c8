"""A scheduler whose clock, timer and threads are moved by hand: a week passes in a second."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

import time_machine
from apscheduler.schedulers.base import BaseScheduler

from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.execution.workflows import (
    CreatePeriodicRefreshWorkflow,
    DeleteRefreshWorkflow,
    ResumeRefreshWorkflow,
    SchedulerContext,
    SuspendRefreshWorkflow,
)
from dbt.adapters.spark_mt.planning.schedules import Schedule
from dbt.adapters.spark_mt.scheduler.embedded import EmbeddedScheduler, timer_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dbt.adapters.spark_mt.execution.workflows import Firing

UTC = timezone.utc


def at(text: str) -> datetime:
    """An instant in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def now() -> datetime:
    """The clock of the process, which the simulation sets."""
    return datetime.now(UTC)


def workflow(name="t", freshness="1 hour", zone="UTC", **more) -> CreatePeriodicRefreshWorkflow:
    """An order for a table whose identity is its name."""
    schedule = Schedule(Freshness.parse(freshness), zone)
    return CreatePeriodicRefreshWorkflow(TableName.of("c", "s", name), name, schedule, **more)


class HandTimer(BaseScheduler):
    """APScheduler without a thread of its own."""

    def wakeup(self) -> None:
        """The next step looks anyway."""

    def shutdown(self, wait=True) -> None:  # noqa: FBT002 - APScheduler's
        super().shutdown(wait)

    def step(self) -> float:
        """Call what is due; return for how many seconds nothing is."""
        return self._process_jobs()


class HandPool(Executor):
    """Keeps what is submitted until it is asked to work, in the thread that asks."""

    def __init__(self) -> None:
        self._waiting: deque = deque()
        self._is_shut = False

    def submit(self, call, /, *args, **kwargs):
        assert not self._is_shut
        future: Future = Future()
        self._waiting.append((future, call, args, kwargs))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):  # noqa: ARG002, FBT002 - Executor's
        self._is_shut = True
        while cancel_futures and self._waiting:
            self._waiting.popleft()[0].cancel()

    def work(self) -> None:
        """Do everything, also what is submitted meanwhile."""
        while self._waiting:
            future, call, args, kwargs = self._waiting.popleft()
            future.set_running_or_notify_cancel()
            try:
                future.set_result(call(*args, **kwargs))
            except Exception as error:  # noqa: BLE001 - as a pool of threads does
                future.set_exception(error)


class Run(NamedTuple):
    """A firing, and when it came."""

    table: str
    scheduled_at: datetime
    at: datetime
    firing: Firing


class World:
    """A process with a scheduler; `restart` is the next process."""

    def __init__(self, traveller: time_machine.Traveller) -> None:
        self.traveller = traveller
        self.runs: list[Run] = []
        self.during: Callable[[Firing], None] = lambda _firing: None
        self.restart()

    def restart(self) -> None:
        """Begin a process that knows nothing."""
        self.timer = HandTimer(**timer_options())
        self.pool = HandPool()
        context = SchedulerContext(self._fire, now)
        self.scheduler = EmbeddedScheduler(context, self.timer, self.pool)
        self.scheduler.open()

    def _fire(self, firing: Firing) -> None:
        self.runs.append(Run(firing.table_id, firing.scheduled_at, now(), firing))
        self.during(firing)

    def create(self, *args, **kwargs):
        """Create a workflow, and let it begin."""
        handler = self.scheduler.create_refresh_workflow(workflow(*args, **kwargs))
        self.pool.work()
        return handler

    def suspend(self, handler) -> None:
        """Let a workflow rest."""
        self.scheduler.modify_refresh_workflow(SuspendRefreshWorkflow(handler))
        self.pool.work()

    def resume(self, handler, **more) -> None:
        """Let a workflow go on."""
        self.scheduler.modify_refresh_workflow(ResumeRefreshWorkflow(handler, **more))
        self.pool.work()

    def delete(self, handler) -> None:
        """Forget a workflow."""
        self.scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(handler))

    def live_until(self, text: str) -> None:
        """Let the time pass; the clock stands still while something happens."""
        end = at(text)
        while True:
            wait = self.timer.step()
            self.pool.work()
            target = now() + timedelta(seconds=wait)
            if target > end:
                break
            self.traveller.move_to(target)
        self.traveller.move_to(max(end, now()))  # a slow run may have taken longer
        self.timer.step()
        self.pool.work()

    def sleep_until(self, text: str) -> None:
        """Let the time pass while nothing works, as on a machine that sleeps."""
        self.traveller.move_to(at(text))

    def scheduled(self, table: str = "t") -> list[str]:
        """The scheduled times that were run for, without the year."""
        return [f"{r.scheduled_at:%m-%d %H:%M}" for r in self.runs if r.table == table]


@contextmanager
def world(start: str) -> Iterator[World]:
    """Begin at an instant in UTC."""
    with time_machine.travel(at(start), tick=False) as traveller:
        yield World(traveller)
