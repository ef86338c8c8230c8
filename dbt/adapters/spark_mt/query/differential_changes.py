"""Changes of operators: the bag of rows that the result of each one gains, and the one it loses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import singledispatchmethod
from itertools import count
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.differential_keys import Partition, partition_of, restricted
from dbt.adapters.spark_mt.query.expressions import Attribute, Named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.query.expressions import Expression


TABLE = -1
"""The occurrence of scans of the stored result."""


class StateOf(Enum):
    """Which rows of a relation are read."""

    BEFORE = 0
    AFTER = 1
    ADDED = 2
    REMOVED = 3


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What happened to a relation: whether rows were added, and whether rows were removed."""

    adds: bool = False
    removes: bool = False

    def __bool__(self) -> bool:
        return self.adds or self.removes


@dataclass(frozen=True, slots=True)
class RelationStates:
    """Texts that read one relation: valid after FROM, with the relation's columns.

    Args:
        before: The relation as the stored result has it, such as a version of a table.
        after: The relation as the new result must have it.
        added: A query in parentheses: the bag of rows added; empty for none.
        removed: A query in parentheses: the bag of rows removed; empty for none.
    """

    before: str
    after: str
    added: str = ""
    removed: str = ""

    def at(self, which: StateOf) -> str:
        """Return the text that reads some of the rows."""
        return (self.before, self.after, self.added, self.removed)[which.value]


@dataclass(frozen=True, slots=True)
class NotIncremental:
    """Reason for which a query is recomputed.

    Args:
        code: Such as `GLOBAL_LIMIT`, or the reason code of an opaque operator.
        problem: Part of a sentence about the query.
        remedy: How to rewrite the query; empty if there is no way.
    """

    code: str
    problem: str
    remedy: str = ""


class ChangeNotSupportedError(Exception):
    """The change of these sources needs a recompute; the query has no obstacle."""

    def __init__(self, reason: NotIncremental) -> None:
        super().__init__(reason.problem)
        self.reason = reason


ChangeNotSupported = ChangeNotSupportedError


@dataclass(frozen=True, slots=True)
class Change:
    """Rows that the result of an operator gains and loses; None for none."""

    added: ops.Operator | None = None
    removed: ops.Operator | None = None

    @property
    def sides(self) -> tuple[ops.Operator, ...]:
        """The gained rows and the lost rows, each only if there are any."""
        return tuple(side for side in (self.added, self.removed) if side is not None)

    def each(self, of: Callable[[ops.Operator], ops.Operator]) -> Change:
        """Return what a function makes of the gained rows and of the lost rows."""
        added, removed = self.added, self.removed
        return Change(
            of(added) if added is not None else None,
            of(removed) if removed is not None else None,
        )


def _place(scan: ops.Scan, which: StateOf) -> int:
    return TABLE - 1 - len(StateOf) * scan.occurrence - which.value


def _is_whole(scan: ops.Scan) -> bool:
    """Whether all rows of a relation are read, and not what it gained or lost."""
    which = (TABLE - 1 - scan.occurrence) % len(StateOf)
    return scan.occurrence >= 0 or StateOf(which) in {StateOf.BEFORE, StateOf.AFTER}


