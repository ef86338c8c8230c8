"""Refreshes on tables in memory: scheduled runs, what is never skipped, what cannot be pinned."""

from dataclasses import dataclass, replace
from datetime import datetime, timezone

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column, TableName
from dbt.adapters.spark_mt.definition.errors import (
    MaterializedTableError,
    NotMaterializedError,
    RefreshNotIncrementalError,
    RefreshSchemaError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.execution.ports import StepRunner
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from dbt.adapters.spark_mt.planning.steps import SCHEDULED, ApplyChanges, Fill
from dbt.adapters.spark_mt.strategies import differential
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import (
    DAILY,
    DAY_1,
    DAY_2,
    DAY_3,
    KEYS,
    ORDERS,
    SUMS,
    WIDER,
    create,
    or_alter,
    prepare,
    refresh,
)
from tests.support.errors import raises
from tests.unit.builders import columns

T = TableName("t")
CONTINUOUS = "FRESHNESS = INTERVAL '1' MINUTE"
FORMATTED = (
    "PARTITIONED BY (day) WITH ('partition.fields.day.date-formatter' = 'yyyy-MM-dd') "
    "FRESHNESS = INTERVAL '1' DAY"
)


@pytest.fixture
def tables():
    made = MemoryTables()
    prepare(made)
    return made


def scheduled(tables, at):
    moment = datetime.fromisoformat(at).replace(tzinfo=timezone.utc)
    requested = RequestedRefresh(trigger=SCHEDULED, scheduled_at=moment)
    return Refreshes(tables.environment).carry_out(T, requested)


def forced(tables):
    return Refreshes(tables.environment).carry_out(T, RequestedRefresh(force=True))


def test_a_scheduled_run_writes_the_partitions_of_its_period(tables):
    create(tables, DAILY, FORMATTED)
    tables.append("orders", [(1, DAY_1, 1), (1, DAY_2, 1), (1, DAY_3, 1)])
    found = scheduled(tables, f"{DAY_2} 00:00")
    assert found.partitions == (f"day='{DAY_1}'",)
    assert tables.rows("t") == [(DAY_1, 11), (DAY_2, 12)]
    scheduled(tables, "2025-03-04 00:00")
    assert tables.rows("t") == [(DAY_1, 11), (DAY_2, 12), (DAY_3, 1)]


def test_a_scheduled_run_runs_although_no_source_moved(tables):
    create(tables, DAILY, FORMATTED)
    tables.delete("t", "day", DAY_1)
    scheduled(tables, f"{DAY_2} 00:00")
    assert tables.rows("t") == [(DAY_1, 10), (DAY_2, 12)]


def test_a_table_without_formatters_is_refreshed_whole(tables):
    create(tables)
    assert scheduled(tables, f"{DAY_2} 00:00").status is RefreshResult.UP_TO_DATE
    tables.append("orders", [(3, DAY_3, 1)])
    found = scheduled(tables, f"{DAY_2} 00:00")
    assert (found.strategy, found.rows) == ("recompute", 3)
    assert tables.stored("t").last_refresh.trigger == "SCHEDULED"


def test_forced(tables):
    create(tables)
    before = tables.versions("t")
    assert forced(tables).status is RefreshResult.REFRESHED
    assert tables.versions("t") == [*before, tables.stored("t").version]


@pytest.mark.parametrize(
    "query",
    ["SELECT k, current_date() AS d FROM orders", "SELECT k, now() AS d FROM orders"],
)
def test_a_time_dependent_query_is_never_skipped(tables, query):
    tables.learn(query, "k INT; d DATE", lambda rows: [(row[0], None) for row in rows["orders"]])
    create(tables, query)
    assert refresh(tables).status is RefreshResult.REFRESHED


def test_a_source_without_versions_is_never_skipped(tables):
    catalog = tables.catalog
    catalog.create_unversioned(tables.name("orders"), columns(ORDERS), [(1, DAY_1, 1)])
    create(tables)
    assert refresh(tables).status is RefreshResult.REFRESHED
    catalog.append(tables.name("orders"), [(2, DAY_1, 2)])
    refresh(tables)
    assert tables.rows("t") == [(1, 1), (2, 2)]


def test_rows_are_those_of_the_recorded_positions_although_the_source_moves_on(tables):
    def slowly(rows):
        tables.append("orders", [(9, DAY_3, 9)])
        return [(k, amount) for k, _, amount in rows["orders"]]

    tables.learn(KEYS, "k INT; amount INT", slowly)
    create(tables, KEYS)
    assert tables.rows("t") == [(1, 5), (1, 10), (2, 7)]
    position = tables.stored("t").positions[str(tables.name("orders"))]
    assert position.version == tables.versions("orders")[0]
    assert refresh(tables).status is RefreshResult.REFRESHED


class TestWithoutPins:
    """Queries whose sources cannot be read as of a version."""

    def learn(self, tables, moves):
        def slowly(rows):
            if moves:
                moves.pop()
                tables.append("orders", [(9, DAY_3, 9)])
            return [(k, amount) for k, _, amount in rows["orders"]]

        tables.memory.register(KEYS, columns("k INT; amount INT"), slowly, pinnable=False)

    def test_they_are_computed_again_until_nothing_moved(self, tables):
        self.learn(tables, ["once", "twice"])
        create(tables, KEYS)
        position = tables.stored("t").positions[str(tables.name("orders"))]
        assert (position.version, len(tables.rows("t"))) == (tables.versions("orders")[2], 5)
        assert refresh(tables).status is RefreshResult.UP_TO_DATE

    def test_a_refresh_over_busy_sources_fails_and_keeps_the_rows(self, tables):
        moves = []
        self.learn(tables, moves)
        create(tables, KEYS)
        before = tables.stored("t")
        tables.append("orders", [(3, DAY_1, 3)])
        moves.extend(range(100))
        with raises(conditions.SOURCES_TOO_BUSY):
            refresh(tables)
        assert tables.stored("t") == before


def test_a_query_that_returns_other_columns_now_is_refused(tables):
    create(tables)
    tables.append("orders", [(3, DAY_3, 1)])
    tables.memory.register(SUMS, [Column("k", "INT")], lambda rows: rows["orders"])
    with pytest.raises(RefreshSchemaError):
        refresh(tables)
    assert tables.rows("t") == [(1, 15), (2, 7)]


def test_a_null_partition(tables):
    create(tables, DAILY, "PARTITIONED BY (day) REFRESH_MODE = FULL")
    tables.append("orders", [(1, None, 4), (1, DAY_1, 1)])
    found = refresh(tables, "PARTITION (day = NULL)")
    assert found.partitions == ("day=NULL",)
    assert sorted(tables.catalog.table(tables.name("t")).newest.rows, key=str) == [
        (DAY_1, 10),
        (DAY_2, 12),
        (None, 4),
    ]


def test_a_column_list_renames_and_sorts(tables):
    create(tables, WIDER, "(n BIGINT, k INT, total BIGINT)")
    assert tables.rows("t") == [(1, 2, 7), (2, 1, 15)]
    tables.append("orders", [(3, DAY_3, 1)])
    refresh(tables)
    assert (1, 3, 1) in tables.rows("t")


def test_only_a_healthy_materialized_table_is_refreshed(tables):
    with pytest.raises(TableNotFoundError):
        refresh(tables)
    tables.source("t", ORDERS, [])
    with pytest.raises(NotMaterializedError):
        scheduled(tables, DAY_1)
    tables.drop("t")
    create(tables, WIDER)
    tables.drop_column("t", "n")
    with raises(conditions.CHANGED_OUTSIDE):
        forced(tables)


def test_a_log_that_was_cleaned_up_costs_one_refresh(tables):
    create(tables)
    refresh(tables)
    tables.catalog.change(tables.name("t"), "OPTIMIZE", lambda snapshot: snapshot)
    tables.catalog.clean_log(tables.name("t"), keep=1)
    assert tables.stored("t").positions is None
    assert refresh(tables).status is RefreshResult.REFRESHED
    assert refresh(tables).status is RefreshResult.UP_TO_DATE
    assert or_alter(tables, WIDER).action is Action.ALTERED
    assert tables.stored("t").seq <= tables.stored("t").version + 1


@pytest.fixture
def any_size(monkeypatch):
    """Sources of any size are large enough for the strategy that derives changes."""
    monkeypatch.setattr(differential, "SMALLEST_SOURCES", 0)
    monkeypatch.setattr(differential, "slower", lambda *_: None)
    monkeypatch.setattr(differential, "SHORTEST_RECOMPUTE_S", 0)


def incremental(tables, option="auto"):
    """A table whose sources have enough rows for small changes."""
    tables.append("orders", [(k, DAY_1, k) for k in range(10, 40)])
    create(tables, SUMS, f"WITH ('incremental' = '{option}') {CONTINUOUS}")


@pytest.mark.usefixtures("any_size")
def test_a_small_change_is_applied_and_a_large_one_is_not(tables):
    incremental(tables)
    tables.append("orders", [(1, DAY_1, 5)])
    found = refresh(tables)
    assert (found.strategy, found.rows) == ("differential", 2)
    assert tables.stored("t").last_refresh.strategy == "differential"
    tables.append("orders", [(1, DAY_1, 1)] * 20)
    assert refresh(tables).strategy == "recompute"
    assert forced(tables).strategy == "recompute"


@pytest.mark.usefixtures("any_size")
def test_commits_repeat_how_long_the_other_strategies_took(tables):
    """So they do of what was measured in a process that had just started."""
    incremental(tables)
    for times in (1, 2):
        tables.append("orders", [(1, DAY_1, 5)])
        assert refresh(tables).strategy == "differential"
        last = tables.stored("t").last_refresh
        assert (last.repeated, last.is_cold) == (times, True)
        assert [(e.strategy, e.ago, e.is_cold) for e in last.earlier] == [
            ("recompute", times, True)
        ]
    forced(tables)
    last = tables.stored("t").last_refresh
    assert (last.strategy, last.repeated, last.is_cold) == ("recompute", 1, False)
    assert [(e.strategy, e.ago, e.is_cold) for e in last.earlier] == [("differential", 1, True)]


@pytest.mark.usefixtures("any_size")
def test_a_refresh_that_fails_is_not_one_after_which_a_process_is_warm(tables):
    incremental(tables)
    environment = tables.environment
    error = conditions.OUTCOME_UNKNOWN(table=T, gone="Spark", problem="gone")
    tables.environment = replace(environment, runner=NoChanges(environment.runner, error))
    tables.append("orders", [(1, DAY_1, 5)])
    for _ in range(5):
        with raises(conditions.OUTCOME_UNKNOWN):
            refresh(tables)
    tables.environment = environment
    refresh(tables)
    assert tables.stored("t").last_refresh.is_cold


@pytest.mark.usefixtures("any_size")
def test_rows_that_others_changed_are_computed_again(tables):
    incremental(tables)
    tables.delete("t", "k", 12)
    tables.append("orders", [(1, DAY_1, 5)])
    assert refresh(tables).strategy == "recompute"
    tables.append("orders", [(1, DAY_1, 5)])
    assert refresh(tables).strategy == "differential"
    assert (12, 12) in tables.rows("t")


@dataclass
class NoChanges:
    """A runner that cannot apply the change of a result."""

    runner: StepRunner
    error: MaterializedTableError

    def run(self, step):
        if isinstance(step, ApplyChanges):
            raise self.error
        return self.runner.run(step)

    def undo(self, step):
        self.runner.undo(step)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize(
    ("error", "strategy"),
    [
        (conditions.REFRESH_FAILED(table=T, problem="no such row"), "recompute"),
        (conditions.CONSTRAINT_VIOLATED(table=T, violations=["twice"]), "recompute"),
        (conditions.OUTCOME_UNKNOWN(table=T, gone="Spark", problem="gone"), None),
    ],
)
def test_a_change_that_cannot_be_applied_leads_to_a_recompute(tables, error, strategy):
    incremental(tables)
    tables.append("orders", [(1, DAY_1, 5)])
    environment = tables.environment
    tables.environment = replace(environment, runner=NoChanges(environment.runner, error))
    if strategy is None:
        with raises(conditions.OUTCOME_UNKNOWN):
            refresh(tables)
        return
    assert refresh(tables).strategy == strategy
    (job,) = environment.execution_context.log.jobs("spark_catalog", 0)[:1]
    assert job.reason.startswith("CHANGE_FAILED: ")


@pytest.mark.usefixtures("any_size")
def test_files_of_a_source_that_were_vacuumed_are_named_as_its_history(tables):
    incremental(tables)
    tables.append("orders", [(1, DAY_1, 5)])
    environment = tables.environment
    gone = conditions.SOURCE_FILES_GONE(table=T, sources="c.s.orders", problem="[FILE_NOT_FOUND] a")
    tables.environment = replace(environment, runner=NoChanges(environment.runner, gone))
    assert refresh(tables).strategy == "recompute"
    (job,) = environment.execution_context.log.jobs("spark_catalog", 0)[:1]
    assert job.reason.startswith("SOURCE_HISTORY_GONE")
    assert "FILE_NOT_FOUND" not in job.reason


ROWS = "SELECT k, amount FROM orders"
OF_MAP = "SELECT k, map(day, k) AS m FROM orders"


def test_strict_names_why_no_change_could_be_derived(tables):
    tables.learn(OF_MAP, "k INT; m MAP<STRING, INT>", lambda r: [row[:2] for row in r["orders"]])
    create(tables, OF_MAP, f"WITH ('incremental' = 'strict') {CONTINUOUS}")
    tables.delete("orders", "k", 1)
    with pytest.raises(RefreshNotIncrementalError) as caught:
        refresh(tables)
    found = [each.rpartition(" (")[2].strip(")") for each in caught.value.violations]
    assert found == ["INCOMPARABLE_TYPE"]


def test_strict_refuses_what_must_compute_all_rows(tables):
    incremental(tables, "strict")
    tables.append("orders", [(1, DAY_1, 1)] * 40)
    assert refresh(tables).strategy == "differential"
    tables.delete("t", "k", 12)
    tables.append("orders", [(1, DAY_1, 5)])
    rows = tables.rows("t")
    with pytest.raises(RefreshNotIncrementalError) as caught:
        refresh(tables)
    deleted = tables.versions("t")[-1]
    problem = f"others changed its rows in version {deleted} (FOREIGN_ROWS)"
    assert caught.value.violations == (problem,)
    assert tables.rows("t") == rows
    assert forced(tables).strategy == "recompute"
    assert (12, 12) in tables.rows("t")


def test_strict_refuses_a_query_that_must_compute_all_rows(tables):
    with raises(conditions.NOT_INCREMENTAL) as caught:
        create(tables, SUMS, "WITH ('incremental' = 'strict') REFRESH_MODE = FULL")
    assert caught.value.violations == ("REFRESH_MODE is FULL (FULL_MODE)",)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("option", ["auto", "strict", "off"])
def test_a_commit_that_changes_only_metadata_makes_no_table_compute_its_rows(tables, option):
    if option == "strict":
        incremental(tables, option)
    else:
        create(tables, SUMS, f"WITH ('incremental' = '{option}') {CONTINUOUS}")
    commits = len(tables.catalog.table(tables.name("t")).log)
    tables.set_property("orders", "note", "x")
    tables.memory.catalog.change(
        tables.name("orders"), "CHANGE COLUMN", lambda s: s.with_comments({"amount": "in cents"})
    )
    assert refresh(tables).status is RefreshResult.UP_TO_DATE
    assert len(tables.catalog.table(tables.name("t")).log) == commits
    tables.append("orders", [(1, DAY_1, 5)])
    assert refresh(tables).status is RefreshResult.REFRESHED


@pytest.mark.parametrize("column", ["input_file_name()", "_metadata.file_name", "rand()"])
def test_a_result_that_may_change_without_a_row_is_computed_after_any_commit(tables, column):
    query = f"SELECT k, {column} AS c FROM orders"
    tables.learn(query, "k INT; c STRING", lambda r: [(row[0], "a") for row in r["orders"]])
    create(tables, query, "FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL")
    tables.set_property("orders", "note", "x")
    assert refresh(tables).status is RefreshResult.REFRESHED


def test_under_a_baseline_the_positions_move_with_any_commit(tables):
    tables.learn(ROWS, "k INT; amount INT", lambda r: [(row[0], row[2]) for row in r["orders"]])
    create(tables, ROWS, f"{CONTINUOUS} START_MODE = FROM_NOW")
    tables.set_property("orders", "note", "x")
    assert refresh(tables).status is RefreshResult.REFRESHED
    assert refresh(tables).status is RefreshResult.UP_TO_DATE


def ends(tables, job_id):
    """Which ends of a job the log has had."""
    rows = tables.environment.execution_context.log.appended
    return [row.status.value for row in rows if row.job_id == job_id and row.ended_at_ms]


@dataclass
class Failing:
    """A runner whose first writes fail."""

    runner: StepRunner
    errors: list

    def run(self, step):
        if self.errors and isinstance(step, Fill | ApplyChanges):
            raise self.errors.pop(0)
        return self.runner.run(step)

    def undo(self, step):
        self.runner.undo(step)


CONFLICT = conditions.CONCURRENT_CHANGE(table=T)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize(
    ("failures", "found"),
    [
        ([CONFLICT], ["FINISHED"]),
        ([CONFLICT] * 5, ["CANCELED"]),
        ([conditions.REFRESH_FAILED(table=T, problem="no such row"), CONFLICT], ["FINISHED"]),
    ],
    ids=["another writer was first", "five times", "the change cannot be applied"],
)
def test_a_job_ends_once_however_often_it_is_tried(tables, failures, found):
    incremental(tables)
    tables.append("orders", [(1, DAY_1, 5)])
    environment = tables.environment
    runner = Failing(environment.runner, list(failures))
    refreshes = Refreshes(replace(environment, runner=runner))
    if found == ["FINISHED"]:
        refreshes.carry_out(T, RequestedRefresh(refresh_id="one job"))
    else:
        with raises(conditions.CONCURRENT_CHANGE):
            refreshes.carry_out(T, RequestedRefresh(refresh_id="one job"))
    assert ends(tables, "one job") == found


def test_a_strict_refresh_whose_change_cannot_be_applied_has_failed(tables):
    create(tables, SUMS, f"WITH ('incremental' = 'strict') {CONTINUOUS}")
    tables.append("orders", [(1, DAY_1, 5)])
    environment = tables.environment
    refused = conditions.REFRESH_FAILED(table=T, problem="no such row")
    runner = Failing(environment.runner, [refused])
    with pytest.raises(RefreshNotIncrementalError):
        Refreshes(replace(environment, runner=runner)).carry_out(
            T, RequestedRefresh(refresh_id="one job")
        )
    assert ends(tables, "one job") == ["FAILED"]
