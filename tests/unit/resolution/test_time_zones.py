from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.resolution.time_zones import (
    epoch_milliseconds,
    parse_timestamp,
    parse_zone,
)
from tests.support.errors import raises

UTC = timezone.utc


@pytest.mark.parametrize("literal", ["2025", "2025-07"])
def test_missing_parts_of_a_date_are_the_first(literal):
    assert parse_timestamp(literal, UTC).day == 1


@pytest.mark.parametrize(
    "literal",
    ["", "yesterday", "2025-13-01", "2025-02-30", "25-01-01", "12345-01-01", "2025-01-01 25:00"],
)
def test_an_invalid_timestamp_is_refused(literal):
    with raises(conditions.INVALID_TIMESTAMP):
        parse_timestamp(literal, UTC)


def test_a_literal_in_an_unknown_zone_is_refused():
    with raises(conditions.INVALID_TIME_ZONE) as caught:
        parse_timestamp("2025-01-01 10:00 Mars/Phobos", UTC)
    assert caught.value.parameters == {"zone": "Mars/Phobos"}


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("UTC", 0),
        ("z", 0),
        ("+02:00", 2),
        ("-0330", -3.5),
        ("GMT+2", 2),
        ("UTC-1", -1),
        ("+18:00", 18),
    ],
)
def test_zones_are_read_as_spark_writes_them(text, hours):
    assert parse_zone(text).utcoffset(None) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "+19:00", "Europe/Atlantis", "../etc/passwd", "2"])
def test_an_invalid_zone_is_refused(text):
    with raises(conditions.INVALID_TIME_ZONE):
        parse_zone(text)


def test_milliseconds_are_rounded_down_before_the_epoch_too():
    assert epoch_milliseconds(datetime(1969, 12, 31, 23, 59, 59, 999_500, tzinfo=UTC)) == -1
