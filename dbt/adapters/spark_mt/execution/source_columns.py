"""Columns of a table's sources: as its definition recorded them, and as they are now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import SourceColumns, TableName
from dbt.adapters.spark_mt.definition.positions import DefinitionPosition, VersionedPosition
from dbt.adapters.spark_mt.execution.errors import RefreshSchemaError
from dbt.adapters.spark_mt.query.text import shape_of
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.resolution.source_columns import (
    changed_columns,
    full_name_of,
    has_star,
    hides_order,
    missing,
    recorded_fields,
    same_fields,
)
from dbt.adapters.spark_mt.resolution.validation import result_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.columns import FieldName
    from dbt.adapters.spark_mt.definition.definition import (
        ResolvedDefinition,
        StoredDefinition,
        StoredTable,
    )
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, Source


def raise_if_unfit(environment: Environment, table: StoredTable, analyzed: AnalyzedQuery) -> None:
    """Refuse a result with other columns than the table, or possibly with other source columns.

    Raises:
        RefreshSchemaError: The columns differ, or the result would not show a change of source
            columns. Every column and every source is named.
    """
    resolved = table.definition.resolved
    if problems := result_problems(resolved, analyzed.columns):
        changes = _source_changes(resolved, analyzed)
        raise RefreshSchemaError(violations=(*problems, *changes), table=table.name)
    if resolved.source_columns or not hides_order(resolved.expanded_query):
        return
    if unknown := tuple(_unseen_changes(environment, table, analyzed)):
        raise RefreshSchemaError(violations=unknown, table=table.name)


def with_source_columns(environment: Environment, table: StoredTable) -> StoredDefinition:
    """Return a table's definition with the columns of its sources, as far as these are known.

    If it was stored without them, they are read from the versions that the rows reflect.
    """
    definition = table.definition
    resolved, context = definition.resolved, definition.resolved.context
    if resolved.source_columns:
        return definition
    positions = {name.lower(): at for name, at in (table.positions or {}).items()}
    found: dict[str, SourceColumns] = {}
    for ref in shape_of(resolved.expanded_query).relations:
        at = positions.get(full_name_of(ref, context))
        if isinstance(at, VersionedPosition) and not ref.pinned:
            name = TableName.of(*ref.parts).within(context.catalog, context.schema)
            fields = environment.sources.columns(name, at)
            found |= {} if fields is None else {str(name): SourceColumns(str(name), fields)}
    return replace(definition, resolved=replace(resolved, source_columns=tuple(found.values())))


def new_source_columns(resolved: ResolvedDefinition, analyzed: AnalyzedQuery) -> str:
    """Describe the source columns that a definition with a `*` does not read; empty for none."""
    if not has_star(resolved.expanded_query):
        return ""
    names, recorded = Names.of(resolved.context), recorded_fields(resolved.source_columns)
    new = (
        (each.source, [*missing(each.columns, recorded[each.source.lower()], names)])
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
    names, recorded = Names.of(resolved.context), recorded_fields(resolved.source_columns)
    for each in analyzed.source_columns:
        before = recorded.get(each.source.lower(), each.columns)
        yield from changed_columns(each.source, before, each.columns, names)


def _unseen_changes(
    environment: Environment, table: StoredTable, analyzed: AnalyzedQuery
) -> Iterator[str]:
    sources = {str(source.name): source for source in analyzed.sources}
    names = Names.of(table.definition.resolved.context)
    for each in analyzed.source_columns:
        before = _columns_before(environment, table, sources.get(each.source), each.columns)
        if before is None:
            yield f"the columns that {each.source} had when the query was defined are unknown"
        elif not same_fields(before, each.columns, names):
            yield f"the columns of {each.source} changed since its rows were read"


def _columns_before(
    environment: Environment,
    table: StoredTable,
    source: Source | None,
    now: tuple[FieldName, ...],
) -> tuple[FieldName, ...] | None:
    """Return the columns of a source in the state that the rows reflect; None if unknown."""
    position = None if source is None else (table.positions or {}).get(str(source.name))
    if source is None or position is None:
        return None
    if isinstance(position, VersionedPosition):
        return environment.sources.columns(source.name, position)
    if isinstance(position, DefinitionPosition):
        same = environment.sources.positions([source])[str(source.name)].same_state(position)
        return now if same else None
    return None
