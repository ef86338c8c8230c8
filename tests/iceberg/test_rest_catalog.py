"""A REST catalog of Iceberg: what differs from other catalogs, and what its users report."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.iceberg.driver_transactions import DriverTransaction
from tests.functional.engine.oracle import rows
from tests.iceberg.conftest import DEFAULTS, LOSING, REST
from tests.iceberg.rest_catalog import Fault
from tests.iceberg.test_tables import CHANGES, ROWWISE, STRICT, SUMS, World


def in_catalog(name):
    return pytest.mark.parametrize("iceberg_catalog", [name], indirect=True)


@pytest.fixture
def world(session, schema, iceberg_catalog):
    return World(session, schema, catalog=iceberg_catalog)


def properties(world):
    found = world.session.sql(f"SHOW TBLPROPERTIES {world.name}").collect()
    return {row[0]: row[1] for row in found}


@in_catalog(REST)
def test_properties_that_another_program_sets_meanwhile_are_kept(world, at_first_call):
    world.create(ROWWISE)
    world.change(CHANGES[0])

    def set_property():
        world.session.sql(f"ALTER TABLE {world.name} SET TBLPROPERTIES ('team' = 'shop')")

    calls = at_first_call(DriverTransaction, "publish", set_property)
    world.refreshed(ROWWISE)
    assert len(calls) == 1, "the server compares snapshots only"
    assert properties(world)["team"] == "shop"
    assert world.tables.refresh(world.name).strategy == "skip"


@in_catalog(DEFAULTS)
def test_properties_of_the_catalog_are_no_change_of_a_table(world):
    """Which also loads only the snapshots of branches."""
    world.create(SUMS)
    assert properties(world)["write.parquet.compression-codec"] == "gzip"
    before = world.snapshots()
    for _ in range(2):
        done = world.create(SUMS, form="CREATE OR ALTER")
        assert done.action.value == "UNCHANGED"
    assert world.tables.refresh(world.name).strategy == "skip"
    assert world.snapshots() == before
    for statement in CHANGES:
        world.change(statement)
        assert world.refreshed(SUMS, statement) == "differential", statement
    first = world.snapshots(world.source)[0]
    world.session.sql(
        f"CALL {world.catalog}.system.rollback_to_snapshot('{world.schema}.t', {first})"
    )
    assert world.refreshed(SUMS) == "differential"
    world.create(ROWWISE, f"PARTITIONED BY (k) {STRICT}", form="CREATE OR REPLACE")
    world.change(CHANGES[0])
    world.refreshed(ROWWISE)


@in_catalog(LOSING)
@pytest.mark.parametrize("status", [400, 401, 403, 429])
def test_a_commit_that_the_server_refuses_changes_nothing(world, proxy, status):
    world.create(ROWWISE)
    before = world.snapshots()
    world.change(CHANGES[0])
    proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=False, status=status, times=99)
    with pytest.raises(MaterializedTableError, match="othing was changed"):
        world.tables.refresh(world.name)
    proxy.fault = None
    assert world.snapshots() == before
    world.refreshed(ROWWISE)


@in_catalog(LOSING)
def test_a_refusal_is_a_conflict_where_another_program_came_first(world, proxy, at_first_call):
    """As Unity Catalog reports conflicts, with the status 400."""
    world.create(ROWWISE)
    world.change(CHANGES[0])

    def delete_and_refuse():
        world.session.sql(f"DELETE FROM {world.name} WHERE id = 1")
        proxy.fault = Fault(f"/{world.schema}/tables/m", is_made=False, status=400)

    calls = at_first_call(DriverTransaction, "publish", delete_and_refuse)
    world.tables.refresh(world.name, force=True)
    world.equals(ROWWISE)
    assert len(calls) == 2


@in_catalog(REST)
def test_a_namespace_below_another_one_is_refused_before_anything_runs(world):
    world.session.sql(f"CREATE NAMESPACE {REST}.{world.schema}.below")
    name = f"{REST}.{world.schema}.below.m"
    with pytest.raises(MaterializedTableError):
        world.create(SUMS, name=name)
    assert not rows(world.tables, f"SHOW TABLES IN {REST}.{world.schema}.below")
