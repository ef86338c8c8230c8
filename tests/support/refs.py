"""Tables of Delta by their paths, for tests that read logs."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.table_format import TableRef

T = TableName("t", "s", "c")


def delta_at(path: str, name: TableName = T) -> TableRef:
    """Return the table at a path."""
    return TableRef(name, "delta", path)
