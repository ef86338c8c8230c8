from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.adapter.responses import response_of, validated
from dbt.adapters.spark_mt.execution.results import (
    Action,
    RefreshOutcome,
    RefreshResult,
    StatementOutcome,
)


def refresh(status=RefreshResult.REFRESHED, rows: int | None = 1204, warnings=()) -> RefreshOutcome:
    positions = (("s.t", "1"),)
    return RefreshOutcome("r1", "t", "recompute", status, rows, (), (), positions, 5, warnings)


UP_TO_DATE = refresh(RefreshResult.UP_TO_DATE, None)


def outcome(action, changes=(), refreshed=None) -> StatementOutcome:
    return StatementOutcome("t", action, changes, "FULL", refreshed)


@pytest.mark.parametrize(
    ("done", "text"),
    [
        (outcome(Action.CREATED, refreshed=refresh()), "CREATED"),
        (outcome(Action.REPLACED, refreshed=refresh()), "REPLACED"),
        (outcome(Action.UNCHANGED), "UNCHANGED"),
        (outcome(Action.UNCHANGED, refreshed=UP_TO_DATE), "UP TO DATE"),
        (outcome(Action.UNCHANGED, refreshed=refresh()), "REFRESHED 1204 rows"),
        (outcome(Action.DROPPED), "DROPPED"),
        (outcome(Action.ALTERED, ("a",)), "ALTERED 1 change"),
        (outcome(Action.ALTERED, ("a", "b"), refresh()), "ALTERED 2 changes, REFRESHED 1204 rows"),
        (outcome(Action.ALTERED, ("a",), UP_TO_DATE), "ALTERED 1 change, UP TO DATE"),
        (outcome(Action.RESUMED, refreshed=refresh()), "RESUMED"),
        (outcome(None, refreshed=refresh()), "REFRESHED 1204 rows"),
        (outcome(None, refreshed=refresh(rows=None)), "REFRESHED"),
        (outcome(None, refreshed=UP_TO_DATE), "UP TO DATE"),
        (outcome(None), "OK"),
    ],
)
def test_status_line(done, text):
    assert str(response_of(done)) == text


def test_only_checked():
    checked = validated(outcome(Action.ALTERED, ("a",)))
    assert (str(checked), checked.action, checked.changes) == ("VALIDATED", None, ["a"])


def test_facts_for_run_results():
    done = outcome(Action.ALTERED, ("query changed",), refresh(warnings=("w",)))
    facts = response_of(replace(done, warnings=("w", "v"))).to_dict(omit_none=True)
    assert facts == {
        "_message": "ALTERED 1 change, REFRESHED 1204 rows",
        "rows_affected": 1204,
        "action": "ALTERED",
        "changes": ["query changed"],
        "refresh_mode": "FULL",
        "refresh": "REFRESHED",
        "strategy": "recompute",
        "rows": 1204,
        "refresh_id": "r1",
        "positions_from": {},
        "positions_to": {"s.t": "1"},
        "warnings": ["w", "v"],
        "status": "",
    }


@pytest.mark.parametrize(
    ("action", "changes", "message"),
    [(Action.UNCHANGED, (), "SUSPENDED"), (Action.ALTERED, ("c",), "SUSPENDED, ALTERED 1 change")],
)
def test_a_suspended_table_is_reported(action, changes, message):
    response = response_of(StatementOutcome("t", action, changes, status="SUSPENDED"))
    assert (str(response), response.is_settled) == (message, True)


@pytest.mark.parametrize(
    ("action", "settled"),
    [(Action.ADOPTED, True), (Action.CREATED, False), (Action.UNCHANGED, False)],
)
def test_a_run_does_not_wait_for_an_adopted_table(action, settled):
    assert response_of(StatementOutcome("t", action, status="ACTIVATED")).is_settled is settled
