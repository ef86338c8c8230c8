"""A chosen set of the design documents' journeys on Spark and Delta."""

import pytest

from tests.behaviour.spark import SparkTables
from tests.seeds.seed_435_statements import Seed435Statements
from tests.seeds.seed_435_story import Seed435Story
from tests.seeds.seed_492 import Seed492
from tests.seeds.seed_546 import Seed546
from tests.seeds.seed_551 import Seed551
from tests.seeds.seed_557 import Seed557
from tests.seeds.told import only
from tests.seeds.world import Clock, World


@pytest.fixture
def world(session, schema):
    assert session.catalog.currentDatabase() == schema
    return World(SparkTables(session), Clock(), session.conf.set)


TestSeed435Story = only(Seed435Story, "spark")
TestSeed435Statements = only(Seed435Statements, "spark")
TestSeed492 = only(Seed492, "spark")
TestSeed546 = only(Seed546, "spark")
TestSeed551 = only(Seed551, "spark")
TestSeed557 = only(Seed557, "spark")
