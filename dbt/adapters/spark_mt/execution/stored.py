"""Finds the table that a statement is about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.table_state import Damaged, Missing, StoredTable, Unreadable
from dbt.adapters.spark_mt.execution.errors import (
    DamagedTableError,
    NotMaterializedError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.execution.holds import raise_if_initializing
from dbt.adapters.spark_mt.execution.jobs import perform
from dbt.adapters.spark_mt.planning.planner import plan_publish

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.environment import Environment


def stored_table(environment: Environment, name: TableName) -> StoredTable:
    """Return the materialized table `name`, finishing what a statement before left undone.

    Raises:
        MaterializedTableError: As `existing_table`.
    """
    found = existing_table(environment, name)
    if found.unpublished:
        perform(plan_publish(found), environment)
        return replace(found, published=None)
    return found


def existing_table(environment: Environment, name: TableName) -> StoredTable:
    """Return the materialized table `name` and change nothing.

    Raises:
        TableNotFoundError: There is nothing of this name.
        TableInitializingError: Somebody is creating it at this moment.
        NotMaterializedError: Something else has the name.
        DamagedTableError: Somebody changed the table past us.
        UnreadableDefinitionError: Its definition cannot be read.
    """
    found = environment.store.find(name)
    if isinstance(found, Missing):
        raise_if_initializing(environment, name)
        raise TableNotFoundError(table=name)
    if isinstance(found, Unreadable):
        raise found.error
    if isinstance(found, Damaged):
        raise DamagedTableError(table=name, problem=found.problem)
    if not isinstance(found, StoredTable):
        raise NotMaterializedError(table=name, kind=found.kind)
    return found
