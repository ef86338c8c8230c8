"""Configuration apart from the query, for dbt's `on_configuration_change` (semantics 10)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.columns import ColumnSpec
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.statements.nodes import CreateTable


def configuration_changes(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes that are not of the query."""
    return tuple(change for change in changes if not change.of_query)


def keep_configuration(statement: CreateTable, stored: StoredDefinition) -> CreateTable:
    """Return `statement` with everything as `stored` that is not the query.

    The column list stays the statement's, because it belongs to its query; comments and NOT NULL of
    columns that were there already stay as stored.
    """
    before = {column.name.lower(): column for column in stored.asked.columns}
    columns = tuple(
        _as_stored(spec, before.get(spec.name.lower())) for spec in statement.asked.columns
    )
    asked = replace(stored.asked, query=statement.asked.query, columns=columns)
    return replace(statement, asked=asked)


def _as_stored(spec: ColumnSpec, stored: ColumnSpec | None) -> ColumnSpec:
    if stored is None or spec.type is None:
        return spec
    return replace(spec, not_null=stored.not_null, comment=stored.comment)
