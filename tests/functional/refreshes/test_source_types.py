"""Sources whose columns change their types: all rows are computed, by no change of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import RefreshNotIncrementalError, RefreshSchemaError
from dbt.adapters.spark_mt.execution.results import RefreshResult
from dbt.adapters.spark_mt.strategies import differential
from tests.functional.engine.oracle import described, outcome, rows
from tests.incremental.spark.shapes import ShapeCase
from tests.support.errors import raises

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CODE = "SOURCE_TYPES_CHANGED"
WIDENING = (
    "TBLPROPERTIES ('delta.enableTypeWidening' = 'true', "
    "'delta.feature.timestampNtz' = 'supported')"
)
STRICT = "'incremental' = 'strict'"
MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"


@pytest.fixture
def tables(
    session: SparkSession,
    schema: str,  # noqa: ARG001 - the current schema
    monkeypatch: pytest.MonkeyPatch,
) -> MaterializedTables:
    """A session in which small sources are read by their changes."""
    monkeypatch.setattr(differential, "SMALLEST_SOURCES", 0)
    monkeypatch.setattr(differential, "slower", lambda *_: None)
    monkeypatch.setattr(differential, "SHORTEST_RECOMPUTE_S", 0)
    return MaterializedTables(session)


def create(tables, name, query, options="'incremental' = 'auto'", more=""):
    return outcome(
        tables,
        f"CREATE MATERIALIZED TABLE {name} WITH ({options}) FRESHNESS = INTERVAL '1' MINUTE "
        f"REFRESH_MODE = CONTINUOUS {more} AS {query}",
    )


def reasons(tables):
    """Why the newest refresh was done as it was."""
    return str(tables.sql("SHOW JOBS").collect()[0]["reason"])


def check(tables, queries):
    """Refresh each table; its rows are those of its query. Return the strategies."""
    found = {}
    for name, query in queries.items():
        done = tables.refresh(name)
        assert rows(tables, f"SELECT * FROM {name}") == rows(tables, query), name
        assert tables.refresh(name).status is RefreshResult.UP_TO_DATE, name
        found[name] = done.strategy
    return found


READING = {
    "added": "SELECT id, concat('#', qty) AS label FROM orders",
    "joined": "SELECT o.id, concat('#', o.qty, g.name) AS label FROM orders o "
    "JOIN g ON o.id = g.id",
    "grouped": "SELECT concat('#', qty) AS label, count(*) AS n FROM orders GROUP BY qty",
    "both": "SELECT id, concat('#', qty) AS label FROM orders UNION ALL SELECT id, name FROM g",
}
NOT_READING = {
    "ids": "SELECT id FROM orders",
    "inner": "SELECT id FROM (SELECT * FROM orders WHERE id > 0)",
    "numbers": "SELECT count(*) AS n FROM orders",
    "parts": "SELECT DISTINCT id % 2 AS part FROM orders",
}


@pytest.mark.conformance
def test_a_source_that_is_replaced_with_another_type_of_equal_values(tables):
    tables.sql("CREATE TABLE orders USING delta AS SELECT id, 7 AS qty FROM range(100)")
    tables.sql("CREATE TABLE g USING delta AS SELECT id, concat('n', id) AS name FROM range(100)")
    for name, query in READING.items():
        create(tables, name, query)
    for name, query in NOT_READING.items():
        create(tables, name, query, STRICT)
    tables.sql(
        "CREATE OR REPLACE TABLE orders USING delta AS SELECT id, CAST(qty AS DECIMAL(10,2)) "
        "AS qty FROM orders UNION ALL SELECT 300, 9.00"
    )
    assert check(tables, READING) == dict.fromkeys(READING, "recompute")
    assert CODE in reasons(tables)
    check(tables, NOT_READING)  # which would be refused if it computed all rows


WIDENED = {
    ("FLOAT", "DOUBLE", "CAST(id AS FLOAT) / 10"): "concat('#', {})",
    ("INT", "BIGINT", "CAST(id AS INT)"): "xxhash64({})",
    ("DATE", "TIMESTAMP_NTZ", "DATE'2024-01-01'"): "CAST({} AS STRING)",
}


@pytest.mark.conformance
@pytest.mark.parametrize(("narrow", "wide", "made"), WIDENED)
def test_a_type_that_is_widened_without_a_changed_file(tables, narrow, wide, made):
    values = f"SELECT id, CAST({made} AS {narrow}) AS c FROM range(50)"
    tables.sql(f"CREATE TABLE w USING delta {WIDENING} AS {values}")
    tables.sql("CREATE TABLE g USING delta AS SELECT id FROM range(20)")
    shown = WIDENED[narrow, wide, made].format("c")
    queries = {
        "added": f"SELECT id, {shown} AS v FROM w",
        "joined": f"SELECT w.id, {shown} AS v FROM w JOIN g ON w.id = g.id",
    }
    untouched = {"ids": "SELECT id FROM w"}
    for name, query in (queries | untouched).items():
        create(tables, name, query)
    tables.sql(f"ALTER TABLE w ALTER COLUMN c TYPE {wide}")
    assert check(tables, queries) == dict.fromkeys(queries, "recompute")
    assert tables.refresh("ids").status is RefreshResult.UP_TO_DATE


@pytest.mark.conformance
def test_types_that_cannot_be_united(tables):
    tables.sql("CREATE TABLE s4 (id INT, other INT) USING delta")
    tables.sql("INSERT INTO s4 VALUES (1, 1), (2, 2)")
    queries = {
        "grouped": "SELECT id, count(*) AS n FROM s4 GROUP BY id",
        "joined": "SELECT a.id FROM s4 a JOIN s4 b ON a.id = b.id",
        "deduplicated": "SELECT DISTINCT id FROM s4",
    }
    others = {
        "added": "SELECT id FROM s4",
        "reading": "SELECT id, CAST(other AS STRING) AS o FROM s4",
    }
    for name, query in (queries | others).items():
        create(tables, name, query, STRICT if name in queries else "'x.y' = '1'")
    tables.sql("INSERT INTO s4 VALUES (3, 3)")
    tables.sql("CREATE OR REPLACE TABLE s4 USING delta AS SELECT 3 AS id, array(1) AS other")
    check(tables, queries)
    assert check(tables, others) == dict.fromkeys(others, "recompute")


NESTED = {
    "added": "SELECT id, concat(st.a, '/', st.b) AS j FROM n",
    "grouped": "SELECT st.a, st.b, count(*) AS c FROM n GROUP BY st.a, st.b",
}
STRUCTS = "AS SELECT id, named_struct('{}', 1, '{}', 2) AS st FROM range(30)"
MOVED = (
    f"CREATE TABLE n USING delta {STRUCTS.format('a', 'b')}",
    f"CREATE OR REPLACE TABLE n USING delta {STRUCTS.format('b', 'a')}",
)
AGAIN = (
    f"CREATE TABLE n USING delta {MAPPED} {STRUCTS.format('a', 'b')}",
    "ALTER TABLE n DROP COLUMN st.a",
    "ALTER TABLE n ADD COLUMN st.a INT FIRST",
    "INSERT INTO n SELECT 77, named_struct('a', 5, 'b', 2)",
)


@pytest.mark.conformance
@pytest.mark.parametrize("statements", [MOVED, AGAIN])
def test_fields_of_a_struct_that_move_or_come_again(tables, statements):
    first, *changes = statements
    tables.sql(first)
    for name, query in NESTED.items():
        create(tables, name, query)
    for change in changes:
        tables.sql(change)
    assert check(tables, NESTED) == dict.fromkeys(NESTED, "recompute")


@pytest.mark.conformance
def test_strict_refuses_a_source_of_other_types_and_names_them(tables):
    tables.sql(f"CREATE TABLE w (id INT, qty INT) USING delta {WIDENING}")
    tables.sql("INSERT INTO w VALUES (1, 7)")
    create(tables, "t", "SELECT id, concat('#', qty) AS v FROM w", STRICT)
    tables.sql("ALTER TABLE w ALTER COLUMN qty TYPE BIGINT")
    with pytest.raises(RefreshNotIncrementalError) as raised:
        tables.refresh("t")
    assert CODE in str(raised.value)
    assert "qty was INT and is BIGINT" in str(raised.value)
    done = tables.refresh("t", force=True)
    assert done.strategy == "recompute"
    tables.sql("INSERT INTO w VALUES (2, 8)")
    assert tables.refresh("t").strategy == "append"


@pytest.mark.conformance
@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, concat('#', qty) AS v FROM w",
        "SELECT concat('#', qty) AS v, count(*) AS n FROM w GROUP BY qty",
    ],
)
def test_a_table_with_a_baseline_is_suspended(tables, query):
    tables.sql(f"CREATE TABLE w (id INT, qty INT) USING delta {WIDENING}")
    tables.sql("INSERT INTO w VALUES (1, 7)")
    create(tables, "t", query, "'x.y' = '1'", "START_MODE = FROM_NOW")
    tables.sql("INSERT INTO w VALUES (2, 8)")
    tables.refresh("t")
    before = rows(tables, "SELECT * FROM t")
    tables.sql("ALTER TABLE w ALTER COLUMN qty TYPE BIGINT")
    tables.sql("INSERT INTO w VALUES (3, 9)")
    with raises(conditions.SOURCE_TYPES_CHANGED) as raised:
        tables.refresh("t")
    assert "qty was INT and is BIGINT" in str(raised.value)
    assert rows(tables, "SELECT * FROM t") == before
    assert "qty was INT and is BIGINT" in described(tables, "t")["Status"]


@pytest.mark.conformance
def test_views_and_functions_on_the_way(tables, schema):
    tables.sql("CREATE TABLE o USING delta AS SELECT id, 7 AS qty FROM range(60)")
    tables.sql("CREATE VIEW v AS SELECT id, qty FROM o")
    tables.sql("CREATE FUNCTION shown(x STRING) RETURNS STRING RETURN concat('#', x)")
    queries = {
        "through_view": "SELECT id, concat('#', qty) AS label FROM v",
        "by_function": f"SELECT id, {schema}.shown(CAST(id AS STRING)) AS label FROM o",
    }
    for name, query in queries.items():
        create(tables, name, query)
    tables.sql("CREATE OR REPLACE VIEW v AS SELECT id, CAST(qty AS DECIMAL(10,2)) AS qty FROM o")
    tables.sql("CREATE OR REPLACE FUNCTION shown(x STRING) RETURNS STRING RETURN concat('$', x)")
    assert check(tables, queries) == dict.fromkeys(queries, "recompute")
    tables.sql(
        "CREATE OR REPLACE TABLE o USING delta AS SELECT id, CAST(7 AS DOUBLE) AS qty "
        "FROM range(61)"
    )
    assert check(tables, {"through_view": queries["through_view"]})["through_view"] == "recompute"


def test_a_view_that_is_made_again_with_the_same_text_over_other_types(tables):
    """Spark casts to the types that the columns had when the view was made."""
    tables.sql(f"CREATE TABLE w (id INT, f FLOAT) USING delta {WIDENING}")
    tables.sql("INSERT INTO w VALUES (1, 0.1)")
    tables.sql("CREATE VIEW v AS SELECT id, f FROM w")
    queries = {
        "added": "SELECT id, concat('#', f) AS label FROM v",
        "grouped": "SELECT concat('#', f) AS label, count(*) AS n FROM v GROUP BY f",
    }
    for name, query in queries.items():
        create(tables, name, query)
    tables.sql("ALTER TABLE w ALTER COLUMN f TYPE DOUBLE")
    assert check(tables, queries) == dict.fromkeys(queries, "recompute")
    before = rows(tables, queries["added"])
    tables.sql("CREATE OR REPLACE VIEW v AS SELECT id, f FROM w")
    assert rows(tables, queries["added"]) != before
    assert check(tables, queries) == dict.fromkeys(queries, "recompute")


@pytest.mark.conformance
def test_a_conf_that_changes_what_a_query_means_is_part_of_its_definition(tables, session):
    """A conf of the session has no effect on refreshes until a statement takes it over."""
    tables.sql(
        "CREATE TABLE o USING delta AS SELECT id, TIMESTAMP'2024-01-01 00:30:00' AS at "
        "FROM range(9)"
    )
    statement = (
        "CREATE OR ALTER MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = "
        "CONTINUOUS AS SELECT id, CAST(at AS STRING) AS v FROM o"
    )
    outcome(tables, statement)
    before = rows(tables, "SELECT DISTINCT v FROM t")
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        tables.sql("INSERT INTO o SELECT 100, at FROM o LIMIT 1")
        tables.refresh("t")
        assert rows(tables, "SELECT DISTINCT v FROM t") == before
        outcome(tables, statement)
        now = rows(tables, "SELECT DISTINCT v FROM t")
        assert len(now) == 1
        assert now != before
    finally:
        session.conf.unset("spark.sql.session.timeZone")


@pytest.mark.conformance
def test_commits_that_change_only_metadata_make_no_table_compute_its_rows(tables):
    tables.sql("CREATE TABLE o USING delta AS SELECT id, id % 3 AS k FROM range(30)")
    create(tables, "up", "SELECT id, k FROM o")
    queries = {
        "added": "SELECT id FROM up",
        "grouped": "SELECT k, count(*) AS n FROM up GROUP BY k",
        "first": "SELECT max(id) AS m FROM up",
    }
    for name, query in queries.items():
        create(tables, name, query, "'incremental' = 'off'" if name == "first" else "'x.y' = '1'")
    before = {name: len(rows(tables, f"DESCRIBE HISTORY {name}")) for name in queries}
    outcome(tables, "ALTER MATERIALIZED TABLE up SET FRESHNESS = INTERVAL '2' MINUTE")
    tables.sql("COMMENT ON TABLE o IS 'orders'")
    tables.sql("ALTER TABLE o SET TBLPROPERTIES ('k' = 'v')")
    assert tables.refresh("up").status is RefreshResult.UP_TO_DATE
    for name in queries:
        assert tables.refresh(name).status is RefreshResult.UP_TO_DATE, name
    after = {name: len(rows(tables, f"DESCRIBE HISTORY {name}")) for name in queries}
    assert after == before
    tables.sql("INSERT INTO o VALUES (100, 100)")
    tables.refresh("up")
    assert "skip" not in check(tables, queries).values()


@pytest.mark.conformance
def test_a_sample_of_random_changes_of_a_shape(tables):
    """`make incremental` has the others."""
    case = ShapeCase(tables, 3, queries=3)
    for _ in range(3):
        case.step()


@pytest.mark.conformance
def test_a_result_that_became_wider_names_how_the_table_keeps_its_history(tables):
    tables.sql(f"CREATE TABLE w (id INT, qty INT) USING delta {WIDENING}")
    tables.sql("INSERT INTO w VALUES (1, 7)")
    query = "SELECT id, qty FROM w"
    create(tables, "t", query, "'x.y' = '1'")
    tables.sql("ALTER TABLE w ALTER COLUMN qty TYPE BIGINT")
    with pytest.raises(RefreshSchemaError) as raised:
        tables.refresh("t")
    assert "'schema.type-widening' = 'true'" in str(raised.value)
    before = len(rows(tables, "DESCRIBE HISTORY t"))
    outcome(
        tables,
        "CREATE OR ALTER MATERIALIZED TABLE t WITH ('x.y' = '1', 'schema.type-widening' = 'true') "
        f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {query}",
    )
    assert rows(tables, "SELECT id, qty, typeof(qty) FROM t") == [(1, 7, "bigint")]
    assert len(rows(tables, "DESCRIBE HISTORY t")) > before


@pytest.mark.conformance
def test_files_that_were_vacuumed_are_named_as_lost_history(tables, session):
    tables.sql("CREATE TABLE o USING delta AS SELECT id, id % 3 AS k FROM range(30)")
    create(tables, "t", "SELECT k, count(*) AS n FROM o GROUP BY k", STRICT)
    tables.sql("INSERT INTO o VALUES (100, 1)")
    tables.refresh("t")
    tables.sql("UPDATE o SET k = 2 WHERE id = 100")
    tables.sql("OPTIMIZE o")
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    tables.sql("VACUUM o RETAIN 0 HOURS")
    with pytest.raises(RefreshNotIncrementalError) as raised:
        tables.refresh("t")
    assert "SOURCE_HISTORY_GONE" in str(raised.value)
    assert "FILE_NOT_FOUND" not in str(raised.value)
    assert tables.refresh("t", force=True).strategy == "recompute"


def test_a_query_that_cannot_be_pinned_says_what_to_rewrite(tables):
    tables.sql("CREATE TABLE o USING delta AS SELECT id FROM range(30)")
    with raises(conditions.NOT_INCREMENTAL) as raised:
        create(tables, "t", "SELECT id FROM IDENTIFIER('o')", STRICT)
    assert "NOT_PINNABLE" in str(raised.value)
    assert "name each table after FROM or JOIN itself" in str(raised.value)
