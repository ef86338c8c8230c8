"""From what the user wrote to a definition in which nothing is left open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
from dbt.adapters.spark_mt.definition.errors import InvalidValueError, MaterializedTableError
from dbt.adapters.spark_mt.definition.start_mode import FROM_BEGINNING, ResolvedStartMode
from dbt.adapters.spark_mt.definition.state_retention import KEEP_NONE
from dbt.adapters.spark_mt.resolution.columns import ColumnList, Names, canonical_columns
from dbt.adapters.spark_mt.resolution.cycles import SelfReferences
from dbt.adapters.spark_mt.resolution.derivation import derived_from
from dbt.adapters.spark_mt.resolution.engines import choose_engine
from dbt.adapters.spark_mt.resolution.enrichers import EnrichmentContext, enrich
from dbt.adapters.spark_mt.resolution.options import OptionScope, check_options
from dbt.adapters.spark_mt.resolution.process_functions import processed, raise_if_other
from dbt.adapters.spark_mt.resolution.query_shape import row_shape
from dbt.adapters.spark_mt.resolution.query_tokens import same_tokens
from dbt.adapters.spark_mt.resolution.rules import (
    check_first_start,
    check_keys,
    check_modes,
    warnings,
)
from dbt.adapters.spark_mt.resolution.start_modes import resolve_start_mode
from dbt.adapters.spark_mt.resolution.violations import raise_violations
from dbt.adapters.spark_mt.resolution.watermarks import (
    WATERMARK,
    check_watermarks,
    parse_watermarks,
)
from dbt.adapters.spark_mt.resolution.zones import SESSION_TIME_ZONE, parse_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime, tzinfo

    from dbt.adapters.spark_mt.definition.definition import (
        AskedDefinition,
        QueryContext,
        StoredDefinition,
    )
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.start_mode import StartMode
    from dbt.adapters.spark_mt.resolution.analysis import (
        AnalyzedQuery,
        QueryAnalyzer,
        UpstreamDefinitions,
    )
    from dbt.adapters.spark_mt.resolution.engines import Engine
    from dbt.adapters.spark_mt.resolution.settings import Settings


@dataclass(frozen=True, slots=True)
class Resolution:
    """A definition as wanted.

    Args:
        definition: Nothing in it is left open.
        analyzed: The query as the engine sees it.
        warnings: Sentences that the user should read.
    """

    definition: ResolvedDefinition
    analyzed: AnalyzedQuery
    warnings: tuple[str, ...] = ()

    @property
    def engine(self) -> Engine:
        """How the table is brought up to date."""
        return choose_engine(self.definition, self.analyzed)


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves definitions by the query's analysis, the settings and the clock; changes nothing.

    Args:
        analyzer: Analyses queries in the user's session.
        upstream: Finds definitions of materialized tables that a query reads.
        settings: The settings in force.
        clock: Returns the current instant, aware.
    """

    analyzer: QueryAnalyzer
    upstream: UpstreamDefinitions
    settings: Settings
    clock: Callable[[], datetime]

    def resolve(
        self, name: TableName, asked: AskedDefinition, stored: StoredDefinition | None
    ) -> Resolution:
        """Resolve `asked` for the table `name`.

        Args:
            name: The table; parts that are left out are those of the session that analyses.
            asked: What the user wrote.
            stored: The table's definition so far; None where the table is created or replaced.

        Raises:
            MaterializedTableError: The query cannot be analysed, the enricher fails, or the
                definition is not valid; several violations are one `InvalidDefinitionError`.
        """
        analyzed = self.analyzer.analyze(asked.query)
        table = name.within(analyzed.context.catalog, analyzed.context.schema)
        functions = self.settings.process_functions
        analyzed = processed(analyzed, asked.options, functions, str(table))
        errors = self._self_references(table, analyzed, stored)
        definition, definition_errors = self._define(str(table), asked, analyzed, stored)
        errors += definition_errors
        raise_violations(str(table), errors)
        notes = tuple(warnings(definition, analyzed, new=stored is None))
        return Resolution(definition, analyzed, notes)

    def resolve_clauses(
        self,
        name: TableName,
        asked: AskedDefinition,
        stored: StoredDefinition,
        analyzed: AnalyzedQuery,
    ) -> Resolution:
        """Resolve other clauses beside the query that is stored.

        Freshness and refresh mode are derived again; query, columns and start mode are those of
        `stored`, so that a source which has changed meanwhile changes nothing here.

        Args:
            name: The full name.
            asked: What is asked for now; its query and columns are those of `stored`.
            stored: The table's definition so far.
            analyzed: The stored query as the engine sees it now, for enricher and mode.

        Raises:
            MaterializedTableError: The enricher fails, or the definition is not valid; several
                violations are one `InvalidDefinitionError`.
        """
        table = str(name)
        raise_if_other(asked.options, stored.resolved.asked.options, table)
        moment = _Moment(self.clock(), _zone(stored.resolved.context))
        enriched = enrich(asked, self._enrichment(analyzed, stored, moment), table)
        definition = replace(
            stored.resolved,
            asked=asked,
            freshness=enriched.freshness,
            refresh_mode=enriched.refresh_mode,
            derived_from=derived_from(asked, self.settings),
        )
        errors = [
            *_check(table, definition, analyzed, new=False),
            *self._check_watermarks(table, definition, analyzed),
        ]
        raise_violations(table, errors)
        notes = tuple(warnings(definition, analyzed, new=False))
        return Resolution(definition, analyzed, notes)

    def _enrichment(
        self, analyzed: AnalyzedQuery, stored: StoredDefinition | None, moment: _Moment
    ) -> EnrichmentContext:
        return EnrichmentContext(
            settings=self.settings,
            sources=analyzed.sources,
            upstream=self.upstream,
            stored=stored,
            now=moment.now,
            time_zone=moment.zone,
        )

    def _self_references(
        self, table: TableName, analyzed: AnalyzedQuery, stored: StoredDefinition | None
    ) -> list[MaterializedTableError]:
        """An unchanged query was followed through other tables when it was new."""
        search = SelfReferences(table, self.analyzer, self.upstream)
        found: list[MaterializedTableError] = [*search.direct(analyzed.sources)]
        unchanged = stored is not None and same_tokens(
            stored.resolved.expanded_query, analyzed.expanded
        )
        if not found and not unchanged:
            found += search.through_others(analyzed.sources)
        return found

    def _define(
        self,
        table: str,
        asked: AskedDefinition,
        analyzed: AnalyzedQuery,
        stored: StoredDefinition | None,
    ) -> tuple[ResolvedDefinition, list[MaterializedTableError]]:
        moment = _Moment(self.clock(), _zone(analyzed.context))
        enriched = enrich(asked, self._enrichment(analyzed, stored, moment), table)
        query_columns = canonical_columns(analyzed.columns)
        columns, errors = ColumnList(table, query_columns, analyzed.context).apply(asked.columns)
        start_mode, start_errors = _start(table, enriched.start_mode, stored, moment)
        definition = ResolvedDefinition(
            asked=asked,
            columns=columns,
            expanded_query=analyzed.expanded,
            context=analyzed.context,
            freshness=enriched.freshness,
            refresh_mode=enriched.refresh_mode,
            start_mode=start_mode,
            state_retention=asked.state_retention or KEEP_NONE,
            derived_from=derived_from(asked, self.settings),
            query_columns=tuple(c.name for c in query_columns),
        )
        checked = list(_check(table, definition, analyzed, new=stored is None))
        checked = [*checked, *self._check_watermarks(table, definition, analyzed)]
        return definition, [*errors, *start_errors, *checked]

    def _check_watermarks(
        self, table: str, definition: ResolvedDefinition, analyzed: AnalyzedQuery
    ) -> Iterator[MaterializedTableError]:
        """Yield what is wrong with watermarks that can be read, beside a query without STREAM."""
        option = dict(definition.asked.options).get(WATERMARK)
        if option is None or analyzed.streaming:
            return
        try:
            watermarks = parse_watermarks(option)
        except InvalidValueError:
            return
        names = row_shape(definition, analyzed).followed
        followed = [source.name for source in analyzed.sources if str(source.name) in names]
        yield from check_watermarks(table, watermarks, followed, self.analyzer)


@dataclass(frozen=True, slots=True)
class _Moment:
    """When and in which time zone a statement is resolved."""

    now: datetime
    zone: tzinfo


def _zone(context: QueryContext) -> tzinfo:
    return parse_zone(dict(context.confs).get(SESSION_TIME_ZONE, "UTC"))


def _start(
    table: str, mode: StartMode, stored: StoredDefinition | None, moment: _Moment
) -> tuple[ResolvedStartMode, list[MaterializedTableError]]:
    before = stored.resolved.start_mode if stored else None
    try:
        return resolve_start_mode(mode, before, moment.now, moment.zone, table), []
    except MaterializedTableError as error:
        return ResolvedStartMode(FROM_BEGINNING), [error]


def _check(
    table: str, definition: ResolvedDefinition, analyzed: AnalyzedQuery, *, new: bool
) -> Iterator[MaterializedTableError]:
    names = Names.of(definition.context)
    asked = definition.asked
    scope = OptionScope(table, definition.columns, asked.partitioned_by, names.fold)
    yield from check_keys(table, definition, names)
    yield from check_options(asked.options, scope)
    yield from check_modes(table, definition, analyzed)
    if new:
        yield from check_first_start(table, definition, analyzed)
