"""The behaviour suite on the ports in memory."""

import pytest

from tests.behaviour.adoption import Adoption
from tests.behaviour.alterations import Alterations
from tests.behaviour.checks import Checks
from tests.behaviour.column_lists import ColumnLists
from tests.behaviour.faults import Faults
from tests.behaviour.jobs import Jobs
from tests.behaviour.memory import MemoryTables
from tests.behaviour.source_columns import SourceColumns, run_case
from tests.behaviour.suite import Behaviour


@pytest.fixture
def tables():
    return MemoryTables()


class TestBehaviour(Behaviour):
    """Every guarantee, without an SQL engine."""


class TestAlterations(Alterations):
    """Every ALTER and every state, without an SQL engine."""


class TestColumnLists(ColumnLists):
    """Column lists that change, without an SQL engine."""


class TestChecks(Checks):
    """Checks, without an SQL engine."""


class TestFaults(Faults):
    """Every fault, without an SQL engine."""


class TestJobs(Jobs):
    """The log of refreshes, without an SQL engine."""


class TestAdoption(Adoption):
    """Tables that are taken over and handed back, without an SQL engine."""


class TestSourceColumns(SourceColumns):
    """Results by the names of the sources' columns, without an SQL engine."""

    @pytest.mark.parametrize("seed", range(40))
    def test_whatever_becomes_of_the_sources(self, tables, seed):
        run_case(tables, seed, count=6, changes=3)
