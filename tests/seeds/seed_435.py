"""Seed 435: materialized tables, their statements, and the story of a shop's order tables."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.changes.added_query import AddWithoutKeyError
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode, RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    ConstraintViolatedError,
    TableNotFoundError,
    UnknownPartitionKeyError,
)
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from dbt.adapters.spark_mt.resolution.options import NotAPartitionColumnError, NotATextColumnError
from dbt.adapters.spark_mt.resolution.query_errors import TemporaryObjectError
from dbt.adapters.spark_mt.resolution.rules import PartitionColumnError
from dbt.adapters.spark_mt.resolution.run_options import InvalidRunOptionsError
from dbt.adapters.spark_mt.statements.errors import (
    FreshnessSyntaxError,
    FreshnessUnitSyntaxError,
    MissingCommaError,
)
from dbt.adapters.spark_mt.statements.routing import parse_statement
from tests.seeds.told import journey

ORDERS = "ds STRING; id INT; order_number INT; user_id INT; product_id INT"
WIDE = (
    "ds STRING; id INT; order_number INT; user_id INT; product STRING; order_id INT; "
    "pay_amt INT; goods_cnt INT"
)
DEALS = "ds STRING; order_id INT; order_cnt BIGINT; order_total_amt BIGINT"
DAY, NEXT = "20231023", "20231024"
TODAY = "ds='2024-03-02'"

DWD_ORDERS = """CREATE MATERIALIZED TABLE dwd_orders
(
   PRIMARY KEY(ds, id) NOT ENFORCED
)
PARTITIONED BY (ds)
FRESHNESS = INTERVAL '3' MINUTE
AS SELECT
  o.ds{comma}
  o.id,
  o.order_number,
  o.user_id,
  prod.name AS product,
  pay.order_id,
  pay.pay_amt,
  pay.goods_cnt
FROM
  orders as o
  LEFT JOIN products FOR SYSTEM_TIME AS OF proctime() AS prod
      ON o.product_id = prod.id
  LEFT JOIN order_pay AS pay
      ON o.id = pay.order_id and o.ds = pay.ds
"""
DWS_DEALS = """CREATE MATERIALIZED TABLE dws_deals(
    PRIMARY KEY (order_id, ds) NOT ENFORCED
)
PARTITIONED BY (ds)
FRESHNESS = INTERVAL '1' HOUR
AS SELECT
  o.ds{comma}
  o.order_id,
  count(*) order_cnt,
  sum(pay_amt) order_total_amt
FROM
  dwd_orders as o
GROUP BY o.order_id, o.ds;
"""
MORE_DEALS = """SELECT
  o.ds{comma}
  o.order_id,
  count(distinct order_id) dedup_order_cnt, -- deduplicated order cnt
  sum(goods_cnt) tatol_goods_cnt -- total goods cnt
FROM
  dwd_orders as o
GROUP BY o.order_id, o.ds"""
ADD_DEALS = f"ALTER MATERIALIZED TABLE dws_deals\nADD\n{MORE_DEALS};"
MERGED_DEALS = (
    "SELECT coalesce(existing.`ds`, added.`ds`) AS `ds`, "
    "coalesce(existing.`order_id`, added.`order_id`) AS `order_id`, existing.`order_cnt`, "
    "existing.`order_total_amt`, added.`dedup_order_cnt`, added.`tatol_goods_cnt`\nFROM (\n"
    + DWS_DEALS.format(comma=",").partition("AS ")[2].rstrip().rstrip(";")
    + "\n) AS existing(`ds`, `order_id`, `order_cnt`, `order_total_amt`)\nFULL OUTER JOIN (\n"
    + MORE_DEALS.format(comma=",")
    + "\n) AS added\nON existing.`ds` <=> added.`ds` AND existing.`order_id` <=> added.`order_id`"
)
DT_SINK = """CREATE MATERIALIZED TABLE dt_sink
PARTITIONED BY (ds)
WITH(
  --hint time partition format
  'partition.fields.ds.date-formatter' = 'yyyy-MM-dd'
)
FRESHNESS = INTERVAL '1' {unit}
AS SELECT
    ds{comma}
    id,
    order_number,
    user_id
