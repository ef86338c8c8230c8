"""Inner joins as one graph: its nodes are their inputs, its edges are their equalities.

A star is such a graph with an input that several others are joined to, as facts to dimensions.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.query import operators as ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dbt.adapters.spark_mt.query.expressions import Expression

FEWEST_EDGES = 3
"""How many inputs at least are joined to the center of a star."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The equalities of two inputs.

    Args:
        inner: The place of the input that is nearer to the center.
        outer: The place of the other one.
        pairs: What is equal: an expression over the inner input, and one over the outer input.
    """

    inner: int
    outer: int
    pairs: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class Star:
    """Inner joins around one input.

    Args:
        root: The last join.
        inputs: What is joined, in the order of the text.
        center: The place of the input in the middle.
        edges: The way from the center to each other input, the nearer ones first.
    """

    root: ops.Join
    inputs: tuple[ops.Operator, ...]
    center: int
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, root: ops.Join) -> Star | None:
        """Return the joins below an operator as a star; None if they are none."""
        if root.kind not in ops.INNER_JOINS:
            return None
        inputs = tuple(_leaves(root))
        equal = _equalities(root, inputs)
        neighbours = {place: {b for a, b in equal if a == place} for place in range(len(inputs))}
        center = max(neighbours, key=lambda place: (len(neighbours[place]), -place))
        if len(neighbours[center]) < FEWEST_EDGES:
            return None
        edges, reached = [], [center]
        for inner in reached:
            for outer in sorted(neighbours[inner] - {*reached}):
                edges.append(Edge(inner, outer, tuple(equal[inner, outer])))
                reached.append(outer)
        return cls(root, inputs, center, tuple(edges)) if len(reached) == len(inputs) else None

    def from_(self, place: int) -> tuple[Edge, ...]:
        """Return the edges from an input away from the center."""
        return tuple(edge for edge in self.edges if edge.inner == place)

    def over(self, inputs: Callable[[int], ops.Operator]) -> ops.Operator:
        """Return the joins over other inputs.

        Args:
            inputs: Returns the input for a place.
        """
        return _over(self.root, iter(range(len(self.inputs))), inputs)


def _leaves(node: ops.Operator) -> Iterator[ops.Operator]:
    if isinstance(node, ops.Join) and node.kind in ops.INNER_JOINS:
        yield from _leaves(node.left)
        yield from _leaves(node.right)
    else:
        yield node


def _over(
    node: ops.Operator, places: Iterator[int], inputs: Callable[[int], ops.Operator]
) -> ops.Operator:
    if isinstance(node, ops.Join) and node.kind in ops.INNER_JOINS:
        left = _over(node.left, places, inputs)
        return node.over(left, _over(node.right, places, inputs))
    return inputs(next(places))


def _joins(node: ops.Operator) -> Iterator[ops.Join]:
    if isinstance(node, ops.Join) and node.kind in ops.INNER_JOINS:
        yield node
        yield from _joins(node.left)
        yield from _joins(node.right)


def _equalities(
    root: ops.Join, inputs: tuple[ops.Operator, ...]
) -> Mapping[tuple[int, int], list[tuple[Expression, Expression]]]:
    """Return the equalities of each two inputs, in both directions."""
    columns = [ops.keys_in(each) for each in inputs]

    def place_of(expression: Expression) -> int | None:
        places = (place for place, keys in enumerate(columns) if expression.keys <= keys)
        return next(places, None) if expression.keys else None

    found: dict[tuple[int, int], list[tuple[Expression, Expression]]] = defaultdict(list)
    for join in _joins(root):
        for key in join.keys:
            left, right = place_of(key.left), place_of(key.right)
            if left is not None and right is not None:
                found[left, right].append((key.left, key.right))
                found[right, left].append((key.right, key.left))
    return found
