"""Several `dbt run`s of one project at once, and many threads in one run."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.faults.checks import assert_history
from tests.functional.engine.oracle import fenced_commits

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT_S = 240
_MODEL = """
{{{{ config(materialized='materialized_table', freshness='10 minutes') }}}}
select k, {value} as total from {{{{ source('raw', 'orders') }}}} group by k
"""
_DOWNSTREAM = """
{{ config(materialized='materialized_table', freshness='10 minutes') }}
select sum(total) as total from {{ ref('sums') }}
"""
_SOURCES = """
version: 2
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: orders}]
"""


class Project:
    """A dbt project whose models go to the schema of the test."""

    def __init__(self, directory: Path, port: int, schema: str) -> None:
        self.directory = directory
        (directory / "models").mkdir()
        self.write("sources.yml", _SOURCES)
        target = {
            "type": "spark_mt",
            "method": "connect",
            "host": "127.0.0.1",
            "port": port,
            "schema": schema,
            "threads": 8,
        }
        profiles = {"shop": {"target": "test", "outputs": {"test": target}}}
        project = {"name": "shop", "version": "1.0", "profile": "shop", "config-version": 2}
        (directory / "profiles.yml").write_text(json.dumps(profiles))
        (directory / "dbt_project.yml").write_text(json.dumps(project))

    def write(self, name: str, text: str) -> None:
        """Write a file below models/."""
        (self.directory / "models" / name).write_text(text)

    def run(self, number: int) -> subprocess.Popen[str]:
        """Start `dbt run` with a target directory of its own."""
        command = [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", "run"]
        places = ["--project-dir", ".", "--profiles-dir", ".", "--target-path", f"target{number}"]
        logs = ["--log-path", f"logs{number}"]
        return subprocess.Popen(  # noqa: S603 - our own command
            [*command, *places, *logs],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def statuses(self, number: int) -> dict[str, str]:
        """Return the status of each model in the newest run with this number."""
        written = (self.directory / f"target{number}" / "run_results.json").read_text()
        results = json.loads(written)["results"]
        return {r["unique_id"].rsplit(".", 1)[-1]: r["message"] for r in results}

    def run_twice_at_once(self) -> None:
        """Start two runs at the same time; both must succeed."""
        runs = [self.run(number) for number in range(2)]
        for run in runs:
            output, _ = run.communicate(timeout=_TIMEOUT_S)
            assert run.returncode == 0, output


@pytest.fixture
def project(server, session, schema, tmp_path) -> Project:
    """A project over the source `orders`."""
    session.sql("CREATE TABLE orders (k INT, amount INT) USING delta")
    session.sql("INSERT INTO orders VALUES (1, 10), (1, 5), (2, 7)")
    return Project(tmp_path, server.port, schema)


def rows(session, name):
    return sorted(tuple(row) for row in session.table(name).collect())


@pytest.mark.conformance
@pytest.mark.parametrize("moves", [False, True], ids=["", "moves"])
def test_two_runs_of_one_project_at_once(project, session, schema, moves):
    """From nothing, after the source moved, and with a changed query."""
    tables = MaterializedTables(session)
    project.write("sums.sql", _MODEL.format(value="sum(amount)"))
    project.write("overall.sql", _DOWNSTREAM)
    project.run_twice_at_once()
    assert (rows(session, "sums"), rows(session, "overall")) == ([(1, 15), (2, 7)], [(22,)])
    session.sql("INSERT INTO orders VALUES (3, 1)")
    if moves:
        project.run_twice_at_once()
        assert rows(session, "overall") == [(23,)]
    project.write("sums.sql", _MODEL.format(value="max(amount) + sum(0)"))
    project.run_twice_at_once()
    assert (rows(session, "sums"), rows(session, "overall")) == (
        [(1, 10), (2, 7), (3, 1)],
        [(18,)],
    )
    assert tables.names(schema) == {"sums", "overall"}
    assert len(fenced_commits(tables, "sums")) == 2 + moves
    assert assert_history(tables, "sums") == 2 + moves
    assert_history(tables, "overall")


@pytest.mark.conformance
def test_eight_threads_in_one_run(project, session, schema):
    """Models of one source in parallel: none has another one's fence, facts or rows."""
    tables = MaterializedTables(session)
    for number in range(16):
        project.write(f"m{number}.sql", _MODEL.format(value=f"sum(amount) + {number}"))
    for expected in ("CREATED", "UP TO DATE"):
        run = project.run(0)
        output, _ = run.communicate(timeout=_TIMEOUT_S)
        assert run.returncode == 0, output
        assert set(project.statuses(0).values()) == {expected}
    assert tables.names(schema) == {f"m{number}" for number in range(16)}
    for number in range(16):
        assert rows(session, f"m{number}") == [(1, 15 + number), (2, 7 + number)]
        assert len(fenced_commits(tables, f"m{number}")) == 1
