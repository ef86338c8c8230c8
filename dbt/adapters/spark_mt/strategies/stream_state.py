"""State of a stream's operators, compared with that of a changed query."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.boundary import guarded
from dbt.adapters.spark_mt.query.expressions import Expression
from dbt.adapters.spark_mt.strategies.stream_shape import delay_of, followed_scans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.strategies.strategy import OutputMode


_CLEAR = frozenset(
    {"ALIAS", "ARGUMENT_NAMES", "COLUMNS", "GENERATOR", "METADATA", "ORDER", "SYNTAX", "VIEW_CONFS"}
)
"""Codes of gaps in a tree that leave no doubt about which columns its expressions use."""
_LONGEST = 1000
"""The most characters of a text; a longer one ends in its hash, so that it cannot multiply."""


class StreamSettings(Protocol):
    """Settings of a stream: a part of the choice of a strategy."""

    @property
    def output_mode(self) -> OutputMode | None: ...  # noqa: D102 - as in `Choice`
    @property
    def key(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def followed(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def watermarks(self) -> tuple[tuple[str, Watermark], ...]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class StatefulOperator:
    """A stateful operator, with what its state depends on.

    Args:
        kind: Its name for people.
        keys: The keys of its state.
        values: The values of its state.
    """

    kind: str
    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a text for people: the aggregate by k of sum(amount)."""
        by = f" by {', '.join(self.keys)}" if self.keys else ""
        of = f" of {', '.join(self.values)}" if self.values else ""
        return f"{self.kind}{by}{of}"


def _not_clear(problem: str) -> tuple[str, ...]:
    return (f"It is not clear for what state is kept: {problem}.",)


@guarded(_not_clear)
def state_problems(
    before: tuple[ops.Tree, StreamSettings], after: tuple[ops.Tree, StreamSettings]
) -> tuple[str, ...]:
    """Return what of a changed query does not fit the state of the previous query.

    Spark checks this only when a batch runs. Without new data, Spark starts a changed aggregate
    without its state. So state is compared here, before a stream is stopped. Operators are matched
    by their order.

    Args:
        before: The operators of the previous query, and the settings of its stream.
        after: The same of the changed query.

    Returns:
        One sentence per operator or source; empty if all of the state can be used again.
    """
    (old_tree, old_stream), (new_tree, new_stream) = before, after
    problems = []
    if old_stream.followed != new_stream.followed:
        was, now = ", ".join(old_stream.followed), ", ".join(new_stream.followed)
        problems.append(f"Its streams were {was}, and are {now} now.")
    if old_stream.watermarks != new_stream.watermarks:
        problems.append("The option watermark has another value.")
    if old_stream.output_mode != new_stream.output_mode or old_stream.key != new_stream.key:
        problems.append("Rows of its batches would take the place of other rows than before.")
    old = stateful_operators(old_tree, old_stream.followed)
    new = stateful_operators(new_tree, new_stream.followed)
    if old or new:
        gaps = dict.fromkeys((*old_tree.gaps, *new_tree.gaps))
        unclear = dict.fromkeys(problem for code, problem in gaps if code not in _CLEAR)
        problems += [text for problem in unclear for text in _not_clear(problem)]
    for kept, asked in zip(old, new, strict=False):
        if kept != asked:
            problems.append(f"State was kept for {kept}, and is asked for {asked}.")
    lost = (f"State was kept for {o}, which is no longer there." for o in old[len(new) :])
    added = (f"There is no state for {o}, which was not there before." for o in new[len(old) :])
    return (*problems, *lost, *added)


def stateful_operators(
    tree: ops.Tree, followed: Sequence[str] = ()
) -> tuple[StatefulOperator, ...]:
    """Return the operators that keep state, or decide by a watermark how long, from the root down.

    Args:
        tree: The operators of a query.
        followed: Full names of the relations that are read as streams.
    """
    streams = followed_scans(tree, followed)

    def walk(node: ops.Operator) -> Iterator[StatefulOperator]:
        live = [each for each in node.inputs if streams.intersection(ops.scans(each))]
        if live and (found := _stateful(node, values, both=len(live) == len(node.inputs))):
            yield found
        for each in live:
            yield from walk(each)

    values = _Values(tree, streams)
    return tuple(walk(tree.root))


