"""FLIP-435: the story of a shop whose order tables are kept up to date."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import ConstraintViolatedError, TemporaryObjectError
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from dbt.adapters.spark_mt.statements.parser import parse_statement
from tests.flips.journeys import journey
from tests.flips.shop_435 import (
    ADD_DEALS,
    DAY,
    DEALS,
    DT_SINK,
    DWD_ORDERS,
    DWS_DEALS,
    MERGED_DEALS,
    MORE_DEALS,
    NEXT,
    PLAIN_DDL,
    SINK,
    TODAY,
    WIDE,
    _merged_deals,
    plain,
    shop,
    wide,
)
from tests.support.errors import raises


class Flip435Story:
    """The user story, partitioned refreshes and future improvements."""

    @journey(
        "User Story, Create Data Pipeline",
        "create the wide table `dwd_orders`; the example lacks a comma: an error that suggests it, "
        "and corrected",
        spark=True,
    )
    def test_creates_the_wide_table(self, world):
        shop(world)
        with raises(conditions.MISSING_COMMA) as error:
            world.run(DWD_ORDERS.format(comma=""))
        assert error.value.parameters["suggestion"] == "o.ds, o.id"
        assert not world.exists("dwd_orders")
        outcome = world.run(DWD_ORDERS.format(comma=","), WIDE)
        assert (outcome.action, outcome.refresh_mode) == (Action.CREATED, "CONTINUOUS")
        assert world.tables.rows("dwd_orders") == [
            (DAY, 1, 100, 7, "pen", 1, 10, 1),
            (NEXT, 2, 200, 8, "ink", 2, 20, 2),
        ]

    @journey(
        "User Story, Pause & Resume Data Pipeline",
        "`SUSPEND`, and `RESUME WITH ('sink.parallesim' = '10')`",
        "the option is a connector's of Flink: an error lists the run options that there are; with "
        "`spark.sql.shuffle.partitions` it resumes",
        spark=True,
    )
    def test_pauses_and_resumes(self, world):
        wide(world)
        assert world.run("ALTER MATERIALIZED TABLE dwd_orders SUSPEND;").status == "SUSPENDED"
        world.tables.append("orders", [(NEXT, 3, 300, 9, 1)])
        resume = (
            "ALTER MATERIALIZED TABLE dwd_orders RESUME\n-- Set table option via WITH clause\n"
            "WITH(\n  '{option}' = '10'\n);"
        )
        with raises(conditions.INVALID_RUN_OPTIONS) as error:
            world.run(resume.format(option="sink.parallesim"))
        assert "sink.parallesim" in error.value.violations[0]
        assert world.stored("dwd_orders").definition.status is RefreshStatus.SUSPENDED
        outcome = world.run(resume.format(option="spark.sql.shuffle.partitions"))
        assert (outcome.action, outcome.status) == (Action.RESUMED, "ACTIVATED")
        assert (NEXT, 3, 300, 9, "pen", None, None, None) in world.tables.rows("dwd_orders")

    @journey(
        "User Story, Manual Refresh",
        "`REFRESH PARTITION(ds='20231023')` of the continuous table",
        "computed at the positions that the other rows reflect, so that it cannot make the table "
        "inconsistent with its refresh",
        spark=True,
    )
    def test_refreshes_a_historical_partition(self, world):
        wide(world)
        world.tables.append("orders", [(DAY, 3, 300, 9, 1)])
        statement = "ALTER MATERIALIZED TABLE dwd_orders REFRESH PARTITION(ds='20231023')"
        refresh = world.run(statement).refresh
        assert (refresh.rows, refresh.partitions) == (1, (f"ds='{DAY}'",))
        assert len(world.tables.rows("dwd_orders")) == 2
        assert world.refresh("dwd_orders").rows == 3

    @journey(
        "User Story, Manual Refresh",
        "correct a row with `UPDATE` (GDPR): allowed, and named until a refresh computes the row "
        "again",
        memory=False,
        spark=True,
    )
    def test_updates_a_row(self, world, session):
        wide(world)
        session.sql("UPDATE dwd_orders SET order_number = 10 WHERE id = 1")
        assert world.tables.rows("dwd_orders")[0][2] == 10
        assert "UPDATE" in world.described("dwd_orders")["Foreign commit"]
        assert world.refresh("dwd_orders").status is RefreshResult.UP_TO_DATE
        world.tables.append("orders", [(NEXT, 3, 300, 9, 1)])
        refresh = world.refresh("dwd_orders")
        assert refresh.rows == 3
        assert any("UPDATE" in warning for warning in refresh.warnings)
        assert world.tables.rows("dwd_orders")[0][2] == 100

    @journey(
        "User Story, Manual Refresh and OLAP Query",
        "`UPDATE` and `SELECT` go to Spark as they are",
    )
    def test_plain_sql_is_left_unchanged(self):
        update = "UPDATE dwd_orders SET order_number = 10 WHERE id = 73635185;"
        assert parse_statement(update) is None
        query = "SELECT * FROM dwd_orders WHERE ds = '20231023' LIMIT 10;"
        assert parse_statement(query) is None

    @journey(
        "User Story, Modify Data Freshness",
        "`SET FRESHNESS = INTERVAL '1' DAY` turns continuous refreshes into scheduled full ones",
        "the schedule begins with the refresh manager; until then statements and `dbt run` refresh",
    )
    def test_modifies_the_freshness(self, world):
        wide(world)
        statement = "ALTER MATERIALIZED TABLE dwd_orders SET FRESHNESS = INTERVAL '1' DAY"
        assert world.run(statement).refresh_mode == "FULL"
        assert world.described("dwd_orders")["Freshness"] == "INTERVAL '1' DAY"
        world.tables.append("orders", [(NEXT, 3, 300, 9, 1)])
        assert world.refresh("dwd_orders").rows == 3

    @journey(
        "User Story, Cascading Dynamic Table",
        "create `dws_deals` over `dwd_orders`; the example lacks a comma: an error that suggests "
        "it, and corrected",
        "a NULL in a declared key fails the refresh and names the rows, so the orders that are not "
        "paid yet must be left out of this table",
        spark=True,
    )
    def test_cascades(self, world):
        wide(world)
        with raises(conditions.MISSING_COMMA):
            world.run(DWS_DEALS.format(comma=""))
        outcome = world.run(DWS_DEALS.format(comma=","), DEALS)
        assert (outcome.action, outcome.refresh_mode) == (Action.CREATED, "FULL")
        assert world.tables.rows("dws_deals") == [(DAY, 1, 1, 10), (NEXT, 2, 1, 20)]
        world.tables.append("orders", [(NEXT, 3, 300, 9, 1)])
        assert world.refresh("dws_deals").status is RefreshResult.UP_TO_DATE
        world.refresh("dwd_orders")
        with pytest.raises(ConstraintViolatedError) as error:
            world.refresh("dws_deals")
        assert any("order_id" in violation for violation in error.value.violations)
        assert world.tables.rows("dws_deals") == [(DAY, 1, 1, 10), (NEXT, 2, 1, 20)]

    @journey(
        "SQL Statements, Create, Limitations; Future Improvements, Temporary View Limitation",
        "a query over a temporary view is refused by name; CTE and persistent view are the remedy",
        memory=False,
        spark=True,
    )
    def test_refuses_temporary_views(self, world, session):
        shop(world)
        session.sql("CREATE TEMPORARY VIEW c_source AS SELECT id, user_id FROM orders")
        with pytest.raises(TemporaryObjectError) as error:
            world.run("CREATE MATERIALIZED TABLE t AS SELECT * FROM c_source")
        assert "c_source" in error.value.parameters["objects"]
        assert error.value.parameters["table"] == "t"
        session.sql("CREATE VIEW p_source AS SELECT id, user_id FROM orders")
        assert world.run("CREATE MATERIALIZED TABLE t AS SELECT * FROM p_source").refresh.rows == 2

    @journey(
        "SQL Statements, Create, Parameters",
        "the base tables are tables, views and materialized tables",
    )
    def test_reads_views_and_materialized_tables(self, world):
        plain(world)
        view = "SELECT id, user_id FROM t"
        world.learn(view, PLAIN_DDL)
        world.source_view("v", view, PLAIN_DDL)
        world.run("CREATE MATERIALIZED TABLE u AS SELECT user_id FROM v", "user_id INT")
        world.tables.append("orders", [(NEXT, 3, 300, 9, 1)])
        assert world.refresh("u").status is RefreshResult.UP_TO_DATE
        world.refresh("t")
        assert world.refresh("u").status is RefreshResult.REFRESHED
        assert world.tables.rows("u") == [(7,), (8,), (9,)]

    @journey(
        "Partitioned Table Full Refresh",
        "`dt_sink` (the example lacks a comma: an error that suggests it, and corrected): the run "
        "of 2024-03-02 00:00 writes ds=2024-03-01 alone",
        "only scheduled runs write one partition; CREATE and plain REFRESH compute the whole table",
        spark=True,
    )
    def test_a_scheduled_run_writes_yesterday(self, world):
        ddl = "ds STRING; id INT; order_number INT; user_id INT"
        rows = [(f"2024-03-0{day}", day, day, day) for day in (1, 2)]
        world.source("source", ddl, rows)
        with raises(conditions.PARTITION_COLUMN) as error:
            world.run(DT_SINK.format(unit="DAY", comma=""), "id STRING; order_number INT")
        assert "A comma may be missing in the query: ds, id." in str(error.value)
        world.run(DT_SINK.format(unit="DAY", comma=","), ddl)
        world.tables.append("source", [("2024-03-01", 3, 3, 3), ("2024-03-02", 4, 4, 4)])
        refresh = world.scheduled("dt_sink", "2024-03-02T00:00:00")
        assert (refresh.partitions, refresh.rows) == (("ds='2024-03-01'",), 2)
        assert [row[1] for row in world.tables.rows("dt_sink")] == [1, 3, 2]

    @journey(
        "Partitioned Table Full Refresh",
        "hourly runs of a daily partition write ds=2024-03-02 through the day",
        "the run at midnight closes the day before, which the FLIP leaves open",
    )
    def test_an_hourly_run_writes_today(self, world):
        ddl = "ds STRING; id INT; order_number INT; user_id INT"
        world.source("source", ddl, [("2024-03-02", 1, 1, 1)])
        world.run(DT_SINK.format(unit="HOUR", comma=","), ddl)
        assert world.scheduled("dt_sink", "2024-03-02T01:00:00").partitions == (TODAY,)
        assert world.scheduled("dt_sink", "2024-03-03T00:00:00").partitions == (TODAY,)

    @journey("Future Improvements, Temporary View Limitation", "a CTE in place of a temporary view")
    def test_takes_a_cte(self, world):
        source = "user_id INT; shop_id INT; ds BIGINT; payment_amount_cents INT"
        world.source("c_source", source, [(1, 1, 86400, 5), (1, 1, 90000, 6)])
        ddl = "user_id INT; shop_id INT; ds STRING; payed_buy_fee_sum BIGINT; pv BIGINT"
        outcome = world.run(SINK, ddl)
        assert outcome.refresh_mode == "CONTINUOUS"
        assert world.tables.rows("sink") == [(1, 1, "1970-01-02", 11, 2)]
        assert world.stored("sink").definition.declared.query.startswith("-- use cte\nWITH")

    @journey(
        "Future Improvements, Modify Select Statement Limitation",
        "`ADD` a query with two more figures; the example lacks a comma: an error, and corrected",
        "the queries are stored as one, joined on the key",
        spark=True,
    )
    def test_adds_a_query(self, world):
        wide(world)
        world.run(DWS_DEALS.format(comma=","), DEALS)
        with raises(conditions.MISSING_COMMA):
            world.run(ADD_DEALS.format(comma=""))
        added = "dedup_order_cnt BIGINT; tatol_goods_cnt BIGINT"
        world.learn(MORE_DEALS.format(comma=","), f"ds STRING; order_id INT; {added}")
        world.learn(MERGED_DEALS, f"{DEALS}; {added}", _merged_deals)
        outcome = world.run(ADD_DEALS.format(comma=","))
        assert (outcome.action, outcome.refresh.rows) == (Action.ALTERED, 2)
        assert world.tables.rows("dws_deals") == [(DAY, 1, 1, 10, 1, 1), (NEXT, 2, 1, 20, 1, 2)]
        ((text,),) = world.rows("SHOW CREATE OR ALTER MATERIALIZED TABLE dws_deals")
        assert world.run(text).action is Action.UNCHANGED

    @journey(
        "Future Improvements, Modify Select Statement Limitation",
        "`ADD` to a table without a key",
        "refused: nothing says which rows belong together",
    )
    def test_adds_to_a_keyed_table_only(self, world):
        plain(world)
        query = "SELECT id, product_id FROM orders"
        world.learn(query, "id INT; product_id INT")
        with raises(conditions.ADD_WITHOUT_KEY):
            world.run(f"ALTER MATERIALIZED TABLE t ADD {query}")
