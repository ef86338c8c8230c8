from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import agate
import pytest
from dbt_common.clients.agate_helper import Integer  # noqa: TID251 - seeds are agate tables

from dbt.adapters.spark_mt.adapter.seeds import (
    SeedAction,
    SeedResult,
    SeedTable,
    cast,
    cell_text,
    comparable,
    configured_table,
    differing_rows_sql,
    integer_type,
    number_type,
    plan_seed,
    stored_columns,
)
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from tests.support.errors import raises


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
    with raises(conditions.SEED_NUMBER_TOO_LONG) as raised:
        number_type(numbers(Decimal("123456789012345678901234567900")), 0)
    assert raised.value.parameters == {"column": "n"}


def test_whole_numbers_are_exact():
    assert integer_type(numbers(2**63 - 1, type_=Integer()), 0) == "bigint"
    assert integer_type(numbers(2**63, type_=Integer()), 0) == "decimal(38,0)"


COLUMNS = (("id", "bigint"), ("name", "string"))
WANTED = SeedTable(COLUMNS, ("id",), (("owner", "dbt"),), "people", "/data/people")
FOUND = SeedTable(
    COLUMNS,
    ("ID",),
    (("owner", "dbt"), ("delta.minReaderVersion", "1")),
    "people",
    "file:/data/people",
)


def planned(wanted=WANTED, found=FOUND, *, full_refresh=False):
    return plan_seed(wanted, found, full_refresh=full_refresh)


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        ({}, SeedAction.INSERT),
        ({"columns": (("id", "bigint"),)}, SeedAction.CREATE),
        ({"columns": (("id", "int"), ("name", "string"))}, SeedAction.CREATE),
        ({"columns": (("ID", "bigint"), ("name", "string"))}, SeedAction.CREATE),
        ({"columns": COLUMNS[::-1]}, SeedAction.CREATE),
        ({"partitioned_by": ()}, SeedAction.CREATE),
        ({"location": "file:/elsewhere/people"}, SeedAction.MOVE),
        ({"location": "file:///data/people/"}, SeedAction.INSERT),
        ({"is_replaceable": False}, SeedAction.MOVE),
    ],
)
def test_what_is_done_to_a_table_that_is_there(changes, action):
    assert planned(found=replace(FOUND, **changes)).action is action


def test_a_format_has_other_types_in_the_place_of_some():
    delta, iceberg = FORMATS.known
    columns = (("a", "smallint"), ("b", "varchar(5)"), ("c", "struct<Aa:int>"))
    for other in (delta, None):
        assert stored_columns(columns, other) == columns
    found = stored_columns(columns, iceberg)
    assert found == (("a", "int"), ("b", "string"), ("c", "struct<Aa:int>"))


def test_what_is_done_to_no_table_and_in_a_full_refresh():
    assert planned(found=None).action is SeedAction.CREATE
    assert planned(full_refresh=True).action is SeedAction.CREATE
    assert planned(replace(WANTED, location=None)).action is SeedAction.INSERT


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ("/a b/t", "file:/a%20b/t", True),
        ("hdfs://one/a/t", "hdfs://one/a/t", True),
        ("hdfs://one/a/t", "hdfs://two/a/t", False),
        ("s3a://one/t", "file:/t", False),
        ("/a/t", "hdfs://one/a/t", True),
    ],
)
def test_places(wanted, found, same):
    assert SeedTable((), location=found).is_at(wanted) is same


def test_comment_and_properties_are_set_where_they_differ():
    assert planned().properties == ()
    assert planned().comment is None
    changed = planned(replace(WANTED, comment="other", properties=(("owner", "me"), ("x", "1"))))
    assert changed.properties == (("owner", "me"), ("x", "1"))
    assert changed.comment == "other"
    assert planned(replace(WANTED, comment=None)).comment is None
    assert planned(replace(WANTED, comment=""), replace(FOUND, comment=None)).comment is None
    older = replace(WANTED, properties=(("delta.minReaderVersion", "0"),))
    assert planned(older).properties == ()


def test_a_config_as_a_table():
    config = {"partition_by": "day", "location_root": "/data", "tblproperties": {"a": 1}}
    assert configured_table(config, "text", "t") == SeedTable(
        (), ("day",), (("a", "1"),), "text", "/data/t"
    )
    assert configured_table({}, None, "t") == SeedTable(())


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("bigint", "`a`"),
        ("double", "CAST(`a` AS STRING)"),
        ("string", "CAST(`a` AS BINARY)"),
        ("string collate UTF8_LCASE", "CAST(`a` AS BINARY)"),
        ("variant", "to_json(`a`)"),
        ("char(3)", "CAST(`a` AS BINARY)"),
    ],
)
def test_values_that_can_be_compared(type_, value):
    assert comparable("`a`", type_) == value


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("decimal(10, 2)", "CAST(c0 AS decimal(10, 2))"),
        ("char(3)", "IF(length(rtrim(c0)) <= 3, rpad(rtrim(c0), 3, ' '), c0)"),
        (" CHARACTER ( 3 ) ", "IF(length(rtrim(c0)) <= 3, rpad(rtrim(c0), 3, ' '), c0)"),
        ("VarChar(3)", "IF(length(rtrim(c0)) <= 3, left(c0, 3), c0)"),
    ],
)
def test_cells_as_values(type_, value):
    assert cast("c0", type_) == value


def test_rows_are_compared_as_bags():
    assert differing_rows_sql("t", [("a", "int"), ("b", "date")]) == (
        "SELECT 1 FROM (SELECT `a` AS k0, `b` AS k1, 1 AS n FROM __dbt_seed_rows UNION ALL "
        "SELECT `a` AS k0, `b` AS k1, -1 AS n FROM t) GROUP BY k0, k1 HAVING sum(n) <> 0"
    )


def test_the_message_says_what_was_done():
    assert SeedResult(SeedAction.KEEP, 3).message == "UNCHANGED"
    assert SeedResult(SeedAction.INSERT, 3).message == "INSERT 3"
