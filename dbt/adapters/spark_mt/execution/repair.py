"""Repair: rebuilds the registry from the tables.

The registry is an index. Nothing in it is trusted here, and no table is changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.table_state import InconsistentTable, StoredTable, Unreadable
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.registry_entry import known_table
from dbt.adapters.spark_mt.planning.planner import plan_registration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import ManagedRegistry
    from dbt.adapters.spark_mt.execution.registry_entry import KnownTable
    from dbt.adapters.spark_mt.planning.steps import Register


class CatalogScan(Protocol):
    """Lists what a catalog holds, without the registry."""

    def schemas(self, catalog: str) -> tuple[str, ...]:
        """Return the schemas of a catalog."""
        ...

    def tables(self, catalog: str, schema: str) -> tuple[TableName, ...]:
        """Return the full names of the tables and views of a schema."""
        ...


class Corrections(Protocol):
    """Writes many rows of the registry."""

    def correct(self, catalog: str, there: Sequence[Register], gone: Sequence[TableName]) -> None:
        """Write the rows of tables that are there and of those that are gone, in few commits."""
        ...


class RepairAction(Enum):
    """What became of a table's row."""

    REGISTERED = "REGISTERED"
    """The registry did not know of the table."""
    CORRECTED = "CORRECTED"
    """The registry said something else than the table itself."""
    UNREGISTERED = "UNREGISTERED"
    """There is no such materialized table any more."""
    FAILED = "FAILED"
    """The table, or its schema, could not be read; its row stays."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair did about a table; nothing is said about tables whose row was right.

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
        scan: Lists what is there.
        corrections: Writes what was wrong.
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
        """Write the rows that are missing or wrong, and take out those of tables that are gone.

        A table that cannot be read is named, and holds up no other.

        Args:
            catalog: Whose registry.

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
            except Exception as error:  # noqa: BLE001 - told; the other schemas are looked at
                look.fail(f"{catalog}.{schema}", error)
                continue
            for name in names:
                look.at(name)
        look.at_the_others()
        if look.there or look.gone:
            self._corrections.correct(catalog, look.there, look.gone)
        return tuple(sorted(look.done, key=lambda each: each.table))


class _CatalogCheck:
    def __init__(self, environment: Environment, registry: ManagedRegistry, catalog: str) -> None:
        self._env = environment
        self._listed = frozenset(registry.known(catalog))
        self._known = {table.name: table for table in registry.tables(catalog)}
        self._seen: set[TableName] = set()
        self.there: list[Register] = []
        self.gone: list[TableName] = []
        self.done: list[Repaired] = []

    def at_the_others(self) -> None:
        """Look at the tables that only the registry names."""
        for name in self._listed - self._seen:
            self.at(name)

    def at(self, name: TableName) -> None:
        """Look at what has a name."""
        self._seen.add(name)
        try:
            found = self._env.store.find(name)
        except Exception as error:  # noqa: BLE001 - told; the other tables are looked at
            self.fail(str(name), error)
            return
        if isinstance(found, StoredTable):
            self._register(found)
        elif isinstance(found, Unreadable):
            self.fail(str(name), found.error)
        elif isinstance(found, InconsistentTable):
            self.done.append(Repaired(str(name), RepairAction.FAILED, found.problem))
        elif name in self._listed:
            self.gone.append(name)
            self.done.append(Repaired(str(name), RepairAction.UNREGISTERED))

    def fail(self, name: str, error: Exception) -> None:
        """Note what could not be read."""
        self.done.append(Repaired(name, RepairAction.FAILED, problem_of(error)))

    def _register(self, found: StoredTable) -> None:
        step = plan_registration(found)
        is_listed = found.name in self._listed
        if is_listed and _is_recorded_as(self._known.get(found.name), known_table(step, 0)):
            return
        self.there.append(step)
        action = RepairAction.CORRECTED if is_listed else RepairAction.REGISTERED
        self.done.append(Repaired(str(found.name), action))


def _is_recorded_as(recorded: KnownTable | None, table: KnownTable) -> bool:
    """Whether a row tells what the table does; how many rows it wrote not every commit knows."""
    return recorded is not None and replace(recorded, recorded_at_ms=0, rows=table.rows) == table
