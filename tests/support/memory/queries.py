"""Queries whose results Python functions compute, found by their text."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import SourceColumns, TableName, quote
from dbt.adapters.spark_mt.definition.errors import QueryError
from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, Source, SourceKind, ViewQuery
from dbt.adapters.spark_mt.query.function_use import functions_of
from dbt.adapters.spark_mt.query.syntax import token_key
from dbt.adapters.spark_mt.query.text import replace_at, shape_of, without_lookups
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.resolution.source_columns import (
    changed_columns,
    field_names,
    merged,
    missing,
    recorded_fields,
    takes_all_columns,
)
from tests.support.memory.table_format import format_of
from tests.support.memory.tables import NamedRows, UnversionedTable, VersionedTable, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.columns import Column, QueryContext
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from tests.support.memory.catalog import MemoryCatalog
    from tests.support.memory.tables import Row

    _Relations = Mapping[TableName, NamedRows]
    Evaluate = Callable[[Mapping[str, NamedRows]], Iterable[Row]]
    """The rows of a query from the rows of its relations, by the last part of their names."""
    ReadTable = Callable[[TableName, VersionedTable], NamedRows]
    """The rows of a table, at whichever version the reader wants."""
    ColumnsOf = Callable[[Mapping[str, NamedRows]], tuple[Column, ...]]
    """The columns of a query's result from the relations, as `Evaluate` has these."""
    Bind = Callable[[str, NamedRows], NamedRows]
    """What a query reads of a relation, from its full name in lower case and its rows."""


_NOT_FOUND = "TABLE_OR_VIEW_NOT_FOUND"
_UNKNOWN = "UNREGISTERED_QUERY"
_NO_COLUMN = "UNRESOLVED_COLUMN"


@dataclass(frozen=True, slots=True)
class Query:
    """A query's result.

    Args:
        columns: Of the result; for a query that takes columns without naming them: how they follow
            from those of its relations. A KeyError means that it names a column which is not there.
        evaluate: Computes the rows.
        pinnable: Whether its tables can be read as of a version.
    """

    columns: tuple[Column, ...] | ColumnsOf
    evaluate: Evaluate
    pinnable: bool = True

    def result(self, relations: Mapping[str, NamedRows]) -> NamedRows:
        """Compute it; raises as `schema` does."""
        return NamedRows.of(self.schema(relations), map(tuple, self.evaluate(relations)))

    def schema(self, relations: Mapping[str, NamedRows]) -> tuple[Column, ...]:
        """Return the columns of its result.

        Raises:
            QueryError: It names a column that is not there.
        """
        if isinstance(self.columns, tuple):
            return self.columns
        try:
            return self.columns(relations)
        except KeyError as error:
            raise _refused(_NO_COLUMN, f"there is no column {error}") from error


