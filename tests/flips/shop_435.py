"""The shop of FLIP-435: its tables, its statements, and how they get there."""

from __future__ import annotations

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


def _merged_deals(rows):
    return [
        (ds, order, 1, pay_amt, 1, goods)
        for ds, _, _, _, _, order, pay_amt, goods in rows["dwd_orders"]
    ]
