"""What is in a schema, as relations and as rows of dbt's docs catalog.

Rows are read as they come from Spark, not through agate, which would take a table named `20240101`
for a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dbt.adapters.spark.column import SparkColumn

from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.relation import SparkMTRelation, SparkMTRelationType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from dbt.adapters.base.relation import BaseRelation
    from pyspark.sql.types import StructField, StructType

    from dbt.adapters.spark_mt.cursor import Row
    from dbt.adapters.spark_mt.execution.figures import Figure

_CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"


class Description(NamedTuple):
    """The answer to DESCRIBE TABLE EXTENDED.

    Args:
        columns: Name, type and comment of each column.
        facts: The table's own facts, such as Type, Provider, Owner, Comment, Statistics.
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
        catalog: Where the listed schema is.
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

    A materialized table does not claim to be a Delta table: dbt-spark would then overwrite it in
    place where it should drop it.

    Args:
        path: Catalog, schema and name.
        information: Lines of `Key: value`.
        materialized: Whether it is one of ours.
    """
    catalog, schema, name = path
    kind = SparkMTRelationType.View if "Type: VIEW" in information else SparkMTRelationType.Table
    return SparkMTRelation.create(
        database=catalog,
        schema=schema,
        identifier=name,
        type=SparkMTRelationType.MaterializedTable if materialized else kind,  # type: ignore[arg-type]
        information=information,
        is_delta=not materialized and "Provider: delta" in information,
        is_iceberg="Provider: iceberg" in information,
        is_hudi="Provider: hudi" in information,
    )


def read_description(rows: Iterable[Row]) -> Description:
    """Take the rows of DESCRIBE TABLE EXTENDED apart: columns, a blank or a heading, facts."""
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
    relation: BaseRelation, description: Description, figures: Iterable[Figure] = ()
) -> list[dict[str, Any]]:
    """A relation's rows in dbt's docs catalog, one a column.

    Args:
        relation: What it is.
        description: Its columns and facts.
        figures: What is known of it as a materialized table.
    """
    facts = description.facts
    table = {
        "table_database": relation.database,
        "table_schema": relation.schema,
        "table_name": relation.identifier,
        "table_type": str(relation.type),
        "table_comment": facts.get("Comment") or None,
        "table_owner": facts.get("Owner") or None,
        **SparkColumn.convert_table_stats(facts.get("Statistics")),
        **stats_of(figures),
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


def stats_of(figures: Iterable[Figure]) -> dict[str, str | bool]:
    """Figures in the columns that dbt's docs read as statistics of a table."""
    stats: dict[str, str | bool] = {}
    for figure in figures:
        key = f"stats:{figure.label.lower().replace(' ', '_')}"
        stats[f"{key}:label"] = figure.label
        stats[f"{key}:value"] = figure.value
        stats[f"{key}:description"] = figure.about
        stats[f"{key}:include"] = True
    return stats
