"""What the manager knows of a catalog: the registry's rows, kept current at little cost."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.table_state import Missing, StoredTable
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.holds import judged
from dbt.adapters.spark_mt.planning.planner import plan_registration
from dbt.adapters.spark_mt.planning.steps import Unregister
from dbt.adapters.spark_mt.service.lineage import upstream_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.execution.ports import ManagedJobLog, ManagedRegistry
    from dbt.adapters.spark_mt.service.tally import Tally

_LOGGER = logging.getLogger(__name__)
_PER_TABLE = 30
_REMEMBERED_MS = 7 * 24 * 3600 * 1000
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
    """

    def __init__(
        self,
        catalog: str,
        environment: Environment,
        registry: ManagedRegistry,
        log: ManagedJobLog,
        tally: Tally,
    ) -> None:
        self._catalog = catalog
        self._env = environment
        self._registry = registry
        self._log = log
        self._tally = tally
        self._version = -2
        self._read_jobs_ms = 0
        self._swept: list[TableName] = []
        self.tables: Mapping[TableName, KnownTable] = {}
        self.last_scheduled: Mapping[TableName, int] = {}

    def read(self) -> bool:
        """Read what has changed since the last call.

        Returns:
            Whether anything has.
        """
        self._env.store.forget()
        version = self._registry.version(self._catalog)
        if version == self._version:
            return False
        known = upstream_first(self._registry.tables(self._catalog))
        for name in self.tables.keys() - {table.name for table in known}:
            self._tally.forget(name)
        self.tables = {table.name: table for table in known}
        self._read_jobs()
        self._version = version
        return True

    def read_all_anew(self) -> None:
        """Forget what was read, and read how far schedules have come: for a new leader."""
        self._version, self._read_jobs_ms = -2, 0
        self.last_scheduled = self._log.last_scheduled(self._catalog)

    def repair(self, name: TableName) -> bool:
        """Look at a table itself, and correct its row in the registry.

        Returns:
            Whether it was wrong.
        """
        self._env.store.forget()
        found, known = self._env.store.find(name), self.tables.get(name)
        if isinstance(found, Missing):
            self._env.runner.run(Unregister(name))
            return True
        if not isinstance(found, StoredTable) or known is None or _agrees(known, found):
            return False
        self._env.runner.run(plan_registration(found))
        return True

    def sweep(self, part: float) -> None:
        """Compare the next few tables with their rows; one that cannot be read holds up no other.

        Args:
            part: Which part of all tables to look at.
        """
        if not self._swept:
            self._swept = list(self.tables)
        count = max(1, round(part * len(self.tables))) if self._swept else 0
        for _ in range(min(count, len(self._swept))):
            name = self._swept.pop()
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
        self._read_jobs_ms = now


def _agrees(known: KnownTable, found: StoredTable) -> bool:
    """Whether a row tells what concerns hosts and schedules as it is."""
    definition = found.definition
    there = (definition.table_id, definition.generation, definition.status)
    return (known.table_id, known.generation, known.status) == there and (
        known.refresh_mode is definition.resolved.refresh_mode
    )
