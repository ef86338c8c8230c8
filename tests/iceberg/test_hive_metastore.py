"""A Hive Metastore as a catalog of Iceberg: what its users report."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from tests.functional.engine.oracle import rows
from tests.iceberg.conftest import HIVE
from tests.iceberg.test_tables import CHANGES, ROWWISE, SUMS, World

pytestmark = pytest.mark.parametrize("iceberg_catalog", [HIVE], indirect=True)


@pytest.fixture
def world(session, schema, iceberg_catalog):
    return World(session, schema, catalog=iceberg_catalog)


def test_names_are_those_of_the_metastore_in_any_case(world):
    name = f"{HIVE}.{world.schema.upper()}.Sums"
    world.create(SUMS, name=name)
    world.change(CHANGES[0])
    world.refreshed(SUMS, name=name)
    world.refreshed(SUMS, name=name.lower())
    shown = world.tables.execute(f"SHOW MATERIALIZED TABLES IN {HIVE}.{world.schema}").rows
    assert [row[:2] for row in shown] == [(world.schema, "sums")]
    world.tables.execute(f"DROP MATERIALIZED TABLE {name.upper()}")
    shown = world.tables.execute(f"SHOW MATERIALIZED TABLES IN {HIVE}.{world.schema}").rows
    assert not shown


def test_a_query_may_be_longer_than_a_property_of_hive_in_sql(world):
    query = ROWWISE + "".join(f" AND id <> {number}" for number in range(1_000, 5_000))
    world.create(query, "")
    world.change(CHANGES[0])
    world.refreshed(query)


def test_the_lock_of_a_process_that_was_killed_is_named(world, metastore):
    world.create(ROWWISE, "")
    world.change(CHANGES[0])
    lock = (
        "INSERT INTO hive_locks VALUES "
        f"(999999, 1, 0, '{world.schema}', 'm', NULL, 'a', 'e', {10**15}, 1, 'x', 'x', 0, 'x', NULL, NULL)"
    )
    metastore.database.run(lock)
    with pytest.raises(Exception) as raised:
        world.tables.refresh(world.name)
    print(type(raised.value), raised.value)
    metastore.database.run("DELETE FROM hive_locks WHERE hl_lock_ext_id = 999999")
    world.refreshed(ROWWISE)


def test_a_table_of_hive_that_is_none_of_iceberg_is_no_source(world):
    with pytest.raises(MaterializedTableError) as raised:
        world.create("SELECT * FROM {t}_of_hive")
    print(type(raised.value), raised.value)


def test_a_metastore_that_is_away_is_named(world, metastore):
    world.create(ROWWISE, "")
    world.change(CHANGES[0])
    metastore.kill()
    try:
        for action in (
            lambda: world.tables.refresh(world.name),
            lambda: world.create(SUMS, name=f"{HIVE}.{world.schema}.other"),
            lambda: world.tables.execute(f"SHOW MATERIALIZED TABLES IN {HIVE}.{world.schema}"),
        ):
            with pytest.raises(Exception) as raised:
                action()
            print(type(raised.value), raised.value)
    finally:
        metastore.start()
    world.refreshed(ROWWISE)
