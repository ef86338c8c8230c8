"""Verification of refreshes in memory: right and wrong rows, later commits, repairs."""

from dataclasses import replace
from threading import Thread
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.job import JobKind, JobStatus
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.definition.verification import (
    RowDifference,
    Side,
    VerificationResult,
    is_selected,
)
from dbt.adapters.spark_mt.execution import verification
from dbt.adapters.spark_mt.execution.checks import health_problems
from dbt.adapters.spark_mt.execution.ports import Committed
from dbt.adapters.spark_mt.execution.verification import (
    QueuedVerifications,
    VerificationQueue,
    verify,
)
from dbt.adapters.spark_mt.planning.steps import Fill
from dbt.adapters.spark_mt.strategies import strategy
from tests.behaviour.harness import ConflictingRunner
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import (
    CONTINUOUS,
    DAY_3,
    KEYS,
    SUMS,
    create,
    or_alter,
    prepare,
    refresh,
)
from tests.support.memory import runner as memory_runner

STRICT = f"WITH ('verify' = '1', 'incremental' = 'strict') {CONTINUOUS}"
ADDED = f"WITH ('verify' = '1') {CONTINUOUS}"
ALL_RIGHT = VerificationResult.EQUAL


@pytest.fixture
def tables():
    made = MemoryTables()
    prepare(made)
    return made


@pytest.fixture
def waiting(tables):
    """Let verifications wait until the test runs them."""
    works = []
    queue = VerificationQueue(works.append)
    ports = QueuedVerifications(queue, lambda: tables.environment)
    tables.environment = replace(tables.environment, verifications=ports)

    def run():
        while works:
            works.pop(0)()

    return run


@pytest.fixture
def wrong_rule(monkeypatch):
    """A rule by which a refresh by changes loses the last row of the table."""
    right = memory_runner._changed

    def plant():
        monkeypatch.setattr(
            memory_runner, "_changed", lambda step, s, rows: right(step, s, rows[:-1])
        )

    return plant


def jobs(tables):
    """The verifications, the newest first."""
    found = tables.memory.log.jobs("spark_catalog", 0)
    return [job for job in found if job.kind is JobKind.VERIFICATION]


def found(tables):
    return [job.verification.result for job in jobs(tables)]


def grow(tables, *amounts):
    for amount in amounts or (100,):
        tables.append("orders", [(3, DAY_3, amount)])


def repairs(tables):
    return [j for j in tables.memory.log.jobs("spark_catalog", 0) if is_repair(j)]


def is_repair(job):
    return job.trigger == "VERIFY" and job.kind is not JobKind.VERIFICATION


@pytest.mark.parametrize(("query", "clauses"), [(SUMS, STRICT), (KEYS, ADDED)])
def test_right_rows_are_found_equal(tables, query, clauses):
    create(tables, query, clauses)
    assert found(tables) == []  # all rows were computed
    grow(tables)
    outcome = refresh(tables)
    (job,) = jobs(tables)
    assert job.verification.result is ALL_RIGHT
    assert job.verification.version == tables.stored("t").version
    assert job.verification.refresh_id == outcome.refresh_id
    assert (job.status, job.error, job.rows) == (JobStatus.FINISHED, "", None)
    assert job.strategy == f"incremental/{outcome.strategy}"
    assert health_problems(tables.environment, TableName("t")) == ()


@pytest.mark.parametrize(
    ("query", "clauses", "lost"),
    [(SUMS, STRICT, '{"k": 3, "total": 100}'), (KEYS, ADDED, '{"k": 3, "amount": 100}')],
)
def test_a_wrong_rule_is_found_repaired_and_shown(tables, wrong_rule, query, clauses, lost):
    create(tables, query, clauses)
    grow(tables)
    wrong_rule()
    outcome = refresh(tables)
    assert outcome.rows is not None  # the refresh itself has succeeded
    (job,) = jobs(tables)
    verification = job.verification
    assert verification.result is VerificationResult.DIFFERENT
    assert (verification.rows, verification.total) == ((RowDifference(Side.MISSING, lost, 1),), 1)
    assert (verification.repaired, verification.repair_problem) == (True, "")
    assert job.status is JobStatus.FAILED
    assert lost in job.error
    (repair,) = repairs(tables)
    assert (repair.job_id, repair.status) == (verification.repair_id, JobStatus.FINISHED)
    assert repair.strategy == "incremental/recompute"
    assert (3, 100) in tables.rows("t")
    (problem,) = health_problems(tables.environment, TableName("t"))
    assert lost in problem
    assert verification.repair_id in problem


