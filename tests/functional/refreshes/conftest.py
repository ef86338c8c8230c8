"""The Spark of the tests of the engine, in a process of its own: how rows follow their sources."""

from __future__ import annotations

import pytest

from tests.functional.engine.conftest import schema, session, spark, warehouse
from tests.functional.engine.test_table_format import DeltaWorld

__all__ = ["schema", "session", "spark", "warehouse"]


@pytest.fixture
def world(session, schema):
    """Tables with deletion vectors, in the current schema."""
    assert session.catalog.currentDatabase() == schema
    world = DeltaWorld(session)
    world.has_vectors = True
    return world
