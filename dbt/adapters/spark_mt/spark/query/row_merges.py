"""Queries for the changed rows of a table, with their MERGE statements: as bags, or by keys.

The rows of a table may be equal to each other. A row to be removed is removed with all rows that
equal it. Those that shall stay are added again by the same statement.

A refresh by keys computes the rows of touched keys again. The touched keys are those that the query
returns for the changed source rows. Their rows are computed over all source data. They replace the
rows of the table, and keys that the query no longer returns are deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.query import bags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.execution.table_format import TableColumns


PRESENT = "__materialized_table_present"
"""The column of `keyed_query` that is NULL where a key has no new row."""
KEY = "__materialized_table_key_"
"""How the columns of `keyed_query` begin that have the key; their number follows."""
WANTED, THERE = "__materialized_table_wanted", "__materialized_table_there"
"""The columns of `copies_query` that say how often a row is to be removed, and is there."""
NOT_THERE = "a row to be removed is not in the materialized table"
"""With what `bag_statement` fails where a row to remove is not there."""
_OLD = "__materialized_table_old"
_COPY = "__materialized_table_copy"


def copies_query(table: TableColumns, removed: str, within: str = "") -> str:
    """Return each row to be removed once, how often it is to be removed, and how often it is there.

    Only the columns of the table count. NULL equals NULL.

    Args:
        table: The table.
        removed: The rows, each as often as it is to be removed.
        within: Conditions on `t` that all of them meet.
    """
    columns, known = columns_of(table), compared(table)
    listed = ", ".join(columns)
    same = bags.same_row(known, "t", "r") + within
    own = ", ".join(f"t.{c}" for c in columns)
    shown = ", ".join(column.shown for column in known)
    keys = ", ".join(key for column in known for key in column.keys)
    return f"""SELECT {shown}, sum({WANTED}) AS {WANTED}, sum({THERE}) AS {THERE} FROM (
SELECT {listed}, 1L AS {WANTED}, 0L AS {THERE} FROM (
{removed}
)
UNION ALL
SELECT {own}, 0L, 1L FROM {table.name.sql} AS t LEFT SEMI JOIN (
{removed}
) AS r ON {same}
) GROUP BY {keys}"""


def bag_query(table: TableColumns, added: str, copies: str) -> str:
    """Return the rows that leave the table, marked as old, and those that it gets.

    Args:
        table: The table.
        added: The rows to add, checked against the constraints.
        copies: The relation that `copies_query` gives; empty where nothing is removed.
    """
    listed = ", ".join(columns_of(table))
    parts = [f"SELECT false AS {_OLD}, {listed} FROM (\n{added}\n)"]
    if copies:
        stay = f"explode(array_repeat(1, CAST({THERE} - {WANTED} AS INT))) AS {_COPY}"
        parts += [
            f"SELECT true, {listed} FROM {copies}",
            f"SELECT false, {listed} FROM {copies} LATERAL VIEW {stay} WHERE {THERE} > {WANTED}",
        ]
    return "\nUNION ALL\n".join(parts)


def bag_statement(table: TableColumns, source: str, within: str = "", into: str = "") -> str:
    """Return the MERGE that removes all copies of rows, and adds rows and the copies that stay.

    Its source is the relation that `bag_query` gives. A row to remove that matches none fails it.

    Args:
        table: The table.
        source: The relation.
        within: Conditions on `t` that all rows to remove meet.
        into: What the statement changes, as text; by default the table.
    """
    columns = columns_of(table)
    same = f"s.{_OLD} AND {bags.same_row(compared(table), 't', 's')}{within}"
    first, *rest = (f"s.{c}" for c in columns)
    checked = f"CASE WHEN s.{_OLD} THEN raise_error('{NOT_THERE}') ELSE {first} END"
    return f"""MERGE INTO {into or table.name.sql} AS t USING {source} AS s ON {same}
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT ({", ".join(columns)}) VALUES ({", ".join((checked, *rest))})"""


def keyed_query(key: Sequence[str], rows: str, keys: str) -> str:
    """Return each key with its new row, or with NULL in all other columns.

    Args:
        key: Columns whose values differ in all rows.
        rows: The rows, checked against the constraints.
        keys: Each key once.
    """
    named = ", ".join(f"k.{quote(c)} AS {KEY}{n}" for n, c in enumerate(key))
    same = " AND ".join(f"k.{quote(c)} <=> r.{quote(c)}" for c in key)
    return f"""SELECT {named}, r.* FROM (
{keys}
) AS k LEFT JOIN (
SELECT *, true AS {PRESENT} FROM (
{rows}
)) AS r ON {same}"""


def keyed_statement(
    table: TableColumns,
    key: Sequence[str],
    source: str,
    within: str = "",
    into: str = "",
    *,
    adds_columns: bool,
) -> str:
    """Return the MERGE that replaces the rows of keys, and leaves those alone that are the same.

    Its source is the relation that `keyed_query` gives. A key of NULLs without a new row may be in
    it only if the table has a row of this key: a MERGE may take it for a match of the NULLs that an
    outer join gives for no row, and then no clause fits. No condition of a clause is ever NULL.
    """
    columns = columns_of(table)
    match = same_key(table, key) + within
    differs = f" AND NOT ({bags.same_row(compared(table), 't', 's')})"
    changed = differs if table.comparable and not adds_columns else ""
    return f"""MERGE INTO {into or table.name.sql} AS t USING {source} AS s ON {match}
WHEN MATCHED AND s.{PRESENT} IS NULL THEN DELETE
WHEN MATCHED{changed} THEN UPDATE SET {", ".join(f"{c} = s.{c}" for c in columns)}
WHEN NOT MATCHED AND s.{PRESENT} IS NOT NULL THEN
INSERT ({", ".join(columns)}) VALUES ({", ".join(f"s.{c}" for c in columns)})"""


def computed_rows(content: str, touched: Sequence[str], key: Sequence[str]) -> str:
    """Return the rows of the touched keys.

    Args:
        content: The table's rows over all source data.
        touched: The query over the rows that changed, in as many parts as needed.
        key: The columns of the PRIMARY KEY.
    """
    same = " AND ".join(f"c.{quote(column)} <=> k.{quote(column)}" for column in key)
    keys = keys_query(touched, key)
    return f"SELECT c.* FROM (\n{content}\n) AS c LEFT SEMI JOIN (\n{keys}\n) AS k ON {same}"


def keys_query(touched: Sequence[str], key: Sequence[str]) -> str:
    """Return each touched key once."""
    columns = ", ".join(map(quote, key))
    return "\nUNION\n".join(f"SELECT DISTINCT {columns} FROM (\n{part}\n)" for part in touched)


def same_key(table: TableColumns, key: Sequence[str]) -> str:
    """Return the condition that a row `t` has the key of a row `s` of `keyed_query`."""
    types = {column.sql.lower(): column.type for column in compared(table)}
    typed = [(n, quote(c), types.get(quote(c).lower(), "")) for n, c in enumerate(key)]
    return " AND ".join(
        f"{bags.as_read(f't.{c}', type_)} <=> {bags.as_read(f's.{KEY}{n}', type_)}"
        for n, c, type_ in typed
    )


def columns_of(table: TableColumns) -> list[str]:
    """Return the quoted names of the columns."""
    return [quote(column) for column in table.columns]


def compared(table: TableColumns) -> tuple[bags.BagColumn, ...]:
    """Return the columns by which two rows are compared."""
    types = table.types or ("",) * len(table.columns)
    return tuple(map(bags.BagColumn.of, columns_of(table), types))
