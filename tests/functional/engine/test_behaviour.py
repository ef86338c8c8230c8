"""The behaviour suite on Spark and Delta."""

from __future__ import annotations

import pytest

from tests.behaviour.alterations import Alterations
from tests.behaviour.checks import Checks
from tests.behaviour.spark import SparkTables
from tests.behaviour.suite import Behaviour


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    return SparkTables(session)


class TestBehaviour(Behaviour):
    """Every guarantee on Delta."""

    # Five refreshes and as many changes only to count attempts, which needs no Spark.
    test_who_always_loses_gives_up = None


class TestChecks(Checks):
    """What checks tell, on Delta; what needs no Spark to be told is tested in memory alone."""

    test_a_suspended_table = None
    test_a_definition_that_somebody_else_changed = None
    test_who_declares_a_table_by_a_whole_statement_owns_it = None
    test_what_a_statement_left_undone = None
    test_a_failed_refresh_counts_until_one_succeeds = None
    test_lag_is_measured_now = None
    test_there_is_nothing_to_compare = None


class TestAlterations(Alterations):
    """ALTER and states on Delta; what only plans differently is tested in memory alone."""

    test_freshness_never_changes_an_explicit_mode = None
    test_another_mode_goes_on_from_the_positions_of_the_rows = None
    test_what_is_said_again_makes_no_commit = None
    test_explaining_an_alter_changes_nothing = None
    test_a_clause_is_altered_without_a_look_at_other_changes = None
    test_a_table_that_is_not_there_is_not_altered = None
    test_an_alteration_that_lost_a_race_plans_again = None
    test_a_query_that_does_not_fit_is_not_added = None
    test_resuming_what_is_up_to_date_computes_nothing = None
    test_a_table_that_cannot_catch_up_stays_suspended = None
    test_a_suspended_table_is_refreshed_when_asked = None
    test_rows_of_a_suspended_table_are_not_rewritten = None
    test_other_changes_of_a_suspended_table_leave_it_suspended = None
    test_a_suspended_table_whose_source_is_gone_can_still_be_suspended_and_dropped = None


@pytest.mark.conformance
class TestEveryAlteration(Alterations):
    """Every ALTER and every state on Delta."""
