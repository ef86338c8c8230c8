"""Whether a query can be applied to changes of its sources alone, read from its tree.

Pure and conservative: what is not recognised is computed as a whole, with the reason.

* ROW_WISE: every row of the result is made of one row of one followed source: projections,
  filters, UNION ALL, generators, joins with tables that are looked up (FOR SYSTEM_TIME AS OF) or
  read at a version the user fixed. The result over the rows added to the sources is then what they
  add to the result.
* KEYED: one row per group, the table's PRIMARY KEY being exactly the grouping columns, over rows
  that are row-wise. A change of the sources reaches the groups of the changed rows only.
* WHOLE: anything else.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.resolution.analysis import SourceKind
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.resolution.content import query_positions
from dbt.adapters.spark_mt.resolution.query_text import shape_of, without_lookups
from dbt.adapters.spark_mt.resolution.select_rules import (
    NoShapeError,
    check_clauses,
    check_expressions,
    check_group_by,
)

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery


class Shape(Enum):
    """What part of a result a change of its sources reaches."""

    ROW_WISE = "row-wise"
    KEYED = "keyed"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class RowShape:
    """The shape of a query, with the reason where it is computed as a whole.

    Args:
        reason: A code such as `DISTINCT`; empty unless the shape is WHOLE.
        problem: The reason as part of a sentence: `it uses DISTINCT`.
        followed: Full names of the sources whose changes count.
        unversioned: Those of them whose changes nobody can tell.
    """

    shape: Shape
    reason: str = ""
    problem: str = ""
    followed: tuple[str, ...] = ()
    unversioned: tuple[str, ...] = ()

    @property
    def can_be_limited(self) -> bool:
        """Whether the query can be computed over a part of its sources' rows."""
        return not self.unversioned and self.reason not in _UNLIMITED


_UNLIMITED = frozenset({"NOT_PINNABLE", "LOOKED_UP_AND_FOLLOWED"})


