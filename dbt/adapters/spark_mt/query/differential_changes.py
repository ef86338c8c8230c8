"""Changes of operators: the bag of rows that the result of each one gains, and the one it loses.

Where an operator both gains and loses rows, they are one bag, in which each row has a weight. So
what they are joined with is read once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatchmethod
from typing import TYPE_CHECKING, TypeGuard

from sqlglot import exp

from dbt.adapters.spark_mt.query import differential_keys, relation_states
from dbt.adapters.spark_mt.query import expressions as exprs
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.dialect import LiteralText
from dbt.adapters.spark_mt.query.join_graph import Star
from dbt.adapters.spark_mt.query.subqueries import time_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from dbt.adapters.spark_mt.query.join_graph import Edge

Key = tuple[exprs.Expression, ...]
"""Expressions over the columns of an operator."""
_FIXED = relation_states.SourceChange()
_FEWEST_CHANGED = 3
"""How many inputs of a star change at least for it to be read as one: fewer are read once each."""
_OF_LEFT = frozenset({ops.JoinKind.LEFT, ops.JoinKind.SEMI, ops.JoinKind.ANTI})
_NEVER_FAILING = (
    *(exp.Boolean, exp.Column, exp.Identifier, exp.Literal, LiteralText),
    *(exp.Case, exp.If, exp.In),
)
_TRUE = exprs.Expression(exp.true())
_GAINED, _LOST = (exprs.Expression(exp.Var(this=weight)) for weight in ("1", "-1"))


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
    """Rows that the result of an operator gains and loses; None for none.

    Args:
        added: The rows that it gains.
        removed: The rows that it loses.
        both: Rows that it gains and rows that it loses, each with a weight (`Changes.weight`). Then
            there are no others.
    """

    added: ops.Operator | None = None
    removed: ops.Operator | None = None
    both: ops.Operator | None = None

    @property
    def parts(self) -> tuple[ops.Operator, ...]:
        """The rows, gained ones first."""
        found = (self.added, self.removed, self.both)
        return tuple(part for part in found if part is not None)

    @property
    def adds(self) -> bool:
        """Whether rows may be gained."""
        return self.added is not None or self.both is not None

    @property
    def removes(self) -> bool:
        """Whether rows may be lost."""
        return self.removed is not None or self.both is not None

    def each(self, of: Callable[[ops.Operator], ops.Operator]) -> Change:
        """Return what a function makes of the rows."""
        found = (self.added, self.removed, self.both)
        return Change(*(of(part) if part is not None else None for part in found))


class Changes:
    """Changes of the operators of one tree.

    Args:
        ids: Gives attributes an identity that the tree does not have yet.
        sources: What happened to each relation, by its full name.
    """

    def __init__(
        self, ids: Iterator[int], sources: Mapping[str, relation_states.SourceChange]
    ) -> None:
        self._ids = ids
        self._sources = sources
        self._known: dict[int, tuple[ops.Operator, Change]] = {}
        self._keys: dict[int, tuple[ops.Operator, ops.Operator]] = {}
        self.weight = self.attribute(relation_states.WEIGHT)
        self.reads: dict[int, tuple[str, relation_states.StateOf]] = {}
        self.rules: set[str] = set()

    def attribute(self, name: str) -> exprs.Attribute:
        """Return a new attribute."""
        return exprs.Attribute(next(self._ids), name)

    def is_changed(self, node: ops.Operator) -> bool:
        """Return whether a relation below an operator changed."""
        return any(self._source(scan) for scan in ops.scans(node))

    def cancels(self, node: ops.Operator) -> bool:
        """Return whether an operator may gain a row that it loses again.

        A relation may. So may a join of which two inputs changed: the new rows of one are joined to
        the other one before, and then what changed there is joined to them.
        """
        changed = [change for change in map(self._source, ops.scans(node)) if change]
        return any(c.cancels for c in changed) or (len(changed) > 1 and "D2" in self.rules)

    def _source(self, scan: ops.Scan) -> relation_states.SourceChange:
        return _FIXED if scan.version else self._sources[str(scan.relation)]

    def before(self, node: ops.Operator) -> ops.Operator:
        """Return an operator over the relations before."""
        return ops.transform(node, lambda each: self._read(each, relation_states.StateOf.BEFORE))

    def after(self, node: ops.Operator) -> ops.Operator:
        """Return an operator over the relations after."""
        return ops.transform(node, lambda each: self._read(each, relation_states.StateOf.AFTER))

    def _read(self, node: ops.Operator, which: relation_states.StateOf) -> ops.Operator:
        if not isinstance(node, ops.Scan) or node.version:
            return node
        if which is relation_states.StateOf.BEFORE and not self._source(node):
            which = relation_states.StateOf.AFTER
        place = relation_states.place_of(node, which)
        self.reads[place] = (str(node.relation), which)
        return ops.Scan(place, node.relation, node.output)

    def of(self, node: ops.Operator) -> Change:
        """Return the change of an operator."""
        if id(node) not in self._known:
            change = self._computed(node) if self.is_changed(node) else Change()
            change = self._weighted(change, node.output)
            self._known[id(node)] = (node, change)
        return self._known[id(node)][1]

    @singledispatchmethod
    def _computed(self, node: ops.Operator) -> Change:
        return self._partitioned(node)

    @_computed.register
    def _(self, node: ops.Scan) -> Change:
        source = self._source(node)
        if source.adds and source.removes:
            rows = replace(node, output=(*node.output, self.weight))
            return Change(both=self._read(rows, relation_states.StateOf.CHANGED))
        if source.adds:
            return Change(added=self._read(node, relation_states.StateOf.ADDED))
        return Change(removed=self._read(node, relation_states.StateOf.REMOVED))

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
        return change.each(lambda rows: self._passing(node, rows).over(rows, *others))

    def _passing(self, node: ops.Operator, rows: ops.Operator) -> ops.Operator:
        """Return an operator that keeps the weight of rows, if they have one."""
        if not isinstance(node, ops.Project) or self.weight not in rows.output:
            return node
        return replace(node, columns=(*node.columns, *exprs.passed_on([self.weight])))

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
        changes = ((self.of(branch), branch.output) for branch in node.branches)
        return self._united(changes, node.output)

    def _united(
        self,
        changes: Iterable[tuple[Change, tuple[exprs.Attribute, ...]]],
        output: tuple[exprs.Attribute, ...],
    ) -> Change:
        """Return the union of changes, whose columns correspond by place."""
        found = [(change, columns) for change, columns in changes if change.parts]
        if all(change.added is not None and not change.removes for change, _ in found):
            return Change(added=_union([(c.added, columns) for c, columns in found], output))
        if all(change.removed is not None and not change.adds for change, _ in found):
            return Change(removed=_union([(c.removed, columns) for c, columns in found], output))
        parts = tuple(part for each in found for part in self._with_weights(*each))
        return Change(both=ops.Union(parts, (*output, self.weight)))

    def _weighted(self, change: Change, output: tuple[exprs.Attribute, ...]) -> Change:
        """Return a change as one bag of rows if there are both gained and lost ones."""
        if change.added is None or change.removed is None:
            return change
        return self._united([(change, output)], output)

    def _with_weights(
        self, change: Change, output: tuple[exprs.Attribute, ...]
    ) -> Iterator[ops.Operator]:
        """Yield the rows of a change with some columns and their weights."""
        weights = ((change.added, _GAINED), (change.removed, _LOST))
        pairs = [*weights, (change.both, self.weight.expression)]
        for rows, weight in pairs:
            if rows is not None:
                yield ops.Project(
                    rows, (*exprs.passed_on(output), exprs.Named(self.weight, weight))
                )

    def apart(self, change: Change, output: tuple[exprs.Attribute, ...]) -> Change:
        """Return a change as a bag of gained rows and one of lost rows, with some columns."""
        if change.both is None:
            return change
        rows = self.shared(change.both) if _whole_scans(change.both) else change.both
        weight = self.weight.expression.tree

        def only(comparison: type[exp.Binary]) -> ops.Operator:
            condition = comparison(this=weight.copy(), expression=exp.Literal.number(0))
            return ops.Project(
                ops.Filter(rows, exprs.Expression(condition)), exprs.passed_on(output)
            )

        return Change(only(exp.GT), only(exp.LT))

    def _bilinear(self, node: ops.Join) -> Change:
        self.rules.add("D2")
        left, right = self._of_side(node.left), self._of_side(node.right)
        changes = []
        if left.parts:
            before = self._partners(node, left, self.before)
            changes.append(left.each(lambda rows: node.over(rows, before)))
        if right.parts:
            after = self._partners(node, right, self.after, of_right=True)
            changes.append(right.each(lambda rows: node.over(after, rows)))
        return self._united(((change, node.output) for change in changes), node.output)

    def _star(self, node: ops.Join) -> Star | None:
        """Return joins as a star if their change is found with fewer reads than term by term."""
        star = Star.of(node)
        if star is None:
            return None
        changed = [each for each in star.inputs if self.is_changed(each)]
        if len(changed) < _FEWEST_CHANGED:
            return None
        return star if any(self.of(each).removes for each in changed) else None

    def _of_star(self, star: Star) -> Change:
        """Return the change of a star of which several inputs changed.

        The rows of the center before that are joined to a changed row are joined to the others as
        they are after, and as they were before. The change of the center is joined to the others
        after. So the center is read once, and each other input at most twice.
        """
        self.rules.add("D2")
        center = star.inputs[star.center]
        touched = self._touched_rows(star, self.before(center))
        gained = Change(added=touched) if touched is not None else Change()
        changes = [(each, center.output) for each in (self.of(center), gained) if each.parts]
        after = self._united(changes, center.output)
        found = [after.each(lambda rows: self._joined(star, rows, self.after))]
        if touched is not None:
            found.append(Change(removed=self._joined(star, touched, self.before)))
        output = star.root.output
        return self._united([(change, output) for change in found], output)

    def _touched_rows(self, star: Star, center: ops.Operator) -> ops.Operator | None:
        """Return the rows of the center that are joined to a changed row; None for none."""
        keys = {edge: self._changed_keys(star, edge) for edge in star.from_(star.center)}
        found = {edge: rows for edge, rows in keys.items() if rows is not None}
        if not found:
            return None
        rows, flags = center, []
        for edge, values in found.items():
            flag = self.attribute("touched")
            equal = tuple(
                exprs.EquiKey(ours, theirs.expression, null_safe=True)
                for (ours, _), theirs in zip(edge.pairs, values.output, strict=True)
            )
            flagged = ops.Project(
                values, (*exprs.passed_on(values.output), exprs.Named(flag, _TRUE))
            )
            rows = ops.Join(rows, flagged, ops.JoinKind.LEFT, equal)
            flags.append(flag.expression.tree)
        condition = exp.Is(this=exp.func("coalesce", *flags), expression=exp.true())
        return self.shared(
            ops.Project(
                ops.Filter(rows, exprs.Expression(condition)), exprs.passed_on(center.output)
            )
        )

    def _changed_keys(self, star: Star, edge: Edge) -> ops.Operator | None:
        """Return the values by which changed rows are joined to an input; None for none.

        A row is changed, or is joined to a changed row that is farther from the center.
        """
        node = star.inputs[edge.outer]
        values = tuple(theirs for _, theirs in edge.pairs)
        changes = [(self.of(node), values)]
        for each in star.from_(edge.outer):
            keys = self._changed_keys(star, each)
            if keys is not None:
                pairs = tuple(
                    (ours, k) for (ours, _), k in zip(each.pairs, keys.output, strict=True)
                )
                rows = differential_keys.restricted(self.after(node), pairs, keys)
                changes.append((Change(added=rows), values))
        found = [(change, key) for change, key in changes if change.parts]
        return self._keys_in(found) if found else None

    def _joined(
        self, star: Star, rows: ops.Operator, at: Callable[[ops.Operator], ops.Operator]
    ) -> ops.Operator:
        """Return a star over some rows of the center, and the rows of the others that they need.

        Args:
            star: The joins.
            rows: The rows of the center.
            at: Returns the state of an input before or after.
        """
        found, few = {star.center: rows}, {star.center}
        for edge in star.edges:
            outer = ops.transform(at(star.inputs[edge.outer]), self._one_row)
            if edge.inner in few and _whole_scans(outer) > 1:
                few.add(edge.outer)
                known = tuple(ours for ours, _ in edge.pairs)
                keys = self._keys_in([(Change(added=found[edge.inner]), known)])
                theirs = zip((b for _, b in edge.pairs), keys.output, strict=True)
                outer = differential_keys.restricted(outer, tuple(theirs), keys)
            found[edge.outer] = outer
        return star.over(found.__getitem__)

    def _of_side(self, node: ops.Operator) -> Change:
        """Return the change of a join's input; that of one row is empty if its values are equal."""
        if not _is_one_row(node) or not self.is_changed(node):
            return self.of(node)
        self.rules.add("K")
        rows = Change(self._one_row(self.after(node)), self._one_row(self.before(node)))
        return self._weighted(self.consolidated(rows, node.output), node.output)

    def _partners(
        self,
        node: ops.Join,
        change: Change,
        at: Callable[[ops.Operator], ops.Operator],
        *,
        of_right: bool = False,
    ) -> ops.Operator:
        """Return the rows of an input of a join with which the change of the other one is joined.

        If they are joined themselves, only those that have a partner are computed.
        """
        rows = ops.transform(at(node.left if of_right else node.right), self._one_row)
        keys = tuple((k.left, k.right) if of_right else (k.right, k.left) for k in node.keys)
        if not keys or _whole_scans(rows) < 2:
            return rows
        touched = self._keys_in([(change, tuple(theirs for _, theirs in keys))])
        pairs = tuple((ours, key) for (ours, _), key in zip(keys, touched.output, strict=True))
        return differential_keys.restricted(rows, pairs, touched)

    def _one_row(self, node: ops.Operator) -> ops.Operator:
        """Return an operator with one row as a relation of its own, unless it is correlated."""
        is_apart = _is_one_row(node) and _whole_scans(node) and not ops.outer_keys(node)
        return self.shared(node) if is_apart else node

    def consolidated(self, change: Change, output: tuple[exprs.Attribute, ...]) -> Change:
        """Cancel the rows that are both added and removed; return gained rows and lost rows."""
        change = self.apart(change, output)
        added, removed = change.added, change.removed
        if added is None or removed is None:
            return change
        return Change(ops.Difference(added, removed), ops.Difference(removed, added))

    @_computed.register
    def _(self, node: ops.Join) -> Change:
        if self.is_partitioned(node):
            return self._partitioned(node)
        if node.kind not in ops.INNER_JOINS:
            return self._one_sided(node)
        star = self._star(node)
        return self._bilinear(node) if star is None else self._of_star(star)

    def _one_sided(self, node: ops.Join) -> Change:
        """Return the change of an outer, semi or anti join whose other side did not change."""
        if node.kind is ops.JoinKind.RIGHT:
            self.rules.add("D1")
            left = self.after(node.left)
            return self.of(node.right).each(lambda rows: node.over(left, rows))
        return self._linear(node, self.of(node.left), self.after(node.right))

    def _only_changed(self, node: ops.Join) -> ops.Operator | None:
        """Return the input of which a join is a linear operator, since the other did not change.

        None if both inputs changed, or if a row without a partner may gain or lose one.
        """
        changed = [each for each in node.inputs if self.is_changed(each)]
        ways = {ops.JoinKind.FULL: (), ops.JoinKind.RIGHT: (node.right,)}
        is_inner = node.kind in ops.INNER_JOINS
        linear = node.inputs if is_inner else ways.get(node.kind, (node.left,))
        return changed[0] if len(changed) == 1 and changed[0] in linear else None

    def _partitioned(self, node: ops.Operator) -> Change:
        self.rules.add("K")
        places = range(len(self.key_of(node).output))
        return Change(
            self.restricted(node, self.after, places), self.restricted(node, self.before, places)
        )

    def key_of(self, node: ops.Operator) -> differential_keys.Partition:
        """Return the key by which an operator is partitioned."""
        partition = differential_keys.partition_of(node)
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
            inputs.append(differential_keys.restricted(at(each), pairs, keys))
        return node.over(*inputs)

    def touched(self, node: ops.Operator) -> ops.Operator:
        """Return the keys of an operator that the changes of its inputs contain."""
        if id(node) not in self._keys:
            inputs = zip(node.inputs, self.key_of(node).inputs, strict=True)
            rows = tuple(found for each, key in inputs for found in self._touching(each, key))
            self._keys[id(node)] = (node, self._keys_in(rows))
        return self._keys[id(node)][1]

    def _touching(self, node: ops.Operator, key: Key) -> tuple[tuple[Change, Key], ...]:
        """Return rows, and a key over them, that have each value of a key in a change.

        They may have other values, too.
        """
        found = self._among_touched(node, key)
        return self._whichever(node, key) if found is None else found

    def _whichever(self, node: ops.Operator, key: Key) -> tuple[tuple[Change, Key], ...]:
        """Return the same where no touched keys below show it."""
        found = self._whatever_partners(_Left(node, key))
        return ((self.of(node), key),) if found is None else found

    def _among_touched(
        self, node: ops.Operator, key: Key, generated: frozenset[str] = frozenset()
    ) -> tuple[tuple[Change, Key], ...] | None:
        """Return touched keys of partitioned operators below an operator that have a key of it.

        Whatever changes in a partitioned operator has a touched key. So its rows before and after
        need not be computed to find the values in the change.

        Args:
            node: The operator.
            key: The key.
            generated: What it uses of rows that are generated for each row of the operator.

        Returns:
            None where a changed row of the operator is of none, or has another key.
        """
        below = _Below.of(node, key, self._only_changed)
        generated |= {a.key for each in below.generators for a in each.generated}
        if isinstance(below.node, ops.Union):
            found = self._among_branches(below.node, below.key, generated)
        else:
            found = self._of_partition(below, generated)
        if found is None:
            return None
        return tuple((rows.each(below.generating), values) for rows, values in found)

    def _among_branches(
        self, node: ops.Union, key: Key, generated: frozenset[str]
    ) -> tuple[tuple[Change, Key], ...] | None:
        keys = [_over(key, exprs.by_place(node.output, branch.output)) for branch in node.branches]
        branches = tuple(zip(node.branches, keys, strict=True))
        among = [self._among_touched(branch, over, generated) for branch, over in branches]
        if all(rows is None for rows in among):
            return None
        pairs = zip(among, branches, strict=True)
        found = (self._whichever(*each) if rows is None else rows for rows, each in pairs)
        return tuple(pair for rows in found for pair in rows)

    def _of_partition(
        self, below: _Below, generated: frozenset[str]
    ) -> tuple[tuple[Change, Key], ...] | None:
        """Return the touched keys of an operator if another key follows from them."""
        node, key = below.node, below.key
        if not self.is_changed(node):
            return ()
        partition = differential_keys.partition_of(node) if self.is_partitioned(node) else None
        known = [part.attribute for part in partition.output] if partition else []
        # a value may fail where it is computed of a row that is none of the result
        is_safe = not below.is_filtered and not isinstance(node, ops.Join)
        there = generated.union(known)
        is_known = all(each.keys <= there for each in key)
        never_fails = is_safe or all(_never_fails(each, generated) for each in key)
        if not (is_known and never_fails and any(known)):
            return None
        keys = self.touched(node)
        pairs = zip(known, keys.output, strict=True)
        values = {column: value.expression.tree for column, value in pairs if column}
        return ((Change(added=keys), _over(key, values)),)

    def _whatever_partners(self, rows: _Left) -> tuple[tuple[Change, Key], ...] | None:
        """Return rows that have the touched keys of a join, and a key of its left input over them.

        What they are joined to decides whether and how often the join has them, not their key. So
        it is not read. The same holds for joins below.

        Returns:
            None where there is no such join, or where the key is not one of its left input.
        """
        node, found = rows.node, None
        if isinstance(node, ops.Union):
            branches = [self._whatever_partners(rows.of_branch(each)) for each in node.branches]
            if all(branch is not None for branch in branches):
                found = tuple(pair for branch in branches for pair in branch or ())
        elif self._may_gain_partners(node):
            touched = rows.touched or self.touched(node)
            known = rows.known or self.key_of(node).inputs[0]
            left = replace(rows, node=node.left, touched=touched, known=known)
            found = self._whatever_partners(left) if left.has_keys else None
        elif (below := rows.below) is not None:
            found = self._whatever_partners(below)
        elif rows.touched is not None:
            pairs = tuple(zip(rows.known, rows.touched.output, strict=True))
            kept = rows.filtered(self._ever(node, pairs, rows.touched))
            found = ((Change(added=kept), rows.key),)
        return found

    def _ever(
        self, node: ops.Operator, pairs: tuple[differential_keys.Pair, ...], keys: ops.Operator
    ) -> ops.Operator:
        """Return the rows of an operator, before and after, that have one of some keys.

        What did not change and is joined to them is read once.
        """
        if not self.is_changed(node):
            return differential_keys.restricted(self.after(node), pairs, keys)
        rows = self._only_changed(node) if isinstance(node, ops.Join) else None
        if rows is None or not all(ours.keys <= ops.keys_in(rows) for ours, _ in pairs):
            after = differential_keys.restricted(self.after(node), pairs, keys)
            return ops.Union((after, *self._lost(node, pairs, keys)), node.output)
        below = self._ever(rows, pairs, keys)
        return node.over(*(below if each is rows else self.after(each) for each in node.inputs))

    def _lost(
        self, node: ops.Operator, pairs: tuple[differential_keys.Pair, ...], keys: ops.Operator
    ) -> tuple[ops.Operator, ...]:
        """Return the rows of an operator before that have one of some keys, unless they stayed.

        Those that changed have such a key, and are there. Others may be among them.
        """
        if any(map(self.is_partitioned, ops.walk(node))):
            return (differential_keys.restricted(self.before(node), pairs, keys),)
        change = self.of(node)
        lost = (change.removed, change.both)
        return tuple(ops.Project(rows, exprs.passed_on(node.output)) for rows in lost if rows)

    def _may_gain_partners(self, node: ops.Operator) -> TypeGuard[ops.Join]:
        """Whether an operator keeps rows of its left input for partners that changed."""
        is_join = isinstance(node, ops.Join) and node.kind in _OF_LEFT and bool(node.keys)
        return is_join and self.is_partitioned(node)

    def is_partitioned(self, node: ops.Operator) -> bool:
        """Whether the change of an operator is computed for the touched values of a key."""
        if isinstance(node, ops.Join):
            is_linear = self._only_changed(node) is not None
            return not is_linear and (node.kind not in ops.INNER_JOINS or self._joins_touched(node))
        return isinstance(node, (ops.Aggregate, ops.Distinct, ops.SetOperation, ops.Window))

    def _joins_touched(self, node: ops.Join) -> bool:
        """Whether the touched keys of both inputs of an inner join give the one that it joins by.

        Then each input is computed before and after for all of these keys. To join the change of
        one to the other, each would be computed once more.
        """
        if not node.keys:
            return False
        keys = self.key_of(node).inputs
        return all(
            self._among_touched(each, key) is not None
            for each, key in zip(node.inputs, keys, strict=True)
        )

    def _keys_in(self, changes: Sequence[tuple[Change, Key]]) -> ops.Operator:
        """Return the values that some expressions have in the rows of changes, each once."""
        output = tuple(self.attribute("key") for _ in changes[0][1])
        sides = tuple(
            ops.Project(side, tuple(map(exprs.Named, output, key)))
            for change, key in changes
            for side in change.parts
        )
        return self.shared(ops.Distinct(ops.Union(sides, output)))

    def shared(self, node: ops.Operator) -> ops.Operator:
        """Return an operator that reads the rows of another one from a relation of its own."""
        return ops.Shared(node)


