"""Listing of schemas for dbt's cache and catalog.

Rows are read as Spark returns them, not through agate: agate would read a table named `20240101` as
a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dbt.adapters.spark.column import SparkColumn
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.relation import SparkMTRelation, SparkMTRelationType
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.session.types import CHAR_METADATA

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.base.relation import BaseRelation
    from pyspark.sql.types import StructField, StructType

    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.execution.show import Figure
    from dbt.adapters.spark_mt.handle import Row


_PARTITIONS = "# Partition Information"
_TRANSFORMS = "# Partitioning"
"""The heading where a partition is a function of a column."""
_VIEW = "# Detailed View Information"


class Description(NamedTuple):
    """The answer to DESCRIBE TABLE EXTENDED.

    Args:
        columns: Name, type and comment of each column.
        facts: Of the table, such as Type, Provider, Owner, Comment, Statistics.
        partitioned_by: The partition columns, or functions of columns.
    """

    columns: tuple[tuple[str, str, str | None], ...]
    facts: dict[str, str]
    partitioned_by: tuple[str, ...] = ()


def show_tables_sql(schema: BaseRelation) -> str:
    """The statement that lists a schema."""
    return f"SHOW TABLE EXTENDED IN {_quoted(schema)} LIKE '*'"


def show_views_sql(schema: BaseRelation) -> str:
    """The statement that lists the views of a schema outside of Spark's own catalog."""
    return f"SHOW VIEWS IN {_quoted(schema)}"


def show_functions_sql(schema: BaseRelation) -> str:
    """The statement that lists the functions of a schema that are not Spark's own."""
    return f"SHOW USER FUNCTIONS IN {_quoted(schema)}"


def _quoted(schema: BaseRelation) -> str:
    return ".".join(quote(part) for part in (schema.database, schema.schema) if part)


def functions_of(
    rows: Iterable[Row], schema: BaseRelation, others: Iterable[BaseRelation]
) -> Iterator[SparkMTRelation]:
    """The functions in the rows of SHOW USER FUNCTIONS.

    Spark lets a table and a function have one name. dbt's cache does not, so the table is the
    one that it knows.

    Args:
        rows: The full name; functions of extensions, which are in no schema, have no full name.
        schema: The listed schema.
        others: The schema's tables and views.
    """
    taken = {str(relation.identifier).lower() for relation in others}
    for (full_name,) in rows:
        place, _, name = full_name.rpartition(".")
        if place and name.lower() not in taken:
            yield SparkMTRelation.create(
                database=schema.database,
                schema=schema.schema,
                identifier=name,
                type=SparkMTRelationType.Function,  # type: ignore[arg-type]
            )


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


def views_of(rows: Iterable[Row], schema: BaseRelation) -> Iterator[SparkMTRelation]:
    """The views in the rows of SHOW VIEWS, without the session's temporary views."""
    for _, name, is_temporary in rows:
        if not is_temporary:
            yield SparkMTRelation.create(
                database=schema.database,
                schema=schema.schema,
                identifier=name,
                type=SparkMTRelationType.View,  # type: ignore[arg-type]
            )


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
    formats = {
        f"is_{each.name}": not materialized and f"Provider: {each.name}" in information
        for each in FORMATS.known
    }
    return SparkMTRelation.create(
        database=catalog,
        schema=schema,
        identifier=name,
        type=SparkMTRelationType.MaterializedTable if materialized else kind,  # type: ignore[arg-type]
        information=information,
        is_hudi="Provider: hudi" in information,
        **formats,
    )


def format_of(relation: SparkMTRelation) -> TableFormat | None:
    """The format of a plain table that was listed; None where its tables keep no versions."""
    return next((each for each in FORMATS.known if getattr(relation, f"is_{each.name}")), None)


def read_description(rows: Iterable[Row]) -> Description:
    """Split the rows of DESCRIBE TABLE EXTENDED: columns, then headings with facts below them."""
    columns: list[tuple[str, str, str | None]] = []
    facts: dict[str, str] = {}
    partitioned_by: list[str] = []
    heading: str | None = ""
    for name, value, comment in rows:
        if not name or name.startswith("# "):
            # the heading of the columns below is one more line with a hash
            heading = heading if heading == _PARTITIONS and name else name or None
            if heading == _VIEW:
                facts["Type"] = "VIEW"
        elif heading == "":
            columns.append((name, value, comment or None))
        elif heading in {_PARTITIONS, _TRANSFORMS}:
            partitioned_by.append(name if heading == _PARTITIONS else value)
        else:
            facts.setdefault(name, value)
    return Description(tuple(columns), facts, tuple(partitioned_by))


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


def changed_comments(
    fields: Iterable[StructField], described: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """Name and description of the columns whose comment is not their description."""
    comments = {field.name.lower(): field.metadata.get("comment") or "" for field in fields}
    texts = ((name, str(column.get("description") or "")) for name, column in described.items())
    return [(name, text) for name, text in texts if comments.get(name.lower()) != text]


def type_of(field: StructField) -> str:
    """A column's type; CHAR and VARCHAR are strings with a note to Spark."""
    return str(field.metadata.get(CHAR_METADATA) or field.dataType.simpleString())


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


def catalog_table(rows: Sequence[Mapping[str, Any]]) -> CatalogTable | None:
    """A relation of dbt's docs catalog, of the rows of its columns; None for no rows."""
    if not rows:
        return None
    table = rows[0]
    stats = {key: _statistic(key, table) for key in _statistics(table)}
    described = StatsItem(
        id="has_stats",
        label="Has Stats?",
        value=bool(stats),
        include=False,
        description="Indicates whether there are statistics for this table",
    )
    return CatalogTable(
        metadata=TableMetadata(
            type=table["table_type"],
            schema=table["table_schema"],
            name=table["table_name"],
            database=table["table_database"],
            comment=table["table_comment"],
            owner=table["table_owner"],
        ),
        columns={
            row["column_name"]: ColumnMetadata(
                type=row["column_type"],
                index=row["column_index"],
                name=row["column_name"],
                comment=row["column_comment"],
            )
            for row in rows
        },
        stats={**stats, "has_stats": described},
    )


def _statistics(table: Mapping[str, Any]) -> Iterator[str]:
    for key in table:
        prefix, _, statistic = key.partition(":")
        if prefix == "stats" and statistic.endswith(":label"):
            yield statistic.removesuffix(":label")


def _statistic(key: str, table: Mapping[str, Any]) -> StatsItem:
    return StatsItem(
        id=key,
        label=table[f"stats:{key}:label"],
        value=table[f"stats:{key}:value"],
        include=table[f"stats:{key}:include"],
        description=table[f"stats:{key}:description"],
    )
