"""Adopting a plain table and releasing one, as plans."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.changes.compatibility import adoption_problems
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition, PlainTable
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.definition.positions import UnknownPosition, VersionedPosition
from dbt.adapters.spark_mt.planning.planner import adopted_baseline, appended_columns, plan_adoption
from dbt.adapters.spark_mt.planning.steps import CommitDefinition, Publish
from dbt.adapters.spark_mt.strategies.choice import choose
from tests.unit.builders import QUERY, QUERY_COLUMNS, TABLE, Engine, analyzed, columns, stored

SOURCE = "spark_catalog.sales.orders"
POSITIONS = {SOURCE: VersionedPosition(4, "x")}


def resolution(**declared):
    return (
        Engine()
        .knows(analyzed(QUERY, QUERY_COLUMNS))
        .resolve(DeclaredDefinition(QUERY, **declared))
    )


def plain(ddl=QUERY_COLUMNS, **given):
    known = {"name": TABLE, "columns": columns(ddl), "partitioned_by": (), "version": 7}
    return PlainTable(**known | given)


def problems(table, **declared):
    return adoption_problems(table, resolution(**declared).definition)


def adopted(table, wanted, positions):
    baseline = adopted_baseline(table, positions)
    choice = choose(wanted.definition, wanted.analyzed, baseline)
    return plan_adoption(table, "new", wanted, positions, choice, baseline=baseline)


def test_the_same_columns_fit():
    assert problems(plain()) == ()


def test_the_first_columns_fit():
    table = plain("user_id INT")
    assert problems(table) == ()
    added = appended_columns(table, resolution().definition)
    assert [column.name for column in added] == ["product_id", "price"]


@pytest.mark.parametrize(
    ("ddl", "where"),
    [
        ("user_id BIGINT; product_id INT; price DECIMAL(10,2)", ["position 0"]),
        ("product_id INT; user_id INT; price DECIMAL(10,2)", ["position 0", "position 1"]),
        ("user_id INT; product_id INT; price DECIMAL(12,2)", ["position 2"]),
        ("USER_ID INT; product_id INT; price DECIMAL(10,2)", ["position 0"]),
        (f"{QUERY_COLUMNS}; more INT; still INT", ["position 3", "position 4"]),
    ],
)
def test_columns_that_do_not_fit(ddl, where):
    found = problems(plain(ddl))
    assert len(found) == len(where)
    assert all(place in problem for place, problem in zip(where, found, strict=True))


def test_not_null_of_the_table_is_a_difference():
    strict = (Column("user_id", "INT", nullable=False), *columns(QUERY_COLUMNS)[1:])
    (problem,) = problems(replace(plain(), columns=strict))
    assert "NOT NULL" in problem


def test_partitions_must_be_the_same_in_the_same_order():
    table = plain(partitioned_by=("user_id", "product_id"))
    assert problems(table, partitioned_by=("USER_ID", "product_id")) == ()
    assert len(problems(table, partitioned_by=("product_id", "user_id"))) == 1
    assert len(problems(table)) == 1


def test_the_commit_says_what_is_trusted():
    plan = adopted(plain(seq=57), resolution(), POSITIONS)
    (commit,) = [step for step in plan.steps if isinstance(step, CommitDefinition)]
    assert (commit.seq, commit.adopts, commit.positions) == (58, True, POSITIONS)
    definition = commit.definition
    assert (definition.fence, definition.generation, definition.table_id) == (57, 1, "new")
    assert definition.baseline.positions == tuple(POSITIONS.items())
    assert (definition.baseline.kept_version, definition.baseline.is_adopted) == (7, True)


def test_a_definition_that_is_left_there_is_older():
    leftover = replace(stored(resolution().definition), generation=9, table_id="other")
    plan = adopted(plain(leftover=leftover), resolution(), POSITIONS)
    (publish,) = [step for step in plan.steps if isinstance(step, Publish)]
    assert publish.definition.generation == 10
    assert publish.is_of_another_table


@pytest.mark.parametrize(
    ("declared", "positions", "warns"),
    [
        ({}, POSITIONS, False),
        ({"refresh_mode": LogicalRefreshMode.FULL}, POSITIONS, True),
        ({"refresh_mode": LogicalRefreshMode.FULL}, {SOURCE: UnknownPosition()}, True),
    ],
)
def test_it_warns_where_the_next_refresh_ends_the_trust(declared, positions, warns):
    plan = adopted(plain(), resolution(**declared), positions)
    assert any("are lost then" in warning for warning in plan.warnings) == warns
    named = any(SOURCE in warning for warning in plan.warnings)
    assert named == isinstance(positions[SOURCE], UnknownPosition)
