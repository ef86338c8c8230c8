from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.modes import (
    IntervalUnit,
    ResolvedStartMode,
    StartInterval,
)
from dbt.adapters.spark_mt.resolution.settings import parse_start_mode
from dbt.adapters.spark_mt.resolution.start_instants import resolve_start_mode, subtract
from dbt.adapters.spark_mt.resolution.time_zones import (
    epoch_milliseconds,
    parse_timestamp,
    parse_zone,
)
from tests.support.errors import raises

UTC = timezone.utc

BERLIN = parse_zone("Europe/Berlin")

NOW = datetime(2025, 11, 4, 10, 0, tzinfo=UTC)


def interval(count, unit):
    return StartInterval(count, IntervalUnit[unit])


def resolve(text, before=None, now=NOW, zone=UTC):
    return resolve_start_mode(parse_start_mode(text), before, now, zone, "t")


@pytest.mark.parametrize(
    ("now", "given", "expected"),
    [
        ("2025-11-04 10:00", interval(90, "SECOND"), "2025-11-04 09:58:30"),
        ("2025-11-04 10:00", interval(1, "WEEK"), "2025-10-28 10:00"),
        ("2025-03-31 10:00", interval(1, "MONTH"), "2025-02-28 10:00"),
        ("2024-03-31 10:00", interval(1, "MONTH"), "2024-02-29 10:00"),
        ("2024-02-29 10:00", interval(1, "YEAR"), "2023-02-28 10:00"),
        ("2025-01-31 10:00", interval(14, "MONTH"), "2023-11-30 10:00"),
        ("2025-12-31 10:00", interval(12, "MONTH"), "2024-12-31 10:00"),
    ],
)
def test_intervals_are_subtracted_on_the_calendar(now, given, expected):
    assert subtract(parse_timestamp(now, UTC), given, UTC) == parse_timestamp(expected, UTC)


def test_a_day_of_23_hours_is_a_day_and_24_hours_are_24_hours():
    after_the_switch = datetime(2025, 3, 30, 10, 0, tzinfo=BERLIN)
    before_by_calendar = datetime(2025, 3, 29, 9, 0, tzinfo=UTC)
    assert subtract(after_the_switch, interval(1, "DAY"), BERLIN) == before_by_calendar
    by_hours = subtract(after_the_switch.astimezone(UTC), interval(24, "HOUR"), BERLIN)
    assert by_hours == before_by_calendar - timedelta(hours=1)


@pytest.mark.parametrize(
    ("literal", "given", "expected"),
    [
        ("2025-10-27 02:30", interval(1, "DAY"), 1761442200000),
        ("2025-11-02 02:30", interval(1, "WEEK"), 1761442200000),
        ("2025-03-31 02:30", interval(1, "DAY"), 1743298200000),
        ("2025-04-30 02:30", interval(1, "MONTH"), 1743298200000),
    ],
)
def test_hours_that_a_clock_shows_twice_or_never_are_taken_as_spark_takes_them(
    literal, given, expected
):
    """The expected values are those of Spark 4.2 in Europe/Berlin."""
    result = subtract(parse_timestamp(literal, BERLIN), given, BERLIN)
    assert epoch_milliseconds(result) == expected


def test_from_now_means_the_instant_of_execution():
    assert resolve("FROM_NOW").instant_ms == epoch_milliseconds(NOW)
    week = resolve("RESUME_OR_FROM_NOW(INTERVAL '7' DAY)")
    assert week.instant_ms == epoch_milliseconds(datetime(2025, 10, 28, 10, 0, tzinfo=UTC))


@pytest.mark.parametrize("text", ["FROM_BEGINNING", "RESUME_OR_FROM_BEGINNING"])
def test_the_beginning_has_no_instant(text):
    assert resolve(text).instant_ms is None


@pytest.mark.parametrize(
    ("literal", "hour"),
    [
        ("2025-07-01 12:00:00", 10),
        ("2025-07-01T12:00", 10),
        ("2025-07-01 12", 10),
        ("2025-07-01 12:00:00 PST", 19),
        ("2025-07-01 12:00:00Z", 12),
        ("2025-07-01 12:00:00 UTC", 12),
        ("2025-07-01 12:00:00+05:30", 6.5),
        ("2025-07-01 12:00:00 America/New_York", 16),
        ("2025-07-01 12:00:00.5", 10 + 0.5 / 3600),
        ("2025-07-01", -2),
    ],
)
def test_a_literal_without_zone_is_in_the_session_zone(literal, hour):
    expected = datetime(2025, 7, 1, tzinfo=UTC) + timedelta(hours=hour)
    resolved = resolve(f"FROM_TIMESTAMP(TIMESTAMP '{literal}')", zone=BERLIN)
    assert resolved.instant_ms == epoch_milliseconds(expected)


def test_the_future_is_refused_with_the_time_of_the_session():
    with raises(conditions.START_IN_THE_FUTURE) as caught:
        resolve("FROM_TIMESTAMP(TIMESTAMP '2025-11-04 11:00:01')", zone=BERLIN)
    assert caught.value.parameters == {
        "startMode": "FROM_TIMESTAMP(TIMESTAMP '2025-11-04 11:00:01')",
        "table": "t",
        "now": "2025-11-04 11:00:00",
    }
    assert resolve("FROM_TIMESTAMP(TIMESTAMP '2025-11-04 11:00:00')", zone=BERLIN)


@pytest.mark.parametrize("unit", list(IntervalUnit))
def test_an_interval_longer_than_time_is_refused(unit):
    with raises(conditions.START_BEFORE_TIME):
        resolve(f"FROM_NOW(INTERVAL '99999999999' {unit.name})")


def test_an_unchanged_start_mode_keeps_its_instant():
    before = ResolvedStartMode(parse_start_mode("FROM_NOW(INTERVAL '7' DAY)"), 42)
    assert resolve("FROM_NOW(INTERVAL '7' DAY)", before) is before
    assert resolve("FROM_NOW(INTERVAL '8' DAY)", before).instant_ms != 42


@pytest.mark.parametrize(
    ("text", "zone"),
    [("0001-01-01 00:00:00", "+18:00"), ("0001-01-01 00:00:00", "Asia/Tokyo")],
)
def test_an_instant_before_the_first_year_of_utc_has_milliseconds_too(text, zone):
    instant = parse_timestamp(text, parse_zone(zone))
    first_year = epoch_milliseconds(datetime(1, 1, 1, tzinfo=UTC))
    assert first_year - 18 * 3_600_000 <= epoch_milliseconds(instant) < first_year
    assert resolve(f"FROM_TIMESTAMP(TIMESTAMP '{text} {zone}')").instant_ms < first_year
