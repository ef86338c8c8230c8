"""What the log of refreshes costs, and what happens when it cannot be written."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.errors import ConstraintViolatedError
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.executor import perform
from dbt.adapters.spark_mt.execution.job_recorder import LONGEST_ERROR
from dbt.adapters.spark_mt.execution.operations import TableOperations
from dbt.adapters.spark_mt.planning.steps import Fill, Plan, RecordJob, Register
from tests.behaviour.harness import ConflictingRunner
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import DAY_1, KEYS, SUMS, create, or_alter, prepare, refresh

CREATE = f"CREATE MATERIALIZED TABLE t AS {SUMS}"


class BrokenLog:
    """A log that takes nothing."""

    def append(self, job):
        raise OSError(job.job_id)


@pytest.fixture
def tables():
    made = MemoryTables()
    prepare(made)
    return made


def rows(tables):
    """The statuses of every row that was written."""
    return [job.status for job in tables.memory.log.appended]


def manager(tables, **execution_context):
    environment = tables.environment
    return TableOperations(
        replace(
            environment,
            execution_context=replace(environment.execution_context, **execution_context),
        )
    )


def test_a_fast_refresh_writes_one_row_and_an_unchanged_table_none(tables):
    create(tables)
    assert rows(tables) == [JobStatus.FINISHED]
    or_alter(tables)
    refresh(tables)
    or_alter(tables, clauses="COMMENT 'metadata only'")
    assert rows(tables) == [JobStatus.FINISHED]


def test_the_row_of_a_refresh_needs_no_step_of_its_own(tables):
    steps = []

    class Seen:
        def run(self, step):
            steps.append(step)
            return tables.environment.runner.run(step)

    tables.execute(CREATE, Seen())
    assert not any(isinstance(step, RecordJob) for step in steps)
    assert [step.job.rows for step in steps if isinstance(step, Register)] == [2]


def test_a_long_one_renews_its_row_until_it_ends(tables):
    tick = tables.memory.heartbeat.tick
    tables.execute(
        CREATE, ConflictingRunner(tables.environment.runner, Fill, lambda: (tick(), tick()))
    )
    tick()
    assert rows(tables) == [JobStatus.RUNNING, JobStatus.RUNNING, JobStatus.FINISHED]
    assert len({job.job_id for job in tables.memory.log.appended}) == 1


def test_a_log_that_cannot_be_written_is_a_warning_of_a_refresh(tables):
    heartbeat = tables.memory.heartbeat
    environment = replace(
        tables.environment,
        runner=ConflictingRunner(tables.environment.runner, Fill, heartbeat.tick),
        execution_context=replace(tables.environment.execution_context, log=BrokenLog()),
    )
    result = TableOperations(environment).execute(CREATE)
    assert tables.rows("t") == [(1, 15), (2, 7)]
    assert len(result.outcome.warnings) == 1


def test_a_log_that_takes_nothing_never_masks_an_error(tables):
    statement = f"CREATE MATERIALIZED TABLE t (PRIMARY KEY (k) NOT ENFORCED) AS {KEYS}"
    with pytest.raises(ConstraintViolatedError):
        manager(tables, log=BrokenLog()).execute(statement)


def test_long_errors_are_cut(tables):
    def fail():
        raise RuntimeError("x" * 3 * LONGEST_ERROR)

    with pytest.raises(RuntimeError):
        tables.execute(CREATE, ConflictingRunner(tables.environment.runner, Fill, fail))
    (job,) = tables.memory.log.appended
    assert (job.status, len(job.error)) == (JobStatus.FAILED, LONGEST_ERROR)


def test_a_failure_stops_the_heartbeat(tables):
    def fail():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        tables.execute(CREATE, ConflictingRunner(tables.environment.runner, Fill, fail))
    tables.memory.heartbeat.tick()
    assert rows(tables) == [JobStatus.FAILED]
    assert tables.memory.log.appended[0].error == "RuntimeError"


def test_a_plan_without_rows_is_no_job(tables):
    create(tables)
    perform(Plan(tables.name("t"), ()), tables.environment)
    tables.append("orders", [(1, DAY_1, 1)])
    assert rows(tables) == [JobStatus.FINISHED]
