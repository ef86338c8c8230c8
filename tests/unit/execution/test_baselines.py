"""Tables that do not count their sources from their beginning, on the ports in memory."""

import pytest

from tests.behaviour.baseline_faults import BaselineFaults
from tests.behaviour.baselines import Baselines
from tests.behaviour.memory import MemoryTables


@pytest.fixture
def tables():
    return MemoryTables()


class TestBaselines(Baselines):
    """Every guarantee, without an SQL engine."""


class TestBaselineFaults(BaselineFaults):
    """Every fault, without an SQL engine."""