def _union(
    parts: Sequence[tuple[ops.Operator | None, tuple[exprs.Attribute, ...]]],
    output: tuple[exprs.Attribute, ...],
) -> ops.Operator | None:
    """Return the union of some columns of rows, which correspond by place."""
    found = tuple(
        rows if rows.output == columns else ops.Project(rows, exprs.passed_on(columns))
        for rows, columns in parts
        if rows is not None
    )
    if len(found) == 1 and found[0].output == output:
        return found[0]
    return ops.Union(found, output) if found else None


@dataclass(frozen=True, slots=True)
class _Below:
    """An operator whose rows another one filters, sorts or shows, or repeats.

    Args:
        node: The operator.
        key: A key of the other one, over the columns of this one and those that are generated.
        is_filtered: Whether some of its rows are left out.
        generators: What repeats each of its rows in the same way, the last one first.
    """

    node: ops.Operator
    key: Key
    is_filtered: bool = False
    generators: tuple[ops.Generate, ...] = ()

    @classmethod
    def of(
        cls,
        node: ops.Operator,
        key: Key,
        only_changed: Callable[[ops.Join], ops.Operator | None],
    ) -> _Below:
        """Return the operator that is farthest below another one.

        Args:
            node: The other one.
            key: The key.
            only_changed: Returns the input of which a join is a linear operator; None for none.
        """
        found = cls(node, key)
        while (below := found._next(only_changed)) is not None:
            found = below
        return found

    def _next(self, only_changed: Callable[[ops.Join], ops.Operator | None]) -> _Below | None:
        """Return the operator below this one; None where its rows are not those of this one."""
        if (passed := _passed(self.node)) is not None:
            rows, values = passed
            is_filtered = self.is_filtered or isinstance(self.node, ops.Filter)
            return replace(self, node=rows, key=_over(self.key, values), is_filtered=is_filtered)
        match self.node:
            case ops.Generate(input=rows, generator=generator) if not generator.keys:
                return replace(self, node=rows, generators=(*self.generators, self.node))
            case ops.Join() if (side := only_changed(self.node)) is not None:
                generated = {a.key for each in self.generators for a in each.generated}
                if all(each.keys <= ops.keys_in(side) | generated for each in self.key):
                    return replace(self, node=side, is_filtered=True)
        return None

    def generating(self, rows: ops.Operator) -> ops.Operator:
        """Return rows that are repeated as those of the operator are."""
        for each in reversed(self.generators):
            rows = replace(each, input=rows)
        return rows


