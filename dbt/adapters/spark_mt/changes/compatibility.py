"""Changes that cannot be made in place, each with its reason, remedy and cost (semantics 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import (
    ColumnsAppended,
    ColumnsMismatched,
    Effect,
    PartitioningChanged,
    StartModeChanged,
)
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.start_mode import StartModeType
from dbt.adapters.spark_mt.definition.state_retention import StateRetentionType
from dbt.adapters.spark_mt.resolution.options import TYPE_WIDENING
from dbt.adapters.spark_mt.resolution.violations import as_violation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition, StoredDefinition
    from dbt.adapters.spark_mt.definition.identifier import TableName

_REPLACE = (
    "replace the table with CREATE OR REPLACE MATERIALIZED TABLE {table} (in dbt: --full-refresh). "
    "That computes all rows anew from the sources that exist today; options and comments are those "
    "of the new statement, and readers see the old table until it is done"
)


class DefinitionChangeError(MaterializedTableError):
    """A definition cannot be changed in place, for several reasons; nothing was done.

    Each reason is an error of a class below this one; `errors` holds them, `conditions` names them.
    """

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_CHANGE"
    text = "Materialized table {table} cannot be changed in place, nothing was changed:"
    remedy = "Correct the statement, or " + _REPLACE + "."
    errors: tuple[MaterializedTableError, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition of every violation."""
        return tuple(e.condition for e in self.errors) or (self.condition,)


class DroppedColumnError(DefinitionChangeError):
    """The new query has fewer columns (message of seed 546 4.2.3)."""

    condition = "MATERIALIZED_TABLE_DROPPED_COLUMN"
    text = (
        "Materialized table {table}: Failed to modify query because drop column is unsupported. "
        "When modifying a query, you can only append new columns at the end of original schema. "
        "The original schema has {oldCount} columns, but the newly derived schema from the query "
        "has {newCount} columns."
    )
    remedy = "Keep the columns {dropped}, or " + _REPLACE + "."


class ColumnMismatchError(DefinitionChangeError):
    """The new query renames, moves or retypes columns (messages of seed 546 4.2.4 and 4.2.5)."""

    condition = "MATERIALIZED_TABLE_COLUMN_MISMATCH"
    text = (
        "Materialized table {table}: When modifying the query of a materialized table, currently "
        "only support appending columns at the end of original schema, dropping, renaming, and "
        "reordering columns are not supported. {mismatch}"
    )
    remedy = (
        "Keep name, place and type of the columns that the table has and add new ones behind them, "
        "or " + _REPLACE + "."
    )


class ColumnWideningError(ColumnMismatchError):
    """The new query only widens types, which an option allows."""

    condition = "MATERIALIZED_TABLE_COLUMN_WIDENING"
    remedy = (
        "Every new type holds all values of the old one: set the option '" + TYPE_WIDENING + "' = "
        "'true' to widen the columns in place; the table is filled again. Without it, keep the "
        "types, or " + _REPLACE + "."
    )


class AppendedNotNullError(DefinitionChangeError):
    """A new column is NOT NULL, while the rows that exist have no value for it."""

    condition = "MATERIALIZED_TABLE_APPENDED_NOT_NULL"
    text = "Materialized table {table}: the appended column {column} cannot be NOT NULL."
    remedy = "List it without NOT NULL, or " + _REPLACE + "."


class PartitioningChangeError(DefinitionChangeError):
    """A table keeps its partition columns for life."""

    condition = "MATERIALIZED_TABLE_PARTITIONING_CHANGE"
    text = (
        "Materialized table {table}: partitioning cannot be changed. The table is partitioned by "
        "({old}), the statement asks for ({new})."
    )
    remedy = (
        "Keep PARTITIONED BY, use CLUSTER BY from the start where it may change, or "
        + _REPLACE
        + "."
    )


