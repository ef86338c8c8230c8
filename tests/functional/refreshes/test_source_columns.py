"""Results by the names of the sources' columns, on Spark and Delta.

The suite runs here as in memory. What only Spark has (nested fields, qualified names, views that
Spark expands, sources without versions, STREAM, Connect) is tested here alone.
"""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import RefreshSchemaError
from tests.behaviour.harness import divided
from tests.behaviour.source_columns import SourceColumns, run_case
from tests.behaviour.spark import SparkTables
from tests.functional.engine.oracle import outcome, rows
from tests.support.errors import raises

CORE, REST = divided(
    SourceColumns,
    (
        "a_moved_column_stays_in_its_column",
        "appended_rows_are_not_swapped",
    ),
)


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    return SparkTables(session)


@pytest.fixture
def api(session, schema):
    assert session.catalog.currentDatabase() == schema
    return MaterializedTables(session)


class TestSourceColumns(CORE):
    """What Spark and Delta could get wrong."""


@pytest.mark.conformance
class TestEverySourceColumn(REST):
    """All other guarantees, and more of the sample."""

    @pytest.mark.parametrize("seed", range(16))
    def test_whatever_becomes_of_the_sources(self, tables, seed):
        run_case(tables, seed, count=6, changes=3)


def create(tables, query, clauses="REFRESH_MODE = FULL"):
    return outcome(tables, f"CREATE MATERIALIZED TABLE t {clauses} AS {query}")


def swapped(tables, name="star", using="delta"):
    tables.sql(f"DROP TABLE IF EXISTS {name}")
    tables.sql(f"CREATE TABLE {name} USING {using} AS SELECT 20 AS b, 10 AS a")


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT {schema}.star.a + 0 x, o.p FROM {schema}.star, (SELECT * FROM star) o (p, q)",
            (10, 10),
        ),
        ("SELECT {schema}.star.* FROM {schema}.star", (10, 20)),
        ("SELECT /*+ BROADCAST(star) */ * FROM star TABLESAMPLE (100 PERCENT)", (10, 20)),
        ("SELECT *, _metadata.file_name IS NOT NULL AS f FROM star", (10, 20, True)),
        ("SELECT q.p FROM star AS q (p, r) LATERAL VIEW explode(array(1)) e AS i", (10,)),
        ("SELECT * FROM (SELECT * FROM star) PIVOT (sum(b) FOR a IN (10 AS ten))", (20,)),
        ("FROM star |> WHERE a = 10 |> AGGREGATE max(b) AS m", (20,)),
        ("SELECT to_json(struct(*)) AS j FROM star", ('{"a":10,"b":20}',)),
    ],
)
def test_forms_of_a_query(api, schema, query, expected):
    api.sql("CREATE TABLE star USING delta AS SELECT 1 AS a, 2 AS b")
    create(api, query.format(schema=schema))
    swapped(api)
    api.refresh("t")
    assert rows(api, "SELECT * FROM t") == [expected]


@pytest.mark.conformance
@pytest.mark.parametrize("using", ["parquet", "csv"])
def test_sources_without_versions(api, using):
    swapped(api, using=using)
    create(api, "WITH q (x, y) AS (SELECT * FROM star) SELECT y FROM q")
    assert rows(api, "SELECT * FROM t") == [(10,)]
    api.sql("DROP TABLE star")
    api.sql(f"CREATE TABLE star USING {using} AS SELECT 1 AS a, 2 AS b, 3 AS c")
    api.refresh("t")
    assert rows(api, "SELECT * FROM t") == [(1,)]


@pytest.mark.conformance
def test_nested_fields_are_found_by_name(api):
    inner = "named_struct('y', 2, 'x', 1)"
    api.sql(
        "CREATE TABLE star USING delta AS SELECT named_struct('x', 1, 'y', 2) AS s, "
        "array(named_struct('x', 1, 'y', 2)) AS l, map('k', named_struct('x', 1, 'y', 2)) AS m"
    )
    create(api, "SELECT p, s, l, m FROM (SELECT s.*, s, l, m FROM star) AS q (p, o, s, l, m)")
    api.sql(
        f"CREATE OR REPLACE TABLE star USING delta AS SELECT map('k', {inner}) AS m, "
        f"named_struct('y', 2, 'z', 3, 'x', 1) AS s, array({inner}) AS l"
    )
    api.refresh("t")
    found = api.sql("SELECT p, s.x AS sx, s.y AS sy, l[0].x AS lx, m['k'].y AS my FROM t").collect()
    assert [tuple(row) for row in found] == [(1, 1, 2, 1, 2)]
    api.sql("CREATE OR REPLACE TABLE star USING delta AS SELECT named_struct('y', 2) AS s, 1 AS l")
    with raises(conditions.SOURCE_COLUMNS_CHANGED):
        api.refresh("t")


@pytest.mark.conformance
def test_a_view_finds_columns_of_one_name_as_spark_does(api):
    api.sql("CREATE TABLE a USING delta AS SELECT 1 AS id, 2 AS k")
    api.sql("CREATE TABLE b USING delta AS SELECT 1 AS id, 4 AS k")
    api.sql("CREATE VIEW v (i, k, j, l) AS SELECT * FROM a JOIN b ON a.id = b.id")
    create(api, "SELECT * FROM v")
    api.sql("ALTER TABLE a ALTER COLUMN k FIRST")
    api.sql("INSERT INTO a VALUES (9, 8)")
    api.refresh("t")
    assert rows(api, "SELECT * FROM t") == [(1, 2, 1, 4)]
    assert rows(api, "SELECT * FROM v") == [(1, 2, 1, 4)]


