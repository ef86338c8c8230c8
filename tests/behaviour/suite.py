"""What a materialized table guarantees, whatever the ports are made of.

A subclass gives the fixture `tables`; the statements are the same for every engine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.codec import encode_definition
from dbt.adapters.spark_mt.definition.definition import InconsistentTable, Missing, UnmanagedTable
from dbt.adapters.spark_mt.definition.errors import (
    CommitConflictError,
    ConstraintViolatedError,
    InvalidDefinitionError,
    NotMaterializedError,
    QueryError,
    TableNotFoundError,
    UnreadableDefinitionError,
)
from dbt.adapters.spark_mt.definition.positions import DefinitionPosition, VersionedPosition
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from dbt.adapters.spark_mt.planning.steps import ApplyChanges, CommitDefinition, Fill
from tests.behaviour.harness import ConflictingRunner
from tests.support.errors import raises
from tests.unit.formats.texts import pack, unpack, with_more

if TYPE_CHECKING:
    from tests.behaviour.harness import Tables

ORDERS = "k INT; day STRING; amount INT"
SUMS = "SELECT k, sum(amount) AS total FROM orders GROUP BY k"
TOPS = "SELECT k, CAST(max(amount) AS BIGINT) AS total FROM orders GROUP BY k"
WIDER = "SELECT k, sum(amount) AS total, count(*) AS n FROM orders GROUP BY k"
DAILY = "SELECT day, sum(amount) AS total FROM orders GROUP BY day"
KEYS = "SELECT k, amount FROM orders"
VIEWED = "SELECT k, total FROM sums_view"
COMMENTED = "k INT COMMENT 'key', total BIGINT"
CONTINUOUS = "FRESHNESS = INTERVAL '1' MINUTE"
DAY_1, DAY_2, DAY_3 = "2025-03-01", "2025-03-02", "2025-03-03"


def _sums(rows):
    totals = defaultdict(int)
    for k, _, amount in rows["orders"]:
        totals[k] += amount
    return totals.items()


def _tops(rows):
    highest = defaultdict(int)
    for k, _, amount in rows["orders"]:
        highest[k] = max(highest[k], amount)
    return highest.items()


def _wider(rows):
    counts = Counter(k for k, _, _ in rows["orders"])
    return [(k, total, counts[k]) for k, total in _sums(rows)]


def _daily(rows):
    totals = defaultdict(int)
    for _, day, amount in rows["orders"]:
        totals[day] += amount
    return totals.items()


def prepare(tables: Tables) -> None:
    """Create the source and record what the queries return."""
    tables.source("orders", ORDERS, [(1, DAY_1, 10), (1, DAY_2, 5), (2, DAY_2, 7)])
    tables.learn(SUMS, "k INT; total BIGINT", _sums)
    tables.learn(TOPS, "k INT; total BIGINT", _tops)
    tables.learn(WIDER, "k INT; total BIGINT; n BIGINT", _wider)
    tables.learn(DAILY, "day STRING; total BIGINT", _daily)
    tables.learn(KEYS, "k INT; amount INT", lambda r: [(k, a) for k, _, a in r["orders"]])
    tables.learn_check("total < 100", lambda row: row["total"] < 100)


def create(tables: Tables, query: str = SUMS, clauses: str = "", form: str = "CREATE"):
    """Create the table `t` and return the outcome."""
    result = tables.execute(f"{form} MATERIALIZED TABLE t {clauses} AS {query}")
    assert result.outcome is not None
    return result.outcome


def or_alter(tables: Tables, query: str = SUMS, clauses: str = ""):
    """Bring the table `t` in line with a statement."""
    return create(tables, query, clauses, "CREATE OR ALTER")


def refresh(tables: Tables, partition: str = ""):
    """Refresh the table `t`."""
    outcome = tables.execute(f"ALTER MATERIALIZED TABLE t REFRESH {partition}").outcome
    assert outcome is not None
    assert outcome.refresh is not None
    return outcome.refresh


class Behaviour:
    """The guarantees."""

    @pytest.fixture(autouse=True)
    def _prepared(self, tables):
        prepare(tables)

    def test_a_created_table_holds_the_result_of_its_query(self, tables):
        outcome = create(tables)
        assert (outcome.action, outcome.refresh.rows) == (Action.CREATED, 2)
        assert tables.rows("t") == [(1, 15), (2, 7)]
        stored = tables.stored("t")
        assert (stored.seq, stored.unpublished, stored.definition.generation) == (1, False, 1)
        assert stored.last_refresh.trigger == "CREATE"

    def test_the_same_statement_again_makes_no_commit(self, tables):
        create(tables, clauses="COMMENT 'c'")
        before = tables.stored("t")
        outcome = or_alter(tables, clauses="COMMENT 'c'")
        assert (outcome.action, outcome.refresh) == (Action.UNCHANGED, None)
        assert tables.stored("t") == before

    def test_an_equivalent_query_fills_nothing(self, tables):
        create(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        outcome = or_alter(tables, f"{SUMS} -- a comment")
        assert (outcome.action, outcome.refresh) == (Action.ALTERED, None)
        assert tables.rows("t") == [(1, 15), (2, 7)]

    def test_if_not_exists_leaves_a_table_as_it_is(self, tables):
        create(tables)
        version = tables.stored("t").version
        result = tables.execute(f"CREATE MATERIALIZED TABLE IF NOT EXISTS t AS {WIDER}")
        assert result.outcome.action is Action.UNCHANGED
        assert tables.stored("t").version == version

    def test_a_plain_create_does_not_take_a_name_twice(self, tables):
        create(tables)
        with raises(conditions.ALREADY_EXISTS):
            create(tables, WIDER)
        assert tables.rows("t") == [(1, 15), (2, 7)]

    def test_positions_are_those_of_the_sources(self, tables):
        create(tables)
        stored = tables.stored("t")
        position = stored.positions[str(tables.name("orders"))]
        assert isinstance(position, VersionedPosition)
        assert [position.version] == tables.versions("orders")

    def test_a_refresh_is_skipped_until_a_source_moves(self, tables):
        create(tables)
        version = tables.stored("t").version
        assert refresh(tables).status is RefreshResult.UP_TO_DATE
        assert tables.stored("t").version == version
        tables.append("orders", [(3, DAY_3, 1)])
        assert tables.rows("t") == [(1, 15), (2, 7)]
        found = refresh(tables)
        assert (found.status, found.rows) == (RefreshResult.REFRESHED, 3)
        assert found.positions_from != found.positions_to
        assert tables.rows("t") == [(1, 15), (2, 7), (3, 1)]
        assert refresh(tables).status is RefreshResult.UP_TO_DATE

    def test_a_recreated_source_has_changed(self, tables):
        create(tables)
        tables.source("orders", ORDERS, [(9, DAY_1, 9)])
        assert refresh(tables).status is RefreshResult.REFRESHED
        assert tables.rows("t") == [(9, 9)]

    def test_a_view_counts_by_its_definition(self, tables):
        tables.view("sums_view", SUMS)
        tables.learn(VIEWED, "k INT; total BIGINT", lambda r: [row[:2] for row in r["sums_view"]])
        create(tables, VIEWED)
        position = tables.stored("t").positions[str(tables.name("sums_view"))]
        assert isinstance(position, DefinitionPosition)
        assert refresh(tables).status is RefreshResult.UP_TO_DATE
        tables.view("sums_view", WIDER)
        assert refresh(tables).status is RefreshResult.REFRESHED

    def test_a_source_that_is_gone_leaves_the_rows(self, tables):
        create(tables)
        tables.drop("orders")
        with pytest.raises(QueryError):
            refresh(tables)
        assert tables.rows("t") == [(1, 15), (2, 7)]

    def test_metadata_changes_without_touching_rows(self, tables):
        create(tables, clauses="COMMENT 'old' WITH ('a' = '1', 'b' = '2')")
        before = tables.stored("t")
        tables.append("orders", [(3, DAY_3, 1)])
        outcome = or_alter(tables, clauses="COMMENT 'new' WITH ('b' = '3', 'c' = '4')")
        assert (outcome.action, outcome.refresh) == (Action.ALTERED, None)
        after = tables.stored("t")
        assert (after.positions, after.last_refresh) == (before.positions, before.last_refresh)
        assert (after.seq, after.definition.generation) == (2, 2)
        assert tables.rows("t") == [(1, 15), (2, 7)]
        seen = tables.metadata("t")
        assert (seen.comment, seen.options) == ("new", {"b": "3", "c": "4"})

    def test_column_comments_are_written(self, tables):
        create(tables, clauses=f"({COMMENTED})")
        assert tables.metadata("t").column_comments == {"k": "key"}
        or_alter(tables, clauses="(k INT, total BIGINT COMMENT 'sum')")
        assert tables.metadata("t").column_comments == {"total": "sum"}

    def test_a_changed_query_fills_the_table_and_keeps_its_identity(self, tables):
        create(tables)
        identity, table_id = tables.identity("t"), tables.stored("t").definition.table_id
        outcome = or_alter(tables, WIDER)
        assert (outcome.action, outcome.refresh.rows) == (Action.ALTERED, 2)
        assert tables.rows("t") == [(1, 15, 2), (2, 7, 1)]
        assert tables.identity("t") == identity
        assert tables.stored("t").definition.table_id == table_id
        assert refresh(tables).status is RefreshResult.UP_TO_DATE

    def test_a_refusal_comes_before_any_change(self, tables):
        create(tables, WIDER, "COMMENT 'old'")
        before = tables.stored("t")
        with raises(conditions.DROPPED_COLUMN):
            or_alter(tables, SUMS, "COMMENT 'new'")
        assert tables.stored("t") == before
        with pytest.raises(InvalidDefinitionError) as several:
            or_alter(tables, SUMS, "PARTITIONED BY (k)")
        assert len(several.value.conditions) == 2
        assert tables.stored("t") == before
        assert tables.metadata("t").comment == "old"

    def test_an_invalid_definition_names_everything_and_creates_nothing(self, tables):
        with pytest.raises(InvalidDefinitionError) as several:
            create(tables, clauses="(PRIMARY KEY (x) NOT ENFORCED) PARTITIONED BY (y)")
        assert len(several.value.conditions) == 2
        assert isinstance(tables.find("t"), Missing)

    def test_a_query_cannot_read_its_own_table(self, tables):
        create(tables)
        own = "SELECT k, total FROM t"
        tables.learn(own, "k INT; total BIGINT", lambda r: r["t"])
        with pytest.raises(InvalidDefinitionError) as error:
            or_alter(tables, own)
        assert error.value.condition == "MATERIALIZED_TABLE_READS_ITSELF"
        assert tables.rows("t") == [(1, 15), (2, 7)]

    def test_replacing_keeps_identity_and_nothing_else(self, tables):
        create(tables, WIDER, f"({COMMENTED}, n BIGINT) COMMENT 'old' WITH ('a' = '1')")
        identity, before = tables.identity("t"), tables.stored("t")
        outcome = create(tables, DAILY, "PARTITIONED BY (day)", "CREATE OR REPLACE")
        assert outcome.action is Action.REPLACED
        assert tables.rows("t") == [(DAY_1, 10), (DAY_2, 12)]
        after = tables.stored("t")
        assert tables.identity("t") == identity
        assert after.definition.table_id == before.definition.table_id
        assert after.seq == before.seq + 1
        seen = tables.metadata("t")
        assert (seen.comment, seen.column_comments, seen.options) == ("", {}, {})

    def test_replacing_what_is_not_there_creates_it(self, tables):
        assert create(tables, form="CREATE OR REPLACE").action is Action.CREATED

    def test_dropping(self, tables):
        create(tables)
        assert tables.execute("DROP MATERIALIZED TABLE t").outcome.action is Action.DROPPED
        assert isinstance(tables.find("t"), Missing)
        assert tables.execute("SHOW MATERIALIZED TABLES").rows == ()
        with pytest.raises(TableNotFoundError):
            tables.execute("DROP MATERIALIZED TABLE t")
        again = tables.execute("DROP MATERIALIZED TABLE IF EXISTS t").outcome
        assert again.action is Action.UNCHANGED

    def test_dropping_a_dropped_table_removes_it_from_the_list(self, tables):
        create(tables)
        tables.drop("t")
        tables.execute("DROP MATERIALIZED TABLE IF EXISTS t")
        tables.source("t", "k INT; total BIGINT", [(1, 1)])
        assert tables.execute("SHOW MATERIALIZED TABLES").rows == ()

    @pytest.mark.parametrize(
        "statement", ["DROP MATERIALIZED TABLE t", f"CREATE MATERIALIZED TABLE t AS {SUMS}"]
    )
    def test_an_unmanaged_table_that_took_the_name_is_removed_from_the_list(
        self, tables, statement
    ):
        create(tables)
        tables.drop("t")
        tables.source("t", "k INT; total BIGINT", [(1, 1)])
        with pytest.raises(NotMaterializedError):
            tables.execute(statement)
        assert tables.execute("SHOW MATERIALIZED TABLES").rows == ()
        assert tables.rows("t") == [(1, 1)]

    def test_a_table_that_was_dropped_is_not_refreshed(self, tables):
        create(tables)
        or_alter(tables)
        tables.execute("DROP MATERIALIZED TABLE t")
        with pytest.raises(TableNotFoundError):
            refresh(tables)

    @pytest.mark.parametrize("kind", ["table", "view"])
    def test_unmanaged_tables_are_left_unchanged(self, tables, kind):
        if kind == "table":
            tables.source("t", "k INT; total BIGINT", [(1, 1)])
        else:
            tables.view("t", SUMS)
        rows = tables.rows("t")
        for form in ("CREATE", "CREATE OR ALTER", "CREATE OR REPLACE"):
            with pytest.raises(NotMaterializedError):
                create(tables, form=form)
        for statement in (
            "ALTER MATERIALIZED TABLE t REFRESH",
            "DROP MATERIALIZED TABLE t",
            "DROP MATERIALIZED TABLE IF EXISTS t",
            "DESCRIBE MATERIALIZED TABLE t",
            "SHOW CREATE MATERIALIZED TABLE t",
        ):
            with pytest.raises(NotMaterializedError):
                tables.execute(statement)
        assert tables.rows("t") == rows

    def test_a_clone_is_an_unmanaged_table(self, tables):
        create(tables)
        tables.clone("t", "copy")
        assert isinstance(tables.find("copy"), UnmanagedTable)
        with pytest.raises(NotMaterializedError):
            tables.execute("ALTER MATERIALIZED TABLE copy REFRESH")

    def test_a_table_changed_by_other_means_is_only_replaced(self, tables):
        create(tables, WIDER)
        tables.drop_column("t", "n")
        assert isinstance(tables.find("t"), InconsistentTable)
        rows = tables.rows("t")
        for form in ("CREATE", "CREATE OR ALTER"):
            with raises(conditions.CHANGED_OUTSIDE):
                create(tables, WIDER, form=form)
        with raises(conditions.CHANGED_OUTSIDE):
            refresh(tables)
        assert tables.rows("t") == rows
        assert create(tables, WIDER, form="CREATE OR REPLACE").action is Action.REPLACED
        assert tables.rows("t") == [(1, 15, 2), (2, 7, 1)]

    def test_changes_of_other_writers_are_named_and_overwritten(self, tables):
        create(tables)
        tables.delete("t", "k", 1)
        skipped = refresh(tables)
        assert skipped.status is RefreshResult.UP_TO_DATE
        assert len(skipped.warnings) == 1
        assert tables.rows("t") == [(2, 7)]
        tables.append("orders", [(3, DAY_3, 1)])
        assert len(refresh(tables).warnings) == 1
        assert tables.rows("t") == [(1, 15), (2, 7), (3, 1)]
        assert tables.stored("t").foreign_commits == ()

    def test_only_added_rows_are_computed_and_changes_of_other_writers_are_reported(self, tables):
        create(tables, KEYS, CONTINUOUS)
        tables.delete("t", "k", 2)
        tables.append("orders", [(3, DAY_1, 9)])
        added = refresh(tables)
        assert (added.strategy, added.rows) == ("append", 1)
        assert tables.rows("t") == [(1, 5), (1, 10), (3, 9)]
        assert "they stay" in added.warnings[0]
        tables.append("orders", [(4, DAY_1, 1)])
        refresh(tables)
        assert [commit.operation for commit in tables.stored("t").foreign_commits] == ["DELETE"]
        tables.delete("orders", "k", 3)
        whole = refresh(tables)
        assert (whole.strategy, whole.rows) == ("recompute", 4)
        assert tables.rows("t") == [(1, 5), (1, 10), (2, 7), (4, 1)]
        assert tables.stored("t").foreign_commits == ()

    def test_a_change_of_another_writer_between_plan_and_commit_is_reported(self, tables):
        create(tables, KEYS, CONTINUOUS)
        tables.append("orders", [(3, DAY_1, 9)])
        runner = tables.environment.runner
        late = ConflictingRunner(runner, ApplyChanges, lambda: tables.append("t", [(8, 80)]))
        tables.execute("ALTER MATERIALIZED TABLE t REFRESH", late)
        assert tables.rows("t") == [(1, 5), (1, 10), (2, 7), (3, 9), (8, 80)]
        (foreign,) = tables.stored("t").foreign_commits
        assert [foreign.version, tables.stored("t").version] == tables.versions("t")[-2:]
        tables.append("orders", [(4, DAY_1, 1)])
        assert "they stay" in refresh(tables).warnings[0]
        assert tables.stored("t").foreign_commits == (foreign,)
        tables.delete("orders", "k", 3)
        assert refresh(tables).strategy == "recompute"
        assert tables.rows("t") == [(1, 5), (1, 10), (2, 7), (4, 1)]
        assert tables.stored("t").foreign_commits == ()

    @pytest.mark.parametrize("to", ["created", "refreshed"])
    def test_a_restored_table_knows_what_its_rows_reflect(self, tables, to):
        create(tables)
        first = tables.stored("t").positions
        tables.append("orders", [(3, DAY_3, 1)])
        refresh(tables)
        second = tables.stored("t")
        tables.append("orders", [(4, DAY_3, 1)])
        refresh(tables)
        seq = tables.stored("t").seq
        tables.restore("t", tables.versions("t")[0] if to == "created" else second.version)
        restored = tables.stored("t")
        assert restored.positions == (first if to == "created" else second.positions)
        assert restored.seq == seq
        assert refresh(tables).status is RefreshResult.REFRESHED
        assert tables.rows("t") == [(1, 15), (2, 7), (3, 1), (4, 1)]

    def test_a_partition_is_refreshed_alone(self, tables):
        create(tables, DAILY, "PARTITIONED BY (day) REFRESH_MODE = FULL")
        before = tables.stored("t")
        tables.append("orders", [(1, DAY_1, 1), (1, DAY_2, 1), (1, DAY_3, 1)])
        found = refresh(tables, f"PARTITION (day = '{DAY_1}')")
        assert (found.rows, found.partitions) == (1, (f"day='{DAY_1}'",))
        assert tables.rows("t") == [(DAY_1, 11), (DAY_2, 12)]
        after = tables.stored("t")
        assert (after.positions, after.last_refresh) == (before.positions, before.last_refresh)
        assert after.seq == before.seq + 1
        assert refresh(tables).status is RefreshResult.REFRESHED
        assert tables.rows("t") == [(DAY_1, 11), (DAY_2, 13), (DAY_3, 1)]

    def test_a_partition_of_a_continuous_table_stays_at_its_positions(self, tables):
        create(tables, DAILY, f"PARTITIONED BY (day) {CONTINUOUS}")
        tables.append("orders", [(1, DAY_1, 1)])
        tables.delete("t", "day", DAY_1)
        refresh(tables, f"PARTITION (day = '{DAY_1}')")
        assert tables.rows("t") == [(DAY_1, 10), (DAY_2, 12)]

    def test_a_partition_is_not_computed_over_a_recreated_source(self, tables):
        create(tables, DAILY, f"PARTITIONED BY (day) {CONTINUOUS}")
        before = tables.rows("t")
        tables.source("orders", ORDERS, [(1, DAY_1, 100)])
        with raises(conditions.POSITIONS_NOT_READABLE):
            refresh(tables, f"PARTITION (day = '{DAY_1}')")
        assert tables.rows("t") == before

    def test_a_partition_without_rows_becomes_empty(self, tables):
        create(tables, DAILY, "PARTITIONED BY (day) REFRESH_MODE = FULL")
        tables.delete("orders", "day", DAY_1)
        assert refresh(tables, f"PARTITION (day = '{DAY_1}')").rows == 0
        assert tables.rows("t") == [(DAY_2, 12)]

    def test_partitions_are_checked_before_anything_is_written(self, tables):
        create(tables, DAILY, "PARTITIONED BY (day)")
        before = tables.stored("t")
        with raises(conditions.UNKNOWN_PARTITION_KEY):
            refresh(tables, "PARTITION (total = 1)")
        assert tables.stored("t") == before

    def test_a_partition_value_must_fit_its_column(self, tables):
        create(tables, SUMS, "PARTITIONED BY (k)")
        with raises(conditions.INVALID_PARTITION_VALUE):
            refresh(tables, "PARTITION (k = 'one')")

    def test_a_violated_constraint_creates_nothing(self, tables):
        with pytest.raises(ConstraintViolatedError) as error:
            create(tables, KEYS, "(PRIMARY KEY (k) NOT ENFORCED)")
        assert len(error.value.violations) == 1
        assert isinstance(tables.find("t"), Missing)

    def test_a_violated_constraint_keeps_the_old_rows(self, tables):
        create(tables, SUMS, "(CHECK (total < 100))")
        tables.append("orders", [(1, DAY_3, 100), (2, DAY_3, 100)])
        with pytest.raises(ConstraintViolatedError) as error:
            refresh(tables)
        assert len(error.value.violations) == 2
        assert tables.rows("t") == [(1, 15), (2, 7)]

    def test_a_new_key_is_checked_against_the_rows_that_are_there(self, tables):
        create(tables, KEYS)
        before = tables.stored("t")
        with pytest.raises(ConstraintViolatedError):
            or_alter(tables, KEYS, "(PRIMARY KEY (k) NOT ENFORCED)")
        assert tables.stored("t") == before

    def test_a_refresh_that_lost_a_race_plans_again(self, tables):
        create(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        late = ConflictingRunner(tables.environment.runner, Fill, lambda: or_alter(tables, WIDER))
        tables.execute("ALTER MATERIALIZED TABLE t REFRESH", late)
        assert tables.rows("t") == [(1, 15, 2), (2, 7, 1), (3, 1, 1)]
        assert tables.stored("t").definition.generation == 2

    @pytest.mark.parametrize(
        ("query", "other", "step", "rows"),
        [
            (SUMS, TOPS, Fill, [(1, 10), (2, 7), (3, 1)]),
            (KEYS, KEYS, ApplyChanges, [(1, 5), (1, 10), (2, 7), (3, 1)]),
        ],
        ids=["all rows", "changes"],
    )
    def test_a_refresh_does_not_write_a_recreated_table(self, tables, query, other, step, rows):
        def again():
            tables.execute("DROP MATERIALIZED TABLE t")
            create(tables, other, CONTINUOUS)

        create(tables, query, CONTINUOUS)
        tables.append("orders", [(3, DAY_3, 1)])
        late = ConflictingRunner(tables.environment.runner, step, again)
        tables.execute("ALTER MATERIALIZED TABLE t REFRESH", late)
        assert late.times == 0
        assert tables.rows("t") == rows
        assert refresh(tables).status is RefreshResult.UP_TO_DATE
        tables.append("orders", [(4, DAY_3, 1)])
        refresh(tables)
        assert tables.rows("t") == [*rows, (4, 1)]

    def test_a_change_that_lost_a_race_plans_again(self, tables):
        create(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        late = ConflictingRunner(
            tables.environment.runner, CommitDefinition, lambda: refresh(tables)
        )
        statement = f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT 'new' AS {SUMS}"
        tables.execute(statement, late)
        stored = tables.stored("t")
        assert (stored.seq, stored.definition.declared.comment) == (3, "new")
        assert tables.rows("t") == [(1, 15), (2, 7), (3, 1)]
        assert refresh(tables).status is RefreshResult.UP_TO_DATE

    def test_two_creators_make_one_table(self, tables):
        late = ConflictingRunner(tables.environment.runner, Fill, lambda: create(tables, WIDER))
        with raises(conditions.ALREADY_EXISTS):
            tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}", late)
        assert tables.rows("t") == [(1, 15, 2), (2, 7, 1)]

    def test_a_writer_that_always_conflicts_fails(self, tables):
        create(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        comments = iter(range(100))
        late = ConflictingRunner(
            tables.environment.runner,
            Fill,
            lambda: or_alter(tables, clauses=f"COMMENT '{next(comments)}'"),
            times=100,
        )
        with pytest.raises(CommitConflictError):
            tables.execute("ALTER MATERIALIZED TABLE t REFRESH", late)
        assert next(comments) == 5
        assert tables.rows("t") == [(1, 15), (2, 7)]

    def test_explaining_changes_nothing(self, tables):
        explained = tables.execute(f"EXPLAIN CREATE MATERIALIZED TABLE t AS {SUMS}").rows
        steps = [row[0] for row in explained if row[0] not in {"engine", "not used"}]
        assert steps == ["create", "publish", "register", "in total"]
        assert {row[2] for row in explained if row[0] == "engine"} == {"incremental/differential"}
        assert explained[-1][2] == "created"
        assert isinstance(tables.find("t"), Missing)
        create(tables)
        before = tables.stored("t")
        tables.execute(f"EXPLAIN CREATE OR ALTER MATERIALIZED TABLE t AS {WIDER}")
        assert tables.stored("t") == before

    def test_the_output_of_show_create_is_the_same_definition(self, tables):
        create(tables, DAILY, "PARTITIONED BY (day) WITH ('a' = '1') FRESHNESS = INTERVAL '1' DAY")
        ((text,),) = tables.execute("SHOW CREATE OR ALTER MATERIALIZED TABLE t").rows
        assert tables.execute(text).outcome.action is Action.UNCHANGED

    def test_tables_are_listed_with_their_figures(self, tables):
        create(tables)
        ((namespace, name, mode, freshness, status, _, _),) = tables.execute(
            "SHOW MATERIALIZED TABLES LIKE 't%'"
        ).rows
        assert (namespace, name) == (tables.name("t").schema, "t")
        assert (mode, freshness, status) == ("CONTINUOUS", "INTERVAL '3' MINUTE", "ACTIVATED")
        assert tables.execute("SHOW MATERIALIZED TABLES NOT LIKE 't%'").rows == ()

    def test_keys_of_a_newer_release_are_kept_by_statements_of_this_one(self, tables):
        create(tables, DAILY, "PARTITIONED BY (day)")
        document = unpack(encode_definition(tables.stored("t").definition))
        tables.set_property("t", "materialized-table.definition", pack(with_more(document)))
        kept = tables.stored("t").definition.unknown_keys
        assert kept["later"] == {"nested": [1, "x"]}
        assert kept["definition"]["resolved"]["freshness"]["later"] == {"nested": [1, "x"]}
        tables.append("orders", [(3, DAY_3, 1)])
        for statement in (
            "ALTER MATERIALIZED TABLE t SUSPEND",
            "ALTER MATERIALIZED TABLE t RESUME WITH ('maxFilesPerTrigger' = '9')",
            "ALTER MATERIALIZED TABLE t REFRESH",
            f"CREATE OR ALTER MATERIALIZED TABLE t PARTITIONED BY (day) {CONTINUOUS} AS {DAILY}",
        ):
            tables.execute(statement)
            assert tables.stored("t").definition.unknown_keys == kept, statement
        assert tables.rows("t") == [(DAY_1, 10), (DAY_2, 12), (DAY_3, 1)]
        create(tables, DAILY, form="CREATE OR REPLACE")
        assert tables.stored("t").definition.unknown_keys == {}, "the statement says all of it"

    def test_a_definition_of_another_major_version_stays_as_it_is(self, tables):
        create(tables)
        document = unpack(encode_definition(tables.stored("t").definition))
        later = pack({**document, "format": 2})
        tables.set_property("t", "materialized-table.definition", later)
        rows = tables.rows("t")
        for statement in (
            f"CREATE MATERIALIZED TABLE t AS {SUMS}",
            f"CREATE OR ALTER MATERIALIZED TABLE t AS {WIDER}",
            "ALTER MATERIALIZED TABLE t REFRESH",
            "ALTER MATERIALIZED TABLE t SUSPEND",
            "DESCRIBE MATERIALIZED TABLE EXTENDED t",
        ):
            with pytest.raises(UnreadableDefinitionError) as error:
                tables.execute(statement)
            problem = "its format is 2, and this release reads 1"
            expected = {"table": str(tables.name("t")), "problem": problem}
            assert error.value.parameters == expected, statement
        assert tables.rows("t") == rows
        listed = tables.execute("SHOW MATERIALIZED TABLES LIKE 't'").rows
        assert [row[1] for row in listed] == ["t"]
        tables.set_property("t", "materialized-table.definition", pack(document))
        tables.execute("ALTER MATERIALIZED TABLE t REFRESH")
        assert tables.rows("t") == rows

    def test_a_table_with_an_unreadable_definition_can_be_replaced_or_dropped(self, tables):
        create(tables)
        table_id, identity = tables.stored("t").definition.table_id, tables.identity("t")
        tables.set_property("t", "materialized-table.definition", "damaged")
        rows = tables.rows("t")
        for statement in (
            f"CREATE MATERIALIZED TABLE t AS {SUMS}",
            f"CREATE MATERIALIZED TABLE IF NOT EXISTS t AS {SUMS}",
            f"CREATE OR ALTER MATERIALIZED TABLE t AS {SUMS}",
            "ALTER MATERIALIZED TABLE t REFRESH",
            "DESCRIBE MATERIALIZED TABLE t",
        ):
            with pytest.raises(UnreadableDefinitionError):
                tables.execute(statement)
        assert tables.rows("t") == rows
        assert create(tables, WIDER, form="CREATE OR REPLACE").action is Action.REPLACED
        assert tables.rows("t") == [(1, 15, 2), (2, 7, 1)]
        assert tables.stored("t").definition.table_id == table_id
        assert tables.identity("t") == identity
        tables.set_property("t", "materialized-table.definition", "damaged")
        tables.execute("DROP MATERIALIZED TABLE t")
        assert isinstance(tables.find("t"), Missing)
