"""REFRESH PARTITION, and the partitions of scheduled runs."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from tests.functional.engine.oracle import (
    assert_equals_query,
    fenced_commits,
    history,
    outcome,
    rows,
    version,
)
from tests.support.errors import raises

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """Materialized tables in UTC."""
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.catalog.setCurrentDatabase(schema)
    return MaterializedTables(session)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


TYPES = {
    "i": "INT",
    "d": "DATE",
    "s": "STRING",
    "b": "BOOLEAN",
    "n": "DECIMAL(10,2)",
    "ts": "TIMESTAMP",
}


@pytest.mark.conformance
def test_literals_of_several_types(tables):
    columns = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items())
    tables.sql(f"CREATE TABLE src (v INT, {columns}) USING delta")
    values = "1, DATE'2025-01-01', 'it''s', true, 1.50, TIMESTAMP'2025-01-01 10:00:00'"
    tables.sql(f"INSERT INTO src VALUES (1, {values}), (2, NULL, NULL, NULL, NULL, NULL, NULL)")
    outcome(
        tables,
        f"CREATE MATERIALIZED TABLE t PARTITIONED BY ({', '.join(TYPES)}) REFRESH_MODE = FULL "
        "AS SELECT * FROM src",
    )
    tables.sql("UPDATE src SET v = v + 10")
    given = zip(TYPES, values.split(", "), strict=True)
    specification = ", ".join(f"{name} = {value}" for name, value in given)
    refresh = f"ALTER MATERIALIZED TABLE t REFRESH PARTITION ({specification})"
    (row,) = tables.sql(refresh).collect()
    assert (row["rows"], row["strategy"], len(row["partitions"])) == (1, "partition", 1)
    assert rows(tables, "SELECT v FROM t") == [(11,), (2,)]
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH PARTITION (i = NULL, S = NULL)")
    assert rows(tables, "SELECT v FROM t") == [(11,), (12,)]
    assert_equals_query(tables, "t", kind="partition_positions")


IMPOSSIBLE = (
    ("g = 1, nope = 2, v = 3", conditions.UNKNOWN_PARTITION_KEY),
    ("g = 'abc'", conditions.INVALID_PARTITION_VALUE),
    ("g = 5000000000", conditions.INVALID_PARTITION_VALUE),
    ("g = DATE'2025-01-01'", conditions.INVALID_PARTITION_VALUE),
)


@pytest.mark.conformance
def test_specifications_that_cannot_be(tables):
    tables.sql("CREATE TABLE src USING delta AS SELECT id AS v, CAST(id AS INT) AS g FROM range(3)")
    outcome(tables, "CREATE MATERIALIZED TABLE t PARTITIONED BY (g) AS SELECT v, g FROM src")
    before = history(tables, "t")
    for specification, error in IMPOSSIBLE:
        with raises(error) as caught:
            tables.execute(f"ALTER MATERIALIZED TABLE t REFRESH PARTITION ({specification})")
        if error is conditions.UNKNOWN_PARTITION_KEY:
            named = caught.value.parameters
            assert (named["keys"], named["available"]) == ("nope, v", "g")
    assert history(tables, "t") == before


@pytest.mark.conformance
def test_a_partial_refresh_keeps_the_positions_of_the_table(tables):
    tables.sql("CREATE TABLE src USING delta AS SELECT id AS v, id % 2 AS g FROM range(4)")
    outcome(
        tables,
        "CREATE MATERIALIZED TABLE t PARTITIONED BY (g) REFRESH_MODE = FULL "
        "AS SELECT v, g FROM src",
    )
    tables.sql("INSERT INTO src VALUES (10, 0), (11, 1)")
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH PARTITION (g = 0)")
    newest, first = fenced_commits(tables, "t")
    assert newest["positions"] == first["positions"] != newest["partition_positions"]
    assert_equals_query(tables, "t", where="g = 0", kind="partition_positions")
    assert_equals_query(tables, "t", where="g = 1")
    tables.sql("DELETE FROM src WHERE g = 1")
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH PARTITION (g = 1)")
    assert rows(tables, "SELECT DISTINCT g FROM t") == [(0,)]
    assert tables.refresh("t").status.value == "REFRESHED"
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_partition_of_a_continuous_table_is_computed_at_the_positions_of_the_data(tables):
    tables.sql("CREATE TABLE src USING delta AS SELECT id AS v, id % 2 AS g FROM range(4)")
    outcome(tables, "CREATE MATERIALIZED TABLE t PARTITIONED BY (g) AS SELECT v, g FROM src")
    tables.sql("INSERT INTO src VALUES (10, 0)")
    tables.sql("DELETE FROM t WHERE g = 0")
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH PARTITION (g = 0)")
    assert_equals_query(tables, "t")
    assert rows(tables, "SELECT v FROM t WHERE g = 0") == [(0,), (2,)]


DAILY = (
    "CREATE OR ALTER MATERIALIZED TABLE t PARTITIONED BY (day) "
    "WITH ('partition.fields.day.date-formatter' = 'yyyy-MM-dd') FRESHNESS = {} "
    "REFRESH_MODE = FULL AS SELECT v, day FROM src"
)


def daily(tables: MaterializedTables, freshness: str) -> None:
    """A table over one row for each of the first four days of March."""
    tables.sql(
        "CREATE TABLE src USING delta AS SELECT id AS v, concat('2025-03-0', id) AS day "
        "FROM range(1, 5)"
    )
    outcome(tables, DAILY.format(freshness))


PERIODS = (
    ("INTERVAL '1' DAY", "2025-03-02T00:00:00", [1]),
    ("INTERVAL '1' HOUR", "2025-03-02T01:00:00", [2]),
    ("INTERVAL '1' HOUR", "2025-03-02T00:00:00", [1]),
    ("INTERVAL '2' DAY", "2025-03-03T00:00:00", [1, 2]),
)


@pytest.mark.conformance
def test_a_scheduled_run_writes_the_periods_before_it(tables):
    daily(tables, "INTERVAL '1' DAY")
    for freshness, scheduled, days in PERIODS:
        outcome(tables, DAILY.format(freshness))
        tables.sql("UPDATE src SET v = v + 10")
        before = dict(rows(tables, "SELECT day, v FROM t"))
        done = tables.refresh("t", scheduled_at=at(scheduled))
        assert (done.rows, len(done.partitions)) == (len(days), len(days))
        after = dict(rows(tables, "SELECT day, v FROM t"))
        changed = [day for day in sorted(after) if after[day] != before[day]]
        assert changed == [f"2025-03-0{day}" for day in days]
        newest, previous = fenced_commits(tables, "t")[:2]
        assert (newest["kind"], newest["positions"]) == ("partition", previous["positions"])


@pytest.mark.conformance
def test_a_scheduled_run_without_rows_empties_the_period_and_names_its_partitions(tables):
    daily(tables, "INTERVAL '1' DAY")
    tables.sql("UPDATE src SET day = '03/01/2025' WHERE day = '2025-03-01'")
    done = tables.refresh("t", scheduled_at=at("2025-03-02T00:00:00"))
    assert done.rows == 0
    assert rows(tables, "SELECT v FROM t") == [(2,), (3,), (4,)]
    assert any("2025-03-01" in warning for warning in done.warnings)


@pytest.mark.conformance
def test_a_scheduled_run_without_formatters_refreshes_the_whole_table(tables):
    tables.sql("CREATE TABLE src USING delta AS SELECT 1 AS a")
    outcome(tables, "CREATE MATERIALIZED TABLE t REFRESH_MODE = FULL AS SELECT a FROM src")
    assert tables.refresh("t", scheduled_at=at("2025-03-02T00:00:00")).status.value == "UP_TO_DATE"
    tables.sql("INSERT INTO src VALUES (2)")
    assert tables.refresh("t", scheduled_at=at("2025-03-02T00:00:00")).rows == 2


def test_the_filter_reaches_the_sources(tables):
    """A partition whose value makes the query fail is not read by the refresh of another one."""
    tables.sql(
        "CREATE TABLE src USING delta PARTITIONED BY (g) AS SELECT 1 AS v, id AS g FROM range(2)"
    )
    query = "SELECT assert_true(v > 0) IS NULL AS ok, v, g FROM src"
    outcome(
        tables, f"CREATE MATERIALIZED TABLE t PARTITIONED BY (g) REFRESH_MODE = FULL AS {query}"
    )
    tables.sql("UPDATE src SET v = -1 WHERE g = 0")
    tables.sql("UPDATE src SET v = 5 WHERE g = 1")
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH PARTITION (g = 1)")
    before = version(tables, "t")
    with pytest.raises(Exception, match="REFRESH_FAILED"):
        tables.refresh("t")
    assert (version(tables, "t"), rows(tables, "SELECT v FROM t")) == (before, [(1,), (5,)])
