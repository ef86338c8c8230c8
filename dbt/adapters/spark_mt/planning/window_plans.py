"""Plans for tables that do not count their sources from their beginning (semantics 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.planning.parts import (
    definition_steps,
    next_definition,
    preparation,
    publication,
    reclustering,
    registration,
    sentences,
    verification,
)
from dbt.adapters.spark_mt.planning.steps import (
    ApplyChanges,
    Fill,
    FillMode,
    Method,
    Plan,
    Publish,
    Register,
)
from dbt.adapters.spark_mt.planning.windows import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.baseline import Baseline, SourcePositions
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.planning.steps import RefreshRun, Step
    from dbt.adapters.spark_mt.resolution.resolver import Resolution

METHODS = {Strategy.APPEND: Method.APPEND, Strategy.MERGE: Method.MERGE}


@dataclass(frozen=True, slots=True)
class Start:
    """From where a changed definition counts its sources, and how.

    Args:
        baseline: What the table keeps, and the positions.
        strategy: How it is brought up to date.
    """

    baseline: Baseline
    strategy: Strategy

    def positions(self, run: RefreshRun) -> Positions:
        """Up to where the rows reflect the sources when none of their changes was applied."""
        return {**run.positions, **dict(self.baseline.positions)}


def counted_from(plan: Plan, start: Start) -> Plan:
    """Return the plan of a new table such that it counts its sources from `start` on."""
    steps = tuple(_counted(step, start.baseline) for step in plan.steps)
    return replace(plan, steps=steps)


def plan_start(
    table: StoredTable,
    resolution: Resolution,
    changes: Sequence[Change],
    run: RefreshRun,
    start: Start,
) -> Plan:
    """Plan a changed definition that counts its sources from a baseline on.

    One commit stores it and applies what happened since the baseline. A table that the user has
    suspended gets the definition alone; its next refresh applies the rest.
    """
    before = table.definition
    definition = replace(next_definition(before, resolution), baseline=start.baseline)
    appended = definition.resolved.columns[len(before.resolved.columns) :]
    steps: tuple[Step, ...] = preparation(definition)
    if start.baseline.keeps_rows:
        steps += verification(before, definition, appended)
    if before.suspended_by_user:
        steps += definition_steps(table, definition, start.positions(run), appended)
    else:
        steps += (
            _step(table, definition, run, start),
            publication(table, definition, schema_replaced=bool(appended)),
            registration(definition, table.seq + 1, run),
        )
    return Plan(table.name, steps, sentences(changes), resolution.warnings, resolution.engine)


def plan_follow(
    table: StoredTable, run: RefreshRun, strategy: Strategy, since: SourcePositions
) -> Plan:
    """Plan the refresh of a table with a baseline.

    Args:
        table: The table.
        run: The refresh, which names the strategy.
        strategy: How it is done this time.
        since: Positions after which the rows of its sources count.
    """
    definition, seq = table.definition, table.seq + 1
    step: Step
    if strategy is Strategy.WINDOW:
        step = Fill(definition, FillMode.OVERWRITE, seq, run, changes_definition=False, since=since)
        after = reclustering(definition)
    else:
        method = METHODS[strategy]
        step = ApplyChanges(definition, method, seq, run, since, foreign=table.foreign)
        step = replace(step, changes_definition=False)
        after = ()
    return Plan(table.name, (step, *after, registration(definition, seq, run)))


def _counted(step: Step, baseline: Baseline) -> Step:
    if not isinstance(step, Fill | Publish | Register):
        return step
    definition = replace(step.definition, baseline=baseline)
    if isinstance(step, Fill):
        return replace(step, definition=definition, since=baseline.positions)
    return replace(step, definition=definition)


def _step(table: StoredTable, definition: StoredDefinition, run: RefreshRun, start: Start) -> Step:
    since, seq = start.baseline.positions, table.seq + 1
    if start.baseline.keeps_rows:
        nothing = all(run.positions.get(name) == after for name, after in since)
        method = Method.APPEND if nothing else METHODS[start.strategy]
        return ApplyChanges(definition, method, seq, run, since, foreign=table.foreign)
    kept = [c.type for c in definition.resolved.columns][: len(table.columns)]
    widened = kept != [c.type for c in table.columns]
    mode = FillMode.REPLACE if widened else FillMode.OVERWRITE
    return Fill(definition, mode, seq, run, since=since)
