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
    """A table's newest row in the registry: an index, never the source of a definition.

    Args:
        name: Its full name.
        table_id: The identity of the materialized table.
        generation: The generation of the definition that was recorded.
        refresh_mode: CONTINUOUS or FULL.
        declared_refresh_mode: AUTOMATIC, CONTINUOUS or FULL.
        freshness: The lag that is allowed.
        status: INITIALIZING, ACTIVATED or SUSPENDED.
        status_reason: Why it is suspended, if no user did that.
        zone: The stored time zone of its schedule.
        formatters: The datetime pattern of each partition column that has one.
        reads: Full names of its sources.
        derived_from: The settings from which mode and freshness were derived; None if the row does
            not have them.
        last_refresh_at_ms: When its rows were computed, milliseconds since the epoch, UTC.
        rows: Rows that this refresh wrote.
        recorded_at_ms: When this was recorded.
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
    """Return the row of a table in the registry.

    Args:
        step: The registration after a commit.
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
