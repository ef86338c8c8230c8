"""What others do to a table past us is named, and never overwritten without being asked."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import StoredTable
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.results import Action
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from tests.functional.engine.oracle import (
    assert_equals_query,
    delta_id,
    described,
    fenced_commits,
    history,
    outcome,
    rows,
    version,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = "SELECT id, ds FROM src"
WIDER = "SELECT id, ds, id * 2 AS twice FROM src"
CHANGED_OUTSIDE = "MATERIALIZED_TABLE_CHANGED_OUTSIDE"
EXPECTED = "MATERIALIZED_TABLE_EXPECTED"


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """Materialized tables with the source `src(id, ds)` and the table `t` over it."""
    session.sql(f"CREATE TABLE {schema}.src USING delta AS SELECT id, 'a' AS ds FROM range(3)")
    tables = MaterializedTables(session)
    outcome(tables, f"CREATE MATERIALIZED TABLE t AS {QUERY}")
    return tables


def conditions(tables: MaterializedTables, name: str = "t") -> set[str]:
    """Return why nothing can be done with a table that another writer changed."""
    found = set()
    for statement in (
        f"ALTER MATERIALIZED TABLE {name} REFRESH",
        f"CREATE OR ALTER MATERIALIZED TABLE {name} AS {QUERY}",
        f"SHOW CREATE MATERIALIZED TABLE {name}",
    ):
        with pytest.raises(MaterializedTableError) as caught:
            tables.execute(statement)
        found.add(caught.value.condition)
    return found


def test_an_alter_between_the_reads_of_commits_and_columns(tables, session, monkeypatch):
    engine = SparkEnvironment(session)
    name = engine.value.store.full_name(TableName("t"))
    history, wider = (
        engine.tables.default.history,
        f"CREATE OR ALTER MATERIALIZED TABLE t AS {WIDER}",
    )
    read = history.backwards

    def altered_after(table, newest=None):
        commits = list(read(table, newest))
        monkeypatch.undo()
        assert outcome(tables, wider).action is Action.ALTERED
        return commits

    monkeypatch.setattr(history, "backwards", altered_after)
    found = engine.value.store.find(name)
    assert isinstance(found, StoredTable), found
    assert [column.name for column in found.columns] == ["id", "ds", "twice"]
    assert found.definition.generation == 2


MAPPING = "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"


@pytest.mark.conformance
@pytest.mark.parametrize(
    "changes",
    [
        (MAPPING, "ALTER TABLE t DROP COLUMN ds"),
        ("ALTER TABLE t ADD COLUMN more INT",),
        ("CREATE OR REPLACE TABLE t USING delta AS SELECT id, ds FROM src",),
        ("ALTER TABLE t UNSET TBLPROPERTIES ('materialized-table.definition')",),
    ],
)
def test_a_table_that_is_no_longer_what_we_made(tables, changes):
    for change in changes:
        tables.sql(change)
    before = version(tables, "t")
    assert conditions(tables) == {CHANGED_OUTSIDE}
    assert version(tables, "t") == before
    replaced = outcome(tables, f"CREATE OR REPLACE MATERIALIZED TABLE t AS {QUERY}")
    assert replaced.action is Action.REPLACED
    assert tables.sql("SELECT * FROM t").columns == ["id", "ds"]
    assert fenced_commits(tables, "t")[0]["seq"] == 2
    assert tables.refresh("t").status.value == "UP_TO_DATE"
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_restore_brings_a_changed_table_back(tables):
    at = version(tables, "t")
    tables.sql("ALTER TABLE t ADD COLUMN more INT")
    tables.sql(f"RESTORE TABLE t TO VERSION AS OF {at}")
    again = outcome(tables, f"CREATE OR ALTER MATERIALIZED TABLE t AS {QUERY}")
    assert again.action is Action.UNCHANGED
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_restore_then_refresh(tables):
    created = version(tables, "t")
    for number in 10, 11:
        tables.sql(f"INSERT INTO src VALUES ({number}, 'b')")
        tables.refresh("t")
    tables.sql(f"RESTORE TABLE t TO VERSION AS OF {created}")
    assert tables.refresh("t").rows == 2
    assert fenced_commits(tables, "t")[0]["seq"] == 4
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_restore_to_a_moment_makes_the_next_refresh_compute(tables):
    created = history(tables, "t")[-1]["timestamp"]
    tables.sql("INSERT INTO src VALUES (10, 'b')")
    tables.refresh("t")
    tables.sql(f"RESTORE TABLE t TO TIMESTAMP AS OF '{created}'")
    assert tables.refresh("t").rows == 4
    assert fenced_commits(tables, "t")[0]["seq"] == 3
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_maintenance_in_between_is_no_change(tables, session):
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    tables.sql("INSERT INTO src VALUES (10, 'b')")
    tables.refresh("t")
    tables.sql("OPTIMIZE t")
    tables.sql("VACUUM t RETAIN 0 HOURS")
    skipped = tables.refresh("t")
    assert (skipped.status.value, skipped.warnings) == ("UP_TO_DATE", ())
    tables.sql("INSERT INTO src VALUES (11, 'b')")
    tables.refresh("t")
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_clone_is_a_table_of_its_own(tables):
    tables.sql("CREATE TABLE c SHALLOW CLONE t")
    assert conditions(tables, "c") == {EXPECTED}
    with pytest.raises(MaterializedTableError):
        tables.execute("DROP MATERIALIZED TABLE c")
    assert len(rows(tables, "SELECT * FROM c")) == 3
    assert tables.refresh("t").status.value == "UP_TO_DATE"


@pytest.mark.conformance
def test_a_rename_keeps_everything(tables, schema):
    identity, table = delta_id(tables, "t"), described(tables, "t")["Table id"]
    tables.sql("ALTER TABLE t RENAME TO renamed")
    tables.sql("INSERT INTO src VALUES (10, 'b')")
    again = outcome(tables, f"CREATE OR ALTER MATERIALIZED TABLE renamed AS {QUERY}")
    assert again.action is Action.UNCHANGED
    assert tables.refresh("renamed").rows == 1
    assert (delta_id(tables, "renamed"), described(tables, "renamed")["Table id"]) == (
        identity,
        table,
    )
    assert tables.names(schema) == {"renamed"}
    assert_equals_query(tables, "renamed")


@pytest.mark.conformance
def test_what_has_the_name_and_is_something_else(tables):
    tables.sql("CREATE VIEW v AS SELECT 1 AS id, 'a' AS ds")
    tables.sql("CREATE TABLE p USING parquet AS SELECT 1 AS id, 'a' AS ds")
    for name in "v", "p", "src":
        before = rows(tables, f"SELECT * FROM {name}")
        query = QUERY.replace("src", "t")
        for statement in (
            f"CREATE MATERIALIZED TABLE {name} AS {query}",
            f"CREATE OR ALTER MATERIALIZED TABLE {name} AS {query}",
            f"CREATE OR REPLACE MATERIALIZED TABLE {name} AS {query}",
            f"DROP MATERIALIZED TABLE IF EXISTS {name}",
        ):
            with pytest.raises(MaterializedTableError) as caught:
                tables.execute(statement)
            assert caught.value.condition == EXPECTED
        assert rows(tables, f"SELECT * FROM {name}") == before


@pytest.mark.conformance
def test_a_table_whose_directory_is_gone(tables, warehouse, schema):
    shutil.rmtree(Path(warehouse) / f"{schema}.db" / "t")
    assert conditions(tables) == {EXPECTED}
    with pytest.raises(MaterializedTableError) as caught:
        tables.execute("DROP MATERIALIZED TABLE t")
    assert "files are gone" in caught.value.parameters["kind"]
    tables.sql("DROP TABLE t")
    outcome(tables, f"CREATE MATERIALIZED TABLE t AS {QUERY}")
    assert_equals_query(tables, "t")
