"""Rows and state of a stream's operators by Spark's plan text.

A plan is text for people: names are printed without quotes and literals without marks. So an item
is used only if it matches what is known from another source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.query.functions import is_aggregate
from dbt.adapters.spark_mt.strategies.reasons import Reason
from dbt.adapters.spark_mt.strategies.strategy import OutputMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.query.analyzer import PlanOperator


_PAIRS = {")": "(", "]": "[", "}": "{"}
_WATERMARK = re.compile(r"(#\d+L?)-T\d+ms\b")
_NAMED_ATTRIBUTE = re.compile(r"(?P<name>.*)#(?P<id>\d+)L?", re.DOTALL)
_PREFIXED = re.compile(r"[-~!]|NOT ")
_ID = re.compile(r"#(\d+)L?\b")
_MORE = re.compile(r"\.\.\. (\d+) more fields")
_UNNAMED = "?"


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list.

    Args:
        expression: How it is computed; the attribute itself where it is passed on.
        name: Its name.
        id: Its expression ID in Spark; 0 for one that the plan left out.
    """

    expression: str
    name: str
    id: int

    @property
    def attribute(self) -> int:
        """The attribute that it passes on under its own or another name; 0 if it computes."""
        return attribute_id(self.expression)


def lists_of(detail: str) -> tuple[tuple[str, ...], ...]:
    """Split the lists in brackets of an operator's text; none where they are ambiguous."""
    found: list[list[str]] = []
    open_: list[str] = []
    start = 0
    for place, char in enumerate(detail):
        if char == "[" and not open_:
            found.append([])
            start = place + 1
        ends = char == "," and len(open_) == 1 and open_[0] == "["
        if ends or (char == "]" and open_ == ["["]):
            found[-1].append(detail[start:place].strip())
            start = place + 1
        if char in _PAIRS.values():
            open_.append(char)
        elif char in _PAIRS and (not open_ or open_.pop() != _PAIRS[char]):
            return ()
    return () if open_ else tuple(tuple(items) for items in found)


def items_of(texts: tuple[str, ...]) -> tuple[Item, ...]:
    """Read the items of a list that names results; none where one of them is unclear."""
    items: list[Item] = []
    for text in texts:
        more = _MORE.fullmatch(text)
        if more is not None:
            items += [Item("", _UNNAMED, 0)] * int(more[1])
        elif (item := _item(text)) is not None:
            items.append(item)
        else:
            return ()
    return tuple(items)


def plain(expression: str) -> str:
    """Return an expression without the marks of watermarks."""
    return _WATERMARK.sub(r"\1", expression)


def attribute_id(expression: str) -> int:
    """Return the attribute that an expression is; 0 for any other expression."""
    match = _NAMED_ATTRIBUTE.fullmatch(expression)
    if match is None or "#" in match["name"] or _PREFIXED.match(match["name"]):
        return 0
    return int(match["id"])


def attribute_name(expression: str) -> str:
    """Return the name of the attribute that an expression is; empty for any other expression."""
    return expression.rpartition("#")[0] if attribute_id(expression) else ""


def ids_in(text: str) -> frozenset[int]:
    """Return every attribute that a text names."""
    return frozenset(int(found) for found in _ID.findall(text))


def names(items: tuple[Item, ...], expected: tuple[str, ...]) -> bool:
    """Return whether items are those of the names, as far as the plan shows them."""
    return len(items) == len(expected) and all(
        item.id == 0 or item.name == name for item, name in zip(items, expected, strict=True)
    )


def _item(text: str) -> Item | None:
    text = plain(text)
    expression, as_, alias = text.rpartition(" AS ")
    match = _NAMED_ATTRIBUTE.fullmatch(alias)
    if match is None:
        return None
    return Item(expression if as_ else text, match["name"], int(match["id"]))


class NotAStreamError(Exception):
    """Structured Streaming cannot run a part of a query, or the table would be wrong.

    Args:
        reasons: Why; if several apply only together, all of them.
    """

    def __init__(self, *reasons: Reason) -> None:
        super().__init__("; ".join(reason.text for reason in reasons))
        self.reasons = reasons


class State(Enum):
    """State that an operator keeps between batches."""

    JOIN = "rows of both sides, until their partners came"
    GROUPS = "groups"
    ROWS = "rows that were seen"


BOTH_MODES = frozenset(OutputMode)
UNCLEAR = Reason(
    "UNCLEAR_PLAN", "", "its plan does not show clearly which columns of the result it groups by"
)
_KEY_GONE = Reason(
    "KEY_NOT_IN_RESULT", "", "a column that it groups by is not in the result, so that a row that "
    "changes could not be found again"
)  # fmt: skip
_WINDOW = "named_struct(start, knownnullable(precisetimestampconversion("
_SESSION = "named_struct(start, precisetimestampconversion("
_WINDOW_TIME = "precisetimestampconversion("


