from __future__ import annotations

import datetime as dt
from decimal import Decimal

import agate
import pytest
from dbt_common.clients.agate_helper import Integer  # noqa: TID251 - seeds are agate tables

from dbt.adapters.spark_mt.adapter.catalog import (
    SeedPrecisionError,
    cell_text,
    integer_type,
    number_type,
)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, None),
        (9007199254740993, "9007199254740993"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.10"), "0.10"),
        (dt.datetime(2024, 1, 1, 10, 0, 0, 5), "2024-01-01 10:00:00.000005"),  # noqa: DTZ001 - seeds have naive ones
        (dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc), "2024-01-01 00:00:00+00:00"),
        (dt.date(2024, 1, 1), "2024-01-01"),
        ("O'Brien", "O'Brien"),
    ],
)
def test_cells_as_text(cell, text):
    assert cell_text(cell) == text


def numbers(*values, type_=None) -> agate.Table:
    return agate.Table([(value,) for value in values], ["n"], [type_ or agate.Number()])


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ((1, 2), "bigint"),
        ((1, None), "bigint"),
        ((Decimal("0.1"), Decimal("1.10")), "double"),
        ((Decimal("12345678901234567.89"),), "decimal(38,2)"),
        ((2**64,), "decimal(38,0)"),
    ],
)
def test_numbers_are_exact(values, type_):
    assert number_type(numbers(*values), 0) == type_


def test_numbers_that_dbt_rounded_are_refused():
    with pytest.raises(SeedPrecisionError) as raised:
        number_type(numbers(Decimal("123456789012345678901234567900")), 0)
    assert raised.value.parameters == {"column": "n"}


def test_whole_numbers_are_exact():
    assert integer_type(numbers(2**63 - 1, type_=Integer()), 0) == "bigint"
    assert integer_type(numbers(2**63, type_=Integer()), 0) == "decimal(38,0)"
