"""Rows out of an operator of a stream, and the reasons for a choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.query.plan_items import ids_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.query.plan_items import Item


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for a choice.

    Args:
        code: For machines, such as `ROW_WISE`.
        subject: The operator or the source that it is about; empty for the query as a whole.
        text: For people, a part of a sentence.
    """

    code: str
    subject: str
    text: str

    def __str__(self) -> str:
        """Return the reason with its code: `ROW_WISE: every row …`."""
        return f"{self.code}: {self.text}"


class NotAStreamError(Exception):
    """Structured Streaming cannot run a part of a query, or the table would be wrong.

    Args:
        reasons: Why; if several apply only together, all of them.
    """

    def __init__(self, *reasons: Reason) -> None:
        super().__init__("; ".join(reason.text for reason in reasons))
        self.reasons = reasons


class OutputMode(Enum):
    """Rows that a stream emits after each batch."""

    APPEND = "append"
    """Rows that never change again."""
    UPDATE = "update"
    """The new state of every group that the batch touched."""


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
    identifying = {item.id for item in output if item.attribute in part}
    for window in part & times.windows:
        identifying |= {item.id for item in output if _is_bound(item.expression, window)}
    return frozenset(identifying)


def _is_bound(expression: str, window: int) -> bool:
    name, dot, bound = expression.rpartition(".")
    return bool(dot) and bound in {"start", "end"} and name.endswith(f"#{window}")
