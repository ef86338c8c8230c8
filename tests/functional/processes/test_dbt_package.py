"""The dbt package of macros with plain dbt-spark, over the manager's Spark Connect server."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dbt.adapters.spark_mt.client import discovery
from tests.faults.server import ROOT
from tests.functional.processes.serving import environment

PACKAGE = ROOT / "integrations" / "dbt_package"
_TIMEOUT_S = 600
_MATERIALIZED = "{{ config(materialized='materialized_table') }} "
_FILES = {
    "seeds/raw_customers.csv": "id,name\n1,Ann\n2,Bob\n",
    "seeds/raw_orders.csv": "id,customer,amount\n1,1,10\n2,1,5\n3,2,7\n",
    "models/stg_customers.sql": """{{ config(materialized='materialized_table') }}
select id as customer_id, name from {{ ref('raw_customers') }}""",
    "models/stg_orders.sql": """{{ config(materialized='materialized_table', meta={
  'materialized_table': {'primary_key': 'order_id', 'freshness': '5 minutes'}}) }}
select id as order_id, customer as customer_id, amount from {{ ref('raw_orders') }}""",
    "models/customers.sql": """{{ config(materialized='materialized_table', meta={
  'materialized_table': {'options': {'continuous.max-files-per-batch': 10},
                         'refresh_mode': 'full', 'freshness': '1 hour'}}) }}
select c.customer_id, name, sum(amount) as total
from {{ ref('stg_customers') }} c join {{ ref('stg_orders') }} o on c.customer_id = o.customer_id
group by c.customer_id, name""",
    "seeds/raw_products.csv": "id,title,price\n1,Jaffle,8\n2,Tea,3\n",
    "seeds/raw_items.csv": "order_id,product_id,pieces\n1,1,1\n1,2,1\n2,2,1\n3,1,1\n",
    "models/stg_products.sql": f"{_MATERIALIZED}select id as product_id, title, price"
    " from {{ ref('raw_products') }}",
    "models/stg_items.sql": f"{_MATERIALIZED}select * from {{{{ ref('raw_items') }}}}",
    "models/order_items.sql": f"{_MATERIALIZED}select i.order_id, title, pieces * price as value"
    " from {{ ref('stg_items') }} i join {{ ref('stg_products') }} p"
    " on i.product_id = p.product_id",
    "models/orders.sql": f"{_MATERIALIZED}select o.order_id, customer_id, sum(value) as value"
    " from {{ ref('stg_orders') }} o join {{ ref('order_items') }} i on o.order_id = i.order_id"
    " group by o.order_id, customer_id",
    "models/products.sql": f"{_MATERIALIZED}select title, sum(value) as value, count(*) as items"
    " from {{ ref('order_items') }} group by title",
    "models/first_orders.sql": f"{_MATERIALIZED}select customer_id, min(order_id) as order_id"
    " from {{ ref('stg_orders') }} group by customer_id",
    "models/valuable.sql": f"{_MATERIALIZED}select * from {{{{ ref('orders') }}}} where value > 5",
    "models/schema.yml": """
version: 2
models:
  - name: stg_customers
    description: It's a "customer"
    config: {persist_docs: {relation: true, columns: true}}
    columns: [{name: name, description: "The customer's name"}]
    data_tests: [dbt_materialized_table.healthy]
  - name: stg_orders
    config: {contract: {enforced: true}}
    constraints: [{type: check, name: positive, expression: amount > 0}]
    columns:
      - {name: order_id, data_type: bigint, constraints: [{type: not_null}]}
      - {name: customer_id, data_type: bigint}
      - {name: amount, data_type: bigint}
    data_tests: [{dbt_materialized_table.fresh: {arguments: {within: 1 day}}}]
  - name: customers
    data_tests: [dbt_materialized_table.equals_query]
    columns: [{name: customer_id, data_tests: [unique, not_null]}]
""",
    "snapshots/history.sql": """{% snapshot history %}
{{ config(unique_key='customer_id', strategy='check', check_cols='all', file_format='delta',
          target_schema='packaged') }}
select * from {{ ref('customers') }}
{% endsnapshot %}""",
}


@pytest.fixture(scope="module")
def dbt(manager, tmp_path_factory):
    """Runs dbt in a project that uses dbt-spark and the package."""
    home = tmp_path_factory.mktemp("project")
    target = {
        "type": "spark",
        "method": "session",
        "schema": "packaged",
        "host": "NA",
        "threads": 1,
    }
    texts = {
        **_FILES,
        "dbt_project.yml": json.dumps(
            {
                "name": "shop",
                "profile": "shop",
                "seeds": {"+file_format": "delta"},
                "models": {"+file_format": "delta"},
            }
        ),
        "profiles.yml": json.dumps({"shop": {"target": "dev", "outputs": {"dev": target}}}),
        "packages.yml": json.dumps({"packages": [{"local": str(PACKAGE)}]}),
    }
    for name, text in texts.items():
        path = home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = discovery.read(manager.file)
    remote = f"{found.connect_url}/;token={found.connect_token}"

    def run(*arguments):
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", *arguments],
            cwd=home,
            env={**environment(), "SPARK_REMOTE": remote},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        return done.returncode == 0, done.stdout

    succeeded, output = run("deps")
    assert succeeded, output
    run.home = home
    return run


def test_models_with_plain_dbt_spark(dbt):
    """Seeds, models with their tests and a snapshot of them."""
    succeeded, output = dbt("build", "--select", "+history")
    assert succeeded, output
    assert "PASS=11" in output, output


@pytest.mark.conformance
def test_a_project_of_ten_models(dbt):
    """The second run changes nothing, and a plan says so."""
    for arguments in (("build",), ("run",), ("run", "--full-refresh", "--select", "products")):
        succeeded, output = dbt(*arguments)
        assert succeeded, output
    succeeded, output = dbt("run-operation", "plan_materialized_tables")
    assert succeeded, output
    assert output.count("`packaged`.`") + output.count("packaged.") >= 10, output


@pytest.mark.conformance
def test_errors_of_the_engine_are_shown(dbt):
    """With the statement that helps."""
    (dbt.home / "models" / "plain.sql").write_text("select 1 as a", encoding="utf-8")
    succeeded, output = dbt("run", "--select", "plain")
    assert succeeded, output
    wanted = "{{ config(materialized='materialized_table') }} select 1 as a"
    (dbt.home / "models" / "plain.sql").write_text(wanted, encoding="utf-8")
    succeeded, output = dbt("run", "--select", "plain")
    assert not succeeded
    assert "MATERIALIZED_TABLE_EXPECTED" in output
    assert "ADOPT MATERIALIZED TABLE" in output
    unknown = wanted.replace("table')", "table', meta={'materialized_table': {'freshnes': 1}})")
    (dbt.home / "models" / "plain.sql").write_text(unknown, encoding="utf-8")
    succeeded, output = dbt("run", "--select", "plain")
    (dbt.home / "models" / "plain.sql").unlink()
    assert not succeeded
    assert "has no setting freshnes" in output
