"""From what is wanted and what is there to the steps between them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import StoredDefinition
from dbt.adapters.spark_mt.definition.table_state import StoredTable, Unreadable
from dbt.adapters.spark_mt.planning.parts import (
    activated,
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
    DropTable,
    Fill,
    FillMode,
    FillPartitions,
    Plan,
    Publish,
    Register,
    Step,
    Unregister,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.baseline import SourcePositions
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.table_state import Damaged
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.resolution.resolver import Resolution

FIRST_SEQ = 1
_ADOPTED_ROWS_END = "All rows were computed from the sources; those of the adopted table are gone."


def plan_create(
    name: TableName, table_id: str, resolution: Resolution, run: RefreshRun, owner: Pairs = ()
) -> Plan:
    """Plan a table that is not there: one commit holds its rows, columns and definition."""
    definition = StoredDefinition(
        table_id, name, 1, resolution.definition, owner=owner, origin=run.origin
    )
    return Plan(
        name,
        (
            Fill(definition, FillMode.CREATE, FIRST_SEQ, run),
            Publish(definition, before=None, created=True),
            registration(definition, FIRST_SEQ, run),
        ),
        changes=("table created",),
        warnings=resolution.warnings,
        engine=resolution.engine,
    )


def plan_alter(
    table: StoredTable,
    resolution: Resolution,
    changes: Sequence[Change],
    run: RefreshRun | None,
) -> Plan:
    """Plan the change of a definition.

    Rows are computed again when a change reaches them; otherwise a commit without rows stores the
    definition. The same commit fences off every refresh that was planned before.

    Args:
        table: The table as it is.
        resolution: The definition as wanted.
        changes: What differs; nothing in it is impossible.
        run: The refresh, where a change reaches the rows; None otherwise.
    """
    before = table.definition
    definition = next_definition(before, resolution)
    seq = table.seq + 1
    steps: tuple[Step, ...]
    if run is not None:
        steps = _fill_steps(table, definition, seq, run)
    else:
        steps = (
            *verification(before, definition),
            *definition_steps(table, definition, table.positions),
        )
    return Plan(table.name, steps, sentences(changes), resolution.warnings, resolution.engine)


def plan_alter_suspended(
    table: StoredTable, resolution: Resolution, changes: Sequence[Change]
) -> Plan:
    """Plan a change that reaches the rows of a table which the user has suspended.

    The definition is stored and no row is computed (semantics 8). The rows are the old query's
    until the next refresh, so the commit records no positions.
    """
    definition = next_definition(table.definition, resolution)
    appended = definition.resolved.columns[len(table.definition.resolved.columns) :]
    steps = (
        *(preparation(definition) if appended else ()),
        *definition_steps(table, definition, None, appended),
    )
    return Plan(table.name, steps, sentences(changes), resolution.warnings, resolution.engine)


def plan_status(table: StoredTable, definition: StoredDefinition, sentence: str) -> Plan:
    """Plan another status, or other run options, for a table whose rows stay as they are.

    Args:
        table: The table as it is.
        definition: Its definition with the status that it shall have.
        sentence: What changes.
    """
    after = replace(definition, generation=table.definition.generation + 1)
    return Plan(table.name, definition_steps(table, after, table.positions), (sentence,))


def plan_replace(
    table: StoredTable | Damaged | Unreadable,
    resolution: Resolution,
    run: RefreshRun,
    owner: Pairs = (),
) -> Plan:
    """Plan new rows, columns and definition in one commit; the table's identity stays."""
    definition = replace(_replacement(table, resolution, owner), origin=run.origin)
    seq = table.seq + 1
    steps: tuple[Step, ...] = (
        *preparation(definition),
        Fill(definition, FillMode.REPLACE, seq, run),
        publication(table, definition, schema_replaced=True),
        registration(definition, seq, run),
    )
    changes = ("table replaced",)
    return Plan(table.name, steps, changes, resolution.warnings, resolution.engine)


def plan_publish(table: StoredTable) -> Plan:
    """Plan what a statement before left undone after its commit."""
    definition = table.definition
    return Plan(
        table.name,
        (
            publication(table, definition),
            plan_registration(table),
        ),
    )


def plan_registration(table: StoredTable) -> Register:
    """Return the step that writes a table's row in the registry as the table is."""
    return Register(table.definition, table.seq, table.positions, table.last_refresh)


def plan_refresh(table: StoredTable, run: RefreshRun) -> Plan:
    """Plan the same query over the newest state of its sources."""
    seq = table.seq + 1
    baseline = table.definition.baseline
    if baseline is not None and baseline.is_adopted:
        definition = replace(table.definition, generation=table.definition.generation + 1)
        steps = _fill_steps(table, definition, seq, run)
        return Plan(table.name, steps, warnings=(_ADOPTED_ROWS_END,))
    steps = (
        Fill(table.definition, FillMode.OVERWRITE, seq, run, changes_definition=False),
        *reclustering(table.definition),
        registration(table.definition, seq, run),
    )
    return Plan(table.name, steps)


def plan_partitions(
    table: StoredTable,
    partitions: tuple[tuple[tuple[str, str | None], ...], ...],
    run: RefreshRun,
    since: SourcePositions | None = None,
) -> Plan:
    """Plan the refresh of some partitions; the table's own positions stay."""
    step = FillPartitions(
        table.definition, partitions, table.seq + 1, run, table.positions, table.last_refresh, since
    )
    return Plan(table.name, (step,))


def plan_drop(name: TableName, table_id: str = "") -> Plan:
    """Plan the end of a table."""
    return Plan(name, (DropTable(name, table_id), Unregister(name)), ("table dropped",))


def _fill_steps(
    table: StoredTable, definition: StoredDefinition, seq: int, run: RefreshRun
) -> tuple[Step, ...]:
    before = table.definition
    definition = replace(definition, baseline=None, origin=run.origin)
    kept = [c.type for c in definition.resolved.columns][: len(before.resolved.columns)]
    widened = kept != [c.type for c in before.resolved.columns]
    mode = FillMode.REPLACE if widened else FillMode.OVERWRITE
    return (
        *preparation(definition),
        Fill(definition, mode, seq, run),
        publication(table, definition, schema_replaced=widened),
        registration(definition, seq, run),
    )


def _replacement(
    table: StoredTable | Damaged | Unreadable, resolution: Resolution, owner: Pairs
) -> StoredDefinition:
    if not isinstance(table, Unreadable):
        definition = activated(next_definition(table.definition, resolution))
        definition = replace(definition, changed_by=None if owner else ())
        owner = owner or table.definition.owner
        return replace(definition, owner=owner, run_options=(), baseline=None)
    return StoredDefinition(
        table.table_id, table.name, table.generation + 1, resolution.definition, owner=owner
    )