@pytest.mark.conformance
def test_a_name_that_became_ambiguous_is_not_seen(api):
    api.sql("CREATE TABLE a USING delta AS SELECT 1 AS id, 2 AS k")
    api.sql("CREATE TABLE b USING delta AS SELECT 1 AS id")
    create(api, "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = k - 1)")
    api.sql("CREATE OR REPLACE TABLE b USING delta AS SELECT 1 AS id, 50 AS k")
    api.refresh("t")
    assert rows(api, "SELECT * FROM t") == [(2,)]


@pytest.mark.conformance
def test_a_text_that_cannot_be_parsed_is_refused(api):
    api.sql("CREATE TABLE star USING delta AS SELECT 1 AS a, 2 AS b")
    create(api, "TABLE star")
    api.sql("INSERT INTO star VALUES (3, 4)")
    api.refresh("t")
    swapped(api)
    with raises(conditions.SOURCE_COLUMNS_CHANGED):
        api.refresh("t")
    assert rows(api, "SELECT * FROM t") == [(1, 2), (3, 4)]


@pytest.mark.conformance
def test_a_listed_table_keeps_its_own_names(api):
    api.sql("CREATE TABLE star USING delta AS SELECT 1 AS a, 2 AS b")
    create(api, "SELECT * FROM star", "(b BIGINT, a BIGINT) REFRESH_MODE = FULL")
    swapped(api)
    api.refresh("t")
    assert rows(api, "SELECT a, b FROM t") == [(10, 20)]


@pytest.mark.conformance
def test_a_baseline_and_a_key_go_by_names(api):
    api.sql("CREATE TABLE star USING delta AS SELECT 1 AS a, 2 AS b")
    clauses = (
        "(PRIMARY KEY (a) NOT ENFORCED) FRESHNESS = INTERVAL '1' MINUTE "
        "START_MODE = RESUME_OR_FROM_BEGINNING"
    )
    create(api, "SELECT * FROM star", clauses)
    outcome(
        api, f"CREATE OR ALTER MATERIALIZED TABLE t {clauses} AS SELECT * FROM star WHERE a < 1000"
    )
    api.sql("ALTER TABLE star ALTER COLUMN b FIRST")
    api.sql("INSERT INTO star VALUES (4, 3)")
    assert api.refresh("t").strategy == "merge"
    api.sql("UPDATE star SET b = 5 WHERE a = 1")
    api.refresh("t")
    assert rows(api, "SELECT a, b FROM t") == [(1, 5), (3, 4)]


@pytest.mark.conformance
def test_a_stateful_stream_goes_by_names(api):
    api.sql("CREATE TABLE events (k INT, v INT) USING delta")
    api.sql("INSERT INTO events VALUES (1, 10)")
    create(
        api,
        "SELECT o AS k, sum(p) AS total FROM (SELECT * FROM STREAM events) AS q (o, p) GROUP BY o",
        "FRESHNESS = INTERVAL '1' MINUTE",
    )
    api.sql("ALTER TABLE events ALTER COLUMN v FIRST")
    api.sql("INSERT INTO events VALUES (5, 1), (7, 2)")
    api.refresh("t")
    assert rows(api, "SELECT k, total FROM t") == [(1, 15), (2, 7)]


@pytest.mark.conformance
def test_a_changed_query_with_a_star_keeps_the_table_s_order(api):
    api.sql("CREATE TABLE star USING delta AS SELECT 1 AS a, 2 AS b")
    create(api, "SELECT * FROM star")
    swapped(api)
    outcome(
        api,
        "CREATE OR ALTER MATERIALIZED TABLE t REFRESH_MODE = FULL AS "
        "SELECT *, a + b AS c FROM star WHERE a > 0",
    )
    assert api.sql("SELECT * FROM t").columns == ["a", "b", "c"]
    assert rows(api, "SELECT * FROM t") == [(10, 20, 30)]


@pytest.mark.conformance
def test_a_type_that_the_table_cannot_hold_is_still_refused(api):
    api.sql("CREATE TABLE star USING delta AS SELECT 1 AS a, 2 AS b")
    create(api, "SELECT * FROM star")
    api.sql("CREATE OR REPLACE TABLE star USING delta AS SELECT 'x' AS b, 10 AS a")
    with pytest.raises(RefreshSchemaError):
        api.refresh("t")


@pytest.mark.conformance
def test_a_second_query_leaves_the_first_its_meaning(api):
    api.sql("CREATE TABLE star USING delta AS SELECT 1 AS a, 2 AS b")
    create(api, "SELECT * FROM star", "(PRIMARY KEY (a) NOT ENFORCED) REFRESH_MODE = FULL")
    swapped(api)
    outcome(api, "ALTER MATERIALIZED TABLE t ADD SELECT a, 5 AS n FROM star")
    assert api.sql("SELECT * FROM t").columns == ["a", "b", "n"]
    assert rows(api, "SELECT * FROM t") == [(10, 20, 5)]
