"""The log of refreshes on Delta: one table, its view, older shapes, and threads that write it."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pytest

from dbt.adapters.spark_mt.execution.context import ThreadedHeartbeat
from dbt.adapters.spark_mt.execution.operations import TableOperations
from dbt.adapters.spark_mt.planning.steps import Fill
from dbt.adapters.spark_mt.spark.catalog.table_details import NewestVersions, TableDetails
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment, installed_tables
from dbt.adapters.spark_mt.spark.registry.registry import SparkSystemLog
from dbt.adapters.spark_mt.spark.registry.system_table import SystemTable
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions
from tests.behaviour.harness import ConflictingRunner, divided
from tests.behaviour.jobs import Jobs
from tests.behaviour.spark import SparkTables
from tests.support.heartbeat import ManualHeartbeat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = "materialized_table_system.registry"
QUERY = "SELECT id FROM range(3)"


CORE, REST = divided(
    Jobs,
    ("every_refresh_leaves_one_row_and_an_unchanged_table_none",),
)


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    return SparkTables(session)


class TestJobs(CORE):
    """Contents of the log of refreshes on Delta."""


@pytest.mark.conformance
class TestEveryJob(REST):
    """Other contents of the log; what does not depend on how it is kept is tested in memory."""

    test_partitions_leave_a_row = None
    test_a_stopped_statement_is_recorded_as_canceled = None
    test_a_refresh_whose_publication_fails_has_finished = None
    test_a_second_plain_create_is_refused = None
    test_dropping_the_rest_of_a_killed_create_drops_nothing = None
    test_a_job_on_an_existing_table_blocks_no_other_statement = None
    test_running_jobs_are_listed_by_schema = None


def log_over(session: SparkSession, table: SystemTable, now_ms: int) -> SparkSystemLog:
    """The log as another process would open it at this instant."""
    tables = installed_tables(session)
    versions = NewestVersions(TableDetails(session, tables), tables)
    return SparkSystemLog(session, table, lambda: now_ms, versions)


def appended(session: SparkSession) -> int:
    """How often rows were appended to the log; its compaction, every 64 commits, does not count."""
    return session.sql(f"DESCRIBE HISTORY {LOG}").where("operation = 'WRITE'").count()


def of_schema(session: SparkSession, schema: str) -> list[tuple]:
    """Kinds and statuses of the log's rows about a schema's tables."""
    rows = session.table(LOG).where(f"schema_name = '{schema}'").collect()
    return sorted(((row["kind"], row["status"]) for row in rows), key=str)


def test_a_table_and_its_refresh_are_registered_in_one_commit(tables, session, schema):
    execution_context = replace(tables.environment.execution_context, heartbeat=ManualHeartbeat())
    tables.environment = replace(tables.environment, execution_context=execution_context)
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {QUERY}")
    before = appended(session)
    tables.execute(f"CREATE MATERIALIZED TABLE u AS {QUERY}")
    assert appended(session) == before + 1
    recorded = [("JOB", "FINISHED"), ("TABLE", "ACTIVATED")]
    assert of_schema(session, schema) == sorted(recorded * 2)


@pytest.mark.conformance
def test_jobs_can_be_queried(tables, session, schema):
    job_id = tables.execute(f"CREATE MATERIALIZED TABLE t AS {QUERY}").outcome.refresh.refresh_id
    row = session.table("materialized_table_system.jobs").where(f"job_id = '{job_id}'").collect()[0]
    assert (row["table"], row["kind"], row["status"], row["rows"]) == (
        f"{schema}.t",
        "MANUAL",
        "FINISHED",
        3,
    )
    assert row["end_time"] >= row["start_time"]


def test_a_thread_writes_the_heartbeats_of_a_long_refresh(session, schema):
    """The statement continues only when others see that it runs."""
    environment = SparkEnvironment(session).value
    recorded = Event()
    log = environment.execution_context.log

    class SignallingLog:
        def append(self, job):
            log.append(job)
            recorded.set()

    def seen():
        assert recorded.wait(60)
        running.extend(log.running("spark_catalog", schema, 0))

    running = []
    execution_context = replace(
        environment.execution_context, log=SignallingLog(), heartbeat=ThreadedHeartbeat(0, 60)
    )
    tables = TableOperations(
        replace(
            environment,
            execution_context=execution_context,
            runner=ConflictingRunner(environment.runner, Fill, seen),
        )
    )
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {QUERY}")
    assert [(job.table.name, job.creates) for job in running] == [("t", True)]
    assert not environment.execution_context.processes.is_gone(running[0].owner)
    assert log.running("spark_catalog", schema, 0) == ()


@pytest.mark.conformance
def test_old_jobs_go_when_the_log_is_compacted(tables, session, schema):
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {QUERY}")
    name, now_ms = tables.name("t"), tables.environment.now_ms()
    session.sql(f"UPDATE {LOG} SET recorded_at_ms = 1 WHERE schema_name = '{schema}'")
    table = SystemTable(
        session,
        lambda _: installed_tables(session).default,
        PrivateSessions(session),
        compact_every=1,
    )
    log_over(session, table, now_ms).remove(name)
    kinds = [row["kind"] for row in session.table(LOG).where(f"schema_name = '{schema}'").collect()]
    assert kinds == ["TABLE"], "rows of old refreshes go, and so do those that a newer one replaces"
    assert session.sql(f"DESCRIBE HISTORY {LOG} LIMIT 1").collect()[0]["operation"] == "OPTIMIZE"


def test_several_who_find_no_log_lose_no_row(tables, session, schema):
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {QUERY}")
    now_ms = tables.environment.now_ms()
    logs = [
        log_over(
            session,
            SystemTable(
                session, lambda _: installed_tables(session).default, PrivateSessions(session)
            ),
            now_ms,
        )
        for _ in range(4)
    ]
    session.sql(f"DROP TABLE {LOG}")
    with ThreadPoolExecutor(len(logs)) as pool:
        list(pool.map(lambda log: log.remove(tables.name("t")), logs))
    assert of_schema(session, schema) == [("TABLE", None)] * len(logs)


@pytest.mark.conformance
def test_a_directory_that_a_killed_creator_left_is_taken_over(tables, session, schema):
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {QUERY}")
    location = session.sql(f"DESCRIBE DETAIL {LOG}").collect()[0]["location"]
    directory = Path(urlparse(location).path)
    kept = directory.with_name("kept")
    shutil.copytree(directory, kept)
    session.sql(f"DROP TABLE {LOG}")
    shutil.rmtree(directory, ignore_errors=True)
    kept.rename(directory)
    tables.environment.registry.remove(tables.name("t"))
    assert len(of_schema(session, schema)) == 3
    session.sql(f"DROP TABLE {LOG}")
    shutil.rmtree(directory)
