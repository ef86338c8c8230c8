"""A dbt project of ten models that uses the package of macros, and dbt as a process in it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.faults.server import ROOT, environment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PACKAGE = ROOT / "integrations" / "dbt_package"
SPARK = {"type": "spark", "method": "session", "schema": "shop", "host": "NA", "threads": 1}
"""The target of plain dbt-spark, which connects to where SPARK_REMOTE says."""
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
          target_schema='SCHEMA') }}
select * from {{ ref('customers') }}
{% endsnapshot %}""",
}


@dataclass(frozen=True)
class Project:
    """The project in a folder.

    Args:
        dbt: The command.
        variables: More variables of its environment.
    """

    home: Path
    dbt: tuple[str, ...]
    variables: Mapping[str, str]

    def run(self, *arguments: str) -> tuple[bool, str]:
        """Run a command of dbt; returns whether it succeeded, and what it printed."""
        done = subprocess.run(  # noqa: S603 - our own command
            [*self.dbt, *arguments],
            cwd=self.home,
            env={**environment(), "NO_COLOR": "1", **self.variables},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        return done.returncode == 0, done.stdout + done.stderr

    def succeeds(self, *arguments: str) -> str:
        """Run a command of dbt that succeeds; returns what it printed."""
        succeeded, output = self.run(*arguments)
        assert succeeded, output
        return output

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def project(
    home: Path,
    dbt: tuple[str, ...],
    target: Mapping[str, object] = SPARK,
    variables: Mapping[str, str] = {},
) -> Project:
    """Write the project into a folder, and install the package."""
    made = Project(home, dbt, variables)
    config = {
        "name": "shop",
        "profile": "shop",
        "seeds": {"+file_format": "delta"},
        "models": {"+file_format": "delta"},
    }
    outputs = {"shop": {"target": "dev", "outputs": {"dev": dict(target)}}}
    documents = {
        "dbt_project.yml": config,
        "profiles.yml": outputs,
        "packages.yml": {"packages": [{"local": str(PACKAGE)}]},
    }
    for name, text in _FILES.items():
        made.write(name, text.replace("SCHEMA", str(target["schema"])))
    for name, document in documents.items():
        made.write(name, json.dumps(document))
    made.succeeds("deps")
    return made
