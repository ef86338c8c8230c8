"""Queries analysed by a real Spark with Delta; nothing is ever executed or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.errors import QueryError, TemporaryObjectError
from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, SourceKind
from dbt.adapters.spark_mt.query.operator_builder import operator_tree
from dbt.adapters.spark_mt.query.operators import scans
from dbt.adapters.spark_mt.spark.query.analyzer import SparkQueryAnalyzer
from tests.support.errors import raises

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_SCHEMA = "analyzer"
_OTHER = "analyzer_other"
_SETUP = (
    f"CREATE SCHEMA {_SCHEMA}",
    f"CREATE SCHEMA {_OTHER}",
    f"USE {_SCHEMA}",
    "CREATE TABLE a USING delta AS SELECT id, id % 3 AS k FROM range(10)",
    "CREATE TABLE b USING delta AS SELECT id, id % 2 AS k FROM range(5)",
    "CREATE TABLE p USING parquet AS SELECT id, id % 3 AS k FROM range(10)",
    "CREATE VIEW v AS SELECT k, count(*) AS n FROM a GROUP BY k",
    f"USE {_OTHER}",
    f"CREATE VIEW outer_view AS SELECT * FROM {_SCHEMA}.v JOIN {_SCHEMA}.p USING (k)",
    f"CREATE VIEW timely AS SELECT current_date() AS today, rand() AS r FROM {_SCHEMA}.b",
    f"USE {_SCHEMA}",
    "CREATE FUNCTION plus_one(x INT) RETURNS INT RETURN x + 1",
    "CREATE FUNCTION largest(x INT) RETURNS BIGINT RETURN (SELECT max(id) FROM b WHERE k = x)",
    "CREATE FUNCTION rows_of(x INT) RETURNS TABLE (id BIGINT) RETURN SELECT id FROM b WHERE k = x",
)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    session = spark.newSession()
    for statement in _SETUP:
        session.sql(statement)
    session.sql("CREATE TEMPORARY VIEW temp_view AS SELECT 1 AS x")
    session.sql("CREATE TEMPORARY FUNCTION temp_function(x INT) RETURNS INT RETURN x")
    session.sql("DECLARE session_variable INT DEFAULT 3")
    session.range(3).createOrReplaceTempView("frame_view")
    yield session
    session.sql("USE default")
    for schema in (_SCHEMA, _OTHER):
        session.sql(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture(scope="module")
def analyzer(session: SparkSession) -> SparkQueryAnalyzer:
    return SparkQueryAnalyzer(session)


def full(name: str, schema: str = _SCHEMA) -> str:
    return f"`spark_catalog`.`{schema}`.`{name}`"


def sources(analyzed: AnalyzedQuery) -> dict[str, SourceKind]:
    return {source.name.name: source.kind for source in analyzed.sources}


def test_a_plain_query(analyzer: SparkQueryAnalyzer) -> None:
    query = "SELECT id, '🙂' AS e, CAST(k AS DECIMAL(10, 2)) AS d\r\nFROM a -- the end"
    found = analyzer.analyze(query)
    assert found.query == query
    assert found.expanded == query.replace("FROM a", f"FROM {full('a')}")
    assert found.columns == (
        Column("id", "BIGINT"),
        Column("e", "STRING"),
        Column("d", "DECIMAL(10,2)"),
    )
    assert sources(found) == {"a": SourceKind.VERSIONED}
    assert str(found.sources[0].name) == f"spark_catalog.{_SCHEMA}.a"
    assert (found.context.catalog, found.context.schema) == ("spark_catalog", _SCHEMA)
    assert {"spark.sql.ansi.enabled", "spark.sql.session.timeZone"} <= dict(
        found.context.confs
    ).keys()
    assert (found.pinnable, found.streaming) == (True, False)
    assert (found.nondeterministic, found.time_dependent, found.lookups) == ((), (), ())


def test_five_statements_for_a_query_without_views(session: SparkSession) -> None:
    statements: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(session, name)

        def sql(self, statement: str) -> Any:
            statements.append(statement)
            return session.sql(statement)

    analyzer = SparkQueryAnalyzer(Counting())  # type: ignore[arg-type]
    query = "SELECT a.id, count(*) AS n FROM a JOIN b ON a.id = b.id GROUP BY a.id"
    analyzer.analyze(query)
    statements.clear()
    analyzer.analyze(query)
    assert len(statements) == 5  # one of them reads the columns of all relations


def test_nothing_is_changed(session: SparkSession, analyzer: SparkQueryAnalyzer) -> None:
    def state() -> tuple[Any, ...]:
        tables = [row.asDict() for row in session.sql("SHOW TABLES").collect()]
        return tables, session.sql("SHOW SCHEMAS").collect(), dict(session.conf.getAll)

    before = state()
    analyzer.analyze(f"SELECT * FROM {_OTHER}.outer_view")
    with pytest.raises(QueryError):
        analyzer.analyze("DROP TABLE a")
    with pytest.raises(QueryError):
        analyzer.analyze("SELECT 1) AS x, (SELECT 2")
    assert state() == before


@pytest.mark.parametrize(
    ("query", "expanded"),
    [
        (
            "WITH a AS (SELECT * FROM a) SELECT * FROM a",
            "WITH a AS (SELECT * FROM {a}) SELECT * FROM a",
        ),
        ("FROM a |> WHERE k > 1 |> SELECT id", "FROM {a} |> WHERE k > 1 |> SELECT id"),
        (
            "SELECT a.id FROM a WHERE k IN (SELECT k FROM b)",
            "SELECT a.id FROM {a} WHERE k IN (SELECT k FROM {b})",
        ),
        (f"SELECT {_SCHEMA}.a.id FROM {_SCHEMA}.A", f"SELECT {_SCHEMA}.a.id FROM {{a}}"),
        (
            "(SELECT id FROM a) UNION ALL SELECT id FROM b ORDER BY 1",
            "(SELECT id FROM {a}) UNION ALL SELECT id FROM {b} ORDER BY 1",
        ),
        ("SELECT x.id FROM a VERSION AS OF 0 x", "SELECT x.id FROM {a} VERSION AS OF 0 x"),
        (
            "SELECT * FROM a, LATERAL (SELECT max(k) AS m FROM b WHERE b.id = a.id)",
            "SELECT * FROM {a}, LATERAL (SELECT max(k) AS m FROM {b} WHERE b.id = a.id)",
        ),
        ("SELECT 1 AS one", "SELECT 1 AS one"),
    ],
)
def test_every_relation_gets_its_full_name(
    analyzer: SparkQueryAnalyzer, query: str, expanded: str
) -> None:
    found = analyzer.analyze(query)
    assert found.expanded == expanded.format(a=full("a"), b=full("b"))
    assert found.pinnable
    assert analyzer.analyze(found.expanded).columns == found.columns


def test_sources_through_views(analyzer: SparkQueryAnalyzer) -> None:
    found = analyzer.analyze(f"SELECT o.n, a.id FROM {_OTHER}.outer_view o JOIN b a ON a.k = o.k")
    assert sources(found) == {
        "outer_view": SourceKind.VIEW,
        "v": SourceKind.VIEW,
        "a": SourceKind.VERSIONED,
        "p": SourceKind.UNVERSIONED,
        "b": SourceKind.VERSIONED,
    }
    via = {s.name.name: [view.name for view in s.via] for s in found.sources}
    assert via == {
        "outer_view": [],
        "v": ["outer_view"],
        "a": ["outer_view", "v"],
        "p": ["outer_view"],
        "b": [],
    }
    texts = {s.name.name: s.definition_text for s in found.sources}
    assert "GROUP BY k" in texts["v"]
    assert texts["a"] == ""
    assert found.pinnable


def test_names_inside_views_and_at_versions_can_be_resolved(analyzer: SparkQueryAnalyzer) -> None:
    found = analyzer.analyze(
        f"SELECT o.n, a.id, v.id AS old FROM {_OTHER}.outer_view o JOIN b a ON a.k = o.k "
        "JOIN b VERSION AS OF 0 v ON v.id = a.id"
    )
    names = tuple(column.name for column in found.columns)
    known = (*found.source_columns, *found.more_columns)
    tree = operator_tree(found.expanded, found.context, names, sources=known, views=found.views)
    assert tree.gaps == ()
    assert any(scan.views for scan in scans(tree.root))
    assert [scan.version for scan in scans(tree.root) if scan.version] == ["VERSION AS OF 0"]


def test_a_view_has_another_text_when_it_is_replaced(
    session: SparkSession, analyzer: SparkQueryAnalyzer
) -> None:
    def text() -> str:
        return analyzer.analyze("SELECT * FROM changing").sources[0].definition_text

    session.sql("CREATE OR REPLACE VIEW changing AS SELECT id FROM a")
    first = text()
    session.sql("CREATE OR REPLACE VIEW changing AS SELECT id FROM a")
    assert text() == first
    session.sql("CREATE OR REPLACE VIEW changing AS SELECT id FROM a WHERE id > 1")
    assert text() != first


def test_functions_of_the_catalog_are_sources(analyzer: SparkQueryAnalyzer) -> None:
    query = f"SELECT plus_one(1) AS x, {_SCHEMA}.plus_one(2) AS y, abs(k) AS z FROM a"
    found = analyzer.analyze(query)
    assert sources(found) == {"a": SourceKind.VERSIONED, "plus_one": SourceKind.FUNCTION}
    assert "x + 1" in found.sources[-1].definition_text
    assert found.pinnable


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT largest(1) AS x", {"largest", "b"}),
        ("SELECT largest(1) AS x FROM b", {"largest", "b"}),
        ("SELECT * FROM rows_of(1)", {"rows_of", "b"}),
        ("SELECT * FROM IDENTIFIER('b')", {"b"}),
        ("SELECT * FROM table_changes('b', 0)", {"b"}),
        ("TABLE b", {"b"}),
        ("SELECT * FROM STREAM b", {"b"}),
    ],
)
def test_what_a_version_cannot_be_written_to_is_not_pinnable(
    analyzer: SparkQueryAnalyzer, query: str, names: set[str]
) -> None:
    found = analyzer.analyze(query)
    assert set(sources(found)) == names
    assert sources(found)["b"] is SourceKind.VERSIONED
    assert not found.pinnable


def test_paths(analyzer: SparkQueryAnalyzer, warehouse: str) -> None:
    delta, parquet = (f"{warehouse}/{_SCHEMA}.db/{table}" for table in ("a", "p"))
    found = analyzer.analyze(
        f"SELECT id FROM delta.`{delta}` UNION ALL SELECT id FROM parquet.`{parquet}`"
    )
    kinds = {source.name.name: source.kind for source in found.sources}
    assert kinds == {delta: SourceKind.VERSIONED, parquet: SourceKind.UNVERSIONED}
    assert found.pinnable


@pytest.mark.parametrize(
    ("query", "nondeterministic", "time_dependent"),
    [
        ("SELECT rand() AS r, uuid() AS u FROM a", ("rand", "uuid"), ()),
        ("SELECT id FROM a WHERE current_date > DATE '2020-01-01'", (), ("current_date",)),
        ("SELECT current_date, user FROM (SELECT 1 AS current_date, 2 AS user)", (), ()),
        ("SELECT user AS who FROM a", ("user",), ()),
        (f"SELECT * FROM {_OTHER}.timely", ("rand",), ("current_date",)),
        ("SELECT first(id) AS f, max(id) AS m FROM a", ("first",), ()),
        ("SELECT first(id) OVER (PARTITION BY k ORDER BY id) AS f FROM a", (), ()),
    ],
)
def test_functions_that_change_the_result(
    analyzer: SparkQueryAnalyzer,
    query: str,
    nondeterministic: tuple[str, ...],
    time_dependent: tuple[str, ...],
) -> None:
    found = analyzer.analyze(query)
    assert found.nondeterministic == nondeterministic
    assert found.time_dependent == time_dependent


def test_streams_are_noticed(analyzer: SparkQueryAnalyzer) -> None:
    found = analyzer.analyze("SELECT s.id FROM STREAM(a) s JOIN b USING (id)")
    assert found.streaming
    assert found.expanded == f"SELECT s.id FROM STREAM({full('a')}) s JOIN {full('b')} USING (id)"


def test_lookup_joins(analyzer: SparkQueryAnalyzer) -> None:
    query = "SELECT a.id FROM a JOIN b FOR SYSTEM_TIME AS OF proctime() AS x ON a.id = x.id"
    found = analyzer.analyze(query)
    assert found.query == query
    assert [str(name) for name in found.lookups] == [f"spark_catalog.{_SCHEMA}.b"]
    assert "SYSTEM_TIME" not in found.expanded
    assert found.pinnable
    with raises(conditions.LOOKUP_TIME_NOT_SUPPORTED):
        analyzer.analyze("SELECT a.id FROM a JOIN b FOR SYSTEM_TIME AS OF a.t AS x ON a.id = x.id")


@pytest.mark.parametrize(
    ("query", "objects"),
    [
        ("SELECT * FROM temp_view", ["the temporary view `temp_view`"]),
        ("SELECT a.id FROM a, frame_view", ["the temporary view `frame_view`"]),
        ("SELECT session_variable AS x FROM a", ["the session variable `session_variable`"]),
        ("SELECT temp_function(1) AS x", ["the temporary function `temp_function`"]),
        (
            "SELECT session_variable + temp_function(1) AS x FROM temp_view",
            [
                "the temporary view `temp_view`",
                "the session variable `session_variable`",
                "the temporary function `temp_function`",
            ],
        ),
        (
            "SELECT id FROM a WHERE k IN (SELECT x FROM temp_view)",
            ["the temporary view `temp_view`"],
        ),
    ],
)
def test_temporary_objects_are_refused_by_name(
    analyzer: SparkQueryAnalyzer, query: str, objects: list[str]
) -> None:
    with pytest.raises(TemporaryObjectError) as caught:
        analyzer.analyze(query)
    assert caught.value.parameters["objects"].split(", ") == objects


def test_substitutions_are_refused_by_name(
    session: SparkSession, analyzer: SparkQueryAnalyzer
) -> None:
    session.conf.set("my.threshold", "3")
    with pytest.raises(TemporaryObjectError) as caught:
        analyzer.analyze("SELECT id FROM a WHERE id > ${my.threshold}")
    assert caught.value.parameters["objects"] == "the substitution ${my.threshold}"
    assert (
        analyzer.analyze("SELECT '${no.such.key}' AS x").expanded == "SELECT '${no.such.key}' AS x"
    )


@pytest.mark.parametrize(
    ("query", "condition", "place"),
    [
        ("SELECT '🙂',\n  nope FROM a", "UNRESOLVED_COLUMN.WITH_SUGGESTION", ("2", "3")),
        ("SELECT 1\nFROM\n  nowhere", "TABLE_OR_VIEW_NOT_FOUND", ("3", "3")),
        ("SELECT id,,\nk FROM a", "PARSE_SYNTAX_ERROR", ("1", "11")),
        ("SELECT 1;\nSELECT 2", "PARSE_SYNTAX_ERROR", ("2", "1")),
        ("DROP TABLE a", "PARSE_SYNTAX_ERROR", ("1", "1")),
        ("SELECT id, count(*) AS n FROM a", "MISSING_GROUP_BY", ("1", "1")),
        ("SELECT id + map(1, 2) AS x FROM a", "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", ("1", "8")),
        ("SELECT ? AS x", "UNBOUND_SQL_PARAMETER", ("1", "8")),
    ],
)
def test_errors_are_placed_within_the_query(
    analyzer: SparkQueryAnalyzer, query: str, condition: str, place: tuple[str, str]
) -> None:
    with pytest.raises(QueryError) as caught:
        analyzer.analyze(query)
    parameters = caught.value.parameters
    assert parameters["engine_condition"] == condition
    assert (parameters["line"], parameters["column"]) == place
    assert "\n" not in parameters["message"]
    assert "materialized_table_no_such_schema" not in str(caught.value)


def test_the_context_has_what_changes_the_meaning(spark: SparkSession) -> None:
    session = spark.newSession()
    session.sql(f"USE {_SCHEMA}")
    before = SparkQueryAnalyzer(session).analyze("SELECT 1 AS x").context
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.caseSensitive", "false")
    assert SparkQueryAnalyzer(session).analyze("SELECT 1 AS x").context == before
    session.conf.set("spark.sql.caseSensitive", "true")
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    confs = dict(SparkQueryAnalyzer(session).analyze("SELECT 1 AS x").context.confs)
    assert confs["spark.sql.caseSensitive"] == "true"
    assert confs["spark.sql.session.timeZone"] == "Asia/Tokyo"


def test_three_hundred_columns_and_sixty_kilobytes(analyzer: SparkQueryAnalyzer) -> None:
    items = ",\n".join(
        f"CASE WHEN a.id > {i} THEN sum(a.k) ELSE coalesce(a.id, {i}) END /* {'x' * 120} */ AS c{i}"
        for i in range(300)
    )
    query = f"SELECT {items}\nFROM a GROUP BY a.id"
    assert len(query) > 55_000
    found = analyzer.analyze(query)
    assert len(found.columns) == 300
    assert found.pinnable
