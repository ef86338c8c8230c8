"""Every command, and the commands `archive` and `repair`."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import click
import pytest

from dbt.adapters.spark_mt.__version__ import version
from dbt.adapters.spark_mt.cli import session
from dbt.adapters.spark_mt.cli.main import commands

HEAVY = ("pyspark", "py4j", "sqlglot", "rich", "pandas", "dbt.config", "dbt_common", "fastapi")
LOADED = """
import sys
from dbt.adapters.spark_mt.cli.main import commands
try:
    commands({arguments})
except SystemExit:
    print("\\n" + " ".join(sys.modules))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["status", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments):
    script = LOADED.format(arguments=arguments)
    command = [sys.executable, "-c", script]
    done = subprocess.check_output(command, text=True)  # noqa: S603 - our own script
    loaded = done.splitlines()[-1].split()
    assert "click" in loaded
    assert [name for name in loaded if name.startswith(HEAVY)] == []


def test_the_version(run):
    assert version in run("--version").stdout


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_every_option_is_explained(run, name):
    command = commands.commands[name]
    options = [param for param in command.params if isinstance(param, click.Option)]
    unexplained = [option.name for option in options if not option.help]
    assert unexplained == []
    assert command.short_help
    shown = run(name, "--help")
    assert shown.exit_code == 0
    assert "--json" in shown.stdout or name in {"serve", "token", "archive"}


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_no_secret_is_an_argument(name):
    options = {option for param in commands.commands[name].params for option in param.opts}
    assert "--token" not in options


def test_an_unknown_command(run):
    assert run("stattus").exit_code == 2


def test_the_archive_is_named_with_its_size(run, nowhere, monkeypatch):
    file = nowhere / "classes.jsa"
    file.write_bytes(bytes(3 * 1024**2))
    places = []
    monkeypatch.setattr(session, "archive_classes", lambda place: places.append(place) or file)
    done = run("archive", "--conf", "spark.driver.memory=2g")
    assert (done.exit_code, done.stdout) == (0, f"Spark starts from {file} (3 MB) from now on.\n")
    assert places[0].confs["spark.driver.memory"] == "2g"


def test_a_correct_registry_is_left_unchanged(run, shop):
    shop.all()
    done = run("repair")
    assert (done.exit_code, done.stdout) == (0, "0 rows corrected, 0 failed\n")


def test_corrected_rows_are_named(run, shop):
    shop.all()
    log, name = shop.tables.memory.log, shop.tables.name
    log.remove(name("daily"))
    log._known[name("other")] = replace(log._known[name("other")], generation=9)
    shop.tables.drop("best")
    done = run("repair")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "UNREGISTERED  spark_catalog.default.best",
        "REGISTERED    spark_catalog.default.daily",
        "CORRECTED     spark_catalog.default.other",
        "3 rows corrected, 0 failed",
    ]
    assert json.loads(run("repair", "--json").stdout) == []


def test_a_table_that_cannot_be_read_is_named_and_ends_in_1(run, shop):
    shop.all()
    spoiled = dict.fromkeys(
        key
        for key, _ in shop.tables.catalog.table(shop.tables.name("daily")).newest.properties
        if key.startswith("materialized-table.")
    )
    for key in spoiled:
        shop.tables.set_property("daily", key, "{")
    done = run("repair", "--json")
    assert done.exit_code == 1
    assert [(row["table"], row["action"]) for row in json.loads(done.stdout)] == [
        ("spark_catalog.default.daily", "FAILED")
    ]
    assert "spark_catalog.default.daily failed:" in done.stderr
