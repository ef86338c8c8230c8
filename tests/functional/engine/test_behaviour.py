"""The behaviour suite on Spark and Delta."""

from __future__ import annotations

import pytest

from tests.behaviour.spark import SparkTables
from tests.behaviour.suite import Behaviour


@pytest.fixture
def tables(session, schema):
    return SparkTables(session)


class TestBehaviour(Behaviour):
    """Every guarantee on Delta."""
