"""Known queries: their analysis and their texts over versions, kept while no columns change.

An analysis takes four or five statements, and a text over versions three. Both are kept for queries
that read tables with versions only, each by its name. They are valid as long as each table is at
its location and no later commit of its log changes its columns or properties.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.resolution.query_options import PROCESS_FUNCTION, processed
from dbt.adapters.spark_mt.spark.query.analyzer import SparkQueryAnalyzer
from dbt.adapters.spark_mt.spark.query.binding import accepted_text
from dbt.adapters.spark_mt.spark.session.private_session import context_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Column, SourceColumns
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.resolution.settings import Settings
    from dbt.adapters.spark_mt.spark.catalog.table_details import SparkTables, TableDetails
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions

    TextAt = Callable[[Mapping[str, str]], str]
    """Returns the text of a query, from what reads each of its sources as of a version."""


_MOST = 200
"""How many queries are kept: an analysis is some 50 kB."""
_STORED = "a table whose definition is stored"


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A range of versions in which a table has the same columns.

    Args:
        table: The table.
        since: The first version.
        stamp: That of the commit of the first version, which another table there does not have.
        upto: The last version that was looked at.
    """

    table: TableRef
    since: int
    stamp: str
    upto: int


@dataclass(frozen=True, slots=True)
class KnownQuery:
    """What follows from a query and from the columns of its tables.

    Args:
        analyzed: The analysis.
        tables: By full name.
        text_at: The text at versions; None before a refresh needs it.
    """

    analyzed: AnalyzedQuery
    tables: Mapping[str, SeenTable]
    text_at: TextAt | None = None


@dataclass(slots=True)
class KnownQueries:
    """The queries that were used last; several environments and threads may share them."""

    _found: OrderedDict[Hashable, KnownQuery | None] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, query: Hashable) -> KnownQuery | None:
        """Return what is known of a query."""
        with self._lock:
            return self._found.get(query)

    def is_new(self, query: Hashable) -> bool:
        """Whether this is asked for a query for the first time."""
        with self._lock:
            is_new = query not in self._found
        if is_new:
            self.keep(query, None)
        return is_new

    def keep(self, query: Hashable, known: KnownQuery | None) -> None:
        """Keep what is known of a query, and forget the oldest of too many."""
        with self._lock:
            self._found[query] = known
            self._found.move_to_end(query)
            if len(self._found) > _MOST:
                self._found.popitem(last=False)


class SeenTables:
    """Tables of queries, of which it is known in which versions they have the same columns.

    Args:
        tables: Reads logs.
        details: Reads where tables live.
        known: What is known of queries.
    """

    def __init__(self, tables: SparkTables, details: TableDetails, known: KnownQueries) -> None:
        self._tables = tables
        self._history = tables.history
        self._details = details
        self.known = known

    def of(self, columns: tuple[SourceColumns, ...]) -> dict[str, SeenTable]:
        """Return the tables that a query reads by their names, as they are now.

        Returns:
            Nothing where one of them has no versions.
        """
        found = {}
        for each in columns:
            detail = self._details.of(each.table)
            if not isinstance(detail, TableRef):
                return {}
            newest = self._history(detail).newest(detail)
            stamp = self._history(detail).stamp(detail, newest)
            found[each.source] = SeenTable(detail, newest, stamp, newest)
        return found

    def keep(
        self, query: Hashable, analyzed: AnalyzedQuery, tables: Mapping[str, SeenTable]
    ) -> None:
        """Keep the analysis of a query, if it read these tables by their names and nothing else.

        Args:
            query: The query.
            analyzed: Its analysis.
            tables: As they were before it, so that a later change makes it invalid.
        """
        names = {str(source.name) for source in analyzed.sources}
        are_versioned = all(s.kind is SourceKind.VERSIONED for s in analyzed.sources)
        if names == set(tables) and are_versioned:
            self.known.keep(query, KnownQuery(analyzed, tables))

    def valid(self, query: Hashable) -> KnownQuery | None:
        """Return what is known of a query, if all of its tables have the same columns now."""
        found = self.known.get(query)
        if found is None:
            return None
        tables = {}
        for name, table in found.tables.items():
            if not self.is_there(table):
                return None
            newest = self._history(table.table).newest(table.table)
            if newest < table.upto or not self.has_columns_at(table, newest):
                return None
            tables[name] = replace(table, upto=newest)
        if tables != found.tables:
            found = replace(found, tables=tables)
            self.known.keep(query, found)
        return found

    def is_there(self, table: SeenTable) -> bool:
        """Whether the table that was seen, and no other one, has its name and place."""
        if self._details.of(table.table.name) != table.table:
            return False
        return self._history(table.table).stamp(table.table, table.since) == table.stamp

    def as_of(self, table: SeenTable, version: int) -> str:
        """Return what reads a table as of a version."""
        return self._tables.as_of(table.table, version)

    def has_columns_at(self, table: SeenTable, version: int) -> bool:
        """Whether a table that is there has the columns at a version that it was seen with."""
        if version <= table.upto:
            return table.since <= version
        return self._history(table.table).keeps_columns(table.table, table.upto, version)


