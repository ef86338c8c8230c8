"""The journeys of the design documents on the ports in memory."""

import pytest

from tests.behaviour.memory import MemoryTables
from tests.seeds.seed_435_statements import Seed435Statements
from tests.seeds.seed_435_story import Seed435Story
from tests.seeds.seed_492 import Seed492
from tests.seeds.seed_546 import Seed546
from tests.seeds.seed_551 import Seed551
from tests.seeds.seed_557 import Seed557
from tests.seeds.told import only
from tests.seeds.world import Clock, World


@pytest.fixture
def world():
    clock = Clock()
    tables = MemoryTables(clock)
    return World(tables, clock, tables.memory.confs.__setitem__)


TestSeed435Story = only(Seed435Story, "memory")
TestSeed435Statements = only(Seed435Statements, "memory")
TestSeed492 = only(Seed492, "memory")
TestSeed546 = only(Seed546, "memory")
TestSeed551 = only(Seed551, "memory")
TestSeed557 = only(Seed557, "memory")
