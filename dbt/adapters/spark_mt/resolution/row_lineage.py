"""Row lineage of a query: the result rows that a changed source row reaches.

Pure and conservative: a query that is not recognised is WHOLE, with the reason.

* ROW_WISE: every row of the result is made of one row of one followed source. Row-wise are
  projections, filters, UNION ALL, generators and views of row-wise queries. So are joins with
  tables that are looked up (FOR SYSTEM_TIME AS OF) or read at a fixed version. The result over
  the rows added to the sources is then what they add to the result.
* KEYED: one row per group over row-wise rows. The PRIMARY KEY of the table is exactly the grouping
  columns. A change of the sources reaches the groups of the changed rows only.
* WHOLE: anything else.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.query.binder import OF_FILES
from dbt.adapters.spark_mt.query.boundary import UNEXPECTED, guarded
from dbt.adapters.spark_mt.query.differential_keys import key_of_result
from dbt.adapters.spark_mt.query.operator_builder import definition_tree
from dbt.adapters.spark_mt.query.text import shape_of, without_lookups
from dbt.adapters.spark_mt.resolution.columns import Names, query_positions

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.query.operators import Tree


_CODES: dict[type[ops.Operator], str] = {
    ops.Apply: "SUBQUERY",
    ops.Distinct: "DISTINCT",
    ops.Limit: "LIMIT",
    ops.Values: "RELATION",
    ops.Window: "WINDOW_FUNCTION",
}
PROBLEMS = {
    "AGGREGATE": "it aggregates all rows ({})",
    "CONSTANT_ROWS": "it has rows that no source gives",
    "DISTINCT": "it uses DISTINCT",
    "GROUP": "it uses GROUP",
    "LIMIT": "it uses LIMIT",
    "OFFSET": "it uses OFFSET",
    "OPERATOR": "it uses {}",
    "RELATION": "it reads VALUES",
    "SUBQUERY": "it uses a subquery in an expression",
    "UNION_DISTINCT": "it uses UNION, which removes duplicates",
    "WINDOW_FUNCTION": "it uses a window function",
}
"""Codes and parts of sentences for operators that combine rows."""
_UNKNOWN_NAMES = frozenset({"UNRESOLVED_COLUMN", "AMBIGUOUS_COLUMN", "UNKNOWN_COLUMNS", "COLUMNS"})
_UNLIMITED = frozenset({"NOT_PINNABLE", "LOOKED_UP_AND_FOLLOWED", "PROCESS_FUNCTION", OF_FILES})
_AT_AN_INSTANT = re.compile(r"\bAS\s+OF\b|@", re.IGNORECASE)
"""Pattern of a read of a table otherwise than as it is now; a cheap first check."""
_TABLES = frozenset({SourceKind.VERSIONED, SourceKind.UNVERSIONED})


class NoShapeError(Exception):
    """A part of a query makes rows of the result depend on several rows of the source.

    Args:
        reason: A code.
        problem: The same as part of a sentence about the query.
    """

    def __init__(self, *, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason
        self.problem = problem


@dataclass(frozen=True, slots=True)
class _Rules:
    """Check of the operators of a query, from the root to its scans.

    Args:
        static: Full names of tables whose changes do not count, in lower case.
    """

    static: Container[str]

    def check(self, node: ops.Operator) -> None:
        """Make sure that each row of an operator is made of one row of one followed source.

        Raises:
            NoShapeError: It is not.
        """
        match node:
            case ops.Project(view=TableName() as view):
                self._check_view(node.input, view)
            case ops.Filter(input=ops.Window()):
                raise NoShapeError(reason="QUALIFY", problem="it uses QUALIFY")
            case ops.Project() | ops.Filter() | ops.Generate() | ops.Sort():
                self.check(node.input)
            case ops.Union():
                for branch in node.branches:
                    self.check(branch)
            case ops.Join():
                self._check_join(node)
            case ops.Scan():
                self._check_scan(node)
            case _:
                reason, problem = _problem(node)
                raise NoShapeError(reason=reason, problem=problem)

    def _check_view(self, rows: ops.Operator, view: TableName) -> None:
        try:
            self.check(rows)
        except NoShapeError as no:
            problem = f"of the view {view}: {no.problem}"
            raise NoShapeError(reason=no.reason, problem=problem) from no

    def _check_scan(self, scan: ops.Scan) -> None:
        if scan.views and scan.version:
            problem = f"the view {scan.views[-1]} reads a version of {scan.relation.name}"
            raise NoShapeError(reason="VERSION_IN_VIEW", problem=problem)
        if self._is_static(scan):
            problem = "its rows come from a table that is looked up"
            raise NoShapeError(reason="LOOKUP_FIRST", problem=problem)

    def _check_join(self, node: ops.Join) -> None:
        if node.subquery:
            raise NoShapeError(reason="SUBQUERY", problem=PROBLEMS["SUBQUERY"])
        self.check(node.left)
        if not self._is_static(node.right):
            problem = "it joins sources that are both followed"
            raise NoShapeError(reason="JOIN", problem=problem)
        if node.kind in {ops.JoinKind.RIGHT, ops.JoinKind.FULL}:
            problem = "it keeps unmatched rows of a table that is looked up"
            raise NoShapeError(reason="OUTER_JOIN", problem=problem)

    def _is_static(self, node: ops.Operator) -> bool:
        """Return whether changes do not count: of a lookup table, or at a fixed version."""
        static = isinstance(node, ops.Scan) and str(node.relation).lower() in self.static
        return static and isinstance(node, ops.Scan) and not node.views


def _problem(node: ops.Operator) -> tuple[str, str]:
    """Return why an operator combines rows."""
    code, subject = _CODES.get(type(node), "OPERATOR"), type(node).__name__
    match node:
        case ops.Opaque():
            return node.reason, node.problem
        case ops.Aggregate():
            code = "GROUP" if node.groups else "AGGREGATE"
            subject = ", ".join(call.name for call in node.calls)
        case ops.Distinct(input=ops.Union()):
            code = "UNION_DISTINCT"
        case ops.Limit(count=None):
            code = "OFFSET"
        case ops.SetOperation():
            subject = "INTERSECT" if node.intersect else "EXCEPT"
        case ops.Values(text=""):
            code = "CONSTANT_ROWS"
    return code, PROBLEMS[code].format(subject)


def _groups(tree: Tree) -> ops.Aggregate | None:
    """Return the aggregate that gives the result of a query, with a projection over it."""
    root = tree.root
    while isinstance(root, ops.Sort):
        root = root.input
    if not isinstance(root, ops.Project):
        return None
    rows = root.input
    while isinstance(rows, ops.Sort):
        rows = rows.input
    if isinstance(rows, ops.Filter) and isinstance(rows.input, ops.Aggregate) and rows.input.groups:
        raise NoShapeError(reason="HAVING", problem="it uses HAVING")
    return rows if isinstance(rows, ops.Aggregate) and rows.groups else None


def _check_key(tree: Tree, groups: ops.Aggregate, key: Sequence[int]) -> None:
    """Make sure that the grouping expressions are the key: a column for each, no other."""
    if groups.sets is not None:
        raise NoShapeError(reason="GROUPING_SETS", problem="it groups by several sets of columns")
    parts = key_of_result(tree.root)
    shown = {place for places in parts for place in places}
    if not (parts and set(key) <= shown and all(set(key) & set(places) for places in parts)):
        problem = "the PRIMARY KEY is not what it groups by"
        raise NoShapeError(reason="KEY_IS_NOT_GROUP", problem=problem)


def _no_shape(problem: str) -> bool:
    raise NoShapeError(reason=UNEXPECTED, problem=problem)


@guarded(_no_shape, NoShapeError)
def _is_keyed(definition: ResolvedDefinition, tree: Tree, rules: _Rules) -> bool:
    """Return whether a query groups row-wise rows by its key; otherwise it is row-wise.

    Raises:
        NoShapeError: It is neither.
    """
    if metadata := [problem for code, problem in tree.gaps if code == OF_FILES]:
        raise NoShapeError(reason=OF_FILES, problem=metadata[0])
    groups = _groups(tree)
    if groups is None:
        rules.check(tree.root)
        return False
    rules.check(groups.input)
    key = _key_places(definition)
    unknown = [problem for code, problem in tree.gaps if code in _UNKNOWN_NAMES]
    if unknown:
        raise NoShapeError(reason="KEY_IS_NOT_GROUP", problem=unknown[0])
    _check_key(tree, groups, key)
    return True


class Shape(Enum):
    """Part of a result that a change of its sources reaches."""

    ROW_WISE = "row-wise"
    KEYED = "keyed"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class RowShape:
    """The shape of a query, with the reason if it is computed as a whole.

    Args:
        reason: A code such as `DISTINCT`; empty unless the shape is WHOLE.
        problem: The reason as part of a sentence: `it uses DISTINCT`.
        followed: Full names of the sources whose changes count.
        unversioned: Those of them whose changes cannot be read.
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


