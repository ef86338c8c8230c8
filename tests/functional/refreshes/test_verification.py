"""Verification of refreshes on Delta: right rows, a planted wrong rule, sources that are gone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution.verification import QueuedVerifications, VerificationQueue
from dbt.adapters.spark_mt.spark.tables.result_changes import ResultChanges
from tests.functional.engine.oracle import assert_equals_query, outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.verification import Verification

ALL = "WITH ('verify' = '1', 'incremental' = 'strict')"
BY_ROWS = "WITH ('verify' = '1')"
SUMS = "SELECT id % 3 AS k, sum(x) AS s, avg(x) AS m, count(*) AS n FROM f GROUP BY id % 3"
ROWS = "SELECT id, x FROM f WHERE x > 0"


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """A source with floating-point numbers, whose sum depends on the order."""
    session.sql(
        f"CREATE TABLE {schema}.f USING delta AS SELECT id, (id % 97) / 7.0D AS x FROM range(2000)"
    )
    return MaterializedTables(session)


def create(tables: MaterializedTables, query: str, options: str = ALL) -> None:
    live = "FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS"
    outcome(tables, f"CREATE MATERIALIZED TABLE t {options} {live} AS {query}")


def refreshed(tables: MaterializedTables, *statements: str) -> str:
    """Change the source and refresh; return the strategy."""
    for statement in statements:
        tables.sql(statement)
    return tables.refresh("t").strategy


def found(tables: MaterializedTables) -> list[Verification]:
    """What verifications found, the newest first."""
    environment = tables.environment
    environment.verifications.settle()
    name = environment.store.full_name(TableName("t"))
    jobs = environment.execution_context.log.jobs("spark_catalog", 0)
    return [job.verification for job in jobs if job.verification and job.table == name]


@pytest.fixture
def waiting(tables: MaterializedTables) -> Callable[[], None]:
    """Let verifications wait until the test runs them."""
    works: list[Callable[[], None]] = []
    environment = tables.environment
    ports = QueuedVerifications(VerificationQueue(works.append), lambda: environment)
    tables.environment = replace(environment, verifications=ports)

    def run() -> None:
        while works:
            works.pop(0)()

    return run


@pytest.mark.conformance
def test_right_rows_are_found_equal(tables):
    create(tables, SUMS)
    update = "UPDATE f SET x = x + 0.1D WHERE id IN (1, 2, 900)"
    assert refreshed(tables, update, "DELETE FROM f WHERE id = 7") == "differential"
    (verification,) = found(tables)
    assert (verification.result.value, verification.describe()) == ("equal", "")
    assert tables.health("t") == ()


def test_a_wrong_rule_is_found_and_repaired(tables, monkeypatch):
    create(tables, ROWS)
    right = ResultChanges.of

    def wrong(*arguments):
        change = right(*arguments)
        return replace(change, added=f"SELECT * FROM (\n{change.added}\n) WHERE id <> 3")

    monkeypatch.setattr(ResultChanges, "of", wrong)
    assert refreshed(tables, "UPDATE f SET x = 9 WHERE id IN (2, 3)") == "differential"
    (verification,) = found(tables)
    assert verification.result.value == "different"
    assert [(row.side.value, row.row) for row in verification.rows] == [
        ("missing", '{"id":3,"x":9.0}')
    ]
    assert verification.repaired, verification.repair_problem
    assert_equals_query(tables, "t")
    (problem,) = tables.health("t")
    assert '{"id":3,"x":9.0}' in problem
    jobs = [(row["kind"], row["status"]) for row in tables.sql("SHOW JOBS").collect()]
    assert ("VERIFICATION", "FAILED") in jobs


@pytest.mark.conformance
def test_commits_that_follow_and_files_that_are_gone(tables, waiting):
    """Each state is compared as it was, and what cannot be read is no failure."""
    create(tables, ROWS, BY_ROWS)
    assert refreshed(tables, "INSERT INTO f VALUES (5000, 1)") == "append"
    tables.sql("INSERT INTO f VALUES (5001, 1)")
    tables.sql("DELETE FROM t WHERE id = 5000")
    waiting()
    assert [each.result.value for each in found(tables)] == ["equal"]
    create_again = "CREATE OR REPLACE TABLE f USING delta AS SELECT id, 1.0D AS x FROM range(3)"
    assert refreshed(tables, "INSERT INTO f VALUES (5002, 1)")
    tables.sql(create_again)
    tables.sql("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
    tables.sql("VACUUM f RETAIN 0 HOURS")
    waiting()
    newest, _ = found(tables)
    assert newest.result.value == "skipped", newest.describe()
    assert newest.problem
