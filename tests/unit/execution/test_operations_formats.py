"""Statements on tables of a format that lacks features of definitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError
from dbt.adapters.spark_mt.definition.table_format import Capability
from tests.behaviour.adoption import adopt
from tests.behaviour.alterations import SMALL
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import KEYS, SUMS, create, or_alter, prepare
from tests.support.errors import raises
from tests.support.memory.table_format import FORMAT

STRICT, LOOSE = "(k INT NOT NULL, total BIGINT)", "(k INT, total BIGINT)"


@pytest.fixture
def tables():
    made = MemoryTables()
    prepare(made)
    return with_capabilities(
        made, Capability.MATERIALIZED_TABLE, Capability.NOT_NULL, Capability.REPLACEMENT
    )


def with_capabilities(tables, *capabilities):
    """Let the format have these features only."""
    format_ = replace(FORMAT, capabilities=frozenset(capabilities))
    environment = replace(tables.environment, format_of=lambda _: format_)
    tables.environment = environment
    return tables


@pytest.mark.parametrize("form", ["CREATE", "CREATE OR ALTER", "CREATE OR REPLACE"])
def test_a_format_whose_tables_are_only_read_has_no_materialized_table(tables, form):
    with raises(conditions.FORMAT_FEATURE) as raised:
        create(with_capabilities(tables), SUMS, form=form)
    assert raised.value.parameters["feature"] == Capability.MATERIALIZED_TABLE.value
    assert tables.find("t").name == tables.name("t")


@pytest.mark.parametrize("form", ["CREATE", "CREATE OR ALTER", "CREATE OR REPLACE"])
def test_a_table_without_clustering_is_not_created(tables, form):
    with raises(conditions.FORMAT_FEATURE):
        create(tables, SUMS, "CLUSTER BY (k)", form)
    assert tables.find("t").name == tables.name("t")
    create(tables, SUMS, form=form)


def test_nothing_of_a_statement_happens_that_needs_what_the_format_lacks(tables):
    create(tables, SUMS, LOOSE)
    before = tables.stored("t")
    for statement in (
        f"CREATE OR ALTER MATERIALIZED TABLE t {STRICT} COMMENT 'new' AS {SUMS}",
        f"CREATE OR ALTER MATERIALIZED TABLE t {LOOSE} CLUSTER BY (k) AS {SUMS}",
    ):
        with raises(conditions.FORMAT_FEATURE):
            tables.execute(statement)
        assert tables.stored("t") == before


def test_every_lack_is_named_at_once(tables):
    create(tables, SUMS, LOOSE)
    with pytest.raises(InvalidDefinitionError) as caught:
        or_alter(tables, SUMS, f"{STRICT} CLUSTER BY (k, nothing)")
    found = [error.condition for error in caught.value.errors]
    name = conditions.FORMAT_FEATURE.name
    assert found.count(name) == 2
    assert len(found) == 3


def test_not_null_is_there_from_the_first_row_or_after_a_replacement(tables):
    create(tables, SUMS, STRICT)
    or_alter(tables, SUMS, LOOSE)
    with raises(conditions.FORMAT_FEATURE):
        or_alter(tables, SUMS, STRICT)
    create(tables, SUMS, STRICT, "CREATE OR REPLACE")
    or_alter(tables, SUMS, STRICT)


def test_columns_are_replaced_only_by_a_format_that_can(tables):
    widening = "WITH ('schema.type-widening' = 'true')"
    tables.learn(SMALL, "k INT; total INT", lambda _: [])
    create(tables, SMALL, widening)
    before = tables.stored("t")
    lacking = with_capabilities(tables, Capability.MATERIALIZED_TABLE)
    for query, clauses, form in (
        (SUMS, widening, "CREATE OR ALTER"),
        (KEYS, "", "CREATE OR REPLACE"),
        (SMALL, "PARTITIONED BY (k)", "CREATE OR REPLACE"),
    ):
        with raises(conditions.FORMAT_FEATURE) as raised:
            create(lacking, query, clauses, form)
        assert raised.value.parameters["feature"] == Capability.REPLACEMENT.value
        assert tables.stored("t") == before
    create(lacking, SMALL, "COMMENT 'new'", "CREATE OR REPLACE")


def test_a_fence_is_strict_only_in_a_format_that_can(tables):
    clause = "WITH ('strict-fence' = 'TRUE')"
    with raises(conditions.FORMAT_FEATURE) as raised:
        create(tables, SUMS, clause)
    assert "rollback by another program" in str(raised.value)
    create(with_capabilities(tables, *Capability), SUMS, clause)
    with raises(conditions.INVALID_OPTION):
        create(tables, SUMS, "WITH ('strict-fence' = 'yes')", "CREATE OR REPLACE")


def test_not_null_is_refused_where_no_column_can_have_it(tables):
    lacking = with_capabilities(tables, Capability.MATERIALIZED_TABLE)
    for form in ("CREATE", "CREATE OR REPLACE"):
        with raises(conditions.FORMAT_FEATURE) as raised:
            create(lacking, SUMS, STRICT, form)
        assert raised.value.parameters["feature"] == "NOT NULL (`k`)"
        create(lacking, SUMS, LOOSE, form)


def test_a_plain_table_is_adopted_with_the_features_of_its_format(tables):
    tables.source("t", "k INT; total BIGINT", [(1, 15), (2, 7)])
    with raises(conditions.FORMAT_FEATURE):
        adopt(tables, SUMS, STRICT)
    adopt(tables, SUMS, LOOSE)
