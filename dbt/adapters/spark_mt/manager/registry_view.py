"""Registry rows of a catalog in memory, updated at little cost, and table lineage.

The log of refreshes buffers the rows of refreshes that wrote nothing, and writes them in one
commit.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import Missing, StoredTable, UnmanagedTable
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.context import DeferredRows
from dbt.adapters.spark_mt.execution.errors import SystemTableGoneError, problem_of
from dbt.adapters.spark_mt.execution.jobs import with_effective_status
from dbt.adapters.spark_mt.planning.steps import Unregister, plan_registration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import KnownTable, ManagedJobLog, ManagedRegistry
    from dbt.adapters.spark_mt.manager.table_views import RefreshStatistics
    from dbt.adapters.spark_mt.planning.steps import Register


def upstream_first(tables: Iterable[KnownTable]) -> tuple[KnownTable, ...]:
    """Return tables so that each comes after those that it reads; otherwise in the given order.

    Tables that read each other, which only rows of different times can say, keep their order.
    """
    by_name = {str(table.name): table for table in tables}
    ordered: dict[str, KnownTable] = {}
    visited: set[str] = set()
    for start, table in by_name.items():
        stack = [(start, iter(table.reads))]  # no recursion: a chain may be long
        visited.add(start)
        while stack:
            name, sources = stack[-1]
            following = next((s for s in sources if s in by_name and s not in visited), None)
            if following is None:
                ordered.setdefault(name, by_name[name])
                stack.pop()
            else:
                visited.add(following)
                stack.append((following, iter(by_name[following].reads)))
    return tuple(ordered.values())


def upstream_of(tables: Iterable[KnownTable]) -> dict[TableName, frozenset[TableName]]:
    """Return the materialized tables that each table reads, directly or through others."""
    by_name = {str(table.name): table for table in tables}
    found: dict[TableName, frozenset[TableName]] = {}
    for table in upstream_first(by_name.values()):
        direct = {by_name[s].name for s in table.reads if s in by_name and s != str(table.name)}
        further = (found.get(name, frozenset()) for name in direct)
        found[table.name] = frozenset(direct).union(*further)
    return found


_REMEMBERED = 10_000


class BufferedJobLog:
    """The log of refreshes of a manager: rows that may wait are written together.

    A thousand tables that are looked at each hour would otherwise cost a thousand commits. What is
    lost when the process is killed is written again: such a run is then still due. Until then a
    caller of this object reads kept rows as if they were written.

    Args:
        log: Where rows go.
        statistics: Takes every row in at once.
        now_ms: Milliseconds since the epoch, UTC.
        leads: Whether the lease of this process shows that its refreshes run, so that their
            heartbeats may wait.

    Attributes:
        deferred: What waits; rows of hosted streams come here.
    """

    def __init__(
        self,
        log: ManagedJobLog,
        statistics: RefreshStatistics,
        now_ms: Callable[[], int],
        leads: Callable[[], bool] = lambda: False,
    ) -> None:
        self._log = log
        self._statistics = statistics
        self._leads = leads
        self._begun: set[str] = set()
        """The running refreshes that have a row."""
        self._newest: OrderedDict[str, Job] = OrderedDict()
        """The newest row of each of the last refreshes of this process: clients poll them."""
        self._lock = Lock()
        self.now_ms = now_ms
        self._of_jobs_alone: deque[int] = deque(maxlen=_REMEMBERED)
        self.deferred = DeferredRows(self._write, now_ms, covered=True)

    def append(self, *jobs: Job, tables: Sequence[Register] = ()) -> int:
        """Write rows about jobs and tables, or keep those that may wait."""
        self._statistics.note(jobs)
        self._remember(*jobs)
        now = [job for job in jobs if not self._is_deferred(job)]
        if not now and not tables:
            return -1
        try:
            version = self._log.append(*now, tables=tables)
        except Exception:
            for job in now:  # no lease may show that a refresh runs which has ended
                if job.status is not JobStatus.RUNNING:
                    self.deferred.changed(job)
            raise
        for job in now:
            if job.status is not JobStatus.RUNNING:
                self.deferred.drop(job.job_id)
        return version

    def accept(self, job: Job) -> None:
        """Keep the row of an accepted refresh; it is written with those of others."""
        self._remember(job)
        self.deferred.changed(job)

    def forget(self, job_id: str) -> None:
        """Read a refresh from the log from now on: another manager carries it out."""
        self._newest.pop(job_id, None)

    def _remember(self, *jobs: Job) -> None:
        with self._lock:
            for job in jobs:
                self._newest[job.job_id] = job
                self._newest.move_to_end(job.job_id)
            while len(self._newest) > _REMEMBERED:
                self._newest.popitem(last=False)

    def _is_deferred(self, job: Job) -> bool:
        """Whether the row of a job may wait, and does so now."""
        if job.status is not JobStatus.RUNNING:
            self._begun.discard(job.job_id)
            if job.status is not JobStatus.SKIPPED or job.scheduled_at_ms is None:
                return False
            self.deferred.progressed(job)
            return True
        is_first = job.job_id not in self._begun
        self._begun.add(job.job_id)
        if not self._leads() or (is_first and job.creates):  # others must see who creates a table
            return False
        (self.deferred.changed if is_first else self.deferred.progressed)(job)
        return True

    def settle(self, last: Job) -> None:
        """Write the last row of a run with the next tick, unless one has been written already."""
        self._statistics.note([last])
        kept = self._kept(last.job_id)
        found = kept
        if kept is None or kept.status is JobStatus.RUNNING:
            try:
                found = self._log.job(last.table.catalog or "", last.job_id)
            except Exception as problem:  # noqa: BLE001 - to write the end twice is better than never
                _LOGGER.warning("the log of refreshes could not be read: %s", problem_of(problem))
        if found is None or found.status is JobStatus.RUNNING:
            found = last
            self.deferred.changed(last)
        elif kept is found:
            self.deferred.changed(found)
        else:  # the row that waits is older
            self.deferred.drop(last.job_id)
        self._remember(found)

    def flush(self) -> None:
        """Write what must not wait any longer.

        Raises:
            Exception: The log could not be written; what was kept is kept for the next time.
        """
        self.deferred.write_due()

    def close(self) -> None:
        """Write whatever was kept.

        Raises:
            Exception: The log could not be written.
        """
        self.deferred.write()

    def knows(self, version: int) -> bool:
        """Whether a version of the registry has nothing but rows about jobs that came from here."""
        return version in self._of_jobs_alone

    def jobs(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs with a heartbeat since an instant."""
        return self._log.jobs(catalog, since_ms)

    def job(self, catalog: str, job_id: str) -> Job | None:
        """Return one job, or None if there is no such job."""
        newest = self._newest.get(job_id) or self._kept(job_id)
        is_of = newest is not None and newest.table.catalog == catalog
        return newest if is_of else self._log.job(catalog, job_id)

    def _kept(self, job_id: str) -> Job | None:
        return next((job for job in self.deferred.waiting() if job.job_id == job_id), None)

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables that have not ended."""
        found = {job.job_id: job for job in self._log.running(catalog, schema, since_ms)}
        kept = (job for job in self.deferred.waiting() if job.table.schema == schema)
        found |= {job.job_id: job for job in kept if job.table.catalog == catalog}
        return tuple(job for job in found.values() if job.status is JobStatus.RUNNING)

    def accepted(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the refreshes that were accepted and have not begun, the oldest first."""
        found = {job.job_id: job for job in self._log.accepted(catalog, since_ms)}
        found |= {j.job_id: j for j in self.deferred.waiting() if j.table.catalog == catalog}
        waiting = (job for job in found.values() if job.status is JobStatus.RUNNING and job.request)
        return tuple(sorted(waiting, key=lambda job: job.started_at_ms))

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table."""
        return self._log.newest(catalog, per_table, since_ms)

    def of_table(self, name: TableName, limit: int) -> tuple[Job, ...]:
        """Return the newest jobs of a table, the newest first."""
        found = {job.job_id: job for job in self._log.of_table(name, limit)}
        found |= {job.job_id: job for job in self.deferred.waiting() if job.table == name}
        return tuple(sorted(found.values(), key=lambda job: -job.started_at_ms)[:limit])

    def last_scheduled(self, catalog: str) -> Mapping[TableName, int]:
        """Return the newest scheduled time of each table that was run for."""
        found = dict(self._log.last_scheduled(catalog))
        for job in self.deferred.waiting():
            if job.table.catalog == catalog and job.scheduled_at_ms is not None:
                found[job.table] = max(job.scheduled_at_ms, found.get(job.table, 0))
        return found

    def _write(self, *jobs: Job, tables: Sequence[Register]) -> None:
        self._statistics.note(jobs)
        version = self._log.append(*jobs, tables=tables)
        if version >= 0 and not tables:
            self._of_jobs_alone.append(version)


_LOGGER = logging.getLogger(__name__)
_DONE = frozenset({JobStatus.FINISHED, JobStatus.SKIPPED})
_PER_TABLE = 30
_REMEMBERED_MS = 7 * 24 * 3600 * 1000
_LONGEST_PAUSE_MS = 60_000
"""What a sweep makes up for at most: it must not delay the first tick after a pause."""
_MOST_KNOWN = 1_000
_NOT_READ = -2
_SKEW_MS = 60_000
"""How much clocks of processes that write the log may differ, for what is read again."""


class CatalogView:
    """Reads the registry when it has changed, and repairs rows that turn out to be wrong."""

    def __init__(
        self,
        catalog: str,
        environment: Environment,
        registry: ManagedRegistry,
        log: BufferedJobLog,
        statistics: RefreshStatistics,
    ) -> None:
        self._catalog = catalog
        self._env = environment
        self._registry = registry
        self._log = log
        self._statistics = statistics
        self._version = _NOT_READ
        self._names: dict[str, tuple[int, tuple[str, ...]]] = {}
        """By schema, the version of the registry at which they were read."""
        self._read_jobs_ms = 0
        self._to_sweep: list[TableName] = []
        self._swept_ms = environment.now_ms()
        self._to_check: deque[TableName] = deque()
        self.tables: Mapping[TableName, KnownTable] = {}
        self.last_scheduled: Mapping[TableName, int] = {}

    def read(self) -> bool:
        """Read what has changed since the last call.

        Returns:
            Whether anything has.

        Raises:
            SystemTableGoneError: The registry was there.
        """
        self._env.store.forget()
        version = self._registry.version(self._catalog)
        if version < 0 <= self._version:  # what runs continues: the tables may be there
            registry = f"{self._catalog}.materialized_table_system.registry"
            raise SystemTableGoneError(table=registry)
        if self._knows_all(self._version, version):
            self._version = version
            return False
        known = upstream_first(self._registry.tables(self._catalog))
        self.tables = {table.name: table for table in known}
        self._read_jobs()
        self._statistics.keep(self.tables)
        self._version = version
        return True

    @property
    def is_read(self) -> bool:
        """Whether the registry was read, so that it can be asked for tables."""
        return self._version != _NOT_READ

    def names(self, schema: str) -> tuple[str, ...]:
        """Return the names of a schema's tables as the registry has them now; for any thread."""
        version = self._registry.version(self._catalog)
        since, names = self._names.get(schema, (_NOT_READ, ()))
        if not self._knows_all(since, version):
            entries = self._env.registry.entries(self._catalog, schema)
            names = tuple(entry.name.name for entry in entries)
        self._names[schema] = version, names
        return names

    def _knows_all(self, since: int, version: int) -> bool:
        """Whether nothing came after a version but what is known."""
        later = range(since + 1, version + 1)
        return -1 <= since <= version <= since + _MOST_KNOWN and all(map(self._log.knows, later))

    def prepare_to_lead(self) -> None:
        """Read how far schedules have come, and which open jobs are over, for a new leader.

        A job of the leader before it may be over though no row says so.
        """
        self._swept_ms = self._env.now_ms()
        found = self._log.last_scheduled(self._catalog)
        self.last_scheduled = {name: at for name, at in found.items() if name in self.tables}
        self._statistics.note((), lambda job: with_effective_status(job, self._env))

    def check_again(self, name: TableName) -> None:
        """Let the next sweep look at a table first; for any thread."""
        self._to_check.append(name)

    def repair(self, name: TableName) -> bool:
        """Look at a table itself, and correct its row in the registry.

        Returns:
            Whether it was wrong.
        """
        self._env.store.forget()
        found, known = self._env.store.find(name), self.tables.get(name)
        if isinstance(found, Missing | UnmanagedTable):
            if known is not None:
                self._env.runner.run(Unregister(name))
            return known is not None
        if not isinstance(found, StoredTable) or (known and _agrees(known, found)):
            return False
        self._env.runner.run(plan_registration(found))
        return True

    def sweep(self, every_ms: int) -> None:
        """Compare the next few tables with their rows; one that cannot be read holds up no other.

        Args:
            every_ms: In which time every table is to be looked at.
        """
        while self._to_check:
            self._check_table(self._to_check.popleft())
        for _ in range(self._owed(every_ms)):
            if not self._to_sweep:
                self._to_sweep = list(self._registry.known(self._catalog))
            self._check_table(self._to_sweep.pop())

    def _owed(self, every_ms: int) -> int:
        """How many tables the time since the last call is for; what is left over counts on."""
        now, count = self._env.now_ms(), len(self.tables)
        if count == 0:
            self._swept_ms = now
            return 0
        each_ms = -(-every_ms // count)
        since = max(self._swept_ms, now - each_ms - _LONGEST_PAUSE_MS)
        owed = min(count, (now - since) // each_ms)
        self._swept_ms = since + owed * each_ms
        return owed

    def _check_table(self, name: TableName) -> None:
        try:
            if self.repair(name):
                _LOGGER.info("the registry's row of %s was corrected", name)
        except Exception as error:  # noqa: BLE001 - the next sweep tries it again
            _LOGGER.warning("%s could not be looked at: %s", name, problem_of(error))

    def _read_jobs(self) -> None:
        now = self._env.now_ms()
        if self._read_jobs_ms:
            jobs = self._log.jobs(self._catalog, self._read_jobs_ms - _SKEW_MS)
        else:
            jobs = self._log.newest(self._catalog, _PER_TABLE, now - _REMEMBERED_MS)
        self._statistics.note(jobs, lambda job: with_effective_status(job, self._env))
        self._read_jobs_ms = now
        # Schedules of tables that are gone are forgotten: a new one of the name has its own.
        found = {name: at for name, at in self.last_scheduled.items() if name in self.tables}
        for job in jobs:
            if job.status in _DONE and job.scheduled_at_ms and job.table in self.tables:
                found[job.table] = max(job.scheduled_at_ms, found.get(job.table, 0))
        self.last_scheduled = found


def _agrees(known: KnownTable, found: StoredTable) -> bool:
    """Whether a row agrees with the table in what concerns hosts and schedules."""
    definition = found.definition
    there = (definition.table_id, definition.generation, definition.status)
    return (known.table_id, known.generation, known.status) == there and (
        known.refresh_mode is definition.resolved.refresh_mode
    )
