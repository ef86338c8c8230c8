"""`spark-mt serve` and `spark-mt token`: what they start a manager with, and what they say."""

from __future__ import annotations

import sys

import pytest

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.execution.context import LocalProcesses
from dbt.adapters.spark_mt.manager import serve as serving
from dbt.adapters.spark_mt.manager.serve import ServeOptions

TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - of the test's own manager


@pytest.fixture
def started(monkeypatch):
    """The options of every manager that was started; each ends at once with code 3."""
    options = []

    def serve(given, ready):
        options.append(given)
        ready(serving.Serving("http://127.0.0.1:8765", TOKEN))
        return 3

    monkeypatch.setattr(serving, "serve", serve)
    return options


def test_without_options_the_defaults_are_those_of_the_manager(run, started, nowhere):
    done = run("serve")
    assert done.exit_code == 3
    assert started == [
        ServeOptions(nowhere, nowhere / "logs"),
    ]
    assert "http://127.0.0.1:8765" in done.stderr
    assert TOKEN not in done.output


def test_every_option_arrives(run, started, nowhere):
    (nowhere / "token").write_text(TOKEN)
    (nowhere / "token").chmod(0o600)
    text = (
        "--host 0.0.0.0 --port 1 --name a.example --name b.example --connect-port 2 --no-connect "
        "--token-file token -c spark.x=1 --warehouse lake --log-format json --log-level debug "
        "--tick-seconds 1.5 --takeover-after 90 --suspend-after 0 --stop-within 7"
    )
    done = run("serve", *text.split())
    assert done.output == ""
    assert started == [
        ServeOptions(
            home=nowhere,
            log_folder=nowhere / "logs",
            confs={"spark.x": "1", "spark.sql.warehouse.dir": str(nowhere / "lake")},
            host="0.0.0.0",  # noqa: S104 - nothing listens
            port=1,
            names=("a.example", "b.example"),
            token=TOKEN,
            connect=False,
            connect_port=2,
            log_format="json",
            log_level="debug",
            tick_seconds=1.5,
            takeover_after_seconds=90,
            suspend_after=0,
            stop_within_seconds=7,
        )
    ]
    assert TOKEN not in repr(started)


def test_the_profile_of_the_project_counts(run, started, nowhere):
    (nowhere / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (nowhere / "profiles.yml").write_text(
        "shop: {target: dev, outputs: {dev: {type: spark_mt, schema: shop, catalog: lake, "
        "server_side_parameters: {spark.x: 1}}}}"
    )
    assert run("serve").exit_code == 3
    assert (started[0].catalog, started[0].confs) == ("lake", {"spark.x": "1"})


@pytest.mark.parametrize(
    "arguments", ["--port 70000", "--tick-seconds 0", "--takeover-after 5", "--log-format xml"]
)
def test_what_no_manager_can_do(run, started, arguments):
    assert run("serve", *arguments.split()).exit_code == 2
    assert started == []


def test_an_address_of_others_needs_a_token(run):
    """The manager itself refuses it, before it starts Spark."""
    done = run("serve", "--host", "0.0.0.0")  # noqa: S104 - it does not start
    assert done.exit_code == 1
    assert "[MATERIALIZED_TABLE_TOKEN_REQUIRED]" in done.stderr


@pytest.mark.parametrize("package", ["fastapi", "prometheus_client", "structlog", "uvicorn"])
def test_packages_that_are_missing_are_named(run, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    done = run("serve")
    assert done.exit_code == 1
    assert "[MATERIALIZED_TABLE_SERVE_MISSING]" in done.stderr
    assert f"such as {package}" in done.stderr
    assert "pip install 'dbt-spark-mt[serve]'" in done.stderr


def test_the_token_of_the_manager_of_this_warehouse(run, nowhere):
    file = discovery.place(nowhere / "metastore_db")
    missing = run("token")
    assert missing.exit_code == 1
    assert "[MATERIALIZED_TABLE_NO_MANAGER]" in missing.stderr
    owner = LocalProcesses().owner()
    discovery.write(file, discovery.Discovered(owner=owner, rest_token=TOKEN))
    assert run("token").stdout == f"{TOKEN}\n"
    file.chmod(0o644)
    assert run("token").exit_code == 1
