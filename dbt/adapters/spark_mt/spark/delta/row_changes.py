"""Changes of single rows of a Delta table by one MERGE.

The rows of a table may be equal to each other. A row to be removed is removed with all rows that
equal it. Those that shall stay are added again in the same statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.execution.table_format import RowsNotThereError
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.kept_rows import kept_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.execution.table_format import TableColumns


_OLD, _PRESENT = "__materialized_table_old", "__materialized_table_present"
_KEY = "__materialized_table_key_"
_WANTED, _THERE = "__materialized_table_wanted", "__materialized_table_there"
_NOT_THERE = "a row to be removed is not in the materialized table"


def apply_changes(spark: SparkSession, table: TableColumns, added: str, removed: str) -> None:
    """Carry out `execution.table_format.VersionedTables.apply_changes` by one MERGE.

    Raises:
        RowsNotThereError: The table does not have all rows that are to be removed.
    """
    with kept_rows(spark) as kept:
        copies = kept.keep(copies_query(table, removed), f"max({_WANTED} - {_THERE})")
        if copies.rows and copies.measures[0] > 0:
            raise RowsNotThereError(_NOT_THERE)
        source = kept.keep_source(bag_query(table, added, copies.view if copies.rows else ""))
        _merge(spark, bag_statement(table, source.view))


def replace_keys(
    spark: SparkSession,
    table: TableColumns,
    key: Sequence[str],
    rows: str,
    keys: str,
    *,
    adds_columns: bool = False,
) -> None:
    """Carry out `execution.table_format.VersionedTables.replace_keys` by one MERGE."""
    with kept_rows(spark) as kept:
        source = kept.keep_source(keyed_query(key, rows, keys))
        _merge(spark, keyed_statement(table, key, source.view, adds_columns=adds_columns))


def _merge(spark: SparkSession, statement: str) -> None:
    try:
        with unlogged():
            spark.sql(statement)
    except Exception as error:
        if is_spark_error(error) and _NOT_THERE in failure_of(error).message:
            raise RowsNotThereError(_NOT_THERE) from error
        raise


def copies_query(table: TableColumns, removed: str) -> str:
    """Return each row to be removed once, how often it is to be removed, and how often it is there.

    Only the columns of the table count. NULL equals NULL.
    """
    columns = _columns(table)
    listed = ", ".join(columns)
    same = " AND ".join(f"t.{c} <=> r.{c}" for c in columns)
    own = ", ".join(f"t.{c}" for c in columns)
    return f"""SELECT {listed}, sum({_WANTED}) AS {_WANTED}, sum({_THERE}) AS {_THERE} FROM (
SELECT {listed}, 1L AS {_WANTED}, 0L AS {_THERE} FROM (
{removed}
)
UNION ALL
SELECT {own}, 0L, 1L FROM {table.name.sql} AS t LEFT SEMI JOIN (
{removed}
) AS r ON {same}
) GROUP BY {listed}"""


def bag_query(table: TableColumns, added: str, copies: str) -> str:
    """Return the rows that leave the table, marked as old, and those that it gets.

    Args:
        table: The table.
        added: The rows to add, checked against the constraints.
        copies: The relation that `copies_query` gives; empty where nothing is removed.
    """
    listed = ", ".join(_columns(table))
    parts = [f"SELECT false AS {_OLD}, {listed} FROM (\n{added}\n)"]
    if copies:
        stay = f"explode(array_repeat(1, CAST({_THERE} - {_WANTED} AS INT))) AS _"
        parts += [
            f"SELECT true, {listed} FROM {copies}",
            f"SELECT false, {listed} FROM {copies} LATERAL VIEW {stay} WHERE {_THERE} > {_WANTED}",
        ]
    return "\nUNION ALL\n".join(parts)


def bag_statement(table: TableColumns, source: str) -> str:
    """Return the MERGE that removes all copies of rows, and adds rows and the copies that stay.

    Args:
        table: The table.
        source: The relation that `bag_query` gives.
    """
    columns = _columns(table)
    same = " AND ".join((f"s.{_OLD}", *(f"t.{c} <=> s.{c}" for c in columns)))
    return f"""MERGE INTO {table.name.sql} AS t USING {source} AS s ON {same}
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT ({", ".join(columns)}) VALUES ({_inserted(columns)})"""


def keyed_query(key: Sequence[str], rows: str, keys: str) -> str:
    """Return each key with its new row, or with NULL in all other columns.

    Args:
        key: Columns whose values differ in all rows.
        rows: The rows, checked against the constraints.
        keys: Each key once.
    """
    named = ", ".join(f"k.{quote(c)} AS {_KEY}{n}" for n, c in enumerate(key))
    same = " AND ".join(f"k.{quote(c)} <=> r.{quote(c)}" for c in key)
    return f"""SELECT {named}, r.* FROM (
{keys}
) AS k LEFT JOIN (
SELECT *, true AS {_PRESENT} FROM (
{rows}
)) AS r ON {same}"""


def keyed_statement(
    table: TableColumns, key: Sequence[str], source: str, *, adds_columns: bool
) -> str:
    """Return the MERGE that replaces the rows of keys, and leaves those alone that are the same.

    Args:
        table: The table.
        key: Columns whose values differ in all rows.
        source: The relation that `keyed_query` gives.
        adds_columns: Whether the table may still lack columns.
    """
    columns = _columns(table)
    match = " AND ".join(f"t.{quote(c)} <=> s.{_KEY}{n}" for n, c in enumerate(key))
    differs = " AND NOT (" + " AND ".join(f"t.{c} <=> s.{c}" for c in columns) + ")"
    changed = differs if table.comparable and not adds_columns else ""
    return f"""MERGE INTO {table.name.sql} AS t USING {source} AS s ON {match}
WHEN MATCHED AND s.{_PRESENT} IS NULL THEN DELETE
WHEN MATCHED{changed} THEN UPDATE SET {", ".join(f"{c} = s.{c}" for c in columns)}
WHEN NOT MATCHED AND s.{_PRESENT} THEN
INSERT ({", ".join(columns)}) VALUES ({", ".join(f"s.{c}" for c in columns)})"""


def _inserted(columns: Sequence[str]) -> str:
    """Return the values of a new row; a row to remove that matches none fails the statement."""
    first, *rest = (f"s.{c}" for c in columns)
    return ", ".join((f"CASE WHEN s.{_OLD} THEN {_failure()} ELSE {first} END", *rest))


def _failure() -> str:
    return f"raise_error('{_NOT_THERE}')"


def _columns(table: TableColumns) -> list[str]:
    return [quote(column) for column in table.columns]
