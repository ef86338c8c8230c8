"""Columns of the table, and the query text whose rows are the table's content."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column, ColumnSpec, distinct_names, quote
from dbt.adapters.spark_mt.definition.errors import (
    InvalidDefinitionError,
    InvalidTypeError,
    MaterializedTableError,
)
from dbt.adapters.spark_mt.query import types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.columns import QueryContext
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.query.types import DataType


CASE_SENSITIVE = "spark.sql.caseSensitive"
TIMESTAMP_TYPE = "spark.sql.timestampType"


COLUMN_LIST_ERRORS = (
    conditions.DUPLICATE_COLUMN,
    conditions.COLUMN_LIST_LENGTH,
    conditions.COLUMN_NOT_IN_QUERY,
    conditions.COLUMN_NOT_LISTED,
    conditions.COLUMN_TYPE,
    conditions.UNKNOWN_TYPE,
)
"""Errors after which the table's columns are not known: the column list does not fit the query."""


_INSTEAD = {
    "STRUCT": "Give it a field with a type, or leave it out of the query.",
    "VOID": "CAST the NULL to a type in the query, such as CAST(NULL AS STRING).",
    "STRING": "CAST it to STRING in the query, which can still compare by the collation.",
    "INTERVAL": "CAST it to STRING in the query, or compute a number from it.",
    "TIME": "CAST it to STRING in the query.",
    "GEO": "Compute BINARY from it in the query, by ST_AsBinary.",
}
"""What to write in the place of a type, by the beginning of its name."""


@dataclass(frozen=True, slots=True)
class Names:
    """Comparison of names in a session: without case, unless a conf requires it."""

    case_sensitive: bool = False

    @classmethod
    def of(cls, context: QueryContext) -> Names:
        """Return the comparison by `spark.sql.caseSensitive` in `context`."""
        return cls(dict(context.confs).get(CASE_SENSITIVE, "false").lower() == "true")

    def fold(self, name: str) -> str:
        """Return one spelling for all names that are the same."""
        return name if self.case_sensitive else name.lower()

    def find(self, name: str, among: Iterable[Column]) -> Column | None:
        """Return the column of that name."""
        return next((c for c in among if self.fold(c.name) == self.fold(name)), None)


def listed(columns: Iterable[Column]) -> str:
    """Return names for an error: `'a', 'b'`."""
    return ", ".join(f"'{c.name}'" for c in columns)


