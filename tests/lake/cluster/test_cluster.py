"""Materialized tables on a standalone cluster, and workers that are lost while they work."""

from __future__ import annotations

import time
from threading import Thread

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.functional.engine.oracle import (
    assert_equals_query,
    fenced_commits,
    history,
    outcome,
    rows,
)
from tests.lake.standalone import WORKERS

WITHIN_S = 150
ROWS = 200_000
HEAVY = f"SELECT id % 7 AS k, id AS v FROM range(0, {ROWS}, 1, 8)"
TOTALS = """CREATE MATERIALIZED TABLE totals REFRESH_MODE = FULL
AS SELECT k, count(*) AS n, sum(v) AS total, max(sha2(CAST(v AS STRING), 512)) AS last
FROM source GROUP BY k"""
CONTINUOUS = "FRESHNESS = INTERVAL '10' SECOND REFRESH_MODE = CONTINUOUS"
FOLLOWING = f"""CREATE MATERIALIZED TABLE following {CONTINUOUS}
AS SELECT k, v, sha2(CAST(v AS STRING), 512) AS hash FROM source"""


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE source (k BIGINT, v BIGINT) USING delta")
    tables = MaterializedTables(session)
    yield tables
    tables.stop_all()


@pytest.fixture
def losing(spark, cluster):
    """Loses a worker while its tasks run, in the middle of some work, and replaces it then."""
    lost = []

    def lose(number, delay_s):
        until = time.monotonic() + WITHIN_S
        while not tasks_run(spark) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(delay_s)
        lost.append(tasks_run(spark))
        cluster.lose_a_worker(number)

    def during(work, number, delay_s=0.0):
        await_executors(spark)
        thread = Thread(target=lose, args=(number, delay_s))
        thread.start()
        try:
            return work()
        finally:
            thread.join()
            cluster.replace(number)

    yield during
    assert any(lost), "no worker was lost at work"


def tasks_run(spark):
    tracker = spark.sparkContext.statusTracker()
    stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    return any(stage is not None and stage.numActiveTasks > 0 for stage in stages)


def await_executors(spark):
    """Wait until every worker has its executor; the driver counts as one."""
    status = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    until = time.monotonic() + WITHIN_S
    while status().size() < WORKERS + 1 and time.monotonic() < until:
        time.sleep(0.1)
    assert status().size() == WORKERS + 1


def assert_log_is_whole(tables, table):
    numbers = [commit["version"] for commit in history(tables, table)]
    assert sorted(numbers) == [*range(len(numbers))]
    seqs = [commit["seq"] for commit in fenced_commits(tables, table)]
    assert len(set(seqs)) == len(seqs)


def test_a_worker_is_lost_during_create_and_refresh(tables, session, losing):
    session.sql(f"INSERT INTO source {HEAVY}")
    losing(lambda: outcome(tables, TOTALS), 0)
    assert_equals_query(tables, "totals")
    session.sql(f"INSERT INTO source {HEAVY}")
    done = losing(lambda: tables.refresh("totals"), 1, 0.3)
    assert done.status is RefreshResult.REFRESHED
    assert_equals_query(tables, "totals")
    assert rows(tables, "SELECT sum(n) FROM totals") == [(2 * ROWS,)]
    assert_log_is_whole(tables, "totals")


def test_a_worker_is_lost_during_a_batch(tables, session, losing):
    session.sql("INSERT INTO source VALUES (0, 0)")
    outcome(tables, FOLLOWING)
    tables.start("following")
    tables.await_fresh("following", WITHIN_S)
    session.sql(f"INSERT INTO source {HEAVY}")
    losing(lambda: tables.await_fresh("following", WITHIN_S), 0)
    assert_equals_query(tables, "following")
    assert rows(tables, "SELECT count(*) FROM following") == [(ROWS + 1,)]
    assert_log_is_whole(tables, "following")