class StartModeChangeError(DefinitionChangeError):
    """A start mode would take effect that this release cannot do."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE_CHANGE"
    text = (
        "Materialized table {table}: START_MODE = {startMode} would take effect, because {reason}, "
        "and this release supports FROM_BEGINNING only."
    )
    remedy = (
        "Use START_MODE = FROM_BEGINNING, which computes all rows anew, or REFRESH_MODE = FULL, "
        "where the start mode has no effect."
    )


class StateRetentionChangeError(DefinitionChangeError):
    """A state retention would take effect that this release cannot do."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_STATE_RETENTION"
    text = (
        "Materialized table {table}: STATE_RETENTION = {stateRetention} would take effect, because "
        "the query changed, and this release supports NONE only."
    )
    remedy = (
        "Use STATE_RETENTION = NONE: refreshes keep no state between runs, so nothing is lost; or "
        "REFRESH_MODE = FULL, where it has no effect."
    )


Violation = DefinitionChangeError


def check(
    name: TableName,
    stored: StoredDefinition,
    wanted: ResolvedDefinition,
    changes: Sequence[Change],
) -> tuple[Violation, ...]:
    """Return why `changes` cannot be applied, all reasons; nothing if they can.

    Args:
        name: The table, for the errors.
        stored: Its definition so far.
        wanted: Its definition as wanted.
        changes: What `diff` found between the two.
    """
    table = str(name)
    found: list[Violation] = []
    for change in changes:
        if isinstance(change, ColumnsMismatched):
            found.append(_columns(table, change))
        elif isinstance(change, ColumnsAppended):
            found += _appended(table, change)
        elif isinstance(change, PartitioningChanged):
            old, new = ", ".join(change.old), ", ".join(change.new)
            found.append(PartitioningChangeError(table=table, old=old, new=new))
    return (*found, *_refresh(table, stored, wanted, changes))


def raise_if_incompatible(
    name: TableName,
    stored: StoredDefinition,
    wanted: ResolvedDefinition,
    changes: Sequence[Change],
) -> None:
    """Raise what `check` finds: one violation as itself, several as one error that lists them.

    Raises:
        DefinitionChangeError: The changes cannot be applied.
    """
    found = check(name, stored, wanted, changes)
    if len(found) == 1:
        raise found[0]
    if found:
        combined = DefinitionChangeError(table=name, violations=[as_violation(e) for e in found])
        combined.errors = found
        raise combined


def _columns(table: str, change: ColumnsMismatched) -> Violation:
    texts = [str(m) for m in change.mismatches]
    if change.drops:
        kept = {c.name.lower() for c in change.new}
        gone = [c for c in change.old if c.name.lower() not in kept] or change.old
        return DroppedColumnError(
            violations=texts,
            table=table,
            oldCount=len(change.old),
            newCount=len(change.new),
            dropped=", ".join(quote(c.name) for c in gone),
        )
    widening = all(m.widens for m in change.mismatches)
    error = ColumnWideningError if widening else ColumnMismatchError
    return error(violations=texts[1:], table=table, mismatch=texts[0])


def _appended(table: str, change: ColumnsAppended) -> Iterator[Violation]:
    for column in change.columns:
        if not column.nullable:
            yield AppendedNotNullError(table=table, column=column)


def _refresh(
    table: str, stored: StoredDefinition, wanted: ResolvedDefinition, changes: Sequence[Change]
) -> Iterator[Violation]:
    """Yield start mode and state retention where they would take effect (semantics 7)."""
    if wanted.refresh_mode is not RefreshMode.CONTINUOUS:
        return
    query_changed = any(c.of_query and c.effect is Effect.CONTENT for c in changes)
    start_acts = any(isinstance(c, StartModeChanged) and _acts(c) for c in changes)
    mode = wanted.start_mode.mode
    if (query_changed or start_acts) and mode.type is not StartModeType.FROM_BEGINNING:
        reason = "the query changed" if query_changed else "the start mode changed"
        yield StartModeChangeError(table=table, startMode=mode.sql, reason=reason)
    retention = wanted.state_retention
    was_continuous = stored.resolved.refresh_mode is RefreshMode.CONTINUOUS
    if query_changed and was_continuous and retention.type is not StateRetentionType.NONE:
        yield StateRetentionChangeError(table=table, stateRetention=retention.sql)


def _acts(change: StartModeChanged) -> bool:
    return change.effect is Effect.CONTENT
