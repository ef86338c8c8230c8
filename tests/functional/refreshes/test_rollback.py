"""RESTORE, VACUUM and clean-up of the log by a user, followed by refreshes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.results import Action
from tests.functional.engine.oracle import (
    assert_equals_query,
    described,
    fenced_commits,
    history,
    outcome,
    version,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = "SELECT id FROM src"
WIDER = "SELECT id, id + 1 AS next FROM src"
EACH_COMMIT = "WITH ('delta.checkpointInterval' = '1', 'delta.logRetentionDuration' = '30 days')"
OR_ALTER = "CREATE OR ALTER MATERIALIZED TABLE t"


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """Materialized tables with the source `src(id)` and the table `t`, refreshed twice."""
    session.sql(f"CREATE TABLE {schema}.src USING delta AS SELECT id FROM range(3)")
    tables = MaterializedTables(session)
    outcome(tables, f"CREATE MATERIALIZED TABLE t {EACH_COMMIT} AS {QUERY}")
    for _ in range(2):
        move(tables)
        tables.refresh("t")
    return tables


@pytest.fixture
def clean_up(warehouse, schema):
    """Removes the commits of a log below its newest one, as Delta does with those of last month."""

    def remove(name: str) -> None:
        log = Path(warehouse) / f"{schema}.db" / name / "_delta_log"
        *old, newest = sorted(log.glob("*.json"))
        assert (log / f"{newest.stem}.checkpoint.parquet").exists(), "or the log cannot be read"
        for path in old:
            path.unlink()

    return remove


def move(tables: MaterializedTables) -> None:
    """Add a row to the source."""
    tables.sql("INSERT INTO src SELECT max(id) + 1 FROM src")


def assert_continues(tables: MaterializedTables) -> None:
    """Refresh after the source moved: nothing is swallowed, and then nothing is left to do."""
    for _ in range(2):
        move(tables)
        assert tables.refresh("t").status.value == "REFRESHED"
        assert_equals_query(tables, "t")
        assert tables.refresh("t").status.value == "UP_TO_DATE"


@pytest.mark.conformance
def test_a_log_without_old_commits_changes_nothing(tables, clean_up):
    clean_up("t")
    assert tables.refresh("t").status.value == "UP_TO_DATE"
    assert outcome(tables, f"{OR_ALTER} {EACH_COMMIT} AS {QUERY}").action is Action.UNCHANGED
    assert fenced_commits(tables, "t")[0]["seq"] == 3
    assert_continues(tables)


@pytest.mark.conformance
@pytest.mark.parametrize(
    "statement",
    ["ALTER TABLE t SET TBLPROPERTIES ('a' = '1')", "OPTIMIZE t", "INSERT INTO t VALUES (-1)"],
)
def test_a_log_without_any_commit_of_ours_costs_one_refresh(tables, clean_up, statement):
    tables.sql(statement)
    clean_up("t")
    assert fenced_commits(tables, "t") == []
    assert "SELECT id" in described(tables, "t")["Original query"]
    assert tables.refresh("t").status.value == "REFRESHED"
    assert_equals_query(tables, "t")
    assert_continues(tables)


@pytest.mark.conformance
def test_a_definition_changes_after_the_log_was_cleaned_up(tables, clean_up):
    tables.sql("OPTIMIZE t")
    tables.sql("ALTER TABLE t SET TBLPROPERTIES ('a' = '1')")
    clean_up("t")
    altered = outcome(tables, f"{OR_ALTER} COMMENT 'new' {EACH_COMMIT} AS {WIDER}")
    assert altered.action is Action.ALTERED
    assert_equals_query(tables, "t")
    tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    tables.execute("ALTER MATERIALIZED TABLE t RESUME")
    assert_continues(tables)


@pytest.mark.conformance
def test_a_source_whose_log_was_cleaned_up_is_followed_all_the_same(tables, session, clean_up):
    session.sql("ALTER TABLE src SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    tables.refresh("t")
    for _ in range(3):
        move(tables)
    clean_up("src")
    assert described(tables, "t")["Lag"]
    assert tables.refresh("t").status.value == "REFRESHED"
    assert_equals_query(tables, "t")
    assert_continues(tables)


@pytest.mark.conformance
def test_a_restore_over_a_change_brings_the_old_definition_back(tables):
    before = version(tables, "t")
    outcome(tables, f"{OR_ALTER} COMMENT 'wider' {EACH_COMMIT} AS {WIDER}")
    move(tables)
    tables.refresh("t")
    seq = fenced_commits(tables, "t")[0]["seq"]
    tables.sql(f"RESTORE TABLE t TO VERSION AS OF {before}")
    assert described(tables, "t")["Original query"] == QUERY
    assert outcome(tables, f"{OR_ALTER} {EACH_COMMIT} AS {QUERY}").action is Action.UNCHANGED
    assert tables.refresh("t").status.value == "REFRESHED"
    assert fenced_commits(tables, "t")[0]["seq"] == seq + 1
    assert_continues(tables)
    changed = outcome(tables, f"{OR_ALTER} COMMENT 'wider' {EACH_COMMIT} AS {WIDER}")
    assert changed.action is Action.ALTERED
    assert_continues(tables)


@pytest.mark.conformance
def test_a_restore_to_a_moment_over_a_change(tables):
    before = history(tables, "t")[0]["timestamp"]
    outcome(tables, f"{OR_ALTER} {EACH_COMMIT} AS {WIDER}")
    seq = fenced_commits(tables, "t")[0]["seq"]
    tables.sql(f"RESTORE TABLE t TO TIMESTAMP AS OF '{before}'")
    assert described(tables, "t")["Original query"] == QUERY
    assert tables.refresh("t").status.value == "REFRESHED", "nobody knows what its rows reflect"
    assert fenced_commits(tables, "t")[0]["seq"] == seq + 1
    assert_continues(tables)


@pytest.mark.conformance
def test_two_restores_one_over_the_other(tables):
    newest = version(tables, "t")
    tables.sql("RESTORE TABLE t TO VERSION AS OF 0")
    restored = version(tables, "t")
    move(tables)
    tables.refresh("t")
    tables.sql(f"RESTORE TABLE t TO VERSION AS OF {restored}")
    tables.sql(f"RESTORE TABLE t TO VERSION AS OF {newest}")
    assert len(tables.sql("SELECT * FROM t").collect()) == 5
    assert tables.refresh("t").status.value == "REFRESHED"
    assert fenced_commits(tables, "t")[0]["seq"] == 5
    assert_continues(tables)


@pytest.mark.conformance
def test_a_restore_after_a_suspension_suspends_again(tables):
    """The status is part of the definition, which goes back with the rows."""
    tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    suspended = version(tables, "t")
    tables.execute("ALTER MATERIALIZED TABLE t RESUME")
    tables.sql(f"RESTORE TABLE t TO VERSION AS OF {suspended}")
    with pytest.raises(MaterializedTableError) as caught:
        tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    assert caught.value.condition == "MATERIALIZED_TABLE_ALREADY_SUSPENDED"
    tables.execute("ALTER MATERIALIZED TABLE t RESUME")
    assert_continues(tables)


@pytest.mark.conformance
def test_a_restored_table_that_was_renamed_and_optimized(tables):
    tables.sql("RESTORE TABLE t TO VERSION AS OF 0")
    tables.sql("ALTER TABLE t RENAME TO moved")
    tables.sql("OPTIMIZE moved")
    tables.sql("ALTER TABLE moved RENAME TO t")
    assert tables.refresh("t").status.value == "REFRESHED"
    assert_continues(tables)


@pytest.mark.conformance
def test_a_clone_of_a_restored_table_can_be_dropped_and_harms_nothing(tables):
    tables.sql("RESTORE TABLE t TO VERSION AS OF 0")
    tables.sql("CREATE TABLE c SHALLOW CLONE t")
    assert tables.refresh("t").status.value == "REFRESHED"
    assert len(tables.sql("SELECT * FROM c").collect()) == 3
    tables.sql("DROP TABLE c")
    assert_continues(tables)
