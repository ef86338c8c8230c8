"""FLIP-435: the statements, clauses and settings one by one."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    ConstraintViolatedError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode, RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.alter import Alterations
from dbt.adapters.spark_mt.execution.results import Action
from dbt.adapters.spark_mt.planning.steps import Fill
from dbt.adapters.spark_mt.statements.parser import parse_statement
from tests.behaviour.harness import ConflictingRunner
from tests.flips.journeys import journey
from tests.flips.shop_435 import (
    DAY,
    DEALS,
    DWS_DEALS,
    NEXT,
    PLAIN,
    PLAIN_DDL,
    mode,
    plain,
    shop,
    wide,
)
from tests.support.errors import raises


class Flip435Statements:
    """Statements, clauses and settings."""

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
        declared = world.stored("t").definition.declared
        assert (declared.primary_key.name, declared.comment, declared.options) == (
            "pk",
            "c",
            (("a", "b"),),
        )
        ((text,),) = world.rows("SHOW CREATE MATERIALIZED TABLE t")
        assert parse_statement(text).declared == declared

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

    @pytest.mark.parametrize(
        "value", ["'0' MINUTE", "'1.5' HOUR", "'-3' DAY", "'12345678901234567890' MINUTE"]
    )
    @journey(
        "FRESHNESS Clause",
        "a freshness that is no positive whole number: Flink's message",
        "a freshness is also at most 2147483647 seconds long; Flink bounds the number alone",
    )
    def test_freshness_is_a_positive_number(self, world, value):
        shop(world)
        with raises(conditions.INVALID_FRESHNESS_IN_STATEMENT) as error:
            world.run(PLAIN.format(clauses=f"FRESHNESS = INTERVAL {value}"))
        number = value.split("'")[1]
        shown = "The freshness interval currently only supports positive integer type values."
        assert f"{shown} But was: {number}" in str(error.value)

    @journey(
        "FRESHNESS Clause",
        "a unit beyond days: Flink's message",
        "WEEK is a unit too",
    )
    def test_freshness_has_few_units(self, world):
        with raises(conditions.INVALID_FRESHNESS_UNIT_IN_STATEMENT) as error:
            world.run(PLAIN.format(clauses="FRESHNESS = INTERVAL '1' MONTH"))
        shown = "Materialized table freshness only supports SECOND, MINUTE, HOUR, DAY"
        assert shown in str(error.value)
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
        assert world.stored("dwd_orders").definition.declared.options == ()
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
        "a manual refresh in parallel with the table's own",
        "never doubles or loses rows, where the FLIP warns of inconsistent data: the second to "
        "commit looks again",
    )
    def test_refreshes_in_parallel_with_a_refresh(self, world):
        plain(world)
        world.tables.append("orders", [(NEXT, 3, 300, 9, 1)])
        conflicting = ConflictingRunner(
            world.tables.environment.runner, Fill, lambda: world.refresh("t")
        )
        world.tables.execute("ALTER MATERIALIZED TABLE t REFRESH", conflicting)
        assert world.tables.rows("t") == [(1, 7), (2, 8), (3, 9)]

    @journey(
        "ALTER, Refresh",
        "a partition of a column that does not partition the table: Flink's message",
    )
    def test_refreshes_known_partitions_only(self, world):
        wide(world)
        with raises(conditions.UNKNOWN_PARTITION_KEY) as error:
            world.run("ALTER MATERIALIZED TABLE dwd_orders REFRESH PARTITION (user_id = 7)")
        shown = "The partition spec contains unknown partition keys: user_id."
        assert shown in str(error.value)

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
        declared = world.stored("t").definition.declared
        assert declared.logical_refresh_mode is LogicalRefreshMode.AUTOMATIC

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

    @journey(
        "Describe Job",
        "`DESC JOB` shows a refresh, in the columns of `SHOW JOBS`",
        spark=True,
    )
    def test_describes_jobs(self, world):
        job = plain(world).refresh.refresh_id
        (shown,) = world.rows(f"DESC JOB '{job}'")
        assert (shown[0], shown[1].rpartition(".")[2], shown[3]) == (job, "t", "FINISHED")
        assert shown in world.rows("SHOW JOBS")
        with raises(conditions.JOB_NOT_FOUND):
            world.rows("DESC JOB 'b8a1'")

    @journey(
        "Configuration, materialized-table.refresh-mode.freshness-threshold",
        "another threshold derives the mode of all tables again, except explicit ones",
        "done by the refresh manager at its start; a changed setting alone changes no table",
    )
    def test_another_threshold(self, world):
        plain(world)
        query = "SELECT id, user_id FROM orders"
        explicit = "REFRESH_MODE = CONTINUOUS"
        world.run(f"CREATE MATERIALIZED TABLE u {explicit} AS {query}", PLAIN_DDL)
        world.configure("spark.materialized-table.refresh-mode.freshness-threshold", "1 min")
        assert mode(world) is RefreshMode.CONTINUOUS
        catalog = world.tables.name("t").catalog
        (derived,) = Alterations(world.tables.environment).derive_again(catalog)
        assert derived.outcome.refresh_mode == "FULL"
        assert (mode(world), mode(world, "u")) == (RefreshMode.FULL, RefreshMode.CONTINUOUS)

    @pytest.mark.parametrize(
        ("option", "partitioned", "error"),
        [
            (
                "partition.fields.user_id.date-formatter",
                "ds",
                conditions.OPTION_NOT_A_PARTITION_COLUMN,
            ),
            (
                "partition.fields.user_id.date-formatter",
                "user_id",
                conditions.OPTION_NOT_A_TEXT_COLUMN,
            ),
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
        with raises(error):
            world.run(
                f"CREATE MATERIALIZED TABLE t PARTITIONED BY ({partitioned}) "
                f"WITH ('{option}' = 'yyyy') AS {query}"
            )
        assert not world.exists("t")
