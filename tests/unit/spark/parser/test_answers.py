"""Answers to statements that Spark's parser passes on."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import Condition, MaterializedTableError
from dbt.adapters.spark_mt.execution.results import StatementResult, columns
from dbt.adapters.spark_mt.spark.parser import answers
from dbt.adapters.spark_mt.statements.parser import parse

ROWS = StatementResult(columns(("n", "BIGINT")), ((1,),))


@dataclass
class Statement:
    """A statement of a client."""

    id: str
    text: str = "SHOW JOBS"
    has_parameters: bool = False
    is_looked_at: bool = False

    def session(self):
        """The client's session."""
        return "session"


class Engine:
    """An engine that notes what it is asked for."""

    def __init__(self):
        self.error = None
        self.begun: list[tuple[object, str, str]] = []
        self.interrupted: list[str] = []

    def carry_out(self, spark, text, request_id, owner):
        """Note the statement."""
        self.begun.append((spark, text, request_id, owner))
        if self.error is not None:
            raise self.error
        return ROWS

    def interrupt(self, request_id):
        """Note the request."""
        self.interrupted.append(request_id)


@pytest.fixture
def engine():
    """An engine without an error."""
    return Engine()


def answered(engine, statement):
    """The answer to a statement."""
    return json.loads(answers.Answers(engine).answer(statement))


def test_rows_of_a_statement(engine):
    """It is carried out in the client's session."""
    assert answered(engine, Statement("1")) == {"schema": "`n` BIGINT", "rows": [[1]]}
    assert engine.begun == [("session", "SHOW JOBS", "1", ())]


@pytest.mark.parametrize(
    ("before", "owner"),
    [
        ('/* {"app": "dbt", "node_id": "model.shop.t"} */ ', (("dbt", "model.shop.t"),)),
        ('\n/*{"node_id": "model.shop.t", "app": "dbt"}*/\n', (("dbt", "model.shop.t"),)),
        ('/* {"app": "dbt", "connection_name": "master"} */ ', ()),
        ('/* {"app": "other", "node_id": "model.shop.t"} */ ', ()),
        ('/* {"app": "dbt", "node_id": 1} */ ', ()),
        ("/* [1] */ ", ()),
        ("/* a comment */ ", ()),
        ("/* ", ()),
        ("", ()),
    ],
)
def test_the_node_of_dbt_owns_what_it_declares(engine, before, owner):
    """Its comment names it, and no other comment counts."""
    answered(engine, Statement("1", f"{before}SHOW JOBS"))
    assert engine.begun[0][3] == owner


@pytest.mark.parametrize(
    ("flags", "condition"),
    [({"has_parameters": True}, "PARAMETERS"), ({"is_looked_at": True}, "NOT_A_QUERY")],
)
def test_what_cannot_be_right_is_refused(engine, flags, condition):
    """Nothing is carried out."""
    error = answered(engine, Statement("1", **flags))["error"]
    assert error["condition"] == f"MATERIALIZED_TABLE_SQL_{condition}"
    assert error["message"].endswith("Nothing was done.")
    assert engine.begun == []


def test_an_interrupt_goes_to_the_engine(engine):
    """It knows what it carries out."""
    answers.Answers(engine).interrupt("a")
    assert engine.interrupted == ["a"]


def test_a_process_that_stops_refuses(engine):
    """Its statements are not begun."""
    closed = answers.Answers(engine)
    closed.close()
    error = json.loads(closed.answer(Statement("1")))["error"]
    assert error["condition"] == "MATERIALIZED_TABLE_SQL_BEFORE_STOP"
    assert engine.begun == []


def test_an_error_of_ours_keeps_its_facts(engine):
    """Condition, SQLSTATE, parameters and the whole text."""
    engine.error = conditions.NOT_FOUND(table="a.b.c")
    error = answered(engine, Statement("1"))["error"]
    assert error == {
        "condition": "MATERIALIZED_TABLE_NOT_FOUND",
        "sql_state": "42P01",
        "message": str(engine.error),
        "parameters": {"table": "a.b.c"},
    }


def test_a_syntax_error_has_its_sql_state():
    """Whatever its condition is."""
    with pytest.raises(MaterializedTableError) as raised:
        parse("CREATE MATERIALIZED TABLE t FRESHNESS 3")
    assert answers.error_document(raised.value)["sql_state"] == "42601"


def test_an_unknown_error_is_logged_with_its_stack(engine, caplog):
    """The client gets one line."""
    engine.error = ZeroDivisionError("by zero")
    with caplog.at_level(logging.ERROR):
        error = answered(engine, Statement("1"))["error"]
    assert error["condition"] == "MATERIALIZED_TABLE_UNEXPECTED_ERROR"
    assert "ZeroDivisionError: by zero" in error["message"]
    assert "Traceback" in caplog.text
    assert "Traceback" not in error["message"]


def test_every_condition_with_a_sql_state_exists():
    """No entry is left of a condition that was renamed."""
    assert [each for each in answers.SQL_STATES if not Condition.named(each)] == []


def test_values_of_rows():
    """What the hook reads again by the column's type."""
    noon = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=2)))
    row = ("a", None, 2, noon, ["x"], {"k": "v"}, {})
    names = ("s", "STRING"), ("o", "INT"), ("n", "BIGINT"), ("t", "TIMESTAMP")
    more = ("l", "ARRAY<STRING>"), ("m", "MAP<STRING, STRING>"), ("e", "MAP<STRING, STRING>")
    document = answers.rows_document(StatementResult(columns(*names, *more), (row,)))
    micros = 1_767_348_000_000_000
    assert document["rows"] == [["a", None, 2, micros, ["x"], [["k"], ["v"]], [[], []]]]
    with pytest.raises(TypeError):
        answers.rows_document(StatementResult(columns(("b", "BINARY")), ((b"",),)))
