"""Materialized tables over materialized tables, and refreshes of one table at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.execution.results import RefreshResult
from dbt.adapters.spark_mt.planning.steps import ApplyChanges
from tests.functional.engine.oracle import (
    assert_equals_query,
    faulty,
    fenced_commits,
    rows,
    version,
)
from tests.incremental.spark.benchmark import create, is_incremental

FEED = ", 'delta.enableChangeDataFeed' = 'true'"
CHANGES = {
    "insert": [
        "INSERT INTO sales VALUES (1900, 3, 40), (1901, 3, 40), (1901, 3, 40), (1902, 5, NULL)"
    ],
    "delete": ["DELETE FROM sales WHERE id IN (17, 1901)"],
    "update": [
        "UPDATE sales SET amount = amount + 7 WHERE id IN (31, 1900)",
        "UPDATE sales SET shop = 11 WHERE id = 45",
    ],
    "all": [
        "UPDATE shops SET city = 'c9' WHERE shop = 4",
        "DELETE FROM shops WHERE shop = 6",
        "INSERT INTO shops VALUES (120, 'c1')",
        "INSERT INTO sales VALUES (1903, 120, 500)",
        "DELETE FROM sales WHERE id = 60",
    ],
}
CASCADE = {
    "by_shop": "SELECT s.shop, p.city, count(*) AS n, sum(s.amount) AS amount, "
    "max(s.amount) AS largest FROM sales s JOIN shops p ON s.shop = p.shop GROUP BY s.shop, p.city",
    "large": "SELECT shop, city, amount FROM by_shop WHERE amount > 100",
    "by_city": "SELECT city, count(*) AS shops, sum(amount) AS amount FROM large GROUP BY city",
}
DIAMOND = {
    "totals": "SELECT shop, sum(amount) AS amount FROM sales GROUP BY shop",
    "extremes": "SELECT shop, max(amount) AS high, min(amount) AS low FROM sales GROUP BY shop",
    "joined": "SELECT t.shop, t.amount, e.high, e.low FROM totals t JOIN extremes e "
    "ON t.shop = e.shop",
}
GROUPED = "SELECT shop, sum(amount), max(amount), min(amount) FROM sales GROUP BY shop"
"""What the last table of the diamond holds."""
SIGNS = {"+": "'insert', 'update_postimage'", "-": "'delete', 'update_preimage'"}


@pytest.fixture
def tables(session, schema):
    """Sources `sales(id, shop, amount)` and `shops(shop, city)`."""
    session.sql(
        f"CREATE TABLE {schema}.sales USING delta AS SELECT id, id % 100 AS shop, "
        "CAST(id % 50 AS INT) AS amount FROM range(1000)"
    )
    session.sql(
        f"CREATE TABLE {schema}.shops USING delta AS SELECT id AS shop, "
        "concat('c', id % 10) AS city FROM range(100)"
    )
    return MaterializedTables(session)


def change(tables, round_):
    for statement in CHANGES[round_]:
        tables.sql(statement)


def refreshed(tables, name):
    """Refresh a table by changes: it equals its query, and rewrote no row that is the same."""
    before = version(tables, name)
    done = tables.refresh(name)
    assert_equals_query(tables, name)
    if done.status is RefreshResult.REFRESHED:
        assert is_incremental(done)
        assert changed_rows(tables, name, before) == difference(tables, name, before)
    return done


def changed_rows(tables, name, since):
    """What the change data feed of a table says about the versions after one."""
    feed = f"table_changes('{name}', {since + 1}, {version(tables, name)})"
    return {
        sign: rows(
            tables,
            f"SELECT * EXCEPT (_change_type, _commit_version, _commit_timestamp) FROM {feed} "
            f"WHERE _change_type IN ({kinds})",
        )
        for sign, kinds in SIGNS.items()
    }


def difference(tables, name, since):
    """The rows of a table that were not there at a version, and those that are gone."""
    before, after = f"SELECT * FROM {name} VERSION AS OF {since}", f"SELECT * FROM {name}"
    return {
        "+": rows(tables, f"{after} EXCEPT ALL {before}"),
        "-": rows(tables, f"{before} EXCEPT ALL {after}"),
    }


def test_a_cascade_of_three_levels(tables):
    for name, query in CASCADE.items():
        create(tables, name, query, more=FEED)
    for round_ in CHANGES:
        change(tables, round_)
        for name in CASCADE:
            assert refreshed(tables, name).status is RefreshResult.REFRESHED, (round_, name)
    assert rows(tables, "SELECT * FROM by_city")


def test_a_level_whose_rows_stay_ends_the_cascade(tables):
    """A change that a level filters out changes no file of this level, nor of the next ones."""
    for name, query in CASCADE.items():
        create(tables, name, query, more=FEED)
    change(tables, "insert")
    for name in CASCADE:
        refreshed(tables, name)
    files = {name: sorted(tables.sql(f"SELECT * FROM {name}").inputFiles()) for name in CASCADE}
    tables.sql("INSERT INTO shops VALUES (130, 'c30')")
    tables.sql("INSERT INTO sales VALUES (1905, 130, 1)")
    for name in CASCADE:
        refreshed(tables, name)
        is_same = sorted(tables.sql(f"SELECT * FROM {name}").inputFiles()) == files[name]
        assert is_same == (name != "by_shop"), name


def test_a_diamond(tables):
    """The last table equals its query also where one of its sources is ahead of the other."""
    for name, query in DIAMOND.items():
        create(tables, name, query, more=FEED)
    for number, round_ in enumerate(CHANGES):
        change(tables, round_)
        for name in (*DIAMOND,) if number % 2 else ("totals", "joined", "extremes", "joined"):
            refreshed(tables, name)
        assert rows(tables, "SELECT * FROM joined") == rows(tables, GROUPED)


SHAPES = {
    "aggregate": "SELECT shop, count(*) AS n, sum(amount) AS amount FROM sales GROUP BY shop",
    "join": "SELECT s.id, s.amount, p.city FROM sales s JOIN shops p ON s.shop = p.shop",
    "project": "SELECT id, amount + 1 AS more FROM sales",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_two_refreshes_at_the_same_time(tables, session, schema, shape):
    create(tables, "t", SHAPES[shape])
    both = [tables_of_another_session(session, schema) for _ in range(2)]
    for round_ in ("insert", "update", "all"):
        change(tables, round_)
        begin = Barrier(2)

        def refresh(own, begin=begin):
            begin.wait(60)
            return own.refresh("t")

        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(refresh, both))
        assert_equals_query(tables, "t")
        found = {each.status for each in done}
        assert RefreshResult.REFRESHED in found
        assert found <= {RefreshResult.REFRESHED, RefreshResult.UP_TO_DATE}
        assert all(is_incremental(d) for d in done if d.status is RefreshResult.REFRESHED)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_refresh_that_another_one_precedes_plans_again(tables, session, shape):
    """The other one commits after the first one is planned, and before it writes."""
    create(tables, "t", SHAPES[shape])
    change(tables, "delete")
    late, runner = faulty(session)
    other = tables.refresh

    def commit_first(step):
        if isinstance(step, ApplyChanges) and runner.seen.count("ApplyChanges") == 1:
            assert other("t").status is RefreshResult.REFRESHED
            change(tables, "all")

    runner.before = commit_first
    assert is_incremental(late.refresh("t"))
    assert_equals_query(tables, "t")
    sequence = [commit["seq"] for commit in fenced_commits(tables, "t")]
    assert sequence == [3, 2, 1]


def tables_of_another_session(session, schema):
    other = session.newSession()
    other.sql(f"USE {schema}")
    return MaterializedTables(other)
