"""`spark-mt serve` of a profile whose catalog is one of Iceberg, and commands that work with it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.faults.server import CONFS, environment
from tests.iceberg.conftest import EXTENSIONS, ICEBERG, SQLITE, iceberg_confs, rest_confs
from tests.iceberg.rest_catalog import running_catalog
from tests.soak.managed import Managed, until
from tests.support import jvm_options

_TIMEOUT_S = 600
_STOPS_WITHIN_S = 30 + 15
"""`--stop-within`, and what a busy machine takes to end the process."""
_SOURCES = """
CREATE NAMESPACE ice.shop;
CREATE SCHEMA spark_catalog.shop;
CREATE TABLE ice.shop.orders (id INT, k STRING, v INT) USING iceberg;
CREATE TABLE spark_catalog.shop.rates (k STRING, rate INT) USING delta;
INSERT INTO ice.shop.orders VALUES (1, 'a', 10), (2, 'b', 20);
INSERT INTO spark_catalog.shop.rates VALUES ('a', 1), ('b', 2), ('c', 3)
"""
_ORDERS = "{{ source('raw', 'orders') }}"
_MODELS = {
    "sources.yml": """
sources:
  - {name: raw, schema: shop, tables: [{name: orders}]}
  - {name: raw_delta, database: spark_catalog, schema: shop, tables: [{name: rates}]}
models:
  - name: followed
    columns: [{name: id, data_tests: [unique, not_null]}]
    data_tests: [materialized_table_equals_query]
