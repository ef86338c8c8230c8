"""How far a table lies behind its sources (semantics 1, lag)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import (
    FollowedPosition,
    OffsetPosition,
    UnknownPosition,
)
from dbt.adapters.spark_mt.resolution.analysis import FORMATS_WITH_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.positions import Position
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.ports import SourceReader


def lag_seconds(
    table: StoredTable,
    names: Mapping[str, TableName],
    sources: SourceReader,
    now_ms: int,
) -> int | None:
    """Return the lag in whole seconds, or None when nobody knows the positions any more.

    Args:
        table: The table with its positions.
        sources: Tells when they changed.
        names: The sources by the full name under which positions are kept.
        now_ms: Milliseconds since the epoch, UTC.
    """
    if table.positions is None:
        return None
    starts = []
    baseline = table.definition.baseline
    looked_up = set(table.positions) - {name for name, _ in baseline.positions} if baseline else ()
    for key, position in table.positions.items():
        if key in looked_up:
            continue
        if _is_uncounted(position):
            starts += [table.last_refresh.started_at_ms] if table.last_refresh else []
        elif isinstance(position, FollowedPosition) and key in names:
            changed = sources.first_change_after(names[key], position)
            starts += [] if changed is None else [changed]
    return max(0, now_ms - min(starts)) // 1000 if starts else 0


def _is_uncounted(position: Position) -> bool:
    """Whether its source does not tell when it changed; a checkpoint alone counts files."""
    if isinstance(position, OffsetPosition):
        return position.format not in FORMATS_WITH_OFFSETS
    return isinstance(position, UnknownPosition)