def row_shape(definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> RowShape:
    """Return the shape of a definition's query.

    Args:
        definition: Its expanded query is checked; the original names the tables of lookup joins.
        analyzed: The engine's analysis: its sources, and whether the query can be pinned.
    """
    lookups = _looked_up(definition)
    static = _static(definition, lookups + _named(definition, fixed=True))
    tables = [s for s in analyzed.sources if s.kind in _TABLES]
    followed = [s for s in tables if s.via or str(s.name).lower() not in static]
    names = tuple(sorted(str(s.name) for s in followed))
    unversioned = tuple(str(s.name) for s in followed if not s.has_positions)
    try:
        if analyzed.process is not None:
            problem = f"its rows are made by the process function {analyzed.process.name}"
            raise NoShapeError(reason="PROCESS_FUNCTION", problem=problem)  # noqa: TRY301 - as others
        _check_sources(analyzed)
        also = _named_in_views(analyzed) | {str(v.name).lower() for v in analyzed.views}
        _check_lookups((set(lookups) - static) | (static & also))
        tree = definition_tree(definition, analyzed)
        grouped = _is_keyed(definition, tree, _Rules(static))
    except NoShapeError as no:
        return RowShape(Shape.WHOLE, no.reason, no.problem, names, unversioned)
    shape = Shape.KEYED if grouped else Shape.ROW_WISE
    return RowShape(shape, followed=names, unversioned=unversioned)


def unfollowed_names(definition: ResolvedDefinition) -> frozenset[str]:
    """Return the full names, in lower case, of sources whose changes are not to reach the table.

    It reads these only at a version that the user fixed or, in mode CONTINUOUS, only by lookup
    joins.
    """
    if not _AT_AN_INSTANT.search(f"{definition.declared.query}\n{definition.expanded_query}"):
        return frozenset()
    fixed = _named(definition, fixed=True)
    if definition.refresh_mode is RefreshMode.CONTINUOUS:
        fixed = fixed + _looked_up(definition)
    return frozenset(_static(definition, fixed))


def _looked_up(definition: ResolvedDefinition) -> Counter[str]:
    return Counter(str(name).lower() for name in lookups_of(definition))


def _static(definition: ResolvedDefinition, fixed: Counter[str]) -> set[str]:
    """Return the names that the expanded query has in these places only."""
    named = _named(definition) if fixed else Counter[str]()
    return {name for name, times in fixed.items() if times >= named[name]}


def _named(definition: ResolvedDefinition, *, fixed: bool = False) -> Counter[str]:
    """Count how often the expanded query names each relation, or each at a version of the user."""
    refs = shape_of(definition.expanded_query).relations
    return Counter(".".join(ref.parts).lower() for ref in refs if ref.pinned or not fixed)


def _named_in_views(analyzed: AnalyzedQuery) -> set[str]:
    """Return the full names of the relations that the query's views name."""
    return {
        str(TableName.of(*ref.parts[-3:]).within(view.catalog, view.schema)).lower()
        for view in analyzed.views
        for ref in shape_of(view.query).relations
    }


def pinned_names(definition: ResolvedDefinition) -> frozenset[str]:
    """Return the full names, in lower case, of relations at a version that the user fixed."""
    return frozenset(_named(definition, fixed=True))


def lookups_of(definition: ResolvedDefinition) -> tuple[TableName, ...]:
    """Return the tables that the original query joins FOR SYSTEM_TIME AS OF the processing time.

    A table that is joined twice is returned twice.
    """
    context = definition.context
    names = without_lookups(definition.declared.query).lookups
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
        raise NoShapeError(reason="NOT_PINNABLE", problem=not_pinnable(analyzed))
    if analyzed.time_dependent:
        functions = ", ".join(f"{name}()" for name in analyzed.time_dependent)
        raise NoShapeError(reason="TIME_DEPENDENT", problem=f"it uses {functions}")


def not_pinnable(analyzed: AnalyzedQuery) -> str:
    """Say why the sources of a query cannot be read as of a version, and what to rewrite."""
    why = f" ({analyzed.unpinned})" if analyzed.unpinned else ""
    return (
        f"its sources cannot be read as of a version{why}: name each table after FROM or JOIN "
        "itself, not by IDENTIFIER(…), by TABLE or in a table function, and qualify columns by an "
        "alias"
    )


def _key_places(definition: ResolvedDefinition) -> Sequence[int]:
    """Return which columns of the query the table's key is, counted from 0."""
    key = definition.declared.primary_key
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
