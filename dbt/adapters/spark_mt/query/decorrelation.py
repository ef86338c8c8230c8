"""Subqueries in expressions as joins, and time windows as columns of the input of an aggregate.

The rewritten tree has the same result. What has no equivalent join stays an `Apply`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query.expressions import (
    AggregateCall,
    Attribute,
    EquiKey,
    Expression,
    Named,
    SubqueryKind,
    call_name,
)
from dbt.adapters.spark_mt.query.operators import (
    Aggregate,
    Apply,
    Filter,
    Generate,
    Join,
    JoinKind,
    Operator,
    Project,
    Sort,
    Union,
    keys_in,
    rows_of,
    transform,
    walk,
)
from dbt.adapters.spark_mt.query.subqueries import decorrelated

if TYPE_CHECKING:
    from collections.abc import Iterator

_ZERO_ON_EMPTY = frozenset({"count", "count_if", "regr_count", "approx_count_distinct"})
_NULL_ON_EMPTY = frozenset(
    {"sum", "avg", "mean", "min", "max", "stddev", "stddev_pop", "stddev_samp", "std", "var_pop"}
    | {"var_samp", "variance", "bool_and", "bool_or", "any", "some", "every", "max_by", "min_by"}
    | {"median", "percentile", "try_sum", "try_avg", "corr", "covar_pop", "covar_samp", "skewness"}
)


def without_subqueries(root: Operator, ids: Iterator[int]) -> Operator:
    """Return a tree with joins in the place of subqueries, as far as there are such joins.

    Args:
        root: The last operator of a query.
        ids: Gives attributes an identity that the tree does not have yet.
    """
    return transform(root, _Rewriter(ids).changed)


def fresh_ids(root: Operator) -> Iterator[int]:
    """Return identities that no attribute of a tree has."""
    used = (a.id for node in walk(root) for a in node.output)
    return count(max(used, default=0) + 1)


def passed(node: Operator, *more: Named, output: tuple[Attribute, ...] | None = None) -> Project:
    """Return the columns of an operator, or some of them, and computed ones."""
    kept = node.output if output is None else output
    return Project(node, (*(Named(a, a.expression) for a in kept), *more))


def call_of(name: str, *arguments: Expression) -> Expression:
    """Return the call of a function."""
    trees = [argument.tree.copy() for argument in arguments] or [exp.Star()]
    return Expression(exp.Anonymous(this=name, expressions=trees))


def count_call(attribute: Attribute, *arguments: Expression) -> AggregateCall:
    """Return `count(*)` or `count(x)`."""
    return AggregateCall(attribute, call_of("count", *arguments), "count", arguments)


def time_windows(expression: Expression) -> list[exp.Expr]:
    """Return the calls of `window` in an expression."""
    return [node for node in expression.tree.walk() if call_name(node) == "window"]


class _Rewriter:
    def __init__(self, ids: Iterator[int]) -> None:
        self._ids = ids

    def changed(self, node: Operator) -> Operator:
        if isinstance(node, Aggregate) and node.sets is None:
            node = self._with_window_column(node)
        if not isinstance(node, (Filter, Project, Generate, Aggregate)):
            return node
        if not isinstance(node.input, Apply):
            return node
        rows = self._joined(node.input)
        if rows is None:
            return node
        changed = node.over(rows)
        return changed if changed.output == node.output else passed(changed, output=node.output)

    def _with_window_column(self, node: Aggregate) -> Aggregate:
        found = [call for g in node.groups for call in time_windows(g.expression)]
        calls = list(dict.fromkeys(found))
        if not calls:
            return node
        columns = [Named(self._attribute("window"), Expression(call.copy())) for call in calls]
        trees = {c.expression.tree: c.attribute.expression.tree for c in columns}

        def replaced(part: exp.Expr) -> exp.Expr:
            return trees[part].copy() if part in trees else part

        groups = tuple(
            replace(g, expression=Expression(g.expression.tree.copy().transform(replaced)))
            for g in node.groups
        )
        used = frozenset(node.input.output)
        return replace(node, input=passed(node.input, *columns), groups=groups) if used else node

    def _joined(self, top: Apply) -> Operator | None:
        chain: list[Apply] = []
        node: Operator = top
        while isinstance(node, Apply):
            chain.append(node)
            node = node.input
        rows, kept = node, []
        for apply in reversed(chain):
            joined = self._as_join(rows, replace(apply, input=rows_of(top)), rows_of(top))
            rows = joined if joined is not None else rows
            kept += [apply] if joined is None else []
        if len(kept) == len(chain):
            return None
        for apply in kept:
            rows = apply.over(rows, apply.query)
        return rows

    def _as_join(self, rows: Operator, apply: Apply, base: Operator) -> Operator | None:
        if apply.kind is SubqueryKind.SCALAR:
            return self._scalar(rows, apply)
        if apply.kind is SubqueryKind.EXISTS:
            return self._exists(rows, apply, keys_in(base))
        return self._in(rows, apply)

    def _scalar(self, rows: Operator, apply: Apply) -> Operator | None:
        value, below = apply.query.output[0].expression, apply.query
        while isinstance(below, (Project, Sort)) and not isinstance(below.input, Apply):
            if isinstance(below, Project):
                value = value.over({c.attribute.key: c.expression.tree for c in below.columns})
            below = below.input
        if not isinstance(below, Aggregate) or below.groups or below.sets is not None:
            return None
        outer = keys_in(rows)
        if not apply.outer:
            named = Named(apply.attribute, apply.query.output[0].expression)
            return Join(rows, Project(apply.query, (named,)), JoinKind.CROSS)
        return self._correlated(rows, apply.attribute, value, below, outer)

    def _correlated(
        self,
        rows: Operator,
        attribute: Attribute,
        value: Expression,
        aggregate: Aggregate,
        outer: frozenset[str],
    ) -> Operator | None:
        """Return a join with the rows of a subquery, grouped by what they are compared with."""
        known = all(c.name in _ZERO_ON_EMPTY | _NULL_ON_EMPTY for c in aggregate.calls)
        found = decorrelated(aggregate.input, outer)
        if not known or found is None or any(c.expression.keys & outer for c in aggregate.calls):
            return None
        body, conditions, values = found
        keys, rest = EquiKey.split(conditions, outer, keys_in(body))
        if rest is not None or not keys:
            return None
        groups = tuple(Named(self._attribute("key"), key.right) for key in keys)
        columns = zip(aggregate.input.output, values, strict=True)
        input_ = Project(body, (*(Named(a, e) for a, e in columns), *groups))
        by = tuple(Named(g.attribute, g.attribute.expression) for g in groups)
        right = Aggregate(input_, by, aggregate.calls)
        equal = tuple(
            EquiKey(key.left, g.attribute.expression, key.null_safe)
            for key, g in zip(keys, groups, strict=True)
        )
        joined = Join(rows, right, JoinKind.LEFT, equal)
        zeros = {c.attribute.key: _or_zero(c) for c in aggregate.calls if c.name in _ZERO_ON_EMPTY}
        return passed(joined, Named(attribute, value.over(zeros)), output=rows.output)

    def _exists(self, rows: Operator, apply: Apply, outer: frozenset[str]) -> Operator | None:
        if not apply.outer:
            counted, rows_found, _ = self._counted(apply.query)
            some = exp.GT(this=rows_found.expression.tree, expression=exp.Literal.number(0))
            columns = (Named(apply.attribute, Expression(some)),)
            return Join(rows, Project(counted, columns), JoinKind.CROSS)
        found = decorrelated(apply.query, outer)
        if found is None:
            return None
        right, conditions, _ = found
        keys, rest = EquiKey.split(conditions, outer, keys_in(right))
        if not keys:
            return None
        semi = Join(rows, right, JoinKind.SEMI, keys, rest, subquery=True)
        return self._either(semi, apply.attribute, Expression(exp.false()))

    def _in(self, rows: Operator, apply: Apply) -> Operator | None:
        """Return x IN (…) with all of its three values, for one x and no correlation."""
        if apply.outer or len(apply.operands) != 1 or len(apply.query.output) != 1:
            return None
        operand, column = apply.operands[0], apply.query.output[0]
        counted, rows_found, values_found = self._counted(apply.query)
        empty, has_null = self._attribute("empty"), self._attribute("has_null")
        found, zero = rows_found.expression.tree, exp.Literal.number(0)
        some = exp.GT(this=found.copy(), expression=values_found.expression.tree)
        facts = (
            Named(empty, Expression(exp.EQ(this=found, expression=zero))),
            Named(has_null, Expression(some)),
        )
        right = Project(counted, facts)
        crossed = Join(rows, right, JoinKind.CROSS)
        key = EquiKey(operand, column.expression)
        semi = Join(crossed, apply.query, JoinKind.SEMI, (key,), subquery=True)
        otherwise = exp.Case(
            ifs=[
                exp.If(this=empty.expression.tree, true=exp.false()),
                exp.If(
                    this=exp.Or(
                        this=exp.Is(
                            this=exp.Paren(this=operand.tree.copy()), expression=exp.null()
                        ),
                        expression=has_null.expression.tree,
                    ),
                    true=exp.Cast(this=exp.null(), to=exp.DataType.build("boolean")),
                ),
            ],
            default=exp.false(),
        )
        either = self._either(semi, apply.attribute, Expression(otherwise))
        return passed(either, output=(*rows.output, apply.attribute))

    def _counted(self, query: Operator) -> tuple[Operator, Attribute, Attribute]:
        """Return one row: the number of rows of a subquery, and of values in its column."""
        column = query.output[0].expression
        rows = count_call(self._attribute("count"))
        values = count_call(self._attribute("count"), column)
        return Aggregate(query, (), (rows, values)), rows.attribute, values.attribute

    def _either(self, semi: Join, attribute: Attribute, otherwise: Expression) -> Operator:
        """Return all rows of the left side: TRUE for those with a partner, or another value."""
        anti = replace(semi, kind=JoinKind.ANTI)
        yes = passed(semi, Named(attribute, Expression(exp.true())))
        no = passed(anti, Named(attribute, otherwise))
        return Union((yes, no), yes.output)

    def _attribute(self, name: str) -> Attribute:
        return Attribute(next(self._ids), name)


def _or_zero(call: AggregateCall) -> exp.Expr:
    zero = exp.Literal.number(0)
    return exp.Anonymous(this="coalesce", expressions=[call.attribute.expression.tree, zero])
