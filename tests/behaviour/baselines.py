"""Guarantees of a table that does not count its sources from their beginning.

Every source row is known and counted: each is in the table exactly once, or it is left out by what
the statement said. A subclass gives the fixture `tables`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.checks import difference
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from dbt.adapters.spark_mt.planning.steps import ApplyChanges
from tests.behaviour.harness import ConflictingRunner
from tests.support.errors import raises

if TYPE_CHECKING:
    from tests.behaviour.harness import Tables

EVENTS = "id INT; k INT; v INT"
ROWS = "SELECT id, k, v FROM events"
WIDER_ROWS = "SELECT id, k, v, v * 2 AS twice FROM events"
BIG_ROWS = "SELECT id, k, v FROM events WHERE v > 10"
SUMS = "SELECT k, sum(v) AS total FROM events GROUP BY k"
WIDER_SUMS = "SELECT k, sum(v) AS total, count(*) AS n FROM events GROUP BY k"
DISTINCT = "SELECT DISTINCT k FROM events"
ALSO_DISTINCT = "SELECT k FROM (SELECT DISTINCT k FROM events)"
NAMED = (
    "SELECT id, name FROM events JOIN names FOR SYSTEM_TIME AS OF proctime() ON events.k = names.k"
)
JOINED = "SELECT id, name FROM events JOIN names ON events.k = names.k"
TWO = "SELECT id, k, v FROM events UNION ALL SELECT id, k, v FROM more"
LIVE = "FRESHNESS = INTERVAL '1' MINUTE"
BY_ID = "(PRIMARY KEY (id) NOT ENFORCED)"
BY_K = "(PRIMARY KEY (k) NOT ENFORCED)"
NOW = "START_MODE = FROM_NOW"
RESUME = "START_MODE = RESUME_OR_FROM_BEGINNING"


VIEWED = "SELECT id, k, v FROM big"
BIG = "SELECT id, k, v FROM events WHERE v > 15"


def _sums(rows):
    totals = Counter()
    for _, k, v in rows["events"]:
        totals[k] += v
    return totals.items()


def _wider_sums(rows):
    counts = Counter(k for _, k, _ in rows["events"])
    return [(k, total, counts[k]) for k, total in _sums(rows)]


def _named(rows):
    names = dict(rows["names"])
    return [(id_, names[k]) for id_, k, _ in rows["events"] if k in names]


def prepare(tables: Tables) -> None:
    """Create the sources and record what the queries return."""
    tables.source("events", EVENTS, [(1, 1, 10), (2, 1, 20), (3, 2, 30)])
    tables.learn(ROWS, EVENTS, lambda r: r["events"])
    tables.learn(
        WIDER_ROWS, f"{EVENTS}; twice INT", lambda r: [(*e, e[2] * 2) for e in r["events"]]
    )
    tables.learn(BIG_ROWS, EVENTS, lambda r: [e for e in r["events"] if e[2] > 10])
    tables.learn(SUMS, "k INT; total BIGINT", _sums)
    tables.learn(WIDER_SUMS, "k INT; total BIGINT; n BIGINT", _wider_sums)
    for query in DISTINCT, ALSO_DISTINCT:
        tables.learn(query, "k INT", lambda r: {(e[1],) for e in r["events"]})
    for query in NAMED, JOINED:
        tables.learn(query, "id INT; name STRING", _named)
    tables.learn(BIG, EVENTS, lambda r: [e for e in r["events"] if e[2] > 15])
    tables.learn(VIEWED, EVENTS, lambda r: r["big"])
    tables.learn(TWO, EVENTS, lambda r: [*r["events"], *r["more"]])


def create(tables: Tables, query: str = ROWS, clauses: str = "", columns: str = "", form="CREATE"):
    """Create the table `t`, CONTINUOUS, and return the outcome."""
    statement = f"{form} MATERIALIZED TABLE t {columns} {LIVE} {clauses} AS {query}"
    result = tables.execute(statement)
    assert result.outcome is not None
    return result.outcome


def or_alter(tables: Tables, query: str = ROWS, clauses: str = "", columns: str = ""):
    """Bring the table `t` in line with a statement."""
    return create(tables, query, clauses, columns, "CREATE OR ALTER")


def equals_its_query(tables: Tables) -> bool:
    """Whether the table `t` holds what it kept and what its query says of the rest."""
    tables.forget()
    found = difference(tables.environment, TableName("t"), 5)
    assert found.baseline
    return found.is_equal


def refresh(tables: Tables):
    """Refresh the table `t`."""
    outcome = tables.execute("ALTER MATERIALIZED TABLE t REFRESH").outcome
    assert outcome is not None
    return outcome.refresh


class Baselines:
    """The guarantees."""

    @pytest.fixture(autouse=True)
    def _prepared(self, tables):
        prepare(tables)

    def test_from_now_begins_empty_and_takes_each_new_row_once(self, tables):
        assert create(tables, clauses=NOW).action is Action.CREATED
        assert tables.rows("t") == []
        assert refresh(tables).status is RefreshResult.UP_TO_DATE
        tables.append("events", [(4, 2, 40), (4, 2, 40)])
        found = refresh(tables)
        assert (found.strategy, found.rows) == ("append", 2)
        tables.append("events", [(5, 3, 50)])
        refresh(tables)
        assert refresh(tables).status is RefreshResult.UP_TO_DATE
        assert tables.rows("t") == [(4, 2, 40), (4, 2, 40), (5, 3, 50)]
        baseline = tables.stored("t").definition.baseline
        assert (baseline.kept_version, baseline.reason) == (None, "START_MODE = FROM_NOW")
        assert "START_MODE = FROM_NOW" in found.note

    def test_groups_from_now_count_only_what_came_since(self, tables):
        """Not all of a group that is touched: totals of a window and of all time would mix."""
        outcome = create(tables, SUMS, NOW, BY_K)
        retention = tables.format_of("events").log_retention
        assert any(retention in warning for warning in outcome.warnings)
        tables.append("events", [(4, 1, 1), (5, 1, 2)])
        assert refresh(tables).strategy == "window"
        tables.append("events", [(6, 1, 4)])
        refresh(tables)
        assert tables.rows("t") == [(1, 7)]
        assert equals_its_query(tables)

    def test_rows_with_a_key_from_now_follow_changes_of_old_rows(self, tables):
        create(tables, clauses=NOW, columns=BY_ID)
        tables.append("events", [(4, 2, 40), (5, 2, 50)])
        assert refresh(tables).strategy == "merge"
        tables.delete("events", "id", 4)
        tables.delete("events", "id", 1)
        assert refresh(tables).strategy == "merge"
        assert tables.rows("t") == [(5, 2, 50)]
        assert equals_its_query(tables)

    def test_resume_keeps_rows_and_applies_the_new_query_to_what_came_since(self, tables):
        create(tables)
        tables.append("events", [(4, 2, 40), (5, 2, 5)])
        outcome = or_alter(tables, BIG_ROWS, RESUME)
        assert (outcome.action, outcome.refresh.rows) == (Action.ALTERED, 1)
        kept = [(1, 1, 10), (2, 1, 20), (3, 2, 30)]
        assert tables.rows("t") == [*kept, (4, 2, 40)]
        tables.append("events", [(6, 2, 6), (7, 2, 70)])
        refresh(tables)
        assert tables.rows("t") == [*kept, (4, 2, 40), (7, 2, 70)]
        assert tables.stored("t").definition.baseline.keeps_rows
        assert equals_its_query(tables)
        tables.append("t", [(8, 8, 8)])
        assert not equals_its_query(tables)

    def test_an_appended_column_is_null_in_kept_rows(self, tables):
        create(tables)
        tables.append("events", [(4, 2, 40)])
        or_alter(tables, WIDER_ROWS, RESUME)
        tables.append("events", [(5, 2, 50)])
        refresh(tables)
        assert sorted(tables.rows("t"), key=repr) == [
            (1, 1, 10, None),
            (2, 1, 20, None),
            (3, 2, 30, None),
            (4, 2, 40, 80),
            (5, 2, 50, 100),
        ]

    def test_resume_of_groups_computes_touched_groups_whole(self, tables):
        create(tables, SUMS, columns=BY_K)
        tables.append("events", [(4, 2, 40)])
        outcome = or_alter(tables, WIDER_SUMS, RESUME, BY_K)
        assert outcome.refresh.strategy == "merge"
        assert sorted(tables.rows("t"), key=repr) == [(1, 30, None), (2, 70, 2)]
        tables.delete("events", "k", 2)
        tables.append("events", [(5, 3, 50)])
        refresh(tables)
        assert sorted(tables.rows("t"), key=repr) == [(1, 30, None), (3, 50, 1)]
        assert equals_its_query(tables)

    def test_from_now_keeps_rows_and_names_what_is_skipped(self, tables):
        create(tables)
        tables.append("events", [(4, 2, 40)])
        outcome = or_alter(tables, BIG_ROWS, NOW)
        assert any("not processed" in warning for warning in outcome.warnings)
        tables.append("events", [(5, 2, 50)])
        refresh(tables)
        assert tables.rows("t") == [(1, 1, 10), (2, 1, 20), (3, 2, 30), (5, 2, 50)]

    def test_a_start_mode_changed_alone_acts_unless_it_resumes(self, tables):
        create(tables)
        tables.append("events", [(4, 2, 40)])
        assert or_alter(tables, clauses=RESUME).refresh is None
        assert tables.stored("t").definition.baseline is None
        or_alter(tables, clauses=NOW)
        assert tables.stored("t").definition.baseline.keeps_rows
        assert refresh(tables).status is RefreshResult.UP_TO_DATE
        outcome = or_alter(tables, clauses="START_MODE = FROM_BEGINNING")
        assert outcome.refresh.rows == 4
        assert tables.stored("t").definition.baseline is None
        assert len(tables.rows("t")) == 4

    def test_from_an_instant_with_a_key_replaces_what_is_touched(self, tables):
        create(tables, columns=BY_ID)
        tables.append("events", [(4, 2, 40)])
        outcome = or_alter(tables, WIDER_ROWS, "START_MODE = FROM_NOW(INTERVAL '1' DAY)", BY_ID)
        assert any("begins after" in warning for warning in outcome.warnings)
        assert tables.rows("t") == [(1, 1, 10, 20), (2, 1, 20, 40), (3, 2, 30, 60), (4, 2, 40, 80)]
        assert tables.stored("t").definition.resolved.start_mode.instant_ms

    def test_from_an_instant_without_a_key_would_double_rows(self, tables):
        create(tables)
        before = tables.stored("t")
        with raises(conditions.UNSUPPORTED_START_MODE_CHANGE) as caught:
            or_alter(tables, BIG_ROWS, "START_MODE = FROM_NOW(INTERVAL '1' DAY)")
        assert "doubled" in caught.value.parameters["problem"]
        assert tables.stored("t") == before

    def test_from_an_instant_fills_an_empty_table(self, tables):
        create(tables, clauses=NOW)
        or_alter(tables, BIG_ROWS, "START_MODE = FROM_NOW(INTERVAL '1' DAY)")
        assert tables.rows("t") == [(2, 1, 20), (3, 2, 30)]
        tables.append("events", [(4, 2, 40), (5, 2, 5)])
        refresh(tables)
        assert tables.rows("t") == [(2, 1, 20), (3, 2, 30), (4, 2, 40)]

    def test_a_query_over_all_rows_cannot_keep_some(self, tables):
        create(tables, DISTINCT)
        before = tables.stored("t")
        for mode in (NOW, RESUME):
            with raises(conditions.UNSUPPORTED_START_MODE_CHANGE) as caught:
                or_alter(tables, ALSO_DISTINCT, mode)
            assert "DISTINCT" in caught.value.parameters["problem"]
        assert tables.stored("t") == before

    def test_groups_without_a_key_cannot_keep_rows(self, tables):
        create(tables, SUMS)
        with raises(conditions.UNSUPPORTED_START_MODE_CHANGE) as caught:
            or_alter(tables, WIDER_SUMS, RESUME)
        assert "PRIMARY KEY" in caught.value.parameters["problem"]

    def test_rows_that_go_suspend_a_table_without_a_key(self, tables):
        create(tables, clauses=NOW)
        tables.append("events", [(4, 2, 40)])
        or_alter(tables, BIG_ROWS, RESUME)
        tables.delete("events", "id", 1)
        rows = tables.rows("t")
        for _ in range(2):
            with raises(conditions.SOURCE_REWRITTEN):
                refresh(tables)
        definition = tables.stored("t").definition
        assert definition.status is RefreshStatus.SUSPENDED
        assert "events" in definition.status_reason
        assert tables.rows("t") == rows
        outcome = or_alter(tables, BIG_ROWS, "START_MODE = FROM_BEGINNING")
        assert outcome.refresh.rows == 3
        assert tables.stored("t").definition.status is RefreshStatus.ACTIVATED

    def test_rows_added_and_deleted_since_the_baseline_do_not_count(self, tables):
        create(tables, clauses=NOW)
        tables.append("events", [(4, 2, 40), (5, 2, 50)])
        refresh(tables)
        tables.delete("events", "id", 4)
        assert refresh(tables).strategy == "window"
        tables.append("events", [(6, 2, 60)])
        assert refresh(tables).strategy == "append"
        assert tables.rows("t") == [(5, 2, 50), (6, 2, 60)]

    def test_resume_is_refused_where_unrecorded_rows_changed(self, tables):
        create(tables)
        tables.delete("events", "id", 1)
        with raises(conditions.UNSUPPORTED_START_MODE_CHANGE) as caught:
            or_alter(tables, BIG_ROWS, RESUME)
        assert "events" in caught.value.parameters["problem"]
        assert tables.stored("t").definition.status is RefreshStatus.ACTIVATED

    def test_resume_falls_back_where_a_source_is_new_to_the_query(self, tables):
        create(tables)
        tables.source("more", EVENTS, [(9, 9, 90)])
        outcome = or_alter(tables, TWO, RESUME)
        assert any("cannot resume" in warning for warning in outcome.warnings)
        assert outcome.refresh.rows == 4
        assert tables.stored("t").definition.baseline is None
        tables.source("events", EVENTS, [(1, 1, 11)])
        outcome = or_alter(tables, BIG_ROWS, "START_MODE = RESUME_OR_FROM_NOW")
        assert any("created again" in warning for warning in outcome.warnings)
        assert len(tables.rows("t")) == 4
        tables.append("events", [(2, 1, 22)])
        refresh(tables)
        assert (2, 1, 22) in tables.rows("t")
        assert (1, 1, 11) not in tables.rows("t")

    def test_a_recreated_source_suspends_the_table(self, tables):
        create(tables, clauses=NOW)
        tables.source("events", EVENTS, [(7, 7, 70)])
        with raises(conditions.SOURCE_RECREATED):
            refresh(tables)
        assert tables.stored("t").definition.status is RefreshStatus.SUSPENDED
        assert tables.rows("t") == []

    def test_a_table_that_is_looked_up_is_read_whole_and_not_followed(self, tables):
        tables.source("names", "k INT; name STRING", [(1, "one")])
        create(tables, NAMED, NOW)
        tables.append("names", [(2, "two")])
        assert refresh(tables).status is RefreshResult.UP_TO_DATE
        tables.append("events", [(4, 2, 40), (5, 1, 50), (6, 9, 60)])
        refresh(tables)
        assert tables.rows("t") == [(4, "two"), (5, "one")]

    def test_rows_are_followed_through_views(self, tables):
        tables.view("big", BIG)
        create(tables, VIEWED, NOW)
        tables.append("events", [(4, 2, 40), (5, 2, 5)])
        assert refresh(tables).strategy == "append"
        assert tables.rows("t") == [(4, 2, 40)]
        tables.view("big", BIG_ROWS)
        tables.append("events", [(6, 2, 12)])
        assert refresh(tables).strategy == "window"
        assert tables.rows("t") == [(4, 2, 40), (6, 2, 12)]
        assert refresh(tables).status is RefreshResult.UP_TO_DATE

    def test_rows_from_before_the_start_take_no_part_in_joins(self, tables):
        tables.source("names", "k INT; name STRING", [(1, "one")])
        outcome = create(tables, JOINED, NOW)
        assert any("no part in its joins" in warning for warning in outcome.warnings)
        tables.append("events", [(4, 1, 40), (5, 2, 50)])
        tables.append("names", [(2, "two")])
        refresh(tables)
        assert tables.rows("t") == [(5, "two")]

    def test_a_race_applies_changes_once(self, tables):
        create(tables, clauses=NOW)
        tables.append("events", [(4, 2, 40)])
        runner = ConflictingRunner(tables.environment.runner, ApplyChanges, lambda: refresh(tables))
        outcome = tables.execute("ALTER MATERIALIZED TABLE t REFRESH", runner).outcome
        assert outcome.refresh.status is RefreshResult.UP_TO_DATE
        assert tables.rows("t") == [(4, 2, 40)]
        tables.append("events", [(5, 2, 50)])
        runner = ConflictingRunner(
            tables.environment.runner, ApplyChanges, lambda: or_alter(tables, BIG_ROWS, RESUME)
        )
        tables.execute("ALTER MATERIALIZED TABLE t REFRESH", runner)
        assert tables.rows("t") == [(4, 2, 40), (5, 2, 50)]

    def test_full_mode_drops_the_baseline(self, tables):
        create(tables, clauses=NOW)
        outcome = or_alter(tables, clauses=f"REFRESH_MODE = FULL {NOW}")
        assert any("baseline is dropped" in change for change in outcome.changes)
        assert tables.stored("t").definition.baseline is None
        assert tables.rows("t") == []
        assert refresh(tables).rows == 3

    def test_replacing_starts_from_the_baseline_again(self, tables):
        create(tables, clauses=NOW)
        create(tables, form="CREATE OR REPLACE")
        assert tables.stored("t").definition.baseline is None
        assert len(tables.rows("t")) == 3
        create(tables, clauses=NOW, form="CREATE OR REPLACE")
        assert tables.rows("t") == []

    def test_a_suspended_table_takes_the_start_and_applies_it_later(self, tables):
        create(tables)
        tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
        tables.append("events", [(4, 2, 40), (5, 2, 5)])
        or_alter(tables, BIG_ROWS, RESUME)
        assert len(tables.rows("t")) == 3
        tables.execute("ALTER MATERIALIZED TABLE t RESUME")
        assert tables.rows("t") == [(1, 1, 10), (2, 1, 20), (3, 2, 30), (4, 2, 40)]

    def test_a_key_that_the_baseline_needs_stays(self, tables):
        create(tables, SUMS, columns=BY_K)
        tables.append("events", [(4, 2, 40)])
        or_alter(tables, WIDER_SUMS, RESUME, BY_K)
        with raises(conditions.BASELINE_NOT_FOLLOWED):
            or_alter(tables, WIDER_SUMS, RESUME)

    def test_a_key_is_checked_in_kept_rows(self, tables):
        create(tables)
        tables.append("events", [(4, 2, 40)])
        or_alter(tables, WIDER_ROWS, RESUME, BY_ID)
        tables.append("events", [(4, 2, 41)])
        before = tables.rows("t")
        with pytest.raises(Exception, match="VIOLATED") as caught:
            refresh(tables)
        assert caught.value.condition == "MATERIALIZED_TABLE_CONSTRAINT_VIOLATED"
        assert tables.rows("t") == before

    def test_partitions_of_a_table_with_kept_rows_are_not_computed_alone(self, tables):
        create(tables, clauses="", columns="PARTITIONED BY (k)")
        or_alter(tables, BIG_ROWS, NOW, "PARTITIONED BY (k)")
        with raises(conditions.PARTITION_UNDER_BASELINE):
            tables.execute("ALTER MATERIALIZED TABLE t REFRESH PARTITION (k = 1)")

    def test_partitions_count_from_the_baseline(self, tables):
        create(tables, clauses=NOW, columns="PARTITIONED BY (k)")
        tables.append("events", [(4, 2, 40), (5, 1, 50)])
        refresh(tables)
        tables.execute("ALTER MATERIALIZED TABLE t REFRESH PARTITION (k = 1)")
        assert tables.rows("t") == [(4, 2, 40), (5, 1, 50)]

    def test_state_that_is_kept_contradicts_a_start(self, tables):
        create(tables, clauses=f"{NOW} STATE_RETENTION = ALL")
        with raises(conditions.CONTRADICTORY_STATE_RETENTION):
            or_alter(tables, BIG_ROWS, f"{NOW} STATE_RETENTION = ALL")
        outcome = or_alter(tables, BIG_ROWS, "STATE_RETENTION = ALL")
        assert outcome.action is Action.ALTERED
        mode = tables.stored("t").definition.resolved.start_mode.mode
        assert mode.sql == "RESUME_OR_FROM_BEGINNING"

    def test_an_explained_start_names_its_range(self, tables):
        create(tables)
        tables.append("events", [(4, 2, 40)])
        statement = f"CREATE OR ALTER MATERIALIZED TABLE t {LIVE} {RESUME} AS {BIG_ROWS}"
        rows = tables.execute(f"EXPLAIN {statement}").rows
        step = next(row for row in rows if row[0] == "apply changes")
        assert "rows added to" in step[2]
        assert len(tables.rows("t")) == 3

    def test_desc_names_the_baseline(self, tables):
        create(tables, clauses=NOW)
        rows = tables.execute("DESC EXTENDED MATERIALIZED TABLE t").rows
        described = {row[0]: row[1] for row in rows}
        assert "rows count from" in described["Baseline"]

    def test_full_mode_stores_a_start_without_effect(self, tables):
        create(tables, clauses=f"REFRESH_MODE = FULL {NOW}")
        assert len(tables.rows("t")) == 3
        assert tables.stored("t").definition.baseline is None
