"""A chosen set of the design documents' journeys on Spark and Delta."""

import pytest

from tests.behaviour.spark import SparkTables
from tests.flips.flip_435_statements import Flip435Statements
from tests.flips.flip_435_story import Flip435Story
from tests.flips.flip_492 import Flip492
from tests.flips.flip_546 import Flip546
from tests.flips.flip_551 import Flip551
from tests.flips.flip_557 import Flip557
from tests.flips.journeys import only
from tests.flips.world import Clock, World


@pytest.fixture
def world(session, schema):
    assert session.catalog.currentDatabase() == schema
    return World(SparkTables(session), Clock(), session.conf.set)


TestFlip435Story = only(Flip435Story, "spark")
TestFlip435Statements = only(Flip435Statements, "spark")
TestFlip492 = only(Flip492, "spark")
TestFlip546 = only(Flip546, "spark")
TestFlip551 = only(Flip551, "spark")
TestFlip557 = only(Flip557, "spark")
