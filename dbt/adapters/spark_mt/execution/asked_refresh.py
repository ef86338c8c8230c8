"""What a refresh was asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.statements.nodes import PartitionValue


@dataclass(frozen=True, slots=True)
class AskedRefresh:
    """A refresh as somebody asks for it.

    Args:
        partition: The partition to refresh; empty for the whole table.
        trigger: What asks for it, for the commit.
        force: Compute the rows even if no source has moved.
        run_options: How to run it; None for the options that the table has.
        refresh_id: What it is called; empty for a new name.
        scheduled_at: The scheduled time, aware, of a run that a schedule asks for; a table with
            date formatters then gets the partitions of every period that the run stands for.
    """

    partition: tuple[PartitionValue, ...] = ()
    trigger: str = "REFRESH"
    force: bool = False
    run_options: Pairs | None = None
    refresh_id: str = ""
    scheduled_at: datetime | None = None

    def named(self, run: RefreshRun) -> RefreshRun:
        """Return a run with the name and the scheduled time that were asked for."""
        at = self.scheduled_at
        return replace(
            run,
            refresh_id=self.refresh_id or run.refresh_id,
            scheduled_at_ms=None if at is None else round(at.timestamp() * 1000),
        )

    def run_by(self, table: StoredTable) -> StoredTable:
        """Return a table with the run options of this refresh, where it has any."""
        if self.run_options is None:
            return table
        return replace(table, definition=replace(table.definition, run_options=self.run_options))
