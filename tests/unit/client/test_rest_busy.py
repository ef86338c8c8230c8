"""Polls of a refresh while the manager is busy."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.client import rest
from dbt.adapters.spark_mt.client.rest import ManagerClient
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import ManagerRefusedError


class BusyOrNotError(ManagerRefusedError):
    """A refusal with a condition."""

    def __init__(self, condition: str) -> None:
        self.answer = {"condition": condition}


@pytest.fixture
def asked(monkeypatch):
    """The answers of a manager, oldest first; returns how often it was waited."""
    answers, pauses = [], []
    monkeypatch.setattr(rest.time, "sleep", pauses.append)

    def ask(*_):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(ManagerClient, "_ask", ask)
    return answers, pauses


def test_a_busy_manager_is_asked_again(asked):
    answers, pauses = asked
    answers += [BusyOrNotError(conditions.MANAGER_BUSY.name)] * 3 + [{"status": "RUNNING"}]
    assert ManagerClient("http://127.0.0.1:1").job("j") == {"status": "RUNNING"}
    assert len(pauses) == 3


def test_another_refusal_is_the_answer(asked):
    answers, pauses = asked
    answers += [BusyOrNotError("MATERIALIZED_TABLE_JOB_NOT_FOUND")]
    with pytest.raises(ManagerRefusedError):
        ManagerClient("http://127.0.0.1:1").job("j")
    assert pauses == []