def test_a_finding_is_shown_until_rows_are_equal_again(tables, wrong_rule, monkeypatch):
    create(tables, SUMS, STRICT)
    grow(tables)
    wrong_rule()
    refresh(tables)
    assert health_problems(tables.environment, TableName("t"))
    monkeypatch.undo()
    grow(tables)
    refresh(tables)
    assert found(tables) == [ALL_RIGHT, VerificationResult.DIFFERENT]
    assert health_problems(tables.environment, TableName("t")) == ()


def test_a_changed_definition_ends_a_finding(tables, wrong_rule):
    create(tables, SUMS, STRICT)
    grow(tables)
    wrong_rule()
    refresh(tables)
    or_alter(tables, SUMS, f"WITH ('incremental' = 'off') {CONTINUOUS}")
    assert health_problems(tables.environment, TableName("t")) == ()


def test_a_row_that_another_program_removed_is_found(tables):
    create(tables, KEYS, ADDED)
    tables.delete("t", "amount", 10)
    grow(tables)
    refresh(tables)
    (job,) = jobs(tables)
    assert [row.side for row in job.verification.rows] == [Side.MISSING]
    assert (1, 10) in tables.rows("t")


def test_commits_that_follow_do_not_matter(tables, waiting):
    create(tables, KEYS, ADDED)
    grow(tables, 1)
    refresh(tables)
    version = tables.stored("t").version
    grow(tables, 2)
    tables.delete("orders", "amount", 1)
    tables.append("t", [(9, 9)])
    waiting()
    (job,) = jobs(tables)
    assert (job.verification.version, job.verification.result) == (version, ALL_RIGHT)


def test_a_wrong_commit_is_repaired_after_another_refresh(tables, waiting, wrong_rule, monkeypatch):
    create(tables, SUMS, STRICT)
    grow(tables, 1)
    wrong_rule()
    refresh(tables)
    version = tables.stored("t").version
    monkeypatch.undo()
    grow(tables, 2)
    others = tables.environment.runner
    runner = ConflictingRunner(others, Fill, lambda: refresh_by(tables, others))
    tables.environment = replace(tables.environment, runner=runner)
    waiting()
    (job, *_) = sorted(jobs(tables), key=lambda job: job.verification.version)
    assert (job.verification.version, job.verification.repaired) == (version, True)
    assert tables.rows("t") == [(1, 15), (2, 7), (3, 3)]


def refresh_by(tables, runner):
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH", runner)


def test_up_to_three_rows_are_kept(tables, monkeypatch):
    create(tables, KEYS, ADDED)
    right = memory_runner._changed
    monkeypatch.setattr(memory_runner, "_changed", lambda step, s, _: right(step, s, ()))
    grow(tables, *range(50, 60))
    refresh(tables)
    (job,) = jobs(tables)
    assert (len(job.verification.rows), job.verification.total) == (3, 13)
    assert "10 more" in job.error


def test_sources_that_cannot_be_read_any_more(tables, waiting):
    create(tables, KEYS, ADDED)
    grow(tables)
    refresh(tables)
    tables.source("orders", "k INT; day STRING; amount INT", [(5, DAY_3, 5)])  # created again
    waiting()
    (job,) = jobs(tables)
    assert job.verification.result is VerificationResult.SKIPPED
    assert "cannot be read any more" in job.verification.problem
    assert (job.status, job.error) == (JobStatus.SKIPPED, "")
    assert "cannot be read any more" in job.reason
    assert health_problems(tables.environment, TableName("t")) == ()
    assert repairs(tables) == []


