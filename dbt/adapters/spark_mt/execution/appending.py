"""The refresh of a table whose query makes each row of one source row: only new rows are computed.

The table then costs what its sources gained, and equals its query all the same (design section 5,
strategy append). Whatever else happened to the sources makes all rows be computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.execution.follow import defined_anew, read_ranges, suspend_if_lost
from dbt.adapters.spark_mt.planning.window_plans import plan_follow
from dbt.adapters.spark_mt.planning.windows import ChangeKind, Strategy, positions_of, strategy_of
from dbt.adapters.spark_mt.resolution.query_shape import row_shape

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.baseline import SourcePositions
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.planning.steps import Plan, RefreshRun
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery


def appends(table: StoredTable, analyzed: AnalyzedQuery) -> bool:
    """Whether new source rows can only add rows to a table, whose other rows then stay right."""
    resolved = table.definition.resolved
    if resolved.refresh_mode is not RefreshMode.CONTINUOUS or table.definition.baseline:
        return False
    shape = row_shape(resolved, analyzed)
    return strategy_of(shape, resolved, keeps_rows=False) is Strategy.APPEND


def plan_appended(
    environment: Environment, table: StoredTable, analyzed: AnalyzedQuery, run: RefreshRun
) -> tuple[Plan, RefreshRun] | None:
    """Plan to add what was added to the sources since the table's positions.

    Returns:
        The plan, and the run with its strategy; None where all rows must be computed: the positions
        are unknown or can no longer be read, rows were removed, or a view was defined anew.

    Raises:
        BaselineBrokenError: A log dropped what the table has not read; the table was suspended.
    """
    since = _known_positions(table, analyzed)
    if since is None or defined_anew(table, run):
        return None
    ranges = read_ranges(environment, table.name, run, since)
    suspend_if_lost(environment, table, ranges)
    if not set(ranges.kinds.values()) <= {ChangeKind.NONE, ChangeKind.ADDED}:
        return None
    run = replace(run, strategy=Strategy.APPEND.value)
    return plan_follow(table, run, Strategy.APPEND, since), run


def _known_positions(table: StoredTable, analyzed: AnalyzedQuery) -> SourcePositions | None:
    if table.positions is None or not appends(table, analyzed):
        return None
    followed = row_shape(table.definition.resolved, analyzed).followed
    since = positions_of(followed, table.positions)
    return since if len(since) == len(followed) else None
