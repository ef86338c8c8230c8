"""CREATE OR REPLACE: anything may change, in one commit, and the table stays the same table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.results import Action
from dbt.adapters.spark_mt.planning.steps import Fill
from tests.functional.engine.oracle import (
    InjectedError,
    assert_equals_query,
    delta_id,
    described,
    faulty,
    fenced_commits,
    history,
    outcome,
    properties,
    rows,
)
from tests.support.errors import raises

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.planning.steps import Step

OLD = (
    "CREATE MATERIALIZED TABLE t (id BIGINT COMMENT 'old', name STRING) COMMENT 'old' "
    "PARTITIONED BY (name) WITH ('k' = '1') AS SELECT id, name FROM src"
)
NEW = (
    "CREATE OR REPLACE MATERIALIZED TABLE t (`n n` STRING COMMENT 'new', ds STRING) "
    "PARTITIONED BY (ds) WITH ('l' = '2') FRESHNESS = INTERVAL '1' DAY "
    "AS SELECT upper(name) AS `n n`, ds FROM src"
)


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """Materialized tables with the source `src(id, name, ds)`."""
    session.sql(
        f"CREATE TABLE {schema}.src USING delta AS SELECT id, concat('n', id % 2) AS name, "
        "'2025-01-01' AS ds FROM range(4)"
    )
    return MaterializedTables(session)


def test_everything_is_new_but_the_identity(tables):
    outcome(tables, OLD)
    identity, table = delta_id(tables, "t"), described(tables, "t")["Table id"]
    commits = len(history(tables, "t"))
    replaced = outcome(tables, NEW)
    assert (replaced.action, replaced.refresh_mode) == (Action.REPLACED, "FULL")
    assert (delta_id(tables, "t"), described(tables, "t")["Table id"]) == (identity, table)
    assert len(history(tables, "t")) > commits
    (detail,) = tables.sql("DESCRIBE DETAIL t").collect()
    assert (detail["partitionColumns"], detail["description"] or "") == (["ds"], "")
    assert ("k" in detail["properties"], detail["properties"]["l"]) == (False, "2")
    columns = [(c["col_name"], c["comment"]) for c in tables.sql("DESCRIBE TABLE t").collect()]
    assert columns[:2] == [("n n", "new"), ("ds", None)]
    assert outcome(tables, NEW.replace("REPLACE", "ALTER")).action is Action.UNCHANGED
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_readers_see_the_old_table_until_the_commit_and_after_a_failure(tables, session):
    outcome(tables, OLD)
    before = rows(tables, "SELECT * FROM t"), properties(tables, "t"), history(tables, "t")
    failing, runner = faulty(session, fails_at=Fill)
    seen = []

    def look(step: Step) -> None:
        if isinstance(step, Fill):
            seen.append(rows(tables, "SELECT * FROM t"))

    runner.before = look
    statement = NEW.replace("`n n`", "n")
    with raises(conditions.UNEXPECTED_ERROR) as failed:
        failing.execute(statement)
    assert isinstance(failed.value.__cause__, InjectedError)
    assert (
        rows(tables, "SELECT * FROM t"),
        properties(tables, "t"),
        history(tables, "t"),
    ) == before
    assert seen == [before[0]]
    broken = statement.replace("upper(name)", "raise_error(name)")
    with pytest.raises(Exception, match="REFRESH_FAILED"):
        tables.execute(broken)
    assert (
        rows(tables, "SELECT * FROM t"),
        properties(tables, "t"),
        history(tables, "t"),
    ) == before
    outcome(tables, statement)
    assert [commit["seq"] for commit in fenced_commits(tables, "t")] == [2, 1]
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_missing_table_is_created_and_the_same_one_computed_again(tables):
    statement = "CREATE OR REPLACE MATERIALIZED TABLE t AS SELECT id FROM src"
    assert outcome(tables, statement).action is Action.CREATED
    tables.sql("DELETE FROM t")
    assert outcome(tables, statement).action is Action.REPLACED
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_clustering_can_be_exchanged_by_everything_but_partitioning(tables):
    statement = "CREATE OR REPLACE MATERIALIZED TABLE t {} AS SELECT id, name FROM src"
    outcome(tables, statement.format("CLUSTER BY (id)"))
    before = history(tables, "t")
    with raises(conditions.CANNOT_PARTITION_CLUSTERED):
        tables.execute(statement.format("PARTITIONED BY (name)"))
    assert history(tables, "t") == before
    for clause, expected in (("CLUSTER BY (name)", ["name"]), ("", [])):
        outcome(tables, statement.format(clause))
        assert tables.sql("DESCRIBE DETAIL t").collect()[0]["clusteringColumns"] == expected
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_partitioned_table_becomes_a_clustered_one_or_a_plain_one(tables):
    statement = "CREATE OR REPLACE MATERIALIZED TABLE {} AS SELECT id, name FROM src"
    for name, clause, clustered in (("t", "CLUSTER BY (id)", ["id"]), ("u", "", [])):
        outcome(tables, statement.format(f"{name} PARTITIONED BY (name)"))
        outcome(tables, statement.format(f"{name} {clause}"))
        (detail,) = tables.sql(f"DESCRIBE DETAIL {name}").collect()
        assert (detail["partitionColumns"], detail["clusteringColumns"]) == ([], clustered)
        assert_equals_query(tables, name)
