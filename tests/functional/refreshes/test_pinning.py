"""Pinned queries give what the query gave when its sources were at these versions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, SourceKind
from dbt.adapters.spark_mt.spark.formats.delta import as_of
from dbt.adapters.spark_mt.spark.query.analyzer import SparkQueryAnalyzer
from dbt.adapters.spark_mt.spark.query.query_relations import as_subquery
from dbt.adapters.spark_mt.spark.query.query_rows import PinnedQuery, Pins, pin_query
from dbt.adapters.spark_mt.spark.session.private_session import context_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_SCHEMA = "pinning"
_VIEWS = "pinning_views"
_SETUP = (
    f"CREATE SCHEMA {_SCHEMA}",
    f"CREATE SCHEMA {_VIEWS}",
    f"USE {_SCHEMA}",
    "CREATE TABLE a USING delta AS SELECT id, id % 3 AS k, CAST(id AS STRING) AS s FROM range(10)",
    "CREATE TABLE b USING delta AS SELECT id, id % 2 AS k FROM range(5)",
    "CREATE TABLE p USING parquet AS SELECT id FROM range(4)",
    "CREATE VIEW v AS SELECT k, count(*) AS n FROM a GROUP BY k",
    "CREATE VIEW everything AS SELECT * FROM a",
    "CREATE VIEW renamed (x, y) AS SELECT id, id FROM b",
    f"USE {_VIEWS}",
    "CREATE TABLE a USING delta AS SELECT id + 1000 AS id FROM range(2)",
    "CREATE VIEW near AS SELECT id FROM a",
    f"CREATE VIEW far AS SELECT n.id, v.n FROM near n CROSS JOIN {_SCHEMA}.v",
    f"USE {_SCHEMA}",
)
_CHANGES = (
    f"INSERT INTO {_SCHEMA}.a SELECT id + 100, 1, 'not a number' FROM range(7)",
    f"DELETE FROM {_SCHEMA}.b WHERE id = 0",
    f"UPDATE {_SCHEMA}.b SET k = 5 WHERE id = 1",
    f"INSERT INTO {_VIEWS}.a SELECT 5000",
)
_NEWEST = {
    f"spark_catalog.{_SCHEMA}.a": 1,
    f"spark_catalog.{_SCHEMA}.b": 2,
    f"spark_catalog.{_VIEWS}.a": 1,
}
_RECURSIVE = """
WITH RECURSIVE r AS (SELECT max(k) AS n FROM b UNION ALL SELECT n + 1 FROM r WHERE n < 3)
SELECT n FROM r
"""
_QUERIES = (
    "SELECT * FROM a -- the end",
    "SELECT a.k, count(*) AS n, '🙂 a' AS e FROM a JOIN b USING (id)\r\nGROUP BY a.k",
    "WITH a AS (SELECT * FROM a), c AS (SELECT * FROM a JOIN b USING (id)) SELECT c.id FROM c",
    "SELECT id FROM a UNION ALL SELECT id FROM b ORDER BY id",
    "SELECT (SELECT max(b.id) FROM b WHERE b.k = a.k) AS m FROM a WHERE id IN (SELECT id FROM b)",
    "SELECT a.id, l.m FROM a, LATERAL (SELECT max(k) AS m FROM b WHERE b.id = a.id) AS l",
    "SELECT x.id, y.id AS other FROM a x JOIN a AS y ON x.id = y.id + 1",
    "FROM a |> WHERE k = 1 |> SELECT id",
    "SELECT /*+ BROADCAST(b) */ a.id FROM a JOIN b ON a.id = b.id",
    "SELECT * FROM (SELECT id, k FROM a) PIVOT (count(id) FOR k IN (0, 1, 2))",
    "SELECT a.id, e FROM a LATERAL VIEW explode(array(1, 2)) t AS e",
    "SELECT * FROM a TABLESAMPLE (100 PERCENT) t",
    _RECURSIVE,
    "SELECT v.k, v.n FROM v",
    "SELECT w.k FROM v AS w WHERE w.n > 3",
    "WITH v AS (SELECT * FROM v) SELECT v.n FROM v",
    "SELECT * FROM everything",
    "SELECT * FROM renamed",
    f"SELECT * FROM {_VIEWS}.far",
    f"SELECT far.id, v.n, near.id AS o FROM {_VIEWS}.far JOIN v USING (n), {_VIEWS}.near",
    "SELECT a.id FROM a LEFT JOIN p USING (id)",
)
_ALWAYS = tuple(_QUERIES[at] for at in (0, 1, 2, 4, 6, 12, 15, 17, 19))
"""Queries that `make test` pins: joins, names of CTEs, subqueries, recursion, views over views."""


@dataclass(frozen=True)
class Before:
    analyzed: AnalyzedQuery
    rows: Counter[tuple[object, ...]]


def rows(session: SparkSession, query: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in session.sql(as_subquery(query)).collect())


def newest(session: SparkSession, name: str) -> int:
    return int(session.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()[0]["version"])


def versions(session: SparkSession, query: AnalyzedQuery) -> dict[str, int]:
    """The newest version of every versioned source."""
    return {
        str(source.name): newest(session, source.name.sql)
        for source in query.sources
        if source.kind is SourceKind.VERSIONED
    }


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    session = spark.newSession()
    for statement in _SETUP:
        session.sql(statement)
    yield session
    session.sql("USE default")
    for schema in (_SCHEMA, _VIEWS):
        session.sql(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture(scope="module")
def before(session: SparkSession, request: pytest.FixtureRequest) -> dict[str, Before]:
    """Each query that is to be tested, with its rows before the sources changed."""
    analyzer = SparkQueryAnalyzer(session)
    wanted = {
        item.callspec.params["query"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "before" in item.fixturenames
    }
    found = {query: Before(analyzer.analyze(query), rows(session, query)) for query in wanted}
    for statement in _CHANGES:
        session.sql(statement)
    return found


@pytest.mark.parametrize(
    "query",
    [q if q in _ALWAYS else pytest.param(q, marks=pytest.mark.conformance) for q in _QUERIES],
)
def test_a_pinned_query_gives_what_it_gave_before(
    session: SparkSession, before: dict[str, Before], query: str
) -> None:
    analyzed, expected = before[query].analyzed, before[query].rows
    sources = [str(s.name) for s in analyzed.sources if s.kind is SourceKind.VERSIONED]
    assert analyzed.pinnable
    private = session.newSession()
    pinned = pin_query(
        private, analyzed.expanded, analyzed.context, pins_at(dict.fromkeys(sources, 0))
    )
    assert pinned.reason == ""
    assert pinned.text is not None
    assert rows(private, pinned.text) == expected
    newest = {name: _NEWEST[name] for name in sources}
    now = pin_query(private, analyzed.expanded, analyzed.context, pins_at(newest))
    assert now.text is not None
    current = rows(session, query)
    assert rows(private, now.text) == current
    assert current != expected


def pins_at(versions: dict[str, int]) -> Pins:
    """Pins that read sources as of versions."""
    names = {name: TableName.of(*name.split(".")) for name in versions}
    return Pins({name: as_of(names[name], version) for name, version in versions.items()})


def pinned(session: SparkSession, query: str, pins: dict[str, int]) -> PinnedQuery:
    return pin_query(session.newSession(), query, context_of(session), pins_at(pins))


def test_versions_are_written_after_the_names(session: SparkSession) -> None:
    name = f"`spark_catalog`.`{_SCHEMA}`.`a`"
    query = f"SELECT x.id FROM {name} AS x JOIN {name} VERSION AS OF 0 AS y ON x.id = y.id"
    found = pinned(session, query, {f"spark_catalog.{_SCHEMA}.a": 0})
    assert found.text == query.replace(f"{name} AS x", f"{name} VERSION AS OF 0 AS x")


def test_a_view_means_what_it_meant_where_it_was_made(
    spark: SparkSession, session: SparkSession
) -> None:
    """A view made without ANSI mode turns what is no number into NULL, in any session."""
    maker = spark.newSession()
    maker.conf.set("spark.sql.ansi.enabled", "false")
    maker.sql(f"USE {_SCHEMA}")
    maker.sql("CREATE OR REPLACE VIEW lenient AS SELECT CAST('x' AS INT) AS i, id FROM a")
    analyzed = SparkQueryAnalyzer(session).analyze("SELECT * FROM lenient")
    private = session.newSession()
    found = pin_query(
        private, analyzed.expanded, analyzed.context, pins_at(versions(session, analyzed))
    )
    assert found.text is not None
    assert rows(private, found.text) == rows(session, "SELECT * FROM lenient")
    assert private.conf.get("spark.sql.ansi.enabled") == "true"
    assert private.catalog.currentDatabase() == _SCHEMA


def test_a_view_keeps_its_columns_when_its_table_grows(session: SparkSession) -> None:
    session.sql("CREATE TABLE growing USING delta AS SELECT 1 AS x")
    session.sql("CREATE VIEW of_growing AS SELECT * FROM growing")
    session.sql("ALTER TABLE growing ADD COLUMN y INT")
    analyzed = SparkQueryAnalyzer(session).analyze("SELECT * FROM of_growing")
    private = session.newSession()
    found = pin_query(
        private, analyzed.expanded, analyzed.context, pins_at(versions(session, analyzed))
    )
    assert found.text is not None
    assert private.sql(found.text).columns == ["x"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("TABLE a", "text"),
        ("SELECT * FROM IDENTIFIER('a')", "does not name it"),
        ("SELECT * FROM STREAM a", "stream"),
        ("SELECT * FROM v TABLESAMPLE (5 PERCENT)", "sampled"),
        (f"SELECT {_SCHEMA}.v.n FROM {_SCHEMA}.v", "cannot be resolved"),
    ],
)
def test_a_refusal_has_its_reason(session: SparkSession, query: str, reason: str) -> None:
    found = pinned(session, query, {f"spark_catalog.{_SCHEMA}.a": 0})
    assert found.text is None
    assert reason in found.reason


def test_a_delta_table_without_a_version_is_never_read_unpinned(session: SparkSession) -> None:
    query = "SELECT a.id FROM a JOIN b USING (id)"
    found = pinned(session, query, {f"spark_catalog.{_SCHEMA}.a": 0})
    assert found.text is None
    assert f"spark_catalog.{_SCHEMA}.b" in found.reason


def test_a_version_that_is_gone_is_a_reason(session: SparkSession) -> None:
    found = pinned(session, "SELECT id FROM a", {f"spark_catalog.{_SCHEMA}.a": 999})
    assert found.text is None
    assert "999" in found.reason


def test_columns_must_be_those_of_today(session: SparkSession) -> None:
    session.sql("CREATE TABLE retyped USING delta AS SELECT 1 AS x")
    session.sql("CREATE OR REPLACE TABLE retyped USING delta AS SELECT 'one' AS x")
    found = pinned(session, "SELECT x FROM retyped", {f"spark_catalog.{_SCHEMA}.retyped": 0})
    assert found.text is None
    assert "columns" in found.reason
