"""How the refresh of two definitions differs: asked and resolved values both count (semantics 6).

Where only what was asked differs, the change is metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.changes.changes import (
    Effect,
    FreshnessChanged,
    RefreshModeChanged,
    StartModeChanged,
    StateRetentionChanged,
)
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.start_mode import IntervalUnit, StartModeType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.changes.changes import Change
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.start_mode import (
        ResolvedStartMode,
        StartInterval,
        StartMode,
    )
    from dbt.adapters.spark_mt.definition.state_retention import StateRetention


def diff_freshness(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    """Yield another freshness; equal durations are equal, however they are written."""
    old, new = stored.asked.freshness, wanted.asked.freshness
    same_asked = (old and old.seconds) == (new and new.seconds)
    same = stored.freshness.seconds == wanted.freshness.seconds
    if not (same and same_asked):
        yield FreshnessChanged(
            _by_default(str(stored.freshness), asked=old is not None),
            _by_default(str(wanted.freshness), asked=new is not None),
            Effect.TEXT if same else Effect.REFRESH,
        )


def diff_refresh_mode(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    """Yield another mode, as asked (an absent clause is AUTOMATIC) or as resolved."""
    same = stored.refresh_mode is wanted.refresh_mode
    if not same or stored.asked.logical_refresh_mode is not wanted.asked.logical_refresh_mode:
        yield RefreshModeChanged(
            _mode(stored), _mode(wanted), Effect.TEXT if same else Effect.REFRESH
        )


def _mode(definition: ResolvedDefinition) -> str:
    asked, resolved = definition.asked.logical_refresh_mode.name, definition.refresh_mode.name
    return resolved if asked == resolved else f"{resolved} (by {asked})"


def diff_start_mode(stored: ResolvedDefinition, wanted: ResolvedDefinition) -> Iterator[Change]:
    """Yield another start mode.

    Relative forms are compared by interval, absolute ones by instant. RESUME_OR_* is stored for the
    next change of the query; any other form acts at once, unless the mode is FULL.
    """
    old, new = stored.asked.start_mode, wanted.asked.start_mode
    same = _start(stored.start_mode) == _start(wanted.start_mode)
    if same and (old is None) == (new is None):
        return
    acts = wanted.refresh_mode is RefreshMode.CONTINUOUS and not wanted.start_mode.mode.type.resumes
    yield StartModeChanged(
        _by_default(stored.start_mode.mode.sql, asked=old is not None),
        _by_default(wanted.start_mode.mode.sql, asked=new is not None),
        Effect.CONTENT if acts and not same else Effect.TEXT,
    )


def _start(start: ResolvedStartMode) -> tuple[StartModeType, object]:
    mode: StartMode = start.mode
    if mode.type.fallback is StartModeType.FROM_TIMESTAMP:
        return mode.type, start.instant_ms
    return mode.type, _length(mode.interval) if mode.interval else None


_IN_BASE_UNIT = {
    IntervalUnit.SECOND: ("seconds", 1),
    IntervalUnit.MINUTE: ("seconds", 60),
    IntervalUnit.HOUR: ("seconds", 3600),
    IntervalUnit.DAY: ("days", 1),
    IntervalUnit.WEEK: ("days", 7),
    IntervalUnit.MONTH: ("months", 1),
    IntervalUnit.YEAR: ("months", 12),
}


def _length(interval: StartInterval) -> tuple[str, int]:
    """A length that is equal for intervals which always mean the same instant."""
    base, factor = _IN_BASE_UNIT[interval.unit]
    return base, interval.count * factor


def diff_state_retention(
    stored: ResolvedDefinition, wanted: ResolvedDefinition
) -> Iterator[Change]:
    """Yield another state retention; it is stored and acts at the next change of the query."""
    old, new = stored.asked.state_retention, wanted.asked.state_retention
    same = _retained(stored.state_retention) == _retained(wanted.state_retention)
    if not same or (old is None) != (new is None):
        yield StateRetentionChanged(
            _by_default(stored.state_retention.sql, asked=old is not None),
            _by_default(wanted.state_retention.sql, asked=new is not None),
            Effect.TEXT,
        )


def _retained(retention: StateRetention) -> tuple[object, frozenset[str]]:
    return retention.type, frozenset(retention.operators)


def _by_default(text: str, *, asked: bool) -> str:
    return text if asked else f"{text} (by default)"
