"""The text whose rows are a table's content: any form of its query, in the table's columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.resolution.columns import Names, quoted_names
from dbt.adapters.spark_mt.resolution.types import InvalidTypeError, castable_ddl, parse_type

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition


def query_positions(definition: ResolvedDefinition) -> tuple[int, ...]:
    """Return for each column of the table which column of the query it is, counted from 0.

    Bare names and no list at all go by position, a typed list goes by name (semantics 2).
    """
    if not any(spec.type is not None for spec in definition.asked.columns):
        return tuple(range(len(definition.columns)))
    names = Names.of(definition.context)
    places = {names.fold(n): i for i, n in enumerate(definition.query_columns)}
    return tuple(places[names.fold(c.name)] for c in definition.columns)


def projection(definition: ResolvedDefinition) -> tuple[str, ...]:
    """Return an SQL expression for each column of the table, over `content_query`'s inner names."""
    inner = _inner_names(definition)
    typed = any(spec.type is not None for spec in definition.asked.columns)
    return tuple(
        _expression(inner[position], column, cast=typed)
        for column, position in zip(definition.columns, query_positions(definition), strict=True)
    )


def content_query(definition: ResolvedDefinition, body: str) -> str:
    """Wrap a form of the definition's query so that it yields the table's columns.

    Args:
        definition: Tells columns, casts and renames.
        body: The expanded query, or the same with its sources pinned to versions.

    Returns:
        A query that fails to analyse when `body` has no longer as many columns as it had.
    """
    inner = quoted_names(_inner_names(definition))
    return f"SELECT {', '.join(projection(definition))} FROM (\n{body}\n) AS `_`({inner})"


def null_column(column: Column) -> str:
    """Return a NULL of a column's type under its name, as an item of SELECT."""
    return f"CAST(NULL AS {_cast_type(column.type) or column.type}) AS {quote(column.name)}"


def _inner_names(definition: ResolvedDefinition) -> tuple[str, ...]:
    """Return the query's own names, or numbers where a query gives one name twice."""
    names = definition.query_columns
    if len({name.lower() for name in names}) == len(names):
        return names
    return tuple(f"column_{number}" for number in range(len(names)))


def _expression(inner: str, column: Column, *, cast: bool) -> str:
    expression = quote(inner)
    if cast and (target := _cast_type(column.type)):
        expression = f"CAST({expression} AS {target})"
    elif inner == column.name:
        return expression
    return f"{expression} AS {quote(column.name)}"


def _cast_type(text: str) -> str | None:
    try:
        return castable_ddl(parse_type(text))
    except InvalidTypeError:
        return None
