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

CORE, REST = divided(Behaviour, ("a_partition_is_refreshed_alone",))
CHECKS_CORE, CHECKS_REST = divided(Checks, ("describe_shows_drift",))
ALTERATIONS_CORE, ALTERATIONS_REST = divided(
    Alterations,
    ("a_second_query_is_merged_on_the_key",),
)
COLUMN_LISTS_CORE, COLUMN_LISTS_REST = divided(
    ColumnLists,
    ("others_cannot_write_null_where_the_list_says_not_null",),
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
