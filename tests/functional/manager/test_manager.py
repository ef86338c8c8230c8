"""A manager in parallel with statements that do not refer to it."""

from __future__ import annotations

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from dbt.adapters.spark_mt.definition.job import (
    JobKind,
    JobStatus,
    JsonRefreshHandlerSerializer,
    StoredHandler,
)
from dbt.adapters.spark_mt.definition.modes import Wait
from dbt.adapters.spark_mt.execution.lookup import existing_table
from dbt.adapters.spark_mt.manager.background import LEAST_KEPT_MS
from dbt.adapters.spark_mt.manager.http.metrics import exposition, registry
from dbt.adapters.spark_mt.manager.views import RefreshRequest
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from tests.functional.manager.conftest import until
from tests.support.errors import raises

LIVE = "FRESHNESS = INTERVAL '2' SECOND"
FULL = "FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL"


def described(shop, name):
    rows = shop.execute(f"DESCRIBE MATERIALIZED TABLE EXTENDED {name}")
    return {row[0]: row[1] for row in rows}


def test_tables_follow_their_sources_each_by_its_own_engine(shop):
    shop.execute(f"CREATE MATERIALIZED TABLE flat {LIVE} AS SELECT id, v FROM orders")
    shop.execute(
        f"CREATE MATERIALIZED TABLE sums {LIVE} AS SELECT count(*) AS n, sum(v) AS v FROM flat"
    )
    shop.session.sql("INSERT INTO orders VALUES (4, 2, 40)")
    shop.until_rows("SELECT * FROM flat", [(1, 10), (2, 20), (3, 30), (4, 40)])
    shop.until_rows("SELECT * FROM sums", [(4, 100)])
    shop.session.sql("DELETE FROM orders WHERE id = 1")
    shop.until_rows("SELECT * FROM sums", [(3, 90)])
    until(lambda: shop.view("flat").engine == "stream")
    assert shop.view("sums").engine == "incremental"
    assert shop.view("sums").reads == (f"spark_catalog.{shop.schema}.flat",)
    until(lambda: "process" in described(shop, "flat")["Refresh handler"])


def test_a_changed_query_and_mode_are_applied_while_it_runs(shop):
    shop.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS SELECT id, v FROM orders")
    until(lambda: shop.view("t").activity == "following" or shop.view("t").engine == "stream")
    shop.execute(
        f"CREATE OR ALTER MATERIALIZED TABLE t {LIVE} AS SELECT id, v, v * 2 AS w FROM orders"
    )
    shop.session.sql("INSERT INTO orders VALUES (4, 2, 40)")
    shop.until_rows("SELECT w FROM t WHERE id = 4", [(80,)])
    shop.execute("ALTER MATERIALIZED TABLE t SET REFRESH_MODE = FULL")
    until(lambda: shop.view("t").next_run_at_ms is not None)
    until(lambda: "workflow" in described(shop, "t")["Refresh handler"])


def test_the_registry_keeps_handlers_for_the_next_manager(shop):
    shop.execute(f"CREATE MATERIALIZED TABLE t {FULL} AS SELECT id, v FROM orders")
    until(lambda: "workflow" in described(shop, "t")["Refresh handler"])
    log = SparkEnvironment(shop.session).log
    name = TableName("t", shop.schema, "spark_catalog")
    stored = StoredHandler.decode(log.handlers("spark_catalog")[name])
    handler = JsonRefreshHandlerSerializer().deserialize(stored.serialized)
    assert (stored.scheduler, handler.workflow_id) == ("embedded", stored.table_id)
    shop.execute("DROP MATERIALIZED TABLE t")
    until(lambda: name not in log.handlers("spark_catalog"))


