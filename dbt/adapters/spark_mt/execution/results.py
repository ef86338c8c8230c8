"""What a statement returns: rows for people, an outcome for programs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Action(Enum):
    """What a statement did to a table."""

    CREATED = "CREATED"
    ADOPTED = "ADOPTED"
    ALTERED = "ALTERED"
    REPLACED = "REPLACED"
    UNCHANGED = "UNCHANGED"
    SUSPENDED = "SUSPENDED"
    RESUMED = "RESUMED"
    DROPPED = "DROPPED"
    RELEASED = "RELEASED"


class RefreshResult(Enum):
    """How a refresh ended."""

    REFRESHED = "REFRESHED"
    UP_TO_DATE = "UP_TO_DATE"


@dataclass(frozen=True, slots=True)
class RefreshOutcome:
    """The facts of one refresh.

    Args:
        rows: Rows in the written table or partitions; None when nothing was written.
        positions_from: Positions before, by source, as text; empty at the first refresh.
        positions_to: Positions after.
        duration_ms: Wall time in milliseconds.
        warnings: Sentences that the user should read.
        note: What the rows are, where they are not those of the query over all source data.
    """

    refresh_id: str
    table: str
    strategy: str
    status: RefreshResult
    rows: int | None
    partitions: tuple[str, ...]
    positions_from: tuple[tuple[str, str], ...]
    positions_to: tuple[tuple[str, str], ...]
    duration_ms: int
    warnings: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class StatementOutcome:
    """The facts of one statement.

    Args:
        action: What happened to the table; None for a statement that only reads or refreshes.
        changes: One short sentence per change.
        refresh: The refresh that the statement did, if it did one.
        warnings: Sentences that the user should read.
        status: The table's status after the statement; empty where there is none.
    """

    table: str
    action: Action | None
    changes: tuple[str, ...] = ()
    refresh_mode: str = ""
    refresh: RefreshOutcome | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()
    status: str = ""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a statement's rows; `type` is Spark DDL."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class StatementResult:
    """Rows in the shape of semantics section 11, and the outcome behind them."""

    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[object, ...], ...]
    outcome: StatementOutcome | None = None
