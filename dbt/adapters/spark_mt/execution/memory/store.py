"""Finds materialized tables in a catalog in memory, and lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.table_state import Found, Missing, Stranger
from dbt.adapters.spark_mt.execution.identification import Table, identify, published_definition
from dbt.adapters.spark_mt.execution.memory.literals import literal_value
from dbt.adapters.spark_mt.execution.memory.tables import VersionedTable, View
from dbt.adapters.spark_mt.execution.ports import RegistryEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.definition import QueryContext, StoredDefinition
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.memory.catalog import MemoryCatalog
    from dbt.adapters.spark_mt.planning.steps import Register


class MemoryTableStore:
    """Looks at tables themselves, never at the registry."""

    def __init__(self, catalog: MemoryCatalog, context: Callable[[], QueryContext]) -> None:
        self._catalog = catalog
        self._context = context

    def full_name(self, name: TableName) -> TableName:
        """Complete `name` with the current catalog and schema."""
        context = self._context()
        return name.within(context.catalog, context.schema)

    def find(self, name: TableName) -> Found:
        """Return what stands under the full name `name`."""
        relation = self._catalog.get(name)
        if relation is None:
            return Missing(name)
        if isinstance(relation, View):
            return Stranger(name, "view")
        if not isinstance(relation, VersionedTable):
            return Stranger(name, "parquet table")
        table = Table(
            name=name,
            identity=lambda: relation.identity,
            properties=dict(relation.newest.properties),
            clustered_by=relation.newest.clustered_by,
            commits=relation.backwards,
            columns=lambda: relation.newest.columns,
        )
        return identify(table)

    def castable(self, literal: str, type_: str) -> bool:
        """Whether the SQL literal has a value of the type."""
        try:
            literal_value(literal, type_)
        except ValueError:
            return False
        return True

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        """Return the published definition of `name`, or None if it is no materialized table."""
        table = self._catalog.table(name)
        return published_definition(dict(table.newest.properties), name) if table else None


class MemoryRegistry:
    """Lists materialized tables without looking at each."""

    def __init__(self, catalog: MemoryCatalog, now_ms: Callable[[], int]) -> None:
        self._catalog = catalog
        self._now_ms = now_ms
        self._entries: dict[TableName, RegistryEntry] = {}

    def record(self, step: Register) -> None:
        """Write a table's row."""
        definition = step.definition
        at = step.refresh.started_at_ms if step.refresh else None
        self._entries[definition.name] = RegistryEntry(
            name=definition.name,
            table_id=definition.table_id,
            refresh_mode=definition.resolved.refresh_mode.value,
            freshness=definition.resolved.freshness.sql,
            status=definition.status.value,
            last_refresh_at_ms=at,
            lag_seconds=None if at is None else 0,
            recorded_at_ms=self._now_ms(),
        )

    def remove(self, name: TableName) -> None:
        """Remove a table's row."""
        self._entries.pop(name, None)

    def entries(self, catalog: str, schema: str) -> tuple[RegistryEntry, ...]:
        """Return the tables of one schema that exist, ordered by name."""
        there = (
            entry
            for name, entry in self._entries.items()
            if (name.catalog, name.schema) == (catalog, schema) and self._catalog.get(name)
        )
        return tuple(sorted(there, key=lambda entry: entry.name.name))
