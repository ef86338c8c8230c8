"""Rows of the registry of a catalog in memory, updated at little cost."""

from __future__ import annotations

import logging
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import Missing, StoredTable, UnmanagedTable
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.jobs import with_effective_status
from dbt.adapters.spark_mt.planning.lineage import upstream_first
from dbt.adapters.spark_mt.planning.steps import Unregister, plan_registration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import KnownTable, ManagedRegistry
    from dbt.adapters.spark_mt.manager.buffered_log import BufferedJobLog
    from dbt.adapters.spark_mt.manager.table_views import RefreshStatistics

_LOGGER = logging.getLogger(__name__)

_DONE = frozenset({JobStatus.FINISHED, JobStatus.SKIPPED})

_PER_TABLE = 30

_REMEMBERED_MS = 7 * 24 * 3600 * 1000

_LONGEST_PAUSE_MS = 60_000
"""What a sweep makes up for at most: it must not delay the first tick after a pause."""

_MOST_READ = 20
"""How many commits of this process are checked one by one: each costs a read of a small file."""

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
        self._lock = Lock()
        self._seen = _NOT_READ
        """The version of the registry up to which its commits were checked."""
        self._changes = 0
        """How often these had more than rows about jobs of this process."""
        self._read_changes = 0
        self._names: dict[str, tuple[int, tuple[str, ...]]] = {}
        """By schema, after how many of these changes they were read."""
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
            MaterializedTableError: The registry was there.
        """
        self._env.store.forget()
        version, changes = self._checked()
        if version < 0 <= self._version:  # what runs continues: the tables may be there
            registry = f"{self._catalog}.materialized_table_system.registry"
            raise conditions.SYSTEM_TABLE_GONE(table=registry)
        if changes == self._read_changes:
            self._version = version
            return False
        known = {str(each.name): each for each in self._registry.tables(self._catalog)}
        order = upstream_first({name: each.reads for name, each in known.items()})
        self.tables = {known[name].name: known[name] for name in order}
        self._read_jobs()
        self._statistics.keep(self.tables)
        self._version, self._read_changes = version, changes
        return True

    @property
    def is_read(self) -> bool:
        """Whether the registry was read, so that it can be asked for tables."""
        return self._version != _NOT_READ

    def names(self, schema: str) -> tuple[str, ...]:
        """Return the names of a schema's tables as the registry has them now; for any thread."""
        _, changes = self._checked()
        since, names = self._names.get(schema, (0, ()))
        if since != changes:
            entries = self._env.registry.entries(self._catalog, schema)
            names = tuple(entry.name.name for entry in entries)
        self._names[schema] = changes, names
        return names

    def _checked(self) -> tuple[int, int]:
        """Return the newest version of the registry, and how often more than our jobs changed it.

        The first call counts as a change.
        """
        with self._lock:
            version = self._registry.version(self._catalog)
            if not self._is_ours(version):
                self._changes += 1
            self._seen = version
            return version, self._changes

    def _is_ours(self, version: int) -> bool:
        """Whether the commits up to a version, since the last check, are about our jobs alone.

        They are checked from the newest one back: only the history knows which commit came before
        another one.
        """
        at: int | None = version
        for _ in range(_MOST_READ):
            if at is None or at == self._seen or not self._log.knows(at):
                break
            at = self._registry.previous(self._catalog, at)
        return at == self._seen

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
