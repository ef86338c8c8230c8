"""CREATE in its forms: what becomes of every clause."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import NotMaterializedError
from dbt.adapters.spark_mt.execution.results import Action
from tests.functional.engine.oracle import (
    assert_equals_query,
    described,
    fenced_commits,
    history,
    outcome,
    own_commits,
    properties,
    rows,
    version,
)
from tests.support.errors import raises

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """Materialized tables in a schema with the source `src(id, name, ds)`."""
    session.sql(
        f"CREATE TABLE {schema}.src USING delta AS SELECT id, concat('n', id % 3) AS name, "
        "concat('2025-01-0', 1 + id % 2) AS ds FROM range(6)"
    )
    return MaterializedTables(session)


def test_the_first_commit_holds_rows_and_definition(tables, schema):
    created = outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT id, name FROM src")
    assert (created.action, created.table) == (Action.CREATED, f"spark_catalog.{schema}.t")
    assert (created.refresh.rows, created.refresh_mode) == (6, "CONTINUOUS")
    (first,) = fenced_commits(tables, "t")
    assert (first["version"], first["seq"], first["kind"]) == (0, 1, "content")
    assert first["definition"]
    assert list(first["positions"]) == [f"spark_catalog.{schema}.src"]
    assert tables.names(schema) == {"t"}
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_every_commit_says_that_it_is_ours(tables):
    outcome(tables, "CREATE MATERIALIZED TABLE t COMMENT 'c' CLUSTER BY (id) AS SELECT * FROM src")
    assert len(own_commits(tables, "t")) == len(history(tables, "t"))


@pytest.mark.conformance
def test_or_alter_creates_what_is_missing(tables):
    created = outcome(tables, "CREATE OR ALTER MATERIALIZED TABLE t AS SELECT id FROM src")
    assert created.action is Action.CREATED
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_if_not_exists(tables):
    statement = "CREATE MATERIALIZED TABLE IF NOT EXISTS t AS SELECT {} FROM src"
    assert outcome(tables, statement.format("id")).action is Action.CREATED
    before = version(tables, "t")
    assert outcome(tables, statement.format("name")).action is Action.UNCHANGED
    assert version(tables, "t") == before
    with raises(conditions.ALREADY_EXISTS):
        tables.execute("CREATE MATERIALIZED TABLE t AS SELECT id FROM src")
    with pytest.raises(NotMaterializedError):
        tables.execute("CREATE MATERIALIZED TABLE IF NOT EXISTS src AS SELECT 1 AS a")


@pytest.mark.conformance
def test_comments_options_and_column_list_with_bare_names(tables):
    outcome(
        tables,
        "CREATE MATERIALIZED TABLE t (a, b) COMMENT 'a table' WITH ('k' = 'v', "
        "'delta.enableChangeDataFeed' = 'true') AS SELECT id, name FROM src",
    )
    assert tables.sql("SELECT * FROM t").columns == ["a", "b"]
    assert (
        properties(tables, "t").items() >= {"k": "v", "delta.enableChangeDataFeed": "true"}.items()
    )
    assert tables.sql("DESCRIBE DETAIL t").collect()[0]["description"] == "a table"
    assert_equals_query(tables, "t")


def test_typed_column_list(tables):
    outcome(
        tables,
        "CREATE MATERIALIZED TABLE t (name STRING COMMENT 'it''s \"x\"', "
        "id DECIMAL(20,0) NOT NULL COMMENT 'key', ds STRING, CONSTRAINT k PRIMARY KEY (id) "
        "NOT ENFORCED, CHECK (id >= 0)) AS SELECT ds, id, name FROM src",
    )
    found = [(c["col_name"], c["data_type"], c["comment"]) for c in _columns(tables, "t")]
    assert found == [
        ("name", "string", 'it\'s "x"'),
        ("id", "decimal(20,0)", "key"),
        ("ds", "string", None),
    ]
    assert described(tables, "t")["Primary key"] == "(id) NOT ENFORCED"
    assert_equals_query(tables, "t", columns="name, CAST(id AS DECIMAL(20,0)), ds")


def test_partitioned_and_clustered(tables):
    outcome(tables, "CREATE MATERIALIZED TABLE p PARTITIONED BY (ds, name) AS SELECT * FROM src")
    outcome(tables, "CREATE MATERIALIZED TABLE c CLUSTER BY (name, id) AS SELECT * FROM src")
    (p,) = tables.sql("DESCRIBE DETAIL p").collect()
    (c,) = tables.sql("DESCRIBE DETAIL c").collect()
    assert p["partitionColumns"] == ["ds", "name"]
    assert c["clusteringColumns"] == ["name", "id"]
    assert_equals_query(tables, "p", columns="id, name, ds")
    assert_equals_query(tables, "c")


@pytest.mark.conformance
def test_names_of_partition_columns_in_another_case(tables):
    outcome(tables, "CREATE MATERIALIZED TABLE p PARTITIONED BY (DS) AS SELECT * FROM src")
    tables.execute("ALTER MATERIALIZED TABLE p REFRESH PARTITION (Ds = '2025-01-01')")
    assert_equals_query(tables, "p")


@pytest.mark.conformance
def test_300_columns(tables):
    listed = ", ".join(f"id + {n} AS column_number_{n}" for n in range(300))
    outcome(tables, f"CREATE MATERIALIZED TABLE t AS SELECT {listed} FROM src")
    assert len(tables.sql("SELECT * FROM t").columns) == 300
    assert (
        outcome(tables, f"CREATE OR ALTER MATERIALIZED TABLE t AS SELECT {listed} FROM src").action
        is Action.UNCHANGED
    )
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_query_of_60_kb(tables):
    letters = random.Random(0)  # noqa: S311 - text that does not compress, not a secret
    words = [
        "".join(letters.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=60)) for _ in range(950)
    ]
    query = "SELECT id FROM src WHERE name NOT IN (" + ", ".join(f"'{w}'" for w in words) + ")"
    assert len(query) > 60_000
    statement = f"CREATE OR ALTER MATERIALIZED TABLE t AS {query}"
    outcome(tables, statement)
    assert outcome(tables, statement).action is Action.UNCHANGED
    assert described(tables, "t")["Original query"] == query
    assert_equals_query(tables, "t")


def test_names_of_columns_that_need_column_mapping(tables):
    names = ["a b", "c`d", "größe", "日本", "😀", "x=y;{(z)},w", "tab\there"]
    listed = ", ".join(f"id AS `{name.replace('`', '``')}`" for name in names)
    statement = (
        f"CREATE OR ALTER MATERIALIZED TABLE t AS SELECT {listed}, count(*) FROM src GROUP BY id"
    )
    outcome(tables, statement)
    assert tables.sql("SELECT * FROM t").columns == [*names, "count(1)"]
    assert outcome(tables, statement).action is Action.UNCHANGED
    tables.refresh("t", force=True)
    assert_equals_query(tables, "t")


_TEXTS = (
    "it's",
    'say "x"',
    "two\nlines",
    "😀 \u65e5\u672c",
    "${spark.app.name} ${x}",
    "a\\b\\\\c\\n",
    "-- /* */ ;",
)


def test_any_text_in_comments_and_options(tables):
    literals = ["'" + t.replace("\\", "\\\\").replace("'", "''") + "'" for t in _TEXTS]
    listed = ", ".join(f"c{n} BIGINT COMMENT {text}" for n, text in enumerate(literals))
    options = ", ".join(f"'k{n}' = {text}" for n, text in enumerate(literals))
    query = ", ".join(f"id AS c{n}" for n in range(len(_TEXTS)))
    both = "'" + "".join(literal[1:-1] for literal in literals) + "'"
    statement = (
        f"CREATE OR ALTER MATERIALIZED TABLE t ({listed}) COMMENT {both} WITH ({options}) "
        f"AS SELECT {query} FROM src"
    )
    outcome(tables, statement)
    assert [c["comment"] for c in _columns(tables, "t")] == list(_TEXTS)
    assert tables.sql("DESCRIBE DETAIL t").collect()[0]["description"] == "".join(_TEXTS)
    found = properties(tables, "t")
    assert [found[f"k{n}"] for n in range(len(_TEXTS))] == list(_TEXTS)
    assert outcome(tables, statement).action is Action.UNCHANGED


@pytest.mark.conformance
def test_the_location_option(tables, tmp_path):
    outcome(
        tables,
        f"CREATE MATERIALIZED TABLE t WITH ('location' = '{tmp_path}/x y') AS SELECT id FROM src",
    )
    assert (tmp_path / "x y" / "_delta_log").is_dir()
    tables.refresh("t", force=True)
    assert_equals_query(tables, "t")
    tables.execute("DROP MATERIALIZED TABLE t")
    assert tables.names(tables._spark.catalog.currentDatabase()) == frozenset()


@pytest.mark.conformance
def test_a_location_is_taken_over_only_where_the_table_itself_lived(tables, tmp_path):
    statement = (
        f"CREATE MATERIALIZED TABLE {{}} WITH ('location' = '{tmp_path}/x') AS SELECT id FROM src"
    )
    tables.sql(f"CREATE TABLE other USING delta LOCATION '{tmp_path}/x' AS SELECT 'kept' AS a")
    with raises(conditions.LOCATION_TAKEN):
        tables.execute(statement.format("t"))
    assert rows(tables, "SELECT * FROM other") == [("kept",)]
    moved = statement.replace("/x'", "/y'")
    outcome(tables, moved.format("t"))
    tables.refresh("t", force=True)
    tables.execute("DROP MATERIALIZED TABLE t")
    with raises(conditions.LOCATION_TAKEN):
        tables.execute(moved.format("u"))
    outcome(tables, moved.format("t"))
    tables.sql("DELETE FROM src WHERE id = 0")
    assert tables.refresh("t").rows == 5
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_names_of_one_to_three_parts_from_another_schema(tables, session, schema):
    session.sql("USE default")
    for number, name in enumerate([f"spark_catalog.{schema}.a", f"{schema}.b", f"`{schema}`.`c1`"]):
        query = f"SELECT {number} AS n, * FROM {schema}.src"
        created = outcome(tables, f"CREATE MATERIALIZED TABLE {name} AS {query}")
        assert created.table == f"spark_catalog.{schema}.{('a', 'b', 'c1')[number]}"
    assert tables.names(schema) == {"a", "b", "c1"}
    session.sql(f"USE {schema}")
    for name in "a", "b", "c1":
        assert_equals_query(tables, name)


@pytest.mark.conformance
@pytest.mark.parametrize("name", ["2nd", "select", "Mixed_Case"])
def test_names_of_tables_that_need_backticks(tables, name):
    outcome(tables, f"CREATE MATERIALIZED TABLE `{name}` AS SELECT id FROM src")
    assert_equals_query(tables, f"`{name}`")
    tables.execute(f"DROP MATERIALIZED TABLE `{name}`")


@pytest.mark.conformance
@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM src ORDER BY id DESC LIMIT 3",
        "WITH a AS (SELECT id FROM src), b AS (SELECT * FROM a) SELECT * FROM b",
        "SELECT id FROM src -- the end",
        "/* first */ SELECT id /* inside */ FROM src /* last */",
        "WITH src AS (SELECT id, name FROM src WHERE id > 2) SELECT * FROM src",
        "SELECT * FROM src UNION ALL SELECT * FROM src",
        "SELECT 1 AS a, 'x -- y' AS b",
        "VALUES (1, 'a'), (2, NULL)",
        "SELECT s.id, t.name FROM src s JOIN src t ON s.id = t.id AND t.id IN (SELECT id FROM src)",
        "SELECT id, '${spark.none}' AS dollar FROM src",
        "FROM src |> WHERE id > 1 |> SELECT id",
    ],
)
def test_forms_of_queries(tables, query):
    outcome(tables, f"CREATE MATERIALIZED TABLE t AS {query}")
    assert_equals_query(tables, "t")
    again = outcome(tables, f"CREATE OR ALTER MATERIALIZED TABLE t AS {query}")
    assert again.action is Action.UNCHANGED


@pytest.mark.conformance
def test_views_and_nested_views(tables, schema):
    tables.sql("CREATE VIEW inner_view AS SELECT id, name FROM src WHERE id > 1")
    tables.sql(
        "CREATE VIEW outer_view AS SELECT name, sum(id) AS total FROM inner_view GROUP BY name"
    )
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT * FROM outer_view JOIN src USING (name)")
    positions = fenced_commits(tables, "t")[0]["positions"]
    names = {"inner_view", "outer_view", "src"}
    assert positions.keys() == {f"spark_catalog.{schema}.{name}" for name in names}
    tables.sql("INSERT INTO src VALUES (100, 'n1', '2025-01-01')")
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_persistent_functions(tables, schema):
    tables.sql("CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT RETURN x * 2")
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT twice(id) AS d FROM src")
    assert f"spark_catalog.{schema}.twice" in fenced_commits(tables, "t")[0]["positions"]
    assert rows(tables, "SELECT sum(d) FROM t") == [(30,)]


@pytest.mark.conformance
def test_a_query_without_sources(tables):
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT 1 AS a")
    assert tables.refresh("t").status.value == "UP_TO_DATE"
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_the_directory_is_that_of_the_warehouse(tables, warehouse, schema):
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT id FROM src")
    assert (Path(warehouse) / f"{schema}.db" / "t" / "_delta_log").is_dir()


def _columns(tables: MaterializedTables, name: str) -> list:
    return tables.sql(f"DESCRIBE TABLE {name}").collect()
