"""Operator trees of queries: their operators, their columns, and what is not understood."""

from __future__ import annotations

import re

import pytest

from dbt.adapters.spark_mt.definition.columns import (
    FieldName,
    QueryContext,
    SourceColumns,
    TableName,
)
from dbt.adapters.spark_mt.query.analyzer import ViewQuery
from dbt.adapters.spark_mt.query.expressions import SubqueryKind
from dbt.adapters.spark_mt.query.operator_builder import operator_tree
from dbt.adapters.spark_mt.query.operator_sql import NotRenderedError, render_query
from dbt.adapters.spark_mt.query.operators import (
    Aggregate,
    Apply,
    Distinct,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Scan,
    Sort,
    Union,
    Window,
    opaque_parts,
    scans,
    walk,
)
from tests.support.query_corpus import NEXMARK, NEXMARK_TABLES, TPCH, TPCH_TABLES
from tests.unit.strategies.stream_queries import QUERIES

CONTEXT = QueryContext("c", "s", ())


def columns_of(tables):
    return tuple(
        SourceColumns(
            f"c.s.{name}",
            tuple(FieldName(part.split()[0]) for part in ddl.replace("<f:", "").split(", ")),
        )
        for name, ddl in tables.items()
    )


SOURCES = columns_of(
    {
        "t": "a INT, b INT, c INT, d INT, ys INT, s INT, ts INT",
        "u": "a INT, k INT, v INT, c INT",
        "w": "k INT, z INT, name INT",
    }
)


def tree_of(query, columns=(), sources=SOURCES, **more):
    return operator_tree(query, CONTEXT, columns, sources=sources, **more)


def shape(node):
    """The names of the operators, from the root down; of scans the tables."""
    name = node.relation.name if isinstance(node, Scan) else type(node).__name__
    return [name, *map(shape, node.inputs)] if node.inputs else name


def first(tree, kind):
    return next(node for node in walk(tree.root) if isinstance(node, kind))


def codes(tree):
    return [code for code, _ in tree.gaps]


def test_clauses_become_operators_in_the_order_of_their_evaluation():
    tree = tree_of(
        "SELECT DISTINCT a + 1 AS x, sum(b) AS n FROM t WHERE b > 0 GROUP BY a HAVING count(*) > 1 "
        "ORDER BY x LIMIT 3"
    )
    assert shape(tree.root) == [
        "Limit",
        ["Sort", ["Distinct", ["Project", ["Filter", ["Aggregate", ["Filter", "t"]]]]]],
    ]
    assert tree.columns == ("x", "n")
    aggregate = first(tree, Aggregate)
    assert [group.expression.attribute for group in aggregate.groups] == ["a#1"]
    assert [(call.name, call.plain) for call in aggregate.calls] == [("sum", True), ("count", True)]
    assert aggregate.calls[1].arguments == ()


def test_literals_differ_in_case():
    tree = tree_of(
        "SELECT a = 'X' AS p, a = 'x' AS q, count(*) FILTER (WHERE b = 'Y') AS m, "
        "count(*) FILTER (WHERE b = 'y') AS n, sum(c) OVER (PARTITION BY c + INTERVAL 1 day) AS o, "
        "sum(c) OVER (PARTITION BY c + interval 1 DAY) AS r FROM t GROUP BY a = 'X', a = 'x', c"
    )
    aggregate, window = first(tree, Aggregate), first(tree, Window)
    assert [g.expression.sql for g in aggregate.groups] == ["`a#1` = 'X'", "`a#1` = 'x'", "`c#3`"]
    assert [c.condition.sql for c in aggregate.calls[:2]] == ["`b#2` = 'Y'", "`b#2` = 'y'"]
    assert len(window.calls) == 1
    names = dict(zip(tree.columns, tree.root.columns, strict=True))
    assert names["p"].expression != names["q"].expression
    assert names["m"].expression != names["n"].expression


