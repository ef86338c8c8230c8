"""dbt with a process that serves the same warehouse: it works there, without configuration."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import monotonic

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.discovery import Discovered
from dbt.adapters.spark_mt.client.rest import relay_to
from dbt.adapters.spark_mt.client.target import automatic_target
from dbt.adapters.spark_mt.execution.results import Action
from dbt.adapters.spark_mt.spark.launch.session import connect_spark
from dbt.adapters.spark_mt.spark.session.errors import failure_of
from tests.faults.server import environment

_TIMEOUT_S = 600
_ORDERS = "k,amount\n1,10\n1,5\n2,7\n"
_SUMS = """
{{ config(materialized='materialized_table', freshness='10 minutes', primary_key=['k']) }}
select k, sum(amount) as total from {{ ref('orders') }} group by k
"""
_PYTHON = """
from dataclasses import dataclass
from pyspark.sql import functions as F

@dataclass
class Rate:
    factor: int

def model(dbt, session):
    dbt.config(materialized="table")
    return dbt.ref("sums").withColumn("twice", F.col("total") * Rate(2).factor).toPandas()
"""
_SNAPSHOT = """
{% snapshot history %}
{{ config(unique_key='k', strategy='check', check_cols='all', file_format='delta') }}
select * from {{ ref('sums') }}
{% endsnapshot %}
"""
_SCHEMA = """
version: 2
models: [{name: sums, columns: [{name: k, data_tests: [unique, not_null]}]}]
"""
_SLOW = """
{{ config(materialized='materialized_table', refresh_mode='full') }}
select count(*) as n from range(100000000000) where hash(id, NUMBER) = 7
"""


class Project:
    """A dbt project in the folder that is served; its profile says no more than it must."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.write("dbt_project.yml", json.dumps({"name": "shop", "profile": "shop"}))
        self.profile()

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def profile(self, **more: object) -> None:
        """Write the profile."""
        target = {"type": "spark_mt", "schema": "shop", "threads": 4, **more}
        profiles = {"shop": {"target": "dev", "outputs": {"dev": target}}}
        self.write("profiles.yml", json.dumps(profiles))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start dbt in a process of its own."""
        command = [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", *arguments]
        return subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=self.home,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def dbt(self, *arguments: str) -> tuple[bool, str]:
        """Run dbt; whether it succeeded, and what it said."""
        process = self.start(*arguments)
        try:
            output, _ = process.communicate(timeout=_TIMEOUT_S)
        finally:
            process.kill()
        return process.returncode == 0, output


@pytest.fixture
def project(manager):
    """A project that uses it."""
    return Project(manager.home)


@pytest.fixture
def found(manager):
    """What the manager's file says."""
    found = discovery.read(manager.file)
    assert isinstance(found, Discovered)
    return found


def test_dbt_works_in_the_spark_of_the_manager(manager, project):
    for name, text in {
        "seeds/orders.csv": _ORDERS,
        "models/sums.sql": _SUMS,
        "models/twice.py": _PYTHON,
        "models/schema.yml": _SCHEMA,
        "snapshots/history.sql": _SNAPSHOT,
    }.items():
        project.write(name, text)
    done, output = project.dbt("build")
    assert done, output
    assert f"in the Spark of the refresh manager ({discovery.read(manager.file).owner})" in output
    done, output = project.dbt("show", "--inline", "select * from {{ ref('twice') }}")
    assert done, output
    assert "15 |    30" in output
    done, output = project.dbt("debug")
    assert done, output
    assert "Spark runs in a server: the refresh manager of this warehouse" in output


def test_only_who_knows_the_token_may_connect(manager, found):
    for url in (found.connect_url, f"{found.connect_url}/;token=guessed"):
        with pytest.raises(Exception, match="UNAUTHENTICATED") as refused:  # noqa: PT012
            spark = connect_spark(url, {}, is_near=True)
            try:
                spark.sql("SELECT 1").collect()
            finally:
                spark.client.close()
        assert found.connect_token not in failure_of(refused.value).message
    printed = manager.home / "spark-manager.log"
    assert found.connect_token not in printed.read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_the_token_is_on_no_command_line(manager, found):
    known = {manager.process.pid: str(manager.home), manager.jvm: "org.apache.spark.deploy"}
    for process, argument in known.items():
        recorded = Path(f"/proc/{process}/cmdline").read_bytes()
        assert argument.encode() in recorded
        assert found.connect_token.encode() not in recorded


def test_a_session_of_ones_own_names_who_is_in_the_way(manager, project):
    project.profile(method="session")
    done, output = project.dbt("debug")
    assert not done
    assert "MATERIALIZED_TABLE_METASTORE_IN_USE" in output
    assert f"process {manager.jvm} (java" in output
    assert "with `method: auto` instead" in output


