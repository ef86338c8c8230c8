"""Scans and corrections of a catalog in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.planning.steps import Register
    from tests.support.memory.catalog import MemoryCatalog
    from tests.support.memory.system_log import MemorySystemLog


class MemoryScan:
    """Lists what a catalog holds."""

    def __init__(self, catalog: MemoryCatalog) -> None:
        self._catalog = catalog

    def schemas(self, catalog: str) -> tuple[str, ...]:
        """Return the schemas that hold something."""
        found = {n.schema or "" for n in self._catalog.names() if n.catalog == catalog}
        return tuple(sorted(found))

    def tables(self, catalog: str, schema: str) -> tuple[TableName, ...]:
        """Return the full names of the tables and views of a schema."""
        wanted = (catalog, schema)
        return tuple(n for n in self._catalog.names() if (n.catalog, n.schema) == wanted)


class MemoryCorrections:
    """Writes many rows of the registry.

    Attributes:
        commits: How often it wrote.
    """

    def __init__(self, log: MemorySystemLog) -> None:
        self._log = log
        self.commits = 0

    def correct(self, catalog: str, there: Sequence[Register], gone: Sequence[TableName]) -> None:  # noqa: ARG002 - the names hold it
        """Write the rows."""
        self.commits += 1
        for step in there:
            self._log.record(step)
        for name in gone:
            self._log.remove(name)