def test_each_place_that_names_a_table_is_a_scan_of_its_own():
    tree = tree_of(
        "WITH p AS (SELECT a FROM t) SELECT x.a, y.a AS b FROM p x JOIN p y ON x.a = y.a"
    )
    assert [scan.occurrence for scan in scans(tree.root)] == [0, 1]
    one, two = scans(tree.root)
    assert not set(one.output) & set(two.output)
    text = render_query(tree, {0: "delta", 1: "(SELECT * FROM t VERSION AS OF 7)"})
    assert "FROM delta" in text
    assert "VERSION AS OF 7" in text


def test_a_column_that_is_passed_on_keeps_its_identity():
    tree = tree_of("SELECT b, a AS x, b AS b2 FROM (SELECT a, b FROM t) q")
    (scan,) = scans(tree.root)
    by_name = {a.name: a for a in scan.output}
    assert tree.root.output[0] == by_name["b"]
    assert tree.root.output[1] not in scan.output
    assert tree.columns == ("b", "x", "b2")


def test_equalities_are_the_keys_of_joins():
    tree = tree_of(
        "SELECT t.a FROM t, u, w WHERE t.a = u.a AND w.k = u.k AND t.b < w.z AND t.b > 1"
    )
    assert shape(tree.root) == ["Project", ["Filter", ["Join", ["Join", "t", "u"], "w"]]]
    keys = [key.sql for join in walk(tree.root) if isinstance(join, Join) for key in join.keys]
    assert keys == ["(`k#9`) = (`k#12`)", "(`a#1`) = (`a#8`)"]
    joined = first(tree_of("SELECT 1 AS x FROM t LEFT JOIN u ON t.a <=> u.k + 1 AND v > b"), Join)
    assert (joined.kind, joined.keys[0].null_safe) == (JoinKind.LEFT, True)
    assert joined.condition.sql == "`v#10` > `b#2`"


def test_using_and_natural_are_resolved():
    tree = tree_of("SELECT * FROM t RIGHT JOIN u USING (a, c)")
    assert tree.columns == ("a", "c", "b", "d", "ys", "s", "ts", "k", "v")
    assert tree.root.output[0].id == 8
    full = tree_of("SELECT a, t.a AS l, u.a AS r FROM t FULL JOIN u USING (a)")
    assert full.root.columns[0].expression.attribute == "a#12"
    assert shape(full.root) == ["Project", ["Project", ["Join", "t", "u"]]]
    natural = tree_of("SELECT * FROM u NATURAL JOIN w")
    assert natural.columns == ("k", "a", "v", "c", "z", "name")


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * FROM t x LEFT JOIN u y ON x.a = y.a NATURAL JOIN (SELECT a, 1 AS z FROM t) w",
         "a b c d ys s ts a k v c z"),
        ("SELECT * FROM t LEFT SEMI JOIN u USING (c, a)", "c a b d ys s ts"),
        ("SELECT * FROM u NATURAL JOIN w NATURAL JOIN w x", "k z name a v c"),
        ("SELECT x.* FROM u x FULL JOIN t y USING (c, a)", "c a k v"),
        ("SELECT y.* FROM t x JOIN u y USING (a)", "a k v c"),
        ("SELECT * FROM u CROSS JOIN w USING (k)", "k a v c z name"),
    ],
)  # fmt: skip
def test_using_hides_only_the_columns_that_it_compares(query, columns):
    tree = tree_of(query)
    assert codes(tree) == []
    assert " ".join(tree.columns) == columns


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT 1 AS x FROM t JOIN u USING (a, A)", "USING"),
        ("SELECT 1 AS x FROM t x JOIN t y ON true NATURAL JOIN (t p CROSS JOIN t q)", "NATURAL"),
        ("SELECT a FROM t x LEFT JOIN t y ON x.a = y.a NATURAL JOIN u", "AMBIGUOUS_COLUMN"),
        ("SELECT 1 AS x FROM t JOIN u USING (v)", "UNRESOLVED_COLUMN"),
        ("SELECT 1 AS x FROM t NATURAL JOIN range(3)", "NATURAL"),
    ],
)
def test_an_unknown_column_of_using_is_a_reason(query, code):
    assert code in codes(tree_of(query))