class DeclaredQueries:
    """The `QueryAnalyzer` on Spark, which does not analyse again what a statement repeats.

    A query that was analysed twice is known. From then on one statement, which names temporary
    objects, and reads of logs show that its analysis is valid.

    Args:
        spark: The user's session.
        tables: The tables of queries.
    """

    def __init__(self, spark: SparkSession, tables: SeenTables) -> None:
        self._spark = spark
        self._tables = tables

    def analyze(self, query: str, recorded: tuple[SourceColumns, ...] = ()) -> AnalyzedQuery:
        """Analyse a query; arguments and errors as `SparkQueryAnalyzer.analyze`.

        Only with recorded columns is it known which tables to look at before the analysis.
        """
        context = context_of(self._spark)
        analyzer = SparkQueryAnalyzer(self._spark, context=context)
        key = query, context, recorded
        if not recorded or self._tables.known.is_new(key):
            return analyzer.analyze(query, recorded)
        found = self._tables.valid(key)
        if found is not None and analyzer.is_accepted(query):
            return found.analyzed
        tables = self._tables.of(recorded)
        analyzed = analyzer.analyze(query, recorded)
        self._tables.keep(key, analyzed, tables)
        return analyzed

    def columns(self, query: str) -> tuple[Column, ...]:
        """As `QueryAnalyzer.columns`."""
        return SparkQueryAnalyzer(self._spark).columns(query)


class StoredQueries:
    """The `StoredQueryAnalyzer` on Spark, in private sessions with the contexts of definitions.

    Args:
        sessions: Opens the sessions.
        settings: Reads the settings in force.
        tables: The tables of queries.
    """

    def __init__(
        self, sessions: PrivateSessions, settings: Callable[[], Settings], tables: SeenTables
    ) -> None:
        self._sessions = sessions
        self._settings = settings
        self._tables = tables
        self._known = tables.known

    def analyze_stored(self, definition: ResolvedDefinition) -> AnalyzedQuery:
        """As `StoredQueryAnalyzer.analyze_stored`, over the columns that relations had then."""
        found = self._tables.valid(definition)
        analyzed = self._analyzed(definition) if found is None else found.analyzed
        options = definition.declared.options
        if PROCESS_FUNCTION not in dict(options):
            return analyzed
        return processed(analyzed, options, self._settings().process_functions, _STORED)

    def text_at(self, definition: ResolvedDefinition, positions: Positions) -> str | None:
        """Return the text of a query at versions of its sources; None where it must be made."""
        found = self._known.get(definition)
        if found is None or found.text_at is None:
            return None
        reads = self._reads(found, positions)
        return None if reads is None else found.text_at(reads)

    def keep_text(
        self, definition: ResolvedDefinition, positions: Positions, text_at: TextAt | None
    ) -> None:
        """Keep how the text of a query at versions is made, where its analysis is kept.

        Args:
            definition: The definition of the query.
            positions: Those at which the text was made. At others than the analysis is valid for,
                the tables may have had other columns, so nothing is kept.
            text_at: Makes the text; None where it cannot be kept.
        """
        found = self._known.get(definition)
        if found is None or text_at is None or self._reads(found, positions) is None:
            return
        self._known.keep(definition, replace(found, text_at=text_at))

    def _reads(self, found: KnownQuery, positions: Positions) -> dict[str, str] | None:
        """Return what reads each table; None where columns may be others than analysed."""
        reads = {}
        for name, table in found.tables.items():
            position = positions.get(name)
            if not isinstance(position, VersionedPosition):
                return None
            if not self._tables.is_there(table):
                return None
            if not self._tables.has_columns_at(table, position.version):
                return None
            reads[name] = self._tables.as_of(table, position.version)
        return reads

    def _analyzed(self, definition: ResolvedDefinition) -> AnalyzedQuery:
        tables = self._tables.of(definition.source_columns)
        with self._sessions.open(definition.context) as session:
            bound = accepted_text(session.spark, definition)
            known = bound.source_columns() if definition.source_columns else None
            analyzer = SparkQueryAnalyzer(session.spark, known=known, context=definition.context)
            found = analyzer.analyze(bound.text)
        self._tables.keep(definition, found, tables)
        return found
