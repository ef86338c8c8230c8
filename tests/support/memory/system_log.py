"""Registry of tables and log of refreshes in memory."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobStatus, Owner
from dbt.adapters.spark_mt.execution.jobs import KEPT_MS
from dbt.adapters.spark_mt.execution.ports import RegistryEntry
from dbt.adapters.spark_mt.execution.repair import known_table
from tests.support.memory.tables import gap_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.ports import KnownTable
    from dbt.adapters.spark_mt.planning.steps import Register
    from tests.support.memory.catalog import MemoryCatalog


class MemorySystemLog:
    """Lists materialized tables and refreshes without looking at each.

    Attributes:
        appended: Every row about a job, in the order they were written.
    """

    def __init__(self, catalog: MemoryCatalog, now_ms: Callable[[], int]) -> None:
        self.appended: list[Job] = []
        self._catalog = catalog
        self._now_ms = now_ms
        self._entries: dict[TableName, RegistryEntry] = {}
        self._jobs: dict[str, Job] = {}
        self._known: dict[TableName, KnownTable] = {}
        self._handlers: dict[TableName, bytes] = {}
        self._recorded_ms: dict[TableName, int] = {}
        self._versions: list[int] = []
        self._lock = RLock()

    def record(self, step: Register) -> None:
        """Write a table's row, and that of the refresh which made its newest commit."""
        self.append(*([step.job] if step.job else []), tables=[step])

    def _record(self, step: Register) -> None:
        """Rows of a table count by the time that they have, not by that of their writing."""
        definition, recorded_ms = step.definition, step.at_ms or self._now_ms()
        if recorded_ms < self._recorded_ms.get(definition.name, 0):
            return
        self._recorded_ms[definition.name] = recorded_ms
        self._known[definition.name] = known_table(step, recorded_ms)
        at = step.refresh.started_at_ms if step.refresh else None
        self._entries[definition.name] = RegistryEntry(
            name=definition.name,
            table_id=definition.table_id,
            refresh_mode=definition.resolved.refresh_mode.value,
            freshness=definition.resolved.freshness.sql,
            status=definition.status.value,
            last_refresh_at_ms=at,
            recorded_at_ms=recorded_ms,
        )

    def remove(self, name: TableName) -> None:
        """Remove a table's row."""
        self.make_version()
        self._recorded_ms[name] = self._now_ms()
        self._known.pop(name, None)
        self._entries.pop(name, None)

    def version(self, catalog: str) -> int:  # noqa: ARG002 - all catalogs of a test share it
        """Return the version of the newest commit."""
        return self._versions[-1] if self._versions else -1

    @property
    def commits(self) -> int:
        """How many commits were made."""
        return len(self._versions)

    def previous(self, catalog: str, version: int) -> int | None:  # noqa: ARG002 - as above
        """Return the version before one."""
        at = self._versions.index(version) if version in self._versions else None
        return None if at is None else [-1, *self._versions][at]

    def make_version(self) -> int:
        """Make a commit, as that of another process, and return its version."""
        gap = gap_of(self.commits)
        self._versions.append(self.version("") + gap)
        return self._versions[-1]

    def tables(self, catalog: str) -> tuple[KnownTable, ...]:
        """Return the newest row of every table that was not dropped, ordered by name."""
        with self._lock:
            known = [table for name, table in self._known.items() if name.catalog == catalog]
        return tuple(sorted(known, key=lambda table: str(table.name)))

    def record_handlers(self, catalog: str, handlers: Mapping[TableName, bytes]) -> None:  # noqa: ARG002 - the names hold it
        """Record by whom tables are refreshed from now on."""
        self.make_version()
        self._handlers.update(handlers)

    def handler(self, name: TableName) -> bytes:
        """Return the serialized refresh handler of a table."""
        return self._handlers.get(name, b"")

    def handlers(self, catalog: str) -> Mapping[TableName, bytes]:
        """Return the refresh handlers that were recorded last."""
        return {
            n: recorded
            for n, recorded in self._handlers.items()
            if recorded and n.catalog == catalog
        }

    def known(self, catalog: str) -> tuple[TableName, ...]:
        """Return every table of a catalog that was recorded and not dropped, ordered by name."""
        return tuple(sorted((n for n in self._entries if n.catalog == catalog), key=str))

    def entries(self, catalog: str, schema: str) -> tuple[RegistryEntry, ...]:
        """Return the tables of one schema that exist, ordered by name."""
        there = (
            entry
            for name, entry in self._entries.items()
            if (name.catalog, name.schema) == (catalog, schema) and self._catalog.get(name)
        )
        return tuple(sorted(there, key=lambda entry: entry.name.name))

    def knows(self, name: TableName) -> bool:
        """Whether there is a row for `name`, also where no such table exists any more."""
        return name in self._entries

    def append(self, *jobs: Job, tables: Sequence[Register] = ()) -> int:
        """Write a row about each job and each table, as one commit."""
        with self._lock:
            version = self.make_version()
            for step in tables:
                self._record(step)
            for job in jobs:
                self._append(job)
            return version

    def _append(self, job: Job) -> None:
        self.appended.append(job)
        kept = job.last_heartbeat_ms - KEPT_MS
        found = {**self._jobs, job.job_id: job}
        self._jobs = {key: each for key, each in found.items() if each.last_heartbeat_ms >= kept}

    def jobs(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs with a heartbeat since an instant, the newest start first."""
        found = [job for job in self._of(catalog) if job.last_heartbeat_ms >= since_ms]
        return tuple(sorted(found, key=lambda job: -job.started_at_ms))

    def accepted(self, catalog: str, since_ms: int) -> tuple[Job, ...]:
        """Return the refreshes that were accepted since and have not begun, the oldest first."""
        found = self.jobs(catalog, since_ms)
        return tuple(j for j in found if j.status is JobStatus.RUNNING and j.request)[::-1]

    def newest(self, catalog: str, per_table: int, since_ms: int) -> tuple[Job, ...]:
        """Return the newest jobs of each table with a heartbeat since an instant."""
        by_table: dict[TableName, list[Job]] = {}
        for job in self.jobs(catalog, since_ms):
            by_table.setdefault(job.table, []).append(job)
        return tuple(job for jobs in by_table.values() for job in jobs[:per_table])

    def of_table(self, name: TableName, limit: int) -> tuple[Job, ...]:
        """Return the newest jobs of a table, the newest first."""
        return tuple(j for j in self.jobs(name.catalog or "", 0) if j.table == name)[:limit]

    def last_scheduled(self, catalog: str) -> dict[TableName, int]:
        """Return the newest scheduled time of each table that was run for."""
        found: dict[TableName, int] = {}
        for job in self._of(catalog):
            if job.status in {JobStatus.FINISHED, JobStatus.SKIPPED} and job.scheduled_at_ms:
                found[job.table] = max(job.scheduled_at_ms, found.get(job.table, 0))
        return found

    def job(self, catalog: str, job_id: str) -> Job | None:
        """Return one job, or None if there is no such job."""
        return next((job for job in self._of(catalog) if job.job_id == job_id), None)

    def running(self, catalog: str, schema: str, since_ms: int) -> tuple[Job, ...]:
        """Return the jobs of a schema's tables with a heartbeat since, and have not ended."""
        return tuple(
            job
            for job in self._of(catalog)
            if job.table.schema == schema
            and job.status is JobStatus.RUNNING
            and job.last_heartbeat_ms >= since_ms
        )

    def _of(self, catalog: str) -> list[Job]:
        return [job for job in self._jobs.values() if job.table.catalog == catalog]


class MemoryProcesses:
    """Processes that are gone when they are said to be.

    Attributes:
        gone: The owners that run no more.
    """

    def __init__(self) -> None:
        self.gone: set[Owner] = set()

    def owner(self) -> Owner:
        """Return this process."""
        return Owner("memory", 1, user="somebody")

    def is_gone(self, owner: Owner) -> bool:
        """Whether `owner` runs no more."""
        return owner in self.gone
