"""Publishing a definition while another writer changes the same table."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.errors import CommitConflictError
from dbt.adapters.spark_mt.execution.table_format import InstalledTables, TableDescription
from dbt.adapters.spark_mt.planning.properties import properties_of
from dbt.adapters.spark_mt.planning.steps import (
    PrepareStorage,
    Publish,
    Recluster,
    RemoveProperties,
)
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from dbt.adapters.spark_mt.spark.tables.runner import SparkStepRunner
from tests.support.refs import delta_at
from tests.unit.builders import QUERY, resolve, stored

errors = pytest.importorskip("pyspark.errors")
CONFLICT = errors.PySparkException(
    "text", errorClass="DELTA_METADATA_CHANGED", messageParameters={}
)


class Tables(DeltaTables):
    """Hands commits to a table."""

    def __init__(self, table):
        self._table = table

    def commit(self, _session, _name, _metadata, _number, write):
        self._table.commit(write)


class Table:
    """A table whose first changes fail because another one came first."""

    def __init__(self, definition, failures, other=lambda _: None, failure=CONFLICT):
        self._failure = failure
        self.properties = properties_of(definition, FORMAT)
        self.statements = []
        self._failures = failures
        self._other = other
        self.tables = InstalledTables(Tables(self))

    @contextmanager
    def open(self):
        fields = [SimpleNamespace(name="user_id", nullable=False)]
        schema = SimpleNamespace(schema=SimpleNamespace(fields=fields))
        yield SimpleNamespace(
            spark=SimpleNamespace(sql=self.statements.append, table=lambda _: schema)
        )

    def commit(self, write):
        write()
        if self._failures:
            self._failures -= 1
            self._other(self)
            raise self._failure


def publish(table, definition, before):
    return run(table, Publish(definition, before))


def run(table, step):
    return runner(table).run(step)


def runner(table):
    details = SimpleNamespace(
        forget=lambda: None,
        of=delta_at,
        table=delta_at,
        properties=lambda _: table.properties,
        description=lambda _: TableDescription("", table.properties),
        identity=lambda _: "delta",
    )
    return SparkStepRunner(table.tables, table, SimpleNamespace(), SimpleNamespace(), details)


def failure(condition):
    return errors.PySparkException("text", errorClass=condition, messageParameters={})


def strict(generation):
    """A definition whose column `price` is NOT NULL."""
    columns = tuple(replace(c, nullable=c.name != "price") for c in BEFORE.resolved.columns)
    resolved = replace(BEFORE.resolved, columns=columns)
    return replace(BEFORE, generation=generation, resolved=resolved)


BEFORE = stored(resolve(DeclaredDefinition(QUERY)))
AFTER = replace(BEFORE, generation=BEFORE.generation + 1)
NEWER = replace(BEFORE, generation=BEFORE.generation + 2)


def test_a_change_of_others_in_between_lets_it_publish_again():
    table = Table(BEFORE, failures=2)
    publish(table, AFTER, BEFORE)
    assert len(table.statements) == 3
    assert len(set(table.statements)) == 1


def test_a_newer_publication_is_not_overwritten():
    def newer(table):
        table.properties = properties_of(NEWER, FORMAT)

    table = Table(BEFORE, failures=1, other=newer)
    publish(table, AFTER, BEFORE)
    assert len(table.statements) == 1


@pytest.mark.parametrize("step", [Recluster(AFTER), RemoveProperties(AFTER.name)])
def test_steps_after_a_commit_are_retried(step):
    table = Table(AFTER, failures=1)
    run(table, step)
    assert len(table.statements) == 2


def test_what_comes_before_a_commit_lets_the_whole_statement_begin_again():
    table = Table(BEFORE, failures=1)
    with pytest.raises(CommitConflictError):
        run(table, PrepareStorage(AFTER, maps_names=True))
    assert len(table.statements) == 1


def test_a_publication_that_always_conflicts_fails():
    with pytest.raises(CommitConflictError):
        publish(Table(BEFORE, failures=100), AFTER, BEFORE)


ADDED = (
    f"ALTER TABLE {BEFORE.name.sql} ADD CONSTRAINT `materialized-table.not-null.price` "
    "CHECK (`price` IS NOT NULL)"
)
DROPPED = (
    f"ALTER TABLE {BEFORE.name.sql} DROP CONSTRAINT IF EXISTS `materialized-table.not-null.price`"
)
HAS = {"delta.constraints.materialized-table.not-null.price": "*********(redacted)"}


@pytest.mark.parametrize(
    ("condition", "warnings"),
    [("DELTA_CONSTRAINT_ALREADY_EXISTS", 0), ("DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", 1)],
)
def test_not_null_comes_before_the_definition_that_asks_for_it(condition, warnings):
    """Another writer may have added it, or rows of others may break it: the rest is published."""
    after = strict(AFTER.generation)
    table = Table(BEFORE, failures=1, failure=failure(condition))
    assert len(publish(table, after, BEFORE).warnings) == warnings
    first, second = table.statements
    assert first == ADDED
    assert "SET TBLPROPERTIES" in second


def test_not_null_that_is_there_is_not_added_again():
    after = strict(AFTER.generation)
    table = Table(BEFORE, failures=0)
    table.properties |= HAS
    publish(table, after, BEFORE)
    assert ADDED not in table.statements


def test_not_null_ends_before_rows_that_hold_null():
    """Also that of the schema, which tables have that were adopted."""
    table = Table(strict(1), failures=0)
    table.properties |= HAS
    run(table, PrepareStorage(AFTER, maps_names=False, nullable=("price",)))
    assert table.statements == [
        DROPPED,
        f"ALTER TABLE {BEFORE.name.sql} ALTER COLUMN `user_id` DROP NOT NULL",
    ]


def test_not_null_that_ended_for_nothing_is_added_again():
    table = Table(BEFORE, failures=1)
    runner(table).undo(PrepareStorage(AFTER, maps_names=False, nullable=("price",)))
    assert table.statements == [ADDED]
    runner(table).undo(PrepareStorage(AFTER, maps_names=False))
    assert table.statements == [ADDED]
