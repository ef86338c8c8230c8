"""Publishing a definition while somebody else changes the same table."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.definition import AskedDefinition
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.planning.marks import Unpublish
from dbt.adapters.spark_mt.planning.properties import properties_of
from dbt.adapters.spark_mt.planning.steps import PrepareStorage, Publish, Recluster
from dbt.adapters.spark_mt.spark.runner import SparkStepRunner
from tests.unit.builders import QUERY, resolve, stored

errors = pytest.importorskip("pyspark.errors")
CONFLICT = errors.PySparkException(
    "text", errorClass="DELTA_METADATA_CHANGED", messageParameters={}
)


class Table:
    """A table whose first changes fail because another one came first."""

    def __init__(self, definition, failures, other=lambda _: None):
        self.properties = properties_of(definition)
        self.statements = []
        self._failures = failures
        self._other = other

    @contextmanager
    def open(self):
        yield SimpleNamespace(
            spark=SimpleNamespace(sql=self.statements.append),
            commit=lambda _metadata, _seq, write: self._commit(write),
        )

    def _commit(self, write):
        write()
        if self._failures:
            self._failures -= 1
            self._other(self)
            raise CONFLICT


def publish(table, definition, before):
    return run(table, Publish(definition, before))


def run(table, step):
    details = SimpleNamespace(
        forget=lambda: None,
        of=lambda _: SimpleNamespace(comment=""),
        properties=lambda _: table.properties,
        delta_id=lambda _: "delta",
    )
    runner = SparkStepRunner(table, SimpleNamespace(), SimpleNamespace(), details)
    return runner.run(step)


BEFORE = stored(resolve(AskedDefinition(QUERY)))
AFTER = replace(BEFORE, generation=BEFORE.generation + 1)
NEWER = replace(BEFORE, generation=BEFORE.generation + 2)


def test_a_change_of_others_in_between_lets_it_publish_again():
    table = Table(BEFORE, failures=2)
    publish(table, AFTER, BEFORE)
    assert len(table.statements) == 3
    assert len(set(table.statements)) == 1


def test_who_published_something_newer_meanwhile_is_not_overwritten():
    def newer(table):
        table.properties = properties_of(NEWER)

    table = Table(BEFORE, failures=1, other=newer)
    publish(table, AFTER, BEFORE)
    assert len(table.statements) == 1


@pytest.mark.parametrize("step", [Recluster(AFTER), Unpublish(AFTER.name)])
def test_whatever_follows_a_commit_is_done_again(step):
    table = Table(AFTER, failures=1)
    run(table, step)
    assert len(table.statements) == 2


def test_what_comes_before_a_commit_lets_the_whole_statement_begin_again():
    table = Table(BEFORE, failures=1)
    with pytest.raises(CommitConflictError):
        run(table, PrepareStorage(AFTER, (("delta.columnMapping.mode", "name"),)))
    assert len(table.statements) == 1


def test_who_is_always_second_says_so():
    with pytest.raises(CommitConflictError):
        publish(Table(BEFORE, failures=100), AFTER, BEFORE)
