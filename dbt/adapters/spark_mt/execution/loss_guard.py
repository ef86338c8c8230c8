"""Keeps rows that a log has dropped from being lost by computing a table anew (semantics 7).

A table over a topic may hold what the topic held months ago. Reading the topic from its beginning
would replace that by what it still has; so this is done only where somebody asks for the beginning
in so many words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.execution.source_errors import LogHistoryLostError
from dbt.adapters.spark_mt.resolution.analysis import FORMATS_WITH_OFFSETS

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


def with_origin(
    environment: Environment, definition: ResolvedDefinition, run: RefreshRun
) -> RefreshRun:
    """Note where the logs begin from which all rows are about to be computed.

    Mode FULL means what the sources hold, whatever that is: nothing is noted there.
    """
    if definition.refresh_mode is not RefreshMode.CONTINUOUS:
        return run
    logs = (source.name for source in run.sources if source.format in FORMATS_WITH_OFFSETS)
    begins = ((str(name), environment.sources.earliest(name)) for name in logs)
    return replace(run, origin=tuple((name, at) for name, at in begins if at is not None))


def loss_of(table: StoredTable, run: RefreshRun) -> str:
    """Say what a table would lose if all of its rows were computed now; empty for nothing.

    Args:
        table: The table.
        run: What would compute them, with the places where the logs begin.
    """
    now = dict(run.origin)
    lost = [
        f"{name} begins at {now[name]}, and the table was filled from {before}"
        for name, before in table.definition.origin
        if name in now and not before.reaches(now[name])
    ]
    return "; ".join(lost)


def losing_nothing(environment: Environment, table: StoredTable, run: RefreshRun) -> RefreshRun:
    """Let a run compute all rows of a table, unless that loses some.

    Raises:
        LogHistoryLostError: The table holds rows that its logs have dropped.
    """
    run = with_origin(environment, table.definition.resolved, run)
    if loss := loss_of(table, run):
        raise LogHistoryLostError(table=table.name, loss=loss)
    return run
