"""Tables that are declared with a column list: what ALTER … AS makes of it, and every reason.

A subclass gives the fixture `tables`; the statements are the same for every engine.
"""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import ColumnSpec
from dbt.adapters.spark_mt.definition.errors import (
    ConstraintViolatedError,
    InvalidDefinitionError,
    MaterializedTableError,
)
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from tests.behaviour.adoption import adopt
from tests.behaviour.alterations import alter
from tests.behaviour.suite import DAY_3, SUMS, WIDER, create, or_alter, prepare, refresh
from tests.support.errors import raises

BARE = "(key, amount)"
TYPED = "(total BIGINT COMMENT 'sum', k BIGINT NOT NULL)"
CONSTRAINED = "(total BIGINT, k BIGINT, PRIMARY KEY (k) NOT ENFORCED, CHECK (total < 100))"
FIRST = "SELECT count(*) AS n, k, sum(amount) AS total FROM orders GROUP BY k"
LESS = "SELECT k FROM orders GROUP BY k"
RENAMED = "SELECT k, sum(amount) AS other FROM orders GROUP BY k"
SMALL = "SELECT k, CAST(sum(amount) AS INT) AS total FROM orders GROUP BY k"
NOTHING = "SELECT k, CAST(NULL AS BIGINT) AS total FROM orders GROUP BY k"
STRICT = "(k INT, total BIGINT NOT NULL)"
LOOSE = "(k INT, total BIGINT)"
DAYS = "SELECT k, day, amount FROM orders"
ONLY_AMOUNT = "SELECT k, amount FROM orders"


def conditions_of(error: MaterializedTableError) -> list[str]:
    """The conditions of an error that may stand for several."""
    found = getattr(error, "conditions", (error.condition,))
    return [condition.removeprefix("MATERIALIZED_TABLE_") for condition in found]


def columns(tables) -> list[tuple[str, str]]:
    """Name and type of the columns that the table really has."""
    return [(column.name, column.type) for column in tables.stored("t").columns]


def again(tables):
    """Run what SHOW CREATE prints."""
    ((text,),) = tables.execute("SHOW CREATE OR ALTER MATERIALIZED TABLE t").rows
    return tables.execute(text).outcome


