"""Plans that adopt a plain table without rewriting it, and that release one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.adoption import appended_columns
from dbt.adapters.spark_mt.definition.definition import StoredDefinition
from dbt.adapters.spark_mt.definition.positions import (
    ADOPTED,
    Baseline,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.definition.table_state import InconsistentTable, StoredTable
from dbt.adapters.spark_mt.planning.planner import kept_by, preparation
from dbt.adapters.spark_mt.planning.steps import (
    CommitDefinition,
    Plan,
    Publish,
    Register,
    Release,
    RemoveProperties,
    Step,
    Unregister,
    VerifyRows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.columns import Column, TableName
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.table_state import PlainTable, Unreadable
    from dbt.adapters.spark_mt.resolution.resolver import Resolution
    from dbt.adapters.spark_mt.strategies.strategy import Choice


def plan_adoption(
    table: PlainTable,
    table_id: str,
    resolution: Resolution,
    positions: Positions,
    owner: Pairs = (),
) -> Plan:
    """Plan a plain table's becoming a materialized one; its rows, history and identity stay.

    One fenced commit without rows holds the definition, new columns, and the positions up to which
    the rows are trusted to reflect the sources. Until it the table is a plain one, from it on a
    materialized one.

    Args:
        table: The table, which fits the definition.
        table_id: Our new identity of it.
        resolution: The definition.
        positions: Up to where its rows are trusted.
        owner: Who declares it.
    """
    definition = _adopted(table, table_id, resolution, positions, owner)
    new = appended_columns(table, resolution.definition)
    seq = table.seq + 1
    steps: tuple[Step, ...] = (
        *_verification(definition, new),
        *(preparation(definition, definition) if new else ()),
        CommitDefinition(definition, seq, positions, None, new, adopts=True),
        Publish(definition, _as_it_was(table, definition), schema_replaced=bool(new)),
        Register(definition, seq, positions, None),
    )
    choice = kept_by(resolution, definition.baseline)
    sentences = ("table adopted", *(f"column {column} added, NULL in old rows" for column in new))
    warnings = (*resolution.warnings, *_warnings(choice, positions))
    return Plan(table.name, steps, sentences, warnings, choice)


def plan_release(table: StoredTable | InconsistentTable | Unreadable) -> Plan:
    """Plan a materialized table's becoming a plain one; rows, history and identity stay.

    A commit takes the next number, so that no refresh which was planned before writes after it.
    """
    if isinstance(table, StoredTable | InconsistentTable):
        known = (table.definition.table_id, table.definition.generation)
    else:
        known = (table.table_id, table.generation)
    name = table.name
    release = Release(name, *known, seq=table.seq + 1)
    return Plan(name, (release, *_release_rest(name)), ("table released",))


def plan_release_rest(name: TableName) -> Plan:
    """Plan what a release left undone after its commit."""
    return Plan(name, _release_rest(name))


def _release_rest(name: TableName) -> tuple[Step, ...]:
    return (RemoveProperties(name), Unregister(name))


def _adopted(
    table: PlainTable,
    table_id: str,
    resolution: Resolution,
    positions: Positions,
    owner: Pairs,
) -> StoredDefinition:
    followed = (
        (name, at) for name, at in sorted(positions.items()) if isinstance(at, VersionedPosition)
    )
    return StoredDefinition(
        table_id,
        table.name,
        generation=table.leftover.generation + 1 if table.leftover else 1,
        resolved=resolution.definition,
        owner=owner,
        baseline=Baseline(tuple(followed), table.version, ADOPTED),
        fence=table.seq,
    )


def _as_it_was(table: PlainTable, definition: StoredDefinition) -> StoredDefinition:
    """What readers see of the table now, in the form of a definition."""
    before = table.leftover or replace(definition, generation=0)
    return replace(before, resolved=replace(before.resolved, columns=table.columns))


def _verification(definition: StoredDefinition, new: tuple[Column, ...]) -> tuple[Step, ...]:
    resolved = definition.resolved
    declared = resolved.declared.constraints or any(not c.nullable for c in resolved.columns)
    return (VerifyRows(definition, new),) if declared else ()


def _warnings(choice: Choice, positions: Positions) -> Iterator[str]:
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