@pytest.mark.conformance
def test_suspended_tables_are_not_refreshed_and_resumed_ones_are(shop):
    shop.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS SELECT id FROM orders")
    assert shop.manager.suspend(f"{shop.schema}.t").action == "SUSPENDED"
    until(lambda: shop.view("t").freshness_status is FreshnessStatus.NONE)
    shop.session.sql("INSERT INTO orders VALUES (4, 2, 40)")
    assert len(shop.rows("SELECT * FROM t")) == 3
    assert shop.manager.resume(f"{shop.schema}.t").action == "RESUMED"
    shop.until_rows("SELECT * FROM t", [(1,), (2,), (3,), (4,)])
    shop.session.sql("INSERT INTO orders VALUES (5, 2, 40)")
    shop.until_rows("SELECT count(*) FROM t", [(5,)])


def test_a_refresh_answers_at_once_and_its_name_works_in_desc_job(shop):
    shop.execute(f"CREATE MATERIALIZED TABLE t {FULL} AS SELECT count(*) AS n FROM orders")
    shop.session.sql("INSERT INTO orders VALUES (4, 2, 40)")
    submitted = shop.manager.refresh(RefreshRequest(f"{shop.schema}.t"))
    (row,) = shop.execute(f"DESC JOB '{submitted.job_id}'")
    assert row[0] == submitted.job_id
    until(lambda: shop.manager.job(submitted.job_id).status is JobStatus.FINISHED)
    assert shop.rows("SELECT n FROM t") == [(4,)]
    again = shop.manager.refresh(RefreshRequest(f"{shop.schema}.t"))
    until(lambda: shop.manager.job(again.job_id).status is JobStatus.SKIPPED)


@pytest.mark.conformance
def test_a_periodic_refresh_writes_the_partition_of_its_time_in_the_stored_zone(shop):
    shop.session.sql("CREATE TABLE visits (ds STRING, who INT) USING delta")
    shop.session.sql("INSERT INTO visits VALUES ('2026-03-01', 1), ('2026-03-02', 2)")
    shop.execute(
        "CREATE MATERIALIZED TABLE t PARTITIONED BY (ds) WITH "
        f"('partition.fields.ds.date-formatter' = 'yyyy-MM-dd') {FULL} "
        "AS SELECT ds, count(*) AS n FROM visits GROUP BY ds"
    )
    shop.session.sql("INSERT INTO visits VALUES ('2026-03-01', 3), ('2026-03-02', 4)")
    name = f"{shop.schema}.t"
    request = RefreshRequest(name, True, "02.03.2026 00:00", "dd.MM.yyyy HH:mm")  # noqa: FBT003
    submitted = shop.manager.refresh(request)
    until(lambda: shop.manager.job(submitted.job_id).status is JobStatus.FINISHED)
    assert shop.manager.job(submitted.job_id).kind is JobKind.SCHEDULED
    assert shop.rows("SELECT * FROM t") == [("2026-03-01", 2), ("2026-03-02", 1)]
    with raises(conditions.INVALID_SCHEDULE_TIME):
        shop.manager.refresh(RefreshRequest(name, True, "yesterday"))  # noqa: FBT003


def test_a_table_whose_source_is_gone_is_suspended_with_the_reason(shop):
    shop.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS SELECT id FROM orders")
    until(lambda: shop.view("t").engine)
    shop.session.sql("DROP TABLE orders")
    until(lambda: shop.view("t").status == "SUSPENDED")
    assert shop.view("t").status_reason.startswith("given up after 3 failures")
    assert shop.rows("SELECT * FROM t") == [(1,), (2,), (3,)]


@pytest.mark.conformance
def test_details_have_statement_positions_and_history(shop):
    shop.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS SELECT id FROM orders")
    details = shop.manager.table(f"{shop.schema}.t")
    assert "FRESHNESS = INTERVAL '2' SECOND" in details.statement
    assert [column[0] for column in details.columns] == ["id"]
    assert [p.source for p in details.positions] == [f"spark_catalog.{shop.schema}.orders"]
    assert dict(details.description)["Engine"].startswith("stream")
    assert details.history
    plan = shop.manager.plan(
        f"CREATE OR ALTER MATERIALIZED TABLE {shop.schema}.t AS "
        f"SELECT id + 1 AS other FROM {shop.schema}.orders"
    )
    assert plan.action == "REFUSED"
    assert plan.violations


