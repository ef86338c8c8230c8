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
    """What checks tell, on Delta."""


class TestAlterations(Alterations):
    """Every ALTER and every state on Delta."""
