"""Rows of the registry, and their repair from the tables.

The registry is an index. Repair trusts none of its rows, and changes no table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.definition import InconsistentTable, StoredTable, Unreadable
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.ports import KnownTable
from dbt.adapters.spark_mt.planning.steps import plan_registration
from dbt.adapters.spark_mt.resolution.options import read_options
from dbt.adapters.spark_mt.resolution.time_zones import SESSION_TIME_ZONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import ManagedRegistry
    from dbt.adapters.spark_mt.planning.steps import Register


def known_table(step: Register, now_ms: int) -> KnownTable:
    """Return the row that a registration writes at an instant (milliseconds, UTC)."""
    definition, refresh = step.definition, step.refresh
    resolved = definition.resolved
    return KnownTable(
        name=definition.name,
        table_id=definition.table_id,
        generation=definition.generation,
        refresh_mode=resolved.refresh_mode,
        declared_refresh_mode=definition.declared.logical_refresh_mode.value,
        freshness=resolved.freshness,
        status=definition.status,
        status_reason=definition.status_reason,
        zone=dict(resolved.context.confs).get(SESSION_TIME_ZONE, "UTC"),
        formatters=tuple(read_options(definition.declared.options).date_formatters),
        reads=tuple(sorted(step.positions or {})),
        derived_from=resolved.derived_from,
        last_refresh_at_ms=refresh.started_at_ms if refresh else None,
        rows=refresh.rows if refresh else None,
        recorded_at_ms=now_ms,
    )


class CatalogScan(Protocol):
    """Lists the contents of a catalog, without the registry."""

    def schemas(self, catalog: str) -> tuple[str, ...]:
        """Return the schemas of a catalog."""

    def tables(self, catalog: str, schema: str) -> tuple[TableName, ...]:
        """Return the full names of the tables and views of a schema."""


class Corrections(Protocol):
    """Writes many rows of the registry."""

    def correct(self, catalog: str, there: Sequence[Register], gone: Sequence[TableName]) -> None:
        """Write the rows of existing tables and of those that are gone, in few commits."""


class RepairAction(Enum):
    """The action of a repair on a table's row."""

    REGISTERED = "REGISTERED"
    """The registry did not have the table."""
    CORRECTED = "CORRECTED"
    """The registry's row differed from the table itself."""
    UNREGISTERED = "UNREGISTERED"
    """The materialized table no longer exists."""
    FAILED = "FAILED"
    """The table, or its schema, could not be read; its row stays."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair for one table; tables whose row was right have none.

    Args:
        table: The full name; of a schema that could not be listed, that of the schema.
        problem: Why it failed; empty otherwise.
    """

    table: str
    action: RepairAction
    problem: str = ""


class Repairs:
    """Compares every table of a catalog with the registry.

    Args:
        environment: The ports.
        registry: The registry.
        scan: Lists the tables of a catalog.
        corrections: Writes the missing and wrong rows.
    """

    def __init__(
        self,
        environment: Environment,
        registry: ManagedRegistry,
        scan: CatalogScan,
        corrections: Corrections,
    ) -> None:
        self._env = environment
        self._registry = registry
        self._scan = scan
        self._corrections = corrections

    def repair(self, catalog: str) -> tuple[Repaired, ...]:
        """Write the rows that are missing or wrong, and remove those of tables that are gone.

        A table that cannot be read is in the result, and does not stop the repair of others.

        Args:
            catalog: The catalog of the registry.

        Returns:
            The tables whose rows were changed and those that failed, ordered by name.

        Raises:
            Exception: The catalog cannot be listed, or the registry not be read or written.
        """
        self._env.store.forget()
        look = _CatalogCheck(self._env, self._registry, catalog)
        for schema in self._scan.schemas(catalog):
            try:
                names = self._scan.tables(catalog, schema)
            except Exception as error:  # noqa: BLE001 - reported; the other schemas are read
                look.fail(f"{catalog}.{schema}", error)
                continue
            for name in names:
                look.at(name)
        for name in look.listed - look.seen:
            look.at(name)
        if look.there or look.gone:
            self._corrections.correct(catalog, look.there, look.gone)
        return tuple(sorted(look.done, key=lambda each: each.table))


class _CatalogCheck:
    def __init__(self, environment: Environment, registry: ManagedRegistry, catalog: str) -> None:
        self._env = environment
        self.listed = frozenset(registry.known(catalog))
        self._known = {table.name: table for table in registry.tables(catalog)}
        self.seen: set[TableName] = set()
        self.there: list[Register] = []
        self.gone: list[TableName] = []
        self.done: list[Repaired] = []

    def at(self, name: TableName) -> None:
        self.seen.add(name)
        try:
            found = self._env.store.find(name)
        except Exception as error:  # noqa: BLE001 - reported; the other tables are read
            self.fail(str(name), error)
            return
        if isinstance(found, StoredTable):
            self._register(found)
        elif isinstance(found, Unreadable):
            self.fail(str(name), found.error)
        elif isinstance(found, InconsistentTable):
            self.done.append(Repaired(str(name), RepairAction.FAILED, found.problem))
        elif name in self.listed:
            self.gone.append(name)
            self.done.append(Repaired(str(name), RepairAction.UNREGISTERED))

    def fail(self, name: str, error: Exception) -> None:
        self.done.append(Repaired(name, RepairAction.FAILED, problem_of(error)))

    def _register(self, found: StoredTable) -> None:
        step = plan_registration(found)
        is_listed = found.name in self.listed
        if is_listed and _is_recorded_as(self._known.get(found.name), known_table(step, 0)):
            return
        self.there.append(step)
        action = RepairAction.CORRECTED if is_listed else RepairAction.REGISTERED
        self.done.append(Repaired(str(found.name), action))


def _is_recorded_as(recorded: KnownTable | None, table: KnownTable) -> bool:
    """Whether a row equals that of the table; `rows` is ignored, as not every commit has it."""
    return recorded is not None and replace(recorded, recorded_at_ms=0, rows=table.rows) == table
