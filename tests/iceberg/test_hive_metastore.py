"""A Hive Metastore as a catalog of Iceberg: what its users report."""

from __future__ import annotations

import time
from threading import Timer

import pytest

from dbt.adapters.spark_mt.definition import conditions
from tests.iceberg.conftest import HIVE, LOCK_TIMEOUT_S
from tests.iceberg.test_tables import CHANGES, ROWWISE, SUMS, World
from tests.support.errors import raises

pytestmark = pytest.mark.parametrize("iceberg_catalog", [HIVE], indirect=True)


@pytest.fixture
def world(session, schema, iceberg_catalog):
    return World(session, schema, catalog=iceberg_catalog)


def test_names_are_those_of_the_metastore_in_any_case(world):
    name, other = (f"{HIVE}.{world.schema.upper()}.{each}" for each in ("Sums", "SUMS"))
    world.create(SUMS, name=name)
    world.change(CHANGES[0])
    world.refreshed(SUMS, name=name)
    world.refreshed(SUMS, name=f"{HIVE}.{world.schema}.sums")
    shown = world.tables.execute(f"SHOW MATERIALIZED TABLES IN {HIVE}.{world.schema}").rows
    assert [row[:2] for row in shown] == [(world.schema, "sums")]
    world.tables.execute(f"DROP MATERIALIZED TABLE {other}")
    shown = world.tables.execute(f"SHOW MATERIALIZED TABLES IN {HIVE}.{world.schema}").rows
    assert not shown


def test_a_query_may_be_longer_than_a_property_of_hive_in_sql(world):
    numbers = ", ".join(map(str, range(1_000, 9_000)))
    query = f"{ROWWISE} AND id NOT IN ({numbers})"
    world.create(query, "")
    world.change(CHANGES[0])
    world.refreshed(query)


_HELD = (
    "INSERT INTO hive_locks VALUES (999, 1, 0, '{schema}', 'm', NULL, 'a', 'e', "
    "{now}, {now}, 'other', 'elsewhere', NULL, NULL, NULL, NULL)"
)


def test_a_lock_that_another_program_holds_is_waited_for(world, metastore):
    world.create(ROWWISE)
    world.change(CHANGES[0])
    now = time.time_ns() // 1_000_000
    metastore.database.run(_HELD.format(schema=world.schema, now=now))
    release = "DELETE FROM hive_locks WHERE hl_lock_ext_id = 999"
    later = Timer(LOCK_TIMEOUT_S + 3, metastore.database.run, [release])
    later.start()
    try:
        world.refreshed(ROWWISE)
    finally:
        later.join()
    assert time.time_ns() // 1_000_000 - now > LOCK_TIMEOUT_S * 1000
    assert world.tables.refresh(world.name).strategy == "skip"


def test_a_metastore_that_does_not_answer_is_named(world, metastore):
    world.create(ROWWISE, "")
    world.change(CHANGES[0])
    metastore.kill()
    try:
        for action in (
            lambda: world.tables.refresh(world.name),
            lambda: world.create(SUMS, name=f"{HIVE}.{world.schema}.other"),
            lambda: world.tables.execute(f"SHOW MATERIALIZED TABLES IN {HIVE}.{world.schema}"),
        ):
            with raises(conditions.CATALOG_UNAVAILABLE, match="Could not connect to meta store"):
                action()
    finally:
        metastore.start()
    world.refreshed(ROWWISE)
