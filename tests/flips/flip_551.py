"""FLIP-551: FRESHNESS may be left out, and an enricher fills it in."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.errors import UnknownEnricherError
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.execution.results import Action
from tests.flips.journeys import journey

ORDERS = "user_id INT; product_id INT; price INT; description STRING"
PREFIX = "spark.materialized-table."
SIMPLE = """CREATE MATERIALIZED TABLE high_value_orders
AS
SELECT
product_id,
price
FROM orders;
"""
HOURLY = """-- The user explicitly provides the FRESHNESS clause to override the default.
CREATE {or_alter}MATERIALIZED TABLE hourly_summary
FRESHNESS = INTERVAL '1' HOUR
AS
SELECT
product_id,
price
FROM orders;
"""
LATER = """-- file: materialized_tables/hourly_summary.sql
-- The FRESHNESS clause has been removed.
CREATE OR ALTER MATERIALIZED TABLE hourly_summary
AS
SELECT
product_id,
price,
description -- added a new nullable field
FROM orders;
"""
DAILY = """CREATE MATERIALIZED TABLE daily_summary
REFRESH_MODE = FULL
AS
SELECT
user_id,
COUNT(*) AS total_orders
FROM orders
GROUP BY user_id;
"""
PAIR = "product_id INT; price INT"


def orders(world):
    """Two orders of one user."""
    world.source("orders", ORDERS, [(1, 10, 100, "a"), (1, 20, 200, "b")])


def resolved(world, name):
    """Freshness and mode of a table."""
    found = world.resolved(name)
    return str(found.freshness), found.refresh_mode


class Flip551:
    """Optional freshness and the enricher."""

    @journey("4.1", "no clause at all: 3 minutes by default, continuous")
    def test_needs_no_freshness(self, world):
        orders(world)
        assert world.run(SIMPLE, PAIR).action is Action.CREATED
        assert resolved(world, "high_value_orders") == ("3 minutes", RefreshMode.CONTINUOUS)
        ((text,),) = world.rows("SHOW CREATE MATERIALIZED TABLE high_value_orders")
        assert "/* FRESHNESS = INTERVAL '3' MINUTE by default */" in text

    @journey("4.2", "an explicit hour: full", "the scheduled job begins with the refresh manager")
    def test_explicit_freshness_wins(self, world):
        orders(world)
        world.run(HOURLY.format(or_alter=""), PAIR)
        assert resolved(world, "hourly_summary") == ("1 hour", RefreshMode.FULL)

    @journey(
        "4.3",
        "CREATE OR ALTER without the freshness it had: reset to 3 minutes, and continuous again",
        spark=True,
    )
    def test_freshness_is_reset(self, world):
        orders(world)
        world.run(HOURLY.format(or_alter="OR ALTER "), PAIR)
        assert resolved(world, "hourly_summary") == ("1 hour", RefreshMode.FULL)
        outcome = world.run(LATER, f"{PAIR}; description STRING")
        assert outcome.action is Action.ALTERED
        assert resolved(world, "hourly_summary") == ("3 minutes", RefreshMode.CONTINUOUS)
        assert world.tables.rows("hourly_summary") == [(10, 100, "a"), (20, 200, "b")]

    @journey("4.4", "REFRESH_MODE = FULL without freshness: 1 hour by default")
    def test_full_mode_has_its_own_default(self, world):
        orders(world)
        world.run(DAILY, "user_id INT; total_orders BIGINT")
        assert resolved(world, "daily_summary") == ("1 hour", RefreshMode.FULL)
        assert world.tables.rows("daily_summary") == [(1, 2)]

    @journey(
        "2.2.1; 3.4",
        "the defaults are settings of the session",
        "the names begin with `spark.`, so that spark-defaults.conf, profiles and SET know them",
    )
    def test_defaults_are_settings(self, world):
        orders(world)
        world.configure(PREFIX + "default-freshness.continuous", "10 min")
        world.configure(PREFIX + "default-freshness.full", "1 day")
        world.run(SIMPLE, PAIR)
        world.run(DAILY, "user_id INT; total_orders BIGINT")
        assert resolved(world, "high_value_orders") == ("10 minutes", RefreshMode.CONTINUOUS)
        assert resolved(world, "daily_summary") == ("1 day", RefreshMode.FULL)

    @journey(
        "2.2.2, Step 2",
        "the mode is derived from the default freshness by the threshold",
    )
    def test_the_threshold_applies_to_defaults(self, world):
        orders(world)
        world.configure(PREFIX + "refresh-mode.freshness-threshold", "1 min")
        world.run(SIMPLE, PAIR)
        assert resolved(world, "high_value_orders") == ("3 minutes", RefreshMode.FULL)

    @journey(
        "3.5; 8.1",
        "an enricher of one's own: freshness inherited from upstream tables",
        "the FLIP leaves open how an enricher is found: here a setting names it, per session",
    )
    def test_an_enricher_infers_freshness(self, world):
        orders(world)
        world.run(HOURLY.format(or_alter=""), PAIR)
        world.configure(PREFIX + "enricher", "upstream-freshness")
        query = "SELECT product_id FROM hourly_summary"
        world.run(f"CREATE MATERIALIZED TABLE products AS {query}", "product_id INT")
        assert resolved(world, "products") == ("1 hour", RefreshMode.FULL)
        world.configure(PREFIX + "enricher", "no.such:Enricher")
        with pytest.raises(UnknownEnricherError):
            world.run(f"CREATE OR ALTER MATERIALIZED TABLE products AS {query}")

    @journey(
        "2.2.2, Step 1",
        "what the user says is never overruled by a setting",
    )
    def test_settings_change_no_declared_value(self, world):
        orders(world)
        world.configure(PREFIX + "default-freshness.continuous", "10 min")
        world.run(HOURLY.format(or_alter=""), PAIR)
        assert resolved(world, "hourly_summary") == ("1 hour", RefreshMode.FULL)