class Changes:
    """Changes of the operators of one tree.

    Args:
        ids: Gives attributes an identity that the tree does not have yet.
        sources: What happened to each relation, by its full name.
    """

    def __init__(self, ids: Iterator[int], sources: Mapping[str, SourceChange]) -> None:
        self._ids = ids
        self._sources = sources
        self._numbers = count()
        self._known: dict[int, tuple[ops.Operator, Change]] = {}
        self._keys: dict[int, tuple[ops.Operator, ops.Operator]] = {}
        self.reads: dict[int, tuple[str, StateOf]] = {}
        self.rules: set[str] = set()

    def attribute(self, name: str) -> Attribute:
        """Return a new attribute."""
        return Attribute(next(self._ids), name)

    def is_changed(self, node: ops.Operator) -> bool:
        """Return whether a relation below an operator changed."""
        return any(self._source(scan) for scan in ops.scans(node))

    def _source(self, scan: ops.Scan) -> SourceChange:
        return _FIXED if scan.version else self._sources[str(scan.relation)]

    def before(self, node: ops.Operator) -> ops.Operator:
        """Return an operator over the relations before."""
        return ops.transform(node, lambda each: self._read(each, StateOf.BEFORE))

    def after(self, node: ops.Operator) -> ops.Operator:
        """Return an operator over the relations after."""
        return ops.transform(node, lambda each: self._read(each, StateOf.AFTER))

    def _read(self, node: ops.Operator, which: StateOf) -> ops.Operator:
        if not isinstance(node, ops.Scan) or node.version:
            return node
        if which is StateOf.BEFORE and not self._source(node):
            which = StateOf.AFTER
        place = _place(node, which)
        self.reads[place] = (str(node.relation), which)
        return ops.Scan(place, node.relation, node.output)

    def of(self, node: ops.Operator) -> Change:
        """Return the change of an operator."""
        if id(node) not in self._known:
            change = self._computed(node) if self.is_changed(node) else Change()
            self._known[id(node)] = (node, change)
        return self._known[id(node)][1]

    @singledispatchmethod
    def _computed(self, node: ops.Operator) -> Change:
        return self._partitioned(node)

    @_computed.register
    def _(self, node: ops.Scan) -> Change:
        source = self._source(node)
        return Change(
            self._read(node, StateOf.ADDED) if source.adds else None,
            self._read(node, StateOf.REMOVED) if source.removes else None,
        )

    @_computed.register
    def _(self, node: ops.Sort) -> Change:
        return self.of(node.input)

    @_computed.register(ops.Filter)
    @_computed.register(ops.Project)
    @_computed.register(ops.Generate)
    def _(self, node: ops.Operator) -> Change:
        return self._linear(node, self.of(node.inputs[0]))

    def _linear(self, node: ops.Operator, change: Change, *others: ops.Operator) -> Change:
        self.rules.add("D1")
        return change.each(lambda side: node.over(side, *others))

    @_computed.register
    def _(self, node: ops.Apply) -> Change:
        if self.is_changed(node.query):
            raise ChangeNotSupportedError(
                NotIncremental(
                    "SUBQUERY",
                    "the rows of a subquery that is no join changed",
                    "Write the subquery as a join.",
                )
            )
        return self._linear(node, self.of(node.input), self.after(node.query))

    @_computed.register
    def _(self, node: ops.Union) -> Change:
        self.rules.add("D1")
        changes = [self.of(branch) for branch in node.branches]
        return Change(
            _union([c.added for c in changes], node.output),
            _union([c.removed for c in changes], node.output),
        )

    def _bilinear(self, node: ops.Join) -> Change:
        self.rules.add("D2")
        left, right = self._of_side(node.left), self._of_side(node.right)
        before = self._partners(node, left, self.before) if left.sides else None
        after = self._partners(node, right, self.after, of_right=True) if right.sides else None

        def terms(one: ops.Operator | None, other: ops.Operator | None) -> ops.Operator | None:
            found = [
                node.over(one, before) if one is not None and before is not None else None,
                node.over(after, other) if other is not None and after is not None else None,
            ]
            return _union(found, node.output)

        return Change(terms(left.added, right.added), terms(left.removed, right.removed))

    def _of_side(self, node: ops.Operator) -> Change:
        """Return the change of a join's input; that of one row is empty if its values are equal."""
        change = self.of(node)
        return self.consolidated(change.each(self._one_row)) if _is_one_row(node) else change

    def _partners(
        self,
        node: ops.Join,
        change: Change,
        at: Callable[[ops.Operator], ops.Operator],
        *,
        of_right: bool = False,
    ) -> ops.Operator:
        """Return the rows of an input of a join with which the change of the other one is joined.

        If both gained and lost rows need them and they are joined themselves, those that have a
        partner are computed once.
        """
        rows = ops.transform(at(node.left if of_right else node.right), self._one_row)
        keys = tuple((k.left, k.right) if of_right else (k.right, k.left) for k in node.keys)
        if len(change.sides) < 2 or not keys or _whole_scans(rows) < 2:
            return rows
        touched = self._keys_in([(change, tuple(theirs for _, theirs in keys))])
        pairs = tuple((ours, key) for (ours, _), key in zip(keys, touched.output, strict=True))
        return self.shared(restricted(rows, pairs, touched))

    def _one_row(self, node: ops.Operator) -> ops.Operator:
        """Return an operator with one row as a relation of its own, unless it is correlated."""
        is_apart = _is_one_row(node) and _whole_scans(node) and not ops.outer_keys(node)
        return self.shared(node) if is_apart else node

    def consolidated(self, change: Change) -> Change:
        """Cancel the rows that are both added and removed."""
        added, removed = change.added, change.removed
        if added is None or removed is None:
            return change
        return Change(ops.Difference(added, removed), ops.Difference(removed, added))

    @_computed.register
    def _(self, node: ops.Join) -> Change:
        if node.kind in {ops.JoinKind.INNER, ops.JoinKind.CROSS}:
            return self._bilinear(node)
        return self._one_sided(node) or self._partitioned(node)

    def _one_sided(self, node: ops.Join) -> Change | None:
        """Return the change of a join whose other side did not change; None if it did."""
        if node.kind is ops.JoinKind.RIGHT and not self.is_changed(node.left):
            self.rules.add("D1")
            left = self.after(node.left)
            return self.of(node.right).each(lambda side: node.over(left, side))
        one_sided = node.kind in {ops.JoinKind.LEFT, ops.JoinKind.SEMI, ops.JoinKind.ANTI}
        if one_sided and not self.is_changed(node.right):
            return self._linear(node, self.of(node.left), self.after(node.right))
        return None

    def _partitioned(self, node: ops.Operator) -> Change:
        self.rules.add("K")
        places = range(len(self.key_of(node).output))
        return Change(
            self.restricted(node, self.after, places), self.restricted(node, self.before, places)
        )

    def key_of(self, node: ops.Operator) -> Partition:
        """Return the key by which an operator is partitioned."""
        partition = partition_of(node)
        if partition is None:
            raise ChangeNotSupportedError(
                NotIncremental(
                    "JOIN_WITHOUT_KEY",
                    "a side of a join without an equality changed",
                    "Add an equality to the condition of the outer, semi or anti join.",
                )
            )
        return partition

    def restricted(
        self, node: ops.Operator, at: Callable[[ops.Operator], ops.Operator], places: Sequence[int]
    ) -> ops.Operator:
        """Return an operator over the input rows whose key is in the change.

        Args:
            node: The operator.
            at: Returns the state of an input before or after.
            places: Which parts of the key count; none for all rows.
        """
        if not places:
            return at(node)
        keys = self.touched(node)
        inputs = []
        for each, key in zip(node.inputs, self.key_of(node).inputs, strict=True):
            pairs = tuple((key[i], keys.output[i]) for i in places)
            inputs.append(restricted(at(each), pairs, keys))
        return node.over(*inputs)

    def touched(self, node: ops.Operator) -> ops.Operator:
        """Return the keys of an operator that the changes of its inputs contain."""
        if id(node) not in self._keys:
            inputs = zip(map(self.of, node.inputs), self.key_of(node).inputs, strict=True)
            self._keys[id(node)] = (node, self._keys_in(tuple(inputs)))
        return self._keys[id(node)][1]

    def _keys_in(self, changes: Sequence[tuple[Change, tuple[Expression, ...]]]) -> ops.Operator:
        """Return the values that some expressions have in the rows of changes, each once."""
        output = tuple(self.attribute("key") for _ in changes[0][1])
        sides = tuple(
            ops.Project(side, tuple(map(Named, output, key)))
            for change, key in changes
            for side in change.sides
        )
        return self.shared(ops.Distinct(ops.Union(sides, output)))

    def shared(self, node: ops.Operator) -> ops.Operator:
        """Return an operator that reads the rows of another one from a relation of its own."""
        return ops.Shared(next(self._numbers), node)


_FIXED = SourceChange()


def _union(
    parts: Sequence[ops.Operator | None], output: tuple[Attribute, ...]
) -> ops.Operator | None:
    found = tuple(part for part in parts if part is not None)
    if len(found) == 1 and found[0].output == output:
        return found[0]
    return ops.Union(found, output) if found else None


def _whole_scans(node: ops.Operator) -> int:
    return sum(map(_is_whole, ops.scans(node)))


def _is_one_row(node: ops.Operator) -> bool:
    while isinstance(node, ops.Project):
        node = node.input
    return isinstance(node, ops.Aggregate) and not node.groups and node.sets is None
