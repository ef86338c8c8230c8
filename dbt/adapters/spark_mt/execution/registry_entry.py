"""Registry entry of a table: what a manager needs to host or schedule it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.resolution.durations import SESSION_TIME_ZONE
from dbt.adapters.spark_mt.resolution.options import read_options

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.freshness import Freshness
    from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
    from dbt.adapters.spark_mt.planning.steps import Register


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table's newest row in the registry: an index, never the truth about a definition.

    Args:
        name: Its full name.
        table_id: Our identity of the table.
        generation: Of the definition that was told.
        refresh_mode: CONTINUOUS or FULL.
        declared_refresh_mode: AUTOMATIC, CONTINUOUS or FULL.
        freshness: How far it may lag.
        status: Where it is in its life.
        status_reason: Why it is suspended, where we did it.
        zone: The stored time zone, in which a schedule holds.
        formatters: The datetime pattern of each partition column that has one.
        reads: Full names of its sources.
        derived_from: The settings from which mode and freshness were derived; None where the row
            does not tell.
        last_refresh_at_ms: When its rows were computed, milliseconds since the epoch, UTC.
        rows: Rows that this refresh wrote.
        recorded_at_ms: When this was told.
    """

    name: TableName
    table_id: str
    generation: int
    refresh_mode: RefreshMode
    declared_refresh_mode: str
    freshness: Freshness
    status: RefreshStatus
    status_reason: str = ""
    zone: str = "UTC"
    formatters: Pairs = ()
    reads: tuple[str, ...] = ()
    derived_from: Pairs | None = None
    last_refresh_at_ms: int | None = None
    rows: int | None = None
    recorded_at_ms: int = 0


def known_table(step: Register, now_ms: int) -> KnownTable:
    """Return what the registry is to tell about a table.

    Args:
        step: What was committed.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """
    definition, refresh = step.definition, step.refresh
    resolved = definition.resolved
    patterns = read_options(definition.declared.options).date_formatters
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
        formatters=tuple(patterns),
        reads=tuple(sorted(step.positions or {})),
        derived_from=resolved.derived_from,
        last_refresh_at_ms=refresh.started_at_ms if refresh else None,
        rows=refresh.rows if refresh else None,
        recorded_at_ms=now_ms,
    )
