"""Columns of a table's sources: as its definition recorded them, and as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.resolution import source_columns
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.resolution.validation import result_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.definition import (
        ResolvedDefinition,
        StoredTable,
    )
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery


def raise_if_unfit(table: StoredTable, analyzed: AnalyzedQuery) -> None:
    """Refuse a result with other columns than the table.

    Raises:
        RefreshSchemaError: The columns differ. Every column is named, with what changed in the
            sources.
    """
    resolved = table.definition.resolved
    if problems := result_problems(resolved, analyzed.columns):
        changes = _source_changes(resolved, analyzed)
        raise conditions.RESULT_CHANGED(violations=(*problems, *changes), table=table.name)


def new_source_columns(resolved: ResolvedDefinition, analyzed: AnalyzedQuery) -> str:
    """Describe the source columns that a definition with a `*` does not read; empty for none."""
    if not source_columns.has_star(resolved.expanded_query):
        return ""
    names, recorded = (
        Names.of(resolved.context),
        source_columns.recorded_fields(resolved.source_columns),
    )
    new = (
        (each.source, [*source_columns.missing(each.columns, recorded[each.source.lower()], names)])
        for each in analyzed.source_columns
        if each.source.lower() in recorded
    )
    listed = "; ".join(f"{source}: {', '.join(columns)}" for source, columns in new if columns)
    if not listed:
        return ""
    return (
        f"{listed}. Refreshes do not read them. CREATE OR ALTER with the same query (dbt run) "
        "appends those that the query returns."
    )


def _source_changes(resolved: ResolvedDefinition, analyzed: AnalyzedQuery) -> Iterator[str]:
    names, recorded = (
        Names.of(resolved.context),
        source_columns.recorded_fields(resolved.source_columns),
    )
    for each in analyzed.source_columns:
        before = recorded.get(each.source.lower(), each.columns)
        yield from source_columns.changed_columns(each.source, before, each.columns, names)
