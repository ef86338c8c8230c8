"""Reasons why a plain table cannot be adopted as a materialized table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.resolution.columns import Names, canonical_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.table_state import PlainTable


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


def adoption_problems(table: PlainTable, wanted: ResolvedDefinition) -> tuple[str, ...]:
    """Return every difference that prevents adopting `table`, nothing if none does."""
    columns = canonical_columns(table.columns)
    return (
        *_column_problems(columns, wanted.columns),
        *_partitioning_problems(table, wanted),
    )


def appended_columns(table: PlainTable, wanted: ResolvedDefinition) -> tuple[Column, ...]:
    """Return the columns that adopting adds, NULL in the rows that are there."""
    return wanted.columns[len(table.columns) :]


def _column_problems(there: tuple[Column, ...], wanted: tuple[Column, ...]) -> Iterator[str]:
    for position, (old, new) in enumerate(zip(there, wanted, strict=False)):
        if (old.name, old.type) != (new.name, new.type):
            yield (
                f"Column mismatch at position {position}: the table has {_shown(old)}, the query "
                f"has {_shown(new)}."
            )
        elif new.nullable and not old.nullable:
            yield (
                f"Column {_shown(old)} at position {position} is NOT NULL in the table and may be "
                "NULL in the query: list it as NOT NULL, or drop NOT NULL from the table."
            )
    for position, column in enumerate(there[len(wanted) :], start=len(wanted)):
        yield f"Column {_shown(column)} at position {position} of the table is not in the query."
    for position, column in enumerate(wanted[len(there) :], start=len(there)):
        if not column.nullable:
            yield (
                f"Column {_shown(column)} at position {position} is new and cannot be NOT NULL: "
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


def _shown(column: Column) -> str:
    return str(column)
