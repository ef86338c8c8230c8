"""Leases on Delta: their own table, heartbeats, the view of jobs, and what compaction keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Lease, Owner
from dbt.adapters.spark_mt.execution.jobs import HOST_SILENCE_MS, KEPT_MS, WAITING_MS
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment, installed_tables
from dbt.adapters.spark_mt.spark.registry.leases import LAYOUT
from dbt.adapters.spark_mt.spark.registry.system_table import REGISTRY_LAYOUT, SystemTable
from dbt.adapters.spark_mt.spark.session.driver_files import listed_names
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions
from tests.behaviour.spark import SparkTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "spark_catalog"
REGISTRY = "materialized_table_system.registry"
LEASES = "materialized_table_system.leases"
QUERY = "SELECT id FROM range(3)"
THERE = Owner("there", 1)


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    return SparkTables(session)


@pytest.fixture
def spark(tables, session):
    """A catalog with a registry, and without leases."""
    session.sql(f"DROP TABLE IF EXISTS {REGISTRY}")
    session.sql(f"DROP TABLE IF EXISTS {LEASES}")
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {QUERY}")
    return session


def version(spark: SparkSession, table: str) -> int:
    """The newest version of a table."""
    return spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0]["version"]


def lease(term: int = 1, last_heartbeat_ms: int = 1_000, *, is_released: bool = False) -> Lease:
    """A lease of a manager on another machine."""
    return Lease(CATALOG, term, THERE, last_heartbeat_ms, is_released=is_released)


def system_table(spark, layout=REGISTRY_LAYOUT):
    """A table that compacts after each commit."""
    format_, sessions = installed_tables(spark).default, PrivateSessions(spark)
    return SystemTable(spark, lambda _: format_, sessions, layout, compact_every=1)


def test_a_lease_is_a_row_of_its_own_table_and_a_heartbeat_is_none(spark):
    ours, others = SparkEnvironment(spark).leases, SparkEnvironment(spark).leases
    before = version(spark, REGISTRY)
    assert others.newest(CATALOG) is None
    assert ours.take(lease())
    assert others.newest(CATALOG) == lease()
    taken = version(spark, LEASES)
    for at_ms in (2_000, 3_000):
        ours.beat(lease(last_heartbeat_ms=at_ms))
        assert others.newest(CATALOG) == lease(last_heartbeat_ms=at_ms)
    assert (version(spark, LEASES), version(spark, REGISTRY)) == (taken, before)
    assert not others.take(lease())
    assert others.take(lease(2, 9_000))
    ours.beat(lease(1, 99_000))
    assert ours.newest(CATALOG) == lease(2, 9_000), "the first one lost it"
    others.write(lease(2, 10_000, is_released=True))
    assert ours.newest(CATALOG).is_released


def test_heartbeats_are_read_by_other_machines_and_kept_by_maintenance(spark):
    """Over Connect nothing but Spark's own listing is there."""
    ours = SparkEnvironment(spark).leases
    ours.take(lease())
    ours.beat(lease(last_heartbeat_ms=5_000))
    location = spark.sql(f"DESCRIBE DETAIL {LEASES}").collect()[0]["location"]
    assert listed_names(spark, f"{location}/_heartbeats") == ["1-5000.beat"]
    assert listed_names(spark, f"{location}/_nothing") == []
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM {LEASES} RETAIN 0 HOURS")
    assert listed_names(spark, f"{location}/_heartbeats") == ["1-5000.beat"]
    assert SparkEnvironment(spark).leases.newest(CATALOG).last_heartbeat_ms == 5_000


def job(name: str, status: JobStatus, last_heartbeat_ms: int, **facts) -> Job:
    """A row about a job of the table t."""
    made = Job(
        job_id=name,
        table=TableName("t", "default", CATALOG),
        kind=JobKind.MANUAL,
        status=status,
        started_at_ms=last_heartbeat_ms,
        last_heartbeat_ms=last_heartbeat_ms,
        owner=THERE,
        trigger="REFRESH",
    )
    return replace(made, **facts)