def canonical_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return `columns` with canonical types; a type that is not understood stays as it is."""

    def canonical(text: str) -> str:
        try:
            return types.canonical_type(text)
        except InvalidTypeError:
            return text

    return tuple(replace(c, type=canonical(c.type)) for c in columns)


@dataclass(frozen=True, slots=True)
class ColumnList:
    """The table and the query's columns, types canonical, that a column list is applied to."""

    table: str
    query: tuple[Column, ...]
    context: QueryContext

    @property
    def names(self) -> Names:
        """The comparison of names."""
        return Names.of(self.context)

    def apply(
        self, specs: tuple[ColumnSpec, ...]
    ) -> tuple[tuple[Column, ...], list[MaterializedTableError]]:
        """Return the table's columns, and everything that is wrong with them.

        If something is wrong, the columns are as near as possible to what was meant. So checks of
        keys and partitions still have useful results.
        """
        errors: list[MaterializedTableError] = []
        columns = self.query
        if any(spec.type is not None for spec in specs):
            columns, errors = self._typed(specs)
        elif specs:
            columns, errors = self._renamed(specs)
        counts = Counter(self.names.fold(c.name) for c in columns)
        duplicates = (
            conditions.DUPLICATE_COLUMN(table=self.table, column=name, count=count)
            for name, count in counts.items()
            if count > 1
        )
        return columns, [*duplicates, *errors]

    def _renamed(
        self, specs: tuple[ColumnSpec, ...]
    ) -> tuple[tuple[Column, ...], list[MaterializedTableError]]:
        if len(specs) != len(self.query):
            error = conditions.COLUMN_LIST_LENGTH(
                table=self.table,
                listed=len(specs),
                actual=len(self.query),
                columns=listed(self.query),
            )
            return tuple(Column(s.name, "STRING") for s in specs), [error]
        pairs = zip(self.query, specs, strict=True)
        return tuple(replace(c, name=s.name, comment=s.comment) for c, s in pairs), []

    def _typed(
        self, specs: tuple[ColumnSpec, ...]
    ) -> tuple[tuple[Column, ...], list[MaterializedTableError]]:
        errors: list[MaterializedTableError] = []
        columns = []
        for spec in specs:
            given = self.names.find(spec.name, self.query)
            if given is None:
                known = listed(self.query)
                error = conditions.COLUMN_NOT_IN_QUERY(
                    table=self.table, column=spec.name, columns=known
                )
                errors.append(error)
            column, misfit = self._typed_column(spec, given)
            columns.append(column)
            errors += [misfit] if misfit else []
        in_list = {self.names.fold(s.name) for s in specs}
        errors += [
            conditions.COLUMN_NOT_LISTED(table=self.table, column=column.name)
            for column in self.query
            if self.names.fold(column.name) not in in_list
        ]
        return tuple(columns), errors

    def _typed_column(
        self, spec: ColumnSpec, given: Column | None
    ) -> tuple[Column, MaterializedTableError | None]:
        written = spec.type or (given.type if given else "STRING")
        column = Column(spec.name, written, nullable=not spec.not_null, comment=spec.comment)
        timestamp = dict(self.context.confs).get(TIMESTAMP_TYPE, "TIMESTAMP")
        try:
            wanted = types.parse_type(written, timestamp=timestamp if spec.type else "TIMESTAMP")
        except InvalidTypeError:
            error = conditions.UNKNOWN_TYPE(table=self.table, column=spec.name, type=written)
            return column, error
        column = replace(column, type=wanted.ddl)
        if given is None or holds(given.type, wanted.ddl):
            return column, None
        return column, conditions.COLUMN_TYPE(
            table=self.table,
            column=spec.name,
            listed=wanted.ddl,
            actual=given.type,
            instead=_type_advice(given.type, wanted),
        )


def _type_advice(given: str, wanted: DataType) -> str:
    """Return what to list or cast; Spark casts to CHAR and VARCHAR by a cast to STRING."""
    if not types.has_bounded_text(wanted):
        return f"List the column as {given}, or CAST the column to {wanted.ddl} in the query"
    unbounded = types.castable_ddl(wanted)
    if holds(given, unbounded):
        return f"List the column as {unbounded}; a CHECK in the column list can bound its length"
    return f"CAST the column to {unbounded} in the query, and list it as {unbounded}"


def unstored_columns(
    table: str, columns: Iterable[Column], stored: Iterable[Column] = ()
) -> Iterator[InvalidDefinitionError]:
    """Yield the columns with a type that no table can store.

    Args:
        table: The table.
        columns: Its columns.
        stored: Those that it has already.
    """
    there = {(column.name.lower(), column.type) for column in stored}
    known = tuple(columns)
    nothing = all(column.type == "VOID" for column in known)
    for column in known:
        try:
            part = types.unstored_part(types.parse_type(column.type), in_collection=nothing)
        except InvalidTypeError:
            continue
        if part is None or (column.name.lower(), column.type) in there:
            continue
        instead = next((text for name, text in _INSTEAD.items() if part.name.startswith(name)), "")
        yield conditions.TYPE_NOT_STORED(
            table=table, column=column.name, type=column.type, part=part.ddl, instead=instead
        )


def extended_list(specs: tuple[ColumnSpec, ...], analyzed: AnalyzedQuery) -> tuple[ColumnSpec, ...]:
    """Return a table's column list as it follows a changed query (FLIP-492).

    Columns that are not in the list are appended, and may be NULL. A column that the query no
    longer has leaves the list. So its loss is reported as for a table without a list. A list of
    names is matched by position, a typed one by name.

    Args:
        specs: The list so far; an empty one stays empty.
        analyzed: The changed query.
    """
    query, names = canonical_columns(analyzed.columns), Names.of(analyzed.context)
    if not any(spec.type is not None for spec in specs):
        new = query[len(specs) :] if specs else ()
        return (*specs[: len(query)], *(ColumnSpec(column.name) for column in new))
    known = {names.fold(spec.name) for spec in specs}
    kept = [spec for spec in specs if names.find(spec.name, query) is not None]
    added = [ColumnSpec(c.name, c.type) for c in query if names.fold(c.name) not in known]
    return (*kept, *added)


