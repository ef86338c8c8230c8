"""One Spark 4.1 with Delta and a catalog of Iceberg; each test gets a schema in both."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from uuid import uuid4

import pytest

from tests.functional.engine.conftest import started
from tests.iceberg.rest_catalog import LosingProxy, running_catalog
from tests.lake.hive_metastore import running_metastore
from tests.lake.postgresql import postgresql_programs
from tests.support.delta_package import delta_confs
from tests.support.free_ports import free_port

pytest_plugins = ["dbt.tests.fixtures.project"]

ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"
HIVE = "hive_ice"
REST = "rest_ice"
DEFAULTS = "defaults_ice"
"""The REST catalog with properties that it adds to tables."""
LOSING = "losing_ice"
"""The REST catalog behind a proxy that loses answers."""
LOCK_TIMEOUT_S = 10
"""How long a commit waits for the lock of its table in a Hive Metastore."""
CATALOGS = ("ice", HIVE, REST)
_SERVERS = {
    HIVE: "metastore",
    REST: "rest_server",
    DEFAULTS: "rest_server",
    LOSING: "proxy",
}
"""The fixture that starts the server of a catalog."""
in_each_catalog = pytest.mark.parametrize("iceberg_catalog", CATALOGS, indirect=True)
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def iceberg_confs(home, catalog="ice", **more):
    """The confs of a JDBC catalog on SQLite below a directory."""
    options = {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{home}/{catalog}.db",
        "jdbc.schema-version": "V1",
    }
    return _catalog_confs(home, catalog, **options, **more)


def hive_confs(home, port):
    """The confs of a catalog that is a Hive Metastore."""
    options = {
        "type": "hive",
        "uri": f"thrift://127.0.0.1:{port}",
        "hadoop.iceberg.hive.lock-timeout-ms": f"{LOCK_TIMEOUT_S}000",
    }
    return _catalog_confs(home, HIVE, **options)


_DEFAULTS = {
    "table-default.write.parquet.compression-codec": "gzip",
    "table-default.team": "lake",
    "table-override.write.metadata.compression-codec": "gzip",
    "snapshot-loading-mode": "refs",
}


def rest_confs(home, port, catalog=REST, **more):
    """The confs of a catalog that is a REST server."""
    options = {"type": "rest", "uri": f"http://127.0.0.1:{port}", "rest.client.max-retries": "1"}
    return _catalog_confs(home, catalog, **options, **more)


def _catalog_confs(home, catalog, **options):
    prefix = f"spark.sql.catalog.{catalog}"
    common = {"warehouse": f"{home}/{catalog}", "cache-enabled": "false"}
    named = {f"{prefix}.{key}": value for key, value in {**common, **options}.items()}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog", **named}


@pytest.fixture(scope="session")
def metastore_port():
    """Where the metastore answers once a test needs it."""
    return free_port()


@pytest.fixture(scope="session")
def metastore(metastore_port, tmp_path_factory):
    """A Hive Metastore on PostgreSQL, as processes of their own."""
    if postgresql_programs() is None:
        pytest.skip("a Hive Metastore needs PostgreSQL: tests/lake/setup_metastore.sh")
    folder = tmp_path_factory.mktemp("metastore")
    with running_metastore(folder, port=metastore_port) as running:
        yield running


@pytest.fixture(scope="session")
def rest_port():
    """Where the REST server answers once a test needs it."""
    return free_port()


@pytest.fixture(scope="session")
def rest_server(rest_port, tmp_path_factory):
    """A REST server, as a process of its own."""
    with running_catalog(tmp_path_factory.mktemp("rest"), rest_port) as running:
        yield running


@pytest.fixture(scope="session")
def proxy_port():
    """Where the proxy of the REST server answers once a test needs it."""
    return free_port()


@pytest.fixture
def proxy(rest_server, proxy_port):
    """A proxy of the REST server, which loses what a test says."""
    made = LosingProxy(rest_server, proxy_port)
    yield made
    made.stop()


@pytest.fixture(scope="session")
def spark(tmp_path_factory, metastore_port, rest_port, proxy_port):
    home = tmp_path_factory.mktemp("home")
    delta = delta_confs()
    packages, extensions = "spark.jars.packages", "spark.sql.extensions"
    confs = {
        packages: f"{delta[packages]},{ICEBERG},{SQLITE}",
        extensions: f"{delta[extensions]},{EXTENSIONS}",
        **iceberg_confs(home),
        **iceberg_confs(home, "cached", **{"cache-enabled": "true"}),
        **hive_confs(home, metastore_port),
        **rest_confs(home, rest_port),
        **rest_confs(home, rest_port, DEFAULTS, **_DEFAULTS),
        **rest_confs(home, proxy_port, LOSING),
    }
    yield from started(str(home / "delta"), **confs)


@pytest.fixture
def session(spark):
    """A session whose temporary objects, confs and current schema no other test sees."""
    return spark.newSession()


@pytest.fixture
def iceberg_catalog(request):
    """The catalog of Iceberg that a test works in."""
    name = getattr(request, "param", "ice")
    if name in _SERVERS:
        request.getfixturevalue(_SERVERS[name])
    return name


@pytest.fixture
def schema(session, iceberg_catalog):
    """A fresh schema, the current one of the session; another one of the name is in Iceberg."""
    name = f"s_{uuid4().hex[:10]}"
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"CREATE NAMESPACE {iceberg_catalog}.{name}")
    session.sql(f"USE {name}")
    yield name
    session.sql("USE spark_catalog.default")
    session.sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def at_first_call(monkeypatch):
    """Lets a test do something right before a method runs for the first time.

    What it does may return a context for that call. The calls are listed.
    """

    def arrange(owner, method, action):
        inner, calls = getattr(owner, method), []

        def late(self, *arguments):
            calls.append(arguments)
            done = action() if len(calls) == 1 else None
            with done if isinstance(done, AbstractContextManager) else nullcontext():
                return inner(self, *arguments)

        monkeypatch.setattr(owner, method, late)
        return calls

    return arrange


@pytest.fixture(scope="class")
def dbt_profile_target(spark):  # noqa: ARG001 - dbt uses the Spark that runs
    """The Spark of all tests of this directory, which dbt finds in its own process."""
    return {"type": "spark_mt", "method": "session", "threads": 1}
