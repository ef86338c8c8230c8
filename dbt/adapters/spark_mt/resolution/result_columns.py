"""Whether what a stored query returns today still fits the table (semantics 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.resolution.columns import canonical_columns, holds
from dbt.adapters.spark_mt.resolution.content import query_positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition


def result_problems(definition: ResolvedDefinition, result: Iterable[Column]) -> tuple[str, ...]:
    """Return why the columns of `result` cannot be written to the table; nothing if they can.

    A refresh never changes the table's columns. Those of the result belong to them by position, and
    only types that hold every value are taken.

    Args:
        definition: The table's.
        result: The columns that the query returns now.
    """
    given = canonical_columns(result)
    expected = definition.query_columns
    if len(given) != len(expected):
        now, then = (", ".join(names) for names in ([c.name for c in given], expected))
        count = f"the query returns {len(given)} columns, it returned {len(expected)}"
        return (f"{count}; now ({now}), then ({then})",)
    return tuple(_unfit(definition, given))


def _unfit(definition: ResolvedDefinition, given: tuple[Column, ...]) -> Iterator[str]:
    for column, position in zip(definition.columns, query_positions(definition), strict=True):
        returned = given[position].type
        if not holds(returned, column.type):
            yield f"{column}: the query returns {returned}, which the column cannot hold"
