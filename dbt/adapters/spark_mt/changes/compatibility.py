"""Changes that cannot be made in place, each with its reason, remedy and cost (semantics 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import (
    ColumnsAppended,
    ColumnsMismatched,
    Effect,
    PartitioningChanged,
)
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.definition.modes import RefreshMode
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
    """A start mode would take effect that this query over these sources does not allow."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE_CHANGE"
    text = (
        "Materialized table {table}: START_MODE = {startMode} would take effect, because {reason}, "
        "and that is not possible: {problem}."
    )
    remedy = (
        "Use START_MODE = FROM_BEGINNING, which computes all rows from all source data in the "
        "place of those that are there; or {alternative}; or REFRESH_MODE = FULL, where the start "
        "mode has no effect and each refresh computes all rows."
    )


class ContradictoryRetentionError(DefinitionChangeError):
    """State shall be kept, and the data that made it be read again (seed 557 2.4)."""

    condition = "MATERIALIZED_TABLE_CONTRADICTORY_STATE_RETENTION"
    text = (
        "Materialized table {table}: START_MODE = {startMode} reads source data again or leaves "
        "some out, while STATE_RETENTION = {stateRetention} goes on from the state that the old "
        "query left, and the query changed."
    )
    remedy = (
        "Use START_MODE = RESUME_OR_{startMode}, which goes on from where the rows stand; or "
        "STATE_RETENTION = NONE, with which rows and state are built anew."
    )


class StateNotKeptError(DefinitionChangeError):
    """The state of a stream does not fit to a changed query (seed 557, STATE_RETENTION)."""

    condition = "MATERIALIZED_TABLE_STATE_NOT_KEPT"
    text = (
        "STATE_RETENTION = {stateRetention} cannot hold for the changed query of materialized "
        "table {table}; nothing was stopped or changed:"
    )
    remedy = (
        "Leave operators that keep state as they are and change what stands around them; or use "
        "START_MODE = FROM_BEGINNING with STATE_RETENTION = NONE, which builds rows and state anew "
        "at the cost of reading all source data."
    )


class BaselineNotFollowedError(DefinitionChangeError):
    """A table that keeps rows could not follow its sources under the wanted definition."""

    condition = "MATERIALIZED_TABLE_BASELINE_NOT_FOLLOWED"
    text = (
        "Materialized table {table} keeps rows that its query does not account for ({baseline}), "
        "and could not follow its sources after this change: {problem}."
    )
    remedy = (
        "Keep what the change takes away, or add START_MODE = FROM_BEGINNING to the statement, "
        "which computes all rows from all source data in the place of those that are there."
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
    """Yield a state retention that contradicts the start mode (semantics 7, seed 557)."""
    modes = {wanted.refresh_mode, stored.resolved.refresh_mode}
    query_changed = any(c.of_query and c.effect is Effect.CONTENT for c in changes)
    if modes != {RefreshMode.CONTINUOUS} or not query_changed:
        return
    mode, retention = wanted.start_mode.mode, wanted.state_retention
    if retention.type is not StateRetentionType.NONE and not mode.type.resumes:
        yield ContradictoryRetentionError(
            table=table, startMode=mode.sql, stateRetention=retention.sql
        )
