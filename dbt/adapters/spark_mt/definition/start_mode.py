"""From where a table's refresh begins (seed 557 START_MODE, semantics 7)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.definition.identifier import quote_text


class InvalidStartModeError(InvalidValueError):
    """The start mode's keyword and argument do not fit together."""

    condition = "MATERIALIZED_TABLE_INVALID_START_MODE"
    text = "START_MODE = {startMode} {problem}."
    remedy = (
        "The forms are FROM_BEGINNING, FROM_NOW[(INTERVAL 'n' unit)], "
        "FROM_TIMESTAMP(TIMESTAMP '...'), and each of them behind RESUME_OR_."
    )


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


@dataclass(frozen=True, slots=True)
class StartInterval:
    """How far before now a FROM_NOW start lies."""

    count: int
    unit: IntervalUnit

    def __post_init__(self) -> None:
        if self.count <= 0:
            raise InvalidStartModeError(
                startMode=f"FROM_NOW({self.sql})", problem="needs a positive interval"
            )

    @property
    def sql(self) -> str:
        """The interval as it stands in a statement."""
        return f"INTERVAL '{self.count}' {self.unit.name}"


@dataclass(frozen=True, slots=True)
class StartMode:
    """A start mode as the user wrote it.

    Args:
        type: Which of the six forms.
        interval: Only for the FROM_NOW forms, and optional there.
        timestamp: Only for the FROM_TIMESTAMP forms, and required there: the literal's text.

    Raises:
        InvalidStartModeError: An argument does not belong to the form, or is missing.
    """

    type: StartModeType
    interval: StartInterval | None = None
    timestamp: str | None = None

    def __post_init__(self) -> None:
        base = self.type.fallback
        if self.interval is not None and base is not StartModeType.FROM_NOW:
            raise InvalidStartModeError(
                startMode=self.type.value, problem="takes no interval; only the FROM_NOW forms do"
            )
        if (self.timestamp is not None) != (base is StartModeType.FROM_TIMESTAMP):
            verb = "needs a" if self.timestamp is None else "takes no"
            raise InvalidStartModeError(
                startMode=self.type.value, problem=f"{verb} timestamp literal"
            )

    @property
    def sql(self) -> str:
        """The start mode as it stands in a statement."""
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
