"""Grouping sets as one set: each row once for each grouping set, with its number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import operators as ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CALLS = {"grouping": "TINYINT", "grouping_id": "BIGINT"}
"""Functions that say of which grouping set a row is, with their types."""
_TIME_WINDOWS = frozenset({"window", "session_window"})
"""Functions that make several rows of one, and none of one without a time, wherever they are."""
_NUMBER = "grouping_set"
"""The name of the column with the number of a grouping set."""


def expanded(
    root: ops.Operator, ids: Iterator[int], is_wanted: Callable[[ops.Aggregate], bool]
) -> ops.Operator:
    """Return a tree without GROUPING SETS, ROLLUP and CUBE, as far as they can be written without.

    Spark plans them the same way: a group has the number of its grouping set as one more key, and
    NULL in the place of each column that its set does not have. Without rows there is no group.

    Args:
        root: The last operator of a query.
        ids: Gives attributes an identity that the tree does not have yet.
        is_wanted: Whether to write one of its operators without.
    """

    def changed(node: ops.Operator) -> ops.Operator:
        if not isinstance(node, ops.Aggregate) or node.sets is None or not is_wanted(node):
            return node
        return _Expansion(node, node.sets, ids).operator() if _can_be_expanded(node) else node

    return ops.transform(root, changed)


def numbers(node: ops.Operator) -> frozenset[str]:
    """Return the keys of the columns below an operator that have the number of a grouping set.

    Groups that differ in it only are few: NULL of a set that lacks a column, and NULL of a row.
    """
    made = (each for each in ops.walk(node) if isinstance(each, ops.Generate))
    return frozenset(a.key for each in made for a in each.generated if a.name == _NUMBER)


def _can_be_expanded(node: ops.Aggregate) -> bool:
    trees = {group.expression.tree for group in node.groups}
    known = all(
        argument.tree.unnest() in trees
        for call in node.calls
        if call.name in CALLS
        for argument in call.arguments
    )
    timely = any(name in _TIME_WINDOWS for g in node.groups for name in g.expression.calls)
    return known and not timely and not isinstance(node.input, ops.Apply)


class _Expansion:
    def __init__(
        self, node: ops.Aggregate, sets: Sequence[Sequence[int]], ids: Iterator[int]
    ) -> None:
        self._node = node
        self._sets = sets
        self._ids = ids
        self._number = exprs.Attribute(next(ids), _NUMBER)

    def operator(self) -> ops.Operator:
        """Return an operator with the same rows as the aggregate."""
        node = self._node
        numbers = [exp.Literal.number(number) for number in range(len(self._sets))]
        array = exprs.Expression(exp.Anonymous(this="array", expressions=numbers))
        each = exprs.call_of("explode", array)
        rows = ops.Generate(node.input, each, outer=False, generated=(self._number,))
        keys = [exprs.Attribute(next(self._ids), g.attribute.name) for g in node.groups]
        columns = tuple(
            exprs.Named(key, self._of_its_sets(place, group.expression))
            for place, (key, group) in enumerate(zip(keys, node.groups, strict=True))
        )
        groups = tuple(
            exprs.Named(group.attribute, key.expression)
            for key, group in zip(keys, node.groups, strict=True)
        )
        inner = ops.Project(rows, (*exprs.passed_on(rows.output), *columns))
        number = exprs.passed_on((self._number,))
        calls = tuple(call for call in node.calls if call.name not in CALLS)
        aggregate = replace(node, input=inner, groups=(*groups, *number), calls=calls, sets=None)
        shown = (*exprs.passed_on(g.attribute for g in node.groups), *map(self._shown, node.calls))
        return ops.Project(aggregate, shown)

    def _of_its_sets(self, place: int, value: exprs.Expression) -> exprs.Expression:
        """Return a grouping expression, NULL in the grouping sets that do not have it."""
        has = [number for number, each in enumerate(self._sets) if place in each]
        if len(has) == len(self._sets):
            return value
        listed = [exp.Literal.number(number) for number in has]
        is_here = exp.In(this=self._number.expression.tree, expressions=listed)
        condition = is_here if has else exp.false()
        return exprs.Expression(exp.Case(ifs=[exp.If(this=condition, true=value.tree.copy())]))

    def _shown(self, call: exprs.AggregateCall) -> exprs.Named:
        """Return the value of a call, which for `grouping` follows from the number of the set."""
        if call.name not in CALLS:
            return exprs.Named(call.attribute, call.attribute.expression)
        trees = [group.expression.tree for group in self._node.groups]
        places = [trees.index(argument.tree.unnest()) for argument in call.arguments]
        places = places or list(range(len(trees)))
        branches = []
        for number, each in enumerate(self._sets):
            bits = sum(1 << i for i, p in enumerate(reversed(places)) if p not in each)
            value = exp.Literal.number(bits)
            branches.append(exp.If(this=exp.Literal.number(number), true=value))
        case = exp.Case(this=self._number.expression.tree, ifs=branches)
        cast = exp.Cast(this=case, to=exp.Var(this=CALLS[call.name]))
        return exprs.Named(call.attribute, exprs.Expression(cast))
