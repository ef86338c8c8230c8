"""Results of statements: rows for people, outcomes for programs.

Both have a form as JSON documents, for statements that another process executes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol

from dbt.adapters.spark_mt.definition.modes import RefreshStatus

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.columns import Column, Pairs, TableName
    from dbt.adapters.spark_mt.statements.parser import ParsedStatement

    Document = dict[str, Any]


RefreshPolicy = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class AdoptionTerms:
    """What the rows of a table that is adopted are known to be.

    Args:
        as_of: The instant whose state of the sources they are trusted to reflect, without a zone in
            the session's; None for now.
        if_equal: Whether they are compared with the query instead of trusted, and the table is
            adopted only if they are equal.
    """

    as_of: datetime | None = None
    if_equal: bool = False


@dataclass(frozen=True, slots=True)
class RelayedStatement:
    """A statement that another process executes.

    Args:
        text: The statement.
        refresh: As for `materialize`; None for `execute`.
        adopt: As for `materialize`.
    """

    text: str
    refresh: RefreshPolicy | None = None
    adopt: AdoptionTerms | None = None


class Action(Enum):
    """The action of a statement on a table."""

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
    """The result of a refresh."""

    REFRESHED = "REFRESHED"
    UP_TO_DATE = "UP_TO_DATE"


@dataclass(frozen=True, slots=True)
class RefreshOutcome:
    """The outcome of one refresh.

    Args:
        rows: Rows in the written table or partitions; None if nothing was written.
        positions_from: Positions before, by source, as text; empty at the first refresh.
        positions_to: Positions after.
        duration_ms: Wall time in milliseconds.
        warnings: Sentences that the user should read.
        note: What the rows are, if they are not those of the query over all source data.
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
    """The outcome of one statement.

    Args:
        action: The action on the table; None for a statement that only reads or refreshes.
        changes: One short sentence per change.
        refresh: The refresh that the statement ran, if it ran one.
        warnings: Sentences that the user should read.
        status: The table's status after the statement; empty if there is none.
    """

    table: str
    action: Action | None
    changes: tuple[str, ...] = ()
    refresh_mode: str = ""
    refresh: RefreshOutcome | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()
    status: str = ""

    @property
    def is_settled(self) -> bool:
        """Whether the rows stay as they are: of a suspended or just adopted table."""
        return rows_stay(self.status, self.action)


def rows_stay(status: str, action: Action | None) -> bool:
    """Whether a statement leaves the rows of a table with this status as they are."""
    return status == RefreshStatus.SUSPENDED.value or action is Action.ADOPTED


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a statement's rows; `type` is Spark DDL."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class StatementResult:
    """The rows of a statement, and the outcome that they show."""

    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[object, ...], ...]
    outcome: StatementOutcome | None = None


def columns(*pairs: tuple[str, str]) -> tuple[ResultColumn, ...]:
    """Return result columns from (name, Spark DDL type) pairs."""
    return tuple(ResultColumn(*pair) for pair in pairs)


_CHANGE = columns(
    ("operation", "STRING"),
    ("table", "STRING"),
    ("action", "STRING"),
    ("changes", "ARRAY<STRING>"),
    ("refresh_mode", "STRING"),
    ("refresh", "STRING"),
    ("message", "STRING"),
)
_REFRESH = columns(
    ("refresh_id", "STRING"),
    ("table", "STRING"),
    ("strategy", "STRING"),
    ("status", "STRING"),
    ("rows", "BIGINT"),
    ("partitions", "ARRAY<STRING>"),
    ("positions_from", "MAP<STRING, STRING>"),
    ("positions_to", "MAP<STRING, STRING>"),
    ("duration_ms", "BIGINT"),
)


