"""Columns that the operators of a query need.

A column is needed in an expression, to compare whole rows, or in the result. One that only passes
through is not. What a query does not need of its sources can change without an effect on its rows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.boundary import guarded
from dbt.adapters.spark_mt.query.expressions import Named, SubqueryKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.query.expressions import Attribute

    Keys = frozenset[str]


def _all_columns(_: str) -> Mapping[str, frozenset[str]]:
    return {}


@guarded(_all_columns)
def columns_read(tree: ops.Tree) -> Mapping[str, frozenset[str]]:
    """Return the columns that a query reads of each relation.

    Returns:
        Names of columns in lower case, by the full name of the relation in lower case. Of a
        relation that is not in it, every column may be read.
    """
    if tree.gaps:
        return {}
    reader = _Reader()
    reader.read(tree.root, ops.keys_in(tree.root))
    return {relation: frozenset(columns) for relation, columns in reader.found.items()}


def narrowed(node: ops.Operator, wanted: Keys) -> ops.Operator:
    """Return an operator whose scans, projections and unions return no more than is needed.

    Each of them returns at least one column, so that its rows can be stored.

    Args:
        node: The operator.
        wanted: The keys of the attributes that it must return.
    """
    match node:
        case ops.Scan(output=output):
            return replace(node, output=_kept(output, wanted))
        case ops.Project(columns=columns):
            names = _kept(node.output, wanted)
            node = replace(node, columns=tuple(c for c in columns if c.attribute in names))
            wanted = ops.keys_in(node)
        case ops.Union(branches=branches, output=output):
            names = _kept(output, wanted)
            places = [place for place, each in enumerate(output) if each in names]
            branches = tuple(_only(each, places) for each in branches)
            node = replace(node, branches=branches, output=names)
            wanted = ops.keys_in(node)
        case _:
            pass
    return node.over(*(narrowed(each, keys) for each, keys in _needed(node, wanted)))


def _kept(output: tuple[Attribute, ...], wanted: Keys) -> tuple[Attribute, ...]:
    return tuple(each for each in output if each.key in wanted) or output[:1]


def _only(node: ops.Operator, places: Sequence[int]) -> ops.Operator:
    output = tuple(node.output[place] for place in places)
    if output == node.output:
        return node
    return ops.Project(node, tuple(Named(each, each.expression) for each in output))


class _Reader:
    """Reader of a tree from the root down, with the attributes that each operator must return."""

    def __init__(self) -> None:
        self.found: dict[str, set[str]] = defaultdict(set)

    def read(self, node: ops.Operator, wanted: Keys) -> None:
        if isinstance(node, ops.Scan):
            names = {a.name.lower() for a in node.output if a.key in wanted}
            self.found[str(node.relation).lower()] |= names
            return
        for each, needed in _needed(node, wanted):
            self.read(each, needed)


def _needed(node: ops.Operator, wanted: Keys) -> Iterator[tuple[ops.Operator, Keys]]:
    """Yield the inputs of an operator, each with the attributes that it must return."""
    match node:
        case ops.Project(input=rows, columns=columns):
            used = (c.expression.keys for c in columns if c.attribute.key in wanted)
            yield rows, frozenset().union(*used)
        case ops.Apply(input=rows, query=query, operands=operands, kind=kind):
            yield rows, wanted.union(node.outer, *(each.keys for each in operands))
            yield query, frozenset() if kind is SubqueryKind.EXISTS else ops.keys_in(query)
        case ops.Distinct() | ops.SetOperation():  # which compare whole rows
            yield from ((each, ops.keys_in(each)) for each in node.inputs)
        case ops.Union(branches=branches, output=output):
            places = [place for place, each in enumerate(output) if each.key in wanted]
            for branch in branches:
                yield branch, frozenset(branch.output[place].key for place in places)
        case _:
            used = (expression.keys for expression in node.expressions)
            needed = wanted.union(*used)
            yield from ((each, needed) for each in node.inputs)