@dataclass(frozen=True, slots=True)
class _Left:
    """Rows of the left input of a join, or of an operator over the join.

    Args:
        node: The operator.
        key: Values over its columns: columns or literals.
        touched: The touched keys of the join; None above it.
        known: The key of the join over the columns.
        conditions: What is filtered above.
    """

    node: ops.Operator
    key: Key
    touched: ops.Operator | None = None
    known: Key = ()
    conditions: Key = ()

    @property
    def has_keys(self) -> bool:
        """Whether both keys are columns of the operator, or literals."""
        there = ops.keys_in(self.node)
        return all(each.keys <= there and _never_fails(each) for each in (*self.key, *self.known))

    @property
    def below(self) -> _Left | None:
        """The rows that the operator filters, sorts or shows."""
        passed = _passed(self.node)
        if passed is None:
            return None
        found = self._over(*passed)
        if isinstance(self.node, ops.Filter):
            found = replace(found, conditions=(*found.conditions, self.node.condition))
        return found if found.has_keys else None

    def of_branch(self, branch: ops.Operator) -> _Left:
        """Return the rows of a branch of a union."""
        return self._over(branch, exprs.by_place(self.node.output, branch.output))

    def _over(self, node: ops.Operator, values: Mapping[str, exp.Expr]) -> _Left:
        parts = (self.key, self.known, self.conditions)
        key, known, conditions = (_over(part, values) for part in parts)
        return replace(self, node=node, key=key, known=known, conditions=conditions)

    def filtered(self, rows: ops.Operator) -> ops.Operator:
        """Return rows of the operator that meet the conditions over its columns.

        Spark filters below such joins, too.
        """
        there = ops.keys_in(self.node)
        found = [each for each in reversed(self.conditions) if each.keys <= there]
        return ops.Filter(rows, exprs.all_of(found)) if found else rows