@pytest.mark.conformance
@pytest.mark.skipif(os.name != "posix", reason="Windows cannot stop a process")
def test_a_manager_whose_spark_hangs_is_named_and_not_waited_for_without_end(manager, project):
    os.kill(manager.jvm, signal.SIGSTOP)
    try:
        done, output = project.dbt("debug")
    finally:
        os.kill(manager.jvm, signal.SIGCONT)
    assert not done
    assert "has not answered at sc://" in output
    assert f"process {manager.jvm} (java" in output
    assert automatic_target({}, manager.home).is_connect


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signal")
def test_ctrl_c_ends_all_threads_and_what_they_run(manager, project):
    """The models are slow enough that none of them can have ended on its own."""
    for number in range(4):
        project.write(f"models/slow{number}.sql", _SLOW.replace("NUMBER", str(number)))
    # Whoever runs tests in the background may have it ignored, which dbt would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run = project.start("run", "--select", "slow*")
    assert run.stdout is not None
    try:
        said = ""
        while "4 of 4 START" not in said:
            line = run.stdout.readline()
            assert line, said
            said += line
        deadline = monotonic() + _TIMEOUT_S
        while manager.running_jobs() < 2:
            assert monotonic() < deadline
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=_TIMEOUT_S)
    finally:
        run.kill()
    assert run.returncode != 0, output
    while (
        manager.running_jobs()
    ):  # a manager reads the catalog now and then; models run for minutes
        assert monotonic() < deadline


_LEAST = """
{{ config(materialized='materialized_table', freshness='10 minutes') }}
select 1 as n
"""
_TOKYO = """
{{ config(materialized='materialized_table', freshness='10 minutes') }}
select to_date(timestamp '2026-01-01 20:00:00 UTC') as day
"""


@pytest.mark.conformance
def test_the_manager_carries_a_statement_out_in_the_session_of_the_client(project):
    project.profile(server_side_parameters={"spark.sql.session.timeZone": "Asia/Tokyo"})
    project.write("models/tokyo.sql", _TOKYO)
    done, output = project.dbt("run", "--select", "tokyo")
    assert done, output
    assert "CREATED" in output
    done, output = project.dbt("show", "--inline", "select day from {{ ref('tokyo') }}")
    assert "2026-01-02" in output, output
    done, output = project.dbt("run", "--select", "tokyo")
    assert "UNCHANGED" in output, output
    project.write("models/tokyo.sql", _TOKYO.replace("as day", "as nothing, day"))
    done, output = project.dbt("run", "--select", "tokyo")
    assert not done
    assert "[MATERIALIZED_TABLE_QUERY_ERROR]" in output


@pytest.mark.conformance
def test_a_model_runs_again_with_the_least_profile(project):
    """Its statement is then the first thing that its connection asks for."""
    project.profile()
    project.write("models/least.sql", _LEAST)
    for done_to_it in ("CREATED", "UNCHANGED", "UNCHANGED"):
        done, output = project.dbt("run", "--select", "least")
        assert done, output
        assert done_to_it in output


@pytest.mark.conformance
def test_the_statement_of_a_killed_client_is_interrupted(manager, project):
    project.write("models/slow0.sql", _SLOW.replace("NUMBER", "0"))
    run = project.start("run", "--select", "slow0")
    deadline = monotonic() + _TIMEOUT_S
    try:
        while manager.running_jobs() < 1:
            assert monotonic() < deadline
            assert run.poll() is None
    finally:
        run.kill()
        run.communicate()
    while manager.running_jobs():
        assert monotonic() < deadline


@pytest.mark.conformance
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="the system stops no processes")
def test_a_manager_that_is_stopped_is_named_and_waited_for(manager, project):
    """Its JVM answers still: Spark Connect alone says nothing of the manager."""
    program = Path(sys.executable).with_name("spark-mt")
    pid = manager.process.pid
    os.kill(pid, signal.SIGSTOP)
    waiting = []
    try:
        waiting.append(
            subprocess.Popen(  # noqa: S603 - our own command
                [program, "refresh", "--all"],
                cwd=project.home,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        waiting.append(project.start("debug"))
        for process in waiting:
            assert process.stdout is not None
            said = next(
                line for line in process.stdout if "Waiting for the refresh manager" in line
            )
            for part in (f"process {pid} on", "has not answered at http://", f"kill -CONT {pid}"):
                assert part in said
    finally:
        os.kill(pid, signal.SIGCONT)
        outputs = [process.communicate(timeout=_TIMEOUT_S)[0] for process in waiting]
    assert "0 failed" in outputs[0]
    assert "All checks passed" in outputs[1]


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="the system stops no processes")
def test_a_manager_that_stops_during_a_statement_is_named(manager, found):
    target = automatic_target({}, manager.home)
    assert target.manager == found
    session = connect_spark(target.url, {}, is_near=True)
    session.sql("CREATE SCHEMA IF NOT EXISTS shop")
    said, silence = [], Event()
    relay = relay_to(session, found, say=lambda sentence: (said.append(sentence), silence.set()))
    tables = MaterializedTables(session, relay=relay)
    with ThreadPoolExecutor(1) as pool:
        os.kill(manager.process.pid, signal.SIGSTOP)
        try:
            statement = (
                "CREATE MATERIALIZED TABLE shop.stopped REFRESH_MODE = FULL AS SELECT 1 AS n"
            )
            running = pool.submit(tables.execute, statement)
            assert silence.wait(_TIMEOUT_S)
            assert not running.done()
        finally:
            os.kill(manager.process.pid, signal.SIGCONT)
        assert running.result().outcome.action is Action.CREATED
    assert f"kill -CONT {manager.process.pid}" in said[0]
    tables.execute("DROP MATERIALIZED TABLE shop.stopped")
    session.stop()
