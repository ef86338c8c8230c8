"""FLIP-546: CREATE OR ALTER, run again and again by a deployment."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import StatementSyntaxError
from dbt.adapters.spark_mt.execution.results import Action
from dbt.adapters.spark_mt.statements.parser import parse_statement
from tests.flips.journeys import journey
from tests.support.errors import raises

ORDERS = "user_id INT; product_id INT; price DECIMAL(10,2); description STRING"
FIRST = "user_id INT; product_id INT; price DECIMAL(10,2)"
FORM = """CREATE OR ALTER MATERIALIZED TABLE high_value_orders
FRESHNESS = INTERVAL '5' MINUTE
AS
SELECT
{columns}
FROM orders
WHERE price > {limit};{comment}"""
THREE = "user_id,\nproduct_id,\nprice"
ADDED = f"{THREE},\ndescription -- New nullable column"
FOUR = f"{THREE},\ndescription"
ONE_LINE = (
    "CREATE OR ALTER MATERIALIZED TABLE high_value_orders FRESHNESS = INTERVAL '5' MINUTE AS "
    "SELECT user_id, product_id, price FROM orders WHERE price > 1000;"
)
FILE = "-- file: materialized_tables/high_value_orders.sql"
T = "high_value_orders"


def sql(columns=THREE, limit=1000, comment=""):
    """The statement of the deployed file."""
    return FORM.format(columns=columns, limit=limit, comment=comment)


def orders(world):
    """Two orders, one of a high value."""
    rows = [(1, 10, Decimal("1500.00"), "big"), (2, 20, Decimal("700.00"), "middle")]
    world.source("orders", ORDERS, rows)


def deployed(world):
    """The table after the first deployment."""
    orders(world)
    return world.run(sql(), FIRST)


def evolved(world):
    """The table with its description, of orders above 500."""
    orders(world)
    return world.run(sql(FOUR, 500), ORDERS)


class Flip546:
    """CREATE OR ALTER."""

    @journey(
        "4.1.1, Step 1",
        "first deployment: the table is created",
        "the example is one line that begins with `--`, which makes all of it a comment: it passes "
        "to Spark; with a line end after the comment it creates the table",
        spark=True,
    )
    def test_deploys(self, world):
        orders(world)
        assert parse_statement(f"{FILE} {ONE_LINE}") is None
        outcome = world.run(f"{FILE}\n{ONE_LINE}", FIRST)
        assert (outcome.action, outcome.refresh_mode) == (Action.CREATED, "CONTINUOUS")
        assert world.tables.rows(T) == [(1, 10, Decimal("1500.00"))]

    @journey("4.1.1, Step 2", "the same file again: no action")
    def test_deploys_again(self, world):
        deployed(world)
        before = world.stored(T)
        outcome = world.run(f"{FILE}\n{sql()}")
        assert (outcome.action, outcome.refresh, outcome.changes) == (Action.UNCHANGED, None, ())
        assert world.stored(T) == before

    @journey("4.2.1", "a nullable column at the end", spark=True)
    def test_adds_a_column(self, world):
        deployed(world)
        outcome = world.run(f"-- Add a nullable description column\n{sql(ADDED)}", ORDERS)
        assert outcome.action is Action.ALTERED
        assert world.tables.rows(T) == [(1, 10, Decimal("1500.00"), "big")]

    @journey("4.2.2", "another filter: history is processed again")
    def test_changes_the_filter(self, world):
        orders(world)
        world.run(sql(FOUR), ORDERS)
        comment = " -- Changed threshold from 1000 to 500"
        outcome = world.run(f"-- Change the filter condition\n{sql(FOUR, 500, comment)}", ORDERS)
        assert (outcome.action, outcome.refresh.rows) == (Action.ALTERED, 2)
        assert [row[3] for row in world.tables.rows(T)] == ["big", "middle"]

    @journey(
        "4.2.3",
        "a dropped column: the FLIP's message",
        "our error also names the column, the remedy and its cost",
        spark=True,
    )
    def test_drops_no_column(self, world):
        evolved(world)
        before = world.stored(T)
        with raises(conditions.DROPPED_COLUMN) as error:
            world.run(sql(f"{THREE}\n-- description column removed", 500), FIRST)
        assert world.stored(T) == before
        assert (
            "Failed to modify query because drop column is unsupported. When modifying a query, "
            "you can only append new columns at the end of original schema. The original schema "
            "has 4 columns, but the newly derived schema from the query has 3 columns."
        ) in str(error.value)
        assert error.value.parameters["dropped"] == "`description`"

    @journey(
        "4.2.4",
        "reordered columns: the FLIP's message",
        "our error lists every mismatch, the remedy and its cost",
    )
    def test_reorders_no_columns(self, world):
        evolved(world)
        moved = (
            "user_id,\nprice, -- Swapped position with product_id\n"
            "product_id, -- Swapped position with price\ndescription"
        )
        ddl = "user_id INT; price DECIMAL(10,2); product_id INT; description STRING"
        with raises(conditions.COLUMN_MISMATCH) as error:
            world.run(sql(moved, 500), ddl)
        assert (
            "When modifying the query of a materialized table, currently only support appending "
            "columns at the end of original schema, dropping, renaming, and reordering columns "
            "are not supported. Column mismatch at position 1: Original column is [`product_id` "
            "INT], but new column is [`price` DECIMAL(10,2)]."
        ) in str(error.value)
        assert len(error.value.violations) == 1

    @journey(
        "4.2.5",
        "a column of another type: the FLIP's message",
        "a type that holds every old value is allowed under the option `schema.type-widening`",
    )
    def test_changes_no_type(self, world):
        evolved(world)
        columns = (
            "user_id,\nproduct_id,\nCAST(price AS INT) as price, "
            "-- Changed type from DECIMAL to INT\ndescription"
        )
        ddl = "user_id INT; product_id INT; price INT; description STRING"
        with raises(conditions.COLUMN_MISMATCH) as error:
            world.run(sql(columns, 500), ddl)
        assert (
            "Column mismatch at position 2: Original column is [`price` DECIMAL(10,2)], but new "
            "column is [`price` INT]."
        ) in str(error.value)

    @pytest.mark.parametrize(
        ("clauses", "seen"),
        [
            ("COMMENT 'c'", lambda w: w.tables.metadata("t").comment == "c"),
            ("WITH ('k' = 'v')", lambda w: w.tables.metadata("t").options == {"k": "v"}),
            (
                "FRESHNESS = INTERVAL '1' DAY",
                lambda w: w.resolved("t").refresh_mode.value == "FULL",
            ),
            ("REFRESH_MODE = FULL", lambda w: w.resolved("t").refresh_mode.value == "FULL"),
            (
                "(PRIMARY KEY (user_id) NOT ENFORCED)",
                lambda w: w.stored("t").definition.declared.primary_key is not None,
            ),
        ],
        ids=["comment", "properties", "freshness", "mode", "constraint"],
    )
    @journey(
        "2.1",
        "each clause is compared and applied; left out again, it is reset",
    )
    def test_compares_every_clause(self, world, clauses, seen):
        orders(world)
        query = "SELECT user_id, product_id, price FROM orders"
        statement = "CREATE OR ALTER MATERIALIZED TABLE t {0} AS " + query
        assert world.run(statement.format(""), FIRST).action is Action.CREATED
        outcome = world.run(statement.format(clauses))
        assert (outcome.action, outcome.refresh) == (Action.ALTERED, None)
        assert seen(world)
        assert world.run(statement.format(clauses)).action is Action.UNCHANGED
        assert world.run(statement.format("")).action is Action.ALTERED
        assert not seen(world)

    @journey(
        "2.1",
        "other partition columns",
        "refused with the remedies: Delta cannot change them in place",
    )
    def test_keeps_partition_columns(self, world):
        deployed(world)
        with raises(conditions.PARTITIONING_CHANGE):
            world.run(sql().replace("FRESHNESS", "PARTITIONED BY (user_id) FRESHNESS"))

    @journey(
        "2.2",
        "SUSPEND, RESUME and REFRESH are no part of CREATE OR ALTER",
    )
    def test_defines_and_does_not_control(self, world):
        deployed(world)
        world.run(f"ALTER MATERIALIZED TABLE {T} SUSPEND")
        with pytest.raises(StatementSyntaxError):
            world.run(f"CREATE OR ALTER MATERIALIZED TABLE {T} SUSPEND")
        outcome = world.run(sql())
        assert (outcome.action, outcome.status) == (Action.UNCHANGED, "SUSPENDED")

    @journey("3.2", "the original query as it was written, and the expanded query with full names")
    def test_keeps_the_query_as_written(self, world):
        deployed(world)
        shown = world.described(T)
        query = sql().partition("AS\n")[2].rstrip(";")
        assert shown["Original query"] == query
        assert "`spark_catalog`." in shown["Expanded query"]

    @journey(
        "1; 7.2",
        "plain CREATE of what is there is an error, IF NOT EXISTS leaves it as it is",
    )
    def test_plain_create_changes_nothing(self, world):
        deployed(world)
        create = sql().replace("CREATE OR ALTER", "CREATE")
        with raises(conditions.ALREADY_EXISTS):
            world.run(create)
        tolerant = create.replace("TABLE high", "TABLE IF NOT EXISTS high").replace("5", "9")
        assert world.run(tolerant).action is Action.UNCHANGED
