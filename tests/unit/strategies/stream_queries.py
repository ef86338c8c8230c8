"""Queries, and in which output modes Spark 4.2 agreed to run them as streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import (
    FieldName,
    QueryContext,
    SourceColumns,
    TableName,
)
from dbt.adapters.spark_mt.query.analyzer import Source, SourceKind, ViewQuery
from dbt.adapters.spark_mt.query.operator_builder import operator_tree

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.query.operators import Tree

QUERIES = json.loads(Path(__file__).with_name("stream_queries.json").read_text(encoding="utf-8"))
DELTA, OTHER, FILES, JSON = (TableName(name, "s", "spark_catalog") for name in "opfj")
"""Delta tables o (id, c, v, ts) and p (id, d, ts2), a Parquet table f like o, a JSON table j."""

CONTEXT = QueryContext("spark_catalog", "s", ())
SOURCES = tuple(Source(name, SourceKind.VERSIONED) for name in (DELTA, OTHER, FILES, JSON))
COLUMNS = tuple(
    SourceColumns(str(name), tuple(map(FieldName, columns.split())))
    for name, columns in {
        DELTA: "id c v ts",
        OTHER: "id d ts2",
        FILES: "id c v ts",
        JSON: "id c v ts",
    }.items()
)


def _view(name: str, columns: str, query: str) -> ViewQuery:
    names = tuple(columns.split())
    return ViewQuery(
        TableName(name, "s", "spark_catalog"), query, "spark_catalog", "s", names, names
    )


VIEWS = (
    _view("sv", "id c ts", "SELECT id, c, ts FROM STREAM s.o"),
    _view("v", "id c ts", "SELECT id, c, ts FROM s.o WHERE v > 0"),
    _view("g", "c n", "SELECT c, count(*) AS n FROM s.f GROUP BY c"),
)


def query_tree(name: str) -> Tree:
    """The operator tree of a query."""
    query = QUERIES[name]["query"]
    return operator_tree(query, CONTEXT, columns(name), sources=COLUMNS, views=VIEWS)


def columns(name: str) -> tuple[str, ...]:
    """The names of a query's result."""
    return tuple(QUERIES[name]["columns"])
