"""Everything that an operation needs from outside, in one value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.execution.recent import Recent
from dbt.adapters.spark_mt.planning.steps import RefreshRun
from dbt.adapters.spark_mt.resolution.engines import choose_engine
from dbt.adapters.spark_mt.resolution.resolver import Resolver
from dbt.adapters.spark_mt.resolution.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.definition import (
        AskedDefinition,
        Pairs,
        ResolvedDefinition,
        StoredDefinition,
    )
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.conduct import Conduct
    from dbt.adapters.spark_mt.execution.managers import Managers
    from dbt.adapters.spark_mt.execution.observation import TableObserver
    from dbt.adapters.spark_mt.execution.ports import (
        Registry,
        SourceReader,
        StepRunner,
        TableStore,
    )
    from dbt.adapters.spark_mt.execution.streams import StreamRunner
    from dbt.adapters.spark_mt.resolution.analysis import (
        AnalyzedQuery,
        QueryAnalyzer,
        UpstreamDefinitions,
    )
    from dbt.adapters.spark_mt.resolution.resolver import Resolution


class StoredQueryAnalyzer(Protocol):
    """Analyses a stored query where and as it was defined."""

    def analyze_stored(self, definition: ResolvedDefinition) -> AnalyzedQuery:
        """Analyse the expanded query under its own catalog, schema and SQL confs.

        Raises:
            QueryError: The engine refuses it now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Environment:
    """The ports, the settings and the clock of one connection.

    Args:
        settings: Reads the settings in force.
        confs: Reads Spark confs that show how to print things (time zone, redaction).
        clock: Returns the current instant, aware.
        new_id: Returns a new random identity.
        owner: Returns who declares the table of the statement that runs.
        conduct: How statements are carried out and told.
        observer: Compares tables with their queries.
        recent: What the statement before found.
        managers: Tells who keeps a catalog fresh.
        handlers: Returns the serialized refresh handler that was told for a table.
        streams: Runs streams in this process; None where that is impossible.
    """

    store: TableStore
    upstream: UpstreamDefinitions
    sources: SourceReader
    runner: StepRunner
    registry: Registry
    analyzer: QueryAnalyzer
    stored_analyzer: StoredQueryAnalyzer
    settings: Callable[[], Settings]
    confs: Callable[[], Mapping[str, str]]
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    conduct: Conduct
    observer: TableObserver
    managers: Managers
    handlers: Callable[[TableName], bytes]
    owner: Callable[[], Pairs] = tuple
    recent: Recent = field(default_factory=Recent)
    streams: StreamRunner | None = None

    def now_ms(self) -> int:
        """The current instant in milliseconds since the epoch, UTC."""
        return int(self.clock().timestamp() * 1000)

    def resolve(
        self, name: TableName, asked: AskedDefinition, stored: StoredDefinition | None
    ) -> Resolution:
        """Resolve a definition; raises every violation at once."""
        resolver = Resolver(self.analyzer, self.upstream, self._deriving(name), self.clock)
        return resolver.resolve(name, asked, stored)

    def resolve_clauses(self, asked: AskedDefinition, stored: StoredDefinition) -> Resolution:
        """Resolve other clauses beside the stored query; raises every violation at once."""
        analyzed = self.stored_analyzer.analyze_stored(stored.resolved)
        settings = self._deriving(stored.name)
        resolver = Resolver(self.analyzer, self.upstream, settings, self.clock)
        return resolver.resolve_clauses(stored.name, asked, stored, analyzed)

    def run(
        self, trigger: str, analyzed: AnalyzedQuery, definition: ResolvedDefinition | None = None
    ) -> RefreshRun:
        """Name a refresh and read where its sources stand.

        Args:
            trigger: What asks for it.
            analyzed: The query.
            definition: What it shall fill; the run then tells by which engine.
        """
        started = self.now_ms()
        positions = self.sources.positions(analyzed.sources)
        engine = choose_engine(definition, analyzed) if definition else None
        run = RefreshRun(self.new_id(), trigger, positions, started, analyzed.sources)
        return replace(run, engine=engine)

    def _deriving(self, name: TableName) -> Settings:
        """Return the settings for what a definition leaves open: those of a live manager.

        Nobody flips a mode back and forth by running dbt under other settings (semantics 3).
        """
        lease = self.managers.live(name.catalog or "")
        own = self.settings()
        return own if lease is None else own.derived_as(Settings.from_confs(dict(lease.settings)))
