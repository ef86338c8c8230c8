"""Reasons why a definition cannot take the place of what is there, each with remedy and cost.

Two kinds: changes that cannot be made in place, and plain tables that cannot be adopted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import ClauseChanged, ColumnsAppended, ColumnsMismatched
from dbt.adapters.spark_mt.changes.state_retention import contradictions
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.errors import (
    REPLACE,
    DefinitionChangeError,
    MaterializedTableError,
    as_violation,
)
from dbt.adapters.spark_mt.resolution.columns import Names, canonical_columns
from dbt.adapters.spark_mt.resolution.options import TYPE_WIDENING
from dbt.adapters.spark_mt.statements.clauses import Effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.columns import Column, TableName
    from dbt.adapters.spark_mt.definition.definition import (
        PlainTable,
        ResolvedDefinition,
        StoredDefinition,
    )


class DroppedColumnError(DefinitionChangeError):
    """The new query has fewer columns (message of FLIP-546)."""

    condition = "MATERIALIZED_TABLE_DROPPED_COLUMN"
    text = (
        "Materialized table {table}: Failed to modify query because drop column is unsupported. "
        "When modifying a query, you can only append new columns at the end of original schema. "
        "The original schema has {oldCount} columns, but the newly derived schema from the query "
        "has {newCount} columns."
    )
    remedy = "Keep the columns {dropped}, or " + REPLACE + "."


class ColumnMismatchError(DefinitionChangeError):
    """The new query renames, moves or retypes columns (messages of FLIP-546)."""

    condition = "MATERIALIZED_TABLE_COLUMN_MISMATCH"
    text = (
        "Materialized table {table}: When modifying the query of a materialized table, currently "
        "only support appending columns at the end of original schema, dropping, renaming, and "
        "reordering columns are not supported. {mismatch}"
    )
    remedy = (
        "Keep name, place and type of the columns that the table has and add new ones after them, "
        "or " + REPLACE + "."
    )


class ColumnWideningError(ColumnMismatchError):
    """The new query only widens types, which an option allows."""

    condition = "MATERIALIZED_TABLE_COLUMN_WIDENING"
    remedy = (
        "Every new type holds all values of the old one: set the option '" + TYPE_WIDENING + "' = "
        "'true' to widen the columns in place; the table is filled again. Without it, keep the "
        "types, or " + REPLACE + "."
    )


class AppendedNotNullError(DefinitionChangeError):
    """A new column is NOT NULL, while the rows that exist have no value for it."""

    condition = "MATERIALIZED_TABLE_APPENDED_NOT_NULL"
    text = "Materialized table {table}: the appended column {column} cannot be NOT NULL."
    remedy = "List it without NOT NULL, or " + REPLACE + "."


class PartitioningChangeError(DefinitionChangeError):
    """A table keeps its partition columns for life."""

    condition = "MATERIALIZED_TABLE_PARTITIONING_CHANGE"
    text = (
        "Materialized table {table}: partitioning cannot be changed. The table is partitioned by "
        "({old}), the statement asks for ({new})."
    )
    remedy = (
        "Keep PARTITIONED BY, use CLUSTER BY from the start where it may change, or "
        + REPLACE
        + "."
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


def check(
    name: TableName,
    stored: StoredDefinition,
    wanted: ResolvedDefinition,
    changes: Sequence[Change],
) -> tuple[DefinitionChangeError, ...]:
    """Return why `changes` cannot be applied, all reasons; nothing if they can.

    Args:
        name: The table, for the errors.
        stored: Its definition so far.
        wanted: Its definition as wanted.
        changes: What `diff` found between the two.
    """
    table = str(name)
    found: list[DefinitionChangeError] = []
    for change in changes:
        if isinstance(change, ColumnsMismatched):
            found += (_columns(table, change), *_appended(table, change.appended))
        elif isinstance(change, ColumnsAppended):
            found += _appended(table, change.columns)
        elif isinstance(change, ClauseChanged) and change.effect is Effect.IMPOSSIBLE:
            old, new = (", ".join(d.declared.partitioned_by) for d in (stored, wanted))
            found.append(PartitioningChangeError(table=table, old=old, new=new))
    return (*found, *contradictions(table, stored, wanted, changes))


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


def _columns(table: str, change: ColumnsMismatched) -> DefinitionChangeError:
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


def _appended(table: str, columns: Sequence[Column]) -> Iterator[DefinitionChangeError]:
    for column in columns:
        if not column.nullable:
            yield AppendedNotNullError(table=table, column=column)


class AdoptionRefusedError(MaterializedTableError):
    """A table differs from what its new definition needs, in ways that adopting cannot change."""

    condition = "MATERIALIZED_TABLE_CANNOT_ADOPT"
    text = "{table} cannot become a materialized table as it is; nothing was changed:"
    remedy = (
        "Make the query, its column list and PARTITIONED BY yield the columns and partitions that "
        "the table has, new columns after them; then adopting costs one commit. Or replace the "
        "table (in dbt: --full-refresh), which computes all rows from the sources that exist today "
        "and loses those that no source has any more."
    )


class RowsDifferError(MaterializedTableError):
    """The rows of a plain table are not those of the query with which it would be adopted."""

    condition = "MATERIALIZED_TABLE_ROWS_DIFFER"
    text = "{table} is a plain table, and its rows are not those of the query; nothing was changed:"
    remedy = (
        "If the table only lacks changes of its sources, refresh it as before, and run this again: "
        "in dbt, run the model once more with its old materialization. In dbt, `adopt: true` keeps "
        "the rows as they are, for one commit; --full-refresh replaces the table by one whose rows "
        "are all computed from the sources that exist today."
    )


def adoption_problems(table: PlainTable, wanted: ResolvedDefinition) -> tuple[str, ...]:
    """Return every difference that prevents adopting `table`, nothing if none does."""
    columns = _column_problems(canonical_columns(table.columns), wanted.columns)
    return (*columns, *_partitioning_problems(table, wanted))


def _column_problems(there: tuple[Column, ...], wanted: tuple[Column, ...]) -> Iterator[str]:
    for position, (old, new) in enumerate(zip(there, wanted, strict=False)):
        if (old.name, old.type) != (new.name, new.type):
            yield (
                f"Column mismatch at position {position}: the table has {old}, the query has {new}."
            )
        elif new.nullable and not old.nullable:
            yield (
                f"Column {old} at position {position} is NOT NULL in the table and may be "
                "NULL in the query: list it as NOT NULL, or drop NOT NULL from the table."
            )
    for position, column in enumerate(there[len(wanted) :], start=len(wanted)):
        yield f"Column {column} at position {position} of the table is not in the query."
    for position, column in enumerate(wanted[len(there) :], start=len(there)):
        if not column.nullable:
            yield (
                f"Column {column} at position {position} is new and cannot be NOT NULL: "
                "the rows that are there have no value for it."
            )


def _partitioning_problems(table: PlainTable, wanted: ResolvedDefinition) -> Iterator[str]:
    names = Names.of(wanted.context)
    old, new = table.partitioned_by, wanted.declared.partitioned_by
    if [names.fold(c) for c in old] != [names.fold(c) for c in new]:
        yield (
            f"The table is partitioned by ({', '.join(old)}), the definition by ({', '.join(new)})."
        )
    elif old and wanted.declared.clustered_by:
        yield "The table is partitioned, and a partitioned table cannot be clustered."
