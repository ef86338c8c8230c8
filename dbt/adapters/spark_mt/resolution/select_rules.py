"""What one SELECT may hold so that each row of its source counts for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.resolution.aggregates import is_aggregate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HARMLESS = frozenset(
    {"expressions", "from_", "joins", "laterals", "where", "with_", "hint", "kind"}
    | {"order", "sort", "cluster", "distribute", "this", "expression", "alias", "distinct"}
    | {"by_name", "side", "wrapped"}
)
"""Clauses that leave rows alone, and those that are looked at elsewhere."""


class NoShapeError(Exception):
    """A part of a query lets rows of the source count for each other.

    Args:
        reason: A code.
        problem: The same as part of a sentence about the query.
    """

    def __init__(self, *, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason
        self.problem = problem


def check_clauses(query: exp.Expr, *, grouped: bool = False) -> None:
    """Make sure that a query has no clause that compares or counts rows.

    Raises:
        NoShapeError: It has; the reason names the clause.
    """
    for clause, value in query.args.items():
        if not value or clause in _HARMLESS or (grouped and clause == "group"):
            continue
        raise NoShapeError(
            reason=clause.upper().strip("_"), problem=f"it uses {clause.upper().strip('_')}"
        )
    if isinstance(query, exp.Select):
        if query.args.get("distinct"):
            raise NoShapeError(reason="DISTINCT", problem="it uses DISTINCT")
        if query.args.get("kind"):
            raise NoShapeError(
                reason="SELECT_KIND", problem="it uses a form of SELECT that is not known here"
            )


def check_expressions(select: exp.Select, *, grouped: bool = False) -> None:
    """Make sure that the expressions of a SELECT look at one row, or one group where `grouped`.

    Raises:
        NoShapeError: One does not, or nobody knows.
    """
    parts = [*select.expressions, *_parts(select)]
    for node in _within(parts):
        if isinstance(node, exp.Window):
            raise NoShapeError(reason="WINDOW_FUNCTION", problem="it uses a window function")
        if isinstance(node, (exp.Query, exp.Exists)):
            raise NoShapeError(reason="SUBQUERY", problem="it uses a subquery in an expression")
        if isinstance(node, exp.QueryTransform):
            raise NoShapeError(reason="SCRIPT", problem="it uses TRANSFORM with a script")
        if not grouped and _is_aggregate(node):
            raise NoShapeError(
                reason="AGGREGATE", problem=f"it aggregates all rows ({node.sql('spark')})"
            )
    if not grouped:
        _check_unknown_functions(select)


def check_group_by(select: exp.Select, key: Sequence[int]) -> None:
    """Make sure that the groups are those of the key: a column for each expression, no other.

    Args:
        select: A SELECT with GROUP BY.
        key: Which of its columns are the key, counted from 0.

    Raises:
        NoShapeError: They are not.
    """
    group = select.args["group"]
    several = any(value for clause, value in group.args.items() if clause != "expressions")
    if several or not group.expressions:
        raise NoShapeError(reason="GROUPING_SETS", problem="it groups by several sets, or by ALL")
    if any(isinstance(column.unalias(), exp.Star) or column.is_star for column in select.selects):
        raise NoShapeError(reason="STAR", problem="it groups rows and lists its columns with *")
    grouped = {_place(select, expression) for expression in group.expressions}
    if None in grouped or grouped != set(key):
        raise NoShapeError(
            reason="KEY_IS_NOT_GROUP", problem="the PRIMARY KEY is not what it groups by"
        )


def _place(select: exp.Select, expression: exp.Expr) -> int | None:
    """Return which column a grouping expression is: by position, by expression or by alias."""
    columns = list(select.selects)
    if isinstance(expression, exp.Literal) and not expression.is_string:
        place = int(expression.name) - 1
        return place if 0 <= place < len(columns) else None
    bodies = [column.unalias() for column in columns]
    if expression in bodies:
        return bodies.index(expression)
    names = [column.alias_or_name.lower() for column in columns]
    name = expression.name.lower() if isinstance(expression, exp.Column) else ""
    plain = names.count(name) == 1 and not expression.args.get("table")
    place = names.index(name) if plain else -1
    return place if plain and _is_alias(select, bodies[place], name) else None


def _is_alias(select: exp.Select, body: exp.Expr, name: str) -> bool:
    """Whether a name in GROUP BY is surely that of the result's column `body`.

    Where the source has a column of the name, Spark groups by that one. A column given through
    under its own name is the same. Otherwise `body` must use a column that is not grouped by: if
    the name meant a column of the source, Spark would have refused the query.
    """
    used = {column.name.lower() for column in body.find_all(exp.Column)}
    if isinstance(body, exp.Column):
        return used == {name}
    grouped = {e.name.lower() for e in select.args["group"].expressions}
    return bool(used - grouped) and name not in used


def _parts(select: exp.Select) -> Iterator[exp.Expr]:
    """The other expressions of a SELECT: of WHERE, joins, generators and sorting."""
    for clause in ("where", "order", "sort", "cluster", "distribute", "group"):
        part = select.args.get(clause)
        if isinstance(part, exp.Expr):
            yield part
    for join in select.args.get("joins") or ():
        condition = join.args.get("on")
        if isinstance(condition, exp.Expr):
            yield condition
    yield from (lateral.this for lateral in select.args.get("laterals") or ())


def _within(parts: list[exp.Expr]) -> Iterator[exp.Expr]:
    for part in parts:
        yield from part.walk()


def _is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return is_aggregate(node.name)
    return isinstance(node, exp.AggFunc)


def _check_unknown_functions(select: exp.Select) -> None:
    """A function that is not known here could be an aggregate.

    Spark refuses a SELECT without GROUP BY that mixes an aggregate with a column outside of one: a
    column of the source outside of every unknown function proves that there is none.
    """
    unknown = [n for column in select.selects for n in column.find_all(exp.Anonymous)]
    if not unknown or any(column.is_star for column in select.selects):
        return
    aliases = {column.alias.lower() for column in select.selects if column.alias}
    for column in select.selects:
        for node in column.walk(prune=lambda n: isinstance(n, exp.Anonymous)):
            proves = isinstance(node, exp.Column) and node.name.lower() not in aliases
            if proves:
                return
    raise NoShapeError(
        reason="UNKNOWN_FUNCTION", problem=f"it may aggregate all rows ({unknown[0].name}())"
    )
