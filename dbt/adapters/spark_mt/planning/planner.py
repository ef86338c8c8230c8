"""Planner: from a resolution and the state of a table to the steps between them.

Adoption makes a materialized table of a plain one without rewriting it, and release the opposite.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import (
    InconsistentTable,
    LastRefresh,
    StoredDefinition,
    StoredTable,
    Unreadable,
)
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.definition.positions import (
    ADOPTED,
    Baseline,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.planning import steps
from dbt.adapters.spark_mt.planning.properties import needs_mapped_names, not_null_constraints
from dbt.adapters.spark_mt.strategies.strategy import Write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.columns import Column, Pairs, TableName
    from dbt.adapters.spark_mt.definition.definition import PlainTable, ResolvedDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.resolution.resolver import Resolution
    from dbt.adapters.spark_mt.strategies.strategy import Choice


FIRST_SEQ = 1
_ADOPTED_ROWS_END = "All rows were computed from the sources; those of the adopted table are gone."


def next_definition(before: StoredDefinition, resolution: Resolution) -> StoredDefinition:
    """A changed definition ends a suspension that we made, not one of the user's."""
    after = replace(before, generation=before.generation + 1, resolved=resolution.definition)
    return after if before.suspended_by_user else activated(after)


def activated(definition: StoredDefinition) -> StoredDefinition:
    """Return a definition without a suspension."""
    return replace(definition, status=RefreshStatus.ACTIVATED, status_reason="")


