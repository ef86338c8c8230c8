"""The behaviour suite on the ports in memory."""

import pytest

from tests.behaviour.adoption import Adoption
from tests.behaviour.alterations import Alterations
from tests.behaviour.checks import Checks
from tests.behaviour.faults import Faults
from tests.behaviour.jobs import Jobs
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import Behaviour


@pytest.fixture
def tables():
    return MemoryTables()


class TestBehaviour(Behaviour):
    """Every guarantee, without an SQL engine."""


class TestAlterations(Alterations):
    """Every ALTER and every state, without an SQL engine."""


class TestChecks(Checks):
    """What checks tell, without an SQL engine."""


class TestFaults(Faults):
    """Every fault, without an SQL engine."""


class TestJobs(Jobs):
    """What the log of refreshes tells, without an SQL engine."""


class TestAdoption(Adoption):
    """Tables that are taken over and handed back, without an SQL engine."""
