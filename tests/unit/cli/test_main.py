"""What holds for every command."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from dbt.adapters.spark_mt.__version__ import version
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