def _stateful(node: ops.Operator, values: _Values, *, both: bool) -> StatefulOperator | None:
    """Return what an operator over a stream keeps."""
    found = None
    match node:
        case ops.Project(event_time=ops.EventTime() as time):
            column = values.text(time.attribute.expression)
            found = StatefulOperator("the watermark", (column,), (delay_of(time),))
        case ops.Aggregate():
            keys = tuple(values.text(group.expression) for group in node.groups)
            calls = dict.fromkeys(values.text(call.expression) for call in node.calls)
            found = StatefulOperator("the aggregate", keys, tuple(calls))
        case ops.Distinct():
            columns = tuple(values.text(attribute.expression) for attribute in node.output)
            found = StatefulOperator("DISTINCT", columns)
        case ops.Join() if both:
            equal = (f"{values.text(k.left)} = {values.text(k.right)}" for k in node.keys)
            rest = [values.text(node.condition)] if node.condition is not None else []
            found = StatefulOperator(f"the {node.kind.value}", (*equal, *rest))
    return found


class _Values:
    """Texts of expressions over the columns of sources, equal in every analysis of a query."""

    def __init__(self, tree: ops.Tree, streams: frozenset[ops.Scan]) -> None:
        self._texts: dict[str, str] = {}
        self._scans = ops.scans(tree.root)
        self._alone = next(iter(streams)) if len(streams) == 1 else None
        for node in reversed(tuple(ops.walk(tree.root))):  # the inputs of each come first
            self._texts |= dict(self._computed(node))

    def text(self, expression: Expression) -> str:
        """Return an expression with what each column is computed of."""
        tree = expression.tree.unnest()
        if isinstance(tree, exp.Column):
            return self._texts.get(tree.name, tree.name)
        values: dict[str, exp.Expr] = {
            key: exp.Var(this=self._texts[key]) for key in expression.keys & self._texts.keys()
        }
        return _shortened(Expression(tree).over(values).sql)

    def _computed(self, node: ops.Operator) -> Iterator[tuple[str, str]]:
        """Yield the columns that an operator computes."""
        match node:
            case ops.Scan():
                yield from self._scanned(node)
            case ops.Project():
                yield from ((c.attribute.key, self.text(c.expression)) for c in node.columns)
            case ops.Aggregate():
                yield from ((g.attribute.key, self.text(g.expression)) for g in node.groups)
                yield from ((c.attribute.key, self.text(c.expression)) for c in node.calls)
            case ops.Generate():
                call = self.text(node.generator)
                yield from ((a.key, f"{call}[{i}]") for i, a in enumerate(node.generated))
            case ops.Union():
                for attribute, *sides in zip(
                    node.output, *(each.output for each in node.branches), strict=False
                ):
                    texts = dict.fromkeys(self.text(side.expression) for side in sides)
                    yield attribute.key, " | ".join(texts)
            case ops.Apply():
                yield node.attribute.key, _shortened(f"({self._described(node.query)})")

    def _scanned(self, scan: ops.Scan) -> Iterator[tuple[str, str]]:
        """Yield the columns of a table; the name of a stream is left out if it is the only one."""
        places = [each for each in self._scans if each.relation == scan.relation]
        number = f" {places.index(scan) + 1}" if places[0] is not scan else ""
        prefix = "" if scan == self._alone else f"{scan.relation.name}{number}."
        return ((attribute.key, f"{prefix}{attribute.name}") for attribute in scan.output)

    def _described(self, node: ops.Operator) -> str:
        """Return a text for all that a subquery computes."""
        own = f"{node.relation} {node.version}" if isinstance(node, ops.Scan) else ""
        parts = [own, *map(self.text, node.expressions), *map(self._described, node.inputs)]
        return f"{type(node).__name__} {', '.join(part for part in parts if part)}"


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 4]}… {hashlib.sha256(text.encode()).hexdigest()}"
