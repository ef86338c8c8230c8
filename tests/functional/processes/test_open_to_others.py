"""What other users of the machine, and other machines, see of Spark in a process of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest

from tests.faults.server import environment
from tests.functional.processes.serving import SECRET, SECRETS, SHORT
from tests.functional.processes.watching import (
    Watch,
    needs_proc,
    watched,
    watched_by_another_user,
)

pytestmark = needs_proc

MODEL = """
import pandas as pd
from pyspark.sql.functions import pandas_udf

def model(dbt, session):
    dbt.config(materialized="table")
    key = "spark.hadoop.fs.s3a.secret.key"
    password = session.sparkContext._jvm.java.lang.System.getProperty("store.password")
    with open("seen.txt", "w") as file:
        file.write(session.sparkContext.getConf().get(key) + "|" + password)

    @pandas_udf("string")
    def environment(ids: pd.Series) -> pd.Series:
        import os, time
        time.sleep(1)
        return ids.map(lambda _: str(dict(os.environ)))

    return session.range(1).select(environment("id").alias("environment"))
"""


@pytest.fixture
def project(tmp_path):
    """A dbt project with a Spark of its own, and secrets in its profile."""
    confs = {**SHORT, **SECRETS, "spark.ui.enabled": True}
    target = {
        "type": "spark_mt",
        "method": "session",
        "schema": "shop",
        "server_side_parameters": confs,
    }
    profiles = {"shop": {"target": "dev", "outputs": {"dev": target}}}
    (tmp_path / "profiles.yml").write_text(json.dumps(profiles))
    (tmp_path / "dbt_project.yml").write_text(json.dumps({"name": "shop", "profile": "shop"}))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "seen.py").write_text(MODEL)
    return tmp_path


def run(home: Path, *command: object) -> tuple[str, Watch]:
    """Run a command in a folder, watched; returns its output as well."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*map(str, command)],
        cwd=home,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with watched(process.pid) as watch:
        output, _ = process.communicate()
    assert process.returncode == 0, output
    assert any("org.apache.spark.deploy.SparkSubmit" in each for each in watch.commands)
    return output, watch


def check(watch: Watch, home: Path) -> None:
    assert not [text for text in watch.texts if SECRET in text]
    assert watch.addresses
    assert not watch.outside
    files = (path for path in home.rglob("*") if path.is_file() and path.name != "profiles.yml")
    of_spark = [path for path in files if SECRET.encode() in path.read_bytes()]
    assert {path.name for path in of_spark} <= {"seen.txt"}


def test_a_run_of_dbt_with_python_workers_shows_no_secret_and_no_port(project):
    dbt = (sys.executable, "-m", "dbt.cli.main", "--no-use-colors")
    output, watch = run(project, *dbt, "run")
    assert (project / "seen.txt").read_text() == f"{SECRETS[next(iter(SECRETS))]}|{SECRET} x"
    assert any("pyspark.daemon" in each for each in watch.commands), "its workers were seen"
    check(watch, project)
    assert "without authentication" not in output


@pytest.mark.conformance
def test_dbt_debug_lists_what_listens(project):
    output, watch = run(project, sys.executable, "-m", "dbt.cli.main", "debug")
    assert SECRET not in output
    shown = [line for line in output.splitlines() if "Listening: " in line]
    ports = {port for _, port in watch.addresses}
    for what in ("Spark's driver (RPC)", "Spark's block manager", "Spark's page"):
        (line,) = [line for line in shown if what in line]
        assert "this machine only" in line
        assert any(f":{port} " in line for port in ports)
    assert "spark.sql.ansi.enabled is true" in output


@pytest.mark.conformance
def test_spark_mt_sql_shows_another_user_no_secret(project):
    program = Path(sys.executable).with_name("spark-mt")
    with watched_by_another_user(project) as seen:
        _, watch = run(project, program, "sql", "SELECT 1")
    listed = seen.read_bytes()
    assert b"org.apache.spark.deploy.SparkSubmit" in listed
    assert SECRET.encode() not in listed
    seen.unlink()
    check(watch, project)


def test_a_manager_shows_no_secret_and_no_port(manager):
    watch = Watch()
    watch.look(manager.process.pid)
    check(watch, manager.home)
    token = json.loads(manager.file.read_text())["connect_token"]
    assert not [text for text in watch.texts if token in text]
    logged = (manager.home / "server.log").read_text()
    for what in ("page and REST", "Spark's driver (RPC)", "Spark's block manager", "Spark Connect"):
        assert f"listening: {what}" in logged or f"listening: the {what}" in logged


@pytest.mark.conformance
def test_an_address_opened_by_the_user_needs_a_secret_or_is_reported(tmp_path):
    program = Path(sys.executable).with_name("spark-mt")
    confs = {**SHORT, "spark.driver.bindAddress": "0.0.0.0"}  # noqa: S104 - what is tested
    words = [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")]
    asked = "SELECT count(*) AS n FROM range(4) GROUP BY id % 2"
    output, watch = run(tmp_path, program, "sql", asked, *words)
    assert {ip_address(address).is_unspecified for address, _ in watch.outside} == {True}
    assert "without authentication" not in output
    output, _ = run(tmp_path, program, "sql", asked, *words, "-c", "spark.authenticate=false")
    assert "Other machines reach Spark's driver (RPC) on 0.0.0.0:" in output
    assert "without authentication" in output
