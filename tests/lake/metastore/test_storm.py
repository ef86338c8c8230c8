"""Two drivers change and refresh one table at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.behaviour.suite import SUMS
from tests.faults.checks import assert_nothing_is_left, rows_now
from tests.faults.test_storm import CHANGES, EXPECTED, assert_whole, settle
from tests.lake.driver import outcome_of, running_driver

STATEMENTS = 6


@pytest.fixture
def tables(session, schema, metastore):
    tables = MaterializedTables(session)
    tables.sql("CREATE TABLE orders (k INT, day STRING, amount INT) USING delta")
    tables.sql("INSERT INTO orders VALUES (1, 'a', 5), (2, 'a', -5)")
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}")
    yield tables
    assert_nothing_is_left(tables, schema, metastore.warehouse / f"{schema}.db")


@pytest.fixture
def other(metastore, tmp_path):
    """A driver of another process."""
    with running_driver(tmp_path / "other", metastore.confs) as driver:
        yield driver


def both(tables, other, schema, chance, meanwhile):
    """Let both drivers carry out statements; returns what became of those of each."""
    here, there = ([chance.choice(CHANGES) for _ in range(STATEMENTS)] for _ in range(2))
    own = tables._spark.newSession()
    own.sql(f"USE {schema}")

    def work():
        mine = MaterializedTables(own)
        return [outcome_of(mine, each) for each in here]

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(work), pool.submit(other.run, schema, there)]
        while not all(each.done() for each in running):
            meanwhile()
        return [each.result() for each in running]


def test_two_drivers_change_one_table(tables, other, schema, chance):
    reads = 0

    def source_moves():
        nonlocal reads
        amount = chance.randrange(1, 100)
        tables.sql(f"INSERT INTO orders VALUES (1, 'b', {amount}), (2, 'b', -{amount})")
        assert_whole(rows_now(tables._spark))
        reads += 1

    said = both(tables, other, schema, chance, source_moves)
    assert {each for of_one in said for each in of_one} <= {"", *EXPECTED}, said
    assert all("" in of_one for of_one in said), said
    assert reads > 1
    settle(tables)
