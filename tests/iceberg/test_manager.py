"""A refresh manager of a catalog of Iceberg."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.results import RelayedStatement
from dbt.adapters.spark_mt.manager.app import Identity, assemble
from dbt.adapters.spark_mt.manager.views import RefreshRequest, Role, StatementRequest
from tests.functional.manager.conftest import QUICK, Shop, until

LIVE = "FRESHNESS = INTERVAL '2' SECOND"


@pytest.fixture(scope="module")
def manager(spark):
    """A manager of the catalog for as long as the tests of this module run."""
    running = assemble(spark, QUICK, Identity("ice", version="test"))
    running.start()
    until(lambda: running.manager.about().role is Role.ACTIVE)
    yield running.manager
    assert running.stop(60)


def ended(manager, job_id):
    """Wait for the end of a refresh, which another one of its table must not make fail."""
    until(lambda: manager.job(job_id).ended_at_ms is not None)
    job = manager.job(job_id)
    assert job.status in {JobStatus.FINISHED, JobStatus.SKIPPED}, job.error


def in_its_own_catalog(manager, schema):
    """Name its table without a catalog."""
    assert manager.names(schema, "") == ("total",)
    assert manager.table(f"{schema}.total").view.name == f"ice.{schema}.total"
    ended(manager, manager.refresh(RefreshRequest(f"{schema}.total")).job_id)
    statement = RelayedStatement("ALTER MATERIALIZED TABLE total REFRESH")
    done = manager.execute(StatementRequest(statement, "in its own catalog", schema=schema))
    assert done.outcome.table == f"ice.{schema}.total"


def test_tables_follow_sources_of_both_formats(manager, session, schema):
    shop = Shop(manager, session, schema)
    for place in ("ice", "spark_catalog"):
        format_ = "iceberg" if place == "ice" else "delta"
        session.sql(f"CREATE TABLE {place}.{schema}.orders (id INT, v INT) USING {format_}")
        session.sql(f"INSERT INTO {place}.{schema}.orders VALUES (1, 10), (2, 20)")
    total = f"ice.{schema}.total"
    shop.execute(
        f"CREATE MATERIALIZED TABLE {total} {LIVE} AS SELECT count(*) AS n, sum(a.v + b.v) AS v "
        f"FROM ice.{schema}.orders AS a JOIN spark_catalog.{schema}.orders AS b ON a.id = b.id"
    )
    until(lambda: any(view.name == total for view in manager.tables()))
    shop.until_rows(f"SELECT * FROM {total}", [(2, 60)])
    session.sql(f"INSERT INTO ice.{schema}.orders VALUES (3, 30)")
    session.sql(f"INSERT INTO spark_catalog.{schema}.orders VALUES (3, 1)")
    shop.until_rows(f"SELECT * FROM {total}", [(3, 91)])
    session.sql(f"UPDATE ice.{schema}.orders SET v = 0 WHERE id = 1")
    shop.until_rows(f"SELECT * FROM {total}", [(3, 81)])
    in_its_own_catalog(manager, schema)
    for number in range(4, 10):
        session.sql(f"INSERT INTO ice.{schema}.orders VALUES ({number}, 1)")
        session.sql(f"INSERT INTO spark_catalog.{schema}.orders VALUES ({number}, 1)")
        ended(manager, manager.refresh(RefreshRequest(total)).job_id)
        shop.until_rows(f"SELECT * FROM {total}", [(number, 81 + 2 * (number - 3))])
    MaterializedTables(session).execute(f"DROP MATERIALIZED TABLE {total}")
    manager.wake()
    until(lambda: not any(view.name == total for view in manager.tables()))
