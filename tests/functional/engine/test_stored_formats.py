"""Tables and a registry as release 0.1 writes them, on Delta."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName, quote_text
from dbt.adapters.spark_mt.definition.errors import UnreadableDefinitionError
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.registry.system_table import LEASES, SCHEMA, TABLE
from tests.functional.engine.oracle import described, outcome
from tests.support.errors import raises
from tests.unit.formats import samples
from tests.unit.formats.test_golden import golden
from tests.unit.formats.texts import pack, unpack, with_more

DEFINITION = "materialized-table.definition"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"
REGISTRY = f"{SCHEMA}.{TABLE}"


def properties(session, table):
    rows = session.sql(f"SHOW TBLPROPERTIES {table}").collect()
    return {row["key"]: row["value"] for row in rows}


def set_definition(session, table, text):
    session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{DEFINITION}' = '{text}')")


def version(session, table):
    return session.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0]["version"]


@pytest.fixture
def of_release_0_1(session):
    """A table with the golden properties and commit of release 0.1, and its source."""
    session.sql("DROP SCHEMA IF EXISTS sales CASCADE")
    session.sql("CREATE SCHEMA sales")
    session.sql("CREATE TABLE sales.orders (user_id INT, price INT) USING delta")
    session.sql("INSERT INTO sales.orders VALUES (1, 2000), (2, 10)")
    session.conf.set(METADATA, golden("commits")["content"])
    try:
        recorded = golden("properties")["as created"]
        texts = ", ".join(
            f"{quote_text(key)} = {quote_text(text)}" for key, text in recorded.items()
        )
        session.sql(
            f"CREATE TABLE {samples.NAME.sql} USING delta TBLPROPERTIES ({texts}) "
            "AS SELECT 1 AS user_id"
        )
    finally:
        session.conf.unset(METADATA)
    yield samples.NAME.sql
    session.sql("DROP SCHEMA sales CASCADE")


def test_a_table_of_release_0_1(session, of_release_0_1):
    tables, table = MaterializedTables(session), of_release_0_1
    assert tables.is_materialized(samples.NAME)
    rows = described(tables, "sales.high_value_orders")
    assert (rows["user_id"], rows["Status"]) == ("int", "ACTIVATED")
    assert rows["Table id"] == samples.SIMPLE.table_id
    ((created,),) = tables.execute(f"SHOW CREATE MATERIALIZED TABLE {table}").rows
    assert "SELECT user_id FROM orders WHERE price > 1000" in created
    session.sql("INSERT INTO sales.orders VALUES (3, 5000)")
    refreshed = outcome(tables, f"ALTER MATERIALIZED TABLE {table} REFRESH").refresh
    assert refreshed.status is RefreshResult.REFRESHED
    assert sorted(row[0] for row in session.table(table).collect()) == [1, 3]
    stored = SparkEnvironment(session).value.store.find(samples.NAME).definition
    assert replace(stored, origin=()) == samples.CREATED
    session.sql("USE sales")
    try:
        unchanged = outcome(
            tables,
            f"CREATE OR ALTER MATERIALIZED TABLE {table} "
            "AS SELECT user_id FROM orders WHERE price > 1000",
        )
    finally:
        session.sql("USE default")
    assert unchanged.action in {Action.UNCHANGED, Action.ALTERED}
    (listed,) = tables.sql("SHOW MATERIALIZED TABLES IN sales").collect()
    assert listed["table_name"] == "high_value_orders"


def test_a_table_of_a_newer_major_version_is_left_unchanged(session, schema):
    tables = MaterializedTables(session)
    for name in ("t", "other"):
        outcome(tables, f"CREATE MATERIALIZED TABLE {name} AS SELECT 1 AS a")
    document = unpack(properties(session, "t")[DEFINITION])
    set_definition(session, "t", pack({**document, "format": 2}))
    before = (properties(session, "t"), version(session, "t"))
    for statement in (
        "ALTER MATERIALIZED TABLE t REFRESH",
        "CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 2 AS a",
        "DESCRIBE MATERIALIZED TABLE EXTENDED t",
    ):
        with pytest.raises(UnreadableDefinitionError) as error:
            tables.execute(statement)
        assert error.value.parameters["table"] == f"spark_catalog.{schema}.t"
    assert (properties(session, "t"), version(session, "t")) == before
    assert [row[0] for row in session.table("t").collect()] == [1]
    assert tables.names(schema) == {"t", "other"}
    assert tables.is_materialized(TableName("t")), "nothing may take it for a plain table"


def test_keys_of_a_newer_release_stay_in_the_property(session, schema):
    assert schema
    tables = MaterializedTables(session)
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT 1 AS a")
    newer = with_more(unpack(properties(session, "t")[DEFINITION]))
    set_definition(session, "t", pack(newer))
    outcome(MaterializedTables(session), "ALTER MATERIALIZED TABLE t SUSPEND")
    written = unpack(properties(session, "t")[DEFINITION])
    assert written["definition"]["status"] == "SUSPENDED"
    expected = {"status": "SUSPENDED", "generation": written["definition"]["generation"]}
    assert written == {**newer, "definition": {**newer["definition"], **expected}}


@pytest.mark.parametrize(
    "metadata",
    [
        '{"materialized-table":2}',
        pytest.param('{"materialized-table":1,"ta', marks=pytest.mark.conformance),
    ],
)
def test_a_commit_that_cannot_be_read(session, schema, metadata):
    """A newer release wrote rows, and a position that this one does not know."""
    tables = MaterializedTables(session)
    session.sql("CREATE TABLE src (a INT) USING delta")
    session.sql("INSERT INTO src VALUES (1), (2)")
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT a FROM src")
    session.conf.set(METADATA, metadata)
    try:
        session.sql("INSERT INTO t VALUES (3)")
    finally:
        session.conf.unset(METADATA)
    before = version(session, "t")
    fresh = MaterializedTables(session)
    for statement in ("ALTER MATERIALIZED TABLE t REFRESH", "ALTER MATERIALIZED TABLE t SUSPEND"):
        with raises(conditions.UNREADABLE_COMMIT) as error:
            fresh.execute(statement)
        assert error.value.parameters["table"] == f"spark_catalog.{schema}.t"
        assert error.value.parameters["version"] == str(before)
    assert version(session, "t") == before
    assert sorted(row[0] for row in session.table("t").collect()) == [1, 2, 3]
    replaced = outcome(fresh, "CREATE OR REPLACE MATERIALIZED TABLE t AS SELECT a FROM src")
    assert replaced.action is Action.REPLACED
    assert sorted(row[0] for row in session.table("t").collect()) == [1, 2]
    session.sql("INSERT INTO src VALUES (4)")
    outcome(fresh, "ALTER MATERIALIZED TABLE t REFRESH")
    assert sorted(row[0] for row in session.table("t").collect()) == [1, 2, 4]


def literal(value):
    if value is None:
        return "NULL"
    return quote_text(value) if isinstance(value, str) else str(value).lower()


def insert(session, row, table=TABLE):
    """Append a row to a system table as release 0.1 does."""
    names, values = ", ".join(row), ", ".join(literal(value) for value in row.values())
    session.sql(f"INSERT INTO {SCHEMA}.{table} ({names}) VALUES ({values})")


@pytest.fixture
def registry(session):
    """A registry and leases with the columns and rows of release 0.1."""
    session.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    session.sql(f"CREATE SCHEMA {SCHEMA}")
    columns = ", ".join(f"{n} {t}" for n, t in golden("names")["registry's columns"].items())
    session.sql(f"CREATE TABLE {REGISTRY} ({columns}) USING delta")
    for row in (
        golden("tables")["filled"],
        {**golden("tables")["filled"], "table_name": "damaged", "facts": "{"},
        golden("jobs")["everything"],
        {**golden("jobs")["everything"], "job_id": "later", "status": "PAUSED"},
        {
            "kind": "HANDLER",
            "schema_name": "sales",
            "table_name": "high_value_orders",
            "recorded_at_ms": 1,
            "facts": golden("handlers")["full"],
        },
    ):
        insert(session, row)
    columns = ", ".join(f"{n} {t}" for n, t in golden("names")["leases' columns"].items())
    session.sql(f"CREATE TABLE {SCHEMA}.{LEASES} ({columns}) USING delta")
    for row in golden("leases").values():
        insert(session, row, LEASES)
    yield
    session.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.mark.usefixtures("registry")
def test_a_registry_of_release_0_1(session):
    environment = SparkEnvironment(session)
    log, leases = environment.log, environment.leases
    (known,) = log.tables("spark_catalog")
    assert known.name == samples.NAME
    assert known.reads == tuple(sorted(samples.POSITIONS))
    names = {str(name) for name in log.known("spark_catalog")}
    assert names == {"spark_catalog.sales.damaged", "spark_catalog.sales.high_value_orders"}
    assert log.job("spark_catalog", "j-1") == samples.JOBS["everything"]
    assert log.jobs("spark_catalog", 0) == (samples.JOBS["everything"],)
    assert log.job("spark_catalog", "later") is None
    assert log.handler(samples.NAME) == golden("handlers")["full"].encode()
    assert leases.newest("spark_catalog") == samples.LEASES["released"]
    later = replace(samples.LEASES["released"], term=6, is_released=False)
    assert leases.take(later)
    assert leases.newest("spark_catalog") == later


@pytest.mark.usefixtures("registry")
def test_a_damaged_row_fails_no_listing(session):
    session.sql("CREATE SCHEMA sales")
    try:
        tables = MaterializedTables(session)
        for name in ("damaged", "high_value_orders"):
            session.sql(f"CREATE TABLE sales.{name} (a INT) USING delta")
        rows = tables.sql("SHOW MATERIALIZED TABLES IN sales").collect()
        assert [row["table_name"] for row in rows] == ["damaged", "high_value_orders"]
        outcome(tables, "CREATE MATERIALIZED TABLE sales.new AS SELECT 1 AS a")
        recorded = SparkEnvironment(session).log.tables("spark_catalog")
        assert [table.name for table in recorded] == [
            samples.NAME,
            TableName("new", "sales", "spark_catalog"),
        ]
        assert json.loads(golden("tables")["filled"]["facts"])["zone"] == recorded[0].zone
    finally:
        session.sql("DROP SCHEMA sales CASCADE")
