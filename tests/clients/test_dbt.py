"""The dbt package of macros with plain dbt-spark and with dbt v2, which have nothing of ours."""

from __future__ import annotations

import subprocess

import pytest

from tests.clients.conftest import ENVIRONMENTS
from tests.clients.shop import SPARK, project

_CORE = ("1.11", "1.12")
_MODELS = 10
_MATERIALIZED = "{{ config(materialized='materialized_table') }} "
_STATEMENTS = """
{%- for node in graph.nodes.values() | sort(attribute='name') if execute -%}
  {%- if node.resource_type == 'model' and node.name != 'stg_customers' -%}
    {%- set target = node.schema ~ '.' ~ node.alias -%}
    {{ dbt_materialized_table.statement_sql(target, 'select 1', node) }};
    {{ dbt_materialized_table.statement_sql(target, 'select 1', node, true) }};
  {% endif -%}
{% endfor -%}
"""
"""The statements of all models but one, whose columns the package asks Spark for."""
_FUSION = {
    "type": "spark",
    "method": "spark-connect",
    "host": "localhost",
    "port": 1,
    "auth": "TOKEN",
    "token": "token",
    "schema": "shop",
    "threads": 1,
}
_ALLOWED = {"DBT_ALLOW_EXPERIMENTAL_ADAPTERS": "true", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}


def dbt_of(release):
    """The command of dbt in an environment."""
    return (str(ENVIRONMENTS / f"dbt-{release}" / "bin" / "dbt"), "--no-use-colors")


def refreshes(spark):
    """How many refreshes statements have asked for; the manager hosts streams besides."""
    return spark.sql("SHOW JOBS").filter("kind = 'MANUAL'").count()


@pytest.fixture(scope="module", params=_CORE)
def shop(request, remote, spark, tmp_path_factory):
    """The project in a schema of its own, with one release of dbt."""
    home = tmp_path_factory.mktemp(f"dbt-{request.param}")
    schema = f"shop_{request.param.replace('.', '_')}"
    made = project(
        home, dbt_of(request.param), {**SPARK, "schema": schema}, {"SPARK_REMOTE": remote}
    )
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    spark.sql(f"USE {schema}")
    return made


@pytest.mark.parametrize("release", [*_CORE, "2"])
def test_the_environment_has_nothing_of_ours(release):
    """Neither the wheel nor a Spark of its own."""
    python = ENVIRONMENTS / f"dbt-{release}" / "bin" / "python"
    names = ("dbt", "dbt.adapters", "dbt.adapters.spark_mt")
    code = f"from importlib.util import find_spec as f; print(all(map(f, {names})))"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own
    assert done.stdout.strip() == "False"
    assert not list((ENVIRONMENTS / f"dbt-{release}").rglob("pyspark/jars"))


def test_a_project_of_ten_models(shop, spark):
    """Seeds, models, tests and a snapshot; the second run changes nothing, and a plan says so."""
    shop.succeeds("build")
    shown = {row.table_name for row in spark.sql("SHOW MATERIALIZED TABLES").collect()}
    assert len(shown) == _MODELS
    for name in shown:
        assert spark.sql(f"CHECK MATERIALIZED TABLE {name} QUERY").collect() == []
    assert spark.sql("SELECT count(*) FROM history").first()[0] == 2
    jobs = refreshes(spark)
    shop.succeeds("run")
    assert refreshes(spark) == jobs
    plan = shop.succeeds("run-operation", "plan_materialized_tables")
    assert plan.count(spark.catalog.currentDatabase()) >= _MODELS, plan
    shop.succeeds("run", "--full-refresh", "--select", "products")
    assert refreshes(spark) == jobs + 1


def test_contracts_descriptions_and_keys_are_of_the_table(shop, spark):
    """What SQL can say is said by the statement."""
    shop.succeeds("build", "--select", "+stg_customers", "+stg_orders")
    created = spark.sql("SHOW CREATE MATERIALIZED TABLE stg_orders").first()[0]
    assert "CHECK (amount > 0)" in created
    assert "PRIMARY KEY (`order_id`)" in created
    assert "NOT NULL" in created
    described = {row.col_name: row.comment for row in spark.sql("DESC stg_customers").collect()}
    assert described["name"] == "The customer's name"
    tables = spark.sql("DESC EXTENDED stg_customers").collect()
    assert 'It\'s a "customer"' in {row.data_type for row in tables if row.col_name == "Comment"}
    shop.write("seeds/raw_orders.csv", "id,customer,amount\n1,1,-10\n")
    try:
        shop.succeeds("seed", "--select", "raw_orders", "--full-refresh")
        succeeded, output = shop.run("run", "--full-refresh", "--select", "stg_orders")
        assert not succeeded
        assert "MATERIALIZED_TABLE_CONSTRAINT_VIOLATED" in output, output
    finally:
        shop.write("seeds/raw_orders.csv", "id,customer,amount\n1,1,10\n2,1,5\n3,2,7\n")
        shop.succeeds("seed", "--select", "raw_orders", "--full-refresh")


