"""Keys and checks are tested inside the commit that writes the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import ConstraintViolatedError
from tests.functional.engine.oracle import (
    assert_equals_query,
    described,
    history,
    outcome,
    rows,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "(PRIMARY KEY (id) NOT ENFORCED)"


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """Materialized tables in a schema with the source `src(id, v, g)`, keyed by id."""
    session.sql(
        f"CREATE TABLE {schema}.src USING delta AS SELECT id, id AS v, id % 2 AS g FROM range(4)"
    )
    return MaterializedTables(session)


def violations(tables: MaterializedTables, statement: str) -> tuple[str, ...]:
    """Return what a statement is refused for; it changes nothing."""
    there = tables._spark.catalog.tableExists("t")
    before = (history(tables, "t"), rows(tables, "SELECT * FROM t")) if there else None
    with pytest.raises(ConstraintViolatedError) as caught:
        tables.execute(statement)
    assert tables._spark.catalog.tableExists("t") == there
    if before is not None:
        assert (history(tables, "t"), rows(tables, "SELECT * FROM t")) == before
    return caught.value.violations


def test_a_primary_key_at_create_and_refresh(tables):
    create = f"CREATE MATERIALIZED TABLE t {KEY} AS SELECT id, v FROM src"
    tables.sql("INSERT INTO src VALUES (NULL, 7, 0), (3, 8, 0)")
    found = violations(tables, create)
    assert len(found) == 2
    assert ("NULL" in found[0], '{"id":3}' in found[1]) == (True, True)
    tables.sql("DELETE FROM src WHERE v > 6")
    outcome(tables, create)
    tables.sql("INSERT INTO src VALUES (1, 9, 0)")
    (duplicate,) = violations(tables, "ALTER MATERIALIZED TABLE t REFRESH")
    assert '{"id":1}' in duplicate
    tables.sql("DELETE FROM src WHERE v = 9")
    tables.refresh("t", force=True)
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_constraints_at_a_changed_query(tables):
    outcome(tables, f"CREATE MATERIALIZED TABLE t {KEY} AS SELECT id, v FROM src")
    query = "SELECT id % 2 AS id, v FROM src"
    assert violations(tables, f"CREATE OR ALTER MATERIALIZED TABLE t {KEY} AS {query}")
    assert "SELECT id, v" in described(tables, "t")["Original query"]


@pytest.mark.conformance
def test_constraints_that_are_added_to_rows(tables):
    create = "CREATE OR ALTER MATERIALIZED TABLE t {} AS SELECT id, g, v FROM src"
    outcome(tables, create.format(""))
    assert violations(tables, create.format("(PRIMARY KEY (g) NOT ENFORCED)"))
    (check,) = violations(tables, create.format("(CHECK (v < 3 OR v IS NULL))"))
    assert '"v":3' in check
    both = create.format("(PRIMARY KEY (id) NOT ENFORCED, CONSTRAINT low CHECK (v < 10))")
    assert outcome(tables, both).refresh is None
    tables.sql("UPDATE src SET v = 10 WHERE id = 1")
    assert violations(tables, "ALTER MATERIALIZED TABLE t REFRESH")
    outcome(tables, create.format(""))
    assert tables.refresh("t").rows == 4


@pytest.mark.conformance
def test_not_null(tables):
    create = (
        "CREATE OR ALTER MATERIALIZED TABLE t (id BIGINT, v BIGINT NOT NULL) "
        "AS SELECT id, v FROM src"
    )
    tables.sql("UPDATE src SET v = NULL WHERE id = 2")
    (found,) = violations(tables, create)
    assert '"id":2' in found
    tables.sql("UPDATE src SET v = 2 WHERE id = 2")
    outcome(tables, create.replace(" NOT NULL", ""))
    assert outcome(tables, create).refresh is None
    tables.sql("UPDATE src SET v = NULL WHERE id = 2")
    assert violations(tables, "ALTER MATERIALIZED TABLE t REFRESH")


@pytest.mark.conformance
def test_a_partial_refresh_sees_the_keys_of_other_partitions(tables):
    outcome(
        tables,
        f"CREATE MATERIALIZED TABLE t {KEY} PARTITIONED BY (g) REFRESH_MODE = FULL "
        "AS SELECT id, v, g FROM src",
    )
    refresh = "ALTER MATERIALIZED TABLE t REFRESH PARTITION (g = 0)"
    tables.sql("INSERT INTO src VALUES (2, 5, 0)")
    assert violations(tables, refresh)
    tables.sql("UPDATE src SET id = 1 WHERE v = 5")
    assert violations(tables, refresh), "the partition g = 1 has the key already"
    tables.sql("DELETE FROM src WHERE v = 5")
    tables.execute(refresh)
    assert rows(tables, "SELECT id FROM t") == [(0,), (1,), (2,), (3,)]
