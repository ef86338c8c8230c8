"""A scheduler whose clock is moved by hand: a week passes in a second."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

import time_machine

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.execution.workflows import (
    CreatePeriodicRefreshWorkflow,
    DeleteRefreshWorkflow,
    SchedulerContext,
    SuspendRefreshWorkflow,
)
from dbt.adapters.spark_mt.planning.schedule import Schedule
from dbt.adapters.spark_mt.scheduler.embedded import EmbeddedScheduler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.execution.workflows import DueRun

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


class Run(NamedTuple):
    """A due run, and when it was submitted."""

    table: str
    scheduled_at: datetime
    at: datetime


class World:
    """A process with a scheduler; `restart` is the next process."""

    def __init__(self, traveller: time_machine.Traveller) -> None:
        self.traveller = traveller
        self.runs: list[Run] = []
        self.restart()

    def restart(self) -> None:
        """Begin a process that knows nothing."""
        self.scheduler = EmbeddedScheduler(SchedulerContext(self._submit, now))

    def _submit(self, due: DueRun) -> None:
        self.runs.append(Run(due.table.name, due.scheduled_at, now()))

    def create(self, *args, **kwargs):
        """Create a workflow, and submit what is due."""
        handler = self.scheduler.create_refresh_workflow(workflow(*args, **kwargs))
        self.scheduler.run_due()
        return handler

    def suspend(self, handler) -> None:
        """Suspend a workflow."""
        self.scheduler.modify_refresh_workflow(SuspendRefreshWorkflow(handler))

    def delete(self, handler) -> None:
        """Delete a workflow."""
        self.scheduler.delete_refresh_workflow(DeleteRefreshWorkflow(handler))

    def live_until(self, text: str) -> None:
        """Let the time pass; the loop calls the scheduler when it asked for that."""
        end = at(text)
        while (pause := self.scheduler.run_due()) <= (end - now()).total_seconds():
            self.traveller.move_to(now() + timedelta(seconds=pause))
        self.traveller.move_to(end)
        self.scheduler.run_due()

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
