"""Definitions that ALTER statements declare.

ALTER … ADD merges a second query on the same key into one definition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column, ColumnSpec, quote
from dbt.adapters.spark_mt.definition.conditions import raise_violations
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.resolution import columns as table_columns
from dbt.adapters.spark_mt.statements import nodes
from dbt.adapters.spark_mt.statements.clauses import CLAUSES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery


ClauseAlteration = nodes.SetClause | nodes.SetOptions | nodes.ResetOptions
"""The statements that leave the query alone."""


_ALTERNATIVE = (
    "ALTER MATERIALIZED TABLE {table} AS, with a query that joins both, does the same and computes "
    "the table as well."
)


@singledispatch
def altered(statement: object, declared: DeclaredDefinition) -> DeclaredDefinition:
    """Return `declared` with the clause that `statement` names changed.

    Args:
        statement: A `ClauseAlteration` or an `AlterQuery`.
        declared: The definition as it was asked for so far.
    """
    raise TypeError(statement, declared)


@altered.register
def _(statement: nodes.SetClause, declared: DeclaredDefinition) -> DeclaredDefinition:
    return replace(declared, **{statement.field: statement.value})


@altered.register
def _(statement: nodes.SetOptions, declared: DeclaredDefinition) -> DeclaredDefinition:
    """A key that is there keeps its place."""
    wanted = dict(statement.options)
    kept = tuple((key, wanted.get(key, value)) for key, value in declared.options)
    there = {key for key, _ in declared.options}
    return replace(
        declared, options=kept + tuple(o for o in statement.options if o[0] not in there)
    )


@altered.register
def _(statement: nodes.ResetOptions, declared: DeclaredDefinition) -> DeclaredDefinition:
    kept = tuple((key, value) for key, value in declared.options if key not in statement.keys)
    return replace(declared, options=kept)


@altered.register
def _(statement: nodes.AlterQuery, declared: DeclaredDefinition) -> DeclaredDefinition:
    """A clause that is left out stays as it was."""
    given: dict[str, Any] = {
        clause.field: clause.declared(statement.declared) for clause in CLAUSES
    }
    stated = {field: value for field, value in given.items() if value not in (None, ())}
    return replace(declared, query=statement.declared.query, **stated)


@dataclass(frozen=True, slots=True)
class _Merge:
    """Two queries on one key.

    Args:
        stored: The definition so far.
        added: The second query.
    """

    stored: StoredDefinition
    added: AnalyzedQuery

    @property
    def names(self) -> table_columns.Names:
        return table_columns.Names.of(self.stored.resolved.context)

    @property
    def key(self) -> tuple[str, ...]:
        key = self.stored.declared.primary_key
        return key.columns if key else ()

    def is_key(self, column: str) -> bool:
        return self.names.fold(column) in {self.names.fold(k) for k in self.key}

    @property
    def new(self) -> tuple[Column, ...]:
        """The columns that the table gets."""
        columns = table_columns.canonical_columns(self.added.columns)
        return tuple(c for c in columns if not self.is_key(c.name))

    def violations(self) -> Iterator[MaterializedTableError]:
        table = str(self.stored.name)
        if not self.key:
            yield conditions.ADD_WITHOUT_KEY(table=table)
            return
        for part in self.key:
            if self.names.find(part, self.added.columns) is None:
                available = table_columns.listed(self.added.columns)
                yield conditions.ADDED_KEY_MISSING(table=table, column=part, columns=available)
        for column in self.new:
            if self.names.find(column.name, self.stored.resolved.columns) is not None:
                yield conditions.ADDED_COLUMN_EXISTS(table=table, column=column.name)
        if not self.new:
            yield conditions.NOTHING_ADDED(table=table)

    def query(self) -> str:
        """Return both queries joined FULL; the table's columns have the order of the first one."""
        first, second = self._apart("existing"), self._apart("added")
        names = self._existing_names()
        added_key = {name: self._in_added(name) for name in names if self.is_key(name)}
        columns = [
            f"coalesce({first}.{quote(name)}, {second}.{quote(added_key[name])}) AS {quote(name)}"
            if name in added_key
            else f"{first}.{quote(name)}"
            for name in names
        ]
        columns += [f"{second}.{quote(column.name)}" for column in self.new]
        on = [f"{first}.{quote(n)} <=> {second}.{quote(k)}" for n, k in added_key.items()]
        return (
            f"SELECT {', '.join(columns)}\n"
            f"FROM (\n{self._existing_text()}\n) AS {first}({table_columns.quoted_names(names)})\n"
            f"FULL OUTER JOIN (\n{self.added.query}\n) AS {second}\n"
            f"ON {' AND '.join(on)}"
        )

    def _existing_text(self) -> str:
        """The first query as written where it means the same here, else by full names."""
        resolved = self.stored.resolved
        here, there = self.added.context, resolved.context
        same = (here.catalog, here.schema) == (there.catalog, there.schema)
        return resolved.declared.query if same else resolved.expanded_query

    def _existing_names(self) -> tuple[str, ...]:
        """The table's names for the first query's columns, in that query's order."""
        resolved = self.stored.resolved
        pairs = zip(table_columns.query_positions(resolved), resolved.columns, strict=True)
        return tuple(column.name for _, column in sorted(pairs, key=lambda pair: pair[0]))

    def _in_added(self, key: str) -> str:
        found = self.names.find(key, self.added.columns)
        return found.name if found else key

    def _apart(self, name: str) -> str:
        taken = self.stored.declared.query + self.added.query
        while name in taken:
            name += "_"
        return name

    def columns(self) -> tuple[ColumnSpec, ...]:
        """Return the column list as written, followed by the new columns; none stays none."""
        specs = self.stored.declared.columns
        if not specs:
            return ()
        typed = any(spec.type is not None for spec in specs)
        return (*specs, *(ColumnSpec(c.name, c.type if typed else None) for c in self.new))


def with_added_query(stored: StoredDefinition, added: AnalyzedQuery) -> DeclaredDefinition:
    """Return the definition of one query that yields the columns of both, joined on the key.

    Rows that only one of them has stay, with NULL in the columns of the other; a NULL in the key
    equals a NULL.

    Args:
        stored: The definition so far.
        added: The second query, analysed in the session that adds it.

    Raises:
        MaterializedTableError: There is no key, or the query does not fit it; several violations
            are one `InvalidDefinitionError`.
    """
    merge = _Merge(stored, added)
    raise_violations(str(stored.name), list(merge.violations()))
    return replace(stored.declared, query=merge.query(), columns=merge.columns())
