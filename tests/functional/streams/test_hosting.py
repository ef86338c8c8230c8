"""The guarantees of hosted tables, over Delta and Structured Streaming."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.hosting.policy import HostPolicy
from dbt.adapters.spark_mt.spark.tables import result_changes
from dbt.adapters.spark_mt.strategies import differential
from tests.behaviour.harness import divided
from tests.behaviour.hosting import ROWS, Hosting, assert_each_row_once, create, prepare
from tests.behaviour.hosting_spark import SparkWorld
from tests.behaviour.spark import SparkTables

CORE, REST = divided(Hosting, ("every_row_arrives_once",))


@pytest.fixture
def world(session, schema):
    assert session.catalog.currentDatabase() == schema
    made = SparkWorld(SparkTables(session), session)
    yield made
    made.close()


class TestHosting(CORE):
    """What Delta and Structured Streaming could get wrong."""


@pytest.mark.conformance
class TestEveryHosting(REST):
    """All other guarantees; what needs no Spark is tested in memory alone."""

    test_nothing_follows_a_table_in_mode_full = None
    test_a_batch_that_fails_is_a_job_that_failed = None


MEANS = "SELECT k, avg(v) AS mean FROM events GROUP BY k"


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(ROWS, id="a stream"),
        pytest.param(MEANS, id="refreshes", marks=pytest.mark.conformance),
    ],
)
def test_a_busy_table_has_few_files(world, session, query, monkeypatch):
    monkeypatch.setattr(differential, "SMALLEST_SOURCES", 0)
    monkeypatch.setattr(result_changes, "SMALLEST_RATIO", 0)
    monkeypatch.setattr(differential, "slower", lambda *_: None)
    monkeypatch.setattr(differential, "SHORTEST_RECOMPUTE_S", 0)
    tables = world.tables
    prepare(tables)
    tables.append("events", [(100 + number, number % 9, number) for number in range(900)])
    create(tables, query)
    host = world.host(policy=HostPolicy(compact_after=3))
    host.fresh()
    for number in range(7):
        tables.append("events", [(10 + number, 10 + number, 1)])
        host.fresh()
    stored = tables.stored("t")
    kept = ["t"]
    if query == MEANS:
        found = (
            f"SHOW TABLES IN materialized_table_system LIKE 'sums_{stored.definition.table_id}_*'"
        )
        kept += [f"{row['namespace']}.{row['tableName']}" for row in session.sql(found).collect()]
        assert len(kept) == 2
    for name in kept:
        operations = [row["operation"] for row in session.sql(f"DESCRIBE HISTORY {name}").collect()]
        assert operations.count("OPTIMIZE") == 2
        assert len(session.table(name).inputFiles()) <= 4
    host.table.end()
    assert sorted(tables.rows("t")) == sorted(map(tuple, session.sql(query).collect()))


def test_a_batch_that_differs_is_found_and_repaired(world):
    tables = world.tables
    prepare(tables)
    create(tables, clauses="WITH ('verify' = '1') FRESHNESS = INTERVAL '1' MINUTE")
    host = world.host()
    host.fresh()
    tables.append("events", [(4, 4, 4)])
    host.fresh()
    tables.environment.verifications.settle()
    tables.delete("t", "id", 1)
    tables.append("events", [(5, 5, 5)])
    host.fresh()
    tables.environment.verifications.settle()
    jobs = tables.environment.execution_context.log.jobs("spark_catalog", 0)
    found = [job.verification for job in jobs if job.verification and job.table == tables.name("t")]
    results = [each.result.value for each in found]
    assert results == ["different", "equal"], [each.describe() for each in found]
    assert [(row.side.value, row.copies) for row in found[0].rows] == [("missing", 1)]
    assert found[0].repaired, found[0].repair_problem
    host.fresh()
    assert_each_row_once(tables)