@dataclass(frozen=True, slots=True)
class Times:
    """Attributes of time.

    Args:
        events: Those that a watermark bounds.
        windows: Windows of a fixed length, which their start or their end alone identifies.
        sessions: Windows whose length follows from the rows.
    """

    events: frozenset[int] = frozenset()
    windows: frozenset[int] = frozenset()
    sessions: frozenset[int] = frozenset()

    def passed_on(self, items: Iterable[Item]) -> Times:
        """Return the times, and those among the results of a projection."""
        events, windows, sessions = set(self.events), set(self.windows), set(self.sessions)
        for item in items:
            source = item.attribute
            computed = item.expression.startswith((_WINDOW, _SESSION, _WINDOW_TIME))
            bounded = bool(self.events & ids_in(item.expression))
            if source in self.events or (computed and bounded):
                events.add(item.id)
            if source in self.windows or item.expression.startswith(_WINDOW):
                windows.add(item.id)
            if source in self.sessions or item.expression.startswith(_SESSION):
                sessions.add(item.id)
        return Times(frozenset(events), frozenset(windows), frozenset(sessions))


@dataclass(frozen=True, slots=True)
class Flow:
    """The rows out of one operator.

    Args:
        streaming: Whether they come from a stream; of others nothing else matters.
        output: Their columns; empty where the plan does not show them clearly.
        times: What is known of time.
        key: For each part of the rows' key, the attributes that hold it. None if rows are only
            added.
        state: The state of the operators up to here.
        modes: The modes in which Spark can run them with the right rows.
        lost: Why a mode is missing.
        reasons: What was decided on the way.
        followed: Full names of the relations that are read as streams.
    """

    streaming: bool
    output: tuple[Item, ...] = ()
    times: Times = Times()
    key: tuple[frozenset[int], ...] | None = None
    state: tuple[State, ...] = ()
    modes: frozenset[OutputMode] = BOTH_MODES
    lost: tuple[Reason, ...] = ()
    reasons: tuple[Reason, ...] = ()
    followed: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether a row may change from batch to batch."""
        return State.GROUPS in self.state

    def without(self, mode: OutputMode, why: Reason) -> Flow:
        """Return the same rows with one mode less.

        Raises:
            NotAStreamError: None is left.
        """
        if mode not in self.modes:
            return self
        lost = (*self.lost, why)
        if self.modes == {mode}:
            raise NotAStreamError(*lost)
        return replace(self, modes=self.modes - {mode}, lost=lost)

    def because(self, *reasons: Reason) -> Flow:
        """Return the same rows with more reasons."""
        return replace(self, reasons=(*self.reasons, *reasons))

    def projected(self, output: tuple[Item, ...]) -> Flow:
        """Return the rows of a projection with the columns `output`; none if it is unclear."""
        flow = replace(self, output=output, times=self.times.passed_on(output))
        if self.key is None:
            return flow
        key = tuple(identified_by(part, output, self.times) for part in self.key)
        flow = replace(flow, key=key)
        return flow if all(key) else flow.without(OutputMode.UPDATE, key_lost(output))


def key_lost(output: tuple[Item, ...]) -> Reason:
    """Return why a part of a key is not among the columns of a result."""
    return _KEY_GONE if output else UNCLEAR


def merged(flows: Iterable[Flow]) -> Flow:
    """Return the facts about the rows of several streams together, without columns and key."""
    first, *others = flows
    result = replace(first, output=(), key=None)
    for flow in others:
        times = Times(
            result.times.events | flow.times.events,
            result.times.windows | flow.times.windows,
            result.times.sessions | flow.times.sessions,
        )
        result = replace(
            result,
            times=times,
            state=(*result.state, *flow.state),
            modes=result.modes & flow.modes,
            lost=(*result.lost, *flow.lost),
            reasons=(*result.reasons, *flow.reasons),
            followed=tuple(dict.fromkeys((*result.followed, *flow.followed))),
        )
    if not result.modes:
        raise NotAStreamError(*result.lost)
    return result


def identified_by(part: frozenset[int], output: Iterable[Item], times: Times) -> frozenset[int]:
    """Return the columns that identify a part of a key: it itself, or a window's start or end."""
    bounds = tuple(
        f"#{window}.{bound}" for window in part & times.windows for bound in ("start", "end")
    )
    return frozenset(
        item.id for item in output if item.attribute in part or item.expression.endswith(bounds)
    )


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
    definitions = _definitions(root)

    def walk(node: PlanOperator) -> Iterator[StatefulOperator]:
        if node.name in _KINDS:
            yield _operator(node, definitions)
        for child in node.children:
            yield from walk(child)

    return tuple(walk(root))


def state_problems(
    before: tuple[PlanOperator, StreamSettings], after: tuple[PlanOperator, StreamSettings]
) -> tuple[str, ...]:
    """Return what of a changed query does not fit the state of the previous query.

    Spark checks this only when a batch runs. Without new data, Spark starts a changed aggregate
    without its state. So state is compared here, before a stream is stopped. Operators are matched
    by their order.

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
    old, new = stateful_operators(old_root), stateful_operators(new_root)
    for kept, asked in zip(old, new, strict=False):
        if kept != asked:
            problems.append(f"State was kept for {kept}, and is asked for {asked}.")
    lost = (f"State was kept for {o}, which is no longer there." for o in old[len(new) :])
    added = (f"There is no state for {o}, which was not there before." for o in new[len(old) :])
    return (*problems, *lost, *added)


def _definitions(root: PlanOperator) -> dict[int, str]:
    """Return the expressions of attributes that a plan computes (`window(ts, '1 hour')`)."""
    found: dict[int, str] = {}
    for child in root.children:
        found |= _definitions(child)
    for texts in lists_of(root.detail) if root.name in {"Project", "Aggregate"} else ():
        found |= {i.id: i.expression for i in items_of(texts) if i.id not in ids_in(i.expression)}
    return found


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
