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


_OLD, _NEW = "__materialized_table_old", "__materialized_table_new"
_KEY = "__materialized_table_key_"
_WANTED, _THERE = "__materialized_table_wanted", "__materialized_table_there"
_NOT_THERE = "a row to be removed is not in the materialized table, or one to be added already is"


def apply_changes(
    spark: SparkSession,
    table: TableColumns,
    added: str,
    removed: str,
    unique_by: Sequence[str] = (),
) -> None:
    """Carry out `execution.table_format.VersionedTables.apply_changes` by one MERGE.

    Raises:
        RowsNotThereError: The table does not have all rows that are to be removed.
    """
    with kept_rows(spark) as kept:
        if unique_by:
            if source := kept.keep(keyed_query(table, added, removed, unique_by)):
                _merge(spark, keyed_statement(table, source, unique_by))
            return
        copies = kept.keep(copies_query(table, removed))
        few = f"SELECT 1 FROM {copies} WHERE {_WANTED} > {_THERE} LIMIT 1"
        if copies and spark.sql(few).collect():
            raise RowsNotThereError(_NOT_THERE)
        _merge(spark, bag_statement(table, added, copies))


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


def bag_statement(table: TableColumns, added: str, copies: str) -> str:
    """Return the MERGE that removes all copies of rows, and adds rows and the copies that stay.

    Args:
        table: The table.
        added: The rows to add, checked against the constraints.
        copies: The relation that `copies_query` gives; empty where nothing is removed.
    """
    columns = _columns(table)
    listed = ", ".join(columns)
    parts = [f"SELECT false AS {_OLD}, {listed} FROM (\n{added}\n)"]
    if copies:
        stay = f"explode(array_repeat(1, CAST({_THERE} - {_WANTED} AS INT))) AS _"
        parts += [
            f"SELECT true, {listed} FROM {copies}",
            f"SELECT false, {listed} FROM {copies} LATERAL VIEW {stay} WHERE {_THERE} > {_WANTED}",
        ]
    source = "\nUNION ALL\n".join(parts)
    same = " AND ".join((f"s.{_OLD}", *(f"t.{c} <=> s.{c}" for c in columns)))
    return f"""MERGE INTO {table.name.sql} AS t USING (
{source}
) AS s ON {same}
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({_inserted(columns)})"""


def keyed_query(table: TableColumns, added: str, removed: str, unique_by: Sequence[str]) -> str:
    """Return the new row of each key, and whether the key has an old and a new row.

    Args:
        table: The table.
        added: The rows to add, checked against the constraints.
        removed: The rows to remove.
        unique_by: Columns whose values differ in all rows.
    """
    columns, key = _columns(table), [quote(column) for column in unique_by]
    listed = ", ".join(columns)
    keys = ", ".join(f"{c} AS {_KEY}{n}" for n, c in enumerate(key))
    both = " AND ".join(f"o.{_KEY}{n} <=> n.{_KEY}{n}" for n in range(len(key)))
    found = ", ".join(f"coalesce(o.{_KEY}{n}, n.{_KEY}{n}) AS {_KEY}{n}" for n in range(len(key)))
    return f"""SELECT {found}, o.{_OLD}, n.{_NEW}, {", ".join(f"n.{c}" for c in columns)} FROM (
SELECT {keys}, true AS {_OLD} FROM (
{removed}
)) AS o FULL OUTER JOIN (
SELECT {keys}, true AS {_NEW}, {listed} FROM (
{added}
)) AS n ON {both}"""


def keyed_statement(table: TableColumns, source: str, unique_by: Sequence[str]) -> str:
    """Return the MERGE that finds rows by columns whose values differ in all rows.

    A row that is removed and added under the same values is updated.

    Args:
        table: The table.
        source: The relation that `keyed_query` returns.
        unique_by: The columns.
    """
    columns, key = _columns(table), [quote(column) for column in unique_by]
    listed = ", ".join(columns)
    same = " AND ".join(f"t.{c} <=> s.{_KEY}{n}" for n, c in enumerate(key))
    return f"""MERGE INTO {table.name.sql} AS t USING {source} AS s ON {same}
WHEN MATCHED AND s.{_OLD} AND s.{_NEW} THEN UPDATE SET {", ".join(f"{c} = s.{c}" for c in columns)}
WHEN MATCHED AND s.{_OLD} THEN DELETE
WHEN MATCHED THEN UPDATE SET {columns[0]} = {_failure()}
WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({_inserted(columns)})"""


def _inserted(columns: Sequence[str]) -> str:
    """Return the values of a new row; a row to remove that matches none fails the statement."""
    first, *rest = (f"s.{c}" for c in columns)
    return ", ".join((f"CASE WHEN s.{_OLD} THEN {_failure()} ELSE {first} END", *rest))


def _failure() -> str:
    return f"raise_error('{_NOT_THERE}')"


def _columns(table: TableColumns) -> list[str]:
    return [quote(column) for column in table.columns]
