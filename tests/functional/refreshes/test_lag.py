"""Lags of a cascade on Delta, compared with those of DESCRIBE HISTORY.

The oracle knows nothing of the code under test: it reads positions out of the user metadata of
commits and times out of DESCRIBE HISTORY, and takes every commit with rows for a change.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from tests.functional.engine.oracle import Clock, described, outcome

_BASE = ("orders", "names")
_NO_ROWS = {"CREATE TABLE", "OPTIMIZE", "SET TBLPROPERTIES", "CHANGE COLUMN"}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tables(session, schema, clock):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE orders (id INT, k INT) USING delta")
    session.sql("INSERT INTO orders VALUES (1, 1), (2, 2)")
    session.sql("CREATE TABLE names (k INT, name STRING) USING delta")
    session.sql("INSERT INTO names VALUES (1, 'a'), (2, 'b')")
    found = MaterializedTables(session, clock=clock)
    outcome(found, "CREATE MATERIALIZED TABLE wide AS SELECT id, k FROM orders")
    session.sql("CREATE VIEW seen AS SELECT * FROM wide")
    outcome(
        found, "CREATE MATERIALIZED TABLE named AS SELECT id, name FROM seen JOIN names USING (k)"
    )
    outcome(
        found,
        "CREATE MATERIALIZED TABLE top REFRESH_MODE = FULL AS SELECT count(*) AS n FROM named",
    )
    return found


def commits(session, table):
    """The commits of a table, the oldest first: version, time, whether with rows, positions."""
    rows = session.sql(f"DESCRIBE HISTORY {table}").collect()
    found = []
    for row in sorted(rows, key=lambda each: each["version"]):
        metrics = row["operationMetrics"] or {}
        counts = ("numOutputRows", "numDeletedRows", "numTargetRowsInserted", "numRemovedFiles")
        with_rows = any(int(metrics.get(name) or 0) for name in counts)
        recorded = json.loads(row["userMetadata"] or "{}").get("positions") or {}
        read = {
            name.rpartition(".")[2]: at[0] for name, at in recorded.items() if isinstance(at, list)
        }
        changes = with_rows and row["operation"] not in _NO_ROWS
        found.append((row["version"], row["timestamp"].timestamp(), changes, read))
    return found


def missing_since(session, table, version=None):
    """When the oldest change of a base table was made that a table does not have; None for none."""
    until = [c for c in commits(session, table) if version is None or c[0] <= version]
    read = next((positions for *_, positions in reversed(until) if positions), {})
    times = []
    for source, at in read.items():
        later = [c for c in commits(session, source) if c[0] > at and c[2]]
        if source in _BASE:
            times += [c[1] for c in later[:1]]
        else:
            deeper = missing_since(session, source, later[0][0] - 1 if later else None)
            times += [] if deeper is None else [deeper]
    return min(times, default=None)


def assert_agree(tables, session, schema, clock):
    """Every surface shows what the oracle shows, 90 seconds from now."""
    clock.now = datetime.now(tz=timezone.utc) + timedelta(seconds=90)
    shown = {
        r["table_name"]: r["lag_seconds"] for r in tables.sql("SHOW MATERIALIZED TABLES").collect()
    }
    figures = tables.figures(schema)
    for name in ("wide", "named", "top"):
        since = missing_since(session, name)
        expected = 0 if since is None else clock.now.timestamp() - since
        lag = tables.lag(name)
        assert lag.seconds == pytest.approx(expected, abs=2), name
        assert shown[name] == lag.seconds
        rows = described(tables, name)
        assert rows["Lag"] == f"{lag.seconds} seconds"
        recorded = {figure.label: figure.value for figure in figures[name]}
        assert recorded["Lag"].startswith(f"{lag.seconds} seconds at ")
        assert sum(stage.seconds for stage in lag.stages) == pytest.approx(expected, abs=2)
    return {name: tables.lag(name) for name in ("wide", "named", "top")}


@pytest.mark.conformance
def test_every_surface_agrees_with_the_history(tables, session, schema, clock):
    lags = assert_agree(tables, session, schema, clock)
    assert {lag.seconds for lag in lags.values()} == {0}

    session.sql("INSERT INTO orders VALUES (3, 1)")
    lags = assert_agree(tables, session, schema, clock)
    assert all(lag.seconds >= 89 for lag in lags.values())
    assert [lags[name].own_seconds for name in ("named", "top")] == [0, 0]
    slowest = lags["top"].stages[0]
    assert (slowest.table.rpartition(".")[2], slowest.seconds >= 89) == ("wide", True)

    tables.refresh("wide")
    session.sql("OPTIMIZE wide")
    lags = assert_agree(tables, session, schema, clock)
    assert (lags["wide"].seconds, lags["top"].own_seconds) == (0, 0)
    assert min(lags["named"].own_seconds, lags["top"].seconds) >= 85

    tables.refresh("named")
    session.sql("INSERT INTO names VALUES (3, 'c')")
    assert_agree(tables, session, schema, clock)

    tables.refresh("named")
    tables.refresh("top")
    session.sql("OPTIMIZE orders")
    lags = assert_agree(tables, session, schema, clock)
    assert {lag.seconds for lag in lags.values()} == {0}


@pytest.mark.conformance
def test_a_full_table_may_lag_by_its_last_refresh(tables, session):
    session.sql("INSERT INTO orders VALUES (3, 1)")
    for name in ("wide", "named", "top"):
        tables.refresh(name)
    lag = tables.lag("top")
    assert lag.freshness_seconds < lag.allowed_seconds < lag.freshness_seconds + 120
    assert lag.status_at(lag.measured_at_ms, is_active=True) is FreshnessStatus.MET
    assert tables.lag("wide").allowed_seconds == tables.lag("wide").freshness_seconds


@pytest.mark.conformance
def test_a_level_that_was_created_again(tables, clock):
    """By the same name, so that only its identity distinguishes it from the one that was read."""
    outcome(tables, "DROP MATERIALIZED TABLE wide")
    outcome(tables, "CREATE MATERIALIZED TABLE wide AS SELECT id, k FROM orders")
    clock.now = datetime.now(tz=timezone.utc) + timedelta(seconds=50)
    assert 49 <= tables.lag("named").seconds <= 80
    tables.refresh("named")
    assert tables.lag("named").seconds == 0


@pytest.mark.conformance
def test_a_lookup_source_causes_no_lag(tables, session, clock):
    outcome(
        tables,
        "CREATE MATERIALIZED TABLE looked AS SELECT id, name FROM orders "
        "JOIN names FOR SYSTEM_TIME AS OF proctime() USING (k)",
    )
    session.sql("INSERT INTO names VALUES (4, 'd')")
    clock.now = datetime.now(tz=timezone.utc) + timedelta(seconds=30)
    assert tables.lag("looked").seconds == 0
    session.sql("INSERT INTO orders VALUES (5, 1)")
    clock.advance(seconds=30)
    assert tables.lag("looked").seconds >= 30
