"""Processes refresh a table with stored partial sums at the same time, while its sources change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.faults.checks import (
    assert_history,
    assert_nothing_is_left,
    attempt,
    rows_now,
    strategy_of,
    sums_tables,
)
from tests.faults.plans import PLANS, REFRESH, SUMMED
from tests.faults.victims import run_parallel

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 3
"""A round is six refreshes over Connect, and as many again for those that lose."""
_POSSIBLE = {
    "",
    RefreshResult.REFRESHED.value,
    RefreshResult.UP_TO_DATE.value,
    conditions.CONCURRENT_CHANGE.name,
}


@pytest.fixture
def tables(session, schema, server) -> Iterator[MaterializedTables]:
    """Materialized tables with the table `t`, whose partial sums are stored."""
    tables = MaterializedTables(session)
    for statement in PLANS["refresh partial sums"].before:
        tables.sql(statement)
    yield tables
    assert_nothing_is_left(tables, schema, server.warehouse / f"{schema}.db")
    assert sums_tables(session) == []


def test_partial_sums_have_no_change_twice(tables, schema, server):
    reached = []
    for number in range(ROUNDS):
        first, second = (
            f"UPDATE facts SET v = v + {number + more} WHERE id % 50 = {number}" for more in (1, 2)
        )
        tables.sql(f"DELETE FROM facts WHERE id = {300 + number}")
        done = run_parallel(
            server.url, schema, [[REFRESH, first, REFRESH], [REFRESH], [second, REFRESH]]
        )
        assert {each for said in done for each in said} <= _POSSIBLE, done
        reached += [each for said in done for each in said if each]
        assert attempt(tables, REFRESH) == ""
        assert rows_now(tables._spark) == sorted(tuple(r) for r in tables.sql(SUMMED).collect())
        assert strategy_of(tables) == "differential"
    assert assert_history(tables) > ROUNDS
    assert reached.count(RefreshResult.REFRESHED.value) >= ROUNDS
