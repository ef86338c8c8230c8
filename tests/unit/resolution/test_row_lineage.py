"""Which queries can be applied to changes of their sources alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import FieldName, PrimaryKey, SourceColumns, TableName
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.query.analyzer import Source, SourceKind, ViewQuery
from dbt.adapters.spark_mt.resolution.row_lineage import Shape, row_shape
from tests.unit.builders import CATALOG, ORDERS, SCHEMA, analyzed, columns, resolve, table_source

FULL_RATES = f"`{CATALOG}`.`{SCHEMA}`.`rates`"
COLUMNS = tuple(
    SourceColumns(f"{CATALOG}.{SCHEMA}.{name}", tuple(map(FieldName, columns_.split())))
    for name, columns_ in {
        "t": "x y a b ys",
        "u": "x y a b ys",
        "g": "a b",
        "v": "x y",
        "rates": "x y",
        "d": "x y",
        "dates": "x y",
    }.items()
)
LOOKUP = "FOR SYSTEM_TIME AS OF proctime()"


def shape_of(query, key="", names="x y", result="", sources=(), **facts):
    """The shape of a query whose columns are `names`; `rates` is a table that can be looked up."""
    listed = tuple(names.split())
    definition = resolve(DeclaredDefinition("SELECT 1 FROM orders"), "x INT; y INT")
    expanded = query.replace(LOOKUP, "").replace(" rates ", f" {FULL_RATES} ")
    declared = replace(
        definition.declared,
        query=query,
        constraints=(PrimaryKey(tuple(key.split()), None),) if key else (),
    )
    definition = replace(
        definition,
        declared=declared,
        expanded_query=expanded,
        query_columns=tuple(result.split()) or listed,
        columns=columns("; ".join(f"{name} INT" for name in listed)),
    )
    facts = {"source_columns": COLUMNS, **facts}
    return row_shape(definition, analyzed(query, "x INT", *sources, **facts))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x, y FROM t WHERE x > 1",
        "SELECT x, upper(y) AS y FROM t ORDER BY x",
        "(SELECT x, y FROM t)",
        "FROM t SELECT x, y",
        "FROM t |> WHERE x > 1 |> SELECT x, y",
        "SELECT /*+ REPARTITION(2) */ x, y FROM t CLUSTER BY x",
        "SELECT * FROM t UNION ALL SELECT * FROM u",
        "WITH w AS (SELECT * FROM t) SELECT x, y FROM w UNION ALL SELECT y, x FROM w",
        "SELECT s.x, s.y FROM (SELECT x, y FROM t) s",
        "SELECT x, explode(ys) AS y FROM t",
        "SELECT x, y FROM t LATERAL VIEW OUTER explode(ys) v AS y",
        "SELECT x, col FROM t, LATERAL explode(t.ys)",
        f"SELECT t.x, r.y FROM t JOIN rates {LOOKUP} r ON t.x = r.x",
        f"SELECT t.x, r.y FROM t LEFT JOIN rates {LOOKUP} r ON t.x = r.x",
        "SELECT t.x, d.y FROM t JOIN `spark_catalog`.`sales`.`d` VERSION AS OF 3 ON t.x = d.x",
        "SELECT xxhash64(x) AS x, y FROM t",
        "WITH w AS (FROM t), z AS (WITH w AS (FROM u) FROM w) FROM w UNION ALL FROM z",
    ],
)
def test_rows_that_are_made_of_one_row(query):
    assert shape_of(query).shape is Shape.ROW_WISE


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("SELECT x, count(*) AS y FROM t GROUP BY x", "x"),
        ("SELECT x, count(*) AS y FROM t GROUP BY 1", "x"),
        ("SELECT t.x, count(*) AS y FROM t GROUP BY x", "x"),
        ("SELECT upper(a) AS x, count(*) AS y FROM t GROUP BY upper(a)", "x"),
        ("SELECT date_trunc('day', a) AS x, count(*) AS y FROM g GROUP BY x", "x"),
        ("SELECT x, count(*) AS y FROM t GROUP BY ALL", "x"),
        ("SELECT * FROM dates GROUP BY x, y", "x y"),
        ("SELECT x, y FROM t GROUP BY y, x", "x y"),
        ("SELECT x, count(DISTINCT a) AS y FROM t WHERE a > 1 GROUP BY x ORDER BY x", "x"),
        ("SELECT x, sum(a) AS y FROM (SELECT * FROM t UNION ALL SELECT * FROM u) GROUP BY x", "x"),
        (f"SELECT t.x, sum(r.y) AS y FROM t JOIN rates {LOOKUP} r USING (x) GROUP BY t.x", "x"),
        ("WITH w AS (SELECT x, a FROM t) SELECT x, sum(a) AS y FROM w GROUP BY x", "x"),
    ],
)
def test_groups_that_are_the_key(query, key):
    assert shape_of(query, key).shape is Shape.KEYED


def test_the_key_counts_by_the_columns_of_the_table():
    query = "SELECT x AS a, count(*) AS b FROM t GROUP BY x"
    assert shape_of(query, "k", names="k n", result="a b").shape is Shape.KEYED
    assert shape_of(query, "n", names="k n", result="a b").reason == "KEY_IS_NOT_GROUP"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT DISTINCT x, y FROM t", "DISTINCT"),
        ("SELECT x, y FROM t LIMIT 2", "LIMIT"),
        ("SELECT x, y FROM t UNION ALL SELECT x, y FROM u LIMIT 2", "LIMIT"),
        ("SELECT x, y FROM t UNION SELECT x, y FROM u", "UNION_DISTINCT"),
        ("SELECT x, y FROM t EXCEPT SELECT x, y FROM u", "OPERATOR"),
        ("SELECT x, row_number() OVER (ORDER BY x) AS y FROM t", "WINDOW_FUNCTION"),
        ("SELECT x, y FROM t QUALIFY row_number() OVER (ORDER BY x) = 1", "QUALIFY"),
        ("SELECT max(x), min(x) FROM t", "AGGREGATE"),
        ("SELECT mean(x) AS x, 1 AS y FROM t", "AGGREGATE"),
        ("SELECT histogram_numeric(x, 5), 1 FROM t", "AGGREGATE"),
        ("SELECT mine(a) AS x, x + 1 AS y FROM g", "UNKNOWN_FUNCTION"),
        ("SELECT x, (SELECT max(y) FROM u) AS y FROM t", "SUBQUERY"),
        ("SELECT x, y FROM t WHERE x IN (SELECT x FROM u)", "SUBQUERY"),
        ("SELECT x, y FROM t WHERE EXISTS (SELECT 1 FROM u)", "SUBQUERY"),
        ("SELECT x, y FROM t JOIN u USING (x)", "JOIN"),
        ("SELECT x, y FROM t, u", "JOIN"),
        (f"SELECT t.x, r.y FROM t FULL JOIN rates {LOOKUP} r ON t.x = r.x", "OUTER_JOIN"),
        (f"SELECT t.x, r.y FROM rates {LOOKUP} r JOIN t ON t.x = r.x", "LOOKUP_FIRST"),
        ("SELECT x, y FROM `spark_catalog`.`sales`.`t` VERSION AS OF 3", "LOOKUP_FIRST"),
        ("SELECT x, y FROM t TABLESAMPLE (5 PERCENT)", "SAMPLE"),
        ("SELECT * FROM t PIVOT (sum(x) FOR y IN (1, 2))", "PIVOT"),
        ("SELECT x, y FROM VALUES (1, 2) v(x, y)", "RELATION"),
        ("SELECT id, id FROM range(3)", "TABLE_FUNCTION"),
        ("SELECT 1 AS x, 2 AS y", "CONSTANT_ROWS"),
        ("SELECT x, y FROM t UNION ALL SELECT 1, 2", "CONSTANT_ROWS"),
        ("SELECT TRANSFORM(x) USING 'cat' AS (x, y) FROM t", "SCRIPT"),
        ("TABLE t", "OPERATOR"),
        ("SELECT x, _metadata.file_name AS y FROM t", "METADATA"),
        ("SELECT trim(leading FROM x) AS x, y FROM t", "SYNTAX"),
        ("SELECT x:a.b::int AS x, y FROM t", "VARIANT_PATH"),
        ("SELECT x, count(*) AS y FROM t GROUP BY x", "NO_KEY"),
    ],
)
def test_what_is_computed_as_a_whole(query, reason):
    found = shape_of(query)
    assert (found.shape, found.reason) == (Shape.WHOLE, reason)
    assert found.problem.startswith("it")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT x, y FROM t GROUP BY x, y", "KEY_IS_NOT_GROUP"),
        ("SELECT upper(x) AS x, count(*) AS y FROM t GROUP BY x", "KEY_IS_NOT_GROUP"),
        ("SELECT upper(a) AS x, a AS y FROM t GROUP BY x, a", "KEY_IS_NOT_GROUP"),
        ("SELECT max(a) AS x, b AS y FROM t GROUP BY b", "KEY_IS_NOT_GROUP"),
        ("SELECT x, count(*) AS y FROM t GROUP BY x HAVING count(*) > 1", "HAVING"),
        ("SELECT x, count(*) AS y FROM t GROUP BY ROLLUP (x)", "GROUPING_SETS"),
        ("SELECT x, row_number() OVER (ORDER BY x) AS y FROM t GROUP BY x", "WINDOW_FUNCTION"),
        ("SELECT x, sum(y) AS y FROM (SELECT x, y FROM t GROUP BY x, y) GROUP BY x", "GROUP"),
    ],
)
def test_groups_that_are_not_the_key(query, reason):
    found = shape_of(query, "x")
    assert (found.shape, found.reason) == (Shape.WHOLE, reason)


def test_sources_that_cannot_be_followed_row_by_row():
    plain = "SELECT x, y FROM t"
    function = Source(ORDERS, SourceKind.FUNCTION)
    assert shape_of(plain, sources=(function,)).reason == "FUNCTION"
    assert shape_of(plain, pinnable=False).reason == "NOT_PINNABLE"
    assert shape_of(plain, time_dependent=("current_date",)).reason == "TIME_DEPENDENT"


def test_a_source_is_followed_unless_it_is_looked_up():
    query = f"SELECT t.x, r.y FROM t JOIN rates {LOOKUP} r ON t.x = r.x"
    found = shape_of(query, sources=(table_source("rates"), table_source("t")))
    assert found.followed == (f"{CATALOG}.{SCHEMA}.t",)
    assert found.can_be_limited


def test_a_table_that_is_both_looked_up_and_followed():
    query = f"SELECT t.x, r.y FROM rates t JOIN rates {LOOKUP} r ON t.x = r.x"
    found = shape_of(query, sources=(table_source("rates"),))
    assert (found.reason, found.can_be_limited) == ("LOOKED_UP_AND_FOLLOWED", False)


def test_a_version_that_the_user_fixed_is_not_followed():
    query = f"SELECT t.x, r.y FROM {FULL_RATES} t JOIN {FULL_RATES} VERSION AS OF 3 r ON t.x = r.x"
    assert shape_of(query, sources=(table_source("rates"),)).followed == (
        f"{CATALOG}.{SCHEMA}.rates",
    )
    only = f"SELECT t.x, r.y FROM t JOIN {FULL_RATES} VERSION AS OF 3 r ON t.x = r.x"
    assert shape_of(only, sources=(table_source("rates"),)).followed == ()


def viewed(query, text, *others, key=""):
    """The shape of a query over the view `v` with this text, which reads `t`."""
    queries = ((text, "v"), *others)
    views = tuple(ViewQuery(TableName(n, SCHEMA, CATALOG), q, CATALOG, SCHEMA) for q, n in queries)
    sources = (Source(views[0].name, SourceKind.VIEW), table_source("t", "v"))
    full = query.replace(" v", f" `{CATALOG}`.`{SCHEMA}`.`v`")
    return shape_of(full, key, sources=sources, views=views)


def test_a_view_is_what_its_query_is():
    found = viewed("SELECT x, y FROM v", "SELECT x, y FROM t WHERE x > 1")
    assert (found.shape, found.followed) == (Shape.ROW_WISE, (f"{CATALOG}.{SCHEMA}.t",))
    through = ("SELECT * FROM t UNION ALL SELECT * FROM t", "w")
    assert viewed("SELECT x, y FROM v", "WITH c AS (SELECT * FROM w) SELECT * FROM c", through)
    grouped = viewed("SELECT x, count(*) AS y FROM v GROUP BY x", "SELECT * FROM t", key="x")
    assert grouped.shape is Shape.KEYED


@pytest.mark.parametrize(
    ("text", "others", "reason"),
    [
        ("SELECT DISTINCT x, y FROM t", (), "DISTINCT"),
        ("SELECT x, count(*) AS y FROM t GROUP BY x", (), "GROUP"),
        ("SELECT * FROM w", (("SELECT max(x) AS x, 1 AS y FROM t", "w"),), "AGGREGATE"),
        ("SELECT x, y FROM t VERSION AS OF 3", (), "VERSION_IN_VIEW"),
        ("SELECT x:a.b::int AS x, y FROM t", (), "VARIANT_PATH"),
    ],
)
def test_a_view_whose_rows_count_for_each_other(text, others, reason):
    found = viewed("SELECT x, y FROM v", text, *others)
    assert (found.shape, found.reason) == (Shape.WHOLE, reason)
    assert "of the view" in found.problem


def test_what_is_looked_up_must_not_be_followed_through_a_view():
    views = (ViewQuery(TableName("v", SCHEMA, CATALOG), "SELECT * FROM rates", CATALOG, SCHEMA),)
    query = f"SELECT v.x, r.y FROM `{CATALOG}`.`{SCHEMA}`.`v` JOIN rates {LOOKUP} r ON v.x = r.x"
    found = shape_of(query, sources=(table_source("rates"),), views=views)
    assert found.reason == "LOOKED_UP_AND_FOLLOWED"
    views = (ViewQuery(TableName("rates", SCHEMA, CATALOG), "SELECT * FROM s", CATALOG, SCHEMA),)
    query = f"SELECT t.x, r.y FROM t JOIN rates {LOOKUP} r ON t.x = r.x"
    found = shape_of(query, sources=(table_source("s", "rates"),), views=views)
    assert found.reason == "LOOKED_UP_AND_FOLLOWED"


def test_a_source_without_versions_cannot_be_limited():
    source = Source(ORDERS, SourceKind.UNVERSIONED)
    found = shape_of("SELECT x, y FROM t", sources=(source,))
    assert (found.unversioned, found.can_be_limited) == ((str(ORDERS),), False)


def test_a_log_that_reports_its_end_can_be_limited():
    source = Source(ORDERS, SourceKind.UNVERSIONED, format="kafka")
    found = shape_of("SELECT x, y FROM t", sources=(source,))
    assert (found.followed, found.can_be_limited) == ((str(ORDERS),), True)


def test_a_group_that_two_columns_show_is_known_by_either():
    query = "SELECT a AS k, a AS l, count(b) AS n FROM t GROUP BY a"
    for key in ("k", "l", "k l"):
        assert shape_of(query, key, names="k l n").shape is Shape.KEYED
    assert shape_of(query, "k n", names="k l n").reason == "KEY_IS_NOT_GROUP"
