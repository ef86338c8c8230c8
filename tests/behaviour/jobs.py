"""Contents of the log of refreshes, and what a table that is being created means for others.

A subclass gives the fixture `tables`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import ConstraintViolatedError, TableNotFoundError
from dbt.adapters.spark_mt.definition.job import SILENCE_MS, Job, JobKind, JobStatus
from dbt.adapters.spark_mt.execution.jobs import with_effective_status
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.execution.results import Action
from dbt.adapters.spark_mt.planning.steps import SCHEDULED, Fill, Publish
from tests.behaviour.harness import ConflictingRunner, Faulty, InjectedError
from tests.behaviour.suite import DAILY, DAY_1, KEYS, SUMS, create, or_alter, prepare, refresh
from tests.support.errors import raises
from tests.support.heartbeat import ManualHeartbeat
from tests.support.memory.system_log import MemoryProcesses

if TYPE_CHECKING:
    from tests.behaviour.harness import Tables

MINUTE = timedelta(seconds=61)


def holder(environment, name):
    """The refresh that fills a table now."""
    since = environment.now_ms() - SILENCE_MS
    running = environment.execution_context.log.running(name.catalog, name.schema, since)
    live = (job for job in running if with_effective_status(job, environment) is job)
    return next((job for job in live if job.table == name), None)


NEEDING_A_TABLE = [
    "ALTER MATERIALIZED TABLE t REFRESH",
    "ALTER MATERIALIZED TABLE t SUSPEND",
    "ALTER MATERIALIZED TABLE t RESUME",
    "ALTER MATERIALIZED TABLE t SET COMMENT 'c'",
    "DESC MATERIALIZED TABLE t",
    "DROP MATERIALIZED TABLE t",
    "DROP MATERIALIZED TABLE IF EXISTS t",
]


class World:
    """A clock, heartbeats and processes in the hands of the test."""

    def __init__(self, tables: Tables) -> None:
        self.now = datetime.now(tz=timezone.utc).replace(microsecond=0)  # old rows are deleted
        self.heartbeat = ManualHeartbeat()
        self.processes = MemoryProcesses()
        self.tables = tables
        environment = tables.environment
        execution_context = replace(
            environment.execution_context, heartbeat=self.heartbeat, processes=self.processes
        )
        tables.environment = replace(
            environment, clock=lambda: self.now, execution_context=execution_context
        )

    def while_filling(self, action):
        """A runner that lets something happen when the log has a row that a table is filled."""

        def beat_and_act():
            self.heartbeat.tick()
            action()

        return ConflictingRunner(self.tables.environment.runner, Fill, beat_and_act)

    def jobs(self):
        """The rows of SHOW JOBS about the table t."""
        name = str(self.tables.name("t"))
        return [row for row in self.tables.execute("SHOW JOBS").rows if row[1] == name]

    def statuses(self):
        return [row[3] for row in self.jobs()]

    def listed(self):
        """Names and statuses of the schema's tables."""
        rows = self.tables.execute("SHOW MATERIALIZED TABLES").rows
        return [(row[1], row[4]) for row in rows]

    def crashed(self, *, creates=True) -> Job:
        """What a process leaves that began to fill t and was killed."""
        at = int(self.now.timestamp() * 1000)
        owner = self.processes.owner()
        job = Job(
            uuid4().hex,
            self.tables.name("t"),
            JobKind.MANUAL,
            JobStatus.RUNNING,
            at,
            at,
            owner,
            "CREATE",
            creates=creates,
        )
        self.tables.environment.execution_context.log.append(job)
        return job


