"""Remains in a real catalog: half of a statement, or a directory without a table.

Every step of every plan fails in the behaviour suite in memory; here those run whose traces Delta
itself could get wrong.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dbt.adapters.spark_mt.execution.results import Action
from tests.behaviour.faults import CASES, Faults
from tests.behaviour.spark import SparkTables
from tests.functional.engine.oracle import (
    MaterializedTables,
    assert_equals_query,
    outcome,
    rows,
)

FAULTS = [
    pytest.param(CASES[name], step, after, id=f"{name}-{step}-{'after' if after else 'before'}")
    for name, step, after in (
        ("create", 0, False),
        ("alter content", 0, True),
    )
]


@pytest.mark.conformance
class TestFaults(Faults):
    """The cases in which Delta has a part."""

    @pytest.fixture
    def tables(self, session, schema):
        session.catalog.setCurrentDatabase(schema)
        return SparkTables(session)

    @pytest.mark.parametrize(("case", "step", "after"), FAULTS)
    def test_a_step_fails(self, tables, case, step, after):
        super().test_a_step_fails(tables, case, step, after)


def test_a_directory_that_a_killed_create_left_is_taken_over(session, schema, warehouse):
    """First a directory whose log has our numbers already, then one with files and no log."""
    tables = MaterializedTables(session)
    session.sql("CREATE TABLE src USING delta AS SELECT id FROM range(3)")
    statement = "CREATE MATERIALIZED TABLE t COMMENT 'c' AS SELECT id FROM src WHERE id > 0"
    directory = Path(warehouse) / f"{schema}.db" / "t"
    outcome(tables, statement.replace("> 0", "> 1"))
    tables.refresh("t", force=True)
    for has_log in True, False:
        _orphan(session, directory)
        if not has_log:
            shutil.rmtree(directory / "_delta_log")
        created = outcome(tables, statement)
        assert created.action is Action.CREATED
        assert_equals_query(tables, "t")
        session.sql("INSERT INTO src SELECT max(id) + 1 FROM src")
        assert tables.refresh("t").rows == 1
        assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_create_that_fails_leaves_nothing_in_the_way(session, schema):
    tables = MaterializedTables(session)
    session.sql("CREATE TABLE src USING delta AS SELECT 0 AS id")
    query = "SELECT CASE WHEN id = 0 THEN raise_error('bad row') ELSE id END AS id FROM src"
    with pytest.raises(Exception, match="REFRESH_FAILED") as caught:
        tables.execute(f"CREATE MATERIALIZED TABLE t AS {query}")
    assert caught.value.condition == "MATERIALIZED_TABLE_REFRESH_FAILED"
    assert not session.catalog.tableExists("t")
    assert tables.names(schema) == frozenset()
    session.sql("UPDATE src SET id = 1")
    assert outcome(tables, f"CREATE MATERIALIZED TABLE t AS {query}").action is Action.CREATED
    session.sql("UPDATE src SET id = 0")
    with pytest.raises(Exception, match="REFRESH_FAILED"):
        tables.refresh("t")
    assert rows(tables, "SELECT id FROM t") == [(1,)]


def _orphan(session, directory: Path) -> None:
    """Remove the table from the catalog as if its CREATE had been killed before it got there."""
    kept = directory.with_name("kept")
    shutil.copytree(directory, kept)
    session.sql("DROP TABLE t")
    shutil.rmtree(directory, ignore_errors=True)
    kept.rename(directory)
