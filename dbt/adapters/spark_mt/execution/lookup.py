"""Lookup of the materialized table that a statement names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import (
    InconsistentTable,
    Missing,
    StoredTable,
    Unreadable,
)
from dbt.adapters.spark_mt.execution.executor import perform
from dbt.adapters.spark_mt.execution.jobs import raise_if_initializing
from dbt.adapters.spark_mt.planning import steps

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment


def stored_table(environment: Environment, name: TableName) -> StoredTable:
    """Return the materialized table `name`, and finish an unfinished statement before.

    Raises:
        MaterializedTableError: As `existing_table`.
    """
    found = existing_table(environment, name)
    if found.unpublished:
        perform(steps.plan_publish(found), environment)
        return replace(found, published=None)
    return found


def existing_table(environment: Environment, name: TableName) -> StoredTable:
    """Return the materialized table `name` and change nothing.

    Raises:
        TableNotFoundError: There is nothing of this name.
        MaterializedTableError: Another process is creating it at this moment.
        NotMaterializedError: A view or an unmanaged table has the name.
        MaterializedTableError: Another program changed the table, and its definition does not fit.
        UnreadableDefinitionError: Its definition cannot be read.
    """
    found = environment.store.find(name)
    if isinstance(found, Missing):
        raise_if_initializing(environment, name)
        raise conditions.NOT_FOUND(table=name)
    if isinstance(found, Unreadable):
        raise found.error
    if isinstance(found, InconsistentTable):
        raise conditions.CHANGED_OUTSIDE(table=name, problem=found.problem)
    if not isinstance(found, StoredTable):
        raise conditions.EXPECTED(table=name, what=found.what)
    return found
