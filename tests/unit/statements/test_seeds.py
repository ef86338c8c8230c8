"""The examples of the design documents: they parse, or the error says what the slip is."""

import pytest

from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.statements.errors import (
    MissingCommaError,
    MissingEqualsError,
    StatementSyntaxError,
    TableHintError,
    UnsupportedAlterError,
)
from dbt.adapters.spark_mt.statements.nodes import CreateTable, Resume
from dbt.adapters.spark_mt.statements.routing import parse_statement

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
  o.user_id
FROM
  orders as o
  LEFT JOIN products FOR SYSTEM_TIME AS OF proctime() AS prod
      ON o.product_id = prod.id
  LEFT JOIN order_pay AS pay
      ON o.id = pay.order_id and o.ds = pay.ds
"""
DT_SINK = """CREATE MATERIALIZED TABLE dt_sink
PARTITIONED BY (ds)
WITH(
  --hint time partition format
  'partition.fields.ds.date-formatter' = 'yyyy-MM-dd'
)
FRESHNESS = INTERVAL '1' DAY
AS SELECT ds, id FROM source
"""
ALTERS = """ALTER MATERIALIZED TABLE my_materialized_table
AS
SELECT col1, col2, col3
FROM paimon_source_table{hint};
"""


def created(sql: str) -> CreateTable:
    statement = parse_statement(sql)
    assert isinstance(statement, CreateTable)
    return statement


def test_seed_435_wide_table():
    statement = created(DWD_ORDERS.format(comma=","))
    assert statement.asked.partitioned_by == ("ds",)
    assert statement.asked.freshness == Freshness(3, TimeUnit.MINUTE)
    assert "FOR SYSTEM_TIME AS OF proctime()" in statement.asked.query


def test_seed_435_lacks_a_comma():
    with pytest.raises(MissingCommaError) as caught:
        parse_statement(DWD_ORDERS.format(comma=""))
    assert caught.value.parameters["line"] == "9"
    assert caught.value.parameters["suggestion"] == "o.ds, o.id"


def test_seed_435_added_query_lacks_a_comma():
    with pytest.raises(MissingCommaError):
        parse_statement(
            "ALTER MATERIALIZED TABLE dws_deals\nADD\nSELECT\n  o.ds\n  o.order_id,\n"
            "  count(distinct order_id) n, -- deduplicated order cnt\n  sum(x) y -- total\n"
            "FROM dwd_orders as o GROUP BY o.order_id, o.ds;"
        )


def test_seed_435_comment_among_the_options():
    assert created(DT_SINK).asked.options == (("partition.fields.ds.date-formatter", "yyyy-MM-dd"),)


def test_seed_435_comment_before_with():
    statement = parse_statement(
        "ALTER MATERIALIZED TABLE dwd_orders RESUME\n-- Set table option via WITH clause\n"
        "WITH(\n  'sink.parallesim' = '10'\n);"
    )
    assert isinstance(statement, Resume)
    assert statement.options == (("sink.parallesim", "10"),)


def test_seed_435_query_that_begins_with_a_comment():
    statement = created(
        "CREATE MATERIALIZED TABLE sink\nPARTITIONED BY (ds)\nFRESHNESS = INTERVAL '3' MINUTE\nAS\n"
        "-- use cte\nWITH cte_source AS (SELECT 1 AS ds)\nSELECT * FROM cte_source\n"
    )
    assert statement.asked.query.startswith("-- use cte\nWITH")


def test_seed_492_freshness_lacks_its_equals_sign():
    with pytest.raises(MissingEqualsError) as caught:
        parse_statement(
            "CREATE MATERIALIZED TABLE my_materialized_table \nFRESHNESS INTERVAL '1' MINUTE\nAS "
            "\nSELECT col1, col2 \nFROM paimon_source_table;"
        )
    assert (caught.value.parameters["line"], caught.value.parameters["column"]) == ("2", "11")
    assert caught.value.parameters["suggestion"] == "FRESHNESS = INTERVAL '1' MINUTE"


@pytest.mark.parametrize(
    ("hint", "twin"),
    [
        (" /*+ OPTIONS('scan.mode' = 'latest') */", "START_MODE = FROM_NOW"),
        (" /*+ OPTIONS('scan.mode'='latest') */", "START_MODE = FROM_NOW"),
        (
            " /*+ OPTIONS('scan.timestamp-millis' = '1678883047356') */",
            "START_MODE = FROM_TIMESTAMP(TIMESTAMP '…')",
        ),
    ],
)
def test_seed_492_hints(hint, twin):
    with pytest.raises(TableHintError) as caught:
        parse_statement(ALTERS.format(hint=hint))
    assert caught.value.parameters["twin"] == twin
    assert caught.value.parameters["line"] == "4"
    assert parse_statement(ALTERS.format(hint="")) is not None


def test_seed_492_swap():
    with pytest.raises(UnsupportedAlterError) as caught:
        parse_statement("ALTER MATERIALIZED TABLE c.d.t\nSWAP WITH c.d.u")
    assert caught.value.parameters["form"] == "SWAP WITH"


def test_seed_546_file_comment_hides_the_statement():
    line = (
        "-- file: materialized_tables/high_value_orders.sql CREATE OR ALTER MATERIALIZED TABLE "
        "high_value_orders FRESHNESS = INTERVAL '5' MINUTE AS SELECT 1"
    )
    assert parse_statement(line) is None
    assert parse_statement(line.replace(".sql ", ".sql\n")) is not None


def test_seed_546_comments_between_columns_are_the_users():
    query = (
        "SELECT\nuser_id,\nprice, -- Swapped position with product_id\nproduct_id -- Swapped\n"
        "FROM orders\nWHERE price > 500; -- Changed threshold from 1000 to 500"
    )
    statement = created(
        f"-- Change\nCREATE OR ALTER MATERIALIZED TABLE h\nREFRESH_MODE = FULL\nAS\n{query}"
    )
    assert statement.asked.query == query.partition(";")[0]


def test_seed_551_mode_without_freshness():
    statement = created(
        "CREATE MATERIALIZED TABLE daily_summary\nREFRESH_MODE = FULL\nAS\nSELECT id FROM orders;"
    )
    assert statement.asked.refresh_mode is LogicalRefreshMode.FULL
    assert statement.asked.freshness is None


def test_seed_557_show_create_can_be_run_again():
    statement = created(
        "CREATE OR ALTER MATERIALIZED TABLE filtered_high_value_orders\n"
        "START_MODE = FROM_NOW(INTERVAL '7' DAY) /* Evaluated to FROM_TIMESTAMP(TIMESTAMP "
        "'2025-10-28 10:00:00') at execution */\nAS SELECT 1"
    )
    assert statement.asked.start_mode is not None
    assert statement.asked.start_mode.sql == "FROM_NOW(INTERVAL '7' DAY)"


def test_grammar_lines_are_no_statements():
    with pytest.raises(StatementSyntaxError):
        parse_statement("CREATE MATERIALIZED TABLE [catalog_name.][db_name.]table_name AS <query>")
