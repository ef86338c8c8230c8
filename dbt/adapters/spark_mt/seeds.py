"""Loads seeds exactly: the cells go to Spark as text and are cast there.

Going through Python's own dates and floats would shift timestamps to the process's time zone and
round large numbers.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.identifier import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import agate
    from pyspark.sql import SparkSession

_VIEW = "__dbt_seed_rows"
_BIGINT = range(-(2**63), 2**63)
_MAX_PRECISION = 38
_AGATE_DIGITS = 28


class SeedPrecisionError(MaterializedTableError):
    """A number was rounded before we saw it."""

    condition = "MATERIALIZED_TABLE_SEED_NUMBER_TOO_LONG"
    text = "The seed's column {column} holds numbers of 28 digits or more, which dbt rounds."
    remedy = (
        "Name the column's type, then it is read as text: "
        "`column_types: {{{column}: decimal(38,0)}}`."
    )


def load_seed(
    spark: SparkSession,
    table: str,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[object]],
) -> None:
    """Append rows to a table.

    Args:
        spark: A session of the connection's own; a temporary view is made in it.
        table: The table's name as SQL.
        columns: Name and type of each column, in the order of the cells.
        rows: The cells as agate has them.
    """
    cells = [tuple(cell_text(cell) for cell in row) for row in rows]
    if not cells:
        return
    names = [f"c{i}" for i in range(len(columns))]
    frame = spark.createDataFrame(cells, ", ".join(f"{name} string" for name in names))
    frame.createOrReplaceTempView(_VIEW)
    target = ", ".join(quote(name) for name, _ in columns)
    casts = ", ".join(
        f"CAST({cell} AS {type_})" for cell, (_, type_) in zip(names, columns, strict=True)
    )
    try:
        spark.sql(f"INSERT INTO {table} ({target}) SELECT {casts} FROM {_VIEW}")
    finally:
        spark.catalog.dropTempView(_VIEW)


def cell_text(cell: object) -> str | None:
    """A cell as text that Spark casts back to the same value; None is NULL."""
    if cell is None:
        return None
    if isinstance(cell, Decimal):
        return format(cell, "f")
    if isinstance(cell, dt.datetime):
        return cell.isoformat(sep=" ")
    return str(cell)


def number_type(table: agate.Table, index: int) -> str:
    """The type for a column of numbers: BIGINT or DOUBLE where they are exact, else DECIMAL."""
    numbers = [Decimal(cell) for cell in _cells(table, index) if cell is not None]
    if any(len(number.as_tuple().digits) >= _AGATE_DIGITS for number in numbers):
        raise SeedPrecisionError(column=table.column_names[index])
    if all(number == number.to_integral_value() for number in numbers):
        return integer_type(table, index)
    if all(Decimal(repr(float(number))) == number for number in numbers):
        return "double"
    scale = max(-int(number.as_tuple().exponent) for number in numbers)
    return f"decimal({_MAX_PRECISION},{min(max(scale, 0), _MAX_PRECISION)})"


def integer_type(table: agate.Table, index: int) -> str:
    """The type for a column of whole numbers."""
    fits = all(int(cell) in _BIGINT for cell in _cells(table, index) if cell is not None)
    return "bigint" if fits else f"decimal({_MAX_PRECISION},0)"


def _cells(table: agate.Table, index: int) -> Iterable[Any]:
    return (row[index] for row in table.rows)
