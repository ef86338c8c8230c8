"""Journeys of the design documents on Spark and Delta.

Here those run every time that Spark alone can answer, and one story. The others run every time in
memory, and here with `make conformance`.
"""

import pytest

from tests.behaviour.harness import divided
from tests.behaviour.spark import SparkTables
from tests.flips.flip_435_statements import Flip435Statements
from tests.flips.flip_435_story import Flip435Story
from tests.flips.flip_492 import Flip492
from tests.flips.flip_546 import Flip546
from tests.flips.flip_551 import Flip551
from tests.flips.flip_557 import Flip557
from tests.flips.journeys import only
from tests.flips.world import Clock, World

CORE, _ = divided(Flip435Story, ("cascades", "refuses_temporary_views", "updates_a_row"))


@pytest.fixture
def world(session, schema):
    assert session.catalog.currentDatabase() == schema
    return World(SparkTables(session), Clock(), session.conf.set)


class TestFlip435Story(CORE):
    """What Spark has a part in."""


@pytest.mark.conformance
class TestEveryFlip435Story(only(Flip435Story, "spark")):
    """The rest of the story."""

    test_cascades = None
    test_refuses_temporary_views = None
    test_updates_a_row = None


@pytest.mark.conformance
class TestFlip435Statements(only(Flip435Statements, "spark")):
    """Statements of FLIP-435."""


@pytest.mark.conformance
class TestFlip492(only(Flip492, "spark")):
    """Changes of queries and definitions."""


@pytest.mark.conformance
class TestFlip546(only(Flip546, "spark")):
    """CREATE OR ALTER."""


@pytest.mark.conformance
class TestFlip551(only(Flip551, "spark")):
    """Freshness that is derived."""


@pytest.mark.conformance
class TestFlip557(only(Flip557, "spark")):
    """Start modes and the retention of state."""