def test_exists_and_in_are_semi_and_anti_joins():
    tree = tree_of(
        "SELECT a FROM t WHERE b IN (SELECT v FROM u WHERE u.k = t.a AND u.c > 1) "
        "AND NOT EXISTS (SELECT * FROM w WHERE w.k = t.a AND z <> b)"
    )
    assert shape(tree.root) == ["Project", ["Join", ["Join", "t", ["Filter", "u"]], "w"]]
    anti, semi = tree.root.input, tree.root.input.left
    assert (anti.kind, semi.kind) == (JoinKind.ANTI, JoinKind.SEMI)
    assert len(semi.keys) == 2
    assert anti.condition is not None


def test_other_subqueries_are_applied():
    tree = tree_of(
        "SELECT a FROM t WHERE b NOT IN (SELECT v FROM u) AND c > (SELECT max(z) FROM w)"
    )
    kinds = [node.kind for node in walk(tree.root) if isinstance(node, Apply)]
    assert kinds == [SubqueryKind.SCALAR, SubqueryKind.IN]
    correlated = tree_of("SELECT (SELECT max(z) FROM w WHERE w.k = t.a) AS m FROM t")
    assert first(correlated, Apply).outer == {"a#1"}


def test_windows_and_generators():
    tree = tree_of(
        "SELECT a, rank() OVER w + 1 AS r, explode(ys) AS y FROM t "
        "WINDOW w AS (PARTITION BY a ORDER BY b DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    )
    (call,) = first(tree, Window).calls
    assert [e.sql for e in call.partition] == ["`a#1`"]
    assert [e.sql for e in call.order] == ["`b#2` DESC"]
    assert call.frame == "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"
    assert [a.name for a in first(tree, Generate).generated] == ["y"]
    top = tree_of("SELECT a FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1")
    assert shape(top.root) == ["Project", ["Filter", ["Window", "t"]]]


def test_grouping_sets():
    assert first(tree_of("SELECT a, b, sum(c) FROM t GROUP BY ROLLUP (a, b)"), Aggregate).sets == (
        (0, 1),
        (0,),
        (),
    )
    cube = first(tree_of("SELECT a, b FROM t GROUP BY CUBE (a, b)"), Aggregate)
    assert set(cube.sets) == {(0, 1), (0,), (1,), ()}
    window = tree_of("SELECT window.start, count(*) AS n FROM t GROUP BY window(ts, '1 hour')")
    assert window.root.columns[0].expression.sql == "`window#8`.`start`"
    assert first(window, Aggregate).groups[0].expression.sql == "window(`ts#7`, '1 hour')"


def test_unions_have_columns_of_their_own():
    tree = tree_of("SELECT a, b FROM t UNION SELECT k, v FROM u")
    assert isinstance(tree.root, Distinct)
    assert isinstance(tree.root.input, Union)
    assert [a.name for a in tree.root.output] == ["a", "b"]
    assert not set(tree.root.output) & {a for scan in scans(tree.root) for a in scan.output}


def test_views_are_inlined_with_their_own_context():
    view = ViewQuery(TableName("v", "s", "c"), "SELECT k, z FROM w", "c", "s", ("x", "y"))
    tree = tree_of("SELECT y FROM v", views=(view,))
    (scan,) = scans(tree.root)
    assert (str(scan.relation), scan.views) == ("c.s.w", (view.name,))
    assert tree.root.columns[0].expression.attribute == "z#2"
    other = ViewQuery(view.name, view.query, "c", "s", ("x", "y"), (), (("spark.sql.x", "1"),))
    assert codes(tree_of("SELECT y FROM v", views=(other,))) == ["VIEW_CONFS"]


def test_streams_lookups_and_versions_are_known_of_a_scan():
    tree = tree_of(
        "SELECT t.a FROM STREAM t JOIN u ON t.a = u.a JOIN w VERSION AS OF 3 ON w.k = u.k",
        lookups={"c.s.u"},
    )
    found = [(s.relation.name, s.stream, s.lookup, s.version) for s in scans(tree.root)]
    assert found == [
        ("t", True, False, ""),
        ("u", False, True, ""),
        ("w", False, False, "VERSION AS OF 3"),
    ]


def test_names_compare_as_the_conf_says():
    assert codes(tree_of("SELECT A FROM T")) == []
    exact = QueryContext("c", "s", (("spark.sql.caseSensitive", "true"),))
    assert codes(operator_tree("SELECT A FROM t", exact, sources=SOURCES))[0] == "UNRESOLVED_COLUMN"
    assert codes(tree_of("SELECT a FROM t, u")) == [
        "AMBIGUOUS_COLUMN",
        "UNRESOLVED_COLUMN",
        "UNBOUND",
    ]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1, 2))", "PIVOT"),
        ("SELECT a FROM t TABLESAMPLE (5 PERCENT)", "SAMPLE"),
        ("SELECT id FROM range(3)", "TABLE_FUNCTION"),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x FROM r) SELECT * FROM r",
            "RECURSIVE",
        ),
        ("SELECT TRANSFORM(a) USING 'cat' AS (x) FROM t", "SCRIPT"),
        ("SELECT x:a.b::int AS x FROM t", "VARIANT_PATH"),
        ("SELECT c:price FROM t", "VARIANT_PATH"),
        ("SELECT s:`x y` AS x FROM t", "VARIANT_PATH"),
        ("SELECT a >>> 1 AS x FROM t", "UNREADABLE"),
        ("SELECT * FROM IDENTIFIER('t')", "IDENTIFIER"),
        ("SELECT IDENTIFIER('a') AS a FROM t", "IDENTIFIER"),
        ("SELECT all FROM t", "SELECT_KIND"),
        ("SELECT trim(leading FROM c) AS z FROM t", "SYNTAX"),
        ("SELECT posexplode(ys), a FROM t ORDER BY 1 LIMIT 2", "GENERATOR"),
        ("SELECT mine(1) AS x FROM t", "UNKNOWN_FUNCTION"),
        ("SELECT a FROM t, LATERAL (SELECT max(v) FROM u WHERE u.a = t.a) q", "LATERAL"),
        ("SELECT t.a FROM t JOIN u ON t.a = u.a AND EXISTS (SELECT 1 FROM w)", "SUBQUERY"),
    ],
)
def test_a_construct_that_is_not_understood_is_opaque(query, code):
    tree = tree_of(query)
    assert [part.reason for part in opaque_parts(tree.root)] == [code]
    assert code in codes(tree)
    with pytest.raises(NotRenderedError):
        render_query(tree)


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("SELECT a, b FROM t ORDER BY ALL LIMIT 2", ["a#1", "b#2"]),
        ("SELECT a, b + 1 AS x FROM t ORDER BY all DESC LIMIT 2", ["a#1 DESC", "x#12 DESC"]),
        ("SELECT a AS all, b FROM t ORDER BY ALL LIMIT 2", ["all#12"]),
        ("SELECT b FROM (SELECT a AS all, b FROM t) ORDER BY ALL LIMIT 2", ["all#12"]),
        ("SELECT a FROM t UNION ALL SELECT k FROM u ORDER BY ALL DESC LIMIT 2", ["a#12 DESC"]),
        ("SELECT DISTINCT (a), b FROM t ORDER BY a, (2) LIMIT 5", ["a#1", "b#2"]),
    ],
)
def test_order_by_all_sorts_by_every_column_of_the_result(query, order):
    tree = tree_of(query)
    assert codes(tree) == []
    found = [e.sql.replace("`", "").replace(" NULLS LAST", "") for e in first(tree, Sort).order]
    assert [re.sub(r"#\d+", "", e) for e in found] == [re.sub(r"#\d+", "", e) for e in order]


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        ("SELECT a, b, count(*) AS n FROM t GROUP BY ALL", ["a", "b"]),
        ("SELECT all, count(*) AS n FROM (SELECT a AS all FROM t) GROUP BY all", ["all"]),
        ("SELECT sum(b) AS n FROM (SELECT a AS all, b FROM t) GROUP BY ALL", ["all"]),
        ("SELECT a + 1 AS all, count(*) AS n FROM t GROUP BY all", ["group"]),
        ("SELECT (a), count(*) AS n FROM t GROUP BY (a)", ["a"]),
    ],
)
def test_group_by_all_groups_by_a_column_of_this_name_first(query, groups):
    tree = tree_of(query.replace("SELECT all,", "SELECT `all`,"))
    assert codes(tree) == []
    assert [g.attribute.name for g in first(tree, Aggregate).groups] == groups


