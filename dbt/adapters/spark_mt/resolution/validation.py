"""Validation of a definition: keys, partitioning, modes, start, cycles and result columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.capabilities import lacking, wants_strict_fence
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.errors import InvalidDefinitionError, MaterializedTableError
from dbt.adapters.spark_mt.definition.modes import (
    RefreshMode,
)
from dbt.adapters.spark_mt.definition.table_format import Capability
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.query.syntax import missing_comma
from dbt.adapters.spark_mt.query.types import parse_type
from dbt.adapters.spark_mt.resolution import columns as table_columns
from dbt.adapters.spark_mt.statements.clauses import CLAUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.columns import Column, TableName
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.query.analyzer import (
        AnalyzedQuery,
        QueryAnalyzer,
        Source,
        UpstreamDefinitions,
    )
    from dbt.adapters.spark_mt.query.types import DataType


def check_keys(
    table: str, definition: ResolvedDefinition, names: table_columns.Names
) -> Iterator[MaterializedTableError]:
    """Yield what is wrong with key, partitioning and clustering."""
    declared = definition.declared
    key = declared.primary_key.columns if declared.primary_key else ()
    clauses = (
        ("PRIMARY KEY", key, conditions.PRIMARY_KEY_COLUMN),
        ("PARTITIONED BY", declared.partitioned_by, conditions.PARTITION_COLUMN),
        ("CLUSTER BY", declared.clustered_by, conditions.CLUSTER_COLUMN),
    )
    for clause, columns, missing in clauses:
        seen: set[str] = set()
        for column in columns:
            if names.fold(column) in seen:
                yield conditions.REPEATED_COLUMN(clause=clause, table=table, column=column)
            elif names.find(column, definition.columns) is None:
                available = table_columns.listed(definition.columns)
                hint = missing_comma(declared.query, column)
                yield missing(table=table, column=column, columns=available, hint=hint)
            seen.add(names.fold(column))
    partitions = {names.fold(c) for c in declared.partitioned_by}
    if definition.columns and all(names.fold(c.name) in partitions for c in definition.columns):
        yield conditions.ONLY_PARTITION_COLUMNS(
            table=table, columns=table_columns.listed(definition.columns)
        )


def check_capabilities(
    table: str,
    definition: ResolvedDefinition,
    there: Iterable[Column],
    table_format: TableFormat,
) -> Iterator[MaterializedTableError]:
    """Yield what a definition asks for that the table's format cannot do.

    Args:
        table: The full name.
        definition: The definition.
        there: The columns that the table has; none where it is created or replaced.
        table_format: The format of the table.
    """
    wanted: dict[Capability, str] = {Capability.MATERIALIZED_TABLE: ""}
    if definition.declared.clustered_by:
        wanted[Capability.CLUSTERING] = ""
    if wants_strict_fence(dict(definition.declared.options)):
        wanted[Capability.STRICT_FENCE] = ""
    there = tuple(there)
    known = {c.name for c in there}
    if new := [c.name for c in definition.columns if not c.nullable and c.name not in known]:
        wanted[Capability.NOT_NULL] = f" ({', '.join(map(quote, new))})"
    nullable = {c.name for c in there if c.nullable}
    if later := [c.name for c in definition.columns if not c.nullable and c.name in nullable]:
        wanted[Capability.LATER_NOT_NULL] = f" ({', '.join(map(quote, later))})"
    for capability, subject in wanted.items():
        if capability not in table_format.capabilities:
            yield lacking(table, table_format, capability, subject)
    refused = partial(conditions.FORMAT_FEATURE, table=table, format=table_format.title)
    for feature, alternative in _not_stored(definition, table_format):
        yield refused(feature=feature, alternative=alternative)


def check_replacement(
    table: str, before: ResolvedDefinition, after: ResolvedDefinition, table_format: TableFormat
) -> None:
    """Refuse a definition whose columns or partitions take the place of those that there are.

    Args:
        table: The full name.
        before: The definition so far.
        after: The definition; it may have more columns, the last ones.
        table_format: The format of the table.

    Raises:
        MaterializedTableError: The format cannot replace them.
    """
    if Capability.REPLACEMENT in table_format.capabilities:
        return
    was = [(column.name.lower(), column.type) for column in before.columns]
    now = [(column.name.lower(), column.type) for column in after.columns]
    folded = ([c.lower() for c in each.declared.partitioned_by] for each in (before, after))
    partitions_were, partitions_are = folded
    if was != now[: len(was)] or partitions_were != partitions_are:
        raise lacking(table, table_format, Capability.REPLACEMENT)


def _not_stored(
    definition: ResolvedDefinition, table_format: TableFormat
) -> Iterator[tuple[str, str]]:
    """Yield which types and properties tables of a format cannot have, and what to do instead."""
    for column in definition.columns if table_format.types else ():
        for word in sorted(_words(parse_type(column.type)) & table_format.types.keys()):
            instead = f" Cast it to {table_format.types[word]}."
            yield f"the type {word} (column {quote(column.name)})", instead
    for key, value in definition.declared.options:
        if table_format.unversioned.get(key) == value:
            yield f"versions with the property {key} = {value}", ""


def _words(type_: DataType) -> set[str]:
    """Return the words in the names of a type and of the types in it."""
    inner = (*type_.elements, *(each.type for each in type_.fields))
    return set(type_.name.split()).union(*map(_words, inner))


def warnings(definition: ResolvedDefinition, query: AnalyzedQuery, *, new: bool) -> Iterator[str]:
    """Yield what the user should know about a definition that is valid."""
    if definition.refresh_mode is RefreshMode.FULL:
        for name in query.nondeterministic:
            yield f"The query uses {name}(): each refresh may compute other rows."
    for name in query.time_dependent:
        yield f"The query uses {name}(), which has one value for each refresh: it is never skipped."
    for clause in CLAUSES:
        if clause.warning is not None and (text := clause.warning(definition, new)):
            yield text


def same_table(a: TableName, b: TableName) -> bool:
    """Return whether two full names are the same table; catalogs compare without case."""
    return str(a).lower() == str(b).lower()


@dataclass(slots=True)
class SelfReferences:
    """Search for reads of `table` by sources, and by those of materialized tables among them.

    These are found by an analysis of the expanded query. The search ends at a table whose analysis
    fails: a refresh of that table reports the failure.
    """

    table: TableName
    analyzer: QueryAnalyzer
    upstream: UpstreamDefinitions
    _visited: set[str] = field(default_factory=set)

    def direct(self, sources: tuple[Source, ...]) -> Iterator[InvalidDefinitionError]:
        """Yield a read of the table by the query itself or by views in it."""
        for source in sources:
            if same_table(source.name, self.table):
                yield self._error((*source.via, source.name))
                return

    def through_others(self, sources: tuple[Source, ...]) -> Iterator[InvalidDefinitionError]:
        """Yield a read of the table by the materialized tables that its query reads."""
        path = self._search(sources, ())
        if path is not None:
            yield self._error(path)

    def _search(
        self, sources: tuple[Source, ...], downstream: tuple[TableName, ...]
    ) -> tuple[TableName, ...] | None:
        for source in sources:
            path = (*downstream, *source.via, source.name)
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
        # An expanded query means the same in another session: its names are full.
        if definition is None or definition.resolved.expanded_query == definition.declared.query:
            return ()
        try:
            return self.analyzer.analyze(definition.resolved.expanded_query).sources
        except MaterializedTableError:
            return ()

    def _error(self, path: tuple[TableName, ...]) -> InvalidDefinitionError:
        steps = " -> ".join(str(name) for name in (self.table, *path))
        return conditions.READS_ITSELF(table=self.table, path=steps)


def result_problems(definition: ResolvedDefinition, result: Iterable[Column]) -> tuple[str, ...]:
    """Return why the columns of `result` cannot be written to the table; nothing if they can.

    A refresh never changes the table's columns. They are found in the result by the names that the
    query had when it was defined. Only types that hold every value are accepted. Columns of other
    names are left out.

    Args:
        definition: The table's.
        result: The columns that the query returns now.
    """
    given, problems = found_columns(definition, table_columns.canonical_columns(result))
    if problems:
        return problems
    pairs = zip(definition.columns, table_columns.query_positions(definition), strict=True)
    return tuple(
        f"{column}: the query returns {found.type}, which the column cannot hold"
        for column, position in pairs
        if not table_columns.holds((found := given[position]).type, column.type)
    )


def found_columns(
    definition: ResolvedDefinition, given: tuple[Column, ...]
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Return the result's column for each recorded column of the query, and what is wrong.

    The names are compared in order for a query that returns one name twice.
    """
    names, expected = table_columns.Names.of(definition.context), definition.query_columns
    folded = [names.fold(column.name) for column in given]
    returned = ", ".join(quote(column.name) for column in given)
    if not table_columns.has_distinct_columns(definition):
        if folded == [names.fold(name) for name in expected]:
            return given, ()
        then = ", ".join(map(quote, expected))
        return (), (f"the query returns {returned}; when it was defined it returned {then}",)
    problems = []
    for name in expected:
        count = folded.count(names.fold(name))
        if count != 1:
            times = "no longer returns it" if count == 0 else f"returns it {count} times"
            problems.append(f"{quote(name)}: the query {times}")
    if problems:
        return (), (*problems, f"the query returns now: {returned}")
    return tuple(given[folded.index(names.fold(name))] for name in expected), ()
