"""Analysed query: the port to an engine's analysis, and its errors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import (
        Column,
        Pairs,
        QueryContext,
        SourceColumns,
        TableName,
    )
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.watermark import ProcessCall


FORMATS_WITH_OFFSETS = frozenset({"kafka"})
"""Formats of tables whose position is the end of a log, counted in the same way by each reader."""
ONLY_STREAMS = frozenset({"rate", "rate-micro-batch"})
"""Formats of tables that Spark reads as streams wherever a query names them."""
FILE_FORMATS = frozenset({"avro", "csv", "json", "orc", "parquet", "text", "xml"})
"""Formats of tables of files, to which a stream adds files as they come."""
LOG_FORMATS = FORMATS_WITH_OFFSETS | ONLY_STREAMS | FILE_FORMATS
"""Formats of tables without versions that can be read as streams: logs, and folders of files."""


class SourceKind(Enum):
    """Kind of a source, by how its changes can be followed."""

    VERSIONED = "versioned table"
    VIEW = "view"
    FUNCTION = "function"
    UNVERSIONED = "table without versions"


@dataclass(frozen=True, slots=True)
class Source:
    """A relation or persistent function that a query reads, directly or through views.

    Args:
        name: The full name.
        kind: How it can be followed.
        via: The views through which it is reached, outermost first; empty for a direct source.
        definition_text: For views and functions: what defines them, for the fingerprint.
        format: For tables: how they are stored, by their provider's name in lower case
            (`kafka`, `parquet`); empty where it is not known.
    """

    name: TableName
    kind: SourceKind
    via: tuple[TableName, ...] = ()
    definition_text: str = ""
    format: str = ""

    @property
    def has_positions(self) -> bool:
        """Whether it has a position: its version, or the ends of a log."""
        return self.kind is SourceKind.VERSIONED or self.format in FORMATS_WITH_OFFSETS


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """The definition of a persistent view through which a query reads.

    Args:
        name: The full name.
        query: Its text.
        catalog: Completes the names in it.
        schema: Completes the names in it.
        columns: The names of its columns; empty where they are not known.
        output: The names that the query's own columns had at creation, in the view's order.
        confs: The SQL confs under which it was created.
    """

    name: TableName
    query: str
    catalog: str
    schema: str
    columns: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    confs: Pairs = ()


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """A query that the engine accepted.

    Args:
        query: The original text.
        expanded: The same text with every relation by its full name.
        columns: Its result, all nullable, types in canonical DDL spelling.
        sources: Every source, views and what they read included, in order of appearance.
        context: The catalog, schema and SQL confs of the session that analysed it.
        pinnable: Whether every versioned source can be read as of a version inside the query;
            otherwise a refresh compares versions before and after.
        unpinned: Why not, as part of a sentence about the query; empty where it is pinnable.
        nondeterministic: Functions whose value differs for the same rows (`rand`, `uuid`).
        time_dependent: Functions with one value per refresh (`current_date`).
        streaming: Whether the query reads a STREAM.
        lookups: Tables joined FOR SYSTEM_TIME AS OF the processing time.
        views: Every view through which it reads.
        source_columns: The columns of the relations that the text names.
        more_columns: The columns of relations that views name, and of relations at a fixed version,
            by the name and the version.
        process: The function that makes the rows of the table out of those of the query. The
            query's columns are then not those of the result. None for the query itself.
    """

    query: str
    expanded: str
    columns: tuple[Column, ...]
    sources: tuple[Source, ...]
    context: QueryContext
    pinnable: bool = True
    nondeterministic: tuple[str, ...] = ()
    time_dependent: tuple[str, ...] = ()
    streaming: bool = False
    lookups: tuple[TableName, ...] = ()
    views: tuple[ViewQuery, ...] = ()
    source_columns: tuple[SourceColumns, ...] = ()
    more_columns: tuple[SourceColumns, ...] = ()
    process: ProcessCall | None = None
    unpinned: str = ""


class QueryAnalyzer(Protocol):
    """Analyses a query in the user's session, without running it."""

    def analyze(self, query: str, recorded: tuple[SourceColumns, ...] = ()) -> AnalyzedQuery:
        """Analyse `query`.

        Args:
            query: Its text.
            recorded: The columns that its relations had when it was defined. These count in this
                order; columns that were added later follow.

        Raises:
            QueryError: The engine refuses it; the error carries the engine's condition and the
                line within the query.
            TemporaryObjectError: It uses a temporary view, a temporary function or a session
                variable; each is named.
            MaterializedTableError: It joins as of another time than the processing time.
        """
        ...

    def columns(self, query: str) -> tuple[Column, ...]:
        """Return the columns of a query's result, for less than an analysis costs.

        Raises:
            QueryError: The engine refuses it.
        """
        ...


class UpstreamDefinitions(Protocol):
    """Finds the definitions of those sources that are materialized tables themselves."""

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        """Return the definition of `name`, or None if it is no materialized table."""
        ...