class ColumnLists:
    """Column lists that change."""

    @pytest.fixture(autouse=True)
    def _prepared(self, tables):
        prepare(tables)
        tables.learn(
            FIRST, "n BIGINT; k INT; total BIGINT", lambda r: [(n, k, t) for k, t, n in _wider(r)]
        )
        tables.learn(LESS, "k INT", lambda r: {(k,) for k, _, _ in r["orders"]})
        tables.learn(RENAMED, "k INT; other BIGINT", lambda r: [(k, t) for k, t, _ in _wider(r)])
        nothing = "k INT; total BIGINT"
        tables.learn(NOTHING, nothing, lambda r: [(k, None) for k, _, _ in _wider(r)])
        tables.learn(DAYS, "k INT; day STRING; amount INT", lambda r: r["orders"])

    # ALTER … AS appends to the list

    def test_a_list_of_names_grows_with_the_query(self, tables):
        create(tables, SUMS, BARE)
        outcome = alter(tables, f"AS {WIDER}")
        assert outcome.action is Action.ALTERED
        assert any("`n` BIGINT" in change for change in outcome.changes)
        assert columns(tables) == [("key", "INT"), ("amount", "BIGINT"), ("n", "BIGINT")]
        assert tables.rows("t") == [(1, 15, 2), (2, 7, 1)]
        assert tables.stored("t").definition.declared.columns[2] == ColumnSpec("n")
        assert again(tables).action is Action.UNCHANGED

    @pytest.mark.parametrize("clauses", [TYPED, CONSTRAINED])
    @pytest.mark.parametrize("query", [WIDER, FIRST])
    def test_a_typed_list_grows_with_the_query(self, tables, clauses, query):
        """The new column goes to the end, wherever the query has it; it may be NULL."""
        create(tables, SUMS, clauses)
        before = tables.stored("t").definition.declared
        alter(tables, f"AS {query}")
        assert columns(tables) == [("total", "BIGINT"), ("k", "BIGINT"), ("n", "BIGINT")]
        assert tables.rows("t") == [(7, 2, 1), (15, 1, 2)]
        declared = tables.stored("t").definition.declared
        assert declared.columns == (*before.columns, ColumnSpec("n", "BIGINT"))
        assert declared.constraints == before.constraints
        assert tables.stored("t").definition.resolved.columns[2].nullable
        assert again(tables).action is Action.UNCHANGED
        tables.append("orders", [(3, DAY_3, 1)])
        assert refresh(tables).rows == 3

    def test_rows_that_stay_hold_null_in_the_new_column(self, tables):
        create(tables, SUMS, TYPED)
        alter(tables, "SUSPEND")
        alter(tables, f"AS {WIDER}")
        assert tables.rows("t") == [(7, 2, None), (15, 1, None)]
        alter(tables, "RESUME")
        assert tables.rows("t") == [(7, 2, 1), (15, 1, 2)]

    def test_constraints_alone_are_no_list(self, tables):
        create(tables, SUMS, "(PRIMARY KEY (k) NOT ENFORCED)")
        alter(tables, f"AS {WIDER}")
        assert tables.stored("t").definition.declared.columns == ()
        assert again(tables).action is Action.UNCHANGED

    def test_a_list_of_a_model_follows_in_its_next_run(self, tables):
        """CREATE OR ALTER says the whole definition: its own list counts."""
        create(tables, SUMS, BARE)
        alter(tables, f"AS {WIDER}")
        before = tables.stored("t")
        with pytest.raises(MaterializedTableError) as error:
            or_alter(tables, WIDER, BARE)
        assert conditions_of(error.value) == ["COLUMN_LIST_LENGTH"]
        with raises(conditions.DROPPED_COLUMN) as error:
            or_alter(tables, SUMS, BARE)
        assert error.value.parameters["oldCount"] == "3"
        assert tables.stored("t") == before
        assert or_alter(tables, WIDER, "(key, amount, n)").action is Action.UNCHANGED

    def test_explain_shows_the_appended_column(self, tables):
        create(tables, SUMS, TYPED)
        before = tables.stored("t")
        rows = tables.execute(f"EXPLAIN ALTER MATERIALIZED TABLE t AS {WIDER}").rows
        assert "appended: `n` BIGINT" in rows[-1][1]
        assert tables.stored("t") == before

    # ALTER … AS drops and renames nothing, and says so with the columns that the table has

    @pytest.mark.parametrize("clauses", ["", BARE, TYPED])
    def test_a_column_that_is_gone_is_refused(self, tables, clauses):
        create(tables, SUMS, clauses)
        before = tables.stored("t")
        with raises(conditions.DROPPED_COLUMN) as error:
            alter(tables, f"AS {LESS}")
        assert (error.value.parameters["oldCount"], error.value.parameters["newCount"]) == (
            "2",
            "1",
        )
        assert tables.stored("t") == before

    def test_a_renamed_column_of_a_typed_list_is_refused(self, tables):
        create(tables, SUMS, "(k INT, total BIGINT)")
        with raises(conditions.COLUMN_MISMATCH) as error:
            alter(tables, f"AS {RENAMED}")
        assert "at position 1" in error.value.parameters["mismatch"]

    def test_a_list_of_names_renames_by_position(self, tables):
        create(tables, SUMS, BARE)
        alter(tables, f"AS {RENAMED}")
        assert columns(tables) == [("key", "INT"), ("amount", "BIGINT")]

    # Every reason at once

    def test_a_lost_partition_column_is_a_lost_column_too(self, tables):
        create(tables, DAYS, "PARTITIONED BY (day) REFRESH_MODE = FULL")
        before = tables.stored("t")
        for change in (
            lambda: alter(tables, f"AS {ONLY_AMOUNT}"),
            lambda: or_alter(tables, ONLY_AMOUNT, "PARTITIONED BY (day) REFRESH_MODE = FULL"),
        ):
            with pytest.raises(MaterializedTableError) as error:
                change()
            assert conditions_of(error.value) == ["PARTITION_COLUMN", "DROPPED_COLUMN"]
            assert len(error.value.violations) == 2
        assert tables.stored("t") == before

    def test_a_lost_key_column_is_a_lost_column_too(self, tables):
        create(tables, SUMS, "(PRIMARY KEY (total) NOT ENFORCED)")
        with pytest.raises(MaterializedTableError) as error:
            alter(tables, f"AS {LESS}")
        assert conditions_of(error.value) == ["PRIMARY_KEY_COLUMN", "DROPPED_COLUMN"]

    def test_every_violation_of_a_change_is_reported(self, tables):
        create(tables, DAYS, "PARTITIONED BY (day) REFRESH_MODE = FULL")
        with pytest.raises(MaterializedTableError) as error:
            or_alter(
                tables,
                LESS,
                "PARTITIONED BY (k) WITH ('continuous.trigger-interval' = 'soon') "
                "REFRESH_MODE = FULL",
            )
        assert conditions_of(error.value) == [
            "ONLY_PARTITION_COLUMNS",
            "INVALID_OPTION",
            "DROPPED_COLUMN",
            "PARTITIONING_CHANGE",
        ]

    def test_a_column_list_that_does_not_fit_hides_nothing_else(self, tables):
        create(tables, DAYS, "PARTITIONED BY (day) REFRESH_MODE = FULL")
        with pytest.raises(MaterializedTableError) as error:
            or_alter(tables, DAYS, "(a, b) PARTITIONED BY (a) REFRESH_MODE = FULL")
        assert conditions_of(error.value) == ["COLUMN_LIST_LENGTH", "PARTITIONING_CHANGE"]

    def test_run_options_and_query_are_refused_together(self, tables):
        create(tables, SUMS)
        with pytest.raises(MaterializedTableError) as error:
            alter(tables, f"WITH ('colour' = 'red') AS {LESS}")
        assert conditions_of(error.value) == ["INVALID_RUN_OPTIONS", "DROPPED_COLUMN"]

    def test_a_new_not_null_column_is_named_along_with_a_mismatch(self, tables):
        create(tables, SUMS, "(k INT, total BIGINT)")
        with pytest.raises(InvalidDefinitionError) as error:
            or_alter(tables, WIDER, "(k BIGINT, total BIGINT, n BIGINT NOT NULL)")
        assert conditions_of(error.value) == ["COLUMN_WIDENING", "APPENDED_NOT_NULL"]

    def test_layout_and_definition_of_a_replacement_are_refused_together(self, tables):
        create(tables, SUMS, "CLUSTER BY (k)")
        with pytest.raises(MaterializedTableError) as error:
            create(tables, SUMS, "PARTITIONED BY (nothing)", "CREATE OR REPLACE")
        assert conditions_of(error.value) == ["CANNOT_PARTITION_CLUSTERED", "PARTITION_COLUMN"]

    # NOT NULL holds for every writer

    def test_others_cannot_write_null_where_the_list_says_not_null(self, tables):
        create(tables, SUMS, STRICT)
        assert_refuses_null(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        assert refresh(tables).rows == 3
        assert_refuses_null(tables)
        tables.append("t", [(None, 4)])
        assert or_alter(tables, SUMS, STRICT).action is Action.UNCHANGED

    def test_not_null_is_added_to_and_dropped_from_a_table(self, tables):
        create(tables, SUMS, LOOSE)
        tables.append("t", [(4, None)])
        with pytest.raises(ConstraintViolatedError):
            or_alter(tables, SUMS, STRICT)
        tables.delete("t", "k", 4)
        outcome = or_alter(tables, SUMS, STRICT)
        assert (outcome.action, outcome.refresh, outcome.warnings) == (Action.ALTERED, None, ())
        assert_refuses_null(tables)
        assert or_alter(tables, SUMS, LOOSE).action is Action.ALTERED
        tables.append("t", [(4, None)])
        assert len(tables.rows("t")) == 3

    def test_a_query_that_returns_null_may_come_with_the_end_of_not_null(self, tables):
        create(tables, SUMS, STRICT)
        with pytest.raises(ConstraintViolatedError):
            or_alter(tables, NOTHING, STRICT)
        assert_refuses_null(tables)
        outcome = or_alter(tables, NOTHING, LOOSE)
        assert outcome.refresh.rows == 2
        assert tables.rows("t") == [(1, None), (2, None)]
        ((text,),) = tables.execute("SHOW CREATE MATERIALIZED TABLE t").rows
        assert "NOT NULL" not in text

    def test_a_replacement_brings_its_own_not_null(self, tables):
        create(tables, SUMS, STRICT)
        create(tables, LESS, form="CREATE OR REPLACE")
        assert tables.rows("t") == [(1,), (2,)]
        tables.append("t", [(None,)])
        create(tables, SUMS, "(k INT, total BIGINT NOT NULL)", "CREATE OR REPLACE")
        assert_refuses_null(tables)

    def test_wider_columns_stay_not_null(self, tables):
        tables.learn(SMALL, "k INT; total INT", lambda r: [(k, t) for k, t, _ in _wider(r)])
        option = "WITH ('schema.type-widening' = 'true')"
        create(tables, SMALL, f"(k INT, total INT NOT NULL) {option}")
        outcome = or_alter(tables, SUMS, f"{STRICT} {option}")
        assert outcome.refresh.rows == 2
        assert_refuses_null(tables)

    @pytest.mark.parametrize("statement", ["create", "refresh"])
    def test_a_dropped_not_null_is_added_by_the_next_statement(self, tables, statement):
        create(tables, SUMS, STRICT)
        tables.drop_not_null("t", "total")
        if statement == "create":
            assert or_alter(tables, SUMS, STRICT).action is Action.UNCHANGED
        else:
            assert refresh(tables).status is RefreshResult.UP_TO_DATE
        assert not tables.stored("t").unpublished
        assert_refuses_null(tables)

    def test_a_null_of_others_in_such_a_table_is_a_warning(self, tables):
        create(tables, SUMS, STRICT)
        tables.drop_not_null("t", "total")
        tables.append("t", [(4, None)])
        outcome = or_alter(tables, SUMS, STRICT)
        assert outcome.action is Action.UNCHANGED
        assert ["column total" in warning for warning in outcome.warnings] == [True]
        tables.append("orders", [(3, DAY_3, 1)])
        assert refresh(tables).rows == 3
        assert or_alter(tables, SUMS, STRICT).warnings == ()
        assert_refuses_null(tables)

    def test_a_restored_table_refuses_null_again(self, tables):
        create(tables, SUMS, LOOSE)
        version = tables.stored("t").version
        or_alter(tables, SUMS, STRICT)
        tables.restore("t", version)
        or_alter(tables, SUMS, STRICT)
        assert_refuses_null(tables)

    def test_an_adopted_table_refuses_null(self, tables):
        tables.source("t", "k INT; total BIGINT", [(1, 15), (2, 7)])
        assert adopt(tables, SUMS, STRICT).action is Action.ADOPTED
        assert_refuses_null(tables)


def assert_refuses_null(tables) -> None:
    """Another writer cannot write NULL into the column `total` of the table `t`."""
    before = tables.rows("t")
    with pytest.raises(Exception, match=r"(?i)total"):
        tables.append("t", [(9, None)])
    assert tables.rows("t") == before


def _wider(rows):
    orders = rows["orders"]
    keys = {k for k, _, _ in orders}
    amounts = {k: [a for o, _, a in orders if o == k] for k in keys}
    return [(k, sum(amounts[k]), len(amounts[k])) for k in keys]
