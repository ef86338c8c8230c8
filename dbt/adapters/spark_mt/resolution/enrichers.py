"""Enrichers: choice of values for the clauses that a definition leaves out."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dbt.adapters.spark_mt.definition import conditions, modes
from dbt.adapters.spark_mt.definition.errors import (
    UnknownEnricherError,
    did_you_mean,
)
from dbt.adapters.spark_mt.definition.freshness import LONGEST, LONGEST_SECONDS, Freshness
from dbt.adapters.spark_mt.query.analyzer import SourceKind

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition, StoredDefinition
    from dbt.adapters.spark_mt.query.analyzer import Source, UpstreamDefinitions
    from dbt.adapters.spark_mt.resolution.settings import Settings


ENTRY_POINT_GROUP = "dbt_spark_mt.enrichers"


@dataclass(frozen=True, slots=True)
class EnrichmentContext:
    """Inputs of an enricher in addition to the definition.

    Args:
        settings: The settings in force.
        sources: Every source of the query.
        upstream: Finds the definitions of sources that are materialized tables. Each search reads
            the catalog, so it is left to those enrichers that need one.
        stored: The table's definition so far, None for a new table.
        now: The clock, aware.
        time_zone: The session's time zone.
    """

    settings: Settings
    sources: tuple[Source, ...]
    upstream: UpstreamDefinitions
    stored: StoredDefinition | None
    now: datetime
    time_zone: tzinfo

    def upstream_definitions(self) -> tuple[StoredDefinition, ...]:
        """Return the definitions of the materialized tables among the sources."""
        tables = (s for s in self.sources if s.kind is SourceKind.VERSIONED)
        found = (self.upstream.definition_of(table.name) for table in tables)
        return tuple(definition for definition in found if definition is not None)


@dataclass(frozen=True, slots=True)
class EnrichmentResult:
    """The clauses with nothing left open."""

    freshness: Freshness
    refresh_mode: modes.RefreshMode
    start_mode: modes.StartMode


@runtime_checkable
class MaterializedTableEnricher(Protocol):
    """Choice of freshness, refresh mode and start mode if they were left out.

    Implementations are built without arguments. The clauses that the user wrote always win: they
    replace those of the result afterwards.
    """

    def enrich(
        self, definition: DeclaredDefinition, context: EnrichmentContext
    ) -> EnrichmentResult:
        """Return the three values for `definition`."""
        ...


class DefaultMaterializedTableEnricher:
    """Choice by the settings alone (FLIP-551, 2.2.2).

    An omitted FRESHNESS becomes the default of the declared mode. An omitted or AUTOMATIC
    REFRESH_MODE becomes CONTINUOUS if the freshness is strictly below the threshold, otherwise
    FULL. An omitted START_MODE becomes the default one.
    """

    def enrich(
        self, definition: DeclaredDefinition, context: EnrichmentContext
    ) -> EnrichmentResult:
        """Return the three values for `definition`."""
        freshness = definition.freshness or self.omitted_freshness(definition, context)
        below = freshness.seconds < context.settings.freshness_threshold.total_seconds()
        derived = modes.RefreshMode.CONTINUOUS if below else modes.RefreshMode.FULL
        omitted = context.settings.default_start_mode
        if definition.keeps_state:
            omitted = modes.StartMode(modes.StartModeType.RESUME_OR_FROM_BEGINNING)
        return EnrichmentResult(
            freshness=freshness,
            refresh_mode=_declared_mode(definition) or derived,
            start_mode=definition.start_mode or omitted,
        )

    def omitted_freshness(
        self, definition: DeclaredDefinition, context: EnrichmentContext
    ) -> Freshness:
        """Return the freshness of a definition that names none."""
        if definition.logical_refresh_mode is modes.LogicalRefreshMode.FULL:
            return context.settings.default_freshness_full
        return context.settings.default_freshness_continuous


class UpstreamFreshnessEnricher(DefaultMaterializedTableEnricher):
    """Freshness inherited from the materialized tables that a table reads.

    An omitted FRESHNESS becomes the largest freshness among them: the table cannot be fresher than
    its slowest source. Without such a source, and for everything else, the default enricher
    decides.
    """

    def omitted_freshness(
        self, definition: DeclaredDefinition, context: EnrichmentContext
    ) -> Freshness:
        """Return the freshness of a definition that names none."""
        upstream = [d.resolved.freshness for d in context.upstream_definitions()]
        if not upstream:
            return super().omitted_freshness(definition, context)
        return max(upstream, key=lambda freshness: freshness.seconds)


def _declared_mode(definition: DeclaredDefinition) -> modes.RefreshMode | None:
    logical = definition.logical_refresh_mode
    return (
        None if logical is modes.LogicalRefreshMode.AUTOMATIC else modes.RefreshMode[logical.name]
    )


ENRICHERS: dict[str, type[MaterializedTableEnricher]] = {
    "default": DefaultMaterializedTableEnricher,
    "upstream-freshness": UpstreamFreshnessEnricher,
}
"""The enrichers that ship with the package, by the name under which a setting chooses them."""


def load_enricher(spec: str) -> MaterializedTableEnricher:
    """Build the enricher that the setting names.

    Args:
        spec: A name in `ENRICHERS`, the name of an entry point, or `module:Class`.

    Raises:
        UnknownEnricherError: There is none, it cannot be imported or built, or it cannot enrich.
    """
    try:
        factory = _find(spec)
        enricher = factory() if callable(factory) else factory
    except UnknownEnricherError:
        raise
    except Exception as error:  # a user's module may raise anything when it is imported or built
        raise conditions.UNKNOWN_ENRICHER(enricher=spec, problem=_what(error)) from error
    if not isinstance(enricher, MaterializedTableEnricher):
        raise conditions.UNKNOWN_ENRICHER(enricher=spec, problem="it has no method enrich")
    return enricher


def _find(spec: str) -> object:
    if spec in ENRICHERS:
        return ENRICHERS[spec]
    module, colon, name = spec.partition(":")
    if colon:
        return getattr(importlib.import_module(module), name)
    registered = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    if spec in registered:
        return registered[spec].load()
    known = {**ENRICHERS, **registered}
    raise conditions.UNKNOWN_ENRICHER(
        enricher=spec, problem="no enricher has this name" + did_you_mean(spec, known).rstrip("?")
    )


def _what(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".: ")


def enrich(
    definition: DeclaredDefinition, context: EnrichmentContext, table: str
) -> EnrichmentResult:
    """Call the configured enricher, then replace in its result what the user wrote.

    Raises:
        UnknownEnricherError: The configured enricher cannot be loaded.
        MaterializedTableError: It raised, or did not return three values.
    """
    spec = context.settings.enricher
    enricher = load_enricher(spec)
    try:
        result = enricher.enrich(definition, context)
    except Exception as error:  # a user's enricher may raise anything
        raise conditions.ENRICHER_FAILED(
            enricher=spec, table=table, problem=_what(error)
        ) from error
    if problem := _problem(result, definition):
        raise conditions.ENRICHER_FAILED(enricher=spec, table=table, problem=problem)
    return EnrichmentResult(
        freshness=definition.freshness or result.freshness,
        refresh_mode=_declared_mode(definition) or result.refresh_mode,
        start_mode=definition.start_mode or result.start_mode,
    )


def _problem(result: object, definition: DeclaredDefinition) -> str:
    """Return what is wrong with the result of an enricher; empty for nothing."""
    if not isinstance(result, EnrichmentResult):
        return f"it returned {result!r} instead of an EnrichmentResult"
    wanted = {
        "freshness": Freshness,
        "refresh_mode": modes.RefreshMode,
        "start_mode": modes.StartMode,
    }
    given = ((name, getattr(result, name), type_) for name, type_ in wanted.items())
    wrong = [f"{name} = {value!r}" for name, value, type_ in given if not isinstance(value, type_)]
    if wrong:
        return f"it returned {', '.join(wrong)}"
    if definition.freshness is None and result.freshness.seconds > LONGEST_SECONDS:
        return f"it returned a freshness of {result.freshness}, which is longer than {LONGEST}"
    return ""
