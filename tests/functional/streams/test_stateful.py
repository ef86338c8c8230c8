"""Streams that keep a checkpoint: windows, files, changed queries, on Spark and Delta."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.support.errors import raises

WINDOWS = (
    "SELECT window(ts, '1 minute').start AS minute, count(*) AS n, max(id) AS newest FROM events "
    "GROUP BY window(ts, '1 minute')"
)
CLAUSES = "WITH ('watermark' = 'ts DELAY OF INTERVAL 1 HOUR') FRESHNESS = INTERVAL '2' SECOND"


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE events (id BIGINT, ts TIMESTAMP) USING delta")
    add(session, 1, 2)
    return MaterializedTables(session)


def add(session, *ids):
    """Add rows, one a minute."""
    rows = ", ".join(f"({i}, timestamp_seconds({1_700_000_000 + 60 * (i % 4)}))" for i in ids)
    session.sql(f"INSERT INTO events VALUES {rows}")


def same(session, table, query):
    """Assert that a table has the rows of a query."""
    assert sorted(map(tuple, session.table(table).collect())) == sorted(
        map(tuple, session.sql(query).collect())
    )


def define(tables, query, clauses=CLAUSES):
    """Bring `t` in line with a query."""
    statement = f"CREATE OR ALTER MATERIALIZED TABLE t {clauses} AS {query}"
    return tables.execute(statement).outcome


def rows_of(metrics):
    """How many rows a commit wrote."""
    names = ("numOutputRows", "numTargetRowsInserted", "numTargetRowsUpdated")
    return sum(int(metrics.get(name, 0)) for name in names)


def checkpoints(warehouse: str) -> list[Path]:
    """The checkpoints that are there."""
    return sorted(Path(warehouse).glob(".materialized-table-checkpoints/*/*"))


def test_groups_are_kept_by_state(tables, session, warehouse):
    """Rows come, change under the stream, and the query changes: rows and state stay together."""
    before = checkpoints(warehouse)
    define(tables, WINDOWS)
    same(session, "t", WINDOWS)
    add(session, 3, 4, 5)
    outcome = tables.refresh("t")
    assert (outcome.strategy, outcome.status) == ("stateful", RefreshResult.REFRESHED)
    described = tables.execute("DESC EXTENDED MATERIALIZED TABLE t").rows
    assert next(row[1] for row in described if row[0] == "Stream").startswith("batch ")
    same(session, "t", WINDOWS)
    history = session.sql("DESCRIBE HISTORY t").collect()
    written = Counter(
        (row["operation"], rows_of(row["operationMetrics"]) > 0) for row in history[:2]
    )
    assert written == {("MERGE", True): 1, ("WRITE", False): 1}, "a watermark moves on by no MERGE"
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE
    session.sql("UPDATE events SET id = 100 WHERE id = 1")  # no stream can follow that
    assert tables.refresh("t").strategy == "recompute"
    add(session, 6)
    assert tables.refresh("t").strategy == "stateful"
    same(session, "t", WINDOWS)
    wider = WINDOWS.replace("max(id) AS newest", "max(id) AS newest, min(id) AS oldest")
    with raises(conditions.STATE_NOT_RETAINED, match="min"):
        define(tables, wider, f"{CLAUSES} STATE_RETENTION = ALL")
    assert len(set(checkpoints(warehouse)) - set(before)) == 1
    tables.execute("DROP MATERIALIZED TABLE t")
    assert checkpoints(warehouse) == before


@pytest.mark.conformance
def test_a_changed_query_continues_with_the_state(tables, session):
    define(tables, WINDOWS)
    add(session, 3, 5)
    doubled = WINDOWS.replace("max(id) AS newest", "max(id) AS newest, count(*) * 2 AS twice")
    define(tables, doubled, f"{CLAUSES} STATE_RETENTION = ALL")
    tables.refresh("t")
    add(session, 7)
    assert tables.refresh("t").rows == 1
    whole = {row["minute"]: tuple(row) for row in session.sql(doubled).collect()}
    rows = {row["minute"]: tuple(row) for row in session.table("t").collect()}
    assert rows.keys() == whole.keys()
    touched = [minute for minute, row in rows.items() if row[-1] is not None]
    assert touched
    assert all(rows[minute] == whole[minute] for minute in touched)


def test_files_are_read_once(tables, session, tmp_path):
    landing = tmp_path / "landing"
    landing.mkdir()

    def land(name, *keys):
        lines = "\n".join(json.dumps({"k": key}) for key in keys)
        (landing / f"{name}.json").write_text(lines)

    session.sql(f"CREATE TABLE files (k BIGINT) USING json LOCATION '{landing}'")
    land("a", 1, 2)
    define(tables, "SELECT k FROM files", "FRESHNESS = INTERVAL '2' SECOND")
    land("b", 3)
    done = tables.refresh("t")
    assert (done.strategy, done.rows) == ("append", 1)
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE
    land("c", 4, 5)
    tables.refresh("t")
    tables.execute("CREATE MATERIALIZED TABLE u FRESHNESS = INTERVAL '2' SECOND AS SELECT k FROM t")
    same(session, "u", "SELECT k FROM VALUES 1, 2, 3, 4, 5 AS _(k)")
    session.catalog.refreshTable("files")
    same(session, "t", "SELECT k FROM files")


@pytest.mark.conformance
def test_a_missing_checkpoint_is_built_again(tables, session, warehouse):
    before = checkpoints(warehouse)
    define(tables, WINDOWS)
    for path in set(checkpoints(warehouse)) - set(before):
        path.rename(path.with_name("elsewhere"))
    add(session, 3)
    assert tables.refresh("t").strategy == "recompute"
    same(session, "t", WINDOWS)
    add(session, 4)
    assert tables.refresh("t").strategy == "stateful"
    same(session, "t", WINDOWS)


@pytest.mark.conformance
def test_the_checkpoint_of_a_killed_stream_is_removed_after_a_week(tables, session, warehouse):
    define(tables, "SELECT id FROM events", "FRESHNESS = INTERVAL '2' SECOND")
    described = dict(row[:2] for row in tables.execute("DESC EXTENDED MATERIALIZED TABLE t").rows)
    home = Path(warehouse) / ".materialized-table-checkpoints" / described["Table id"]
    old, young = home / "stream-old", home / "stream-young"
    for path in old, young:
        (path / "offsets").mkdir(parents=True)
    week = time.time() - 8 * 24 * 3600
    for path in old / "offsets", old:
        os.utime(path, (week, week))
    tables.start("t")
    add(session, 3)
    tables.await_fresh("t", 60)
    tables.stop("t")
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.conformance
def test_a_restored_table_is_built_again(tables, session):
    define(tables, WINDOWS)
    version = session.sql("DESCRIBE HISTORY t LIMIT 1").collect()[0]["version"]
    add(session, 3)
    tables.refresh("t")
    session.sql(f"RESTORE TABLE t TO VERSION AS OF {version}")
    add(session, 4)
    tables.refresh("t")
    same(session, "t", WINDOWS)


@pytest.mark.conformance
def test_a_query_in_the_syntax_of_streams(tables, session):
    define(
        tables,
        "SELECT DISTINCT id, ts FROM STREAM events WATERMARK ts DELAY OF INTERVAL 1 HOUR",
        "FRESHNESS = INTERVAL '2' SECOND",
    )
    add(session, 2, 3)
    tables.refresh("t")
    same(session, "t", "SELECT DISTINCT id, ts FROM events")
