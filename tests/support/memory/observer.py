"""Read-only checks of tables in memory."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import CatalogEntry
from dbt.adapters.spark_mt.definition.verification import RowDifference, Side
from dbt.adapters.spark_mt.execution.ports import RowDifferences
from dbt.adapters.spark_mt.execution.table_history import partly_refreshed
from dbt.adapters.spark_mt.planning.steps import ApplyChanges
from tests.support.memory.table_format import format_of

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredTable
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from tests.support.memory.catalog import MemoryCatalog
    from tests.support.memory.content import MemoryContent
    from tests.support.memory.tables import Row, Rows, VersionedTable


class MemoryTableObserver:
    """Compares tables with their queries."""

    def __init__(self, catalog: MemoryCatalog, content: MemoryContent) -> None:
        self._catalog = catalog
        self._content = content

    def catalog_entry(self, name: TableName) -> CatalogEntry:
        """Return comments, properties and clustering of a table that is there."""
        newest, format_ = self._table(name).newest, format_of(name)
        return CatalogEntry(
            comment=newest.comment,
            column_comments={c.name: c.comment for c in newest.columns if c.comment},
            properties=dict(newest.properties),
            clustered_by=newest.clustered_by,
            maintained=frozenset(k for k, _ in newest.properties if format_.is_maintained(k)),
        )

    def is_partly_refreshed(self, table: StoredTable) -> bool:
        """Whether partitions were refreshed to another state of the sources than the rest."""
        return partly_refreshed(self._table(table.name).backwards(), table.positions)

    def differences(
        self,
        table: StoredTable,
        run: RefreshRun,
        limit: int,
        digits: int | None = None,  # noqa: ARG002 - rows in memory have no sums of floats
    ) -> RowDifferences:
        """Compare the rows of a table with those of its query."""
        actual = Counter(self._table(table.name).at(table.version).rows)
        expected = Counter(self._expected(table, run))
        rows = [
            *(_difference(table, Side.MISSING, *item) for item in (expected - actual).items()),
            *(_difference(table, Side.UNEXPECTED, *item) for item in (actual - expected).items()),
        ]
        rows.sort(key=lambda found: found.row)
        return RowDifferences(tuple(rows[:limit]), sum(found.copies for found in rows))

    def _expected(self, table: StoredTable, run: RefreshRun) -> Rows:
        definition, baseline = table.definition, table.definition.baseline
        if baseline is None:
            return self._content.compute(definition, run)[0]
        kept = self._kept(table)
        if definition.declared.primary_key is None or not baseline.keeps_rows:
            return kept + self._content.compute(definition, run, baseline.positions)[0]
        step = ApplyChanges(definition, table.seq, run, baseline.positions)
        return self._content.merged(step, kept)[0]

    def _kept(self, table: StoredTable) -> Rows:
        baseline, width = table.definition.baseline, len(table.definition.resolved.columns)
        if baseline is None or baseline.kept_version is None:
            return ()
        rows = self._table(table.name).at(baseline.kept_version).rows
        return tuple((*row, *(None,) * (width - len(row))) for row in rows)

    def _table(self, name: TableName) -> VersionedTable:
        table = self._catalog.table(name)
        if table is None:
            raise KeyError(str(name))
        return table


def _difference(table: StoredTable, side: Side, row: Row, copies: int) -> RowDifference:
    names = [column.name for column in table.definition.resolved.columns]
    text = json.dumps(dict(zip(names, row, strict=True)), default=str)
    return RowDifference(side, text, copies)
