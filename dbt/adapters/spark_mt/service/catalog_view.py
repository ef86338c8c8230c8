"""What the manager knows of a catalog: the registry's rows, kept current at little cost."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.definition.table_state import Missing, StoredTable, Stranger
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.holds import judged
from dbt.adapters.spark_mt.planning.planner import plan_registration
from dbt.adapters.spark_mt.planning.steps import Unregister
from dbt.adapters.spark_mt.service.lineage import upstream_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.execution.ports import ManagedJobLog, ManagedRegistry
    from dbt.adapters.spark_mt.service.tally import Tally

_LOGGER = logging.getLogger(__name__)
_DONE = frozenset({JobStatus.FINISHED, JobStatus.SKIPPED})
_PER_TABLE = 30
_REMEMBERED_MS = 7 * 24 * 3600 * 1000
_LONGEST_PAUSE_MS = 60_000
"""What a sweep makes up for at most: it must not hold up a look after a pause."""
_SKEW_MS = 60_000
"""How much clocks of processes that write the log may differ, for what is read again."""


class CatalogView:
    """Reads the registry when it has changed, and repairs rows that turn out to be wrong.

    Args:
        catalog: Its name.
        environment: The ports.
        registry: The registry.
        log: The log of refreshes.
        tally: Takes in what became of refreshes.
        own_words: Returns how many rows were written that tell nothing of tables and refreshes:
            this manager's renewals of its lease.
    """

    def __init__(  # noqa: PLR0913 - it is made in one place
        self,
        catalog: str,
        environment: Environment,
        registry: ManagedRegistry,
        log: ManagedJobLog,
        tally: Tally,
        *,
        own_words: Callable[[], int] = int,
    ) -> None:
        self._catalog = catalog
        self._env = environment
        self._registry = registry
        self._log = log
        self._tally = tally
        self._version, self._words = -2, 0
        self._own_words = own_words
        self._read_jobs_ms = 0
        self._to_sweep: list[TableName] = []
        self._swept_ms = environment.now_ms()
        self._doubted: deque[TableName] = deque()
        self.tables: Mapping[TableName, KnownTable] = {}
        self.last_scheduled: Mapping[TableName, int] = {}

    def read(self) -> bool:
        """Read what has changed since the last call.

        Returns:
            Whether anything has.
        """
        self._env.store.forget()
        words, version = self._own_words(), self._registry.version(self._catalog)
        nothing_new = version == self._version + words - self._words
        self._words = words
        if nothing_new:
            self._version = version
            return False
        known = upstream_first(self._registry.tables(self._catalog))
        self.tables = {table.name: table for table in known}
        self._read_jobs()
        self._tally.keep(self.tables)
        self._version = version
        return True

    def read_all_anew(self) -> None:
        """Forget what was read, and read how far schedules have come: for a new leader."""
        self._version, self._read_jobs_ms = -2, 0
        self._swept_ms = self._env.now_ms()
        self.last_scheduled = self._log.last_scheduled(self._catalog)

    def doubt(self, name: TableName) -> None:
        """Let the next sweep look at a table first; for any thread."""
        self._doubted.append(name)

    def repair(self, name: TableName) -> bool:
        """Look at a table itself, and correct its row in the registry.

        Returns:
            Whether it was wrong.
        """
        self._env.store.forget()
        found, known = self._env.store.find(name), self.tables.get(name)
        if isinstance(found, Missing | Stranger):
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
        while self._doubted:
            self._look_at(self._doubted.popleft())
        for _ in range(self._owed(every_ms)):
            if not self._to_sweep:
                self._to_sweep = list(self.tables)
            self._look_at(self._to_sweep.pop())

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

    def _look_at(self, name: TableName) -> None:
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
        self._tally.note(jobs, lambda job: judged(job, self._env))
        self._note_scheduled(jobs)
        self._read_jobs_ms = now

    def _note_scheduled(self, jobs: Iterable[Job]) -> None:
        """Schedules of tables that are gone are forgotten: a new one of the name has its own."""
        found = {name: at for name, at in self.last_scheduled.items() if name in self.tables}
        for job in jobs:
            if job.status in _DONE and job.scheduled_at_ms and job.table in self.tables:
                found[job.table] = max(job.scheduled_at_ms, found.get(job.table, 0))
        self.last_scheduled = found


def _agrees(known: KnownTable, found: StoredTable) -> bool:
    """Whether a row tells what concerns hosts and schedules as it is."""
    definition = found.definition
    there = (definition.table_id, definition.generation, definition.status)
    return (known.table_id, known.generation, known.status) == there and (
        known.refresh_mode is definition.resolved.refresh_mode
    )
