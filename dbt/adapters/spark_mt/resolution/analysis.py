"""What a query is, as an engine's own analysis tells it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import Column
    from dbt.adapters.spark_mt.definition.definition import QueryContext, StoredDefinition
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.process_function import ProcessCall


class SourceKind(Enum):
    """How a source can be followed."""

    VERSIONED = "versioned table"
    VIEW = "view"
    FUNCTION = "function"
    UNVERSIONED = "table without versions"


FORMATS_WITH_OFFSETS = frozenset({"kafka"})
"""Formats of tables whose position is where a log ends, which all who read it count alike."""


@dataclass(frozen=True, slots=True)
class Source:
    """A relation or persistent function that a query reads, directly or through views.

    Args:
        name: The full name.
        kind: How it can be followed.
        via: The views through which it is reached, outermost first; empty for a direct source.
        definition_text: For views and functions: what defines them, for the fingerprint.
        format: For tables: how they are stored, by their provider's name in lower case (`delta`,
            `kafka`, `parquet`); empty where nobody knows.
    """

    name: TableName
    kind: SourceKind
    via: tuple[TableName, ...] = ()
    definition_text: str = ""
    format: str = ""

    @property
    def has_positions(self) -> bool:
        """Whether anybody can tell where it stands: by its versions, or by the ends of a log."""
        return self.kind is SourceKind.VERSIONED or self.format in FORMATS_WITH_OFFSETS


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """What a persistent view on the way is made of.

    Args:
        name: The full name.
        query: Its text.
        catalog: Completes the names in it.
        schema: Completes the names in it.
    """

    name: TableName
    query: str
    catalog: str
    schema: str


@dataclass(frozen=True, slots=True)
class PlanOperator:
    """An operator of the engine's own plan of a query, and what it reads.

    Args:
        name: Its name there, such as `Aggregate`.
        detail: What the plan says of it behind the name.
        children: Its inputs.
        subqueries: Plans inside its expressions.
        streaming: Whether the plan marks it as part of a stream.
        relation: For an operator that names a relation of a catalog: its full name.
    """

    name: str
    detail: str = ""
    children: tuple[PlanOperator, ...] = ()
    subqueries: tuple[PlanOperator, ...] = ()
    streaming: bool = False
    relation: str = ""


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
        nondeterministic: Functions whose value differs for the same rows (`rand`, `uuid`).
        time_dependent: Functions with one value per refresh (`current_date`).
        streaming: Whether the query reads a STREAM.
        lookups: Tables joined FOR SYSTEM_TIME AS OF the processing time.
        views: Every view on the way.
        operators: The root of the engine's plan; None where nobody can tell.
        process: What makes the rows of the table out of those of the query, whose columns are then
            not those of the result; None for the query itself.
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
    operators: PlanOperator | None = None
    process: ProcessCall | None = None


class QueryAnalyzer(Protocol):
    """Analyses a query in the user's session, without running it."""

    def analyze(self, query: str) -> AnalyzedQuery:
        """Analyse `query`.

        Raises:
            QueryError: The engine refuses it; the error carries the engine's condition and the
                line within the query.
            TemporaryObjectError: It uses a temporary view, a temporary function or a session
                variable; each is named.
        """
        ...


class UpstreamDefinitions(Protocol):
    """Finds the definitions of those sources that are materialized tables themselves."""

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        """Return the definition of `name`, or None if it is no materialized table."""
        ...
