"""A project of dbt-spark that moves to materialized tables, and back, over the same tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt.tests.util import run_dbt
from deltalake import DeltaTable

pytestmark = pytest.mark.conformance

_SEEDS = {
    "raw_customers.csv": """id,first_name,last_name
1,Michael,P.
2,Shawn,M.
3,Kathleen,P.
4,Jimmy,C.
""",
    "raw_orders.csv": """id,user_id,order_date,status
1,1,2018-01-01,returned
2,3,2018-01-02,completed
3,2,2018-01-04,completed
4,1,2018-01-05,completed
5,3,2018-01-05,completed
""",
    "raw_payments.csv": """id,order_id,payment_method,amount
1,1,credit_card,1000
2,2,credit_card,2000
3,3,coupon,100
4,4,coupon,2500
5,5,bank_transfer,1700
""",
}
_STAGING = {
    "stg_customers.sql": """
select id as customer_id, first_name, last_name from {{ ref('raw_customers') }}""",
    "stg_orders.sql": """
select id as order_id, user_id as customer_id, cast(order_date as date) as order_date, status
from {{ ref('raw_orders') }}""",
    "stg_payments.sql": """
select id as payment_id, order_id, payment_method, cast(amount as decimal(10, 2)) / 100 as amount
from {{ ref('raw_payments') }}""",
}
_MARTS = {
    "orders.sql": """
select o.order_id, o.customer_id, o.order_date, o.status, sum(p.amount) as amount
from {{ ref('stg_orders') }} as o left join {{ ref('stg_payments') }} as p using (order_id)
group by all""",
    "customers.sql": """
select c.customer_id, c.first_name, c.last_name, min(o.order_date) as first_order,
  count(o.order_id) as number_of_orders
from {{ ref('stg_customers') }} as c left join {{ ref('orders') }} as o using (customer_id)
group by all""",
    "daily_revenue.sql": """
select order_date, sum(amount) as amount from {{ ref('orders') }} group by order_date""",
    "payment_methods.sql": """
select payment_method, count(*) as payments, sum(amount) as amount
from {{ ref('stg_payments') }} group by payment_method""",
    "order_events.sql": """
{{ config(materialized=var('incremental')) }}
select order_id, status from {{ ref('stg_orders') }}
{% if is_incremental() %} where order_id > (select max(order_id) from {{ this }}) {% endif %}""",
    "latest_orders.sql": """
{{ config(materialized=var('incremental'), **var('keyed')) }}
select customer_id, max(order_id) as order_id, max(order_date) as order_date
from {{ ref('stg_orders') }} group by customer_id""",
    "seen_orders.sql": """
{{ config(materialized=var('incremental'), **var('trusted')) }}
select order_id from {{ ref('stg_orders') }}
{% if is_incremental() %} where order_id > (select max(order_id) from {{ this }}) {% endif %}""",
}
_SNAPSHOT = """
{% snapshot orders_history %}
{{ config(unique_key='id', strategy='check', check_cols=['status'], file_format='delta',
          target_schema=target.schema) }}
