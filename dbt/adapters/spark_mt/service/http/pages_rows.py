"""What the status page shows of each table, worked out from the manager's views."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.service.views import Promise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.service.views import TableView

SUSPENDED = "SUSPENDED"


class State(Enum):
    """What a list can be narrowed to; a table may be in several."""

    ATTENTION = "attention"
    BEHIND = "behind"
    FAILING = "failing"
    SUSPENDED = "suspended"
    UNKNOWN = "unknown"
    KEPT = "kept"


_RANKS = (
    frozenset({State.BEHIND, State.FAILING}),
    frozenset({State.BEHIND}),
    frozenset({State.FAILING}),
    frozenset({State.ATTENTION}),
    frozenset({State.UNKNOWN}),
    frozenset({State.KEPT}),
)
"""The first that a table's states contain says how far up it stands; those the user suspended
come last."""


@dataclass(frozen=True)
class Row:
    """One table of the list.

    Args:
        view: What the manager tells.
        now_ms: The instant that ages and distances count from.
    """

    view: TableView
    now_ms: int

    @cached_property
    def key(self) -> str:
        """An id for HTML that is the same on every page, whatever characters the name has."""
        return "t" + hashlib.sha256(self.view.name.encode()).hexdigest()[:12]

    @cached_property
    def states(self) -> frozenset[State]:
        """Every state that the table is in."""
        return frozenset(state for state, holds in _held(self.view) if holds)

    @property
    def needs_attention(self) -> bool:
        """Whether somebody should look at it."""
        return State.ATTENTION in self.states

    @property
    def overdue(self) -> float:
        """The lag as a multiple of the freshness; 0 when nobody knows or nothing is promised."""
        if self.view.lag_seconds is None or self.view.promise is Promise.NONE:
            return 0.0
        return self.view.lag_seconds / max(1, self.view.freshness_seconds)

    @cached_property
    def rank(self) -> int:
        """How far up it stands when what needs attention comes first."""
        fitting = (n for n, wanted in enumerate(_RANKS) if wanted <= self.states)
        return next(fitting, len(_RANKS))

    @property
    def broken_since_ms(self) -> int | None:
        """Since when the promise is broken, None while it is not or nobody knows."""
        late = (self.view.lag_seconds or 0.0) - self.view.freshness_seconds
        if self.view.promise is not Promise.BEHIND or late <= 0:
            return None
        return self.now_ms - round(late * 1000)

    @property
    def failing_since_ms(self) -> int | None:
        """The start of the first of the newest failures in a row, as far as they are known."""
        since = None
        for point in reversed(self.view.recent):
            if point.status == "FAILED":
                since = point.started_at_ms
            elif point.status != "RUNNING":
                break
        return since

    @property
    def running_since_ms(self) -> int | None:
        """The start of a refresh that runs now."""
        if self.view.recent and self.view.recent[-1].status == "RUNNING":
            return self.view.recent[-1].started_at_ms
        return None


def _held(view: TableView) -> tuple[tuple[State, bool], ...]:
    behind = view.promise is Promise.BEHIND
    failing = view.failures > 0
    suspended = view.status == SUSPENDED
    by_us = suspended and bool(view.status_reason)
    return (
        (State.ATTENTION, behind or failing or by_us),
        (State.BEHIND, behind),
        (State.FAILING, failing),
        (State.SUSPENDED, suspended),
        (State.UNKNOWN, view.promise is Promise.UNKNOWN),
        (State.KEPT, view.promise is Promise.KEPT),
    )


def counts(rows: Iterable[Row]) -> dict[State, int]:
    """Count the tables of each state."""
    found = dict.fromkeys(State, 0)
    for row in rows:
        for state in row.states:
            found[state] += 1
    return found
