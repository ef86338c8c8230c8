"""The journeys of the design documents on the ports in memory."""

import pytest

from tests.behaviour.memory import MemoryTables
from tests.flips.flip_435_statements import Flip435Statements
from tests.flips.flip_435_story import Flip435Story
from tests.flips.flip_492 import Flip492
from tests.flips.flip_546 import Flip546
from tests.flips.flip_551 import Flip551
from tests.flips.flip_557 import Flip557
from tests.flips.journeys import only
from tests.flips.world import Clock, World


@pytest.fixture
def world():
    clock = Clock()
    tables = MemoryTables(clock)
    return World(tables, clock, tables.memory.confs.__setitem__)


TestFlip435Story = only(Flip435Story, "memory")
TestFlip435Statements = only(Flip435Statements, "memory")
TestFlip492 = only(Flip492, "memory")
TestFlip546 = only(Flip546, "memory")
TestFlip551 = only(Flip551, "memory")
TestFlip557 = only(Flip557, "memory")
