"""Partition keys of operators, and inputs that are restricted to some values of a key.

An operator can be partitioned by a key. Then its rows with one value of the key depend on the input
rows with this value only. NULL is a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch, singledispatchmethod
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.subqueries import time_windows
from dbt.adapters.spark_mt.query.windows import common_partition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlglot.expressions import Expr

Pair = tuple[exprs.Expression, exprs.Attribute]
"""An expression over an operator's columns, and the column of a set of keys that it is equal to."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A key by which an operator is partitioned.

    Args:
        inputs: For each input, the key as expressions over its columns.
        output: The key as expressions over the operator's own columns.
    """

    inputs: tuple[tuple[exprs.Expression, ...], ...]
    output: tuple[exprs.Expression, ...]


@singledispatch
def partition_of(_: ops.Operator) -> Partition | None:
    """Return the key by which an operator is partitioned; None if there is none.

    The key of a global aggregate is empty: all of its rows depend on all rows of the input. So is
    that of a window without PARTITION BY.
    """
    return None


@partition_of.register
def _(node: ops.Aggregate) -> Partition | None:
    groups = [node.groups[i] for i in _common_groups(node)]
    if node.groups and not groups:
        return None
    output = tuple(g.attribute.expression for g in groups)
    return Partition((tuple(g.expression for g in groups),), output)


@partition_of.register
def _(node: ops.Distinct) -> Partition | None:
    row = _row(node.output)
    return Partition((row,), row)


@partition_of.register
def _(node: ops.SetOperation) -> Partition | None:
    return Partition((_row(node.left.output), _row(node.right.output)), _row(node.output))


@partition_of.register
def _(node: ops.Window) -> Partition | None:
    common = common_partition(node.calls)
    is_whole = not any(call.partition for call in node.calls)
    return Partition((common,), common) if common or is_whole else None


@partition_of.register
def _(node: ops.Join) -> Partition | None:
    left, right = tuple(k.left for k in node.keys), tuple(k.right for k in node.keys)
    output = right if node.kind is ops.JoinKind.RIGHT else left
    if node.kind is ops.JoinKind.FULL:
        output = tuple(exprs.call_of("coalesce", *sides) for sides in zip(left, right, strict=True))
    return Partition((left, right), output) if node.keys else None


def key_of_result(root: ops.Operator) -> tuple[tuple[int, ...], ...]:
    """Return the key by which the rows of a result are unique.

    Returns:
        For each part of the key the places of the columns that show it; nothing where no key is
        known, or where a part is not shown.
    """
    node, shown = ops.shown_below(root, ops.Project, ops.Filter, ops.Apply, ops.Sort)
    if isinstance(node, ops.Aggregate) and node.sets is None:
        unique = [group.attribute.key for group in node.groups]
    elif isinstance(node, ops.Distinct) or (
        isinstance(node, ops.SetOperation) and not node.all_rows
    ):
        unique = [attribute.key for attribute in node.output]
    else:
        return ()
    places = [tuple(i for i, key in enumerate(shown) if key == part) for part in unique]
    return tuple(places) if all(places) else ()


def _row(output: Iterable[exprs.Attribute]) -> tuple[exprs.Expression, ...]:
    return tuple(attribute.expression for attribute in output)


def _common_groups(node: ops.Aggregate) -> list[int]:
    """Return the places of the groups that are in all grouping sets and functions of one row."""
    sets = node.sets if node.sets is not None else (tuple(range(len(node.groups))),)
    return [
        i
        for i, group in enumerate(node.groups)
        if all(i in each for each in sets) and "session_window" not in group.expression.calls
    ]


def semi_join(node: ops.Operator, pairs: Sequence[Pair], keys: ops.Operator) -> ops.Join:
    """Return the rows of an operator that have one of some keys."""
    return matching(node, [(e, k.expression) for e, k in pairs], keys)


def matching(
    node: ops.Operator,
    pairs: Sequence[tuple[exprs.Expression, exprs.Expression]],
    keys: ops.Operator,
) -> ops.Join:
    """Return the rows of an operator that match a row of another one; NULLs are equal."""
    equal = tuple(exprs.EquiKey(ours, theirs, null_safe=True) for ours, theirs in pairs)
    return ops.Join(node, keys, ops.JoinKind.SEMI, equal)


def restricted(node: ops.Operator, pairs: Sequence[Pair], keys: ops.Operator) -> ops.Operator:
    """Return the rows of an operator that have one of some keys, restricted near its scans.

    Args:
        node: The operator.
        pairs: The key; at least one expression.
        keys: The set of keys.
    """
    narrowed, exact = _Narrowing(keys).narrowed(node, tuple(pairs))
    return narrowed if exact else semi_join(narrowed, pairs, keys)


class _Narrowing:
    """Restriction of inputs to a superset of what the rows with one of the keys need."""

    def __init__(self, keys: ops.Operator) -> None:
        self._keys = keys

    def narrowed(self, node: ops.Operator, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        """Return an operator with all rows that have one of the keys, and whether no others."""
        return self._narrowed(node, pairs) if pairs else (node, False)

    @singledispatchmethod
    def _narrowed(self, node: ops.Operator, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        return semi_join(node, pairs, self._keys), True

    def _input(
        self, node: ops.Operator, pairs: tuple[Pair, ...], below: tuple[Pair, ...]
    ) -> tuple[ops.Operator, bool]:
        """Narrow the input of an operator by those parts of a key that it has."""
        first, *others = node.inputs
        rows, exact = self.narrowed(first, below)
        return node.over(rows, *others), exact and len(below) == len(pairs)

    @_narrowed.register(ops.Filter)
    @_narrowed.register(ops.Sort)
    @_narrowed.register(ops.Distinct)
    def _(self, node: ops.Operator, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        return self._input(node, pairs, pairs)

    @_narrowed.register
    def _(self, node: ops.Apply, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        return self._input(node, pairs, _within(pairs, node.input))

    @_narrowed.register
    def _(self, node: ops.Generate, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        return self._input(node, pairs, _within(pairs, ops.rows_of(node.input)))

    @_narrowed.register
    def _(self, node: ops.Project, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        rows = ops.rows_of(node.input)
        known = ops.keys_in(rows)
        trees = exprs.values_of(
            c for c in node.columns if c.expression.keys <= known and not time_windows(c.expression)
        )
        kept = tuple(pair for pair in pairs if pair[0].keys <= trees.keys())
        return self._input(node, pairs, _over(kept, trees))

    @_narrowed.register
    def _(self, node: ops.Aggregate, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        groups = [node.groups[i] for i in _common_groups(node)]
        if not groups:  # its one row exists even without rows of the input
            return semi_join(node, pairs, self._keys), True
        trees = exprs.values_of(groups)
        kept = tuple(pair for pair in pairs if pair[0].keys <= trees.keys())
        return self._input(node, pairs, _over(kept, trees))

    @_narrowed.register
    def _(self, node: ops.Window, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        common = common_partition(node.calls)
        plain = {e.attribute for e in common if e.attribute}
        kept = tuple(p for p in pairs if p[0] in common or p[0].keys <= plain)
        return self._input(node, pairs, kept)

    @_narrowed.register(ops.Union)
    @_narrowed.register(ops.SetOperation)
    def _(self, node: ops.Operator, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        sides = []
        for side in node.inputs:
            columns = exprs.by_place(node.output, side.output)
            sides.append(self.narrowed(side, _over(pairs, columns)))
        return node.over(*(side for side, _ in sides)), all(exact for _, exact in sides)

    @_narrowed.register
    def _(self, node: ops.Join, pairs: tuple[Pair, ...]) -> tuple[ops.Operator, bool]:
        if node.kind is ops.JoinKind.FULL:
            return semi_join(node, pairs, self._keys), True
        left = {key.right: key.left for key in node.keys}
        right = {key.left: key.right for key in node.keys}
        both = node.kind in ops.INNER_JOINS
        from_left = _within(pairs, node.left) if node.kind is not ops.JoinKind.RIGHT else ()
        from_right = _within(pairs, node.right) if both or node.kind is ops.JoinKind.RIGHT else ()
        to_left = tuple((left[e], k) for e, k in from_right if e in left)
        to_right = tuple((right[e], k) for e, k in from_left if e in right)
        one, one_exact = self.narrowed(node.left, (*from_left, *to_left))
        other, other_exact = self.narrowed(node.right, (*from_right, *to_right))
        exact = (one_exact and len(from_left) == len(pairs)) or (
            other_exact and len(from_right) == len(pairs)
        )
        return node.over(one, other), exact


def _over(pairs: tuple[Pair, ...], trees: dict[str, Expr]) -> tuple[Pair, ...]:
    return tuple((e.over(trees), k) for e, k in pairs)


def _within(pairs: tuple[Pair, ...], node: ops.Operator) -> tuple[Pair, ...]:
    keys = ops.keys_in(node)
    return tuple(pair for pair in pairs if pair[0].keys <= keys)
