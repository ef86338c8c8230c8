"""ALTER in all its forms, and the states of a table.

A subclass gives the fixture `tables`; the statements are the same for every engine.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    ConstraintViolatedError,
    QueryError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.alter import Alterations as Derive
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from dbt.adapters.spark_mt.planning.steps import CommitDefinition, Fill, Publish
from dbt.adapters.spark_mt.resolution.settings import Settings
from tests.behaviour.harness import ConflictingRunner
from tests.behaviour.suite import (
    CONTINUOUS,
    DAY_3,
    SUMS,
    WIDER,
    create,
    or_alter,
    prepare,
    refresh,
)
from tests.support.errors import raises

if TYPE_CHECKING:
    from tests.behaviour.harness import Tables

SMALL = "SELECT k, CAST(max(amount) AS INT) AS total FROM orders GROUP BY k"
KEYED = "(PRIMARY KEY (k) NOT ENFORCED)"
COUNTS = "SELECT k, count(*) AS n FROM orders WHERE amount > 5 GROUP BY k"
MERGED = """SELECT coalesce(existing.`k`, added.`k`) AS `k`, existing.`total`, added.`n`
FROM (
SELECT k, sum(amount) AS total FROM orders GROUP BY k
) AS existing(`k`, `total`)
FULL OUTER JOIN (
SELECT k, count(*) AS n FROM orders WHERE amount > 5 GROUP BY k
) AS added
ON existing.`k` <=> added.`k`"""


def alter(tables: Tables, change: str):
    """Carry out an ALTER on the table `t` and return the outcome."""
    outcome = tables.execute(f"ALTER MATERIALIZED TABLE t {change}").outcome
    assert outcome is not None
    return outcome


def status(tables: Tables) -> RefreshStatus:
    """The status of the table `t`."""
    return tables.stored("t").definition.status


def derive_again(tables: Tables, threshold: timedelta):
    """Derive modes again under another threshold; the other settings have their defaults."""
    tables.forget()
    changed = replace(tables.environment, settings=lambda: Settings(freshness_threshold=threshold))
    return Derive(changed).derive_again(tables.name("t").catalog)


def described(tables: Tables) -> dict[str, str]:
    """DESC EXTENDED of the table `t` as a mapping."""
    rows = tables.execute("DESC EXTENDED MATERIALIZED TABLE t").rows
    return {row[0]: row[1] for row in rows}


class Alterations:
    """Every ALTER, in every state."""

    @pytest.fixture(autouse=True)
    def _prepared(self, tables):
        prepare(tables)
        tables.learn(SMALL, "k INT; total INT", lambda r: _largest(r["orders"]))
        tables.learn(COUNTS, "k INT; n BIGINT", lambda r: _counts(r["orders"]))
        tables.learn(MERGED, "k INT; total BIGINT; n BIGINT", _merged)

    def test_freshness_derives_the_mode_of_an_automatic_table(self, tables):
        create(tables)
        before = tables.stored("t")
        outcome = alter(tables, "SET FRESHNESS = INTERVAL '1' DAY")
        assert (outcome.action, outcome.refresh_mode) == (Action.ALTERED, "FULL")
        assert len(outcome.changes) == 2
        after = tables.stored("t")
        assert after.definition.resolved.refresh_mode is RefreshMode.FULL
        assert (after.positions, after.last_refresh) == (before.positions, before.last_refresh)
        assert alter(tables, "SET FRESHNESS = INTERVAL '24' HOURS").action is Action.UNCHANGED
        assert tables.stored("t") == after
        assert alter(tables, "RESET FRESHNESS").refresh_mode == "CONTINUOUS"
        assert refresh(tables).status is RefreshResult.UP_TO_DATE

    def test_freshness_never_changes_an_explicit_mode(self, tables):
        create(tables, clauses="FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS")
        assert alter(tables, "SET FRESHNESS = INTERVAL '1' DAY").refresh_mode == "CONTINUOUS"
        assert alter(tables, "SET REFRESH_MODE = FULL").refresh_mode == "FULL"
        assert alter(tables, "SET FRESHNESS = INTERVAL '1' MINUTE").refresh_mode == "FULL"
        assert alter(tables, "SET REFRESH_MODE = AUTOMATIC").refresh_mode == "CONTINUOUS"

    def test_another_mode_continues_from_the_positions_of_the_rows(self, tables):
        create(tables, clauses=CONTINUOUS)
        tables.append("orders", [(3, DAY_3, 1)])
        alter(tables, "SET REFRESH_MODE = FULL")
        assert tables.rows("t") == [(1, 15), (2, 7)]
        assert refresh(tables).status is RefreshResult.REFRESHED
        assert tables.rows("t") == [(1, 15), (2, 7), (3, 1)]

    def test_options_and_comment_change_one_by_one(self, tables):
        create(tables, clauses="COMMENT 'old' WITH ('a' = '1', 'b' = '2')")
        version = tables.stored("t").version
        outcome = alter(tables, "SET ('b' = '3', 'c' = '4')")
        assert (outcome.action, len(outcome.changes)) == (Action.ALTERED, 2)
        assert alter(tables, "RESET ('a', 'never there')").action is Action.ALTERED
        assert alter(tables, "SET COMMENT 'new'").action is Action.ALTERED
        seen = tables.metadata("t")
        assert (seen.comment, seen.options) == ("new", {"b": "3", "c": "4"})
        assert tables.stored("t").version > version
        assert alter(tables, "RESET ('a')").action is Action.UNCHANGED
        assert refresh(tables).status is RefreshResult.UP_TO_DATE

    def test_a_repeated_row_makes_no_commit(self, tables):
        create(tables, clauses=f"COMMENT 'c' WITH ('a' = '1') {CONTINUOUS}")
        before = tables.stored("t")
        for change in (
            "SET FRESHNESS = INTERVAL '60' SECOND",
            "SET REFRESH_MODE = AUTOMATIC",
            "SET ('a' = '1')",
            "SET COMMENT 'c'",
            f"AS {SUMS}",
        ):
            assert alter(tables, change).action is Action.UNCHANGED, change
        assert tables.stored("t") == before

    def test_a_query_is_altered_as_by_create_or_alter(self, tables):
        create(tables, clauses="COMMENT 'stays' WITH ('a' = '1')")
        outcome = alter(tables, f"AS {WIDER}")
        assert (outcome.action, outcome.refresh.rows) == (Action.ALTERED, 2)
        assert tables.rows("t") == [(1, 15, 2), (2, 7, 1)]
        seen = tables.metadata("t")
        assert (seen.comment, seen.options) == ("stays", {"a": "1"})
        before = tables.stored("t")
        with raises(conditions.DROPPED_COLUMN):
            alter(tables, f"AS {SUMS}")
        assert tables.stored("t") == before
        assert or_alter(tables, WIDER, "COMMENT 'stays' WITH ('a' = '1')").action is (
            Action.UNCHANGED
        )

    def test_explaining_an_alter_changes_nothing(self, tables):
        create(tables)
        before = tables.stored("t")
        rows = tables.execute(f"EXPLAIN ALTER MATERIALIZED TABLE t AS {WIDER}").rows
        steps = [row[0] for row in rows if row[0] not in {"engine", "not used"}]
        assert steps == ["fill", "publish", "register", "in total"]
        assert rows[-1][2] == "rebuilt"
        assert tables.stored("t") == before

    def test_a_clause_is_altered_without_reading_other_changes(self, tables):
        """A source that has changed meanwhile is no reason to fill the table."""
        create(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        assert alter(tables, "SET ('a' = '1')").refresh is None
        assert tables.rows("t") == [(1, 15), (2, 7)]

    def test_a_table_that_is_not_there_is_not_altered(self, tables):
        for change in ("SUSPEND", "RESUME", "SET COMMENT 'c'", f"AS {SUMS}", f"ADD {SUMS}"):
            with pytest.raises(TableNotFoundError):
                alter(tables, change)

    def test_an_alteration_that_lost_a_race_plans_again(self, tables):
        create(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        late = ConflictingRunner(
            tables.environment.runner, CommitDefinition, lambda: refresh(tables)
        )
        tables.execute("ALTER MATERIALIZED TABLE t SET COMMENT 'new'", late)
        assert tables.stored("t").definition.declared.comment == "new"
        assert tables.rows("t") == [(1, 15), (2, 7), (3, 1)]

    def test_an_alteration_with_a_conflict_before_it_publishes(self, tables):
        create(tables)
        late = ConflictingRunner(
            tables.environment.runner, Publish, lambda: alter(tables, "SET COMMENT 'newer'")
        )
        outcome = tables.execute("ALTER MATERIALIZED TABLE t SET ('a' = '1')", late).outcome
        assert outcome.action is Action.ALTERED
        stored = tables.stored("t")
        assert stored.published is None
        assert stored.definition.declared.comment == tables.metadata("t").comment == "newer"
        assert dict(stored.definition.declared.options) == {"a": "1"}

    def test_modes_that_were_left_open_are_derived_again(self, tables):
        create(tables)
        tables.execute(f"CREATE MATERIALIZED TABLE u REFRESH_MODE = CONTINUOUS AS {SUMS}")
        tables.execute(f"CREATE MATERIALIZED TABLE gone AS {SUMS}")
        tables.drop("gone")
        before = tables.stored("t")
        threshold = timedelta(seconds=1)
        derived = derive_again(tables, threshold)
        assert [d.table for d in derived] == [str(tables.name("t"))]
        assert tables.stored("t").definition.resolved.refresh_mode is RefreshMode.FULL
        assert tables.stored("t").positions == before.positions
        assert tables.stored("u").definition.resolved.refresh_mode is RefreshMode.CONTINUOUS
        assert derive_again(tables, threshold) == ()
        tables.drop("orders")
        (failed,) = derive_again(tables, timedelta(hours=1))
        assert isinstance(failed.error, QueryError)

    # ADD

    def test_a_second_query_is_merged_on_the_key(self, tables):
        create(tables, clauses=KEYED)
        outcome = alter(tables, f"ADD {COUNTS}")
        assert outcome.action is Action.ALTERED
        assert tables.rows("t") == [(1, 15, 1), (2, 7, 1)]
        tables.append("orders", [(3, DAY_3, 1)])
        refresh(tables)
        assert tables.rows("t") == [(1, 15, 1), (2, 7, 1), (3, 1, None)]
        ((text,),) = tables.execute("SHOW CREATE OR ALTER MATERIALIZED TABLE t").rows
        assert tables.execute(text).outcome.action is Action.UNCHANGED

    @pytest.mark.parametrize(
        ("clauses", "query", "error"),
        [
            ("", COUNTS, conditions.ADD_WITHOUT_KEY),
            (KEYED, "SELECT day FROM orders", conditions.ADDED_KEY_MISSING),
            (KEYED, WIDER, conditions.ADDED_COLUMN_EXISTS),
            (KEYED, "SELECT DISTINCT k FROM orders", conditions.NOTHING_ADDED),
        ],
    )
    def test_a_query_that_does_not_fit_is_not_added(self, tables, clauses, query, error):
        tables.learn("SELECT DISTINCT k FROM orders", "k INT", lambda _: [])
        tables.learn("SELECT day FROM orders", "day STRING", lambda _: [])
        create(tables, clauses=clauses)
        before = tables.stored("t")
        with raises(error):
            alter(tables, f"ADD {query}")
        assert tables.stored("t") == before

    # SUSPEND and RESUME

    def test_a_suspended_table_keeps_rows_and_positions(self, tables):
        create(tables)
        before = tables.stored("t")
        outcome = alter(tables, "SUSPEND")
        assert (outcome.action, outcome.status) == (Action.SUSPENDED, "SUSPENDED")
        after = tables.stored("t")
        assert (after.positions, after.last_refresh) == (before.positions, before.last_refresh)
        assert described(tables)["Status"] == "SUSPENDED"
        ((*_, shown, _, _),) = tables.execute("SHOW MATERIALIZED TABLES").rows
        assert shown == "SUSPENDED"
        with pytest.raises(AlreadySuspendedError):
            alter(tables, "SUSPEND")
        assert tables.stored("t") == after

    def test_resuming_catches_up_once(self, tables):
        create(tables)
        with pytest.raises(AlreadyResumedError):
            alter(tables, "RESUME")
        alter(tables, "SUSPEND")
        tables.append("orders", [(3, DAY_3, 1)])
        outcome = alter(tables, "RESUME")
        assert (outcome.action, outcome.refresh.rows) == (Action.RESUMED, 3)
        assert (status(tables), tables.rows("t")) == (
            RefreshStatus.ACTIVATED,
            [(1, 15), (2, 7), (3, 1)],
        )
        with pytest.raises(AlreadyResumedError):
            alter(tables, "RESUME")

    def test_resuming_what_is_up_to_date_computes_nothing(self, tables):
        create(tables)
        alter(tables, "SUSPEND")
        refreshed = tables.stored("t").last_refresh
        assert alter(tables, "RESUME").refresh.status is RefreshResult.UP_TO_DATE
        assert tables.stored("t").last_refresh == refreshed

    def test_a_table_that_cannot_catch_up_stays_suspended(self, tables):
        create(tables, SUMS, "(CHECK (total < 100))")
        alter(tables, "SUSPEND")
        tables.append("orders", [(1, DAY_3, 1000)])
        before = tables.stored("t")
        with pytest.raises(ConstraintViolatedError):
            alter(tables, "RESUME")
        assert tables.stored("t") == before
        tables.delete("orders", "amount", 1000)
        assert alter(tables, "RESUME").action is Action.RESUMED

    def test_a_suspended_table_is_refreshed_when_asked(self, tables):
        create(tables)
        alter(tables, "SUSPEND")
        tables.append("orders", [(3, DAY_3, 1)])
        assert refresh(tables).status is RefreshResult.REFRESHED
        assert status(tables) is RefreshStatus.SUSPENDED

    @pytest.mark.parametrize("statement", ["create", "alter"])
    def test_a_changed_query_of_a_suspended_table_computes_nothing(self, tables, statement):
        create(tables)
        alter(tables, "SUSPEND")
        outcome = or_alter(tables, WIDER) if statement == "create" else alter(tables, f"AS {WIDER}")
        assert (outcome.action, outcome.refresh, outcome.status) == (
            Action.ALTERED,
            None,
            "SUSPENDED",
        )
        assert tables.rows("t") == [(1, 15, None), (2, 7, None)]
        assert tables.stored("t").positions is None
        assert or_alter(tables, WIDER).action is Action.UNCHANGED
        assert alter(tables, "RESUME").refresh.status is RefreshResult.REFRESHED
        assert tables.rows("t") == [(1, 15, 2), (2, 7, 1)]

    def test_rows_of_a_suspended_table_are_not_rewritten(self, tables):
        create(tables, SMALL, "WITH ('schema.type-widening' = 'true')")
        alter(tables, "SUSPEND")
        before = tables.stored("t")
        with raises(conditions.WIDENED_WHILE_SUSPENDED):
            or_alter(tables, SUMS, "WITH ('schema.type-widening' = 'true')")
        assert tables.stored("t") == before

    def test_other_changes_of_a_suspended_table_leave_it_suspended(self, tables):
        create(tables)
        alter(tables, "SUSPEND")
        outcome = or_alter(tables, clauses="COMMENT 'new'")
        assert (outcome.action, outcome.status) == (Action.ALTERED, "SUSPENDED")
        assert alter(tables, "SET FRESHNESS = INTERVAL '1' DAY").status == "SUSPENDED"
        assert or_alter(tables, clauses="COMMENT 'new' FRESHNESS = INTERVAL '1' DAY").status == (
            "SUSPENDED"
        )

    def test_replacing_a_suspended_table_activates_it(self, tables):
        create(tables)
        alter(tables, "SUSPEND")
        assert create(tables, WIDER, form="CREATE OR REPLACE").status == "ACTIVATED"
        assert status(tables) is RefreshStatus.ACTIVATED
        alter(tables, "SUSPEND")
        assert tables.execute("DROP MATERIALIZED TABLE t").outcome.action is Action.DROPPED

    def test_a_suspended_table_whose_source_is_gone_can_still_be_suspended_and_dropped(
        self, tables
    ):
        create(tables)
        tables.drop("orders")
        alter(tables, "SUSPEND")
        with pytest.raises(QueryError):
            alter(tables, "RESUME")
        assert status(tables) is RefreshStatus.SUSPENDED
        tables.execute("DROP MATERIALIZED TABLE t")

    def test_suspending_in_parallel_with_a_refresh_does_both(self, tables):
        create(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        late = ConflictingRunner(tables.environment.runner, Fill, lambda: alter(tables, "SUSPEND"))
        tables.execute("ALTER MATERIALIZED TABLE t REFRESH", late)
        assert (status(tables), tables.rows("t")) == (
            RefreshStatus.SUSPENDED,
            [(1, 15), (2, 7), (3, 1)],
        )

    def test_run_options_last_until_the_next_suspend(self, tables):
        create(tables)
        alter(tables, "SUSPEND")
        before = tables.stored("t")
        with raises(conditions.INVALID_RUN_OPTIONS) as error:
            alter(
                tables,
                "RESUME WITH ('spark.sql.ansi.enabled' = 'false', 'colour' = 'red', "
                "'continuous.trigger-interval' = 'soon')",
            )
        assert len(error.value.violations) == 3
        assert tables.stored("t") == before
        options = (("spark.sql.shuffle.partitions", "3"),)
        alter(tables, "RESUME WITH ('spark.sql.shuffle.partitions' = '3')")
        assert tables.stored("t").definition.run_options == options
        assert described(tables)["Run option spark.sql.shuffle.partitions"] == "3"
        tables.append("orders", [(3, DAY_3, 1)])
        assert refresh(tables).rows == 3
        assert or_alter(tables).action is Action.UNCHANGED
        alter(tables, "SUSPEND")
        assert tables.stored("t").definition.run_options == ()
        alter(tables, f"WITH ('spark.sql.shuffle.partitions' = '5') AS {SUMS}")
        options = (("spark.sql.shuffle.partitions", "5"),)
        assert tables.stored("t").definition.run_options == options


def _largest(orders):
    return [(k, max(a for o, _, a in orders if o == k)) for k in {o[0] for o in orders}]


def _counts(orders):
    big = [k for k, _, amount in orders if amount > 5]
    return [(k, big.count(k)) for k in set(big)]


def _merged(rows):
    counts = dict(_counts(rows["orders"]))
    keys = {k for k, _, _ in rows["orders"]}
    totals = {k: sum(a for o, _, a in rows["orders"] if o == k) for k in keys}
    return [(k, totals[k], counts.get(k)) for k in keys]
