"""Whether a query can be applied to changes of its sources alone, read from its tree.

Pure and conservative: what is not recognised is computed as a whole, with the reason.

* ROW_WISE: every row of the result is made of one row of one followed source: projections,
  filters, UNION ALL, generators, joins with tables that are looked up (FOR SYSTEM_TIME AS OF) or
  read at a version the user fixed, and views of which the same is true. The result over the rows
  added to the sources is then what they add to the result.
* KEYED: one row per group, the table's PRIMARY KEY being exactly the grouping columns, over rows
  that are row-wise. A change of the sources reaches the groups of the changed rows only.
* WHOLE: anything else.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.resolution.analysis import SourceKind
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.resolution.content import query_positions
from dbt.adapters.spark_mt.resolution.query_text import shape_of, without_lookups
from dbt.adapters.spark_mt.resolution.query_walk import QueryWalk
from dbt.adapters.spark_mt.resolution.select_rules import NoShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery, ViewQuery


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


_UNLIMITED = frozenset({"NOT_PINNABLE", "LOOKED_UP_AND_FOLLOWED", "PROCESS_FUNCTION"})


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
    views = _views(analyzed)
    unversioned = tuple(str(s.name) for s in followed if not s.has_positions)
    try:
        if analyzed.process is not None:
            problem = f"its rows are made by the process function {analyzed.process.name}"
            raise NoShapeError(reason="PROCESS_FUNCTION", problem=problem)  # noqa: TRY301 - as others
        _check_sources(analyzed)
        also = _named_in_views(analyzed) | views.keys()
        _check_lookups((set(lookups) - static) | (static & also))
        walk = QueryWalk(static, views)
        grouped = walk.check(definition.expanded_query, lambda: _key_places(definition))
    except NoShapeError as no:
        return RowShape(Shape.WHOLE, no.reason, no.problem, names, unversioned)
    shape = Shape.KEYED if grouped else Shape.ROW_WISE
    return RowShape(shape, followed=names, unversioned=unversioned)


_TABLES = frozenset({SourceKind.VERSIONED, SourceKind.UNVERSIONED})


def _named(definition: ResolvedDefinition) -> Counter[str]:
    """How often the expanded query names each relation, by its full name."""
    refs = shape_of(definition.expanded_query).relations
    return Counter(".".join(ref.parts).lower() for ref in refs)


def _views(analyzed: AnalyzedQuery) -> dict[str, ViewQuery]:
    return {str(view.name).lower(): view for view in analyzed.views}


def _named_in_views(analyzed: AnalyzedQuery) -> set[str]:
    """The full names of what the views on the way name."""
    return {
        str(TableName.of(*ref.parts[-3:]).within(view.catalog, view.schema)).lower()
        for view in analyzed.views
        for ref in shape_of(view.query).relations
    }


def _fixed(definition: ResolvedDefinition) -> Counter[str]:
    """How often it names each at a version that the user fixed."""
    refs = shape_of(definition.expanded_query).relations
    return Counter(".".join(ref.parts).lower() for ref in refs if ref.pinned)


def pinned_names(definition: ResolvedDefinition) -> frozenset[str]:
    """Return the full names, in lower case, of what it reads at a version that the user fixed."""
    return frozenset(_fixed(definition))


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
        problem = f"it looks {listed} up, which it also reads in another place or through a view"
        raise NoShapeError(reason="LOOKED_UP_AND_FOLLOWED", problem=problem)


def _check_sources(analyzed: AnalyzedQuery) -> None:
    for source in analyzed.sources:
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