FROM source
"""
SINK = """CREATE MATERIALIZED TABLE sink
PARTITIONED BY (ds)
FRESHNESS = INTERVAL '3' MINUTE
AS
-- use cte
WITH cte_source AS (
  SELECT
  user_id,
  shop_id,
  FROM_UNIXTIME(ds, 'yyyy-MM-dd') AS ds,
  SUM (payment_amount_cents) AS payed_buy_fee_sum,
  SUM (1) AS pv
FROM c_source
GROUP BY user_id, shop_id, FROM_UNIXTIME(ds, 'yyyy-MM-dd')
)
SELECT * FROM cte_source
"""
PLAIN = "CREATE MATERIALIZED TABLE t {clauses} AS SELECT id, user_id FROM orders"
PLAIN_DDL = "id INT; user_id INT"


def shop(world):
    """The three tables that are ingested."""
    world.source("orders", ORDERS, [(DAY, 1, 100, 7, 1), (NEXT, 2, 200, 8, 2)])
    world.source("products", "id INT; name STRING", [(1, "pen"), (2, "ink")])
    pay = "order_id INT; ds STRING; pay_amt INT; goods_cnt INT"
    world.source("order_pay", pay, [(1, DAY, 10, 1), (2, NEXT, 20, 2)])


def wide(world):
    """The shop with the wide table."""
    shop(world)
    return world.run(DWD_ORDERS.format(comma=","), WIDE)


def plain(world, clauses=""):
    """A small table over the shop's orders."""
    shop(world)
    return world.run(PLAIN.format(clauses=clauses), PLAIN_DDL)


def mode(world, name="t"):
    """The refresh mode of a table."""
    return world.resolved(name).refresh_mode