class Jobs:
    """Every refresh leaves one row, and a hold locks no other one out."""

    @pytest.fixture(autouse=True)
    def _prepared(self, tables):
        prepare(tables)

    @pytest.fixture
    def world(self, tables):
        return World(tables)

    def test_every_refresh_leaves_one_row_and_an_unchanged_table_none(self, tables, world):
        created = create(tables).refresh
        or_alter(tables)
        refresh(tables)
        assert world.statuses() == ["FINISHED"]
        world.now += MINUTE
        tables.append("orders", [(3, DAY_1, 1)])
        refreshed = refresh(tables)
        newest, oldest = world.jobs()
        assert (oldest[0], newest[0]) == (created.refresh_id, refreshed.refresh_id)
        assert (newest[2:4], newest[6:9]) == (
            ("MANUAL", "FINISHED"),
            (3, None, "incremental/recompute"),
        )
        assert (newest[4], newest[5]) == (world.now, world.now)

    def test_desc_job_shows_one(self, tables, world):
        job_id = create(tables).refresh.refresh_id
        result = tables.execute(f"DESC JOB '{job_id}'")
        assert list(result.rows) == world.jobs()
        with raises(conditions.JOB_NOT_FOUND) as error:
            tables.execute("DESC JOB 'it''s unknown {x}'")
        assert error.value.parameters["job_id"] == "it's unknown {x}"

    def test_partitions_leave_a_row(self, tables, world):
        create(tables, DAILY, "PARTITIONED BY (day) REFRESH_MODE = FULL")
        world.now += MINUTE
        refresh(tables, f"PARTITION (day = '{DAY_1}')")
        assert [(row[3], row[6]) for row in world.jobs()] == [("FINISHED", 1), ("FINISHED", 2)]

    def test_a_scheduled_run_says_that_it_had_nothing_to_do(self, tables, world):
        create(tables)
        world.now += MINUTE
        due = RequestedRefresh(trigger=SCHEDULED, scheduled_at=world.now)
        Refreshes(tables.environment).carry_out(tables.name("t"), due)
        assert [row[2:4] for row in world.jobs()] == [
            ("SCHEDULED", "SKIPPED"),
            ("MANUAL", "FINISHED"),
        ]

    def test_a_failure_is_recorded_and_not_masked(self, tables, world):
        with pytest.raises(ConstraintViolatedError) as error:
            create(tables, KEYS, "(PRIMARY KEY (k) NOT ENFORCED)")
        ((*_, status, _, end, rows, text, _, _),) = world.jobs()
        assert (status, end, rows, text) == ("FAILED", world.now, None, str(error.value))

    def test_a_stopped_statement_is_recorded_as_canceled(self, tables, world):
        def stop():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}", world.while_filling(stop))
        assert world.statuses() == ["CANCELED"]

    def test_a_refresh_whose_publication_fails_has_finished(self, tables, world):
        runner = Faulty(tables.environment.runner, Publish)
        with pytest.raises(Exception, match="MATERIALIZED_TABLE_UNFINISHED_CHANGE") as error:
            tables.execute(f"CREATE MATERIALIZED TABLE t COMMENT 'c' AS {SUMS}", runner)
        assert isinstance(error.value.__cause__, InjectedError)
        assert world.statuses() == ["FINISHED"]

    def test_a_refresh_that_takes_long_is_shown_and_holds_its_table(self, tables, world):
        create(tables)
        tables.append("orders", [(3, DAY_1, 1)])
        world.now += MINUTE
        seen = []

        def look():
            seen.append((world.statuses(), world.listed()))
            world.now += MINUTE
            seen.append(world.statuses())
            world.heartbeat.tick()
            seen.append(holder(tables.environment, tables.name("t")).owner)

        tables.execute("ALTER MATERIALIZED TABLE t REFRESH", world.while_filling(look))
        assert seen == [
            (["RUNNING", "FINISHED"], [("t", "ACTIVATED")]),
            ["FAILED", "FINISHED"],  # silent for more than a minute
            world.processes.owner(),
        ]
        assert world.statuses() == ["FINISHED", "FINISHED"]
        assert holder(tables.environment, tables.name("t")) is None

    def test_a_table_that_is_being_created_is_initializing(self, tables, world):
        seen = []

        def look():
            seen.extend(world.listed())
            for statement in NEEDING_A_TABLE:
                with raises(conditions.INITIALIZING) as error:
                    tables.execute(statement)
                assert error.value.parameters["owner"] == "somebody, process 1 on memory"
                assert error.value.parameters["since"] == f"{world.now:%Y-%m-%d %H:%M:%S} UTC"

        tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}", world.while_filling(look))
        assert seen == [("t", "INITIALIZING")]
        assert world.listed() == [("t", "ACTIVATED")]
        assert world.statuses() == ["FINISHED"]

    def test_another_create_competes_with_the_first(self, tables, world):
        runner = world.while_filling(lambda: create(tables))
        result = tables.execute(f"CREATE OR ALTER MATERIALIZED TABLE t AS {SUMS}", runner)
        assert result.outcome.action is Action.UNCHANGED
        assert tables.rows("t") == [(1, 15), (2, 7)]
        assert sorted(world.statuses()) == ["CANCELED", "FINISHED"]

    def test_a_second_plain_create_is_refused(self, tables, world):
        runner = world.while_filling(lambda: create(tables))
        with raises(conditions.ALREADY_EXISTS):
            tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}", runner)
        assert sorted(world.statuses()) == ["CANCELED", "FINISHED"]

    @pytest.mark.parametrize("silent", [False, True])
    def test_a_creator_that_is_gone_holds_nothing(self, tables, world, silent):
        job = world.crashed()
        if silent:
            world.now += MINUTE
        else:
            world.processes.gone.add(job.owner)
        assert world.listed() == []
        ((*_, status, _, end, _, reason, _, _),) = world.jobs()
        assert (status, end is not None, "process 1 on memory" in reason) == ("FAILED", True, True)
        with pytest.raises(TableNotFoundError):
            tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
        log = tables.environment.execution_context.log
        cleaned = log.job(job.table.catalog, job.job_id)
        assert (cleaned.status, cleaned.error) == (JobStatus.FAILED, reason)
        assert create(tables).action is Action.CREATED

    def test_dropping_the_rest_of_a_killed_create_drops_nothing(self, tables, world):
        job = world.crashed()
        world.processes.gone.add(job.owner)
        outcome = tables.execute("DROP MATERIALIZED TABLE IF EXISTS t").outcome
        assert outcome.action is Action.UNCHANGED
        log = tables.environment.execution_context.log
        assert log.job(job.table.catalog, job.job_id).status is JobStatus.FAILED

    def test_a_job_on_an_existing_table_blocks_no_other_statement(self, tables, world):
        create(tables)
        world.crashed(creates=False)
        tables.append("orders", [(3, DAY_1, 1)])
        assert refresh(tables).rows == 3
        assert tables.execute("DROP MATERIALIZED TABLE t").outcome.action is Action.DROPPED
        with pytest.raises(TableNotFoundError):
            refresh(tables)

    def test_jobs_of_30_days_are_shown(self, tables, world):
        create(tables)
        world.now += timedelta(days=30, seconds=1)
        assert world.jobs() == []

    def test_running_jobs_are_listed_by_schema(self, tables, world):
        job = world.crashed()
        log = tables.environment.execution_context.log
        assert log.running(job.table.catalog, job.table.schema, 0) == (job,)
        assert log.running(job.table.catalog, "nowhere", 0) == ()
