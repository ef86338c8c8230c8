"""Loading of materialized tables from a catalog in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import FoundTable, Missing, UnmanagedTable
from dbt.adapters.spark_mt.execution.table_loader import (
    Table,
    identify,
    plain_table,
    published_definition,
)
from tests.support.memory.literals import literal_value
from tests.support.memory.table_format import format_of
from tests.support.memory.tables import VersionedTable, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import QueryContext, TableName
    from dbt.adapters.spark_mt.definition.definition import PlainTable, StoredDefinition
    from tests.support.memory.catalog import MemoryCatalog


class MemoryTableStore:
    """Looks at tables themselves, never at the registry."""

    def __init__(self, catalog: MemoryCatalog, context: Callable[[], QueryContext]) -> None:
        self._catalog = catalog
        self._context = context

    def full_name(self, name: TableName) -> TableName:
        """Complete `name` with the current catalog and schema."""
        context = self._context()
        return name.within(context.catalog, context.schema)

    def why_not_created(self, name: TableName) -> str:
        """Return why no table of the name can be created: as Spark's own catalog."""
        return "" if name.name.replace("_", "").isalnum() else f"{name.name} is no valid name"

    def find(self, name: TableName) -> FoundTable:
        """Return the table or view of the full name `name`."""
        relation = self._catalog.get(name)
        if relation is None:
            return Missing(name)
        if isinstance(relation, View):
            return UnmanagedTable(name, "view")
        if not isinstance(relation, VersionedTable):
            return UnmanagedTable(name, "parquet table")
        return identify(_seen(name, relation))

    def is_newest(self, name: TableName, version: int) -> bool:
        """Whether a version of a table is its newest."""
        table = self._catalog.table(name)
        return table is not None and table.version == version

    def forget(self) -> None:
        """Nothing is remembered here."""

    def plain(self, name: TableName) -> PlainTable | None:
        """Return the plain table with versions under the full name `name`, if it is one."""
        relation = self._catalog.table(name)
        if relation is None or not isinstance(self.find(name), UnmanagedTable):
            return None
        return plain_table(_seen(name, relation), relation.newest.partitioned_by)

    def castable(self, literal: str, type_: str) -> bool:
        """Whether the SQL literal has a value of the type."""
        try:
            literal_value(literal, type_)
        except ValueError:
            return False
        return True

    def is_empty(self, name: TableName) -> bool:
        """Whether a table that is there has no rows."""
        table = self._catalog.table(name)
        return table is None or not table.newest.rows

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        """Return the published definition of `name`, or None if it is no materialized table."""
        table = self._catalog.table(name)
        return published_definition(dict(table.newest.properties), name) if table else None


def _seen(name: TableName, table: VersionedTable) -> Table:
    return Table(
        name=name,
        format=format_of(name),
        identity=lambda: table.identity,
        properties=dict(table.newest.properties),
        clustered_by=table.newest.clustered_by,
        commits=table.backwards,
        columns=lambda: table.newest.columns,
    )
