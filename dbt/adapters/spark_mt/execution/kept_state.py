"""A changed query that goes on with the state which the query before left (STATE_RETENTION = ALL).

Semantics 7: rows and state stay, the new query is applied to what comes from now on. Whether it
fits is checked before anything is stopped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.compatibility import StateNotKeptError
from dbt.adapters.spark_mt.definition.baseline import Baseline
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.state_retention import StateRetentionType
from dbt.adapters.spark_mt.planning.parts import (
    definition_steps,
    next_definition,
    preparation,
    sentences,
    verification,
)
from dbt.adapters.spark_mt.planning.steps import Plan
from dbt.adapters.spark_mt.planning.windows import positions_of
from dbt.adapters.spark_mt.resolution.engines import choose_engine, keeps_checkpoint
from dbt.adapters.spark_mt.resolution.state_shape import state_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.resolution.resolver import Resolution


def plan_with_state(
    environment: Environment,
    table: StoredTable,
    resolution: Resolution,
    changes: Sequence[Change],
) -> Plan | None:
    """Plan to store a changed query whose stream goes on in the checkpoint that is there.

    Returns:
        None where no state was asked to be kept, or there is none.

    Raises:
        StateNotKeptError: The state does not fit to the changed query; every operator is named.
    """
    wanted, stream = resolution.definition, table.stream
    if not _asked_for(resolution) or stream is None or table.positions is None:
        return None
    streams, table_id = environment.streams, table.definition.table_id
    if streams is None or not streams.can_resume(table_id, stream):
        return None
    if problems := _problems(environment, table, resolution):
        raise StateNotKeptError(
            violations=problems, table=table.name, stateRetention=wanted.state_retention.sql
        )
    since = positions_of(resolution.engine.followed, table.positions)
    baseline = Baseline(since, table.version, f"START_MODE = {wanted.start_mode.mode.sql}")
    before = table.definition
    definition = replace(next_definition(before, resolution), baseline=baseline)
    appended = definition.resolved.columns[len(before.resolved.columns) :]
    steps = (
        *preparation(definition),
        *verification(before, definition, appended),
        *definition_steps(table, definition, table.positions, appended),
    )
    engine = resolution.engine
    return Plan(table.name, steps, sentences(changes), resolution.warnings, engine)


def _asked_for(resolution: Resolution) -> bool:
    definition = resolution.definition
    return (
        definition.refresh_mode is RefreshMode.CONTINUOUS
        and _keeps_all(resolution)
        and definition.start_mode.mode.type.resumes
        and keeps_checkpoint(resolution.engine, resolution.analyzed.sources)
    )


def _keeps_all(resolution: Resolution) -> bool:
    """A process function is all that keeps state, where there is one."""
    kept = resolution.definition.state_retention
    if kept.type is StateRetentionType.PTF_ONLY and resolution.analyzed.process is not None:
        return not kept.operators or resolution.analyzed.process.name in kept.operators
    return kept.type is StateRetentionType.ALL


def _problems(
    environment: Environment, table: StoredTable, resolution: Resolution
) -> tuple[str, ...]:
    stored = table.definition.resolved
    before = environment.stored_analyzer.analyze_stored(stored)
    old, new = before.operators, resolution.analyzed.operators
    was, now = before.process, resolution.analyzed.process
    if was != now:
        asked = f"is asked for {now}" if now else "no process function is asked for now"
        kept = f"State was kept for {was}" if was else "No state was kept for a process function"
        return (f"{kept}, and {asked}.",)
    if old is None or new is None:
        return ("Spark does not show which operators keep state.",)
    return state_problems((old, choose_engine(stored, before)), (new, resolution.engine))