def _newest(_: TableName, table: VersionedTable) -> NamedRows:
    return table.rows_at(table.version)


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

    def columns(self, query: str) -> tuple[Column, ...]:
        """Return the columns of a query's result."""
        return self.analyze(query).columns

    def analyze(self, query: str, recorded: tuple[SourceColumns, ...] = ()) -> AnalyzedQuery:
        """Analyse `query` in the current catalog and schema.

        Args:
            query: Its text.
            recorded: The columns that its relations had when it was defined. These count in this
                order, and those that came later after them.

        Raises:
            QueryError: It was not registered, or one of its relations is not there.
        """
        context, wanted = self._context(), recorded_fields(recorded)
        names = Names.of(context)

        def bind(name: str, rows: NamedRows) -> NamedRows:
            now = field_names(rows.columns)
            return rows.selecting(f.name for f in merged(wanted.get(name, ()), now, names))

        relations = self._relations(query, context, _newest, bind)
        return self._analyzed(query, context, relations, relations)

    def analyze_stored(self, definition: ResolvedDefinition) -> AnalyzedQuery:
        """Analyse the expanded query in its own catalog and schema, over the recorded columns.

        Raises:
            QueryError: As `analyze`.
            QueryError: Recorded columns are gone which the query needs.
        """
        query, context = definition.expanded_query, definition.context
        now = self._relations(query, context, _newest)
        with self._explaining(definition, now):
            bound = self._bound(definition, now)
            return self._analyzed(query, context, now, bound)

    def stored_rows(self, definition: ResolvedDefinition, read: ReadTable = _newest) -> NamedRows:
        """Compute a definition's query over the recorded columns of its relations.

        Raises:
            QueryError: One of its relations is gone.
            QueryError: Recorded columns are gone which the query needs.
        """
        query, context = definition.expanded_query, definition.context
        now = self._relations(query, context, read)
        with self._explaining(definition, now):
            return self._known(query, context).result(_short(self._bound(definition, now)))

    def _bound(self, definition: ResolvedDefinition, now: _Relations) -> _Relations:
        """Take the recorded columns of each relation; a query with fixed columns needs all."""
        query, names = definition.expanded_query, Names.of(definition.context)
        wanted = recorded_fields(definition.source_columns)
        needs_all = isinstance(self._known(query, definition.context).columns, tuple)
        bound = dict(now)
        for name, rows in now.items():
            fields = wanted.get(str(name).lower())
            if fields is not None:
                gone = {*missing(fields, field_names(rows.columns), names)}
                if gone and (needs_all or takes_all_columns(query)):
                    raise _refused(_NO_COLUMN, f"the query takes all columns of {name}")
                bound[name] = rows.selecting(f.name for f in fields if quote(f.name) not in gone)
        return bound

    @contextmanager
    def _explaining(self, definition: ResolvedDefinition, now: _Relations) -> Iterator[None]:
        """Name the columns that sources lost or gained in the error of a query."""
        try:
            yield
        except QueryError as error:
            wanted, names = recorded_fields(definition.source_columns), Names.of(definition.context)
            changes = [
                change
                for name, rows in now.items()
                if (fields := wanted.get(str(name).lower())) is not None
                for change in changed_columns(str(name), fields, field_names(rows.columns), names)
            ]
            if not changes:
                raise
            raise conditions.SOURCE_COLUMNS_CHANGED(
                violations=changes, **error.parameters
            ) from error

    def _relations(
        self, query: str, context: QueryContext, read: ReadTable, bind: Bind | None = None
    ) -> _Relations:
        names = _expanded(query, context)[1]
        found = {name: self._relation(name, read) for name in names}
        return {n: bind(str(n).lower(), rows) if bind else rows for n, rows in found.items()}

    def _relation(self, name: TableName, read: ReadTable) -> NamedRows:
        relation = self._catalog.get(name)
        match relation:
            case VersionedTable():
                return read(name, relation)
            case UnversionedTable(columns=columns, rows=rows):
                return NamedRows.of(columns, rows)
            case View(query, context, names):
                inner = _short(self._relations(query, context, read))
                found = self._known(query, context).result(inner)
                return found if names is None else _viewed(name, found, names)
            case None:
                raise _refused(_NOT_FOUND, f"{name} cannot be found")

    def _analyzed(
        self, query: str, context: QueryContext, now: _Relations, bound: _Relations
    ) -> AnalyzedQuery:
        expanded, names = _expanded(query, context)
        known = self._known(query, context)
        functions = functions_of(query)
        sources = {source.name: source for source in self._sources(names, ())}
        return AnalyzedQuery(
            query=query,
            expanded=expanded,
            columns=known.schema(_short(bound)),
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
            source_columns=tuple(
                SourceColumns(str(name), field_names(rows.columns)) for name, rows in now.items()
            ),
        )

    def _known(self, query: str, context: QueryContext) -> Query:
        expanded = _expanded(query, context)[0]
        known = self._queries.get(token_key(expanded))
        if known is None:
            raise _refused(_UNKNOWN, f"nobody said what it returns: {expanded}")
        return known

    def _sources(self, names: Iterable[TableName], via: tuple[TableName, ...]) -> Iterator[Source]:
        for name in names:
            relation = self._catalog.get(name)
            match relation:
                case VersionedTable():
                    yield Source(name, SourceKind.VERSIONED, via, format=format_of(name).name)
                case UnversionedTable(format=format_):
                    yield Source(name, SourceKind.UNVERSIONED, via, format=format_)
                case View(query, context):
                    yield Source(name, SourceKind.VIEW, via, query)
                    yield from self._sources(_expanded(query, context)[1], (*via, name))
                case None:
                    raise _refused(_NOT_FOUND, f"{name} cannot be found")


def _short(relations: _Relations) -> dict[str, NamedRows]:
    return {name.name: rows for name, rows in relations.items()}


def _viewed(view: TableName, rows: NamedRows, names: tuple[str, ...]) -> NamedRows:
    """The columns of a view: found by the names that they had when it was made."""
    there = {column.name.lower() for column in rows.columns}
    if gone := [name for name in names if name.lower() not in there]:
        raise _refused(_NO_COLUMN, f"the view {view} no longer finds {', '.join(gone)}")
    return rows.selecting(names)


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
    return conditions.QUERY_ERROR(
        place="", engine_condition=condition, message=message, sql_state="", line="", column=""
    )