def refresh_result(refresh: RefreshOutcome) -> StatementResult:
    """Return the row of a refresh."""
    row = (
        refresh.refresh_id,
        refresh.table,
        refresh.strategy,
        refresh.status.value,
        refresh.rows,
        list(refresh.partitions),
        dict(refresh.positions_from),
        dict(refresh.positions_to),
        refresh.duration_ms,
    )
    outcome = StatementOutcome(
        refresh.table, None, refresh=refresh, message=refresh.note, warnings=refresh.warnings
    )
    return StatementResult(_REFRESH, (row,), outcome)


def change_result(operation: str, outcome: StatementOutcome) -> StatementResult:
    """Return the row of a statement that changes a table."""
    row = (
        operation,
        outcome.table,
        outcome.action.value if outcome.action else "",
        list(outcome.changes),
        outcome.refresh_mode,
        _refresh_text(outcome.refresh),
        outcome.message,
    )
    return StatementResult(_CHANGE, (row,), outcome)


def _refresh_text(refresh: RefreshOutcome | None) -> str:
    if refresh is None:
        return ""
    rows = "" if refresh.rows is None else f" {refresh.rows} rows"
    return f"{refresh.status.value}{rows} by {refresh.strategy} in {refresh.duration_ms} ms"


@dataclass(frozen=True, slots=True)
class Declared:
    """A table and its declaring node; for dbt `(("dbt", "model.<project>.<name>"),)`."""

    name: TableName
    owner: Pairs


@dataclass(frozen=True, slots=True)
class KeptConfiguration:
    """A statement with every clause but the query as it is stored.

    Args:
        parsed: The statement.
        left: The changes that it leaves out, one sentence each.
    """

    parsed: ParsedStatement
    left: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """The statement's text."""
        return self.parsed.text


class Relay(Protocol):
    """Works in another process: in the driver whose session this process uses."""

    def __call__(self, statement: RelayedStatement) -> StatementResult:
        """Execute a statement in the session; returns at its end."""
        ...

    def names(self, schema: str, catalog: str) -> frozenset[str]:
        """Return the names of a schema's materialized tables, as the registry has them now."""
        ...

    def columns(self, query: str) -> tuple[Column, ...]:
        """Return the columns that a query has in the session; nothing is computed."""
        ...

    def cancel(self) -> None:
        """Interrupt the statements that are executed now."""
        ...


def document_of(result: StatementResult) -> Document:
    """Return a result as values of JSON; its rows must have no other values."""
    outcome = result.outcome
    return {
        "columns": [[column.name, column.type] for column in result.columns],
        "rows": [list(row) for row in result.rows],
        "outcome": None if outcome is None else _outcome_document(outcome),
    }


def result_of(document: Mapping[str, Any]) -> StatementResult:
    """Return the result of a document.

    Raises:
        KeyError, TypeError, ValueError: This release cannot read the document.
    """
    outcome = document["outcome"]
    return StatementResult(
        tuple(ResultColumn(name, type_) for name, type_ in document["columns"]),
        tuple(tuple(row) for row in document["rows"]),
        None if outcome is None else _outcome(outcome),
    )


def _outcome_document(outcome: StatementOutcome) -> Document:
    refresh = outcome.refresh
    return {
        **asdict(outcome),
        "action": outcome.action.value if outcome.action else None,
        "refresh": None if refresh is None else {**asdict(refresh), "status": refresh.status.value},
    }


def _outcome(document: Mapping[str, Any]) -> StatementOutcome:
    action, refresh = document["action"], document["refresh"]
    return StatementOutcome(
        **{
            **document,
            "action": None if action is None else Action(action),
            "changes": tuple(document["changes"]),
            "refresh": None if refresh is None else _refresh(refresh),
            "warnings": tuple(document["warnings"]),
        }
    )


def _refresh(document: Mapping[str, Any]) -> RefreshOutcome:
    return RefreshOutcome(
        **{
            **document,
            "status": RefreshResult(document["status"]),
            "partitions": tuple(document["partitions"]),
            "positions_from": _pairs(document["positions_from"]),
            "positions_to": _pairs(document["positions_to"]),
            "warnings": tuple(document["warnings"]),
        }
    )


def _pairs(items: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in items)
