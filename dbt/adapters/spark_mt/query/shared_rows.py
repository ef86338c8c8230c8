"""Rows that several operators read, as relations of their own.

Two operators have the same rows if their SQL differs in the identities of attributes only, as where
a query uses a CTE twice. Rows that read whole relations are computed once where they are about as
few as the changed ones. More rows are a view, so that their SQL is written and analysed once. Rows
that one relation alone adds to others, without a join, are computed with it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.operator_sql import render
from dbt.adapters.spark_mt.query.relation_states import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_IDENTITY = re.compile(r"#\d+`")
_UNITING = (ops.Union, ops.Distinct, ops.Project, ops.Filter)
"""Operators over whose inputs nothing is gained by knowing how few they are."""


@dataclass(frozen=True, slots=True)
class SharedRelation:
    """Rows that several queries read.

    Args:
        name: Its name.
        query: What computes the rows.
        is_view: Whether each reader computes them.
        reads: The names of the shared relations that the query reads.
    """

    name: str
    query: str
    is_view: bool = False
    reads: frozenset[str] = frozenset()


class SharedRows:
    """SQL of operators over relations with the rows that they share.

    Rows have a number, the same for all operators with these rows, and higher than those of the
    rows that they are computed of.

    Args:
        roots: The operators.
        inputs: The SQL of relations, by the occurrence of a scan.
        new_name: Returns the name of a relation that is not there yet.

    Raises:
        NotRenderedError: An operator has no SQL.
    """

    def __init__(
        self,
        roots: Iterable[ops.Operator],
        inputs: Mapping[int, str],
        new_name: Callable[[], str],
    ) -> None:
        self._inputs = inputs
        self._numbers: dict[str, int] = {}
        self._known: dict[int, tuple[ops.Operator, int]] = {}
        self._computed: list[ops.Operator] = []
        self._asked: set[int] = set()
        self._viewed: set[int] = set()
        self._names: dict[int, str] = {}
        self.relations: list[SharedRelation] = []
        """The relations, each after those that it reads."""
        self._roots = [self._number(root) for root in roots]
        for number in self._shared(self._roots):
            node = self._computed[number]
            rows = node.over(*map(self._reading, node.inputs))
            text = render(rows, inputs, self._names)
            read = {self._names[n.number] for n in ops.walk(rows) if isinstance(n, ops.Shared)}
            reads = frozenset(each.name for each in self.relations if quote(each.name) in read)
            found = SharedRelation(new_name(), text, number in self._viewed, reads)
            self._names[number] = quote(found.name)
            self.relations.append(found)

    def text(self, root: ops.Operator) -> str:
        """Return the SQL of one of the operators."""
        return render(self._reading(root), self._inputs, self._names)

    def whole_reads(self) -> Counter[int]:
        """Return how often whole relations are read, by the occurrence of a scan."""
        found, times = Counter[int](), Counter(self._roots)
        kept = self._asked - self._viewed
        for number in reversed(range(len(self._computed))):
            node = self._computed[number]
            if number in kept:
                times[number] = min(1, times[number])
            if isinstance(node, ops.Scan) and is_whole(node):
                found[node.occurrence] += times[number]
            for each in _rendered_inputs(node):
                times[self._number(each)] += times[number]
        return found

    def _number(self, node: ops.Operator) -> int:
        """Return the number of an operator's rows."""
        if id(node) not in self._known:
            self._known[id(node)] = (node, self._numbered(node))
        return self._known[id(node)][1]

    def _numbered(self, node: ops.Operator) -> int:
        if isinstance(node, ops.Shared):
            number = self._number(node.rows)
            self._asked.add(number)
            return number
        inputs = [ops.Shared(each, self._number(each)) for each in node.inputs]
        text = f"correlated {id(node)}"
        if not _is_correlated(node):
            names = {each.number: f"_{each.number}" for each in inputs}
            text = _without_identities(render(node.over(*inputs), self._inputs, names))
        number = self._numbers.setdefault(text, len(self._computed))
        if number == len(self._computed):
            self._computed.append(node)
        return number

    def _shared(self, roots: Iterable[int]) -> list[int]:
        """Return the numbers of the rows that become relations, in ascending order."""
        reads, united = Counter(roots), set()
        for number in reversed(range(len(self._computed))):
            node = self._computed[number]
            if number in united and reads[number] == 1:
                self._asked.discard(number)
            elif number not in self._asked and reads[number] > 1:
                whole = sum(map(is_whole, ops.scans(node)))
                if whole and _are_few(node):
                    self._asked.add(number)
                elif whole > 1:
                    self._asked.add(number)
                    self._viewed.add(number)
            times = 1 if number in self._asked else reads[number]
            is_kept = number in self._asked and number not in self._viewed
            for each in _rendered_inputs(node):
                below = self._number(each)
                reads[below] += times
                if isinstance(node, _UNITING) and (is_kept or number in united):
                    united.add(below)
        return sorted(number for number in self._asked if reads[number])

    def _reading(self, node: ops.Operator) -> ops.Operator:
        """Return an operator that reads shared rows from their relations."""
        number = self._number(node)
        if number in self._asked:
            return ops.Shared(node, number)
        while isinstance(node, ops.Shared):
            node = node.rows
        return node.over(*map(self._reading, node.inputs)) if node.inputs else node


def _is_correlated(node: ops.Operator) -> bool:
    return isinstance(node, ops.Apply) and bool(node.outer)


def _rendered_inputs(node: ops.Operator) -> Sequence[ops.Operator]:
    """Return the inputs of an operator that have a number; a correlated subquery has none."""
    return node.inputs[:1] if _is_correlated(node) else node.inputs


def _without_identities(text: str) -> str:
    """Return a query with the identities of attributes numbered by their places."""
    found: dict[str, str] = {}
    return _IDENTITY.sub(lambda each: found.setdefault(each[0], f"#{len(found)}`"), text)


@singledispatch
def _are_few(node: ops.Operator) -> bool:
    """Whether an operator has about as few rows as the changes of the relations."""
    return bool(node.inputs) and all(map(_are_few, node.inputs))


@_are_few.register
def _(node: ops.Scan) -> bool:
    return not is_whole(node)


@_are_few.register
def _(_: ops.Shared) -> bool:
    return True


@_are_few.register
def _(node: ops.Apply) -> bool:
    return _are_few(node.input)


@_are_few.register
def _(node: ops.SetOperation) -> bool:
    return _are_few(node.left) or (node.intersect and _are_few(node.right))


@_are_few.register
def _(node: ops.Difference) -> bool:
    return _are_few(node.left)


@_are_few.register
def _(node: ops.Aggregate) -> bool:
    return not node.groups or _are_few(node.input)


@_are_few.register
def _(node: ops.Join) -> bool:
    left, right = _are_few(node.left), _are_few(node.right)
    match node.kind:
        case ops.JoinKind.INNER | ops.JoinKind.SEMI if node.keys:
            return left or right
        case ops.JoinKind.LEFT | ops.JoinKind.SEMI | ops.JoinKind.ANTI:
            return left
        case ops.JoinKind.RIGHT:
            return right
    return left and right
