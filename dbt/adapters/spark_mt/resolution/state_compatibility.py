"""Compatibility of a changed query with the state that its stream keeps.

Spark checks this only when a batch runs. Without new data, Spark starts a changed aggregate without
its state. So state is compared here, before a stream is stopped. An operator's state is described
by its keys, aggregates, condition and watermark. Operators are matched by their order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.query.functions import is_aggregate
from dbt.adapters.spark_mt.query.plan_items import ids_in, items_of, lists_of, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.query.analyzer import PlanOperator
    from dbt.adapters.spark_mt.resolution.stream_flow import OutputMode


_KINDS = {
    "Aggregate": "the aggregate",
    "Distinct": "DISTINCT",
    "Deduplicate": "the deduplication",
    "DeduplicateWithinWatermark": "the deduplication",
    "EventTimeWatermark": "the watermark",
    "Join": "the join",
}
_ATTRIBUTE = re.compile(r"(?P<name>[\w.]+)#(?P<id>\d+)L?")
_EXPRESSION_ID = re.compile(r",? ?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ALIAS = re.compile(r" AS [^,\[\]]+?#\d+L?$")
_CALL = re.compile(r"\b(?P<name>[a-z_]\w*)\(")


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


def stateful_operators(root: PlanOperator) -> tuple[StatefulOperator, ...]:
    """Return a plan's operators that may keep state, from its root down."""
    return tuple(_walk(root, _definitions(root)))


def state_problems(
    before: tuple[PlanOperator, StreamSettings], after: tuple[PlanOperator, StreamSettings]
) -> tuple[str, ...]:
    """Return what of a changed query does not fit the state of the previous query.

    Args:
        before: The plan of the previous query, and the settings of its stream.
        after: The same of the changed query.

    Returns:
        One sentence per operator or source; empty if all of the state can be used again.
    """
    (old_root, old_engine), (new_root, new_engine) = before, after
    problems = []
    if old_engine.followed != new_engine.followed:
        was, now = ", ".join(old_engine.followed), ", ".join(new_engine.followed)
        problems.append(f"Its streams were {was}, and are {now} now.")
    if old_engine.watermarks != new_engine.watermarks:
        problems.append("The option watermark has another value.")
    if old_engine.output_mode != new_engine.output_mode or old_engine.key != new_engine.key:
        problems.append("Rows of its batches would take the place of other rows than before.")
    return (*problems, *_differing(stateful_operators(old_root), stateful_operators(new_root)))


def _differing(
    old: tuple[StatefulOperator, ...], new: tuple[StatefulOperator, ...]
) -> Iterator[str]:
    for was, now in zip(old, new, strict=False):
        if was != now:
            yield f"State was kept for {was}, and is asked for {now}."
    for gone in old[len(new) :]:
        yield f"State was kept for {gone}, which is no longer there."
    for added in new[len(old) :]:
        yield f"There is no state for {added}, which was not there before."


def _definitions(root: PlanOperator) -> dict[int, str]:
    """Return the expressions of attributes that a plan computes (`window(ts, '1 hour')`)."""
    found: dict[int, str] = {}
    for child in root.children:
        found |= _definitions(child)
    for texts in lists_of(root.detail) if root.name in {"Project", "Aggregate"} else ():
        found |= {i.id: i.expression for i in items_of(texts) if i.id not in ids_in(i.expression)}
    return found


def _walk(node: PlanOperator, definitions: Mapping[int, str]) -> Iterator[StatefulOperator]:
    if node.name in _KINDS:
        yield _operator(node, definitions)
    for child in node.children:
        yield from _walk(child, definitions)


def _operator(node: PlanOperator, definitions: Mapping[int, str]) -> StatefulOperator:
    def named(text: str) -> str:
        return _named(text, definitions)

    kind, lists = _KINDS[node.name], lists_of(node.detail)
    if node.name == "Aggregate" and lists:
        keys = tuple(map(named, lists[0]))
        results = lists[1] if len(lists) > 1 else ()
        values = (named(call) for text in results for call in _aggregates(_ALIAS.sub("", text)))
        return StatefulOperator(kind, keys, tuple(dict.fromkeys(values)))
    if lists and node.name.startswith("Deduplicate"):
        return StatefulOperator(kind, tuple(map(named, lists[0])))
    return StatefulOperator(kind, (named(node.detail),))


def _aggregates(text: str) -> Iterator[str]:
    """Yield the calls of aggregate functions in an expression; the rest of it has no state."""
    at = 0
    while (call := _CALL.search(text, at)) is not None:
        at = call.end()
        if is_aggregate(call["name"]):
            at = _closing(text, at)
            yield text[call.start() : at]


def _closing(text: str, start: int) -> int:
    """Return the offset after the parenthesis that was opened before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def _named(text: str, definitions: Mapping[int, str]) -> str:
    """Return an expression over columns of sources, without names that differ per analysis."""

    def spelt(match: re.Match[str]) -> str:
        meant = definitions.get(int(match["id"]))
        return match["name"] if meant is None else _named(meant, definitions)

    bare = _EXPRESSION_ID.sub("", _ALIAS.sub("", plain(text)))
    return _ATTRIBUTE.sub(spelt, bare).strip()
