"""The option `watermark`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.definition.watermark import Watermark
from dbt.adapters.spark_mt.resolution.query_options import check_watermarks, parse_watermarks
from tests.unit.builders import analyzed

ORDERS = TableName("orders", "s", "c")
PAYMENTS = TableName("payments", "s", "c")


class Types:
    """Knows the types of some columns."""

    def __init__(self, **types):
        self._types = types

    def analyze(self, query):
        column = query.split("`")[1]
        source = query.split("`")[-2]
        if f"{source}_{column}" not in self._types:
            raise conditions.QUERY_ERROR(
                place="", engine_condition="UNRESOLVED_COLUMN", message=query
            )
        return analyzed(query, f"{column} {self._types[f'{source}_{column}']}")


def problems(text, **types):
    marks = parse_watermarks(text)
    found = check_watermarks("t", marks, (ORDERS, PAYMENTS), Types(**types))
    return [error.condition.removeprefix("MATERIALIZED_TABLE_") for error in found]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("ts DELAY OF INTERVAL 10 SECONDS", [(None, "ts", 10)]),
        ("ts delay of interval '1' minute", [(None, "ts", 60)]),
        ("WATERMARK ts DELAY OF 1 hour 30 min;", [(None, "ts", 5400)]),
        ("s.orders: ts DELAY OF PT1M", [(TableName("orders", "s"), "ts", 60)]),
        (
            "`a;b`.`c.d` : `t``s` DELAY OF 2 s ; c.s.payments: at DELAY OF 1 d",
            [
                (TableName("c.d", "a;b"), "t`s", 2),
                (TableName("payments", "s", "c"), "at", 86400),
            ],
        ),
    ],
)
def test_forms_of_a_watermark(text, marks):
    expected = tuple(Watermark(s, c, timedelta(seconds=n)) for s, c, n in marks)
    assert parse_watermarks(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "ts", "ts DELAY OF", "ts DELAY OF never", "ts DELAY 10 seconds", "a.b.c.d: ts"),
        *("ts DELAY OF 0 s", "ts DELAY OF 1 s;; at DELAY OF 1 s", "a b DELAY OF 1 s"),
        "sum(ts) DELAY OF 1 s",
    ],
)
def test_an_invalid_watermark_is_refused(text):
    with pytest.raises(InvalidValueError):
        parse_watermarks(text)


def test_the_clause_in_the_syntax_of_spark():
    (mark,) = parse_watermarks("`a b` DELAY OF 90 s")
    assert mark.sql == "WATERMARK `a b` DELAY OF INTERVAL '90.000' SECOND"


@pytest.mark.parametrize(
    ("source", "fits"),
    [
        (None, True),
        (TableName("ORDERS"), True),
        (TableName("orders", "S"), True),
        (TableName("orders", "s", "c"), True),
        (TableName("orders", "other"), False),
        (TableName("rders"), False),
        (PAYMENTS, False),
    ],
)
def test_of_which_source_it_is(source, fits):
    assert Watermark(source, "ts", timedelta(1)).is_of(ORDERS) is fits


@pytest.mark.parametrize("type_", ["TIMESTAMP", "TIMESTAMP_NTZ"])
def test_a_column_with_a_time_is_found_in_whichever_source_has_it(type_):
    assert problems("ts DELAY OF 1 s", orders_ts=type_) == []
    assert problems("ts DELAY OF 1 s", orders_ts=type_, payments_ts="DATE") == []


def test_every_violation_is_reported_at_once():
    found = problems(
        "ts DELAY OF 1 s; nowhere.orders: ts DELAY OF 1 s; payments: at DELAY OF 1 s",
        orders_ts="DATE",
    )
    assert found == ["WATERMARK_COLUMN", "WATERMARK_SOURCE", "WATERMARK_COLUMN"]


def test_a_source_has_one_watermark():
    text = "ts DELAY OF 1 s; orders: at DELAY OF 1 s; payments: at DELAY OF 1 s"
    types = {"orders_ts": "TIMESTAMP", "orders_at": "TIMESTAMP", "payments_at": "TIMESTAMP"}
    assert problems(text, **types) == ["REPEATED_WATERMARK"]
