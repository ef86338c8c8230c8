"""A Hive Metastore as a catalog of Iceberg: what its users report."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from tests.iceberg.conftest import HIVE
from tests.iceberg.test_tables import CHANGES, ROWWISE, SUMS, World

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
            with pytest.raises(MaterializedTableError, match="Could not connect to meta store"):
                action()
    finally:
        metastore.start()
    world.refreshed(ROWWISE)
