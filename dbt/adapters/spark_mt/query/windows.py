"""Window functions by their partitions: one operator for those that share a column, first ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.first_rows import MOST_FIRST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Bounds = tuple[frozenset[str], ...]
"""Sets of keys of columns: in each row that is needed, one column of each set is a small number."""
_RANKS = frozenset({"rank", "dense_rank", "row_number"})


def common_partition(calls: Sequence[exprs.WindowCall]) -> tuple[exprs.Expression, ...]:
    """Return the columns of PARTITION BY that all of some calls have."""
    first, *others = (call.partition for call in calls)
    return tuple(e for e in first if all(e in other for other in others))


def separated(root: ops.Operator) -> ops.Operator:
    """Return a tree in which the calls of each window operator share a column of PARTITION BY.

    Those without PARTITION BY have an operator of their own.
    """

    def changed(node: ops.Operator) -> ops.Operator:
        return _separated(node) if isinstance(node, ops.Window) else node

    return ops.transform(root, changed)


def _separated(node: ops.Window) -> ops.Operator:
    parts: list[list[exprs.WindowCall]] = []
    for call in node.calls:
        for part in parts:
            both = [*part, call]
            if common_partition(both) or not any(each.partition for each in both):
                part.append(call)
                break
        else:
            parts.append([call])
    if len(parts) == 1:
        return node
    rows = node.input
    for part in parts:
        rows = ops.Window(rows, tuple(part))
    return ops.Project(rows, exprs.passed_on(node.output))


def without_bound(root: ops.Operator) -> tuple[ops.Window, ...]:
    """Return the windows without PARTITION BY of which a query needs more than the first rows.

    A change of one row may change all values of such a window. If a filter keeps the first ones by
    their ranks, few rows follow from it, before and after.
    """
    return tuple(_without_bound(root, ()))


def _without_bound(node: ops.Operator, bounds: Bounds) -> Iterator[ops.Window]:
    if isinstance(node, ops.Window) and not any(call.partition for call in node.calls):
        ranks = {call.attribute.key for call in node.calls if call.name in _RANKS}
        if not any(each <= ranks for each in bounds):
            yield node
    below = _below(node, bounds)
    for place, each in enumerate(node.inputs):
        yield from _without_bound(each, below if place == 0 else ())


def _below(node: ops.Operator, bounds: Bounds) -> Bounds:
    """Return what is known of the columns of an operator's input."""
    if isinstance(node, ops.Filter):
        found = (_bounded(part) for part in node.condition.conjuncts)
        return (*bounds, *(each for each in found if each))
    if isinstance(node, ops.Project):
        passed = {c.attribute.key: c.expression.attribute for c in node.columns}
        return tuple(frozenset(passed.get(key, "") for key in each) for each in bounds)
    return bounds if isinstance(node, (ops.Window, ops.Sort, ops.Distinct)) else ()


def _bounded(condition: exprs.Expression) -> frozenset[str]:
    """Return columns of which one is a small number where a condition is true; none if unknown."""
    tree = condition.tree.unnest()
    if not isinstance(tree, exp.Or):
        key = _small(tree)
        return frozenset({key} if key else ())
    sides = [
        [key for part in exprs.Expression(side).conjuncts if (key := _small(part.tree.unnest()))]
        for side in tree.flatten()
    ]
    return frozenset(keys[0] for keys in sides) if all(sides) else frozenset()


def _small(tree: exp.Expr) -> str:
    """Return the column that is a small number where a comparison is true; empty for none."""
    least, most = tree.this, tree.args.get("expression")
    if isinstance(tree, (exp.GT, exp.GTE)):
        least, most = most, least
    elif isinstance(tree, exp.Between):
        most = tree.args["high"]
    elif not isinstance(tree, (exp.LT, exp.LTE, exp.EQ)):
        return ""
    if not isinstance(least, exp.Column) or not isinstance(most, exp.Literal):
        return ""
    return least.name if most.is_int and int(most.name) <= MOST_FIRST else ""
