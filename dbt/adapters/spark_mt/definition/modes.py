"""Refresh mode, table status, START_MODE, STATE_RETENTION and `wait`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote_text


class LogicalRefreshMode(Enum):
    """What the user asked for; AUTOMATIC stands for a clause that was left out as well."""

    AUTOMATIC = "AUTOMATIC"
    CONTINUOUS = "CONTINUOUS"
    FULL = "FULL"


class RefreshMode(Enum):
    """What a logical mode resolved to."""

    CONTINUOUS = "CONTINUOUS"
    FULL = "FULL"


class RefreshStatus(Enum):
    """Where a table is in its life."""

    INITIALIZING = "INITIALIZING"
    ACTIVATED = "ACTIVATED"
    SUSPENDED = "SUSPENDED"


class StartModeType(Enum):
    """The six forms of START_MODE."""

    FROM_BEGINNING = "FROM_BEGINNING"
    FROM_NOW = "FROM_NOW"
    FROM_TIMESTAMP = "FROM_TIMESTAMP"
    RESUME_OR_FROM_BEGINNING = "RESUME_OR_FROM_BEGINNING"
    RESUME_OR_FROM_NOW = "RESUME_OR_FROM_NOW"
    RESUME_OR_FROM_TIMESTAMP = "RESUME_OR_FROM_TIMESTAMP"

    @property
    def resumes(self) -> bool:
        """Whether known positions are continued before the fallback applies."""
        return self.value.startswith("RESUME_OR_")

    @property
    def fallback(self) -> StartModeType:
        """The form that applies where there is nothing to resume from."""
        return StartModeType(self.value.removeprefix("RESUME_OR_"))


class IntervalUnit(Enum):
    """The units of an interval in START_MODE."""

    SECOND = "SECOND"
    MINUTE = "MINUTE"
    HOUR = "HOUR"
    DAY = "DAY"
    WEEK = "WEEK"
    MONTH = "MONTH"
    YEAR = "YEAR"


_BASE_UNITS = {
    IntervalUnit.SECOND: ("seconds", 1),
    IntervalUnit.MINUTE: ("seconds", 60),
    IntervalUnit.HOUR: ("seconds", 3600),
    IntervalUnit.DAY: ("days", 1),
    IntervalUnit.WEEK: ("days", 7),
    IntervalUnit.MONTH: ("months", 1),
    IntervalUnit.YEAR: ("months", 12),
}


@dataclass(frozen=True, slots=True)
class StartInterval:
    """How far before now a FROM_NOW start lies."""

    count: int
    unit: IntervalUnit

    def __post_init__(self) -> None:
        if self.count <= 0:
            raise conditions.INVALID_START_MODE(
                startMode=f"FROM_NOW({self.sql})", problem="needs a positive interval"
            )

    @property
    def length(self) -> tuple[str, int]:
        """The length in seconds, or in days or months of a calendar, with the name of that unit.

        Intervals of the same length always mean the same instant.
        """
        base, factor = _BASE_UNITS[self.unit]
        return base, self.count * factor

    @property
    def sql(self) -> str:
        """The interval as a statement has it."""
        return f"INTERVAL '{self.count}' {self.unit.name}"


@dataclass(frozen=True, slots=True)
class StartMode:
    """A start mode as the user wrote it.

    Args:
        type: Which of the six forms.
        interval: Only for the FROM_NOW forms, and optional there.
        timestamp: Only for the FROM_TIMESTAMP forms, and required there: the literal's text.

    Raises:
        InvalidValueError: An argument does not belong to the form, or is missing.
    """

    type: StartModeType
    interval: StartInterval | None = None
    timestamp: str | None = None

    def __post_init__(self) -> None:
        base = self.type.fallback
        if self.interval is not None and base is not StartModeType.FROM_NOW:
            raise conditions.INVALID_START_MODE(
                startMode=self.type.value, problem="takes no interval; only the FROM_NOW forms do"
            )
        if (self.timestamp is not None) != (base is StartModeType.FROM_TIMESTAMP):
            verb = "needs a" if self.timestamp is None else "takes no"
            raise conditions.INVALID_START_MODE(
                startMode=self.type.value, problem=f"{verb} timestamp literal"
            )

    @property
    def sql(self) -> str:
        """The start mode as a statement has it."""
        if self.interval is not None:
            return f"{self.type.value}({self.interval.sql})"
        if self.timestamp is not None:
            return f"{self.type.value}(TIMESTAMP {quote_text(self.timestamp)})"
        return self.type.value


FROM_BEGINNING = StartMode(StartModeType.FROM_BEGINNING)


@dataclass(frozen=True, slots=True)
class ResolvedStartMode:
    """A start mode and the instant that it meant when it took effect.

    Args:
        mode: What applies, after defaults.
        instant_ms: Milliseconds since 1970-01-01 00:00:00 UTC; None for forms without an instant.
    """

    mode: StartMode
    instant_ms: int | None = None

    @property
    def sql(self) -> str:
        """The start mode as a statement has it."""
        return self.mode.sql


class StateRetentionType(Enum):
    """The three forms of STATE_RETENTION."""

    ALL = "ALL"
    NONE = "NONE"
    PTF_ONLY = "PTF_ONLY"


@dataclass(frozen=True, slots=True)
class StateRetention:
    """A state retention as written; `operators` only for PTF_ONLY, empty meaning all of them."""

    type: StateRetentionType
    operators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.operators and self.type is not StateRetentionType.PTF_ONLY:
            raise conditions.INVALID_STATE_RETENTION(stateRetention=self.type.value)

    @property
    def sql(self) -> str:
        """The state retention as a statement has it."""
        if self.operators:
            return f"{self.type.value}({', '.join(quote_text(o) for o in self.operators)})"
        return self.type.value

    def keeps(self, function: str | None) -> bool:
        """Whether the state of a query is kept.

        Args:
            function: The process function of the query, which keeps all of its state.
        """
        if self.type is StateRetentionType.PTF_ONLY and function is not None:
            return not self.operators or function in self.operators
        return self.type is StateRetentionType.ALL


KEEP_NONE = StateRetention(StateRetentionType.NONE)


class Wait(Enum):
    """For what a run waits."""

    NONE = "none"
    STARTED = "started"
    """A manager has taken the table over, as its newest definition says."""
    FRESH = "fresh"
    """Its rows reflect everything that its sources had when the waiting began."""