@pytest.mark.parametrize("again", [False, True])
def test_a_table_that_was_dropped(tables, waiting, again):
    create(tables, KEYS, ADDED)
    grow(tables)
    refresh(tables)
    tables.execute("DROP MATERIALIZED TABLE t")
    if again:
        create(tables, KEYS, ADDED)
    waiting()
    (job,) = jobs(tables)
    assert job.verification.problem == "the table was dropped or created again"


MORE = "SELECT k, amount + 1 AS amount FROM orders"
BY_KEY = "(PRIMARY KEY (k, amount) NOT ENFORCED)"


@pytest.mark.parametrize(("columns", "strategy"), [("", "append"), (BY_KEY, "merge")])
@pytest.mark.parametrize("is_wrong", [False, True])
def test_a_table_with_rows_of_an_older_query(tables, wrong_rule, columns, strategy, is_wrong):
    tables.learn(MORE, "k INT; amount INT", lambda r: [(k, a + 1) for k, _, a in r["orders"]])
    create(tables, KEYS, f"{columns} {ADDED}")
    or_alter(tables, MORE, f"{columns} {ADDED} START_MODE = FROM_NOW")
    grow(tables)
    if is_wrong:
        wrong_rule()
    assert refresh(tables).strategy == strategy
    (job,) = jobs(tables)
    if not is_wrong:
        assert job.verification.result is ALL_RIGHT
        return
    assert job.verification.result is VerificationResult.DIFFERENT
    assert "CREATE OR REPLACE" in job.verification.repair_problem  # older rows would be lost
    assert tables.stored("t").definition.status is RefreshStatus.ACTIVATED
    assert repairs(tables) == []


def test_a_repair_that_fails_is_shown(tables, wrong_rule):
    create(tables, SUMS, STRICT)
    grow(tables)
    wrong_rule()
    failing = Failing(tables.environment.runner)
    tables.environment = replace(
        tables.environment,
        runner=failing,
        verifications=QueuedVerifications(
            VerificationQueue(lambda work: work()), lambda: tables.environment
        ),
    )
    refresh(tables)
    (job,) = jobs(tables)
    assert not job.verification.repaired
    assert "no space" in job.verification.repair_problem
    assert any("no space" in p for p in health_problems(tables.environment, TableName("t")))


class Failing:
    """Fails at each step that computes all rows."""

    def __init__(self, runner):
        self._runner = runner

    def run(self, step):
        if isinstance(step, Fill):
            raise conditions.REFRESH_FAILED(table="t", problem="no space")
        return self._runner.run(step)

    def undo(self, step):
        self._runner.undo(step)


def test_a_share_of_refreshes_is_verified(tables):
    create(tables, KEYS, f"WITH ('verify' = '0.3') {CONTINUOUS}")
    identity, versions = tables.stored("t").definition.table_id, []
    for amount in range(30):
        grow(tables, amount)
        refresh(tables)
        versions.append(tables.stored("t").version)
    expected = [version for version in versions if is_selected(identity, version, 0.3)]
    assert sorted(job.verification.version for job in jobs(tables)) == expected
    assert 0 < len(expected) < 30


@pytest.mark.parametrize("clauses", [CONTINUOUS, f"WITH ('verify' = '0') {CONTINUOUS}"])
def test_by_default_nothing_is_verified(tables, clauses):
    create(tables, KEYS, clauses)
    grow(tables)
    refresh(tables)
    assert jobs(tables) == []


def test_a_refresh_without_changes_is_not_verified(tables):
    create(tables, KEYS, ADDED)
    refresh(tables)
    refresh(tables)
    assert jobs(tables) == []


def test_a_verification_that_cannot_begin_fails_no_refresh(tables):
    def refuse(_):
        raise RuntimeError("can't start new thread")  # noqa: EM101, TRY003

    queue = VerificationQueue(refuse)
    ports = QueuedVerifications(queue, lambda: tables.environment)
    tables.environment = replace(tables.environment, verifications=ports)
    create(tables, KEYS, ADDED)
    for amount in (1, 2):
        grow(tables, amount)
        assert refresh(tables).rows is not None
    queue.settle()
    assert jobs(tables) == []