@pytest.mark.parametrize(
    ("conf", "value"),
    [
        ("spark.sql.legacy.setopsPrecedence.enabled", "true"),
        ("spark.sql.orderByOrdinal", "false"),
        ("spark.sql.legacy.ctePrecedencePolicy", "LEGACY"),
        ("spark.sql.ansi.relationPrecedence", "true"),
        ("spark.sql.groupByAliases", "FALSE"),
        ("spark.sql.legacy.parser.havingWithoutGroupByAsWhere", "true"),
        ("spark.sql.analyzer.singlePassResolver.enabled", "true"),
    ],
)
def test_a_conf_by_which_spark_may_read_a_text_otherwise_makes_it_opaque(conf, value):
    context = QueryContext("c", "s", ((conf, value),))
    tree = operator_tree("SELECT a FROM t", context, sources=SOURCES)
    assert [part.reason for part in opaque_parts(tree.root)] == ["CONF"]
    assert conf in tree.gaps[0][1]
    assert [scan.relation.name for scan in scans(tree.root)] == ["t"]


def test_usual_confs_leave_the_tree_as_it_is():
    confs = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.caseSensitive": "true",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.legacy.createHiveTableByDefault": "true",
        "spark.sql.legacy.setopsPrecedence.enabled": "false",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.storeAssignmentPolicy": "LEGACY",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.orderByOrdinal": "TRUE",
    }
    context = QueryContext("c", "s", tuple(confs.items()))
    assert operator_tree("SELECT a FROM t", context, sources=SOURCES).gaps == ()


