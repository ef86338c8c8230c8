"""Tables that do not count their sources from their beginning, on the ports in memory."""

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.behaviour.baseline_faults import BaselineFaults
from tests.behaviour.baselines import (
    BIG_ROWS,
    BY_K,
    EVENTS,
    LIVE,
    NOW,
    RESUME,
    ROWS,
    SUMS,
    Baselines,
    create,
    or_alter,
    prepare,
    refresh,
)
from tests.behaviour.memory import MemoryTables
from tests.support.errors import raises
from tests.unit.builders import columns


@pytest.fixture
def tables():
    return MemoryTables()


class TestBaselines(Baselines):
    """Every guarantee, without an SQL engine."""


class TestBaselineFaults(BaselineFaults):
    """Every fault, without an SQL engine."""


@pytest.fixture
def ready(tables):
    prepare(tables)
    return tables


def forget_log(tables, name, keep=0):
    tables.catalog.clean_log(tables.name(name), keep)


def status(tables):
    return tables.stored("t").definition.status


def test_a_source_whose_log_no_longer_reaches_back_suspends(ready):
    create(ready, clauses=NOW)
    version = ready.versions("events")[-1]
    for number in 4, 5:
        ready.append("events", [(number, 1, 1)])
    forget_log(ready, "events", keep=1)
    with raises(conditions.SOURCE_HISTORY_GONE) as caught:
        refresh(ready)
    assert caught.value.parameters["after"] == f"version {version}"
    assert status(ready) is RefreshStatus.SUSPENDED
    assert ready.rows("t") == []


def test_resume_falls_back_where_the_log_no_longer_reaches_back(ready):
    create(ready)
    for number in 4, 5:
        ready.append("events", [(number, 1, 20)])
    forget_log(ready, "events", keep=1)
    outcome = or_alter(ready, BIG_ROWS, "START_MODE = RESUME_OR_FROM_NOW")
    assert any("no longer be read" in warning for warning in outcome.warnings)
    assert ready.rows("t") == [(1, 1, 10), (2, 1, 20), (3, 2, 30)]
    assert ready.stored("t").definition.resolved.start_mode.mode.sql == "RESUME_OR_FROM_NOW"


def test_a_table_that_does_not_know_its_positions_is_suspended(ready):
    create(ready, clauses=NOW)
    ready.set_property("t", "k", "v")
    forget_log(ready, "t", keep=1)
    with raises(conditions.POSITIONS_LOST):
        refresh(ready)
    assert status(ready) is RefreshStatus.SUSPENDED


def test_a_window_needs_no_positions(ready):
    create(ready, SUMS, NOW, BY_K)
    ready.append("events", [(4, 1, 1)])
    ready.set_property("t", "k", "v")
    forget_log(ready, "t", keep=1)
    assert refresh(ready).status is RefreshResult.REFRESHED
    assert ready.rows("t") == [(1, 1)]


def test_kept_rows_cannot_be_widened(ready):
    create(ready)
    query = "SELECT id, k, v + 0L AS v FROM events"
    ready.learn(query, "id INT; k INT; v BIGINT", lambda rows: rows["events"])
    statement = (
        f"CREATE OR ALTER MATERIALIZED TABLE t WITH ('schema.type-widening' = 'true') {LIVE} "
        f"{RESUME} AS {query}"
    )
    with raises(conditions.UNSUPPORTED_START_MODE_CHANGE) as caught:
        ready.execute(statement)
    assert "widened" in caught.value.parameters["problem"]


def test_a_source_without_versions_allows_only_the_beginning(ready):
    ready.catalog.create_unversioned(ready.name("events"), columns(EVENTS), [(1, 1, 1)])
    with pytest.raises(Exception, match="START_MODE") as caught:
        create(ready, clauses=NOW)
    assert caught.value.condition == "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE"
    assert "events" in caught.value.parameters["problem"]
    assert create(ready).refresh.rows == 1
    outcome = or_alter(ready, BIG_ROWS, RESUME)
    assert any("cannot resume" in warning for warning in outcome.warnings)
    with raises(conditions.UNSUPPORTED_START_MODE_CHANGE) as caught:
        or_alter(ready, ROWS, NOW)
    assert "events" in caught.value.parameters["problem"]
