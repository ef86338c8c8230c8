"""Checks of rows against the constraints of a definition.

Keys are NOT ENFORCED for other writers, and CHECK applies to what refreshes write. Both are tested
within the refresh, by SQL around its query which fails on a bad row. So a commit has good rows or
does not happen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import Check, quote, quote_text

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition


_COUNT = "__materialized_table_count"


_LIMIT = 10
"""The largest number of rows that a query for violations returns of each kind."""
_Violation = tuple[str, tuple[str, ...]]


def guarded(content: str, definition: ResolvedDefinition) -> str:
    """Return `content` such that a row which breaks a constraint makes the query fail."""
    conditions = _conditions(definition)
    if not conditions:
        return content
    columns = ", ".join(quote(column.name) for column in definition.columns)
    failure = "raise_error('a constraint of the materialized table is violated')"
    broken = " OR ".join(f"({condition})" for _, condition in conditions)
    return (
        f"SELECT {columns} FROM (\n{_counted(content, definition)}\n) "
        f"WHERE CASE WHEN {broken} THEN {failure} ELSE true END"
    )


def violations_query(content: str, definition: ResolvedDefinition) -> str | None:
    """Return a query for the first rows that break a constraint: `violation`, `row_values`."""
    conditions = _conditions(definition)
    if not conditions:
        return None
    counted = _counted(content, definition)
    parts = [
        f"(SELECT DISTINCT {quote_text(text)} AS violation, {_values(columns)} AS row_values "
        f"FROM counted WHERE {condition} LIMIT {_LIMIT})"
        for (text, columns), condition in conditions
    ]
    return f"WITH counted AS (\n{counted}\n)\n" + "\nUNION ALL\n".join(parts)


def outside_duplicates_query(
    content: str, definition: ResolvedDefinition, table: str, condition: str
) -> str | None:
    """Return a query for keys of new partition rows that other partitions have already.

    Args:
        content: The new rows of the partitions.
        definition: The table's definition.
        table: The table's name for a statement.
        condition: Tells the partitions' rows in the table.

    Returns:
        None where the key holds every partition column, so that no other partition can have it.
    """
    key = definition.declared.primary_key
    if key is None:
        return None
    folded = {column.lower() for column in key.columns}
    if folded.issuperset(column.lower() for column in definition.declared.partitioned_by):
        return None
    columns = ", ".join(quote(column) for column in key.columns)
    text = quote_text(f"duplicate primary key ({', '.join(key.columns)}) in another partition")
    return (
        f"SELECT {text} AS violation, {_values(key.columns)} AS row_values FROM (\n{content}\n) "
        f"JOIN (SELECT {columns} FROM {table} WHERE NOT coalesce({condition}, false)) "
        f"USING ({columns}) LIMIT {_LIMIT}"
    )


def changed_duplicates_query(
    added: str, removed: str, definition: ResolvedDefinition, table: str
) -> str | None:
    """Return a query for keys of added rows that the table then has more than once.

    Args:
        added: The rows to add.
        removed: The rows to remove; empty for none.
        definition: The table's definition.
        table: The table's name for a statement.

    Returns:
        None where the table has no key.
    """
    key = definition.declared.primary_key
    if key is None:
        return None
    columns = ", ".join(quote(column) for column in key.columns)
    same = " AND ".join(f"o.{quote(c)} <=> n.{quote(c)}" for c in key.columns)
    reached = f"LEFT SEMI JOIN (\n{added}\n) AS n ON {same}"
    parts = [
        f"SELECT {columns}, 1 AS {_COUNT} FROM (\n{added}\n)",
        f"SELECT {columns}, 1 FROM {table} AS o {reached}",
    ]
    if removed:
        parts.append(f"SELECT {columns}, -1 FROM (\n{removed}\n) AS o {reached}")
    counted = "\nUNION ALL\n".join(parts)
    text = quote_text(f"duplicate primary key ({', '.join(key.columns)})")
    return (
        f"SELECT {text} AS violation, {_values(key.columns)} AS row_values FROM (\n{counted}\n) "
        f"GROUP BY {columns} HAVING sum({_COUNT}) > 1 LIMIT {_LIMIT}"
    )


def _conditions(definition: ResolvedDefinition) -> list[tuple[_Violation, str]]:
    found: list[tuple[_Violation, str]] = []
    key = definition.declared.primary_key
    if key is not None:
        nulls = " OR ".join(f"{quote(column)} IS NULL" for column in key.columns)
        listed = ", ".join(key.columns)
        found.append(((f"NULL in the primary key ({listed})", key.columns), nulls))
        twice = f"{_COUNT} > 1"
        found.append(((f"duplicate primary key ({listed})", key.columns), twice))
    every = tuple(column.name for column in definition.columns)
    for constraint in definition.declared.constraints:
        if isinstance(constraint, Check):
            text = f"check ({constraint.expression}) fails"
            found.append(((text, every), f"NOT coalesce(({constraint.expression}), true)"))
    for column in definition.columns:
        if not column.nullable:
            text = f"NULL in column {column.name}, which is NOT NULL"
            found.append(((text, every), f"{quote(column.name)} IS NULL"))
    return found


def _counted(content: str, definition: ResolvedDefinition) -> str:
    key = definition.declared.primary_key
    if key is None:
        return content
    columns = ", ".join(quote(column) for column in key.columns)
    return f"SELECT *, count(*) OVER (PARTITION BY {columns}) AS {_COUNT} FROM (\n{content}\n)"


def _values(columns: tuple[str, ...]) -> str:
    listed = ", ".join(quote(column) for column in columns)
    return f"to_json(struct({listed}), map('ignoreNullFields', 'false'))"
