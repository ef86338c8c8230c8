"""Reasons why a definition cannot take the place of what is there, each with remedy and cost.

Two kinds: changes that cannot be made in place, and plain tables that cannot be adopted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import Changed
from dbt.adapters.spark_mt.changes.state_retention import contradictions
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.errors import (
    InvalidDefinitionError,
    as_violation,
)
from dbt.adapters.spark_mt.resolution.columns import Names, canonical_columns
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


def check(
    name: TableName,
    stored: StoredDefinition,
    wanted: ResolvedDefinition,
    changes: Sequence[Change],
) -> tuple[InvalidDefinitionError, ...]:
    """Return why `changes` cannot be applied, all reasons; nothing if they can.

    Args:
        name: The table, for the errors.
        stored: Its definition so far.
        wanted: Its definition as wanted.
        changes: What `diff` found between the two.
    """
    table = str(name)
    found: list[InvalidDefinitionError] = []
    for change in changes:
        if change.mismatches or change.kind is Changed.COLUMNS_DROPPED:
            appended = change.new[len(change.old) :]
            found += (_columns(table, change), *_appended(table, appended))
        elif change.kind is Changed.COLUMNS_APPENDED:
            found += _appended(table, change.new)
        elif change.kind is Changed.CLAUSE and change.effect is Effect.IMPOSSIBLE:
            old, new = (", ".join(d.declared.partitioned_by) for d in (stored, wanted))
            found.append(conditions.PARTITIONING_CHANGE(table=table, old=old, new=new))
    return (*found, *contradictions(table, stored, wanted, changes))


def raise_if_incompatible(
    name: TableName,
    stored: StoredDefinition,
    wanted: ResolvedDefinition,
    changes: Sequence[Change],
) -> None:
    """Raise what `check` finds: one violation as itself, several as one error that lists them.

    Raises:
        InvalidDefinitionError: The changes cannot be applied.
    """
    found = check(name, stored, wanted, changes)
    if len(found) == 1:
        raise found[0]
    if found:
        combined = conditions.UNSUPPORTED_CHANGE(
            table=name, violations=[as_violation(e) for e in found]
        )
        combined.errors = found
        raise combined


def _columns(table: str, change: Change) -> InvalidDefinitionError:
    texts = [str(m) for m in change.mismatches]
    if change.kind is Changed.COLUMNS_DROPPED:
        kept = {c.name.lower() for c in change.new}
        gone = [c for c in change.old if c.name.lower() not in kept] or change.old
        return conditions.DROPPED_COLUMN(
            violations=texts,
            table=table,
            oldCount=len(change.old),
            newCount=len(change.new),
            dropped=", ".join(quote(c.name) for c in gone),
        )
    widening = all(m.widens for m in change.mismatches)
    kind = conditions.COLUMN_WIDENING if widening else conditions.COLUMN_MISMATCH
    return kind(violations=texts[1:], table=table, mismatch=texts[0])


def _appended(table: str, columns: Sequence[Column]) -> Iterator[InvalidDefinitionError]:
    for column in columns:
        if not column.nullable:
            yield conditions.APPENDED_NOT_NULL(table=table, column=column)


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