def test_operators_around_an_opaque_part_are_known():
    tree = tree_of(
        "SELECT a FROM t UNION ALL SELECT a FROM (SELECT * FROM u PIVOT (sum(a) FOR k IN (1)))"
    )
    assert isinstance(tree.root, Union)
    assert {scan.relation.name for scan in scans(tree.root)} == {"t", "u"}


def test_a_column_named_metadata_is_a_column():
    sources = columns_of({"t": "a INT, _metadata INT"})
    assert codes(tree_of("SELECT a, _metadata AS m FROM t", sources=sources)) == []


def test_the_result_must_have_the_columns_that_spark_says():
    assert codes(tree_of("SELECT a, b FROM t", ("a", "x"))) == ["COLUMNS"]
    assert codes(tree_of("SELECT a, max(b) FROM t GROUP BY a", ("a", "max(b)"))) == []


@pytest.mark.parametrize(
    ("tables", "queries"), [(TPCH_TABLES, TPCH), (NEXMARK_TABLES, NEXMARK)], ids=["tpch", "nexmark"]
)
def test_queries_of_benchmarks_have_no_gaps(tables, queries):
    for name, query in queries.items():
        tree = tree_of(query, sources=columns_of(tables))
        assert tree.gaps == (), name
        assert not any(isinstance(node, Limit) and node.count is None for node in walk(tree.root))
        assert isinstance(first(tree, Project), Project)


MARK = "WATERMARK ts DELAY OF INTERVAL 10 SECONDS"


