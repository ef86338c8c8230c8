"""Statements on tables of another format than the default, which is that of their catalog."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.checks import drift_of
from tests.behaviour import baselines
from tests.behaviour.adoption import COLUMNS, EQUAL_ROWS, SPACED, adopt
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import SUMS, create, prepare
from tests.support.errors import raises
from tests.support.memory.environment import CONTEXT
from tests.support.memory.table_format import FORMAT, OTHER, OTHER_CATALOG


@pytest.fixture
def tables():
    """A session in the catalog of the other format."""
    made = MemoryTables()
    made.memory.context = replace(CONTEXT, catalog=OTHER_CATALOG)
    return made


def in_the_default_format(tables, name):
    """The full name of a table in the catalog of the default format."""
    return replace(tables.name(name), catalog=CONTEXT.catalog)


def test_a_table_has_no_drift_from_names_that_its_format_does_not_map(tables):
    prepare(tables)
    tables.learn(SPACED, "k INT; total BIGINT; n=n BIGINT", lambda _: [(1, 15, 2), (2, 7, 1)])
    create(tables, SPACED)
    assert drift_of(tables.environment, tables.name("t")) == ()
    tables.set_property("t", "other.set-by-the-format", "1")
    assert drift_of(tables.environment, tables.name("t")) == ()
    tables.set_property("t", "memory.of-a-user", "1")
    (drift,) = drift_of(tables.environment, tables.name("t"))
    assert "memory.of-a-user" in drift.found


def test_a_table_refuses_null_by_the_constraints_of_its_format(tables):
    prepare(tables)
    create(tables, SUMS, "(k INT NOT NULL, total BIGINT)")
    properties = dict(tables.catalog.table(tables.name("t")).newest.properties)
    assert OTHER.constraints(properties)
    assert not FORMAT.constraints(properties)
    assert drift_of(tables.environment, tables.name("t")) == ()


def test_a_refused_adoption_names_the_format_of_the_catalog(tables):
    prepare(tables)
    tables.view("t", SUMS)
    with raises(conditions.CANNOT_ADOPT, match="only a plain Other table can be adopted"):
        adopt(tables, SUMS)


def test_a_plain_table_of_the_format_of_the_catalog_is_adopted(tables):
    prepare(tables)
    tables.source("t", COLUMNS, EQUAL_ROWS)
    adopt(tables, SUMS, if_equal=True)
    assert tables.rows("t") == EQUAL_ROWS
    assert drift_of(tables.environment, tables.name("t")) == ()


def test_the_history_of_a_source_is_kept_by_properties_of_its_own_format(tables):
    baselines.prepare(tables)
    warnings = baselines.create(tables, baselines.SUMS, baselines.NOW, baselines.BY_K).warnings
    assert any("their other.commits (8 days by default)" in warning for warning in warnings)
    baselines.create(tables, clauses=baselines.NOW, form="CREATE OR REPLACE")
    for number in 4, 5:
        tables.append("events", [(number, 1, 1)])
    tables.catalog.clean_log(tables.name("events"), 1)
    with raises(conditions.SOURCE_HISTORY_GONE) as caught:
        baselines.refresh(tables)
    assert caught.value.parameters["retention"] == "other.commits"


def test_a_source_of_another_catalog_than_the_table_has_properties_of_its_format(tables):
    baselines.prepare(tables)
    events = in_the_default_format(tables, "events")
    tables.catalog.put(events, tables.catalog.get(tables.name("events")))
    query = f"SELECT * FROM {events}"
    tables.learn(query, baselines.EVENTS, lambda rows: rows["events"])
    baselines.create(tables, query, baselines.NOW)
    for number in 4, 5:
        tables.catalog.append(events, [(number, 1, 1)])
    tables.catalog.clean_log(events, 1)
    with raises(conditions.SOURCE_HISTORY_GONE) as caught:
        baselines.refresh(tables)
    assert caught.value.parameters["retention"] == "memory.history and memory.files"
