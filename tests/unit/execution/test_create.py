"""CREATE and DROP on tables in memory, where other things than the statement happen."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    UnfinishedChangeError,
)
from dbt.adapters.spark_mt.definition.positions import UnknownPosition
from dbt.adapters.spark_mt.execution.commit_metadata import metadata_of
from dbt.adapters.spark_mt.execution.create import Definitions
from dbt.adapters.spark_mt.execution.results import Action
from dbt.adapters.spark_mt.planning.properties import properties_of
from dbt.adapters.spark_mt.planning.steps import Fill, Publish
from dbt.adapters.spark_mt.statements.parser import parse_statement
from tests.behaviour.harness import Faulty
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import DAILY, SUMS, WIDER, create, or_alter, prepare
from tests.support.errors import raises
from tests.support.memory.table_format import FORMAT
from tests.support.memory.tables import Change, Snapshot


@pytest.fixture
def tables():
    made = MemoryTables()
    prepare(made)
    return made


def plan(tables, statement):
    return Definitions(tables.environment).plan(parse_statement(statement))


def test_planning_changes_nothing(tables):
    found, action = plan(tables, f"CREATE MATERIALIZED TABLE t AS {SUMS}")
    assert (action, len(found.steps)) == (Action.CREATED, 3)
    create(tables)
    before = tables.stored("t")
    found, action = plan(tables, f"CREATE OR ALTER MATERIALIZED TABLE t AS {WIDER}")
    assert (action, len(found.changes)) == (Action.ALTERED, 2)
    found, action = plan(tables, f"CREATE OR ALTER MATERIALIZED TABLE t AS {SUMS}")
    assert (action, found.steps) == (Action.UNCHANGED, ())
    assert tables.stored("t") == before


def test_the_same_statement_finishes_what_was_cut_short(tables):
    create(tables, clauses="WITH ('a' = '1')")
    statement = f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT 'new' AS {SUMS}"
    with pytest.raises(UnfinishedChangeError):
        tables.execute(statement, Faulty(tables.environment.runner, Publish))
    assert tables.stored("t").unpublished
    finished = tables.execute(statement).outcome
    assert (finished.action, "finished" in finished.message) == (Action.UNCHANGED, True)
    assert not tables.stored("t").unpublished
    assert (tables.metadata("t").comment, tables.metadata("t").options) == ("new", {})


def test_another_statement_takes_over_what_was_cut_short(tables):
    create(tables, clauses="WITH ('a' = '1')")
    statement = f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT 'new' WITH ('b' = '1') AS {SUMS}"
    with pytest.raises(UnfinishedChangeError):
        tables.execute(statement, Faulty(tables.environment.runner, Publish))
    or_alter(tables, clauses="WITH ('c' = '1')")
    seen = tables.metadata("t")
    assert (seen.comment, seen.options) == ("", {"c": "1"})


class Orphaned:
    """A directory that a killed CREATE left: our first commit makes its table visible."""

    def __init__(self, tables, at_ms):
        self.tables, self.at_ms, self.runner = tables, at_ms, tables.environment.runner

    def run(self, step):
        if isinstance(step, Fill) and step.seq == 1:
            change = Change("CREATE TABLE AS SELECT", self.at_ms, metadata_of(step), 1)
            columns = step.definition.resolved.columns
            properties = tuple(sorted(properties_of(step.definition, FORMAT).items()))
            snapshot = Snapshot(columns, ((-1, -1),), properties)
            self.tables.catalog.create_with(step.definition.name, change, snapshot)
            raise conditions.CONCURRENT_CHANGE(table=step.definition.name)
        return self.runner.run(step)

    def undo(self, step):
        self.runner.undo(step)


def test_the_rest_of_a_killed_create_is_taken_over(tables):
    statement = f"CREATE MATERIALIZED TABLE t AS {SUMS}"
    outcome = tables.execute(statement, Orphaned(tables, at_ms=0)).outcome
    assert outcome.action is Action.CREATED
    assert tables.rows("t") == [(1, 15), (2, 7)]
    assert tables.stored("t").seq == 2


def test_a_table_created_by_another_writer_meanwhile_is_left_unchanged(tables):
    later = tables.environment.now_ms() + 60_000
    with raises(conditions.ALREADY_EXISTS):
        tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}", Orphaned(tables, at_ms=later))
    assert tables.rows("t") == [(-1, -1)]


def test_delta_cannot_partition_what_was_clustered(tables):
    create(tables, DAILY, "CLUSTER BY (day)")
    before = tables.stored("t")
    with raises(conditions.CANNOT_PARTITION_CLUSTERED):
        create(tables, DAILY, "PARTITIONED BY (day)", "CREATE OR REPLACE")
    assert tables.stored("t") == before


def test_owners_are_stored(tables):
    tables.environment = replace(tables.environment, owner=lambda: (("model", "m"),))
    create(tables)
    assert tables.stored("t").definition.owner == (("model", "m"),)


def test_warnings_of_the_definition_reach_the_user(tables):
    random = "SELECT k, rand() AS r FROM orders"
    tables.learn(random, "k INT; r DOUBLE", lambda rows: [(row[0], 0.5) for row in rows["orders"]])
    assert create(tables, random, "REFRESH_MODE = FULL").warnings


def test_publishing_is_planned_from_what_is_published(tables):
    create(tables, clauses="WITH ('a' = '1')")
    seen = Faulty(tables.environment.runner, 99)
    tables.execute(f"CREATE OR ALTER MATERIALIZED TABLE t AS {SUMS}", seen)
    (publish,) = (step for step in seen.seen if isinstance(step, Publish))
    assert publish.before.declared.options == (("a", "1"),)


def test_tables_without_versions_have_no_position(tables):
    tables.catalog.create_unversioned(
        tables.name("orders"), tables.catalog.get(tables.name("orders")).newest.columns
    )
    create(tables)
    (position,) = tables.stored("t").positions.values()
    assert position == UnknownPosition()
