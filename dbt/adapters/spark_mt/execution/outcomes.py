"""From what steps did to what users are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.execution.results import RefreshOutcome, RefreshResult

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.table_state import Found
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import StepResult
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


def refresh_outcome(
    name: TableName,
    run: RefreshRun,
    found: Found,
    result: StepResult,
    environment: Environment,
) -> RefreshOutcome:
    """Tell the facts of a refresh that wrote a whole table."""
    before = found.positions if isinstance(found, StoredTable) else None
    return RefreshOutcome(
        refresh_id=run.refresh_id,
        table=str(name),
        strategy=run.strategy,
        status=RefreshResult.REFRESHED,
        rows=result.rows,
        partitions=(),
        positions_from=shown(before),
        positions_to=shown(result.positions or run.positions),
        duration_ms=environment.now_ms() - run.started_at_ms,
    )


def shown(positions: Positions | None) -> tuple[tuple[str, str], ...]:
    """Positions for people, by source."""
    return tuple(sorted((name, str(position)) for name, position in (positions or {}).items()))