def sentences(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return one sentence per change."""
    return tuple(change.describe() for change in changes)


def preparation(
    definition: StoredDefinition, before: StoredDefinition | None
) -> tuple[steps.Step, ...]:
    """Set the storage properties that the columns need, and drop NOT NULL that is gone.

    If the definition before cannot be read (None), the step looks at the table itself.
    """
    maps_names = needs_mapped_names(definition.resolved)
    loosened: tuple[str, ...] | None = None
    if before is not None:
        kept = not_null_constraints(definition)
        there = not_null_constraints(before).items()
        loosened = tuple(column for name, column in there if name not in kept)
        if not (maps_names or loosened):
            return ()
    return (steps.PrepareStorage(definition, maps_names, loosened),)


def verification(
    before: StoredDefinition, after: StoredDefinition, new_columns: tuple[Column, ...] = ()
) -> tuple[steps.Step, ...]:
    """Check the rows that are there against constraints that are new."""
    new = set(after.declared.constraints) - set(before.declared.constraints)
    known = {c.name for c in before.resolved.columns if not c.nullable}
    not_null = {c.name for c in after.resolved.columns if not c.nullable}
    return (steps.VerifyRows(after, new_columns),) if new or not_null - known else ()


def reclustering(definition: StoredDefinition) -> tuple[steps.Step, ...]:
    """Set the clustering again, where there is one."""
    return (steps.Recluster(definition),) if definition.declared.clustered_by else ()


def registration(definition: StoredDefinition, seq: int, run: RefreshRun) -> steps.Register:
    """Write the registry's row of a table that a refresh is about to fill."""
    refresh = LastRefresh(
        run.refresh_id, run.strategy, run.trigger, run.started_at_ms, run.started_at_ms, None
    )
    return steps.Register(definition, seq, run.positions, refresh)


def plan_create(
    name: TableName,
    table_id: str,
    resolution: Resolution,
    run: RefreshRun,
    choice: Choice,
    owner: Pairs = (),
) -> steps.Plan:
    """Plan a table that is not there: one commit holds its rows, columns and definition."""
    definition = StoredDefinition(
        table_id, name, 1, resolution.definition, owner=owner, origin=run.origin
    )
    return steps.Plan(
        name,
        (
            steps.Fill(definition, steps.FillMode.CREATE, FIRST_SEQ, run),
            steps.Publish(definition, before=None, created=True),
            registration(definition, FIRST_SEQ, run),
        ),
        changes=("table created",),
        warnings=resolution.warnings,
        choice=choice,
    )


def plan_alter(
    table: StoredTable,
    resolution: Resolution,
    changes: Sequence[Change],
    run: RefreshRun | None,
    choice: Choice,
) -> steps.Plan:
    """Plan the change of a definition.

    A change that reaches the rows has a refresh that computes them again; otherwise a commit
    without rows stores the definition. Either fences off every refresh that was planned before.
    """
    before = table.definition
    definition = next_definition(before, resolution)
    seq = table.seq + 1
    planned: tuple[steps.Step, ...]
    if run is not None:
        planned = _fill_steps(table, definition, seq, run)
    else:
        planned = (
            *verification(before, definition),
            *steps.definition_steps(table, definition, table.positions),
        )
    return steps.Plan(table.name, planned, sentences(changes), resolution.warnings, choice)


def plan_alter_suspended(
    table: StoredTable, resolution: Resolution, changes: Sequence[Change], choice: Choice
) -> steps.Plan:
    """Plan a change that reaches the rows of a table which the user has suspended.

    The definition is stored and no row is computed. The rows are the old query's
    until the next refresh, so the commit records no positions.
    """
    definition = next_definition(table.definition, resolution)
    appended = definition.resolved.columns[len(table.definition.resolved.columns) :]
    planned = (
        *(preparation(definition, table.definition) if appended else ()),
        *steps.definition_steps(table, definition, None, appended),
    )
    return steps.Plan(table.name, planned, sentences(changes), resolution.warnings, choice)


def plan_replace(
    table: StoredTable | InconsistentTable | Unreadable,
    resolution: Resolution,
    run: RefreshRun,
    choice: Choice,
    owner: Pairs = (),
) -> steps.Plan:
    """Plan new rows, columns and definition in one commit; the table's identity stays."""
    definition = replace(_replacement(table, resolution, owner), origin=run.origin)
    seq = table.seq + 1
    known = None if isinstance(table, Unreadable) else table.definition
    planned: tuple[steps.Step, ...] = (
        *preparation(definition, known),
        steps.Fill(definition, steps.FillMode.REPLACE, seq, run),
        steps.publication(table, definition, schema_replaced=True),
        registration(definition, seq, run),
    )
    changes = ("table replaced",)
    return steps.Plan(table.name, planned, changes, resolution.warnings, choice)


def plan_refresh(table: StoredTable, run: RefreshRun) -> steps.Plan:
    """Plan the same query over the newest state of its sources, by the strategy of the run."""
    definition, seq, choice = table.definition, table.seq + 1, run.choice
    registered = registration(definition, seq, run)
    if choice.write is not Write.REPLACE:
        step = steps.ApplyChanges(
            definition,
            seq,
            run,
            choice.since or (),
            changes_definition=False,
            foreign=table.foreign,
            version=table.version,
        )
        return steps.Plan(table.name, (step, registered))
    if choice.since is None and definition.baseline is not None and definition.baseline.is_adopted:
        definition = replace(definition, generation=definition.generation + 1)
        planned = _fill_steps(table, definition, seq, run)
        return steps.Plan(table.name, planned, warnings=(_ADOPTED_ROWS_END,))
    fill = steps.Fill(
        definition, steps.FillMode.OVERWRITE, seq, run, changes_definition=False, since=choice.since
    )
    return steps.Plan(table.name, (fill, *reclustering(definition), registered))


def plan_partitions(
    table: StoredTable,
    partitions: tuple[tuple[tuple[str, str | None], ...], ...],
    run: RefreshRun,
) -> steps.Plan:
    """Plan the refresh of some partitions; the table's own positions stay."""
    since, seq = run.choice.since, table.seq + 1
    kept = (table.positions, table.last_refresh)
    step = steps.FillPartitions(table.definition, partitions, seq, run, *kept, since)
    return steps.Plan(table.name, (step,))


def plan_drop(name: TableName, table_id: str = "") -> steps.Plan:
    """Plan the end of a table."""
    return steps.Plan(
        name, (steps.DropTable(name, table_id), steps.Unregister(name)), ("table dropped",)
    )


def _fill_steps(
    table: StoredTable, definition: StoredDefinition, seq: int, run: RefreshRun
) -> tuple[steps.Step, ...]:
    before = table.definition
    definition = replace(definition, baseline=None, origin=run.origin)
    widened = _widens(before.resolved.columns, definition)
    mode = steps.FillMode.REPLACE if widened else steps.FillMode.OVERWRITE
    return (
        *preparation(definition, before),
        steps.Fill(definition, mode, seq, run),
        steps.publication(table, definition, schema_replaced=widened),
        registration(definition, seq, run),
    )


def _widens(columns: Sequence[Column], definition: StoredDefinition) -> bool:
    """Whether a definition changes the types of columns of a table."""
    kept = [column.type for column in definition.resolved.columns][: len(columns)]
    return kept != [column.type for column in columns]


def _replacement(
    table: StoredTable | InconsistentTable | Unreadable, resolution: Resolution, owner: Pairs
) -> StoredDefinition:
    if not isinstance(table, Unreadable):
        definition = activated(next_definition(table.definition, resolution))
        definition = replace(definition, changed_by=None if owner else ())
        owner = owner or table.definition.owner
        return replace(definition, owner=owner, run_options=(), baseline=None, unknown_keys={})
    return StoredDefinition(
        table.table_id, table.name, table.generation + 1, resolution.definition, owner=owner
    )


def start_positions(baseline: Baseline, run: RefreshRun) -> Positions:
    """Return the positions of rows to which no change since the baseline was applied."""
    return {**run.positions, **dict(baseline.positions)}


def plan_start(
    table: StoredTable,
    resolution: Resolution,
    changes: Sequence[Change],
    run: RefreshRun,
    baseline: Baseline,
    choice: Choice,
) -> steps.Plan:
    """Plan a changed definition that counts its sources from a baseline on.

    One commit stores it and applies what happened since the baseline. A table that the user has
    suspended gets the definition alone; its next refresh applies the rest.
    """
    before = table.definition
    definition = replace(next_definition(before, resolution), baseline=baseline)
    appended = definition.resolved.columns[len(before.resolved.columns) :]
    planned: tuple[steps.Step, ...] = preparation(definition, before)
    if baseline.keeps_rows:
        planned += verification(before, definition, appended)
    if before.suspended_by_user:
        planned += steps.definition_steps(
            table, definition, start_positions(baseline, run), appended
        )
    else:
        planned += (
            _start_step(table, definition, baseline, run),
            steps.publication(table, definition, schema_replaced=bool(appended)),
            registration(definition, table.seq + 1, run),
        )
    return steps.Plan(table.name, planned, sentences(changes), resolution.warnings, choice)


def _start_step(
    table: StoredTable, definition: StoredDefinition, baseline: Baseline, run: RefreshRun
) -> steps.Step:
    since, seq = baseline.positions, table.seq + 1
    if baseline.keeps_rows:
        return steps.ApplyChanges(definition, seq, run, since, foreign=table.foreign)
    mode = (
        steps.FillMode.REPLACE if _widens(table.columns, definition) else steps.FillMode.OVERWRITE
    )
    return steps.Fill(definition, mode, seq, run, since=since)


def adopted_baseline(table: PlainTable, positions: Positions) -> Baseline:
    """Return from where an adopted table counts the sources that have versions."""
    followed = (
        (name, at) for name, at in sorted(positions.items()) if isinstance(at, VersionedPosition)
    )
    return Baseline(tuple(followed), table.version, ADOPTED)


def plan_adoption(
    table: PlainTable,
    table_id: str,
    resolution: Resolution,
    positions: Positions,
    choice: Choice,
    owner: Pairs = (),
    *,
    baseline: Baseline | None,
) -> steps.Plan:
    """Plan a plain table's becoming a materialized one; its rows, history and identity stay.

    One fenced commit without rows holds the definition, new columns, and the positions up to which
    the rows are trusted to reflect the sources. Until it the table is a plain one, from it on a
    materialized one.

    The table fits the definition, and gets `table_id` as its identity. Without a baseline its rows
    are those of the query at the positions.
    """
    resolved, leftover = resolution.definition, table.leftover
    definition = StoredDefinition(
        table_id,
        table.name,
        generation=leftover.generation + 1 if leftover else 1,
        resolved=resolved,
        owner=owner,
        baseline=baseline,
        fence=table.seq,
    )
    new, seq = appended_columns(table, resolved), table.seq + 1
    is_checked = resolved.declared.constraints or any(not c.nullable for c in resolved.columns)
    # What readers see of the table now, in the form of a definition.
    before = leftover or replace(definition, generation=0)
    before = replace(before, resolved=replace(before.resolved, columns=table.columns))
    planned: tuple[steps.Step, ...] = (
        *((steps.VerifyRows(definition, new),) if is_checked else ()),
        *(preparation(definition, definition) if new else ()),
        steps.CommitDefinition(definition, seq, positions, None, new, adopts=True),
        steps.Publish(definition, before, schema_replaced=bool(new)),
        steps.Register(definition, seq, positions, None),
    )
    what = "table adopted" if baseline else "table adopted, because its rows are those of the query"
    changes = (what, *(f"column {column} added, NULL in old rows" for column in new))
    warnings = (*resolution.warnings, *(_adoption_warnings(choice, positions) if baseline else ()))
    return steps.Plan(table.name, planned, changes, warnings, choice)


def plan_release(table: StoredTable | InconsistentTable | Unreadable) -> steps.Plan:
    """Plan a materialized table's becoming a plain one; rows, history and identity stay.

    A commit takes the next number, so that no refresh which was planned before writes after it.
    """
    if isinstance(table, StoredTable | InconsistentTable):
        known = (table.definition.table_id, table.definition.generation)
    else:
        known = (table.table_id, table.generation)
    rest = plan_release_rest(table.name)
    release = steps.Release(table.name, *known, seq=table.seq + 1)
    return replace(rest, steps=(release, *rest.steps), changes=("table released",))


def plan_release_rest(name: TableName) -> steps.Plan:
    """Plan what a release left undone after its commit."""
    return steps.Plan(name, (steps.RemoveProperties(name), steps.Unregister(name)))


def appended_columns(table: PlainTable, wanted: ResolvedDefinition) -> tuple[Column, ...]:
    """Return the columns that adopting adds, NULL in the rows that are there."""
    return wanted.columns[len(table.columns) :]


def _adoption_warnings(choice: Choice, positions: Positions) -> Iterator[str]:
    """Yield when the rows of the table end, where the next refresh ends them."""
    if choice.reads_changes:
        return
    unknown = [name for name, at in sorted(positions.items()) if isinstance(at, UnknownPosition)]
    when = "" if unknown else " after a source has changed"
    why = f", because the changes of {', '.join(unknown)} are not recorded" if unknown else ""
    yield (
        f"The next refresh{when} computes the whole table{why}. Rows of the adopted table that the "
        "query does not return are lost then."
    )
