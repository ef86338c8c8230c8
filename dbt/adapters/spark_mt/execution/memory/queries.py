"""Queries whose results Python functions compute, found by their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.execution.errors import SourceNotFoundError
from dbt.adapters.spark_mt.execution.memory.tables import UnversionedTable, VersionedTable, View
from dbt.adapters.spark_mt.resolution.analysis import (
    AnalyzedQuery,
    Source,
    SourceKind,
    ViewQuery,
)
from dbt.adapters.spark_mt.resolution.query_errors import QueryError
from dbt.adapters.spark_mt.resolution.query_functions import functions_of
from dbt.adapters.spark_mt.resolution.query_text import replace_at, shape_of, without_lookups
from dbt.adapters.spark_mt.resolution.query_tokens import token_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import QueryContext, ResolvedDefinition
    from dbt.adapters.spark_mt.execution.memory.catalog import MemoryCatalog
    from dbt.adapters.spark_mt.execution.memory.tables import Row, Rows

    Evaluate = Callable[[Mapping[str, Rows]], Iterable[Row]]
    """The rows of a query from the rows of its relations, by the last part of their names."""
    ReadTable = Callable[[TableName, VersionedTable], Rows]
    """The rows of a table, at whichever version the reader wants."""


_NOT_FOUND = "TABLE_OR_VIEW_NOT_FOUND"
_UNKNOWN = "UNREGISTERED_QUERY"


@dataclass(frozen=True, slots=True)
class Query:
    """A query's result.

    Args:
        columns: Of the result.
        evaluate: Computes the rows.
        pinnable: Whether its tables can be read as of a version.
    """

    columns: tuple[Column, ...]
    evaluate: Evaluate
    pinnable: bool = True


class MemoryQueries:
    """Analyses and evaluates queries that were registered."""

    def __init__(self, catalog: MemoryCatalog, context: Callable[[], QueryContext]) -> None:
        self._catalog = catalog
        self._context = context
        self._queries: dict[str, Query] = {}

    def register(self, text: str, query: Query) -> None:
        """Say what a query returns; its names are those of the current schema."""
        expanded, _ = _expanded(text, self._context())
        self._queries[token_key(expanded)] = query

    def analyze(self, query: str) -> AnalyzedQuery:
        """Analyse `query` in the current catalog and schema.

        Raises:
            QueryError: It was not registered, or one of its relations is not there.
        """
        return self._analyze(query, self._context())

    def analyze_stored(self, definition: ResolvedDefinition) -> AnalyzedQuery:
        """Analyse the expanded query in its own catalog and schema; raises as `analyze` does."""
        return self._analyze(definition.expanded_query, definition.context)

    def rows(self, query: str, context: QueryContext, read: ReadTable) -> Rows:
        """Compute a query.

        Raises:
            SourceNotFoundError: One of its relations is gone.
        """
        expanded, names = _expanded(query, context)
        known = self._known(expanded)
        relations = {name.name: self._relation(name, read) for name in names}
        return tuple(tuple(row) for row in known.evaluate(relations))

    def _relation(self, name: TableName, read: ReadTable) -> Rows:
        relation = self._catalog.get(name)
        match relation:
            case VersionedTable():
                return read(name, relation)
            case UnversionedTable(rows=rows):
                return rows
            case View(query, context):
                return self.rows(query, context, read)
            case None:
                raise SourceNotFoundError(source=name, problem="there is no such table")

    def _analyze(self, query: str, context: QueryContext) -> AnalyzedQuery:
        expanded, names = _expanded(query, context)
        known = self._known(expanded)
        functions = functions_of(query)
        sources = {source.name: source for source in self._sources(names, ())}
        return AnalyzedQuery(
            query=query,
            expanded=expanded,
            columns=known.columns,
            sources=tuple(sources.values()),
            context=context,
            pinnable=known.pinnable,
            nondeterministic=functions.nondeterministic,
            time_dependent=functions.time_dependent,
            views=tuple(
                ViewQuery(name, view.query, view.context.catalog, view.context.schema)
                for name in sources
                if isinstance(view := self._catalog.get(name), View)
            ),
        )

    def _known(self, expanded: str) -> Query:
        known = self._queries.get(token_key(expanded))
        if known is None:
            raise _refused(_UNKNOWN, f"nobody said what it returns: {expanded}")
        return known

    def _sources(self, names: Iterable[TableName], via: tuple[TableName, ...]) -> Iterator[Source]:
        for name in names:
            relation = self._catalog.get(name)
            match relation:
                case VersionedTable():
                    yield Source(name, SourceKind.VERSIONED, via, format="delta")
                case UnversionedTable(format=format_):
                    yield Source(name, SourceKind.UNVERSIONED, via, format=format_)
                case View(query, context):
                    yield Source(name, SourceKind.VIEW, via, query)
                    yield from self._sources(_expanded(query, context)[1], (*via, name))
                case None:
                    raise _refused(_NOT_FOUND, f"{name} cannot be found")


def _expanded(query: str, context: QueryContext) -> tuple[str, tuple[TableName, ...]]:
    """Return the query with full names, and these names in order of appearance."""
    query = without_lookups(query).text
    found = [
        (ref, TableName.of(*ref.parts).within(context.catalog, context.schema))
        for ref in shape_of(query).relations
    ]
    text = replace_at(query, ((ref.start, ref.end, name.sql) for ref, name in found))
    return text, tuple(dict.fromkeys(name for _, name in found))


def _refused(condition: str, message: str) -> QueryError:
    return QueryError(
        place="", engine_condition=condition, message=message, sql_state="", line="", column=""
    )
