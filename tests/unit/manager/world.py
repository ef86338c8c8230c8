"""A catalog in memory and managers over it, whose clock, timers and threads are moved by hand."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import time_machine

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import NotHostedError
from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.execution.leases import Claim, Leadership
from dbt.adapters.spark_mt.execution.operations import TableOperations, executed
from dbt.adapters.spark_mt.execution.refresh import Refreshes
from dbt.adapters.spark_mt.execution.up_to_date import UpToDateTables
from dbt.adapters.spark_mt.execution.verification import QueuedVerifications, VerificationQueue
from dbt.adapters.spark_mt.execution.workflows import SchedulerContext
from dbt.adapters.spark_mt.hosting.hosted_table import HostedTable
from dbt.adapters.spark_mt.manager.background import TableLags, TableMaintenance
from dbt.adapters.spark_mt.manager.buffered_log import BufferedJobLog
from dbt.adapters.spark_mt.manager.reconciler import Loop, ManagerPolicy, Reconciler, Workers
from dbt.adapters.spark_mt.manager.registry_view import CatalogView
from dbt.adapters.spark_mt.manager.requests import Requests
from dbt.adapters.spark_mt.manager.runs import Dispatcher, Refreshing, Submissions
from dbt.adapters.spark_mt.manager.service import Manager, Parts, Place
from dbt.adapters.spark_mt.manager.table_views import RefreshStatistics, complete_at
from dbt.adapters.spark_mt.manager.workflows import DueRuns, RefreshHandlers, TableWorkflows
from dbt.adapters.spark_mt.planning.steps import Fill
from dbt.adapters.spark_mt.scheduler.embedded import NAME, EmbeddedScheduler
from tests.behaviour.hosting import EVENTS, FIRST, ROWS
from tests.behaviour.memory import MemoryTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CATALOG = "spark_catalog"
UTC = timezone.utc
LIVE = "FRESHNESS = INTERVAL '1' MINUTE"
HOURLY = "FRESHNESS = INTERVAL '1' HOUR REFRESH_MODE = FULL"
DAILY = "FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL"


def utc_now() -> datetime:
    """The clock, which the world sets."""
    return datetime.now(tz=UTC)


class Port:
    """A port that counts what is asked of it, and fails where the test says so.

    Attributes:
        calls: How often each method was called.
        broken: What each method says that is to fail.
    """

    def __init__(self, port: object) -> None:
        self._port = port
        self.calls: Counter[str] = Counter()
        self.broken: dict[str, str] = {}

    def __getattr__(self, name: str):
        method = getattr(self._port, name)

        def call(*args, **kwargs):
            self.calls[name] += 1
            if name in self.broken:
                raise OSError(self.broken[name])
            return method(*args, **kwargs)

        return call


class HandHosting:
    """Hosts whose threads are the test's.

    Attributes:
        started: The tables that were started, in order.
        noticed: Those that were to be looked at.
        refused: Those that cannot be started.
    """

    def __init__(self, hosted: Callable) -> None:
        self._hosted = hosted
        self._tables: dict = {}
        self._ended: set = set()
        self._due: dict = {}
        self.started: list = []
        self.noticed: list = []
        self.refused: set = set()

    def start(self, name) -> None:
        if name.name in self.refused:
            raise OSError(name.name)
        self.started.append(name.name)
        if name in self.hosted():
            return
        self._ended.discard(name)
        self._due.pop(name, None)
        self._tables[name] = self._hosted(name)

    def notice(self, name) -> None:
        self.noticed.append(name.name)
        self._due.pop(name, None)
        self._tables[name].notice()

    def forget(self, name) -> None:
        table = self._tables.pop(name, None)
        if table is not None:
            table.end()

    def drain(self, within_s: float) -> bool:
        return within_s >= 0

    def hosted(self):
        return frozenset(self._tables.keys() - self._ended)

    def progress(self, name):
        if name not in self._tables:
            raise conditions.NOT_HOSTED(table=name)
        return self._tables[name].progress

    def work(self) -> None:
        """Let each hosted table do what is due."""
        now = utc_now()
        for name in self.hosted():
            if now >= self._due.get(name, now):
                pause_ms = self._tables[name].tick()
                self._due[name] = now + timedelta(milliseconds=pause_ms)
                if pause_ms < 0:
                    self.end(name)

    def end(self, name) -> None:
        """A host ends on its own."""
        self._ended.add(name)


class Threads:
    """Runs what is handed to it, at once or when a test calls it."""

    def __init__(self) -> None:
        self.waiting: list = []
        self.at_once = True

    def __call__(self, action) -> None:
        if self.at_once:
            action()
        else:
            self.waiting.append(action)

    def work(self) -> None:
        """Do the oldest."""
        self.waiting.pop(0)()


class ThisProcess:
    """Which process this one is; which are gone, all see alike."""

    def __init__(self, owner, processes) -> None:
        self._owner = owner
        self._processes = processes

    def owner(self):
        return self._owner

    def is_gone(self, owner) -> bool:
        return self._processes.is_gone(owner)


class Conflict:
    """Carries steps out, unless another writer is to be first."""

    def __init__(self, process: Process, runner: Port) -> None:
        self._process = process
        self._runner = runner

    def run(self, step):
        if self._process.conflicts and isinstance(step, Fill):
            self._process.conflicts -= 1
            raise conditions.CONCURRENT_CHANGE(table=step.definition.name)
        return self._runner.run(step)

    def undo(self, step) -> None:
        self._runner.undo(step)


class Process:
    """A process with a manager.

    Attributes:
        conflicts: How many commits of rows are still to lose against another writer.
    """

    def __init__(
        self, world: World, owner: Owner, policy: ManagerPolicy, scheduler=None, scheduler_name=NAME
    ) -> None:
        self.world, self.owner, self.policy = world, owner, policy
        memory = world.tables.memory
        now_ms = world.tables.environment.now_ms
        self.registry, self.leases = Port(memory.log), Port(memory.leases)
        self.log_port, self.runner = Port(memory.log), Port(memory.value.runner)
        self.verifications = VerificationQueue(lambda work: work())
        self.store, self.storage = Port(memory.value.store), memory.storage
        self.statistics = RefreshStatistics(now_ms())
        self.log = BufferedJobLog(
            self.log_port, self.statistics, now_ms, lambda: self.leadership.is_held
        )
        self.threads, self.in_background, self.measuring = Threads(), Threads(), Threads()
        self.took_over = self.conflicts = 0
        self.derived_again: set[str] = set()
        self._build(now_ms, scheduler, scheduler_name)

    def _build(self, now_ms, scheduler, scheduler_name) -> None:
        policy = self.policy
        self.up_to_date = UpToDateTables(
            self.world.tables.memory.value.store, self.world.tables.environment.sources, now_ms
        )
        self.view = CatalogView(CATALOG, self.ports(), self.registry, self.log, self.statistics)
        refreshing = Refreshing(
            self.ports, policy.scheduled, self.view.check_again, now_ms, self.log
        )
        self.dispatcher = Dispatcher(refreshing.perform, self.threads, 4, now_ms, refreshing.cancel)
        submit = DueRuns(self.dispatcher.submit, lambda: self.view.tables, now_ms, policy.patience)
        embedded = EmbeddedScheduler(SchedulerContext(submit, utc_now))
        self.scheduler = Port(scheduler or embedded)
        self.workflows = TableWorkflows(self.scheduler, scheduler_name, utc_now)
        claim = Claim(CATALOG, self.owner, silence_ms=policy.takeover)
        processes = ThisProcess(self.owner, self.world.tables.memory.processes)
        self.leadership = Leadership(self.leases, processes, claim, now_ms)
        submissions = Submissions(
            self.ports,
            self.dispatcher,
            self.log,
            read_time,
            CATALOG,
            lambda: self.leadership.is_held,
        )
        handlers = RefreshHandlers(CATALOG, self.registry, self.owner, self._term, self.workflows)
        self.hosting = HandHosting(self._hosted)
        maintenance = TableMaintenance(self.storage, now_ms, self.in_background)
        states = Port(self.world.tables.environment.states)
        self.lags = TableLags(states, self._complete, now_ms, self.measuring)
        workers = Workers(
            self.hosting,
            self.workflows,
            self.dispatcher,
            submissions,
            handlers,
            maintenance,
            self.lags,
            self.log.flush,
            self._take_over,
        )
        self.reconciler = Reconciler(self.leadership, self.view, workers, policy, self.statistics)
        self.loop = Loop(self.reconciler, embedded.run_due, policy.tick, now_ms)
        self.refreshing, self.submissions = refreshing, submissions
        parts = Parts(
            catalog=CATALOG,
            place=Place(self.owner, "0.1", "4.2.0", "local[2]", "app-1"),
            environment=self.ports,
            operations=lambda: TableOperations(self.ports()),
            carry_out=lambda request, parsed: executed(
                parsed, request.statement, TableOperations(self.ports())
            ),
            carry_out_in=lambda request, parsed, _: executed(
                parsed, request.statement, TableOperations(self.ports())
            ),
            columns=lambda *_: (),
            requests=Requests(),
            log=self.log,
            leadership=self.leadership,
            view=self.view,
            statistics=self.statistics,
            lags=self.lags,
            hosting=self.hosting,
            workflows=self.workflows,
            handlers=handlers,
            dispatcher=self.dispatcher,
            refreshing=refreshing,
            submissions=submissions,
            reconciler=self.reconciler,
            loop=self.loop,
        )
        self.manager = Manager(parts, now_ms)

    def ports(self):
        """Ports of one operation."""
        value = self.world.tables.environment
        processes = ThisProcess(self.owner, self.world.tables.memory.processes)
        execution_context = replace(
            value.execution_context, log=self.log, deferred=self.log.deferred, processes=processes
        )
        runner = Conflict(self, self.runner)
        return replace(
            value,
            store=self.store,
            runner=runner,
            execution_context=execution_context,
            up_to_date=self.up_to_date,
            verifications=QueuedVerifications(self.verifications, self.ports),
        )

    def tick(self) -> None:
        """Look at everything once, and let everything happen that is due."""
        self.loop.tick()
        self.work()

    def work(self) -> None:
        """Let schedules, runs and hosts do what is due."""
        self.loop.run_due()
        self.dispatcher.dispatch()
        self.hosting.work()

    def view_of(self, name: str):
        """What the manager shows of a table."""
        return next(v for v in self.manager.tables() if v.name.rpartition(".")[2] == name)

    def hosted(self) -> set[str]:
        """The tables that it hosts."""
        return {name.name for name in self.hosting.hosted()}

    def job(self, job_id: str):
        """A job as whoever asks the manager sees it."""
        return self.manager.job(job_id)

    def _hosted(self, name):
        environment = self.ports()
        return HostedTable(name, environment, Refreshes(environment), self.policy.hosts)

    def _progress(self, name):
        try:
            return self.hosting.progress(name)
        except NotHostedError:
            return None

    def _complete(self, table):
        return complete_at(table, self.statistics.table(table.name), self._progress(table.name))

    def _term(self) -> int:
        lease = self.leadership.lease
        return lease.term if lease else 0

    def _take_over(self) -> None:
        self.took_over += 1
        self.derived_again = {name.name for name in self.view.tables}


def read_time(text: str, pattern: str, zone: str) -> datetime:
    """As Spark reads it, for the one pattern and the one zone of these tests."""
    assert (pattern, zone) == ("yyyy-MM-dd HH:mm:ss", "UTC")
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class World:
    """A catalog and the managers over it.

    Attributes:
        tables: The session of all others.
    """

    def __init__(self, traveller: time_machine.Traveller) -> None:
        self._traveller = traveller
        self.tables = MemoryTables(clock=utc_now)
        self.processes: list[Process] = []
        self.tables.source("events", EVENTS, FIRST)
        self.learn(ROWS, EVENTS, lambda r: [e[:3] for e in r["events"]])

    def learn(self, query, ddl, evaluate) -> None:
        """Say what a query returns."""
        self.tables.learn(query, ddl, evaluate)

    def execute(self, statement: str):
        """Carry a statement out."""
        return self.tables.execute(statement)

    def create(self, name: str, clauses: str = LIVE, query: str = ROWS) -> None:
        """Create a table."""
        self.execute(f"CREATE MATERIALIZED TABLE {name} {clauses} AS {query}")

    def chain(self, *names: str, clauses: str = LIVE) -> None:
        """Create tables that read each other; the first reads the source."""
        source = "events"
        for name in names:
            query = f"SELECT id, k, v FROM {source}"
            self.learn(query, EVENTS, lambda rows, s=source: [e[:3] for e in rows[s]])
            self.create(name, clauses, query)
            source = name

    def manager(self, pid: int = 1, scheduler=None, scheduler_name=NAME, **policy) -> Process:
        """Start a process with a manager."""
        process = Process(
            self, Owner("node", pid), ManagerPolicy(**policy), scheduler, scheduler_name
        )
        self.processes.append(process)
        return process

    def kill(self, process: Process) -> None:
        """End a process without asking it."""
        self.processes.remove(process)
        self.tables.memory.processes.gone.add(process.owner)

    def move(self, seconds: float) -> None:
        """Let time pass while nothing happens."""
        self._traveller.move_to(utc_now() + timedelta(seconds=seconds))

    def move_to(self, text: str) -> None:
        """Let time pass while nothing happens."""
        self._traveller.move_to(datetime.fromisoformat(text).replace(tzinfo=UTC))

    def live(self, seconds: float, every: float = 5) -> None:
        """Let time pass, and every manager tick."""
        for _ in range(round(seconds / every)):
            self.move(every)
            self.tables.memory.streams.run_batches()
            for process in self.processes:
                process.tick()

    def append(self, *rows: tuple) -> None:
        """Rows arrive in the source."""
        self.tables.append("events", list(rows))

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return len(self.tables.rows(name))

    def jobs(self, name: str, status: str = ""):
        """The rows of the log about a table's jobs that have ended, oldest first."""
        latest = {job.job_id: job for job in self.tables.memory.log.appended}
        found = [job for job in latest.values() if job.table.name == name and job.ended_at_ms]
        return [job for job in found if not status or job.status.value == status]

    def scheduled(self, name: str) -> list[str]:
        """For which scheduled times a table was computed, or had nothing to do."""
        done = [j for j in self.jobs(name) if j.status.value in {"FINISHED", "SKIPPED"}]
        times = [j.scheduled_at_ms for j in done if j.scheduled_at_ms]
        return [f"{datetime.fromtimestamp(at / 1000, tz=UTC):%m-%d %H:%M}" for at in times]

    def status(self, name: str) -> str:
        """The status that is stored."""
        return self.tables.stored(name).definition.status.value


@contextmanager
def world(start: str = "2026-03-02 10:20:00") -> Iterator[World]:
    """Begin at an instant in UTC."""
    begin = datetime.fromisoformat(start).replace(tzinfo=UTC)
    with time_machine.travel(begin, tick=False) as traveller:
        yield World(traveller)
