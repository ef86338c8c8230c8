"""A dbt project whose tables and system tables a checkout before release 0.1 wrote."""

from __future__ import annotations

import json
import os
import tarfile
import time
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt

from dbt.adapters.spark_mt.definition.job import Lease, Owner
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from tests.unit.formats.texts import unpack

FIXTURE = Path(__file__).parent / "before_0_1"
CATALOG, SCHEMA, SYSTEM = "spark_catalog", "shop", "materialized_table_system"
CONTINUOUS = ("by_city", "from_now", "named", "streamed")
MODELS = {*CONTINUOUS, "cascade", "checked", "daily"}


def unpacked(folder: Path) -> Path:
    """Unpack the warehouse as if it had been written just now, as histories of tables expire."""
    with tarfile.open(FIXTURE / "warehouse.tar.xz") as archive:
        members = archive.getmembers()
        archive.extractall(folder, filter="data")
    age = time.time() - max(member.mtime for member in members)
    for member in members:
        os.utime(folder / member.name, (member.mtime + age, member.mtime + age))
    return folder


@pytest.fixture(scope="class")
def unique_schema():
    return SCHEMA


@pytest.fixture(scope="class")
def models():
    return {path.name: path.read_text() for path in (FIXTURE / "models").iterdir()}


@pytest.fixture(scope="class")
def spark(project, tmp_path_factory):
    """Spark with a catalog that has the tables of the fixture."""
    from pyspark.sql import SparkSession

    project.run_sql("SELECT 1")
    session = SparkSession.active()
    session.sql(f"DROP SCHEMA IF EXISTS {SYSTEM} CASCADE")
    session.sql(f"CREATE SCHEMA {SYSTEM}")
    warehouse = unpacked(tmp_path_factory.mktemp("before_0_1"))
    for folder in sorted(warehouse.glob("*.db/*")):
        schema = folder.parent.stem
        session.sql(f"CREATE TABLE {schema}.{folder.name} USING delta LOCATION '{folder}'")
    session.sql((FIXTURE / "jobs.sql").read_text())
    yield session
    session.sql(f"DROP SCHEMA {SYSTEM} CASCADE")


@pytest.fixture
def system(spark):
    return SparkEnvironment(spark)


def messages(results):
    return {result.node.name: result.message for result in results}


def rows(spark, query):
    return sorted(tuple(row) for row in spark.sql(query).collect())


@pytest.mark.conformance
class TestAProjectBefore01:
    def test_its_tables_refreshes_and_leases_are_known(self, spark, system):
        listed = spark.sql(f"SHOW TABLES IN {SYSTEM}").collect()
        assert {row["tableName"] for row in listed} == {"jobs", "leases", "registry"}
        known = {table.name.name: table for table in system.log.tables(CATALOG)}
        assert known.keys() == MODELS
        assert known["by_city"].declared_refresh_mode == "AUTOMATIC"
        assert known["cascade"].status.value == "SUSPENDED"
        assert system.leases.newest(CATALOG).is_released
        assert system.leases.newest(CATALOG).term == 1
        assert len(system.log.jobs(CATALOG, 0)) > 0

    def test_an_unchanged_project_changes_no_definition(self, spark):
        before = {name: definition(spark, name) for name in MODELS}
        ran = messages(run_dbt(["run", "--exclude", "cascade"]))
        assert {ran[name] for name in CONTINUOUS} == {"UP TO DATE"}
        assert ran["checked"].startswith("REFRESHED")
        assert ran["daily"].startswith("REFRESHED")
        assert {name: definition(spark, name) for name in MODELS} == before

    def test_it_is_refreshed_and_equals_its_queries(self, spark):
        spark.sql(
            f"INSERT INTO {SCHEMA}.orders VALUES (6, 2, 'Bonn', '2026-11-27', 30, 'd'), "
            "(7, 1, 'Ulm', '2026-11-27', 1, 'e')"
        )
        spark.sql(f"DELETE FROM {SCHEMA}.orders WHERE id = 2")
        ran = messages(run_dbt(["run", "--exclude", "cascade streamed from_now"]))
        assert all(message.startswith("REFRESHED") for message in ran.values()), ran
        for name, query in {
            "by_city": "city, count(*), sum(price), max(price) FROM shop.orders GROUP BY city",
            "checked": "id, code, price FROM shop.orders",
            "daily": "day, sum(price) FROM shop.orders GROUP BY day",
            "named": "o.id, name, price FROM shop.orders AS o JOIN shop.users AS u "
            "ON o.user_id = u.id",
        }.items():
            columns = ", ".join(spark.table(f"{SCHEMA}.{name}").columns)
            if name == "daily":
                columns = "day, price"
            expected = rows(spark, f"SELECT {query}")
            assert rows(spark, f"SELECT {columns} FROM {SCHEMA}.{name}") == expected, name

    @pytest.mark.conformance
    def test_what_is_written_has_the_keys_of_0_1(self, spark):
        assert "asked" in definition(spark, "cascade")["resolved"]
        spark.sql("INSERT INTO shop.orders VALUES (8, 1, 'Ulm', '2026-11-27', 2, 'f')")
        ran = messages(run_dbt(["run", "--select", "by_city"]))
        assert ran["by_city"].startswith("REFRESHED")
        run_dbt(["run-operation", "resume_materialized_tables", "--args", "{select: cascade}"])
        resolved = definition(spark, "cascade")["resolved"]
        assert "asked" not in resolved
        assert "declared" in resolved
        facts = spark.sql(
            f"SELECT max_by(facts, recorded_at_ms) FROM {SYSTEM}.registry "
            "WHERE kind = 'TABLE' AND table_name = 'cascade'"
        ).collect()[0][0]
        assert json.loads(facts)["declared_refresh_mode"] == "AUTOMATIC"
        expected = rows(spark, f"SELECT sum(price) FROM {SCHEMA}.by_city")
        assert rows(spark, f"SELECT * FROM {SCHEMA}.cascade") == expected

    @pytest.mark.conformance
    def test_a_table_restored_to_a_version_of_the_checkout_is_refreshed(self, spark):
        spark.sql(f"RESTORE TABLE {SCHEMA}.cascade TO VERSION AS OF 0")
        assert "asked" in definition(spark, "cascade")["resolved"]
        run_dbt(["run", "--select", "cascade"])
        expected = rows(spark, f"SELECT sum(price) FROM {SCHEMA}.by_city")
        assert rows(spark, f"SELECT * FROM {SCHEMA}.cascade") == expected

    def test_a_manager_takes_the_next_term(self, system):
        lease = Lease(CATALOG, 2, Owner("here", 1), 1_000)
        assert not system.leases.take(Lease(CATALOG, 1, Owner("here", 1), 1_000))
        assert system.leases.take(lease)
        assert system.leases.newest(CATALOG).term == 2


def definition(spark, name):
    """The document of a table's definition."""
    found = spark.sql(f"SHOW TBLPROPERTIES {SCHEMA}.{name}").collect()
    texts = {row["key"]: row["value"] for row in found}
    return unpack(texts["materialized-table.definition"])["definition"]
