"""Plain Delta tables are taken over and handed back, and nothing but the log gets a new file."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import TableNotFoundError
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from tests.behaviour import adoption
from tests.behaviour.spark import SparkTables
from tests.functional.engine.oracle import MaterializedTables, assert_equals_query, outcome, rows
from tests.support.errors import raises

FAULTS = [
    pytest.param(
        adoption.CASES[name], step, after, id=f"{name}-{step}-{'after' if after else 'before'}"
    )
    for name, step, after in (
        ("adopt with comments and options", 0, True),
        ("adopt with column mapping", 1, False),
        ("release", 0, True),
    )
]
QUERY = "SELECT id, day FROM src"


@pytest.mark.conformance
class TestAdoption(adoption.Adoption):
    """Every guarantee on Delta; those in which Delta itself could be wrong have tests below."""

    @pytest.fixture
    def tables(self, session, schema):
        session.catalog.setCurrentDatabase(schema)
        return SparkTables(session)

    @pytest.mark.parametrize(("case", "step", "after"), FAULTS)
    def test_a_step_fails(self, tables, case, step, after):
        super().test_a_step_fails(tables, case, step, after)

    @pytest.mark.parametrize(
        ("clauses", "rows"), [("(PRIMARY KEY (k) NOT ENFORCED)", [(1, 15), (1, 16)])]
    )
    def test_declared_rules_hold_for_the_rows_that_are_there(self, tables, clauses, rows):
        super().test_declared_rules_hold_for_the_rows_that_are_there(tables, clauses, rows)


@pytest.fixture
def tables(session, schema):
    session.catalog.setCurrentDatabase(schema)
    session.sql("CREATE TABLE src USING delta AS SELECT id, 'a' AS day FROM range(3)")
    return MaterializedTables(session)


def create_or_alter(clauses: str = "", query: str = QUERY) -> str:
    return f"CREATE OR ALTER MATERIALIZED TABLE t {clauses} AS {query}"


def test_no_file_is_written(tables, schema, warehouse):
    """From a partitioned table of a user to ours, to the user's, and to ours again."""
    tables.sql("CREATE TABLE t (id BIGINT, day STRING) USING delta PARTITIONED BY (day)")
    tables.sql("INSERT INTO t VALUES (0, 'a'), (7, 'b')")
    files = data_files(warehouse, schema)
    table_id = delta_id(tables)
    statement = create_or_alter("PARTITIONED BY (day) REFRESH_MODE = FULL")
    assert tables.adopt(statement).action is Action.ADOPTED
    assert tables.refresh("t").status is RefreshResult.UP_TO_DATE
    assert tables.release("t").action is Action.RELEASED
    properties = {row["key"] for row in tables.sql("SHOW TBLPROPERTIES t").collect()}
    assert not {key for key in properties if key.startswith("materialized-table.")}
    assert tables.adopt(statement).action is Action.ADOPTED
    assert data_files(warehouse, schema) == files
    assert rows(tables, "SELECT * FROM t") == [(0, "a"), (7, "b")]
    assert tables.names(schema) == {"t"}
    tables.refresh("t", force=True)
    assert_equals_query(tables, "t")
    assert delta_id(tables) == table_id


@pytest.mark.conformance
def test_rows_can_be_trusted_as_of_an_instant(tables):
    tables.sql("CREATE TABLE t USING delta AS SELECT * FROM src")
    tables.sql("INSERT INTO src VALUES (3, 'b')")
    created = tables.sql("DESCRIBE HISTORY src").collect()[-1]["timestamp"]
    as_of = datetime.fromtimestamp(created.timestamp(), tz=timezone.utc)
    adopted = tables.adopt(create_or_alter("REFRESH_MODE = FULL"), as_of=as_of)
    assert adopted.action is Action.ADOPTED
    assert tables.refresh("t").rows == 4
    assert_equals_query(tables, "t")


