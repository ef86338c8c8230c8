"""Partitions that a scheduled run writes: examples, zones and their clocks."""

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.planning.schedule import covered_since, scheduled_partitions

UTC = timezone.utc
BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
DAY = {"ds": "yyyy-MM-dd"}


def partitions(scheduled, freshness, zone=UTC, formatters=None):
    """The values of the partitions, without quotes."""
    at = datetime.fromisoformat(scheduled)
    at = at if at.tzinfo else at.replace(tzinfo=zone)
    found = scheduled_partitions(formatters or DAY, at, Freshness.parse(freshness), zone)
    values = [tuple(literal.strip("'") for _, literal in partition) for partition in found]
    return [value[0] if len(value) == 1 else value for value in values]


@pytest.mark.parametrize(
    ("scheduled", "freshness", "expected"),
    [
        ("2025-03-02 00:00", "1 day", ["2025-03-01"]),
        ("2025-03-02 01:00", "1 hour", ["2025-03-02"]),
        ("2025-03-02 00:00", "1 hour", ["2025-03-01"]),
        ("2025-03-03 00:00", "2 days", ["2025-03-01", "2025-03-02"]),
        ("2025-03-02 00:30", "1 hour", ["2025-03-01", "2025-03-02"]),
        ("2025-03-02 12:00", "1 day", ["2025-03-01", "2025-03-02"]),
        ("2025-03-10 00:00", "1 week", [f"2025-03-{d:02}" for d in range(3, 10)]),
        ("2025-03-02 00:00:00.000001", "1 second", ["2025-03-01", "2025-03-02"]),
    ],
)
def test_every_period_that_overlaps_the_time_before(scheduled, freshness, expected):
    assert partitions(scheduled, freshness) == expected


@pytest.mark.parametrize(
    ("scheduled", "freshness", "expected"),
    [
        ("2025-03-31 00:00", "1 day", ["2025-03-30"]),  # a day of 23 hours
        ("2025-03-31 00:00", "24 hours", ["2025-03-30"]),
        ("2025-04-01 00:00", "2 days", ["2025-03-30", "2025-03-31"]),
        ("2025-10-27 00:00", "1 day", ["2025-10-26"]),  # a day of 25 hours
        ("2025-10-28 00:00", "2 days", ["2025-10-26", "2025-10-27"]),
        ("2025-03-30 00:00", "1 day", ["2025-03-29"]),
        ("2025-03-30T22:00+00:00", "1 day", ["2025-03-30"]),
        ("2025-10-26T23:00+00:00", "1 day", ["2025-10-26"]),
    ],
)
def test_days_are_those_of_the_zones_clock(scheduled, freshness, expected):
    assert partitions(scheduled, freshness, BERLIN) == expected


def test_the_stored_zone_decides_not_that_of_the_scheduled_time():
    assert partitions("2025-03-02T00:00+00:00", "1 hour", BERLIN) == ["2025-03-02"]
    assert partitions("2025-03-01T23:00+00:00", "1 day", BERLIN) == ["2025-03-01"]


def test_an_hour_that_comes_twice_is_one_partition():
    hours = {"h": "yyyy-MM-dd HH"}
    found = partitions("2025-10-26T02:00+00:00", "3 hours", BERLIN, hours)
    assert found == ["2025-10-26 01", "2025-10-26 02"]


def test_an_hour_that_the_clock_skips_is_no_partition():
    hours = {"h": "yyyy-MM-dd HH"}
    found = partitions("2025-03-30T02:00+00:00", "2 hours", BERLIN, hours)
    assert found == ["2025-03-30 01", "2025-03-30 03"]


def test_an_hour_of_thirty_minutes_is_not_missed():
    hours = {"h": "HH"}
    found = partitions("2025-10-05 05:00", "4 hours", LORD_HOWE, hours)
    assert found == ["00", "01", "02", "03", "04"]


def test_several_formatters_give_tuples_of_the_finest_period():
    formatters = {"ds": "yyyy-MM-dd", "h": "HH"}
    assert partitions("2025-03-02 01:00", "2 hours", formatters=formatters) == [
        ("2025-03-01", "23"),
        ("2025-03-02", "00"),
    ]


def test_coarse_formatters():
    assert partitions("2025-03-02 00:00", "2 days", formatters={"m": "yyyyMM"}) == [
        "202502",
        "202503",
    ]
    years = {"y": "yyyy"}
    assert partitions("2025-01-01 00:00", "1 day", formatters=years) == ["2024"]
    assert partitions("2025-01-02 00:00", "2 weeks", formatters=years) == ["2024", "2025"]


def test_values_are_sql_literals():
    at = datetime(2025, 3, 2, tzinfo=UTC)
    found = scheduled_partitions({"ds": "yyyy 'o''clock'"}, at, Freshness(1, TimeUnit.DAY), UTC)
    assert found == ((("ds", r"'2025 o\'clock'"),),)


@given(
    minute=st.integers(0, 366 * 24 * 60),
    hours=st.integers(1, 24 * 20),
    zone=st.sampled_from([UTC, BERLIN, LORD_HOWE, ZoneInfo("America/New_York")]),
)
def test_no_day_is_missing_and_none_too_much(minute, hours, zone):
    """Against a walk through every minute's local date, for lengths that are no whole days."""
    hours += hours % 24 == 0
    at = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    found = scheduled_partitions(DAY, at, Freshness(hours, TimeUnit.HOUR), zone)
    minutes = (at - timedelta(minutes=m) for m in range(1, hours * 60 + 1, 30))
    first = at - timedelta(hours=hours)
    days = {m.astimezone(zone).strftime("'%Y-%m-%d'") for m in (*minutes, first)}
    assert [partition[0][1] for partition in found] == sorted(days)


def test_a_run_of_the_longest_freshness_begins_before_the_epoch():
    at = datetime(2025, 11, 4, tzinfo=UTC)
    longest = Freshness(2147483647, TimeUnit.SECOND)
    assert covered_since(at, longest, UTC) == at - timedelta(seconds=2147483647)
