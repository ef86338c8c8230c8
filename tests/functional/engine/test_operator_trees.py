"""SQL of an operator tree has the columns and rows of the query that it was built from."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import pytest

from dbt.adapters.spark_mt.definition.columns import FieldName, QueryContext, SourceColumns
from dbt.adapters.spark_mt.query import functions, spark_confs
from dbt.adapters.spark_mt.query.functions import AGGREGATES, GENERATORS, KNOWN
from dbt.adapters.spark_mt.query.operator_builder import operator_tree
from dbt.adapters.spark_mt.query.operator_sql import render_query
from tests.support.query_corpus import NEXMARK, NEXMARK_TABLES, TPCH, TPCH_TABLES
from tests.support.random_queries import TABLES, RandomQueries
from tests.support.rendered_trees import RenderedTrees
from tests.support.subquery_forms import QUERIES as FORMS
from tests.support.subquery_forms import TABLES as FORM_TABLES

SCHEMA = "operator_trees"
CONTEXT = QueryContext("spark_catalog", SCHEMA, ())
ROWS = 30
SOME = ("q01", "q03", "q05", "q09", "q13", "q17", "q18", "q21")
"""Queries of TPC-H that `make test` and the lanes of the matrix run."""
_URLS = ["https://www.nexmark.com/a/b/item.htm?query=1&channel_id=7", "https://x.y/1/2/3?q"]
_LITERAL = re.compile(r"'([^']*)'")


def _texts(queries):
    found = {text.replace("%", "") for query in queries for text in _LITERAL.findall(query)}
    return sorted(text for text in found if text) or ["x", "y"]


def _value(type_, texts, rng):
    """A value of a type, NULL now and then, from a small domain."""
    made = {
        "BIGINT": lambda: rng.randint(0, 4),
        "INT": lambda: rng.randint(0, 4),
        "STRING": lambda: rng.choice(texts),
        "DECIMAL": lambda: Decimal(rng.randint(0, 40000)) / 100,
        "DATE": lambda: date(rng.randint(1993, 1998), rng.randint(1, 12), 15),
        "TIMESTAMP": lambda: datetime(2020, 1, 1, 0, 0, rng.randint(0, 59)),  # noqa: DTZ001
        "ARRAY": lambda: [rng.randint(0, 3) for _ in range(rng.randint(0, 3))],
        "STRUCT": lambda: (rng.randint(0, 3), "x"),
    }
    return None if rng.random() < 0.08 else made[re.match("[A-Z]+", type_)[0]]()


def _fields(ddl):
    """Split the columns of a DDL text; commas inside types do not count."""
    parts = re.split(r",\s*(?![^<(]*[>)])", ddl)
    return [tuple(part.strip().split(" ", 1)) for part in parts]


@pytest.fixture(scope="module")
def sources(spark):
    """The tables of all queries, with random rows; returns their columns."""
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    spark.sql(f"USE {SCHEMA}")
    rng = random.Random(1)  # noqa: S311 - the same rows each time
    found = []
    groups = ((TPCH_TABLES, TPCH), (NEXMARK_TABLES, NEXMARK), (TABLES, {}), (FORM_TABLES, {}))
    for tables, queries in groups:
        texts = _texts(queries.values())
        for name, ddl in tables.items():
            fields = _fields(ddl)
            pools = [_URLS if column == "url" else texts for column, _ in fields]
            rows = [
                tuple(_value(t, pool, rng) for (_, t), pool in zip(fields, pools, strict=True))
                for _ in range(ROWS)
            ]
            frame = spark.createDataFrame(rows, ", ".join(f"{c} {t}" for c, t in fields))
            frame.coalesce(1).write.format("parquet").saveAsTable(name)
            columns = tuple(FieldName(column) for column, _ in fields)
            found.append(SourceColumns(f"spark_catalog.{SCHEMA}.{name}", columns))
    yield tuple(found)
    spark.sql("USE default")
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def check(spark, sources, query):
    """Build the tree of a query, and compare its SQL with the query on Spark.

    Returns:
        Why it could not be rendered; empty if it could.
    """
    original = spark.sql(query)
    tree = operator_tree(query, CONTEXT, tuple(original.columns), sources=sources)
    if tree.gaps:
        return [code for code, _ in tree.gaps]
    text = render_query(tree)
    rendered = spark.sql(text)
    ours = [(f.name, f.dataType) for f in rendered.schema.fields]
    assert ours == [(f.name, f.dataType) for f in original.schema.fields], f"{query}\n\n{text}"
    wanted, found = (Counter(map(repr, frame.collect())) for frame in (original, rendered))
    assert found == wanted, f"{query}\n\n{text}"
    return []


@pytest.mark.parametrize(
    "name",
    [n if n in SOME else pytest.param(n, marks=pytest.mark.conformance) for n in TPCH],
)
def test_queries_of_tpch(spark, sources, name):
    assert check(spark, sources, TPCH[name]) == []


@pytest.mark.conformance
@pytest.mark.parametrize("name", NEXMARK)
def test_queries_of_nexmark(spark, sources, name):
    assert check(spark, sources, NEXMARK[name]) == []


@pytest.mark.conformance
def test_random_queries(spark, sources):
    queries = RandomQueries(random.Random(7))  # noqa: S311 - the same queries each time
    gaps = {}
    for _ in range(80):
        query = queries.query()
        for code in check(spark, sources, query):
            gaps.setdefault(code, query)
    assert gaps == {}


NATURAL = (
    "SELECT * FROM t x LEFT JOIN t y ON x.a = y.a NATURAL JOIN (SELECT a, v AS z FROM u) q",
    "SELECT x.*, y.*, z.* FROM t x RIGHT JOIN u y USING (c, a) NATURAL JOIN (SELECT k, z FROM w) z",
    "SELECT * FROM t x FULL JOIN u y USING (a) FULL JOIN u z USING (a)",
    "SELECT * FROM t LEFT SEMI JOIN u USING (c, a)",
    "SELECT a, b FROM t ORDER BY ALL DESC LIMIT 3",
    "SELECT DISTINCT (a), b FROM t ORDER BY a, (2) LIMIT 5",
    "SELECT b AS all, count(*) AS n FROM t GROUP BY all",
)


def compared(spark, sources, queries):
    """Compare queries with their trees; return what was found."""
    trees = RenderedTrees(spark, CONTEXT, sources)
    problems = [found for query in queries if (found := trees.problem(query))]
    assert problems == []
    return trees


def test_joins_by_name_and_sorts_by_all(spark, sources):
    assert compared(spark, sources, NATURAL).refused == {}


@pytest.mark.conformance
def test_a_sample_of_subqueries(spark, sources):
    sample = random.Random(5).sample(sorted(FORMS), 25)  # noqa: S311 - the same queries each time
    accepted = [FORMS[name] for name in sample if is_accepted(spark, FORMS[name])]
    trees = compared(spark, sources, accepted)
    assert trees.by_rows + trees.by_plan > len(accepted)


def is_accepted(spark, query):
    """Whether Spark has such queries: it refuses some forms of subqueries."""
    from pyspark.errors import AnalysisException

    try:
        spark.sql(query)
    except AnalysisException:
        return False
    return True


@pytest.mark.conformance
def test_all_forms_of_subqueries(spark, sources):
    trees = compared(spark, sources, [q for q in FORMS.values() if is_accepted(spark, q)])
    assert set(trees.refused.values()) <= {"SUBQUERY", "SUBQUERY_VALUE"}


def test_functions_are_those_of_spark(spark):
    """The lists are of this release; tools/spark_registry.py writes those of another."""
    assert spark.version == functions.RELEASE
    registry = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    groups = {}
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        found = registry.lookupFunction(identifier(name))
        if found.isDefined():
            groups.setdefault(found.get().getGroup(), set()).add(name)
    assert groups["agg_funcs"] <= AGGREGATES
    assert groups["generator_funcs"] <= GENERATORS
    assert set().union(*groups.values()) <= KNOWN


def test_confs_are_those_of_spark(spark):
    """Each conf of the list is one of Spark, with this default."""
    assert spark.version == spark_confs.RELEASE
    fresh = spark.newSession()
    of_the_machine = {"spark.sql.session.timeZone"}
    unset = {key for key in spark_confs.CONFS if fresh.conf.get(key, None) is None}
    found = {key: fresh.conf.get(key) for key in unset - of_the_machine}
    assert len(found) > len(spark_confs.CONFS) / 2
    assert found == {key: spark_confs.CONFS[key] for key in found}
