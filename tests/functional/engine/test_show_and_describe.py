"""SHOW, DESC and EXPLAIN: their rows."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import NotMaterializedError, TableNotFoundError
from dbt.adapters.spark_mt.execution.results import Action
from tests.functional.engine.oracle import Clock, described, history, outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FULL = """CREATE OR ALTER MATERIALIZED TABLE t (
  id BIGINT NOT NULL COMMENT 'the "key"', `ds` STRING,
  CONSTRAINT k PRIMARY KEY (id) NOT ENFORCED, CHECK (id >= 0)
)
COMMENT 'it''s 😀'
PARTITIONED BY (ds)
WITH ('partition.fields.ds.date-formatter' = 'yyyy-MM-dd', 'my.password' = 'geheim', 'k' = '${x}')
FRESHNESS = INTERVAL '1' DAY
REFRESH_MODE = FULL
START_MODE = FROM_NOW(INTERVAL '7' DAY)
AS SELECT id, ds FROM src -- the end"""


@pytest.fixture
def clock() -> Clock:
    """A clock that the test moves."""
    return Clock()


@pytest.fixture
def tables(session: SparkSession, schema: str, clock: Clock) -> MaterializedTables:
    """Materialized tables with the source `src(id, ds)`."""
    session.sql(
        f"CREATE TABLE {schema}.src USING delta AS SELECT id, '2025-01-01' AS ds FROM range(3)"
    )
    return MaterializedTables(session, clock=clock)


@pytest.mark.conformance
def test_show_materialized_tables(tables, schema, clock):
    for name in "orders_a", "orders_b", "other":
        outcome(tables, f"CREATE MATERIALIZED TABLE {name} AS SELECT id FROM src")
    shown = tables.sql("SHOW MATERIALIZED TABLES")
    assert shown.columns == [
        "namespace",
        "table_name",
        "refresh_mode",
        "freshness",
        "status",
        "lag_seconds",
        "last_refresh_at",
    ]
    first = shown.collect()[0]
    assert tuple(first)[:6] == (
        schema,
        "orders_a",
        "CONTINUOUS",
        "INTERVAL '3' MINUTE",
        "ACTIVATED",
        0,
    )
    assert abs(first["last_refresh_at"].timestamp() - clock.now.timestamp()) < 1
    for tail, expected in (
        (f"IN {schema} LIKE 'orders%'", ["orders_a", "orders_b"]),
        (f"FROM spark_catalog.{schema} LIKE 'ORDERS__'", ["orders_a", "orders_b"]),
        ("LIKE '*a*'", ["orders_a"]),
        ("NOT LIKE 'orders%'", ["other"]),
        ("IN default LIKE 'orders%'", []),
    ):
        found = tables.sql(f"SHOW MATERIALIZED TABLES {tail}").collect()
        assert [row["table_name"] for row in found] == expected


def test_show_create_is_a_statement_that_changes_nothing(tables, schema):
    outcome(tables, FULL)
    for keyword in "CREATE", "CREATE OR ALTER":
        (row,) = tables.sql(f"SHOW {keyword} MATERIALIZED TABLE t").collect()
        text = row["createtab_stmt"]
        assert text.startswith(f"{keyword} MATERIALIZED TABLE `spark_catalog`.`{schema}`.`t`")
        assert ("geheim" in text, "'******'" in text) == (False, True)
        assert "/* Evaluated to FROM_TIMESTAMP(TIMESTAMP '" in text
        assert "STATE_RETENTION = NONE by default" in text
        assert text.endswith("SELECT id, ds FROM src -- the end")
    before = history(tables, "t")
    assert outcome(tables, text.replace("******", "geheim")).action is Action.UNCHANGED
    assert history(tables, "t") == before


def test_desc(tables, schema):
    outcome(tables, FULL)
    (first, second) = tables.sql("DESC MATERIALIZED TABLE t").collect()
    assert tuple(first) == ("id", "bigint", 'the "key"')
    assert tuple(second) == ("ds", "string", None)
    rows = described(tables, "t")
    assert rows["Original query"] == "SELECT id, ds FROM src -- the end"
    assert f"`spark_catalog`.`{schema}`.`src`" in rows["Expanded query"]
    assert (rows["Freshness"], rows["Refresh mode"]) == ("INTERVAL '1' DAY", "FULL")
    assert (rows["Option my.password"], rows["Option k"]) == ("******", "${x}")
    assert rows[f"Position of spark_catalog.{schema}.src"] == "version 0"
    assert rows["Start mode"].startswith("FROM_NOW(INTERVAL '7' DAY) Evaluated to FROM_TIMESTAMP")
    assert (rows["Status"], "# Materialized Table Information" in rows) == ("ACTIVATED", True)


def test_lag(tables, clock):
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT id FROM src")
    clock.advance(hours=1)
    assert described(tables, "t")["Lag"] == "0 seconds"
    tables.sql("INSERT INTO src VALUES (9, 'x')")
    changed = history(tables, "src")[0]["timestamp"].astimezone(timezone.utc)
    tables.sql("INSERT INTO src VALUES (10, 'x')")
    clock.now = datetime.fromtimestamp(int(changed.timestamp()) + 90.9, tz=timezone.utc)
    assert described(tables, "t")["Lag"] in {"89 seconds", "90 seconds"}
    tables.refresh("t")
    assert described(tables, "t")["Lag"] == "0 seconds"


@pytest.mark.conformance
def test_commits_of_other_writers_are_shown(tables):
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT id FROM src")
    tables.sql("DELETE FROM t WHERE id = 0")
    assert described(tables, "t")["Foreign commit"].startswith("DELETE in version ")


@pytest.mark.conformance
def test_explain_changes_nothing(tables):
    statement = "CREATE OR ALTER MATERIALIZED TABLE t COMMENT '{}' AS SELECT id{} FROM src"
    (create, *_) = tables.sql("EXPLAIN " + statement.format("a", "")).collect()
    assert list(create.asDict()) == ["step", "change", "effect", "keeps", "loses", "reason"]
    assert create["step"] == "create"
    assert not tables._spark.catalog.tableExists("t")
    outcome(tables, statement.format("a", ""))
    before = history(tables, "t")
    for text, more, steps in (
        ("a", "", ["none"]),
        ("b", "", ["commit definition", "publish", "register", "in total"]),
        ("b", ", ds", ["fill", "publish", "register", "in total"]),
    ):
        found = tables.sql("EXPLAIN " + statement.format(text, more)).collect()
        assert [row["step"] for row in found if row["step"] not in {"engine", "not used"}] == steps
        kept = {row["effect"] for row in found if row["step"] == "engine"}
        assert kept == ({"stream/append"} if len(steps) > 1 else set())
    assert history(tables, "t") == before


@pytest.mark.conformance
def test_what_cannot_be_shown(tables):
    for statement in "SHOW CREATE MATERIALIZED TABLE {}", "DESC MATERIALIZED TABLE {}":
        with pytest.raises(TableNotFoundError):
            tables.execute(statement.format("none"))
        with pytest.raises(NotMaterializedError):
            tables.execute(statement.format("src"))
