"""dbt, `spark-mt serve` and other sessions, each with a Spark of its own, over one metastore."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.functional.engine.oracle import assert_equals_query, fenced_commits, rows
from tests.functional.manager.conftest import until
from tests.functional.processes.serving import environment

SCHEMA = "shop"
_TIMEOUT_S = 600
_MODEL = """
{{{{ config(materialized='materialized_table', freshness='{freshness}') }}}}
select k, {value} as total from {{{{ source('raw', 'orders') }}}} group by k
"""
_SOURCES = {
    "version": 2,
    "sources": [{"name": "raw", "schema": SCHEMA, "tables": [{"name": "orders"}]}],
}


class Command:
    """A process, and the file with what it prints."""

    def __init__(self, process, printed) -> None:
        self.process = process
        self._printed = printed

    def succeeds(self) -> str:
        """Wait until it ends, which must be without an error, and return what it printed."""
        try:
            code = self.process.wait(_TIMEOUT_S)
        finally:
            self.process.kill()
        output = self._printed.read_text()
        assert code == 0, output
        return output

    def goes_on(self) -> bool:
        """Make sure that it has not ended."""
        assert self.process.poll() is None, self._printed.read_text()
        return True


class Project:
    """A dbt project whose profile names the metastore."""

    def __init__(self, folder, confs) -> None:
        self.folder = folder
        (folder / "models").mkdir()
        target = {
            "type": "spark_mt",
            "schema": SCHEMA,
            "threads": 2,
            "server_side_parameters": {
                **confs,
                "spark.driver.memory": "1g",
                "spark.master": "local[2]",
                "spark.sql.shuffle.partitions": 2,
                "spark.ui.enabled": False,
            },
        }
        profiles = {"shop": {"target": "test", "outputs": {"test": target}}}
        (folder / "profiles.yml").write_text(json.dumps(profiles))
        (folder / "dbt_project.yml").write_text(json.dumps({"name": "shop", "profile": "shop"}))
        (folder / "models" / "sources.yml").write_text(json.dumps(_SOURCES))

    def model(self, name, value, freshness) -> None:
        text = _MODEL.format(value=value, freshness=freshness)
        (self.folder / "models" / f"{name}.sql").write_text(text)

    def start(self, module, *arguments, **variables):
        """Start a command in a process of its own, with a file for what it prints."""
        printed = self.folder / f"{module}.{variables.get('DBT_TARGET_PATH', '')}.log"
        with printed.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-m", module, *arguments],
                cwd=self.folder,
                env={**environment(), **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        return Command(process, printed)

    def dbt(self, command, number=0):
        """Start dbt with directories of its own."""
        places = {"DBT_TARGET_PATH": f"target{number}", "DBT_LOG_PATH": f"logs{number}"}
        return self.start("dbt.cli.main", "--no-use-colors", command, **places)

    def run_twice_at_once(self) -> list[str]:
        """Start two runs at the same time; both must succeed. Returns what they printed."""
        return [run.succeeds() for run in [self.dbt("run", number) for number in range(2)]]


@pytest.fixture
def source(session):
    session.sql(f"CREATE SCHEMA {SCHEMA}")
    session.sql(f"USE {SCHEMA}")
    session.sql("CREATE TABLE orders (k INT, amount INT) USING delta")
    session.sql("INSERT INTO orders VALUES (1, 10), (1, 5), (2, 7)")
    yield session
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture
def project(metastore, tmp_path):
    """Two models: one for the manager to host, one that only statements refresh."""
    project = Project(tmp_path, metastore.confs)
    project.model("hosted", "sum(amount)", "5 seconds")
    project.model("daily", "count(*)", "1 day")
    return project


@pytest.fixture
def manager(project):
    """A manager of the tables in the metastore; it must stop in good order."""
    manager = project.start("dbt.adapters.spark_mt.cli.main", "serve", "--port", "0")
    try:
        yield manager
        manager.process.send_signal(signal.SIGTERM)
        manager.succeeds()
    finally:
        manager.process.kill()


def test_runs_and_a_manager_share_the_metastore(project, manager, source):
    output = project.dbt("debug").succeeds()
    assert "there is no embedded metastore" in output
    assert "All checks passed" in output

    tables = MaterializedTables(source)
    for output in project.run_twice_at_once():
        assert "PASS=2 WARN=0 ERROR=0" in output
        assert "not written" not in output
    assert rows(tables, "SELECT * FROM daily") == [(1, 2), (2, 1)]
    assert len(fenced_commits(tables, "daily")) == 1
    assert rows(tables, "SELECT * FROM hosted") == [(1, 15), (2, 7)]

    source.sql("INSERT INTO orders VALUES (3, 1)")
    wanted = [(1, 15), (2, 7), (3, 1)]
    until(lambda: manager.goes_on() and rows(tables, "SELECT * FROM hosted") == wanted)
    assert_equals_query(tables, "hosted")
    for name in ("hosted", "daily"):
        tables.execute(f"DROP MATERIALIZED TABLE {name}")
    assert tables.names(SCHEMA) == frozenset()