def _passed(node: ops.Operator) -> tuple[ops.Operator, Mapping[str, exp.Expr]] | None:
    """Return what an operator filters, sorts or shows, and its columns over that."""
    match node:
        case ops.Filter(input=rows) | ops.Sort(input=rows):
            return rows, {}
        case ops.Project(input=rows, columns=columns) if not _has_time_window(columns):
            return rows, exprs.values_of(columns)
    return None


def _has_time_window(columns: Iterable[exprs.Named]) -> bool:
    return any(time_windows(column.expression) for column in columns)


def _over(key: Key, values: Mapping[str, exp.Expr]) -> Key:
    return tuple(each.over(values) for each in key)


def _never_fails(value: exprs.Expression, generated: Collection[str] = ()) -> bool:
    """Whether a value is a column or a literal, also one that some values of others choose.

    Args:
        value: The value.
        generated: The other columns, of which the query writes all values.
    """
    cases, choices = value.tree.find_all(exp.Case), value.tree.find_all(exp.In)
    known = all(exprs.Expression(each.this).attribute in generated for each in choices)
    one_type = all(len(case.args["ifs"]) == 1 and not case.args.get("default") for case in cases)
    return known and one_type and all(isinstance(e, _NEVER_FAILING) for e in value.tree.walk())


def _whole_scans(node: ops.Operator) -> int:
    return sum(map(relation_states.is_whole, ops.scans(node)))


def _is_one_row(node: ops.Operator) -> bool:
    while isinstance(node, ops.Project):
        node = node.input
    return isinstance(node, ops.Aggregate) and not node.groups and node.sets is None