def test_compaction_keeps_what_a_reader_may_need(spark, tables):
    environment = SparkEnvironment(spark)
    log, now = environment.log, tables.environment.now_ms()
    log.append(
        job("long ago", JobStatus.FINISHED, now - KEPT_MS - 1_000),
        job("a month ago", JobStatus.FINISHED, now - KEPT_MS + 3_600_000),
        job("runs", JobStatus.RUNNING, now - 1_000),
        job("runs", JobStatus.RUNNING, now),
        job("ended", JobStatus.RUNNING, now),
        job("ended", JobStatus.FINISHED, now, ended_at_ms=now),
    )
    recorded = {row["job_id"]: row["status"] for row in log_rows(spark, "JOB")}
    log.record_handlers(CATALOG, {TableName("t", "default", CATALOG): b"old"})
    log.record_handlers(CATALOG, {TableName("t", "default", CATALOG): b"new"})
    table = SystemTable(
        spark, lambda _: installed_tables(spark).default, PrivateSessions(spark), compact_every=1
    )
    before = log.known(CATALOG), log.jobs(CATALOG, now - KEPT_MS)
    table.append(CATALOG, [{"kind": "OTHER"}], now)
    assert (log.known(CATALOG), log.jobs(CATALOG, now - KEPT_MS)) == before
    assert recorded.keys() - {row["job_id"] for row in log_rows(spark, "JOB")} == {"long ago"}
    found = {(row["job_id"], row["status"]) for row in log_rows(spark, "JOB")}
    assert {("runs", "RUNNING"), ("ended", "FINISHED"), ("a month ago", "FINISHED")} <= found
    assert ("ended", "RUNNING") not in found
    assert log.handler(TableName("t", "default", CATALOG)) == b"new"
    assert [row["facts"] for row in log_rows(spark, "HANDLER")] == ["new"]


@pytest.mark.conformance
def test_compaction_keeps_the_last_lease(spark):
    leases = SparkEnvironment(spark).leases
    for term in (1, 2, 3):
        assert leases.take(lease(term))
        leases.write(lease(term, is_released=True))
    row = {
        "kind": "MANAGER",
        "seq": 3,
        "status": "RELEASED",
        "recorded_at_ms": 2_000,
        "facts": "{}",
    }
    table = SystemTable(
        spark,
        lambda _: installed_tables(spark).default,
        PrivateSessions(spark),
        LAYOUT,
        compact_every=1,
    )
    table.append(CATALOG, [row], 2_000)
    found = spark.table(LEASES).select("seq").distinct().collect()
    assert [each["seq"] for each in found] == [3]
    assert not leases.take(lease(3)), "no term passes twice"
    assert leases.take(lease(4))


def log_rows(spark: SparkSession, kind: str) -> list:
    """The rows of a kind in the registry."""
    return spark.table(REGISTRY).where(f"kind = '{kind}'").collect()


def test_the_view_shows_running_jobs_of_the_manager_of_the_catalog(spark, tables):
    environment = SparkEnvironment(spark)
    now = tables.environment.now_ms()
    long_ago = now - HOST_SILENCE_MS - 3_600_000
    running = job("s", JobStatus.RUNNING, long_ago, kind=JobKind.CONTINUOUS)
    accepted = job("a", JobStatus.RUNNING, long_ago, request="{}")
    too_old = job("o", JobStatus.RUNNING, now - WAITING_MS - 1_000, request="{}")
    environment.log.append(running, job("r", JobStatus.RUNNING, long_ago), accepted, too_old)
    assert [each.job_id for each in environment.log.accepted(CATALOG, long_ago)] == ["a"]

    def shown():
        rows = spark.table("materialized_table_system.jobs").collect()
        return {row["job_id"]: row["status"] for row in rows if row["job_id"] in set("srao")}

    assert shown() == {"s": "FAILED", "r": "FAILED", "a": "RUNNING", "o": "CANCELED"}
    environment.leases.take(lease())
    assert set(shown().values()) == {"RUNNING"}, "the manager begins what waits, however old"
    environment.leases.write(lease(is_released=True))
    assert shown() == {"s": "FAILED", "r": "FAILED", "a": "RUNNING", "o": "CANCELED"}


@pytest.mark.conformance
def test_the_view_of_another_release_is_replaced_by_a_compaction(spark):
    spark.sql(
        "CREATE OR REPLACE VIEW materialized_table_system.jobs AS "
        f"SELECT job_id, timestamp_millis(recorded_at_ms) AS heard_at FROM {REGISTRY}"
    )
    table = SystemTable(
        spark, lambda _: installed_tables(spark).default, PrivateSessions(spark), compact_every=1
    )
    table.append(CATALOG, [{"kind": "OTHER", "recorded_at_ms": 1}], 1)
    assert spark.table("materialized_table_system.jobs").columns[-1] == "last_heartbeat_time"