def test_a_run_waits_until_the_manager_has_the_table_and_its_rows_are_fresh(shop):
    tables = MaterializedTables(shop.session)
    shop.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS SELECT id FROM orders")
    tables.wait_for("t", Wait.STARTED, 60)
    assert "process" in tables.keeper("t")
    shop.session.sql("INSERT INTO orders VALUES (4, 2, 40)")
    tables.wait_for("t", Wait.FRESH, 60)
    assert shop.rows("SELECT count(*) FROM t") == [(4,)]
    shop.execute(f"CREATE MATERIALIZED TABLE f {FULL} AS SELECT count(*) AS n FROM orders")
    shop.session.sql("INSERT INTO orders VALUES (5, 2, 40)")
    tables.wait_for("f", Wait.FRESH, 60)
    assert shop.rows("SELECT * FROM f") == [(5,)]


@pytest.mark.conformance
def test_maintenance_merges_small_files_while_a_stream_runs(shop):
    shop.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS SELECT id FROM orders")
    shop.execute(f"CREATE MATERIALIZED TABLE below {LIVE} AS SELECT id + 0 AS id FROM t")
    for number in (4, 5, 6):
        shop.session.sql(f"INSERT INTO orders VALUES ({number}, 0, 0)")
        shop.until_rows("SELECT count(*) FROM below", [(number,)])
    environment = SparkEnvironment(shop.session).value
    name = TableName("t", shop.schema, "spark_catalog")
    assert len(shop.session.table("t").inputFiles()) > 1
    table_id = existing_table(environment, name).definition.table_id
    environment.storage.compact(name, table_id)
    environment.storage.vacuum(name, table_id, LEAST_KEPT_MS)
    assert len(shop.session.table("t").inputFiles()) == 1
    shop.session.sql("INSERT INTO orders VALUES (7, 0, 0)")
    shop.until_rows("SELECT * FROM below", [(n,) for n in range(1, 8)])


@pytest.mark.conformance
def test_lags_count_to_the_base_tables_on_every_surface(shop):
    """A table that is up to date with a suspended one lacks what that has not read."""
    shop.execute(f"CREATE MATERIALIZED TABLE flat {LIVE} AS SELECT id, v FROM orders")
    shop.execute(f"CREATE MATERIALIZED TABLE sums {LIVE} AS SELECT sum(v) AS v FROM flat")
    until(lambda: shop.view("sums").freshness_status is FreshnessStatus.MET)
    shop.execute("ALTER MATERIALIZED TABLE flat SUSPEND")
    shop.session.sql("INSERT INTO orders VALUES (4, 2, 40)")
    newest = "DESCRIBE HISTORY orders LIMIT 1"
    changed_ms = shop.session.sql(newest).collect()[0]["timestamp"].timestamp() * 1000
    until(lambda: shop.view("sums").freshness_status is FreshnessStatus.LATE)
    view, shown = shop.view("sums"), described(shop, "sums")
    now_ms = time.time() * 1000
    assert view.lag_seconds == pytest.approx((now_ms - changed_ms) / 1000, abs=3)
    assert (view.own_lag_seconds, view.allowed_lag_seconds) == (0, 2)
    full = [f"spark_catalog.{shop.schema}.{name}" for name in ("flat", "sums")]
    assert [(s.table, s.seconds > 0) for s in view.lag_stages] == [
        (full[0], True),
        (full[1], False),
    ]
    assert int(shown["Lag"].split()[0]) == pytest.approx(view.lag_seconds, abs=3)
    assert (shown["Lag to direct sources"], shown["Freshness status"]) == ("0 seconds", "LATE")
    scraped = _scraped(shop.manager)
    assert scraped["spark_mt_table_lag_seconds", full[1]] == pytest.approx(view.lag_seconds, abs=5)
    assert scraped["spark_mt_table_own_lag_seconds", full[1]] == 0
    assert scraped["spark_mt_table_freshness_met", full[1]] == 0
    lags = {row[1]: row[5] for row in shop.execute("SHOW MATERIALIZED TABLES")}
    assert lags["sums"] == pytest.approx(view.lag_seconds, abs=6)
    shop.execute("ALTER MATERIALIZED TABLE flat RESUME")
    until(lambda: shop.view("sums").lag_seconds == 0)
    assert shop.rows("SELECT v FROM sums") == [(100,)]


