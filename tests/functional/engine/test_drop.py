"""DROP MATERIALIZED TABLE: table, files and registry row."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import NotMaterializedError, TableNotFoundError
from dbt.adapters.spark_mt.execution.results import Action
from tests.functional.engine.oracle import fenced_commits, outcome


def test_drop(session, schema, warehouse):
    tables = MaterializedTables(session)
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT 1 AS a")
    assert tables.names(schema) == {"t"}
    (row,) = tables.sql("DROP MATERIALIZED TABLE t").collect()
    assert (row["operation"], row["table"]) == ("DROP", f"spark_catalog.{schema}.t")
    assert (row["action"], row["changes"]) == ("DROPPED", ["table dropped"])
    assert tables.names(schema) == frozenset()
    assert not session.catalog.tableExists("t")
    assert not (Path(warehouse) / f"{schema}.db" / "t").exists()
    with pytest.raises(TableNotFoundError):
        tables.execute("DROP MATERIALIZED TABLE t")
    again = outcome(tables, "DROP MATERIALIZED TABLE IF EXISTS t")
    assert again.action is Action.UNCHANGED
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT 2 AS b")
    assert fenced_commits(tables, "t")[0]["seq"] == 1


@pytest.mark.conformance
def test_a_table_that_spark_dropped_is_gone(session, schema):
    tables = MaterializedTables(session)
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT 1 AS a")
    session.sql("DROP TABLE t")
    assert tables.names(schema) == frozenset()
    with pytest.raises(TableNotFoundError):
        tables.execute("DROP MATERIALIZED TABLE t")


@pytest.mark.conformance
def test_an_unmanaged_table_is_left_unchanged(session, schema):
    tables = MaterializedTables(session)
    session.sql(f"CREATE TABLE {schema}.plain USING delta AS SELECT 1 AS a")
    for exists in "", "IF EXISTS ":
        with pytest.raises(NotMaterializedError):
            tables.execute(f"DROP MATERIALIZED TABLE {exists}plain")
    assert session.table("plain").count() == 1
