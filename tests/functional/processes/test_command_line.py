"""`spark-mt` in a dbt project, on real tables: what cron and CI do without a manager."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dbt.adapters.spark_mt.cli.main import commands

PROFILES = """
shop:
  target: "{{{{ env_var('SHOP_TARGET', 'dev') }}}}"
  outputs:
    dev: {{type: spark_mt, method: connect, host: localhost, port: {port}, schema: {schema}}}
"""
FILLED = """
CREATE TABLE orders (product STRING, amount INT) USING delta;
INSERT INTO orders VALUES ('a;b', 10), ('c', 20);
CREATE MATERIALIZED TABLE daily FRESHNESS = INTERVAL '1' DAY AS
  SELECT product, sum(amount) AS total FROM orders GROUP BY product;
CREATE MATERIALIZED TABLE best FRESHNESS = INTERVAL '1' DAY AS
  SELECT max(total) AS total FROM daily;
INSERT INTO orders VALUES ('c', 50) -- and nothing refreshes it; not yet
"""


@pytest.fixture
def run(server, schema, tmp_path, monkeypatch):
    """Runs `spark-mt` in a project whose profile names the server; returns what it printed."""
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    profiles = PROFILES.format(port=server.port, schema=schema)
    (tmp_path / "profiles.yml").write_text(profiles)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> list:
        done = CliRunner().invoke(commands, [*arguments, "--json"])
        assert done.exit_code == 0, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.mark.conformance
def test_a_catalog_is_brought_up_to_date_in_order(run, schema):
    results = run("sql", FILLED)
    assert [row["action"] for rows in results for row in rows if "action" in row] == ["CREATED"] * 2

    names = [f"spark_catalog.{schema}.{name}" for name in ("daily", "best")]
    (refreshed,) = run("refresh", "--once", "--all")
    ours = {row["table"]: row for row in refreshed if row["table"] in names}
    assert list(ours) == names
    assert {row["status"] for row in ours.values()} == {"REFRESHED"}
    assert run("sql", "SELECT total FROM best") == [[{"total": 70}]]

    (status,) = run("status", f"{schema}.*")
    assert [table["name"] for table in status["tables"]] == sorted(names)
    assert {table["freshness_status"] for table in status["tables"]} == {"MET"}
