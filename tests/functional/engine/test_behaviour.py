"""The behaviour suite on Spark and Delta.

Every guarantee is tested in memory. Here those run every time in which Delta has a part, and all
with `make conformance`.
"""

from __future__ import annotations

import pytest

from tests.behaviour.alterations import Alterations
from tests.behaviour.checks import Checks
from tests.behaviour.column_lists import ColumnLists
from tests.behaviour.harness import divided
from tests.behaviour.spark import SparkTables
from tests.behaviour.suite import Behaviour

CORE, REST = divided(
    Behaviour,
    (
        "a_created_table_holds_the_result_of_its_query",
        "only_added_rows_are_computed_and_changes_of_other_writers_are_reported",
        "a_change_of_another_writer_between_plan_and_commit_is_reported",
        "a_changed_query_fills_the_table_and_keeps_its_identity",
        "a_refusal_comes_before_any_change",
        "dropping",
        "a_partition_is_refreshed_alone",
        "a_violated_constraint_keeps_the_old_rows",
        "a_refresh_that_lost_a_race_plans_again",
        "a_refresh_does_not_write_a_recreated_table",
        "two_creators_make_one_table",
    ),
)
CHECKS_CORE, CHECKS_REST = divided(
    Checks, ("rows_are_counted_as_often_as_they_differ", "describe_shows_drift")
)
ALTERATIONS_CORE, ALTERATIONS_REST = divided(
    Alterations,
    (
        "a_second_query_is_merged_on_the_key",
        "suspending_in_parallel_with_a_refresh_does_both",
    ),
)
COLUMN_LISTS_CORE, COLUMN_LISTS_REST = divided(
    ColumnLists,
    (
        "a_list_of_names_grows_with_the_query",
        "others_cannot_write_null_where_the_list_says_not_null",
        "a_dropped_not_null_is_added_by_the_next_statement",
        "an_adopted_table_refuses_null",
    ),
)


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    return SparkTables(session)


class TestBehaviour(CORE):
    """What Delta could get wrong."""


class TestChecks(CHECKS_CORE):
    """Checks on Delta."""


class TestAlterations(ALTERATIONS_CORE):
    """ALTER and states on Delta."""


class TestColumnLists(COLUMN_LISTS_CORE):
    """Columns that are appended, and NOT NULL, on Delta."""


@pytest.mark.conformance
class TestEveryColumnList(COLUMN_LISTS_REST):
    """All other guarantees of column lists."""


@pytest.mark.conformance
class TestEveryBehaviour(REST):
    """All other guarantees."""

    # Five refreshes and as many changes only to count attempts, which needs no Spark.
    test_a_writer_that_always_conflicts_fails = None


@pytest.mark.conformance
class TestEveryCheck(CHECKS_REST):
    """All other checks; what needs no Spark is tested in memory alone."""

    test_a_suspended_table = None
    test_a_definition_changed_by_another_writer = None
    test_a_whole_statement_sets_the_owner = None
    test_an_unfinished_statement = None
    test_a_failed_refresh_counts_until_one_succeeds = None
    test_lag_is_measured_now = None
    test_there_is_nothing_to_compare = None


@pytest.mark.conformance
class TestEveryAlteration(ALTERATIONS_REST):
    """Every other ALTER and state."""
