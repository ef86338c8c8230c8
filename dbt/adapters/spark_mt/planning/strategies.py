"""How a table's rows are brought up to date, with the reason (design section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition


@dataclass(frozen=True, slots=True)
class Engine:
    """The choice, for people and for the plan."""

    engine: str
    strategy: str
    reason: str


FULL_BATCH = Engine("batch", "recompute", "REFRESH_MODE is FULL")
INCREMENTAL_RECOMPUTE = Engine(
    "incremental",
    "recompute",
    "this release follows no source by itself: a statement or dbt run computes the query over one "
    "state of all sources",
)


def engine_of(definition: ResolvedDefinition) -> Engine:
    """Return the engine and strategy of a table."""
    if definition.refresh_mode is RefreshMode.FULL:
        return FULL_BATCH
    return INCREMENTAL_RECOMPUTE
