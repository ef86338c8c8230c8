"""Requests to S3 of a statement, a refresh and a batch; docs/benchmarks.md has the figures."""

from __future__ import annotations

import time

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.functional.engine.oracle import outcome, rows

WITHIN_S = 120
FULL = "CREATE OR ALTER MATERIALIZED TABLE full REFRESH_MODE = FULL AS SELECT k, v FROM source"
FOLLOWING = """CREATE MATERIALIZED TABLE following FRESHNESS = INTERVAL '20' SECOND
REFRESH_MODE = CONTINUOUS AS SELECT k, v FROM source"""
KINDS = ("HEAD", "GET", "LIST", "PUT", "COPY", "DELETE")


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE source (k INT, v BIGINT) USING delta")
    session.sql("INSERT INTO source VALUES (1, 10)")
    tables = MaterializedTables(session)
    yield tables
    tables.stop_all()


@pytest.fixture
def assert_requests(store, capsys):
    """Count the requests of some work, print them by kind, and compare them with a bound."""

    def check(what, most, work):
        store.requests()
        work()
        found = store.counted()
        listed = ", ".join(f"{found[kind]} {kind}" for kind in KINDS if found[kind])
        with capsys.disabled():
            print(f"\n{what}: {found.total()} requests ({listed})")  # noqa: T201 - figures of the page
        assert set(found) <= set(KINDS)
        assert 0 < found.total() <= most, found

    return check


def test_statements_and_refreshes(tables, session, assert_requests):
    assert_requests("create", 300, lambda: outcome(tables, FULL))
    outcome(tables, FULL)  # writes what the statement before left to be written later
    assert_requests("unchanged statement", 15, lambda: outcome(tables, FULL))
    session.sql("INSERT INTO source VALUES (2, 20)")
    tables.refresh("full")
    session.sql("INSERT INTO source VALUES (3, 30)")
    assert_requests("refresh", 180, lambda: tables.refresh("full"))
    assert_requests("refresh without new rows", 25, lambda: tables.refresh("full"))
    insert = "INSERT INTO source VALUES (4, 40)"
    assert_requests("insert without this project", 50, lambda: session.sql(insert))


@pytest.mark.parametrize(("name", "most"), [("batch", 150), ("batch with less on S3", 90)])
def test_a_batch(tables, session, assert_requests, tmp_path, name, most):
    """Without state, a checkpoint may be lost: the positions of a table are in its commits."""
    if name != "batch":
        session.conf.set("spark.materialized-table.checkpoint-location", tmp_path.as_uri())
        session.conf.set("spark.databricks.delta.writeChecksumFile.enabled", "false")
    outcome(tables, FOLLOWING)
    tables.start("following")
    tables.await_fresh("following", WITHIN_S)

    def next_batch():
        until, batches = time.monotonic() + WITHIN_S, tables.progress("following").batches
        while tables.progress("following").batches == batches and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)  # Spark notes the end of the batch

    for value in (2, 3):  # the first batch opens what later ones use
        session.sql(f"INSERT INTO source VALUES (5, {value})")
        if value == 2:
            next_batch()
    assert_requests(name, most, next_batch)
    assert rows(tables, "SELECT v FROM following WHERE k = 5") == [(2,), (3,)]
