"""Plans carried out step by step."""

from dataclasses import dataclass, field, replace
from threading import Barrier

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.errors import RefreshFailedError, UnfinishedChangeError
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.execution.context import run_parallel, run_sequential
from dbt.adapters.spark_mt.execution.executor import execute
from dbt.adapters.spark_mt.execution.ports import StepResult
from dbt.adapters.spark_mt.planning.steps import (
    CommitDefinition,
    Plan,
    PrepareStorage,
    Publish,
    Recluster,
    RecordJob,
    Register,
    VerifyRows,
)
from tests.unit.builders import QUERY, TABLE, resolve, stored

DEFINITION = stored(resolve(DeclaredDefinition(QUERY)))
PREPARE = PrepareStorage(DEFINITION, maps_names=False)
VERIFY = VerifyRows(DEFINITION)
COMMIT = CommitDefinition(DEFINITION, 1, {}, None)
PUBLISH = Publish(DEFINITION, None)
RECLUSTER = Recluster(DEFINITION)
REGISTER = Register(DEFINITION, 1, {}, None)
JOB = Job("j", TABLE, JobKind.MANUAL, JobStatus.FINISHED, 0, 0, Owner("h", 1), "REFRESH")
PLAN = Plan(TABLE, (PREPARE, VERIFY, COMMIT, PUBLISH, REGISTER), warnings=("planned",))


@dataclass
class Runner:
    """Remembers what was run and undone, and fails where configured."""

    failing: object = None
    error: Exception = field(
        default_factory=lambda: conditions.REFRESH_FAILED(table="t", problem="x")
    )
    done: list = field(default_factory=list)
    undone: list = field(default_factory=list)

    def run(self, step):
        if step is self.failing:
            raise self.error
        self.done.append(step)
        rows = 5 if step is COMMIT else 99
        return StepResult(rows, rows, {"s": rows}, (f"warning of {type(step).__name__}",))

    def undo(self, step):
        self.undone.append(step)


def test_steps_run_in_order_and_the_commits_facts_are_the_result():
    runner = Runner()
    result = execute(PLAN, runner)
    assert runner.done == [PREPARE, VERIFY, COMMIT, REGISTER, PUBLISH]
    assert (result.rows, result.committed_at_ms, result.positions) == (5, 5, {"s": 5})
    assert result.warnings[0] == "planned"
    assert len(result.warnings) == 6
    assert runner.undone == []


@pytest.mark.parametrize(
    ("failing", "undone"),
    [(PREPARE, [PREPARE]), (VERIFY, [VERIFY, PREPARE]), (COMMIT, [COMMIT, VERIFY, PREPARE])],
)
def test_what_ran_before_the_commit_is_undone_newest_first(failing, undone):
    runner = Runner(failing)
    with pytest.raises(RefreshFailedError):
        execute(PLAN, runner)
    assert runner.undone == undone


def test_after_the_commit_nothing_is_undone():
    runner = Runner(PUBLISH)
    with pytest.raises(UnfinishedChangeError) as error:
        execute(PLAN, runner)
    assert error.value.__cause__ is runner.error
    assert runner.undone == []


def test_the_registry_records_a_commit_whose_publication_failed():
    runner = Runner(PUBLISH)
    with pytest.raises(UnfinishedChangeError):
        execute(PLAN, runner)
    assert runner.done == [PREPARE, VERIFY, COMMIT, REGISTER]


def test_nothing_is_registered_after_a_failed_commit():
    runner = Runner(COMMIT)
    recorded = []
    with pytest.raises(RefreshFailedError):
        execute(PLAN, runner, lambda background, main: recorded.append((background, main)))
    assert runner.done == [PREPARE, VERIFY]
    assert recorded == []


def test_the_row_of_a_refresh_goes_with_that_of_its_table():
    runner = Runner()
    execute(PLAN, runner, finished=lambda committed: replace(JOB, rows=committed.rows))
    assert replace(REGISTER, job=replace(JOB, rows=5)) in runner.done


def test_the_row_of_a_refresh_goes_alone_where_its_table_has_none():
    runner = Runner()
    execute(Plan(TABLE, (COMMIT,)), runner, finished=lambda _: JOB)
    assert runner.done == [COMMIT, RecordJob(JOB)]


def test_rows_of_the_registry_are_written_in_parallel_with_steps_after_the_commit():
    """Each waits for the other, so that only two at the same time come to an end."""
    barrier = Barrier(2, timeout=10)

    class Meeting(Runner):
        def run(self, step):
            if step in (RECLUSTER, REGISTER):
                barrier.wait()
            return super().run(step)

    result = execute(Plan(TABLE, (COMMIT, RECLUSTER, REGISTER)), Meeting(), run_parallel)
    assert len(result.warnings) == 3
    assert not barrier.broken


@pytest.mark.parametrize("run_both", [run_sequential, run_parallel])
def test_the_registry_has_a_definition_when_it_is_published(run_both):
    """Or a crash in between would leave a table that looks finished and is not listed."""
    runner = Runner()
    execute(PLAN, runner, run_both)
    assert runner.done[-2:] == [REGISTER, PUBLISH]


def test_in_parallel_a_failing_row_is_a_warning_and_a_failing_publication_an_error():
    assert len(execute(PLAN, Runner(REGISTER), run_parallel).warnings) == 6
    runner = Runner(PUBLISH)
    with pytest.raises(UnfinishedChangeError):
        execute(PLAN, runner, run_parallel)
    assert REGISTER in runner.done, "it was waited for"


def test_the_registry_is_only_an_index():
    result = execute(PLAN, Runner(REGISTER))
    assert len(result.warnings) == 6
    assert result.rows == 5


def test_an_interruption_is_not_taken_for_a_failure():
    with pytest.raises(KeyboardInterrupt):
        execute(PLAN, Runner(COMMIT, KeyboardInterrupt()))


def test_an_empty_plan_does_nothing():
    assert execute(Plan(TABLE, ()), Runner()) == StepResult()