def test_errors_of_the_engine_are_shown(shop, spark):
    """With the statement that helps, which the setting `adopt` sends."""
    shop.write("models/plain.sql", "{{ config(materialized='table') }} select 1 as a")
    shop.succeeds("run", "--select", "plain")
    shop.write("models/plain.sql", f"{_MATERIALIZED}select 1 as a")
    succeeded, output = shop.run("run", "--select", "plain")
    assert not succeeded
    assert "MATERIALIZED_TABLE_EXPECTED" in output, output
    assert "ADOPT MATERIALIZED TABLE" in output
    adopting = _MATERIALIZED.replace("table')", "table', meta={'materialized_table': {SETTING}})")
    setting = adopting.replace("SETTING", "'adopt': 'if_equal'")
    shop.write("models/plain.sql", f"{setting}select 1 as a")
    plan = shop.succeeds("run-operation", "plan_materialized_tables", "--args", "{select: plain}")
    assert "adopt" in plan, plan
    shop.succeeds("run", "--select", "plain")
    assert spark.sql("CHECK MATERIALIZED TABLE plain QUERY").collect() == []
    shop.write("models/plain.sql", adopting.replace("SETTING", "'freshnes': 1") + "select 1 as a")
    succeeded, output = shop.run("run", "--select", "plain")
    (shop.home / "models" / "plain.sql").unlink()
    spark.sql("DROP MATERIALIZED TABLE plain")
    assert not succeeded
    assert "has no setting freshnes" in output


def test_orphaned_tables_are_found(shop, spark):
    """The engine knows which model declares a table from dbt's comment."""
    shop.write("models/short_lived.sql", f"{_MATERIALIZED}select 1 as a")
    shop.succeeds("run", "--select", "short_lived")
    spark.sql("CREATE MATERIALIZED TABLE of_others AS SELECT 1 AS a")
    assert "is orphaned" not in shop.succeeds("run-operation", "orphaned_materialized_tables")
    (shop.home / "models" / "short_lived.sql").unlink()
    found = shop.succeeds("run-operation", "orphaned_materialized_tables")
    assert "dbt model.shop.short_lived is gone" in found
    assert found.count("is orphaned") == 1
    shop.succeeds("run-operation", "orphaned_materialized_tables", "--args", "{drop: true}")
    left = {row.table_name for row in spark.sql("SHOW MATERIALIZED TABLES").collect()}
    assert "short_lived" not in left
    assert "of_others" in left
    spark.sql("DROP MATERIALIZED TABLE of_others")


def test_data_tests_fail_by_what_the_engine_finds(shop, spark):
    """A row that another writer added is a difference of the table from its query."""
    shop.succeeds("build", "--select", "+customers")
    spark.sql("INSERT INTO customers VALUES (99, 'Nobody', 0)")
    succeeded, output = shop.run("test", "--select", "customers")
    assert not succeeded
    assert "equals_query" in output, output
    shop.succeeds("run", "--full-refresh", "--select", "customers")
    shop.succeeds("test", "--select", "customers")


def test_dbt_v2_renders_the_same_statements(tmp_path):
    """It cannot run here: at its first connection it downloads a driver from its own server."""
    texts = []
    for release, target in (("1.12", SPARK), ("2", _FUSION)):
        home = tmp_path / release
        made = project(
            home, dbt_of(release)[:1], target, {**_ALLOWED, "SPARK_REMOTE": "sc://localhost:1"}
        )
        made.write("analyses/statements.sql", _STATEMENTS)
        offline = (
            ("--static-analysis", "off")
            if release == "2"
            else ("--no-introspect", "--no-populate-cache")
        )
        made.succeeds("compile", "--select", "statements", *offline)
        (compiled,) = (home / "target" / "compiled").rglob("statements.sql")
        texts.append(compiled.read_text(encoding="utf-8"))
    assert texts[0].count("create or alter materialized table") == _MODELS - 1
    assert texts[0] == texts[1]
