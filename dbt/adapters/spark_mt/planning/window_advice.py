"""What whoever starts a table in the middle of its sources should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.planning.windows import Strategy

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.baseline import SourcePositions
    from dbt.adapters.spark_mt.resolution.query_shape import RowShape


def advice(strategy: Strategy, shape: RowShape, since: SourcePositions) -> tuple[str, ...]:
    """What a table needs that is computed over all source rows since its start."""
    if strategy is not Strategy.WINDOW or not since:
        return ()
    names = ", ".join(name for name, _ in since)
    history = (
        f"Each refresh reads what was added to {names} since the start: their "
        "delta.logRetentionDuration (30 days by default) must reach back to it."
    )
    if shape.reason != "JOIN":
        return (history,)
    joined = (
        f"Older rows of {names} take no part in its joins; a table that is joined FOR SYSTEM_TIME "
        "AS OF proctime() is read whole."
    )
    return (history, joined)