def test_an_unexpected_error_is_a_reason_to_skip(tables, waiting, monkeypatch):
    create(tables, KEYS, ADDED)
    grow(tables)
    refresh(tables)

    def broken(*_):
        raise OSError("disk")  # noqa: EM101

    monkeypatch.setattr(type(tables.environment.observer), "differences", broken)
    waiting()
    assert jobs(tables)[0].verification.problem == "OSError: disk"


def test_a_cancelled_verification_leaves_no_row(tables, waiting, monkeypatch):
    create(tables, KEYS, ADDED)
    grow(tables)
    refresh(tables)
    context = replace(tables.environment.execution_context, is_cancellation=lambda _: True)
    tables.environment = replace(tables.environment, execution_context=context)

    def broken(*_):
        raise OSError("cancelled")  # noqa: EM101

    monkeypatch.setattr(type(tables.environment.observer), "differences", broken)
    waiting()
    assert jobs(tables) == []


def commit(version, name="t"):
    """A commit of which the queue knows no more than this."""
    return Committed(SimpleNamespace(name=TableName(name), version=version), None)


@pytest.mark.parametrize(("trigger", "due"), [("REFRESH", True), (verification.TRIGGER, False)])
def test_what_repairs_a_table_is_not_verified_again(trigger, due):
    definition = SimpleNamespace(table_id="t", declared=SimpleNamespace(options=(("verify", "1"),)))
    table = SimpleNamespace(definition=definition, version=3)
    run = SimpleNamespace(trigger=trigger, choice=SimpleNamespace(write=strategy.Write.ADD))
    assert verification.is_due(Committed(table, run)) is due


class TestQueue:
    """One verification at a time; the newest commit of a table waits."""

    def test_the_newest_commit_of_a_table_waits(self):
        works, seen = [], []
        queue = VerificationQueue(works.append, lambda _, c: seen.append(c.table.version))
        for version in (1, 2, 3):
            queue.submit(commit(version), lambda: None)
        queue.submit(commit(7, "u"), lambda: None)
        assert len(works) == 1
        works[0]()
        assert seen == [3, 7]
        queue.submit(commit(4), lambda: None)
        works[1]()
        assert seen == [3, 7, 4]

    def test_one_that_fails_delays_no_other(self):
        works, seen = [], []

        def fails(_, committed):
            seen.append(committed.table.version)
            raise KeyError(committed.table.version)

        queue = VerificationQueue(works.append, fails)
        queue.submit(commit(1), lambda: None)
        queue.submit(commit(2, "u"), lambda: None)
        works[0]()
        assert seen == [1, 2]
        queue.settle()

    def test_settling_waits_for_what_was_queued(self):
        threads, seen = [], []

        def start(work):
            threads.append(Thread(target=work))
            threads[-1].start()

        queue = VerificationQueue(start, lambda _, c: seen.append(c.table.version))
        for version in (1, 2):
            queue.submit(commit(version), lambda: None)
            queue.settle(TableName("t"))
            assert seen[-1] == version
        for thread in threads:
            thread.join()

    def test_what_was_cleared_is_not_verified(self):
        works, seen = [], []
        queue = VerificationQueue(works.append, lambda _, c: seen.append(c.table.version))
        mine, other = (lambda: None), (lambda: None)
        queue.submit(commit(1), mine)
        queue.submit(commit(2, "u"), other)
        queue.clear(mine)
        works[0]()
        assert seen == [2]


def analyzed(tables, table):
    return tables.environment.stored_analyzer.analyze_stored(table.definition.resolved)


def test_verify_returns_what_it_recorded(tables):
    create(tables, KEYS, ADDED)
    grow(tables)
    table = tables.stored("t")
    run = tables.environment.run("REFRESH", analyzed(tables, table), table.definition.resolved)
    assert verify(tables.environment, Committed(table, run)) == jobs(tables)[0].verification