@pytest.mark.conformance
def test_a_clone_gets_an_identity_of_its_own(tables):
    clauses = "COMMENT 'c' WITH ('a' = '1') REFRESH_MODE = FULL"
    original = outcome(tables, create_or_alter(clauses))
    assert original.action is Action.CREATED
    tables.sql("CREATE TABLE u SHALLOW CLONE t")
    adopted = tables.adopt(create_or_alter(clauses).replace("TABLE t ", "TABLE u "))
    assert adopted.action is Action.ADOPTED
    tables.sql("INSERT INTO src VALUES (3, 'b')")
    assert (tables.refresh("u").rows, len(rows(tables, "SELECT * FROM t"))) == (4, 3)
    noted = dict(map(tuple, tables.sql("SHOW TBLPROPERTIES u").collect()))
    assert noted["materialized-table.delta-id"] == delta_id(tables, "u")
    assert_equals_query(tables, "u")
    assert tables.refresh("t").rows == 4


@pytest.mark.conformance
def test_what_delta_itself_stands_for_is_refused(tables):
    tables.sql("CREATE TABLE t (id BIGINT NOT NULL, day STRING) USING delta PARTITIONED BY (day)")
    with raises(conditions.CANNOT_ADOPT) as caught:
        tables.adopt(create_or_alter())
    not_null, partitions = caught.value.violations
    assert "NOT NULL" in not_null
    assert "partitioned by (day)" in partitions
    tables.sql("DROP TABLE t")
    tables.sql("CREATE TABLE t (id BIGINT, day STRING) USING parquet")
    with raises(conditions.CANNOT_ADOPT, match="parquet"):
        tables.adopt(create_or_alter())
    with pytest.raises(TableNotFoundError):
        tables.release("nothing")


@pytest.mark.conformance
def test_a_log_without_its_beginning_gets_a_number_above_all(tables, schema, warehouse):
    """A table of ours that was released, and whose log then lost every commit of ours."""
    outcome(tables, create_or_alter())
    for _ in range(3):
        tables.refresh("t", force=True)
    tables.release("t")
    tables.sql("ALTER TABLE t SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    tables.sql("INSERT INTO t VALUES (9, 'z')")
    log = Path(warehouse) / f"{schema}.db" / "t" / "_delta_log"
    newest = max(path.name for path in log.glob("*.json"))
    for path in log.glob("*.json"):
        if path.name < newest:
            path.unlink()
    assert tables.adopt(create_or_alter("REFRESH_MODE = FULL")).action is Action.ADOPTED
    assert (9, "z") in rows(tables, "SELECT * FROM t")
    assert tables.refresh("t", force=True).rows == 3
    assert_equals_query(tables, "t")


def data_files(warehouse, schema):
    """The files of the table's rows, with what is in them."""
    root = Path(warehouse) / f"{schema}.db" / "t"
    found = (path for path in root.rglob("*.parquet") if "_delta_log" not in path.parts)
    return {path: path.read_bytes() for path in found}


def delta_id(tables, name="t"):
    return tables.sql(f"DESCRIBE DETAIL {name}").collect()[0]["id"]


@pytest.mark.conformance
def test_not_null_of_the_schema_ends_with_that_of_the_definition(tables):
    """A plain table can be NOT NULL in its schema, which no table of a query is."""
    tables.sql("CREATE TABLE t (id BIGINT NOT NULL, day STRING) USING delta")
    tables.sql("INSERT INTO t VALUES (0, 'a'), (1, 'a'), (2, 'a')")
    with raises(conditions.CANNOT_ADOPT, match="NOT NULL in the table"):
        tables.adopt(create_or_alter("(id BIGINT, day STRING)"))
    tables.adopt(create_or_alter("(id BIGINT NOT NULL, day STRING NOT NULL)"))
    for row in ("NULL, 'b'", "9, NULL"):
        with pytest.raises(Exception, match="CONSTRAINT"):
            tables.sql(f"INSERT INTO t VALUES ({row})")
    query = "SELECT nullif(id, 2) AS id, day FROM src"
    outcome(tables, create_or_alter("(id BIGINT, day STRING NOT NULL)", query))
    assert rows(tables, "SELECT id FROM t") == [(0,), (1,), (None,)]
    with pytest.raises(Exception, match="CONSTRAINT"):
        tables.sql("INSERT INTO t VALUES (9, NULL)")
    assert outcome(tables, create_or_alter("(id BIGINT, day STRING NOT NULL)", query)).action is (
        Action.UNCHANGED
    )
