"""Objects of Spark's catalog as it describes them: views, functions, providers of tables."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import (
    QueryContext,
    TableName,
    parts_of,
    quote,
    quote_text,
)
from dbt.adapters.spark_mt.query.confs import semantic_confs
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.spark.session.errors import SparkFailure


_BUILTIN: dict[str, frozenset[str]] = {}
_PROVIDER = re.compile(r"^Provider: (.*)$", re.MULTILINE)
_NO_FUNCTION = frozenset({"UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND", "SCHEMA_NOT_FOUND"})
_NOT_FUNCTIONS = _NO_FUNCTION | {"PARSE_SYNTAX_ERROR", "FORBIDDEN_OPERATION"}
_FIELD = re.compile(r"(?P<key>[A-Z][A-Za-z ]*):\s+(?P<value>.*)", re.DOTALL)
VIEW_TYPES = "\n\0"
"""Separates the definition of a view from the types of its columns, in what defines it."""


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """A persistent view.

    Args:
        text: Its query, as in its CREATE VIEW.
        context: Catalog, schema and confs under which Spark analyses that query.
        output: The names that the query's own columns had at creation, in the view's order.
        columns: The names of its columns.
        types: The types of its columns, to which Spark casts what its query returns later.
    """

    name: TableName
    text: str
    context: QueryContext
    output: tuple[str, ...]
    columns: tuple[str, ...] = ()
    types: str = ""

    @property
    def fingerprint_text(self) -> str:
        """All that changes the view's content besides its sources' content, the types last."""
        confs = [f"{key}={value}" for key, value in self.context.confs]
        where = f"{self.context.catalog}.{self.context.schema}"
        definition = "\n".join((where, *confs, *self.output, self.text))
        return f"{definition}{VIEW_TYPES}{self.types}"


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """A persistent or temporary function; `definition` is everything Spark says about it."""

    name: TableName
    body: str
    definition: str
    is_deterministic: bool

    @property
    def is_temporary(self) -> bool:
        """Whether it belongs to the session; persistent ones have a catalog and a schema."""
        return self.name.schema is None


def describe_view(spark: SparkSession, name: TableName) -> ViewDefinition:
    """Read a view's definition.

    Raises:
        pyspark.errors.PySparkException: There is no such view.
    """
    row = spark.sql(f"DESCRIBE TABLE EXTENDED {name.sql} AS JSON").collect()[0]
    facts = json.loads(row[0])
    own_place = f"{quote(name.catalog or '')}.{quote(name.schema or '')}"
    catalog, *schema = parts_of(facts.get("view_catalog_and_namespace") or own_place)
    confs = semantic_confs(facts.get("view_creation_spark_configuration") or {})
    return ViewDefinition(
        name=name,
        text=facts["view_text"],
        context=QueryContext(catalog, ".".join(schema), confs),
        output=tuple(facts.get("view_query_output_columns") or ()),
        columns=tuple(column["name"] for column in facts.get("columns") or ()),
        types=json.dumps([column.get("type") for column in facts.get("columns") or ()]),
    )


def describe_function(spark: SparkSession, parts: tuple[str, ...]) -> FunctionDefinition | None:
    """Read a function's definition; None where the catalog has none of this name."""
    name = ".".join(quote(part) for part in parts)
    try:
        with unlogged():
            rows = spark.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect()
    except Exception as error:
        if is_spark_error(error) and _is_no_function(failure_of(error)):
            return None
        raise
    facts = {}
    for row in rows:
        if (field := _FIELD.fullmatch(row[0])) is not None:
            facts[field["key"]] = field["value"]
    full = parts_of(facts.get("Function", ""))
    if not 1 <= len(full) <= 3:
        return None
    unstable = ("Configs:", "Create Time:", " ")
    return FunctionDefinition(
        name=TableName.of(*full),
        body=facts.get("Body", ""),
        definition="\n".join(row[0] for row in rows if not row[0].startswith(unstable)),
        is_deterministic=facts.get("Deterministic", "true") != "false",
    )


def providers_of(spark: SparkSession, names: Iterable[TableName]) -> dict[TableName, str]:
    """Return the format of each table in lower case; one statement per schema, no table is opened.

    A path (``parquet.`/a/b` ``) has its format as its schema. Tables that are not listed are left
    out.
    """
    found: dict[TableName, str] = {}
    schemas: dict[tuple[str, str], list[TableName]] = defaultdict(list)
    for name in names:
        if "/" in name.name:
            found[name] = (name.schema or "").lower()
        else:
            schemas[name.catalog or "", name.schema or ""].append(name)
    for (catalog, schema), tables in schemas.items():
        found |= _listed(spark, f"{quote(catalog)}.{quote(schema)}", tables)
    return found


def keeps_versions(spark: SparkSession, name: TableName, format_: TableFormat) -> bool:
    """Whether a table of a format keeps versions: not each table of each format does."""
    if not format_.unversioned:
        return True
    if "/" in name.name:  # a path, of which the catalog knows no properties
        return False
    rows = spark.sql(f"SHOW TBLPROPERTIES {name.sql}").collect()
    properties = {row["key"]: row["value"] for row in rows}
    return not any(properties.get(key) == value for key, value in format_.unversioned.items())


def _listed(spark: SparkSession, schema: str, tables: list[TableName]) -> dict[TableName, str]:
    """Return the formats of tables of one schema, singly if the catalog cannot list them."""
    pattern = quote_text("|".join(table.name for table in tables))
    try:
        with unlogged():
            rows = spark.sql(f"SHOW TABLE EXTENDED IN {schema} LIKE {pattern}").collect()
    except Exception as error:
        if not is_spark_error(error):
            raise
        return {table: _described(spark, table) for table in tables}
    formats = {row["tableName"].lower(): _provider(row["information"]) for row in rows}
    return {t: formats[t.name.lower()] for t in tables if t.name.lower() in formats}


def _described(spark: SparkSession, table: TableName) -> str:
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table.sql}").collect()
    return next((row[1].lower() for row in rows if row[0] == "Provider"), "")


def builtin_functions(spark: SparkSession) -> frozenset[str]:
    """Return the names of Spark's own functions, lower case; asked once per version of Spark."""
    if spark.version not in _BUILTIN:
        rows = spark.sql("SHOW SYSTEM FUNCTIONS").collect()
        _BUILTIN[spark.version] = frozenset(row[0].lower() for row in rows)
    return _BUILTIN[spark.version]


def _provider(information: str) -> str:
    match = _PROVIDER.search(information)
    return match[1].strip().lower() if match else ""


def _is_no_function(failure: SparkFailure) -> bool:
    return failure.is_missing_table or failure.main_condition in _NOT_FUNCTIONS
