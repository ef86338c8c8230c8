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
    """Every ALTER and every state on Delta."""