def _scraped(manager):
    text = exposition(registry(manager), "text/plain")[0].decode()
    families = text_string_to_metric_families(text)
    return {(s.name, s.labels.get("table")): s.value for f in families for s in f.samples}


def versions(shop):
    """The newest versions of the system tables."""
    names = ("registry", "leases")
    history = "DESCRIBE HISTORY materialized_table_system.{} LIMIT 1"
    return [shop.session.sql(history.format(name)).collect()[0]["version"] for name in names]


def pass_ticks(shop, count):
    """Wait until the manager has ticked so often."""
    ticks = set()
    until(lambda: ticks.add(shop.manager.about().last_tick_at_ms) or len(ticks) > count)


@pytest.mark.conformance
def test_nothing_is_written_while_no_source_changes(shop):
    """Two seconds of freshness: every second a client asks, and every half second is a tick."""
    shop.execute(f"CREATE MATERIALIZED TABLE flat {LIVE} AS SELECT id, v FROM orders")
    shop.execute(f"CREATE MATERIALIZED TABLE sums {LIVE} AS SELECT sum(v) AS v FROM orders")
    shop.execute(f"CREATE MATERIALIZED TABLE daily {FULL} AS SELECT sum(v) AS v FROM orders")
    shop.session.sql("INSERT INTO orders VALUES (4, 2, 40)")
    shop.until_rows("SELECT v FROM sums", [(100,)])
    shop.until_rows("SELECT count(*) FROM flat", [(4,)])
    until(lambda: "process" in described(shop, "flat")["Refresh handler"])
    deferred = shop.manager._parts.log.deferred

    def rests():
        deferred.write()  # what may wait for a minute
        began = versions(shop)
        pass_ticks(shop, 3)
        return not deferred.waiting() and versions(shop) == began

    until(rests)
    began = versions(shop)
    pass_ticks(shop, 12)
    assert versions(shop) == began
    jobs = shop.execute("SHOW JOBS")
    ours = [row[3] for row in jobs if row[1].endswith(".flat") and row[2] == "CONTINUOUS"]
    assert ours[0] == "RUNNING"
    shop.session.sql("INSERT INTO orders VALUES (5, 2, 50)")
    shop.until_rows("SELECT v FROM sums", [(150,)])
    shop.until_rows("SELECT count(*) FROM flat", [(5,)])


@pytest.mark.conformance
def test_an_unchanged_table_follows_a_replaced_view(shop):
    shop.session.sql("CREATE VIEW some AS SELECT * FROM orders WHERE v > 10")
    shop.execute(f"CREATE MATERIALIZED TABLE n {LIVE} AS SELECT count(*) AS n FROM some")
    until(lambda: shop.view("n").activity == "following")
    pass_ticks(shop, 10)
    shop.session.sql("CREATE OR REPLACE VIEW some AS SELECT * FROM orders")
    shop.until_rows("SELECT n FROM n", [(3,)])
    shop.session.sql("DROP TABLE orders")
    shop.session.sql("CREATE TABLE orders (id INT, k INT, v INT) USING delta")
    shop.session.sql("INSERT INTO orders VALUES (1, 1, 1)")
    shop.until_rows("SELECT n FROM n", [(1,)])
