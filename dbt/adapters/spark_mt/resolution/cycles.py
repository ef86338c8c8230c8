"""Queries that would read their own table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.resolution.analysis import SourceKind
from dbt.adapters.spark_mt.resolution.violations import InvalidDefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.resolution.analysis import (
        QueryAnalyzer,
        Source,
        UpstreamDefinitions,
    )


class SelfReferenceError(InvalidDefinitionError):
    """A query reads its own table, directly or through others."""

    condition = "MATERIALIZED_TABLE_READS_ITSELF"
    text = "The query of materialized table {table} reads its own table: {path}."
    remedy = (
        "Remove one of these reads. To add to rows that are there already, use an incremental "
        "model: a materialized table holds what its query returns, and nothing else."
    )


def same_table(a: TableName, b: TableName) -> bool:
    """Whether two full names are the same table; catalogs compare without case."""
    return str(a).lower() == str(b).lower()


@dataclass(slots=True)
class SelfReferences:
    """Looks for reads of `table` behind sources.

    A materialized table that is read leads on to what it reads itself, found by analysing its
    expanded query. One that no longer analyses leads nowhere: what is wrong with it is said when
    it is refreshed.
    """

    table: TableName
    analyzer: QueryAnalyzer
    upstream: UpstreamDefinitions
    _visited: set[str] = field(default_factory=set)

    def direct(self, sources: tuple[Source, ...]) -> Iterator[SelfReferenceError]:
        """Yield a read of the table by the query itself or by views in it."""
        for source in sources:
            if same_table(source.name, self.table):
                yield self._error((*source.via, source.name))
                return

    def through_others(self, sources: tuple[Source, ...]) -> Iterator[SelfReferenceError]:
        """Yield a read of the table by the materialized tables that its query reads."""
        path = self._search(sources, ())
        if path is not None:
            yield self._error(path)

    def _search(
        self, sources: tuple[Source, ...], behind: tuple[TableName, ...]
    ) -> tuple[TableName, ...] | None:
        for source in sources:
            path = (*behind, *source.via, source.name)
            if same_table(source.name, self.table):
                return path
            if str(source.name).lower() in self._visited:
                continue
            self._visited.add(str(source.name).lower())
            found = self._search(self._sources_of(source), path)
            if found is not None:
                return found
        return None

    def _sources_of(self, source: Source) -> tuple[Source, ...]:
        if source.kind is not SourceKind.VERSIONED:
            return ()
        definition = self.upstream.definition_of(source.name)
        if definition is None or not _is_self_contained(definition):
            return ()
        try:
            return self.analyzer.analyze(definition.resolved.expanded_query).sources
        except MaterializedTableError:
            return ()

    def _error(self, path: tuple[TableName, ...]) -> SelfReferenceError:
        steps = " -> ".join(str(name) for name in (self.table, *path))
        return SelfReferenceError(table=self.table, path=steps)


def _is_self_contained(definition: StoredDefinition) -> bool:
    """Whether the expanded query means the same in another session: its names are full."""
    return definition.resolved.expanded_query != definition.asked.query