select * from {{ ref('raw_orders') }}
{% endsnapshot %}
"""
MARTS = tuple(name.removesuffix(".sql") for name in _MARTS)
DERIVED = tuple(name for name in MARTS if name != "seen_orders")
KEYED = "{unique_key: customer_id, incremental_strategy: merge, file_format: delta}"
BEFORE = f"{{materialized: table, incremental: incremental, trusted: {{}}, keyed: {KEYED}}}"
MOVED = (
    "{materialized: materialized_table, incremental: materialized_table, trusted: {}, keyed: {}}"
)
TRUSTED = MOVED.replace("trusted: {}", "trusted: {adopt: true}")


class TestThereAndBack:
    """One project's move; the tests of this class build on each other."""

    @pytest.fixture(scope="class")
    def seeds(self):
        return _SEEDS

    @pytest.fixture(scope="class")
    def models(self):
        return {"staging": _STAGING, "marts": _MARTS}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"orders_history.sql": _SNAPSHOT}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        marts = {"+materialized": "{{ var('materialized', 'table') }}", "+file_format": "delta"}
        return {
            "models": {"test": {"marts": marts}},
            "seeds": {"+file_format": "delta"},
        }

    @pytest.fixture(scope="class")
    def dbt_profile_data(self, unique_schema, dbt_profile_target):
        outputs = {
            "default": {**dbt_profile_target, "schema": unique_schema},
            "dbt_spark": {
                "type": "spark",
                "method": "session",
                "host": "localhost",
                "schema": unique_schema,
                "threads": 1,
            },
        }
        return {"test": {"outputs": outputs, "target": "default"}}

    @pytest.fixture(scope="class")
    def sql(self, project):
        """Runs SQL without dbt, in the Spark that both adapters use."""
        from pyspark.sql import SparkSession

        session = SparkSession.builder.getOrCreate().newSession()

        def run(statement: str) -> list[tuple[object, ...]]:
            return session.sql(statement.format(s=project.test_schema)).collect()

        return run

    @pytest.fixture(scope="class")
    def tables(self, project, warehouse, sql):
        """What a reader without Spark sees: rows of a table, and its files."""

        class Tables:
            def path(self, name: str) -> Path:
                return Path(warehouse) / f"{project.test_schema}.db" / name

            def rows(self, name: str) -> list[tuple[object, ...]]:
                found = DeltaTable(self.path(name)).to_pyarrow_table()
                return sorted(tuple(row.values()) for row in found.to_pylist())

            def files(self, name: str) -> set[str]:
                return set(DeltaTable(self.path(name)).file_uris())

            def known(self) -> set[str]:
                """The names of the materialized tables."""
                shown = "show tables in {s}"
                names = [row[1] for row in sql(shown) if "__" not in row[1]]
                return {name for name in names if self.definition(name)}

            def definition(self, name: str) -> list[tuple[object, ...]]:
                """The properties of a materialized table."""
                if name.startswith("stg_"):
                    return []
                properties = sql(f"show tblproperties {{s}}.{name}")
                return [row for row in properties if row[0].startswith("materialized-table")]

        return Tables()

    def messages(self, command: str, variables: str, *more: str, passes: bool = True):
        results = run_dbt([command, "--vars", variables, *more], expect_pass=passes).results
        return {result.node.name: result.message for result in results}

    def test_the_project_runs_in_dbt_spark(self, sql, tables):
        old = ("--target", "dbt_spark")
        run_dbt(["seed", "--vars", BEFORE, *old])
        run_dbt(["build", "--vars", BEFORE, *old])
        sql("insert into {s}.raw_orders values (6, 4, date '2018-01-07', 'placed')")
        sql("insert into {s}.raw_payments values (6, 6, 'credit_card', 300)")
        run_dbt(["run", "--vars", BEFORE, *old])
        run_dbt(["snapshot", "--vars", BEFORE, *old])
        # An incremental model keeps what no source has any more.
        sql("insert into {s}.seen_orders values (0)")
        assert len(tables.rows("orders")) == 6
        assert len(tables.rows("seen_orders")) == 7
        assert tables.known() == set()

    def test_equal_rows_are_adopted_and_others_are_refused(self, tables):
        before = {name: (tables.rows(name), tables.files(name)) for name in MARTS}
        run_dbt(["run-operation", "plan_materialized_tables", "--vars", MOVED])
        found = self.messages("run", MOVED, passes=False)
        assert {found[name] for name in DERIVED} == {"ADOPTED"}
        assert "MATERIALIZED_TABLE_ROWS_DIFFER" in found["seen_orders"]
        assert "1 rows differ" in found["seen_orders"]
        assert "adopt: true" in found["seen_orders"]
        for name, (rows, files) in before.items():
            assert tables.rows(name) == rows
            assert files <= tables.files(name)
        assert tables.known() == set(DERIVED)

    def test_history_is_adopted_with_the_option(self, tables):
        found = self.messages("run", TRUSTED)
        assert found["seen_orders"] == "ADOPTED"
        assert {found[name] for name in DERIVED} == {"UP TO DATE"}
        assert (0,) in tables.rows("seen_orders")

    def test_the_moved_project_follows_its_sources(self, sql, tables):
        sql("update {s}.raw_orders set status = 'shipped' where id = 6")
        sql("insert into {s}.raw_orders values (7, 2, date '2018-01-09', 'placed')")
        found = self.messages("build", TRUSTED, "--exclude", "resource_type:seed")
        assert found["orders"].startswith("REFRESHED")
        assert {row[0]: row[3] for row in tables.rows("orders")}[6] == "shipped"
        assert (0,) in tables.rows("seen_orders")
        assert (7,) in tables.rows("seen_orders")
        assert (6, "shipped") in tables.rows("order_events")
        assert len(tables.rows("orders_history")) == 8  # seven orders, one with two states

    def test_the_move_is_undone(self, tables):
        before = {name: tables.rows(name) for name in MARTS}
        self.messages("run", BEFORE)
        assert tables.known() == set()
        assert {name: tables.rows(name) for name in MARTS} == before
        assert tables.definition("orders") == []

    def test_dbt_spark_continues_with_the_tables(self, sql, tables):
        sql("insert into {s}.raw_orders values (8, 3, date '2018-01-10', 'placed')")
        old = ("--target", "dbt_spark")
        run_dbt(["run", "--vars", BEFORE, *old])
        run_dbt(["snapshot", "--vars", BEFORE, *old])
        assert len(tables.rows("orders")) == 8
        assert (8,) in tables.rows("seen_orders")
        assert (0,) in tables.rows("seen_orders")
        assert len(tables.rows("orders_history")) == 9
        # Both work side by side; dbt's fixture drops the schema by the adapter of the last run.
        run_dbt(["run", "--vars", BEFORE])
        assert len(tables.rows("orders")) == 8
