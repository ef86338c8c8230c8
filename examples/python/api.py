"""One example of each method of `MaterializedTables`; docs/python.md shows their bodies.

`tests/functional/engine/test_python_examples.py` runs every one on Spark after `prepare`. An
example is called like its method. It leaves the tables of `prepare` as they are.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.api import (
    AdoptionTerms,
    MaterializedTableError,
    MaterializedTables,
    RefreshResult,
    TableName,
    Verdict,
    Wait,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def prepare(spark: SparkSession) -> MaterializedTables:
    """Make the tables that the examples use."""
    spark.sql("CREATE SCHEMA sales")
    spark.sql("CREATE TABLE sales.orders (id INT, day STRING, amount INT) USING delta")
    spark.sql("INSERT INTO sales.orders VALUES (1, '2026-03-01', 10), (2, '2026-03-02', 20)")
    tables = MaterializedTables(spark)
    tables.execute("""
        CREATE MATERIALIZED TABLE sales.daily
        PARTITIONED BY (day) WITH ('partition.fields.day.date-formatter' = 'yyyy-MM-dd')
        FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL
        AS SELECT day, sum(amount) AS amount FROM sales.orders GROUP BY day""")
    tables.execute("""
        CREATE MATERIALIZED TABLE sales.large FRESHNESS = INTERVAL '10' SECOND
        AS SELECT id, amount FROM sales.orders WHERE amount >= 15""")
    return tables


def sql(tables: MaterializedTables) -> None:
    tables.sql("SHOW MATERIALIZED TABLES IN sales").show()
    rows = tables.sql("SELECT sum(amount) AS total FROM sales.daily").collect()
    assert rows[0]["total"] == 30


def enable_sql(tables: MaterializedTables) -> None:
    spark = tables.enable_sql()
    spark.sql("SHOW MATERIALIZED TABLES IN sales").show()
    assert spark.sql("ALTER MATERIALIZED TABLE sales.large REFRESH").first().rows is None


def execute(tables: MaterializedTables) -> None:
    result = tables.execute("SHOW MATERIALIZED TABLES IN sales")
    assert result is not None  # None for other SQL, which is not carried out
    names = [column.name for column in result.columns]
    for row in result.rows:
        print(dict(zip(names, row, strict=True)))

    try:
        tables.execute("ALTER MATERIALIZED TABLE sales.dayly REFRESH")
    except MaterializedTableError as error:
        assert error.condition == "MATERIALIZED_TABLE_NOT_FOUND"
        assert error.parameters["table"].endswith("sales.dayly")


def materialize(tables: MaterializedTables) -> None:
    outcome = tables.materialize("""
        CREATE OR ALTER MATERIALIZED TABLE sales.large FRESHNESS = INTERVAL '10' SECOND
        AS SELECT id, amount FROM sales.orders WHERE amount >= 15""")
    print(outcome.action, outcome.changes)
    if outcome.refresh is not None:  # None if a manager refreshes the table
        print(outcome.refresh.status, outcome.refresh.rows)


def plan(tables: MaterializedTables) -> None:
    summary = tables.plan("""
        CREATE OR ALTER MATERIALIZED TABLE sales.large FRESHNESS = INTERVAL '10' SECOND
        AS SELECT id, amount FROM sales.orders WHERE amount >= 1000""")
    if summary.verdict is Verdict.REBUILT:
        print(summary.table, "would be computed again:", *summary.changes, sep="\n  ")
    refused = tables.plan("CREATE OR ALTER MATERIALIZED TABLE sales.large AS SELECT nothing")
    assert refused.verdict is Verdict.REFUSED
    assert refused.condition == "MATERIALIZED_TABLE_QUERY_ERROR"


def explain(tables: MaterializedTables) -> None:
    found = tables.explain("ALTER MATERIALIZED TABLE sales.daily SET FRESHNESS = INTERVAL '2' DAY")
    for step, change, effect, *_ in found.rows:
        print(step, change, effect, sep=": ")


def validate(tables: MaterializedTables) -> None:
    outcome = tables.validate(
        "CREATE MATERIALIZED TABLE sales.every_order AS SELECT * FROM sales.orders"
    )
    assert outcome.message == "validated"
    assert "every_order" not in tables.names("sales")


def keep_configuration(tables: MaterializedTables) -> None:
    kept = tables.keep_configuration("""
        CREATE OR ALTER MATERIALIZED TABLE sales.large FRESHNESS = INTERVAL '1' HOUR
        AS SELECT id, amount FROM sales.orders WHERE amount >= 15""")
    print(kept.left)  # the freshness would change
    assert tables.plan(kept.statement).verdict is Verdict.UNCHANGED


def refresh(tables: MaterializedTables) -> None:
    outcome = tables.refresh("sales.daily", force=True)
    assert outcome.status is RefreshResult.REFRESHED
    print(outcome.strategy, outcome.rows, "rows in", outcome.duration_ms, "ms")

    midnight = datetime(2026, 3, 2, tzinfo=timezone.utc)
    outcome = tables.refresh("sales.daily", scheduled_at=midnight)
    assert outcome.partitions == ("day='2026-03-01'",)


def suspend(tables: MaterializedTables) -> None:
    tables.suspend("sales.large")
    assert tables.health("sales.large") != ()  # a suspended table is not healthy
    tables.resume("sales.large")


def resume(tables: MaterializedTables) -> None:
    tables.suspend("sales.large")
    outcome = tables.resume("sales.large")  # brings the rows up to date first
    assert outcome.refresh is not None
    print(outcome.refresh.status)


def derive_again(tables: MaterializedTables) -> None:
    for derived in tables.derive_again():
        print(derived.table, derived.error or derived.outcome)


def names(tables: MaterializedTables) -> None:
    assert tables.names("sales") >= {"daily", "large"}


def declared(tables: MaterializedTables) -> None:
    for table in tables.declared("sales"):
        print(table.name.sql, dict(table.owner))


def is_materialized(tables: MaterializedTables) -> None:
    assert tables.is_materialized(TableName("daily", "sales"))
    assert not tables.is_materialized(TableName("orders", "sales"))


def figures(tables: MaterializedTables) -> None:
    for figure in tables.figures("sales")["daily"]:
        print(figure.label, figure.value, sep=": ")


def columns(tables: MaterializedTables) -> None:
    found = tables.columns("SELECT day, count(*) AS orders FROM sales.orders GROUP BY day")
    assert [(column.name, column.type) for column in found] == [
        ("day", "STRING"),
        ("orders", "BIGINT"),
    ]


def reads(tables: MaterializedTables) -> None:
    query = "SELECT max(amount) FROM sales.daily"
    assert tables.reads(query, TableName("daily", "sales"))
    assert not tables.reads(query, TableName("orders", "sales"))


def drift(tables: MaterializedTables) -> None:
    tables.sql("COMMENT ON TABLE sales.daily IS 'changed by hand'")
    for found in tables.drift("sales.daily"):
        print(found.kind.value, found)
    tables.sql("COMMENT ON TABLE sales.daily IS NULL")


def health(tables: MaterializedTables) -> None:
    for problem in tables.health("sales.daily"):
        print(problem)


def lag(tables: MaterializedTables) -> None:
    found = tables.lag("sales.daily")
    print(found.table, found.seconds, "of", found.allowed_seconds, "seconds")
    for stage in found.stages:
        print(f"a change waited {stage.seconds} seconds for {stage.table}")


def loaded_at(tables: MaterializedTables) -> None:
    for name in ("sales.orders", "sales.daily"):
        instant = tables.loaded_at(name)
        print(name, "was never loaded" if instant is None else f"has all until {instant}")


def difference(tables: MaterializedTables) -> None:
    found = tables.difference("sales.daily", limit=10)
    assert found.is_equal, found.rows


def adopt(tables: MaterializedTables) -> None:
    tables.sql("CREATE TABLE sales.kept USING delta AS SELECT id, amount FROM sales.orders")
    statement = """
        CREATE OR ALTER MATERIALIZED TABLE sales.kept
        AS SELECT id, amount FROM sales.orders"""
    print(tables.plan(statement, adopt=AdoptionTerms()).changes)
    outcome = tables.adopt(statement)
    print(outcome.action, outcome.changes)
    tables.execute("DROP MATERIALIZED TABLE sales.kept")


def release(tables: MaterializedTables) -> None:
    tables.execute("CREATE MATERIALIZED TABLE sales.copy AS SELECT id FROM sales.orders")
    tables.release("sales.copy")
    assert not tables.is_materialized(TableName("copy", "sales"))
    tables.sql("DROP TABLE sales.copy")  # a plain Delta table, with its rows


def start(tables: MaterializedTables) -> None:
    tables.start("sales.large")  # returns at once; threads of this process follow the sources
    tables.stop_all()


def await_fresh(tables: MaterializedTables) -> None:
    tables.start("sales.large")
    progress = tables.await_fresh("sales.large", timeout=120)
    print(progress.phase.value, progress.batches, "commits,", progress.rows, "rows")
    tables.stop_all()


def progress(tables: MaterializedTables) -> None:
    tables.start("sales.large")
    found = tables.progress("sales.large")
    print(found.phase.value, found.problem)
    tables.stop_all()


def stop(tables: MaterializedTables) -> None:
    tables.start("sales.large")
    tables.stop("sales.large")  # between two commits


def stop_all(tables: MaterializedTables) -> None:
    tables.start("sales.large")
    tables.stop_all()


def keeper(tables: MaterializedTables) -> None:
    if tables.keeper("sales.daily") == "":  # no manager runs here
        tables.refresh("sales.daily")


def wait_for(tables: MaterializedTables) -> None:
    tables.wait_for("sales.daily", Wait.FRESH, at_most=60)


def register(tables: MaterializedTables) -> None:
    tables.execute("CREATE MATERIALIZED TABLE sales.before AS SELECT id FROM sales.orders")
    tables.sql("ALTER TABLE sales.before RENAME TO sales.after")
    tables.forget(TableName("before", "sales"))
    tables.register(TableName("after", "sales"))
    assert {"before", "after"} & tables.names("sales") == {"after"}
    tables.execute("DROP MATERIALIZED TABLE sales.after")


def forget(tables: MaterializedTables) -> None:
    tables.execute("CREATE MATERIALIZED TABLE sales.gone AS SELECT id FROM sales.orders")
    tables.sql("DROP TABLE sales.gone")  # by other means than DROP MATERIALIZED TABLE
    tables.forget(TableName("gone", "sales"))
    assert "gone" not in tables.names("sales")


def repair(tables: MaterializedTables) -> None:
    for repaired in tables.repair():
        print(repaired.table, repaired.action.value, repaired.problem)


def cancel(tables: MaterializedTables) -> None:
    from threading import Timer

    limit = Timer(600, tables.cancel)  # another thread stops what takes too long
    limit.start()
    tables.refresh("sales.daily")
    limit.cancel()
