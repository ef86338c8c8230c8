"""Results of statements as documents, for a statement that another process carries out."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.execution.results import (
    Action,
    RefreshOutcome,
    RefreshResult,
    ResultColumn,
    StatementOutcome,
    StatementResult,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    Document = dict[str, Any]


def document_of(result: StatementResult) -> Document:
    """Return values that JSON knows; of statements whose rows hold no others."""
    outcome = result.outcome
    return {
        "columns": [[column.name, column.type] for column in result.columns],
        "rows": [list(row) for row in result.rows],
        "outcome": None if outcome is None else _outcome_document(outcome),
    }


def result_of(document: Mapping[str, Any]) -> StatementResult:
    """Return what a document was made of.

    Raises:
        KeyError, TypeError, ValueError: It was made of nothing that this release knows.
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
