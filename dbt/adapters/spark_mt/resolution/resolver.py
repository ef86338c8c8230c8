"""Resolver of a statement, settings and an analysed query into a resolved definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.conditions import raise_violations
from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
from dbt.adapters.spark_mt.definition.errors import (
    InvalidValueError,
    MaterializedTableError,
    ProcessFunctionError,
)
from dbt.adapters.spark_mt.definition.modes import FROM_BEGINNING, ResolvedStartMode
from dbt.adapters.spark_mt.query.syntax import same_tokens
from dbt.adapters.spark_mt.resolution import columns as table_columns
from dbt.adapters.spark_mt.resolution import (
    query_options,
    source_columns,
    start_instants,
    time_zones,
    validation,
)
from dbt.adapters.spark_mt.resolution.enrichers import EnrichmentContext, enrich
from dbt.adapters.spark_mt.resolution.options import OptionScope, check_options
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape
from dbt.adapters.spark_mt.resolution.settings import derived_from
from dbt.adapters.spark_mt.statements.clauses import defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.columns import (
        Column,
        QueryContext,
        SourceColumns,
        TableName,
    )
    from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition, StoredDefinition
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.query.analyzer import (
        AnalyzedQuery,
        QueryAnalyzer,
        UpstreamDefinitions,
    )
    from dbt.adapters.spark_mt.resolution.settings import Settings


@dataclass(frozen=True, slots=True)
class StatementContext:
    """The parts of a statement in addition to the definition that it declares.

    Args:
        extends_list: Whether the statement has a query and no column list, so that the table's list
            follows the query. Otherwise the list was written for the query.
        errors: What is wrong with the rest of the statement.
        compare: Returns what else is wrong with a definition; called if something is.
        recorded: The columns of sources by which parts of the query were defined. By default those
            of the stored definition if its query is the same.
        columns: The columns of a plain table that the statement adopts.
    """

    extends_list: bool = False
    errors: tuple[MaterializedTableError, ...] = ()
    compare: Callable[[ResolvedDefinition], Iterable[MaterializedTableError]] | None = None
    recorded: tuple[SourceColumns, ...] = ()
    columns: tuple[Column, ...] = ()


def comparable_part(
    definition: ResolvedDefinition,
    stored: StoredDefinition | None,
    errors: Iterable[MaterializedTableError],
) -> ResolvedDefinition | None:
    """Return the comparable part of a wrong definition, with stored values for unknown ones.

    None if columns are not known, and none are stored.
    """
    before = stored.resolved if stored else None
    if any(error.kind in table_columns.COLUMN_LIST_ERRORS for error in errors):
        if before is None:
            return None
        definition = replace(
            definition,
            declared=replace(definition.declared, columns=before.declared.columns),
            columns=before.columns,
            query_columns=before.query_columns,
        )
    if before is not None and any(error.kind in start_instants.START_ERRORS for error in errors):
        definition = replace(definition, start_mode=before.start_mode)
    return definition


@dataclass(frozen=True, slots=True)
class Resolution:
    """A resolved definition, its query as the engine analysed it, and sentences for the user."""

    definition: ResolvedDefinition
    analyzed: AnalyzedQuery
    warnings: tuple[str, ...] = ()


class DefinitionChecks(Protocol):
    """Checks of a definition that need more than its resolution: those of `strategies.checks`."""

    def errors(
        self, table: str, definition: ResolvedDefinition, query: AnalyzedQuery, *, new: bool
    ) -> Iterator[MaterializedTableError]:
        """Yield what is wrong with a definition."""
        ...

    def warnings(self, definition: ResolvedDefinition, query: AnalyzedQuery) -> Iterator[str]:
        """Yield what the user should know about a valid definition."""
        ...


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolver of definitions by the query's analysis, settings and clock. It changes nothing.

    Args:
        analyzer: Analyses queries in the user's session.
        upstream: Finds definitions of materialized tables that a query reads.
        settings: The settings in force.
        clock: Returns the current instant, aware.
        checks: Checks a definition whose clauses all have values.
        format_of: Returns the format of a table, or of one that would be made under a full name.
    """

    analyzer: QueryAnalyzer
    upstream: UpstreamDefinitions
    settings: Settings
    clock: Callable[[], datetime]
    checks: DefinitionChecks
    format_of: Callable[[TableName], TableFormat]

    def resolve(
        self,
        name: TableName,
        declared: DeclaredDefinition,
        stored: StoredDefinition | None,
        statement_context: StatementContext | None = None,
    ) -> Resolution:
        """Resolve `declared` for the table `name`.

        Args:
            name: The table; parts that are left out are those of the analysing session.
            declared: What the user wrote.
            stored: The table's definition so far; None where the table is created or replaced.
            statement_context: The parts of the statement besides the definition; None for nothing.

        Raises:
            MaterializedTableError: The query cannot be analysed, the enricher fails, or the
                definition is not valid; several violations are one `InvalidDefinitionError`.
        """
        statement_context = statement_context or StatementContext()
        recorded = statement_context.recorded or source_columns.recorded_columns(declared, stored)
        analyzed = self.analyzer.analyze(declared.query, recorded)
        table = name.within(analyzed.context.catalog, analyzed.context.schema)
        errors = [*statement_context.errors, *self._self_references(table, analyzed, stored)]
        functions = self.settings.process_functions
        try:
            analyzed = query_options.processed(analyzed, declared.options, functions, str(table))
        except ProcessFunctionError as error:
            scope = OptionScope(str(table), (), declared.partitioned_by, str.lower)
            raise_violations(str(table), [*errors, error, *check_options(declared.options, scope)])
        if statement_context.extends_list:
            declared = replace(
                declared, columns=table_columns.extended_list(declared.columns, analyzed)
            )
        definition, definition_errors = self._define(str(table), declared, analyzed, stored)
        errors += definition_errors
        there = stored.resolved.columns if stored else statement_context.columns
        errors += validation.check_capabilities(
            str(table), definition, there, self.format_of(table)
        )
        comparable = comparable_part(definition, stored, definition_errors)
        if errors and statement_context.compare is not None and comparable is not None:
            errors += statement_context.compare(comparable)
        raise_violations(str(table), errors)
        return self._resolution(definition, analyzed, new=stored is None)

    def resolve_clauses(
        self,
        name: TableName,
        declared: DeclaredDefinition,
        stored: StoredDefinition,
        analyzed: AnalyzedQuery,
    ) -> Resolution:
        """Resolve other clauses with the query that is stored.

        Freshness and refresh mode are derived again. Query, columns and start mode are those of
        `stored`. So a source that was changed meanwhile changes nothing here.

        Args:
            name: The full name.
            declared: The new clauses; its query and columns are those of `stored`.
            stored: The table's definition so far.
            analyzed: The stored query as the engine analyses it now, for enricher and mode.

        Raises:
            MaterializedTableError: The enricher fails, or the definition is not valid; several
                violations are one `InvalidDefinitionError`.
        """
        table = str(name)
        before = stored.resolved.declared.options
        errors: list[MaterializedTableError] = [
            *query_options.other_function(declared.options, before, table)
        ]
        context = self._enrichment(analyzed, stored, stored.resolved.context)
        enriched = enrich(declared, context, table)
        definition = replace(
            stored.resolved,
            declared=declared,
            freshness=enriched.freshness,
            refresh_mode=enriched.refresh_mode,
            derived_from=derived_from(declared, self.settings),
            **defaults(declared),
        )
        errors += self._check(table, definition, analyzed, new=False)
        raise_violations(table, errors)
        return self._resolution(definition, analyzed, new=False)

    def _resolution(
        self, definition: ResolvedDefinition, analyzed: AnalyzedQuery, *, new: bool
    ) -> Resolution:
        notes = (
            *validation.warnings(definition, analyzed, new=new),
            *self.checks.warnings(definition, analyzed),
        )
        return Resolution(definition, analyzed, notes)

    def _enrichment(
        self, analyzed: AnalyzedQuery, stored: StoredDefinition | None, session: QueryContext
    ) -> EnrichmentContext:
        return EnrichmentContext(
            settings=self.settings,
            sources=analyzed.sources,
            upstream=self.upstream,
            stored=stored,
            now=self.clock(),
            time_zone=time_zones.parse_zone(
                dict(session.confs).get(time_zones.SESSION_TIME_ZONE, "UTC")
            ),
        )

    def _self_references(
        self, table: TableName, analyzed: AnalyzedQuery, stored: StoredDefinition | None
    ) -> list[MaterializedTableError]:
        """Return reads of the own table; those through others unless the query is unchanged."""
        search = validation.SelfReferences(table, self.analyzer, self.upstream)
        found: list[MaterializedTableError] = [*search.direct(analyzed.sources)]
        # An unchanged query was searched through other tables when it was new.
        unchanged = stored is not None and same_tokens(
            stored.resolved.expanded_query, analyzed.expanded
        )
        if not found and not unchanged:
            found += search.through_others(analyzed.sources)
        return found

    def _define(
        self,
        table: str,
        declared: DeclaredDefinition,
        analyzed: AnalyzedQuery,
        stored: StoredDefinition | None,
    ) -> tuple[ResolvedDefinition, list[MaterializedTableError]]:
        context = self._enrichment(analyzed, stored, analyzed.context)
        enriched = enrich(declared, context, table)
        query_columns = table_columns.canonical_columns(analyzed.columns)
        columns, errors = table_columns.ColumnList(table, query_columns, analyzed.context).apply(
            declared.columns
        )
        if stored is not None and not declared.columns:
            columns = source_columns.in_stored_order(columns, declared, stored, analyzed.context)
        there = stored.resolved.columns if stored is not None else ()
        errors += table_columns.unstored_columns(table, columns, there)
        start_mode, before = enriched.start_mode, stored.resolved.start_mode if stored else None
        try:
            start = start_instants.resolve_start_mode(
                start_mode, before, context.now, context.time_zone, table
            )
        except MaterializedTableError as error:
            start = ResolvedStartMode(FROM_BEGINNING)
            errors.append(error)
        definition = ResolvedDefinition(
            declared=declared,
            columns=columns,
            expanded_query=analyzed.expanded,
            context=analyzed.context,
            freshness=enriched.freshness,
            refresh_mode=enriched.refresh_mode,
            start_mode=start,
            derived_from=derived_from(declared, self.settings),
            query_columns=tuple(c.name for c in query_columns),
            source_columns=analyzed.source_columns,
            **defaults(declared),
        )
        if stored is not None:
            definition = source_columns.keeping_sources(definition, stored.resolved)
        return definition, [*errors, *self._check(table, definition, analyzed, new=stored is None)]

    def _check(
        self, table: str, definition: ResolvedDefinition, analyzed: AnalyzedQuery, *, new: bool
    ) -> Iterator[MaterializedTableError]:
        names = table_columns.Names.of(definition.context)
        declared = definition.declared
        scope = OptionScope(table, definition.columns, declared.partitioned_by, names.fold)
        yield from validation.check_keys(table, definition, names)
        yield from check_options(declared.options, scope)
        yield from self.checks.errors(table, definition, analyzed, new=new)
        option = dict(declared.options).get(query_options.WATERMARK)
        if option is None or analyzed.streaming:
            return
        try:
            watermarks = query_options.parse_watermarks(option)
        except InvalidValueError:
            return  # the check of the options has named it
        followed = row_shape(definition, analyzed).followed
        sources = [source.name for source in analyzed.sources if str(source.name) in followed]
        yield from query_options.check_watermarks(table, watermarks, sources, self.analyzer)
