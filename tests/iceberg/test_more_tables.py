"""Partitions, adoption and release of materialized tables of Iceberg."""

from __future__ import annotations

import pytest

from tests.functional.engine.oracle import outcome, rows
from tests.iceberg.test_tables import CHANGES, STRICT, World


@pytest.fixture
def world(session, schema):
    return World(session, schema)


def test_a_partition_is_refreshed_also_where_a_user_changed_the_partitioning(world):
    query = "SELECT CAST(id % 3 AS STRING) AS `Part No`, sum(v) AS v FROM {t} GROUP BY id % 3"
    clauses = "PARTITIONED BY (`Part No`) FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL"
    world.create(query, clauses)
    for evolution in ("", f"ALTER TABLE {world.name} ADD PARTITION FIELD bucket(2, v)"):
        if evolution:
            world.session.sql(evolution)
        world.change(CHANGES[1])
        before = rows(world.tables, f"SELECT * FROM {world.name} WHERE `Part No` <> '1'")
        refresh = f"ALTER MATERIALIZED TABLE {world.name} REFRESH PARTITION (`Part No` = '1')"
        outcome(world.tables, refresh)
        now = rows(world.tables, f"SELECT * FROM {world.name}")
        part = rows(
            world.tables, f"SELECT * FROM ({query.format(t=world.source)}) WHERE `Part No` = '1'"
        )
        assert now == sorted([*before, *part])


def test_a_plain_table_is_adopted_and_released(world):
    query = "SELECT id, k, v FROM {t}"
    world.session.sql(f"CREATE TABLE {world.name} USING iceberg AS {query.format(t=world.source)}")
    before = world.snapshots()
    text = f"ADOPT MATERIALIZED TABLE {world.name} {STRICT} AS {query.format(t=world.source)}"
    assert outcome(world.tables, text).action.value == "ADOPTED"
    assert world.snapshots()[:1] == before
    world.change(CHANGES[0])
    world.refreshed(query)
    assert world.tables.release(world.name).action.value == "RELEASED"
    found = {row[0] for row in world.session.sql(f"SHOW TBLPROPERTIES {world.name}").collect()}
    assert not [key for key in found if key.startswith("materialized-table.")]
    world.equals(query)
