"""Commands run where no project, no manager and no settings of the user are."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from dbt.adapters.spark_mt.cli.main import commands
from tests.unit.cli.shop import Shop


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """An empty folder to run commands in."""
    for name in ("SPARK_MT_TOKEN", "DBT_PROFILES_DIR", "DBT_PROFILE", "DBT_TARGET", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(nowhere):
    """Runs `spark-mt` with arguments."""

    def run(*arguments: str, **more):
        return CliRunner(env={"HOME": str(nowhere)}).invoke(commands, arguments, **more)

    return run


@pytest.fixture
def shop(monkeypatch) -> Shop:
    """A shop that commands find when they open a session."""
    made = Shop()
    made.install(monkeypatch)
    return made
