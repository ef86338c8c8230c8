"""The journeys of FLIP-546 with its messages, and everything else that cannot be done in place."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.changes.changes import Change, Changed
from dbt.adapters.spark_mt.changes.compatibility import check, raise_if_incompatible
from dbt.adapters.spark_mt.changes.differ import diff
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import ColumnSpec
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError
from dbt.adapters.spark_mt.definition.modes import (
    LogicalRefreshMode,
    ResolvedStartMode,
    StateRetention,
    StateRetentionType,
)
from dbt.adapters.spark_mt.resolution.settings import parse_start_mode
from dbt.adapters.spark_mt.statements.clauses import Effect
from tests.support.errors import raises
from tests.unit.builders import TABLE, changed, columns, resolve, stored

FOUR = "user_id INT; product_id INT; price DECIMAL(10,2); description STRING"
SELECT_FOUR = "SELECT user_id, product_id, price, description FROM orders WHERE price > 1000"
FULL = LogicalRefreshMode.FULL


def violations(before, after, ddl=FOUR, old_ddl=FOUR):
    old, new = resolve(before, old_ddl), resolve(after, ddl)
    return check(TABLE, stored(old), new, diff(old, new))


def declared(query=SELECT_FOUR, **clauses):
    return DeclaredDefinition(query, **clauses)


def journey(query, ddl):
    """A table of four columns gets a query; what is in the way?"""
    return violations(declared(), declared(query), ddl)


def test_journey_1_the_same_statement_again_does_nothing():
    before = resolve(declared(), FOUR)
    assert diff(before, resolve(declared(), FOUR)) == ()


def test_journey_2_1_a_column_may_be_appended():
    three = "user_id INT; product_id INT; price DECIMAL(10,2)"
    before = resolve(declared("SELECT user_id, product_id, price FROM orders"), three)
    after = resolve(declared(), FOUR)
    changes = diff(before, after)
    assert changes == (
        Change(Changed.QUERY, Effect.CONTENT),
        Change(Changed.COLUMNS_APPENDED, Effect.CONTENT, new=columns("description STRING")),
    )
    assert check(TABLE, stored(before), after, changes) == ()


def test_journey_2_2_the_logic_may_change():
    assert journey(SELECT_FOUR.replace("1000", "500"), FOUR) == ()


def test_journey_2_3_a_column_may_not_be_dropped():
    (error,) = journey("SELECT three", "user_id INT; product_id INT; price DECIMAL(10,2)")
    assert error.kind is conditions.DROPPED_COLUMN
    assert (
        "Failed to modify query because drop column is unsupported. When modifying a query, you "
        "can only append new columns at the end of original schema. The original schema has 4 "
        "columns, but the newly derived schema from the query has 3 columns."
    ) in str(error)
    assert error.parameters["dropped"] == "`description`"
    assert error.violations == ()


def test_journey_2_4_columns_may_not_be_reordered():
    (error,) = journey(
        "SELECT moved", "user_id INT; price DECIMAL(10,2); product_id INT; description STRING"
    )
    assert error.kind is conditions.COLUMN_MISMATCH
    assert (
        "When modifying the query of a materialized table, currently only support appending "
        "columns at the end of original schema, dropping, renaming, and reordering columns are not "
        "supported. Column mismatch at position 1: Original column is [`product_id` INT], but new "
        "column is [`price` DECIMAL(10,2)]."
    ) in str(error)
    (other,) = error.violations
    assert other == (
        "Column mismatch at position 2: Original column is [`price` DECIMAL(10,2)], but new column "
        "is [`product_id` INT]."
    )


def test_journey_2_5_a_type_may_not_change():
    (error,) = journey("SELECT cast", "user_id INT; product_id INT; price INT; description STRING")
    assert error.kind is conditions.COLUMN_MISMATCH
    assert (
        "Column mismatch at position 2: Original column is [`price` DECIMAL(10,2)], but new column "
        "is [`price` INT]."
    ) in str(error)


def test_the_count_is_checked_before_the_mismatches():
    (error,) = journey("SELECT two", "user_id INT; price DECIMAL(10,2)")
    assert error.kind is conditions.DROPPED_COLUMN
    assert [v[:30] for v in error.violations] == ["Column mismatch at position 1:"]
    assert error.parameters["dropped"] == "`product_id`, `description`"


def test_types_that_only_grow_name_the_option():
    wider = FOUR.replace("product_id INT", "product_id BIGINT")
    (error,) = journey("SELECT wider", wider)
    assert error.kind is conditions.COLUMN_WIDENING
    options = (("schema.type-widening", "true"),)
    assert (
        violations(declared(options=options), declared("SELECT wider", options=options), wider)
        == ()
    )
    assert violations(declared(), declared("SELECT wider", options=options), wider) == ()


def test_every_error_names_the_table_the_remedy_and_its_cost():
    (error,) = journey("SELECT two", "user_id INT; price DECIMAL(10,2)")
    assert error.parameters["table"] == str(TABLE)
    assert f"CREATE OR REPLACE MATERIALIZED TABLE {TABLE}" in str(error)


def test_an_appended_column_is_nullable():
    specs = (ColumnSpec("a", "INT"), ColumnSpec("b", "INT", not_null=True))
    before, after = declared("q", columns=specs[:1]), declared("q2", columns=specs)
    (error,) = violations(before, after, "a INT; b INT", "a INT")
    assert error.kind is conditions.APPENDED_NOT_NULL
    assert error.parameters["column"] == "`b` INT"


def test_partitioning_is_for_life():
    before, after = declared(partitioned_by=("user_id",)), declared(clustered_by=("user_id",))
    (error,) = violations(before, after)
    assert error.kind is conditions.PARTITIONING_CHANGE
    assert (error.parameters["old"], error.parameters["new"]) == ("user_id", "")


def with_start(definition, text, instant=None):
    start_mode = parse_start_mode(text)
    return changed(
        definition,
        declared=replace(definition.declared, start_mode=start_mode),
        start_mode=ResolvedStartMode(start_mode, instant),
    )


def start_violations(old, new, *, query_changes=False, mode=None):
    base = resolve(declared(refresh_mode=mode), FOUR)
    query = "SELECT other" if query_changes else SELECT_FOUR
    before = with_start(base, old, 1)
    after = with_start(resolve(declared(query, refresh_mode=mode), FOUR), new, 1)
    return [type(e) for e in check(TABLE, stored(before), after, diff(before, after))]


BEGIN, RESUME = "FROM_BEGINNING", "RESUME_OR_FROM_BEGINNING"


@pytest.mark.parametrize("new", [BEGIN, RESUME, "FROM_NOW"])
def test_definitions_do_not_decide_whether_a_start_is_possible(new):
    assert start_violations(BEGIN, new, query_changes=True) == []
    assert start_violations(BEGIN, new, query_changes=True, mode=FULL) == []


ALL = StateRetention(StateRetentionType.ALL)


@pytest.mark.parametrize(
    ("query", "modes", "start", "expected"),
    [
        (SELECT_FOUR, (None, None), BEGIN, []),
        ("SELECT other", (None, None), BEGIN, [conditions.CONTRADICTORY_STATE_RETENTION]),
        ("SELECT other", (None, None), "FROM_NOW", [conditions.CONTRADICTORY_STATE_RETENTION]),
        ("SELECT other", (None, None), RESUME, []),
        ("SELECT other", (FULL, FULL), BEGIN, []),
        ("SELECT other", (FULL, None), BEGIN, []),
        (f"{SELECT_FOUR} -- text", (None, None), BEGIN, []),
    ],
)
def test_state_that_would_be_kept_at_a_change_of_the_query(query, modes, start, expected):
    clauses = {"state_retention": ALL, "start_mode": parse_start_mode(start)}
    before = resolve(declared(refresh_mode=modes[0], **clauses), FOUR, expanded="x")
    expanded = "y" if "other" in query else "x"
    after = resolve(declared(query, refresh_mode=modes[1], **clauses), FOUR, expanded=expanded)
    found = check(TABLE, stored(before), after, diff(before, after))
    assert [e.kind for e in found] == expected


def test_state_retention_without_a_start_mode_resumes():
    before = resolve(declared(state_retention=ALL), FOUR, expanded="x")
    after = resolve(declared("SELECT other", state_retention=ALL), FOUR, expanded="y")
    assert check(TABLE, stored(before), after, diff(before, after)) == ()


def test_all_violations_come_as_one_error():
    before = resolve(declared(partitioned_by=("user_id",)), FOUR)
    clauses = {"state_retention": ALL, "start_mode": parse_start_mode(BEGIN)}
    after = resolve(declared("SELECT two", **clauses), "user_id INT; price DECIMAL(10,2)")
    with pytest.raises(InvalidDefinitionError) as caught:
        raise_if_incompatible(TABLE, stored(before), after, diff(before, after))
    assert caught.value.conditions == (
        "MATERIALIZED_TABLE_DROPPED_COLUMN",
        "MATERIALIZED_TABLE_PARTITIONING_CHANGE",
        "MATERIALIZED_TABLE_CONTRADICTORY_STATE_RETENTION",
    )
    assert len(caught.value.violations) == 3
    assert caught.value.parameters == {"table": str(TABLE)}


def test_one_violation_comes_as_itself_and_none_as_nothing():
    before = resolve(declared(partitioned_by=("user_id",)), FOUR)
    after = resolve(declared(), FOUR)
    with raises(conditions.PARTITIONING_CHANGE) as caught:
        raise_if_incompatible(TABLE, stored(before), after, diff(before, after))
    assert caught.value.conditions == ("MATERIALIZED_TABLE_PARTITIONING_CHANGE",)
    raise_if_incompatible(TABLE, stored(before), before, ())
