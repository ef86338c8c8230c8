"""Commits whose answer is lost, and catalogs that do not answer."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.functional.engine.oracle import rows
from tests.iceberg.conftest import LOSING
from tests.iceberg.rest_catalog import Fault
from tests.iceberg.test_tables import CHANGES, ROWWISE, SUMS, World

in_rest = pytest.mark.parametrize("iceberg_catalog", [LOSING], indirect=True)
LOST = [
    pytest.param(is_made, status, id=f"{'made' if is_made else 'lost'}-{status}")
    for is_made in (True, False)
    for status in (None, 500, 502, 503, 504, 409)
    if is_made or status != 409
]


@pytest.fixture
def world(session, schema, iceberg_catalog):
    return World(session, schema, catalog=iceberg_catalog)


def equals_as_bag(world, query, name=None):
    found = Counter(rows(world.tables, f"SELECT * FROM {name or world.name}"))
    assert found == Counter(rows(world.tables, query.format(t=world.source)))


@in_rest
@pytest.mark.parametrize(("is_made", "status"), LOST)
def test_a_refresh_whose_answer_is_lost_adds_its_rows_once(world, proxy, is_made, status):
    world.create(ROWWISE)
    before = len(world.snapshots())
    world.change(CHANGES[0])
    proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=is_made, status=status)
    world.tables.refresh(world.name)
    assert proxy.fault.met == 1
    equals_as_bag(world, ROWWISE)
    assert len(world.snapshots()) == before + 1
    assert world.tables.refresh(world.name).strategy == "skip"


@in_rest
@pytest.mark.parametrize(("is_made", "status"), LOST)
def test_a_creation_whose_answer_is_lost_is_made_once(world, proxy, is_made, status):
    proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=is_made, status=status)
    assert world.create(SUMS).action.value == "CREATED"
    assert proxy.fault.met == 1
    equals_as_bag(world, SUMS)
    assert len(world.snapshots()) == 1
