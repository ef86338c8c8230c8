"""Definitions for tests in few words, and in-memory forms of the protocols that resolving needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import Column, QueryContext, TableName
from dbt.adapters.spark_mt.definition.definition import (
    DeclaredDefinition,
    ResolvedDefinition,
    StoredDefinition,
)
from dbt.adapters.spark_mt.definition.errors import Condition, Group, MaterializedTableError
from dbt.adapters.spark_mt.execution.table_history import Commit
from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, Source, SourceKind
from dbt.adapters.spark_mt.resolution.resolver import Resolution, Resolver
from dbt.adapters.spark_mt.resolution.settings import Settings
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from dbt.adapters.spark_mt.strategies.checks import StrategyChecks

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.table_format import TableFormat

NOW = datetime(2025, 11, 4, 10, 0, tzinfo=timezone.utc)
CATALOG, SCHEMA = "spark_catalog", "sales"
TABLE = TableName("high_value_orders", SCHEMA, CATALOG)
ORDERS = TableName("orders", SCHEMA, CATALOG)


UNKNOWN_QUERY = Condition(
    MaterializedTableError,
    Group.DEFINITION,
    "TEST_UNKNOWN_QUERY",
    "A test asks for a query that it did not describe.",
    text="{query}",
)


def columns(ddl: str) -> tuple[Column, ...]:
    """`"a INT; b DECIMAL(10,2)"` as columns."""
    parts = (item.strip().split(" ", 1) for item in ddl.split(";"))
    return tuple(Column(name, type_) for name, type_ in parts)


def context(**confs: str) -> QueryContext:
    """A session in UTC; confs by the last part of their name."""
    known = {"timeZone": "UTC", **confs}
    keys = {
        "timeZone": "spark.sql.session.timeZone",
        "caseSensitive": "spark.sql.caseSensitive",
        "timestampType": "spark.sql.timestampType",
        "ansi": "spark.sql.ansi.enabled",
    }
    return QueryContext(CATALOG, SCHEMA, tuple(sorted((keys[k], v) for k, v in known.items())))


def table_source(name: str, *via: str) -> Source:
    """A table with versions, in the tests' schema."""
    views = tuple(TableName(view, SCHEMA, CATALOG) for view in via)
    return Source(TableName(name, SCHEMA, CATALOG), SourceKind.VERSIONED, views)


def analyzed(query: str, ddl: str, *sources: Source, **facts: object) -> AnalyzedQuery:
    """What an engine says about a query; the expanded text names the tests' schema."""
    given = {"expanded": f"{query} /*+ full */", "context": context(), **facts}
    found = sources or (table_source("orders"),)
    return AnalyzedQuery(query=query, columns=columns(ddl), sources=found, **given)  # type: ignore[arg-type]


@dataclass
class Engine:
    """A query analyzer and a catalog in memory."""

    queries: dict[str, AnalyzedQuery] = field(default_factory=dict)
    tables: dict[str, StoredDefinition] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)

    def knows(self, *queries: AnalyzedQuery) -> Engine:
        """Remember queries by their text, original and expanded."""
        for query in queries:
            self.queries |= {query.query: query, query.expanded: query}
        return self

    def analyze(self, query: str, recorded: tuple = ()) -> AnalyzedQuery:  # noqa: ARG002 - a port
        if query not in self.queries:
            raise UNKNOWN_QUERY(query=query)
        return self.queries[query]

    def columns(self, query: str) -> tuple[Column, ...]:
        return self.analyze(query).columns

    def definition_of(self, name: TableName) -> StoredDefinition | None:
        self.looked_up.append(name.name)
        return self.tables.get(name.name)

    def create(self, name: str, declared: DeclaredDefinition) -> StoredDefinition:
        """Put a materialized table into the catalog."""
        table = TableName(name, SCHEMA, CATALOG)
        definition = stored(self.resolve(declared, name=table).definition, name=table)
        self.tables[name] = definition
        return definition

    def resolve(
        self,
        declared: DeclaredDefinition,
        before: StoredDefinition | None = None,
        *,
        name: TableName = TABLE,
        settings: Settings | None = None,
        now: datetime = NOW,
        table_format: TableFormat = FORMAT,
    ) -> Resolution:
        """Resolve a definition at a fixed time."""
        resolver = Resolver(
            self,
            self,
            settings or Settings(),
            lambda: now,
            StrategyChecks(),
            lambda _: table_format,
        )
        return resolver.resolve(name, declared, before)


QUERY = "SELECT user_id, product_id, price FROM orders WHERE price > 1000"
QUERY_COLUMNS = "user_id INT; product_id INT; price DECIMAL(10,2)"


def resolve(
    declared: DeclaredDefinition, ddl: str = QUERY_COLUMNS, **facts: object
) -> ResolvedDefinition:
    """The resolved definition of a new table over a query with the columns of `ddl`."""
    engine = Engine().knows(analyzed(declared.query, ddl, **facts))  # type: ignore[arg-type]
    return engine.resolve(declared).definition


def changed(definition: ResolvedDefinition, **values: object) -> ResolvedDefinition:
    """A copy with other resolved values."""
    return replace(definition, **values)  # type: ignore[arg-type]


def stored(definition: ResolvedDefinition, name: TableName = TABLE) -> StoredDefinition:
    """A definition as the catalog has it."""
    return StoredDefinition(table_id="id-1", name=name, generation=1, resolved=definition)


def conditions_of(error: MaterializedTableError) -> list[str]:
    """The conditions of an error that may stand for several."""
    return list(getattr(error, "conditions", (error.condition,)))


def commit(version, operation="WRITE", metadata=None, rows=None, **more):
    """A commit as the log of a table has it, with the effect that its operation has on Delta."""
    effect = FORMAT.effect_of(operation)
    previous, at = more.pop("previous", version - 1), more.pop("at", version)
    return Commit(version, previous, at, operation, metadata, rows, effect=effect, **more)
