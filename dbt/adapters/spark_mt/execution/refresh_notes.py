"""What the outcome of a refresh tells its user beside figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.planning.windows import Strategy

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


def overwritten(table: StoredTable, run: RefreshRun) -> tuple[str, ...]:
    """Say what became of changes by others."""
    if run.strategy in {Strategy.APPEND.value, Strategy.MERGE.value}:
        return foreign(table, "they stay, except in rows that this refresh computed")
    return foreign(table, "this refresh has overwritten them")


def note_of(table: StoredTable) -> str:
    """Name the baseline, by which the rows are not those of the query over all source data."""
    baseline = table.definition.baseline
    return baseline.describe() if baseline is not None else ""


def foreign(table: StoredTable, fate: str) -> tuple[str, ...]:
    """Name changes by others, and what becomes of them."""
    if not table.foreign_commits:
        return ()
    listed = ", ".join(f"{c.operation} in version {c.version}" for c in table.foreign_commits)
    return (f"{table.name} has changes that are not ours ({listed}); {fate}.",)
