"""How the columns of two definitions differ (semantics 6, seed 546 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import (
    ColumnListChanged,
    ColumnMismatch,
    ColumnNullabilityChanged,
    ColumnsAppended,
    ColumnsMismatched,
    ColumnTypeWidened,
)
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.resolution.columns import Names, canonical_columns
from dbt.adapters.spark_mt.resolution.content import query_positions
from dbt.adapters.spark_mt.resolution.options import TYPE_WIDENING
from dbt.adapters.spark_mt.resolution.query_tokens import same_tokens
from dbt.adapters.spark_mt.resolution.types import InvalidTypeError, parse_type
from dbt.adapters.spark_mt.resolution.widening import widens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.columns import ColumnSpec
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition


def diff_columns(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    """Yield dropped, renamed, moved, retyped, widened and appended columns, and NOT NULL."""
    old, new = canonical_columns(stored.columns), canonical_columns(wanted.columns)
    names = Names.of(wanted.context)
    mismatches = tuple(_mismatches(old, new, names))
    widening = dict(wanted.asked.options).get(TYPE_WIDENING, "false").lower() == "true"
    if len(new) < len(old) or not all(m.widens and widening for m in mismatches):
        yield ColumnsMismatched(old, new, mismatches)
        return
    for mismatch in mismatches:
        yield ColumnTypeWidened(mismatch.new.name, mismatch.old.type, mismatch.new.type)
    if len(new) > len(old):
        yield ColumnsAppended(new[len(old) :])
    for before, after in zip(old, new, strict=False):
        if before.nullable != after.nullable:
            yield ColumnNullabilityChanged(after.name, nullable=after.nullable)


def _mismatches(
    old: tuple[Column, ...], new: tuple[Column, ...], names: Names
) -> Iterator[ColumnMismatch]:
    for position, (before, after) in enumerate(zip(old, new, strict=False)):
        same_name = names.fold(before.name) == names.fold(after.name)
        if not same_name or before.type != after.type:
            possible = same_name and _widens(before.type, after.type)
            yield ColumnMismatch(position, before, after, widens=possible)


def _widens(old: str, new: str) -> bool:
    try:
        return widens(parse_type(old), parse_type(new))
    except InvalidTypeError:
        return False


def diff_column_list(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    """Yield a column list that is written differently, names of appended columns aside."""
    same_content = _same_content(stored, wanted)
    before, after = _written(stored.asked.columns), _written(wanted.asked.columns)
    if before and len(wanted.columns) > len(stored.columns):
        after = after[: len(before)]
    if not same_content or before != after:
        yield ColumnListChanged(same_content=same_content)


def _written(specs: tuple[ColumnSpec, ...]) -> tuple[object, ...]:
    """A list without its comments and NOT NULL, which are changes of their own."""
    columns = canonical_columns(Column(spec.name, spec.type or "") for spec in specs)
    return tuple((column.name, column.type) for column in columns)


def _same_content(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> bool:
    """Whether the columns that both have come from the same columns of the same query."""
    both = min(len(stored.columns), len(wanted.columns))
    if stored.query_columns == wanted.query_columns:
        return query_positions(stored)[:both] == query_positions(wanted)[:both]
    renamed = stored.asked.columns and wanted.asked.columns
    if not renamed or not same_tokens(stored.asked.query, wanted.asked.query):
        return True  # what changed is said already, by the names or by the query
    return _origins(stored)[:both] == _origins(wanted)[:both]


def _origins(definition: ResolvedDefinition) -> tuple[str, ...]:
    """The query's own name for each column of the table; `SELECT *` may have sorted them anew."""
    names = Names.of(definition.context)
    return tuple(names.fold(definition.query_columns[at]) for at in query_positions(definition))
