"""The parts that plans are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.definition.table_state import LastRefresh, StoredTable, Unreadable
from dbt.adapters.spark_mt.planning.steps import (
    CommitDefinition,
    PrepareStorage,
    Publish,
    Recluster,
    Register,
    Step,
    VerifyRows,
)
from dbt.adapters.spark_mt.planning.storage import mapping_properties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.table_state import Damaged
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.resolution.resolver import Resolution


def next_definition(before: StoredDefinition, resolution: Resolution) -> StoredDefinition:
    """A changed definition ends a suspension that we made, not one of the user's (semantics 8)."""
    after = replace(before, generation=before.generation + 1, resolved=resolution.definition)
    return after if before.suspended_by_user else activated(after)


def activated(definition: StoredDefinition) -> StoredDefinition:
    """Return a definition without a suspension."""
    return replace(definition, status=RefreshStatus.ACTIVATED, status_reason="")


def definition_steps(
    table: StoredTable,
    definition: StoredDefinition,
    positions: Positions | None,
    new_columns: tuple[Column, ...] = (),
) -> tuple[Step, ...]:
    """Store a definition without computing rows, and what follows from that."""
    seq, refresh = table.seq + 1, table.last_refresh
    return (
        CommitDefinition(definition, seq, positions, refresh, new_columns),
        publication(table, definition, schema_replaced=bool(new_columns)),
        Register(definition, seq, positions, refresh),
    )


def sentences(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return one sentence per change."""
    return tuple(change.describe() for change in changes)


def publication(
    table: StoredTable | Damaged | Unreadable,
    definition: StoredDefinition,
    *,
    schema_replaced: bool = False,
) -> Publish:
    """Publish what differs from what is published, which may be older than the definition in force.

    Where a statement before could not publish all, nobody knows which comments columns have.
    """
    if isinstance(table, Unreadable):
        return Publish(definition, before=None, schema_replaced=True)
    published = table.published if isinstance(table, StoredTable) else None
    if published is None:
        return Publish(definition, table.definition, schema_replaced=schema_replaced)
    return Publish(definition, published, schema_replaced=True)


def preparation(definition: StoredDefinition) -> tuple[Step, ...]:
    """Set the storage properties that the columns need, if they need some."""
    needed = mapping_properties(definition.resolved)
    return (PrepareStorage(definition, tuple(needed.items())),) if needed else ()


def verification(
    before: StoredDefinition, after: StoredDefinition, new_columns: tuple[Column, ...] = ()
) -> tuple[Step, ...]:
    """Check the rows that are there against constraints that are new."""
    new = set(after.asked.constraints) - set(before.asked.constraints)
    known = {c.name for c in before.resolved.columns if not c.nullable}
    not_null = {c.name for c in after.resolved.columns if not c.nullable}
    return (VerifyRows(after, new_columns),) if new or not_null - known else ()


def reclustering(definition: StoredDefinition) -> tuple[Step, ...]:
    """Set the clustering again, where there is one."""
    return (Recluster(definition),) if definition.asked.clustered_by else ()


def registration(definition: StoredDefinition, seq: int, run: RefreshRun) -> Register:
    """Write the registry's row of a table that a refresh is about to fill."""
    refresh = LastRefresh(
        run.refresh_id, run.strategy, run.trigger, run.started_at_ms, run.started_at_ms, None
    )
    return Register(definition, seq, run.positions, refresh)