@pytest.mark.parametrize(
    ("query", "below"),
    [
        (f"SELECT a FROM STREAM t {MARK} WHERE t.a > 0", "t"),
        (f"SELECT x.a FROM STREAM t {MARK} AS x", "t"),
        (f"SELECT _wm.a FROM STREAM t {MARK} AS _wm", "t"),
        (f"SELECT x.a FROM STREAM (t) {MARK} x LATERAL VIEW explode(ys) e AS y", "t"),
        (f"SELECT a FROM STREAM t WITH ('x' = 'y') {MARK} GROUP BY a", "t"),
        (f"SELECT a FROM (SELECT a, ts FROM (SELECT * FROM t)) {MARK}", "Project"),
        (f"SELECT a FROM ((SELECT a, ts FROM t GROUP BY a, ts)) {MARK} AS q", "Project"),
        (f"SELECT * FROM (t JOIN w USING (s)) {MARK}", "Join"),
        (f"WITH c AS (SELECT * FROM t {MARK} CLUSTER BY a) SELECT a FROM c", "t"),
        (f"SELECT 'WATERMARK' AS watermark FROM t {MARK}, u", "t"),
    ],
)
def test_a_watermark_is_that_of_the_relation_before_it(query, below):
    tree = tree_of(query, sources=(*SOURCES, *columns_of({"w": "s INT, z INT"})))
    marked = [n for n in walk(tree.root) if isinstance(n, Project) and n.event_time]
    assert [n.event_time.attribute.name for n in marked] == ["ts"]
    assert marked[0].event_time.delay == "INTERVAL 10 SECONDS"
    assert marked[0].event_time.attribute in marked[0].output
    found = shape(marked[0].input)
    assert (found if isinstance(found, str) else found[0]) == below
    assert tree.gaps == ()


def test_a_watermark_on_an_expression_adds_a_column():
    tree = tree_of("SELECT * FROM t WATERMARK timestamp_seconds(a) AS at DELAY OF INTERVAL 1 DAY x")
    assert tree.columns[-2:] == ("ts", "at")
    marked = next(n for n in walk(tree.root) if isinstance(n, Project) and n.event_time)
    assert marked.columns[-1].expression.sql == "timestamp_seconds(`a#1`)"
    assert render_query(tree)


def test_an_unpivot_names_what_to_write():
    gaps = tree_of("SELECT * FROM t UNPIVOT (x FOR name IN (a, b))").gaps
    assert ("PIVOT", "it uses UNPIVOT; write LATERAL VIEW stack(…)") in gaps


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT a FROM t TABLESAMPLE (10 ROWS) {MARK} AS x",
        f"SELECT a FROM t {MARK} date WHERE a > 0",
        "SELECT a FROM t WATERMARK ts + DELAY OF INTERVAL 1 DAY",
    ],
)
def test_a_watermark_that_is_not_understood_is_a_gap(query):
    assert codes(tree_of(query)) != []


RECORDED = QueryContext("spark_catalog", "s", ())
UNKNOWN = {
    "batch_pivot": "PIVOT",
    "udtf_range": "TABLE_FUNCTION",
    "stream_view": "UNKNOWN_COLUMNS",
    "batch_view": "UNKNOWN_COLUMNS",
    "view_of_groups": "UNKNOWN_COLUMNS",
}


@pytest.mark.parametrize("name", QUERIES)
def test_queries_whose_plans_are_recorded(name):
    tables = {"o": "id c v ts", "p": "id d ts2", "f": "id c v ts", "j": "id c v ts"}
    sources = tuple(
        SourceColumns(f"spark_catalog.s.{table}", tuple(map(FieldName, columns.split())))
        for table, columns in tables.items()
    )
    query, columns = QUERIES[name]["query"], tuple(QUERIES[name]["columns"])
    tree = operator_tree(query, RECORDED, columns, sources=sources)
    if name in UNKNOWN:
        assert UNKNOWN[name] in codes(tree)
    else:
        assert tree.gaps == ()
        assert len(tree.root.output) == len(columns)
        assert any(scan.stream for scan in scans(tree.root)) == (" STREAM" in query)
