"""Results of checks of a table: drift, health, lag, and whether it equals its query.

A subclass gives the fixture `tables`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.changes.drift import DriftKind
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import (
    ConstraintViolatedError,
    TableNotFoundError,
    UnfinishedChangeError,
)
from dbt.adapters.spark_mt.definition.verification import Side
from dbt.adapters.spark_mt.execution.checks import difference, drift_of, health_problems, lag_of
from dbt.adapters.spark_mt.planning.steps import Publish
from tests.behaviour.harness import Faulty
from tests.behaviour.suite import (
    DAILY,
    DAY_3,
    KEYS,
    SUMS,
    WIDER,
    create,
    or_alter,
    prepare,
    refresh,
)

if TYPE_CHECKING:
    from tests.behaviour.harness import Tables

T = TableName("t")
OWNER = (("dbt", "model.shop.t"),)


def drifts(tables: Tables) -> list[tuple[DriftKind, str]]:
    tables.forget()
    return [(drift.kind, drift.found) for drift in drift_of(tables.environment, T)]


def kinds(tables: Tables) -> list[DriftKind]:
    return [kind for kind, _ in drifts(tables)]


def health(tables: Tables) -> tuple[str, ...]:
    tables.forget()
    return health_problems(tables.environment, T)


def compared(tables: Tables, limit: int = 10):
    tables.forget()
    return difference(tables.environment, T, limit)


def owned_by(tables: Tables, owner) -> None:
    tables.environment = replace(tables.environment, owner=lambda: owner)


class Checks:
    """Checks change nothing and find what is there to be found."""

    @pytest.fixture(autouse=True)
    def _prepared(self, tables):
        prepare(tables)

    def test_a_fresh_table_is_in_line(self, tables):
        create(tables, clauses="COMMENT 'c' CLUSTER BY (k) WITH ('a' = '1')")
        before = tables.stored("t")
        assert drifts(tables) == []
        assert health(tables) == ()
        assert compared(tables).is_equal
        assert tables.stored("t") == before

    def test_a_property_and_rows_changed_by_hand(self, tables):
        create(tables, clauses="WITH ('a' = '1')")
        tables.set_property("t", "a", "2")
        tables.delete("t", "k", 1)
        assert sorted(kinds(tables), key=str) == [DriftKind.PROPERTY, DriftKind.ROWS]
        assert len(health(tables)) == 1  # a property changes nothing that readers see
        found = compared(tables)
        assert [(row.side, row.copies) for row in found.rows] == [(Side.MISSING, 1)]
        assert found.total == 1
        refresh(tables)
        tables.append("orders", [(9, DAY_3, 1)])
        refresh(tables)
        assert compared(tables).is_equal

    def test_rows_are_counted_as_often_as_they_differ(self, tables):
        create(tables, KEYS)
        tables.append("t", [(7, 7), (7, 7), (8, 8)])
        found = compared(tables, limit=1)
        assert (len(found.rows), found.total) == (1, 3)
        assert found.rows[0].side is Side.UNEXPECTED

    def test_a_table_is_compared_over_the_state_that_it_reflects(self, tables):
        create(tables)
        tables.append("orders", [(1, DAY_3, 100)])
        assert compared(tables).is_equal

    def test_a_suspended_table(self, tables):
        create(tables)
        tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
        assert kinds(tables) == [DriftKind.STATUS]
        assert len(health(tables)) == 1
        assert compared(tables).is_equal
        or_alter(tables, WIDER)
        assert compared(tables).problem

    def test_a_definition_changed_by_another_writer(self, tables):
        owned_by(tables, OWNER)
        create(tables)
        owned_by(tables, ())
        tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
        tables.execute("ALTER MATERIALIZED TABLE t RESUME")
        assert kinds(tables) == []
        tables.execute("ALTER MATERIALIZED TABLE t SET COMMENT 'c'")
        assert kinds(tables) == [DriftKind.DEFINITION]
        owned_by(tables, OWNER)
        or_alter(tables, SUMS)
        assert kinds(tables) == []

    def test_a_whole_statement_sets_the_owner(self, tables):
        create(tables)
        owned_by(tables, OWNER)
        tables.execute("ALTER MATERIALIZED TABLE t SET COMMENT 'c'")
        assert tables.stored("t").definition.owner == ()
        or_alter(tables, SUMS)
        assert tables.stored("t").definition.owner == OWNER

    def test_an_unfinished_statement(self, tables):
        create(tables)
        with pytest.raises(UnfinishedChangeError):
            tables.execute(
                "ALTER MATERIALIZED TABLE t SET COMMENT 'c'",
                Faulty(tables.environment.runner, Publish),
            )
        assert kinds(tables) == [DriftKind.UNFINISHED]
        assert len(health(tables)) == 1

    def test_a_damaged_table_and_none(self, tables):
        assert kinds(tables) == [DriftKind.TABLE]
        create(tables)
        tables.drop_column("t", "total")
        assert DriftKind.TABLE in kinds(tables)
        tables.drop("t")
        tables.view("t", SUMS)
        assert kinds(tables) == [DriftKind.TABLE]

    def test_a_failed_refresh_counts_until_one_succeeds(self, tables):
        create(tables, clauses="(CHECK (total < 100))")
        tables.append("orders", [(1, DAY_3, 500)])
        with pytest.raises(ConstraintViolatedError):
            refresh(tables)
        (problem,) = health(tables)
        assert "failed" in problem
        tables.delete("orders", "amount", 500)
        refresh(tables)
        assert health(tables) == ()

    def test_old_versions_of_a_recreated_source_cannot_be_read(self, tables):
        create(tables)
        tables.source("orders", "k INT; day STRING; amount INT", [(5, DAY_3, 5)])
        assert "orders" in compared(tables).problem

    def test_partitions_over_another_state(self, tables):
        full = "PARTITIONED BY (day) REFRESH_MODE = FULL"
        create(tables, DAILY, full)
        tables.append("orders", [(1, DAY_3, 1)])
        tables.execute(f"ALTER MATERIALIZED TABLE t REFRESH PARTITION (day = '{DAY_3}')")
        assert compared(tables).problem
        refresh(tables)
        assert compared(tables).is_equal

    def test_lag_is_measured_now(self, tables):
        create(tables, clauses="FRESHNESS = INTERVAL '2' MINUTE")
        assert lag_of(tables.environment, T).seconds == 0
        tables.append("orders", [(1, DAY_3, 1)])
        clock = tables.environment.clock
        later = replace(tables.environment, clock=lambda: clock() + timedelta(hours=1))
        tables.forget()
        lag = lag_of(later, T)
        assert lag.freshness_seconds == 120
        assert lag.seconds >= 3600

    def test_there_is_nothing_to_compare(self, tables):
        with pytest.raises(TableNotFoundError):
            compared(tables)
        with pytest.raises(TableNotFoundError):
            lag_of(tables.environment, T)

    def test_describe_shows_drift(self, tables):
        create(tables, clauses="COMMENT 'c' WITH ('a' = '1')")
        tables.set_property("t", "a", "2")
        rows = tables.execute("DESC EXTENDED MATERIALIZED TABLE t").rows
        (text,) = [text for label, text, _ in rows if label == "Drift"]
        assert "property a" in text