class Seed435:
    """Materialized tables."""

    @journey(
        "User Story, Create Data Pipeline",
        "create the wide table `dwd_orders`; the example lacks a comma: an error that suggests it, "
        "and corrected",
        spark=True,
    )
    def test_creates_the_wide_table(self, world):
        shop(world)
        with pytest.raises(MissingCommaError) as error:
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
        with pytest.raises(InvalidRunOptionsError) as error:
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
        "inconsistent beside its refresh",
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
    def test_what_is_plain_sql_is_left_alone(self):
        update = "UPDATE dwd_orders SET order_number = 10 WHERE id = 73635185;"
        assert parse_statement(update) is None
        query = "SELECT * FROM dwd_orders WHERE ds = '20231023' LIMIT 10;"
        assert parse_statement(query) is None

    @journey(
        "User Story, Modify Data Freshness",
        "`SET FRESHNESS = INTERVAL '1' DAY` turns continuous refreshes into scheduled full ones",
        "the schedule begins with the refresh manager; until then statements and `dbt run` refresh",
        spark=True,
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
        with pytest.raises(MissingCommaError):
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
        "SQL Statements, Create",
        "every clause in the order of the grammar, a named key, a comment, an option",
    )
    def test_takes_every_clause(self, world):
        clauses = (
            "(CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED) COMMENT 'c' PARTITIONED BY (user_id) "
            "WITH ('a' = 'b') FRESHNESS = INTERVAL '10' SECOND REFRESH_MODE = FULL"
        )
        assert plain(world, clauses).refresh_mode == "FULL"
        asked = world.stored("t").definition.asked
        assert (asked.primary_key.name, asked.comment, asked.options) == ("pk", "c", (("a", "b"),))
        ((text,),) = world.rows("SHOW CREATE MATERIALIZED TABLE t")
        assert parse_statement(text).asked == asked

    @journey(
        "SQL Statements, Create, Limitations",
        "a list of columns, and changing the query later",
        "both are possible here",
    )
    def test_takes_columns_and_another_query(self, world):
        plain(world, "(id, buyer)")
        assert [c.name for c in world.resolved("t").columns] == ["id", "buyer"]
        query = "SELECT id, user_id, product_id FROM orders"
        world.learn(query, "id INT; user_id INT; product_id INT")
        assert world.run(f"CREATE OR ALTER MATERIALIZED TABLE t (id, buyer, product) AS {query}")
        assert world.tables.rows("t") == [(1, 7, 1), (2, 8, 2)]

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
        "the columns of the key must not be NULL: the refresh fails, the table keeps its rows",
    )
    def test_refuses_null_in_the_key(self, world):
        plain(world, "(PRIMARY KEY (user_id) NOT ENFORCED)")
        world.tables.append("orders", [(DAY, 3, 300, None, 1)])
        with pytest.raises(ConstraintViolatedError):
            world.refresh("t")
        assert world.tables.rows("t") == [(1, 7), (2, 8)]

    @pytest.mark.parametrize(
        ("clause", "expected"),
        [
            ("FRESHNESS = INTERVAL '30' SECOND", RefreshMode.CONTINUOUS),
            ("FRESHNESS = INTERVAL '29' MINUTE", RefreshMode.CONTINUOUS),
            ("FRESHNESS = INTERVAL '30' MINUTE", RefreshMode.FULL),
            ("FRESHNESS = INTERVAL '1' HOUR", RefreshMode.FULL),
            ("FRESHNESS = INTERVAL '1' DAY", RefreshMode.FULL),
        ],
    )
    @journey(
        "FRESHNESS Clause; Configuration",
        "freshness determines the mode: below `refresh-mode.freshness-threshold` (30 minutes) "
        "continuous, otherwise full",
    )
    def test_freshness_determines_the_mode(self, world, clause, expected):
        plain(world, clause)
        assert mode(world) is expected

    @pytest.mark.parametrize("value", ["'0' MINUTE", "'1.5' HOUR", "'-3' DAY"])
    @journey("FRESHNESS Clause", "a freshness that is no positive whole number: Flink's message")
    def test_freshness_is_a_positive_number(self, world, value):
        shop(world)
        with pytest.raises(FreshnessSyntaxError) as error:
            world.run(PLAIN.format(clauses=f"FRESHNESS = INTERVAL {value}"))
        number = value.split("'")[1]
        told = "The freshness interval currently only supports positive integer type values."
        assert f"{told} But was: {number}" in str(error.value)

    @journey(
        "FRESHNESS Clause",
        "a unit beyond days: Flink's message",
        "WEEK is a unit too",
    )
    def test_freshness_has_few_units(self, world):
        with pytest.raises(FreshnessUnitSyntaxError) as error:
            world.run(PLAIN.format(clauses="FRESHNESS = INTERVAL '1' MONTH"))
        told = "Materialized table freshness only supports SECOND, MINUTE, HOUR, DAY"
        assert told in str(error.value)
        plain(world, "FRESHNESS = INTERVAL '1' WEEK")
        assert mode(world) is RefreshMode.FULL

    @journey(
        "REFRESH_MODE Clause",
        "an explicit mode wins over the freshness",
    )
    def test_an_explicit_mode_wins(self, world):
        plain(world, "FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = CONTINUOUS")
        assert mode(world) is RefreshMode.CONTINUOUS

    @journey(
        "ALTER, Suspend",
        "only this table: downstream tables stay active; a second SUSPEND is an error",
    )
    def test_suspends_one_table(self, world):
        wide(world)
        world.run(DWS_DEALS.format(comma=","), DEALS)
        world.run("ALTER MATERIALIZED TABLE dwd_orders SUSPEND")
        assert world.stored("dws_deals").definition.status is RefreshStatus.ACTIVATED
        with pytest.raises(AlreadySuspendedError):
            world.run("ALTER MATERIALIZED TABLE dwd_orders SUSPEND")

    @journey(
        "ALTER, Resume",
        "only this table, and its options are not persisted; a second RESUME is an error",
    )
    def test_resumes_one_table(self, world):
        wide(world)
        world.run(DWS_DEALS.format(comma=","), DEALS)
        for name in ("dwd_orders", "dws_deals"):
            world.run(f"ALTER MATERIALIZED TABLE {name} SUSPEND")
        resume = "ALTER MATERIALIZED TABLE dwd_orders RESUME"
        world.run(f"{resume} WITH('continuous.trigger-interval' = '1 min')")
        assert world.stored("dws_deals").definition.status is RefreshStatus.SUSPENDED
        assert world.stored("dwd_orders").definition.asked.options == ()
        with pytest.raises(AlreadyResumedError):
            world.run(resume)

    @journey("ALTER, Refresh", "only this table: what reads it is not refreshed")
    def test_refreshes_one_table(self, world):
        wide(world)
        world.run(DWS_DEALS.format(comma=","), DEALS)
        world.tables.append("order_pay", [(1, DAY, 5, 1)])
        world.tables.delete("order_pay", "pay_amt", 10)
        world.refresh("dwd_orders")
        assert world.tables.rows("dws_deals")[0] == (DAY, 1, 1, 10)
        world.refresh("dws_deals")
        assert world.tables.rows("dws_deals")[0] == (DAY, 1, 1, 5)

    @journey(
        "ALTER, Refresh",
        "a partition of a column that does not partition the table: Flink's message",
    )
    def test_refreshes_known_partitions_only(self, world):
        wide(world)
        with pytest.raises(UnknownPartitionKeyError) as error:
            world.run("ALTER MATERIALIZED TABLE dwd_orders REFRESH PARTITION (user_id = 7)")
        told = "The partition spec contains unknown partition keys: user_id."
        assert told in str(error.value)

    @journey(
        "ALTER, Set Freshness",
        "the mode may change in both directions, and never where it was explicit",
    )
    def test_set_freshness_derives_the_mode(self, world):
        plain(world)
        statement = "ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL "
        assert world.run(statement + "'1' HOUR").refresh_mode == "FULL"
        assert world.run(statement + "'2' DAY").refresh_mode == "FULL"
        assert world.run(statement + "'5' SECOND").refresh_mode == "CONTINUOUS"
        world.run("ALTER MATERIALIZED TABLE t SET REFRESH_MODE = CONTINUOUS")
        assert world.run(statement + "'1' DAY").refresh_mode == "CONTINUOUS"

    @journey(
        "ALTER, Set REFRESH_MODE",
        "from continuous to full and back",
        "the section on CREATE says that the mode cannot be altered, this one that it can: it can, "
        "and AUTOMATIC leaves it to the freshness again",
    )
    def test_set_refresh_mode(self, world):
        plain(world)
        statement = "ALTER MATERIALIZED TABLE t SET REFRESH_MODE = "
        assert world.run(statement + "FULL").refresh_mode == "FULL"
        assert world.run(statement + "CONTINUOUS").refresh_mode == "CONTINUOUS"
        world.run(statement + "AUTOMATIC")
        asked = world.stored("t").definition.asked
        assert asked.logical_refresh_mode is LogicalRefreshMode.AUTOMATIC

    @journey("ALTER, Set options and Reset", "`SET ('key' = 'val')`, `RESET ('key')`")
    def test_sets_and_resets_options(self, world):
        plain(world)
        world.run("ALTER MATERIALIZED TABLE t SET ('key' = 'val')")
        assert world.tables.metadata("t").options == {"key": "val"}
        world.run("ALTER MATERIALIZED TABLE t RESET ('key')")
        assert world.tables.metadata("t").options == {}

    @journey("Drop", "refresh, then metadata and data; `IF EXISTS`")
    def test_drops(self, world):
        plain(world)
        assert world.run("DROP MATERIALIZED TABLE t").action is Action.DROPPED
        assert not world.exists("t")
        world.run("DROP MATERIALIZED TABLE IF EXISTS t")
        with pytest.raises(TableNotFoundError):
            world.run("DROP MATERIALIZED TABLE t")

    @pytest.mark.parametrize(
        ("option", "partitioned", "error"),
        [
            ("partition.fields.user_id.date-formatter", "ds", NotAPartitionColumnError),
            ("partition.fields.user_id.date-formatter", "user_id", NotATextColumnError),
        ],
    )
    @journey(
        "Configuration, partition.fields.#.date-formatter",
        "a column that does not partition the table, or holds no text: Flink's messages",
    )
    def test_a_date_formatter_needs_a_text_partition(self, world, option, partitioned, error):
        shop(world)
        query = "SELECT ds, id, user_id FROM orders"
        world.learn(query, "ds STRING; id INT; user_id INT")
        with pytest.raises(error):
            world.run(
                f"CREATE MATERIALIZED TABLE t PARTITIONED BY ({partitioned}) "
                f"WITH ('{option}' = 'yyyy') AS {query}"
            )
        assert not world.exists("t")

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
        with pytest.raises(PartitionColumnError) as error:
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
        "the run at midnight closes the day before, which the seed leaves open",
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
        assert world.stored("sink").definition.asked.query.startswith("-- use cte\nWITH")

    @journey(
        "Future Improvements, Modify Select Statement Limitation",
        "`ADD` a query with two more figures; the example lacks a comma: an error, and corrected",
        "the queries are stored as one, joined on the key",
        spark=True,
    )
    def test_adds_a_query(self, world):
        wide(world)
        world.run(DWS_DEALS.format(comma=","), DEALS)
        with pytest.raises(MissingCommaError):
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
        with pytest.raises(AddWithoutKeyError):
            world.run(f"ALTER MATERIALIZED TABLE t ADD {query}")


def _merged_deals(rows):
    return [
        (ds, order, 1, pay_amt, 1, goods)
        for ds, _, _, _, _, order, pay_amt, goods in rows["dwd_orders"]
    ]