""",
    "followed.sql": "{{ config(materialized='materialized_table', freshness='1 second', "
    f"refresh_mode='continuous') }}}} select id, upper(k) as k, v from {_ORDERS}",
    "totals.sql": "{{ config(materialized='materialized_table', freshness='2 seconds') }} "
    f"select o.k, sum(o.v * r.rate) as total from {_ORDERS} o "
    "join {{ source('raw_delta', 'rates') }} r on o.k = r.k group by o.k",
    "scheduled.sql": "{{ config(materialized='materialized_table', freshness='1 minute', "
    "refresh_mode='full') }} select count(*) as n, sum(v) as v from {{ ref('followed') }}",
    "plain.sql": "{{ config(materialized='table') }} select * from {{ ref('followed') }}",
    "seen.sql": "{{ config(materialized='view') }} select * from {{ ref('plain') }}",
}
_ROWS = {
    "followed": "SELECT id, k, v FROM followed ORDER BY id",
    "totals": "SELECT k, total FROM totals ORDER BY k",
    "scheduled": "SELECT n, v FROM scheduled",
}


class Project:
    """A dbt project, and processes in its folder.

    Args:
        home: The folder.
        catalog: The confs of its catalog.
    """

    def __init__(self, home, catalog):
        self.home = home
        confs = {
            **{key: value for key, value in CONFS.items() if "delta" not in value.lower()},
            **catalog,
            jvm_options.OPTIONS: jvm_options.SHORT,
            "spark.jars.packages": f"{ICEBERG},{SQLITE}",
            "spark.sql.extensions": EXTENSIONS,
        }
        confs.pop("spark.sql.catalog.ice.cache-enabled")  # as a user leaves it out
        target = {
            "type": "spark_mt",
            "schema": "shop",
            "catalog": "ice",
            "threads": 2,
            "server_side_parameters": confs,
        }
        self._write("dbt_project.yml", {"name": "shop", "profile": "shop"})
        self._write("profiles.yml", {"shop": {"target": "dev", "outputs": {"dev": target}}})
        (home / "models").mkdir()
        for name, text in _MODELS.items():
            (home / "models" / name).write_text(text, encoding="utf-8")

    def _write(self, name, content):
        (self.home / name).write_text(json.dumps(content), encoding="utf-8")

    def _run(self, *words):
        return subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", *words],
            cwd=self.home,
            env=environment(),
            check=False,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
        )

    def dbt(self, *words):
        """Run dbt, which must succeed; what it printed."""
        done = self._run("dbt.cli.main", "--no-use-colors", *words)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def spark_mt(self, *words):
        """Run `spark-mt`, which must succeed; what it printed as JSON."""
        done = self._run("dbt.adapters.spark_mt.cli.main", *words, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def rows(self, name):
        (found,) = self.spark_mt("sql", _ROWS[name])
        return [tuple(row.values()) for row in found]

    def until_rows(self, name, expected):
        until(lambda: self.rows(name) == expected, f"{name} has the rows {expected}")


def stop(served):
    """End a manager as systemd does."""
    served.process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert served.process.wait(90) == 0, (served.folder / "manager.log").read_text()[-2000:]
    assert time.monotonic() - began < _STOPS_WITHIN_S


@pytest.fixture(scope="class", params=["jdbc", "rest"])
def project(request, tmp_path_factory):
    home = tmp_path_factory.mktemp("served")
    if request.param == "jdbc":
        yield Project(home, iceberg_confs(home))
        return
    with running_catalog(tmp_path_factory.mktemp("rest")) as server:
        yield Project(home, rest_confs(home, server.port, "ice"))


class Servers:
    """The manager of a project, which is started again."""

    def __init__(self, home):
        self.home = home
        self.running = None

    def start(self):
        self.running = Managed.start(self.home)


@pytest.fixture(scope="class")
def servers(project):
    made = Servers(project.home)
    made.start()
    yield made
    made.running.stop()


class TestServe:
    """One project; the tests of this class build on each other."""

    def test_dbt_makes_tables_through_the_manager(self, project, servers):
        project.spark_mt("sql", _SOURCES)
        output = project.dbt("build")
        assert "in the Spark of the refresh manager" in output
        tables = {each["name"]: each for each in servers.running.client.tables()}
        assert set(tables) == {f"ice.shop.{name}" for name in _ROWS}
        modes = {name.rpartition(".")[2]: each["refresh_mode"] for name, each in tables.items()}
        assert modes == {"followed": "CONTINUOUS", "totals": "CONTINUOUS", "scheduled": "FULL"}
        assert project.rows("followed") == [(1, "A", 10), (2, "B", 20)]
        assert project.rows("totals") == [("a", 10), ("b", 40)]
        facts = project.spark_mt("sql", "DESCRIBE TABLE EXTENDED ice.shop.followed")[0]
        assert "iceberg" in [row["data_type"] for row in facts if row["col_name"] == "Provider"]

    def test_rows_follow_sources_of_both_formats(self, project, servers):
        project.spark_mt("sql", "INSERT INTO orders VALUES (3, 'c', 5)")
        project.until_rows("followed", [(1, "A", 10), (2, "B", 20), (3, "C", 5)])
        project.until_rows("totals", [("a", 10), ("b", 40), ("c", 15)])
        change = "UPDATE spark_catalog.shop.rates SET rate = 7 WHERE k = 'c'"
        project.spark_mt("sql", f"{change}; DELETE FROM orders WHERE id = 1")
        project.until_rows("followed", [(2, "B", 20), (3, "C", 5)])
        project.until_rows("totals", [("b", 40), ("c", 35)])
        project.until_rows("scheduled", [(2, 25)])
        views = {each["name"]: each for each in servers.running.client.tables()}
        assert views["ice.shop.followed"]["engine"] == "stream"

    def test_commands_know_names_as_models_do(self, project):
        for name in ("totals", "shop.totals", "ice.shop.totals"):
            (rows,) = project.spark_mt("refresh", name)
            assert [(row["table"], row["error"]) for row in rows] == [("ice.shop.totals", "")]
        (rows,) = project.spark_mt("refresh", "--all")
        assert sorted(row["table"] for row in rows) == sorted(f"ice.shop.{name}" for name in _ROWS)
        assert [row["error"] for row in rows] == [""] * len(_ROWS)
        (status,) = project.spark_mt("status", "shop.*")
        assert status["manager"]["catalog"] == "ice"
        assert {each["failures"] for each in status["tables"]} == {0}
        statements = (
            "ALTER MATERIALIZED TABLE totals SUSPEND; ALTER MATERIALIZED TABLE totals RESUME"
        )
        assert len(project.spark_mt("sql", statements)) == 2

    def test_a_second_start_continues_without_a_lost_row(self, project, servers):
        project.spark_mt("sql", "INSERT INTO orders VALUES (4, 'b', 1)")
        stop(servers.running)
        project.spark_mt("sql", "INSERT INTO orders VALUES (5, 'c', 2)")  # in a Spark of its own
        servers.start()
        project.until_rows("followed", [(2, "B", 20), (3, "C", 5), (4, "B", 1), (5, "C", 2)])
        project.until_rows("totals", [("b", 42), ("c", 49)])
        project.spark_mt("sql", "INSERT INTO orders VALUES (6, 'b', 0)")
        project.until_rows(
            "followed", [(2, "B", 20), (3, "C", 5), (4, "B", 1), (5, "C", 2), (6, "B", 0)]
        )
        output = project.dbt("run", "--select", "followed", "totals")
        assert output.count("[UNCHANGED") == 2, output
        stop(servers.running)
