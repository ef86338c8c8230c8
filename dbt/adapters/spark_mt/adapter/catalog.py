"""Listing of schemas for dbt's cache and catalog, and exact loading of seeds.

Rows of listings are read as Spark returns them, not through agate: agate would read a table named
`20240101` as a number. Cells of seeds go to Spark as text and are cast there: Python's dates and
floats would shift timestamps to the process's time zone and round large numbers.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt.adapters.spark.column import SparkColumn

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.relation import SparkMTRelation, SparkMTRelationType
from dbt.adapters.spark_mt.spark.delta.format import FORMAT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import agate
    from dbt.adapters.base.relation import BaseRelation
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField, StructType

    from dbt.adapters.spark_mt.execution.show import Figure
    from dbt.adapters.spark_mt.handle import Row


_CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
_VIEW = "__dbt_seed_rows"
_BIGINT = range(-(2**63), 2**63)
_MAX_PRECISION = 38
_AGATE_DIGITS = 28


class Description(NamedTuple):
    """The answer to DESCRIBE TABLE EXTENDED.

    Args:
        columns: Name, type and comment of each column.
        facts: Of the table, such as Type, Provider, Owner, Comment, Statistics.
    """

    columns: tuple[tuple[str, str, str | None], ...]
    facts: dict[str, str]


def show_tables_sql(schema: BaseRelation) -> str:
    """The statement that lists a schema."""
    parts = (schema.database, schema.schema)
    return f"SHOW TABLE EXTENDED IN {'.'.join(quote(p) for p in parts if p)} LIKE '*'"


def relations_of(
    rows: Iterable[Row], catalog: str, materialized: Collection[str]
) -> Iterator[SparkMTRelation]:
    """The relations in the rows of SHOW TABLE EXTENDED, without the session's temporary views.

    Args:
        rows: Schema, name, whether it is temporary, and lines of facts.
        catalog: Of the listed schema.
        materialized: The names, in lower case, of the schema's materialized tables.
    """
    for schema, name, is_temporary, information in rows:
        if not is_temporary:
            is_ours = name.lower() in materialized
            yield relation_of((catalog, schema, name), information, materialized=is_ours)


def relation_of(
    path: tuple[str, str, str], information: str, *, materialized: bool
) -> SparkMTRelation:
    """A relation as Spark describes it.

    A materialized table does not claim to be of a table format: dbt-spark would then overwrite it
    in place where it should drop it.

    Args:
        path: Catalog, schema and name.
        information: Lines of `Key: value`.
        materialized: Whether it is a materialized table.
    """
    catalog, schema, name = path
    kind = SparkMTRelationType.View if "Type: VIEW" in information else SparkMTRelationType.Table
    return SparkMTRelation.create(
        database=catalog,
        schema=schema,
        identifier=name,
        type=SparkMTRelationType.MaterializedTable if materialized else kind,  # type: ignore[arg-type]
        information=information,
        is_delta=not materialized and f"Provider: {FORMAT.name}" in information,
        is_iceberg="Provider: iceberg" in information,
        is_hudi="Provider: hudi" in information,
    )


def read_description(rows: Iterable[Row]) -> Description:
    """Split the rows of DESCRIBE TABLE EXTENDED: columns, a blank or a heading, facts."""
    columns: list[tuple[str, str, str | None]] = []
    facts: dict[str, str] = {}
    in_columns = True
    for name, value, comment in rows:
        in_columns = in_columns and bool(name) and not name.startswith("# ")
        if in_columns:
            columns.append((name, value, comment or None))
        elif name and not name.startswith("# "):
            facts.setdefault(name, value)
    return Description(tuple(columns), facts)


def information_of(description: Description) -> str:
    """The facts in the shape that SHOW TABLE EXTENDED has them."""
    return "".join(f"{key}: {value}\n" for key, value in description.facts.items())


def columns_of(relation: BaseRelation, schema: StructType) -> list[SparkColumn]:
    """A relation's columns with Spark's own spelling of their types."""
    return [
        SparkColumn(
            column=field.name,
            dtype=type_of(field),
            table_database=relation.database,
            table_schema=relation.schema,
            table_name=relation.name,
            table_type=relation.type,
            column_index=index,
        )
        for index, field in enumerate(schema.fields)
    ]


def type_of(field: StructField) -> str:
    """A column's type; CHAR and VARCHAR are strings with a note to Spark."""
    return str(field.metadata.get(_CHAR_VARCHAR) or field.dataType.simpleString())


def catalog_rows(
    relation: BaseRelation, description: Description, figures: Iterable[Figure]
) -> list[dict[str, Any]]:
    """A relation's rows in dbt's docs catalog, one a column.

    `figures` are what is known of it as a materialized table: dbt's docs show them as statistics.
    """
    facts = description.facts
    stats: dict[str, str | bool] = {}
    for figure in figures:
        key = f"stats:{figure.label.lower().replace(' ', '_')}"
        stats[f"{key}:label"] = figure.label
        stats[f"{key}:value"] = figure.value
        stats[f"{key}:description"] = figure.about
        stats[f"{key}:include"] = True
    table = {
        "table_database": relation.database,
        "table_schema": relation.schema,
        "table_name": relation.identifier,
        "table_type": str(relation.type),
        "table_comment": facts.get("Comment") or None,
        "table_owner": facts.get("Owner") or None,
        **SparkColumn.convert_table_stats(facts.get("Statistics")),
        **stats,
    }
    return [
        {
            **table,
            "column_name": name,
            "column_index": index,
            "column_type": type_,
            "column_comment": comment,
        }
        for index, (name, type_, comment) in enumerate(description.columns)
    ]


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
    """Append rows to a table, through a temporary view in the connection's own session.

    Args:
        spark: The session.
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
