"""Streams that write tables of Iceberg."""

from __future__ import annotations

import pytest

from tests.iceberg.test_tables import CHANGES, ROWWISE, World

CONTINUOUS = "FRESHNESS = INTERVAL '1' SECOND REFRESH_MODE = CONTINUOUS"
KEYED = "SELECT k, sum(v) AS total FROM {t} GROUP BY k"
WAIT_S = 120


@pytest.fixture
def world(session, schema):
    made = World(session, schema, "delta")
    yield made
    made.tables.stop_all()


@pytest.mark.parametrize(
    ("query", "clauses"),
    [(ROWWISE, ""), pytest.param(KEYED, "", marks=pytest.mark.conformance)],
)
def test_batches_are_commits_of_the_table(world, query, clauses):
    world.create(query, f"{clauses} {CONTINUOUS}")
    world.tables.start(world.name)
    for number in range(3):
        world.change(f"INSERT INTO {{t}} VALUES ({200 + number}, 'a', {number})")
        world.tables.await_fresh(world.name, WAIT_S)
        world.equals(query)
    world.session.sql(f"DELETE FROM {world.name} WHERE k = 'nothing'")
    world.change("INSERT INTO {t} VALUES (300, 'b', 1)")
    world.tables.await_fresh(world.name, WAIT_S)
    world.equals(query, "a commit of a user lets the batch be made again")
    world.tables.stop(world.name)
    world.change(CHANGES[1])
    world.tables.start(world.name)
    world.tables.await_fresh(world.name, WAIT_S)
    world.equals(query, "changed rows are not those of a stream")
