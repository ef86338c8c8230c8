"""One Spark 4.1 with Delta and a catalog of Iceberg; each test gets a schema in both."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.functional.engine.conftest import started
from tests.support.delta_package import delta_confs

pytest_plugins = ["dbt.tests.fixtures.project"]

ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def iceberg_confs(home, catalog="ice", **more):
    """The confs of a JDBC catalog on SQLite below a directory."""
    prefix = f"spark.sql.catalog.{catalog}"
    options = {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{home}/{catalog}.db",
        "jdbc.schema-version": "V1",
        "warehouse": f"{home}/{catalog}",
        "cache-enabled": "false",
        **more,
    }
    named = {f"{prefix}.{key}": value for key, value in options.items()}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog", **named}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    delta = delta_confs()
    packages, extensions = "spark.jars.packages", "spark.sql.extensions"
    confs = {
        packages: f"{delta[packages]},{ICEBERG},{SQLITE}",
        extensions: f"{delta[extensions]},{EXTENSIONS}",
        **iceberg_confs(home),
        **iceberg_confs(home, "cached", **{"cache-enabled": "true"}),
    }
    yield from started(str(home / "delta"), **confs)


@pytest.fixture
def session(spark):
    """A session whose temporary objects, confs and current schema no other test sees."""
    return spark.newSession()


@pytest.fixture
def schema(session):
    """A fresh schema, the current one of the session; another one of the name is in Iceberg."""
    name = f"s_{uuid4().hex[:10]}"
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"CREATE NAMESPACE ice.{name}")
    session.sql(f"USE {name}")
    yield name
    session.sql("USE spark_catalog.default")
    session.sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture(scope="class")
def dbt_profile_target(spark):  # noqa: ARG001 - dbt uses the Spark that runs
    """The Spark of all tests of this directory, which dbt finds in its own process."""
    return {"type": "spark_mt", "method": "session", "threads": 1}