def holds(given: str, wanted: str) -> bool:
    """Return whether each value of the type `given` is one of `wanted`; both as in DDL."""
    if given == wanted:
        return True
    try:
        return types.casts_losslessly(types.parse_type(given), types.parse_type(wanted))
    except InvalidTypeError:
        return False


def quoted_names(names: Iterable[str]) -> str:
    """Return names in backticks, separated by commas."""
    return ", ".join(quote(name) for name in names)


def query_positions(definition: ResolvedDefinition) -> tuple[int, ...]:
    """Return for each column of the table which column of the query it is, counted from 0.

    A list of bare names is matched by position. A typed list is matched by name, and so is a table
    without a list. Columns that its sources gain are appended wherever the query has them. Names
    that the query has twice match nothing.
    """
    in_order = tuple(range(len(definition.columns)))
    names = Names.of(definition.context)
    places = {names.fold(n): i for i, n in enumerate(definition.query_columns)}
    if not is_by_name(definition) or len(places) < len(definition.query_columns):
        return in_order
    found = tuple(places.get(names.fold(c.name)) for c in definition.columns)
    return tuple(i for i in found if i is not None) if None not in found else in_order


def stored_columns(definition: ResolvedDefinition) -> tuple[Column, ...]:
    """Return the column of the table for each column of the query, in the order of the query."""
    pairs = zip(query_positions(definition), definition.columns, strict=True)
    return tuple(column for _, column in sorted(pairs, key=lambda pair: pair[0]))


def is_by_name(definition: ResolvedDefinition) -> bool:
    """Return whether the table has the names of the query's columns, in any order."""
    specs = definition.declared.columns
    return not specs or any(spec.type is not None for spec in specs)


def projection(definition: ResolvedDefinition) -> tuple[str, ...]:
    """Return an SQL expression for each column of the table, over `content_query`'s inner names."""
    names = inner_names(definition)
    typed = any(spec.type is not None for spec in definition.declared.columns)

    def expression(inner: str, column: Column) -> str:
        if typed and (target := _cast_type(column.type)):
            return f"CAST({quote(inner)} AS {target}) AS {quote(column.name)}"
        if inner == column.name:
            return quote(inner)
        return f"{quote(inner)} AS {quote(column.name)}"

    return tuple(
        expression(names[position], column)
        for column, position in zip(definition.columns, query_positions(definition), strict=True)
    )


def content_query(definition: ResolvedDefinition, body: str, *more: str) -> str:
    """Wrap a form of the definition's query so that it yields the table's columns.

    Args:
        definition: Has the columns, casts and renames.
        body: The expanded query, or the same with its sources pinned to versions.
        more: Names of columns that `body` has after those of the query. They are passed on.

    Returns:
        A query that takes the columns of `body` by their recorded names. If a query has one name
        twice it takes them by position; the caller has compared the names in order.
    """
    names = quoted_names((*inner_names(definition), *more))
    alias = "`_`" if has_distinct_columns(definition) else f"`_`({names})"
    shown = ", ".join((*projection(definition), *map(quote, more)))
    return f"SELECT {shown} FROM (\n{body}\n) AS {alias}"


def has_distinct_columns(definition: ResolvedDefinition) -> bool:
    """Return whether the names of the query's own columns are distinct."""
    return inner_names(definition) == definition.query_columns


def null_column(column: Column) -> str:
    """Return a NULL of a column's type under its name, as an item of SELECT."""
    return f"CAST(NULL AS {_cast_type(column.type) or column.type}) AS {quote(column.name)}"


def inner_names(definition: ResolvedDefinition) -> tuple[str, ...]:
    """Return the query's own names, or numbers if a query has one name twice."""
    return distinct_names(definition.query_columns)


def _cast_type(text: str) -> str | None:
    try:
        return types.castable_ddl(types.parse_type(text))
    except InvalidTypeError:
        return None
