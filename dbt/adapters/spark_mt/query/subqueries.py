"""Filters and joins of an operator tree: equalities of joins, subqueries as semi and anti joins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query.expressions import EquiKey, Expression, SubqueryKind, all_of
from dbt.adapters.spark_mt.query.operators import (
    Apply,
    Filter,
    Join,
    JoinKind,
    Operator,
    Project,
    Sort,
    expressions_of,
    keys_in,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.query.binder import Bound, Subquery


def filtered(rows: Operator, bound: Bound) -> Operator:
    """Apply a condition: equalities to the joins below, EXISTS and IN as joins where possible."""
    by_key = {subquery.attribute.key: subquery for subquery in bound.subqueries}
    parts = Expression(bound.tree).conjuncts
    simple = [part for part in parts if not part.keys & by_key.keys()]
    rest: list[Expression] = []
    for part in simple:
        joined = _with_key(rows, part)
        rows = joined if joined is not None else rows
        rest += [part] if joined is None else []
    rows = Filter(rows, all_of(rest)) if rest else rows
    complex_: list[Expression] = []
    for part in parts:
        if part.keys & by_key.keys():
            joined = _as_join(rows, part, by_key)
            rows = joined if joined is not None else rows
            complex_ += [part] if joined is None else []
    if not complex_:
        return rows
    used = frozenset().union(*(part.keys for part in complex_))
    for key, subquery in by_key.items():
        rows = subquery.over(rows) if key in used else rows
    return Filter(rows, all_of(complex_))


def _with_key(rows: Operator, part: Expression) -> Operator | None:
    """Give an equality to the inner join whose inputs it compares; None where there is none."""
    if not isinstance(rows, Join) or rows.kind not in {JoinKind.INNER, JoinKind.CROSS}:
        return None
    below = [part.keys <= keys_in(side) for side in rows.inputs]
    if any(below):
        sides = [_with_key(s, part) if b else s for s, b in zip(rows.inputs, below, strict=True)]
        kept = [side for side in sides if side is not None]
        return rows.over(*kept) if len(kept) == len(sides) and part.keys else None
    key = EquiKey.of(part, keys_in(rows.left), keys_in(rows.right))
    return replace(rows, kind=JoinKind.INNER, keys=(*rows.keys, key)) if key is not None else None


def _as_join(rows: Operator, part: Expression, subqueries: dict[str, Subquery]) -> Operator | None:
    """Return a semi or anti join for EXISTS, NOT EXISTS and IN; None for anything else."""
    tree = part.tree.unnest()
    negated = isinstance(tree, exp.Not)
    if isinstance(tree, exp.Not):
        tree = tree.this.unnest()
    subquery = subqueries.get(tree.name) if isinstance(tree, exp.Column) else None
    possible = {SubqueryKind.EXISTS} if negated else {SubqueryKind.EXISTS, SubqueryKind.IN}
    if subquery is None or subquery.kind not in possible:
        return None
    found = decorrelated(subquery.query, keys_in(rows))
    width = len(subquery.operands)
    if found is None or (width and width != len(found[2])):
        return None
    right, correlated, values = found
    equal = (
        Expression(exp.EQ(this=_operand(mine), expression=_operand(theirs)))
        for mine, theirs in zip(subquery.operands, values, strict=False)
    )
    kind = JoinKind.ANTI if negated else JoinKind.SEMI
    keys, rest = EquiKey.split([*equal, *correlated], keys_in(rows), keys_in(right))
    return Join(rows, right, kind, keys, rest, subquery=True)


def _operand(side: Expression) -> exp.Expr:
    tree = side.tree.copy()
    return exp.Paren(this=tree) if isinstance(tree, (exp.Binary, exp.Unary)) else tree


def decorrelated(
    query: Operator, outer: frozenset[str]
) -> tuple[Operator, list[Expression], list[Expression]] | None:
    """Take the conditions over outer attributes out of a subquery.

    Returns:
        The rows without these conditions, the conditions, and the columns of the subquery as
        expressions over the rows; None where an outer attribute is used elsewhere.
    """
    values = [attribute.expression for attribute in query.output]
    if not any(e.keys & outer for e in expressions_of(query)):
        return query, [], values
    correlated: list[Expression] = []
    local: list[Expression] = []
    while isinstance(query, (Project, Filter, Sort)):
        if isinstance(query, Project):
            trees = {c.attribute.key: c.expression.tree for c in query.columns}
            values = [value.over(trees) for value in values]
            correlated = [part.over(trees) for part in correlated]
            local = [part.over(trees) for part in local]
        elif isinstance(query, Filter):
            if isinstance(query.input, Apply):
                break
            for part in query.condition.conjuncts:
                (correlated if part.keys & outer else local).append(part)
        query = query.input
    if any(e.keys & outer for e in (*expressions_of(query), *values)):
        return None
    return (Filter(query, all_of(local)) if local else query), correlated, values