def row_shape(definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> RowShape:
    """Return the shape of a definition's query.

    Args:
        definition: Its expanded query is looked at; the original tells which tables are looked up.
        analyzed: What the engine says of the query: its sources, and whether it can be pinned.
    """
    lookups = Counter(str(name).lower() for name in lookups_of(definition))
    fixed = lookups + _fixed(definition)
    named = _named(definition)
    static = {name for name, times in fixed.items() if times >= named[name]}
    tables = [s for s in analyzed.sources if s.kind in _TABLES]
    followed = [s for s in tables if s.via or str(s.name).lower() not in static]
    names = tuple(sorted(str(s.name) for s in followed))
    unversioned = tuple(str(s.name) for s in followed if s.kind is SourceKind.UNVERSIONED)
    try:
        _check_sources(analyzed)
        _check_lookups(set(lookups) - static)
        shape = _Walk(static).shape(definition)
    except NoShapeError as no:
        return RowShape(Shape.WHOLE, no.reason, no.problem, names, unversioned)
    return RowShape(shape, followed=names, unversioned=unversioned)


_TABLES = frozenset({SourceKind.VERSIONED, SourceKind.UNVERSIONED})


def _named(definition: ResolvedDefinition) -> Counter[str]:
    """How often the expanded query names each relation, by its full name."""
    refs = shape_of(definition.expanded_query).relations
    return Counter(".".join(ref.parts).lower() for ref in refs)


def _fixed(definition: ResolvedDefinition) -> Counter[str]:
    """How often it names each at a version that the user fixed."""
    refs = shape_of(definition.expanded_query).relations
    return Counter(".".join(ref.parts).lower() for ref in refs if ref.pinned)


def lookups_of(definition: ResolvedDefinition) -> tuple[TableName, ...]:
    """Return the tables that the original query joins FOR SYSTEM_TIME AS OF the processing time.

    One that is joined twice is there twice.
    """
    context = definition.context
    names = without_lookups(definition.asked.query).lookups
    return tuple(TableName.of(*n[-3:]).within(context.catalog, context.schema) for n in names)


def _check_lookups(also_followed: set[str]) -> None:
    if also_followed:
        listed = ", ".join(sorted(also_followed))
        problem = f"it reads {listed} in one place and looks it up in another"
        raise NoShapeError(reason="LOOKED_UP_AND_FOLLOWED", problem=problem)


def _check_sources(analyzed: AnalyzedQuery) -> None:
    for source in analyzed.sources:
        if source.kind is SourceKind.VIEW:
            raise NoShapeError(reason="VIEW", problem=f"it reads the view {source.name}")
        if source.kind is SourceKind.FUNCTION:
            raise NoShapeError(
                reason="FUNCTION", problem=f"it calls the persistent function {source.name}"
            )
    if not analyzed.pinnable:
        raise NoShapeError(
            reason="NOT_PINNABLE", problem="its sources cannot be read as of a version"
        )
    if analyzed.time_dependent:
        functions = ", ".join(f"{name}()" for name in analyzed.time_dependent)
        raise NoShapeError(reason="TIME_DEPENDENT", problem=f"it uses {functions}")


@dataclass(slots=True)
class _Walk:
    """Looks at a query from the outside to its relations."""

    static: Container[str]
    ctes: dict[str, exp.Expr] = field(default_factory=dict)

    def shape(self, definition: ResolvedDefinition) -> Shape:
        """Return ROW_WISE or KEYED, or raise the reason why it is neither."""
        try:
            tree = sqlglot.parse_one(definition.expanded_query, read="spark")
        except (SqlglotError, RecursionError):
            raise NoShapeError(
                reason="UNREADABLE", problem="its text cannot be taken apart"
            ) from None
        query = self._opened(tree)
        if isinstance(query, exp.Select) and query.args.get("group"):
            self._check_grouped(query, definition)
            return Shape.KEYED
        self._check_rows(query)
        return Shape.ROW_WISE

    def _opened(self, node: exp.Expr) -> exp.Expr:
        """Take the CTEs of a query, and go through parentheses around it."""
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            if with_.args.get("recursive"):
                raise NoShapeError(reason="RECURSIVE", problem="it is recursive")
            for cte in with_.expressions:
                if self.ctes.get(cte.alias.lower(), cte.this) is not cte.this:
                    raise NoShapeError(
                        reason="SHADOWED_CTE", problem=f"it names two CTEs {cte.alias}"
                    )
                self.ctes[cte.alias.lower()] = cte.this
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            check_clauses(node)
            return self._opened(node.this)
        return node

    def _check_grouped(self, select: exp.Select, definition: ResolvedDefinition) -> None:
        check_clauses(select, grouped=True)
        check_expressions(select, grouped=True)
        self._check_relations(select)
        check_group_by(select, _key_places(definition))

    def _check_rows(self, node: exp.Expr) -> None:
        query = self._opened(node)
        if isinstance(query, exp.Union):
            check_clauses(query)
            if query.args.get("distinct"):
                raise NoShapeError(
                    reason="UNION_DISTINCT", problem="it uses UNION, which removes duplicates"
                )
            self._check_rows(query.this)
            self._check_rows(query.expression)
        elif isinstance(query, exp.Select):
            check_clauses(query)
            check_expressions(query)
            self._check_relations(query)
        else:
            raise NoShapeError(reason="OPERATOR", problem=f"it uses {query.key.upper()}")

    def _check_relations(self, select: exp.Select) -> None:
        from_ = select.args.get("from_")
        if not isinstance(from_, exp.From):
            raise NoShapeError(reason="CONSTANT_ROWS", problem="it has rows that no source gives")
        if self._is_static(from_.this):
            raise NoShapeError(
                reason="LOOKUP_FIRST", problem="its rows come from a table that is looked up"
            )
        self._check_relation(from_.this)
        for join in select.args.get("joins") or ():
            self._check_join(join)

    def _check_relation(self, relation: exp.Expr) -> None:
        """A relation behind FROM, which gives the rows."""
        _check_plain(relation)
        for join in relation.args.get("joins") or ():
            self._check_join(join)
        if isinstance(relation, exp.Table):
            cte = self._cte(relation)
            if cte is not None:
                self._check_rows(cte)
        elif isinstance(relation, exp.Subquery):
            self._check_rows(relation.this)
        else:
            raise NoShapeError(reason="RELATION", problem=f"it reads {relation.key.upper()}")

    def _check_join(self, join: exp.Join) -> None:
        relation = join.this
        if isinstance(relation, exp.Lateral) and _is_generator(relation):
            return
        _check_plain(relation)
        if not self._is_static(relation):
            raise NoShapeError(reason="JOIN", problem="it joins sources that are both followed")
        if join.side.upper() in {"RIGHT", "FULL"}:
            raise NoShapeError(
                reason="OUTER_JOIN", problem="it keeps unmatched rows of a table that is looked up"
            )

    def _is_static(self, relation: exp.Expr) -> bool:
        """Whether a relation's changes do not count: looked up, or at a version the user fixed."""
        if not isinstance(relation, exp.Table) or self._cte(relation) is not None:
            return False
        return ".".join(part.name for part in relation.parts).lower() in self.static

    def _cte(self, table: exp.Table) -> exp.Expr | None:
        return None if table.db else self.ctes.get(table.name.lower())


def _check_plain(relation: exp.Expr) -> None:
    if relation.args.get("sample"):
        raise NoShapeError(reason="SAMPLE", problem="it takes a sample")
    if relation.args.get("pivots"):
        raise NoShapeError(reason="PIVOT", problem="it uses PIVOT")
    if isinstance(relation, exp.Table) and not isinstance(relation.this, exp.Identifier):
        raise NoShapeError(
            reason="TABLE_FUNCTION", problem=f"it reads the table function {relation.this.name}"
        )


def _is_generator(lateral: exp.Lateral) -> bool:
    return not isinstance(lateral.this, (exp.Query, exp.Subquery))


def _key_places(definition: ResolvedDefinition) -> Sequence[int]:
    """Return which columns of the query the table's key is, counted from 0."""
    key = definition.asked.primary_key
    if key is None:
        raise NoShapeError(
            reason="NO_KEY", problem="it groups rows, and the table has no PRIMARY KEY"
        )
    names = Names.of(definition.context)
    places = {
        names.fold(column.name): place
        for column, place in zip(definition.columns, query_positions(definition), strict=True)
    }
    return [places[names.fold(column)] for column in key.columns]
