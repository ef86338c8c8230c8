from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    NotMaterializedError,
    TableNotFoundError,
    UnfinishedChangeError,
)
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.lookup import existing_table, stored_table
from dbt.adapters.spark_mt.planning.steps import Publish
from tests.behaviour.harness import Faulty
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import SUMS, create, prepare
from tests.support.errors import raises


@pytest.fixture
def tables():
    made = MemoryTables()
    prepare(made)
    create(made)
    return made


def found(tables, name):
    return existing_table(tables.environment, tables.name(name))


def test_a_missing_table_is_not_found(tables):
    with pytest.raises(TableNotFoundError):
        found(tables, "nothing")


def test_an_unmanaged_table_is_named_by_its_kind(tables):
    with pytest.raises(NotMaterializedError) as failed:
        found(tables, "orders")
    assert failed.value.parameters["what"] == "a memory table"


def test_a_table_that_another_program_changed_is_refused(tables):
    tables.drop_column("t", "total")
    with raises(conditions.CHANGED_OUTSIDE):
        found(tables, "t")


def test_an_unfinished_statement_is_finished_only_by_a_statement_that_writes(tables):
    statement = f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT 'new' AS {SUMS}"
    with pytest.raises(UnfinishedChangeError):
        tables.execute(statement, Faulty(tables.environment.runner, Publish))
    assert found(tables, "t").unpublished
    assert tables.metadata("t").comment == ""
    assert not stored_table(tables.environment, tables.name("t")).unpublished
    assert tables.metadata("t").comment == "new"


def test_a_table_that_another_process_creates_is_not_missing(tables):
    (created,) = tables.memory.log.appended
    now = tables.environment.now_ms()
    running = replace(
        created,
        table=tables.name("new"),
        status=JobStatus.RUNNING,
        ended_at_ms=None,
        last_heartbeat_ms=now,
        creates=True,
    )
    tables.memory.log.append(running)
    with raises(conditions.INITIALIZING):
        found(tables, "new")
    tables.memory.processes.gone.add(running.owner)
    with pytest.raises(TableNotFoundError):
        found(tables, "new")
