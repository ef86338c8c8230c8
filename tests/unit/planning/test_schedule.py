"""Scheduled times: Flink's cron expressions, fixed intervals, and clocks that are changed."""

from datetime import datetime, timedelta, timezone
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.planning.schedule import Schedule
from tests.support.schedules import due

UTC = timezone.utc
MINUTE = timedelta(minutes=1)
MONDAY = datetime.fromisoformat("1970-01-05")
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",  # midnight was skipped, and 23:00 repeated, until 2019
    "America/Havana",  # midnight comes twice
    "America/St_Johns",  # put back from 00:01 to 23:01 of the day before, until 2011
    "Australia/Lord_Howe",  # half an hour
    "Asia/Kathmandu",
    "Pacific/Apia",  # 2011-12-30 never was
    "+05:30",
)


def schedule(freshness, zone="UTC"):
    return Schedule(Freshness.parse(freshness), zone)


def local(text, zone, fold=0):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


def shown(freshness, zone, start, count):
    """What the zone's clock shows at the scheduled times after `start`, with its offset."""
    plan = schedule(freshness, zone)
    times = due(plan, local(start, zone), datetime(2100, 1, 1, tzinfo=UTC))
    return [
        t.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes") for t in islice(times, count)
    ]


@pytest.mark.parametrize(
    ("freshness", "text", "cron"),
    [
        ("30 seconds", "every 30 seconds", None),
        ("1 second", "every second", None),
        ("60 seconds", "every minute", "* * * * *"),
        ("20 minutes", "every 20 minutes", "*/20 * * * *"),
        ("1 hour", "every hour", "0 * * * *"),
        ("8 hours", "every 8 hours", "0 */8 * * *"),
        ("24 hours", "every day", "0 0 * * *"),
        ("7 days", "every week", "0 0 * * 1"),
        ("40 minutes", "every 40 minutes", None),
        ("90 seconds", "every 90 seconds", None),
        ("5 hours", "every 5 hours", None),
        ("36 hours", "every 36 hours", None),
        ("2 days", "every 2 days", None),
        ("2 weeks", "every 2 weeks", None),
    ],
)
def test_scheduled_times_of_users_and_schedulers(freshness, text, cron):
    plan = schedule(freshness)
    assert (plan.text, plan.cron) == (text, cron)
    assert plan.every_seconds == (None if cron else plan.freshness.seconds)


@pytest.mark.parametrize(
    ("freshness", "after", "expected"),
    [
        ("30 seconds", "2025-03-02T10:00:00", "2025-03-02T10:00:30"),
        ("30 seconds", "2025-03-02T10:00:29.999999", "2025-03-02T10:00:30"),
        ("1 hour", "2025-03-02T10:00:00.000001", "2025-03-02T11:00:00"),
        ("1 day", "2025-03-02T10:00:00", "2025-03-03T00:00:00"),
        ("40 minutes", "1970-01-01T00:00:00", "1970-01-01T00:40:00"),
        ("40 minutes", "2025-03-02T00:00:00", "2025-03-02T00:40:00"),
        ("36 hours", "1970-01-01T00:00:00", "1970-01-02T12:00:00"),
        ("2 days", "1970-01-05T00:00:00", "1970-01-07T00:00:00"),
        ("2 days", "1970-01-04T00:00:00", "1970-01-05T00:00:00"),
        ("1 week", "2025-03-02T10:00:00", "2025-03-03T00:00:00"),
        ("2 weeks", "1970-01-05T00:00:00", "1970-01-19T00:00:00"),
        ("1 week", "1969-12-28T00:00:00", "1969-12-29T00:00:00"),
    ],
)
def test_next(freshness, after, expected):
    found = schedule(freshness).next_after(datetime.fromisoformat(after).replace(tzinfo=UTC))
    assert found == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_hourly_runs_every_hour_while_clocks_are_changed():
    assert shown("1 hour", "Europe/Berlin", "2025-03-30 00:30", 3) == [
        "2025-03-30T01:00+01:00",
        "2025-03-30T03:00+02:00",
        "2025-03-30T04:00+02:00",
    ]
    assert shown("1 hour", "Europe/Berlin", "2025-10-26 01:30", 3) == [
        "2025-10-26T02:00+02:00",
        "2025-10-26T02:00+01:00",
        "2025-10-26T03:00+01:00",
    ]


def test_a_skipped_time_is_run_at_once():
    assert shown("2 hours", "Europe/Berlin", "2025-03-30 00:00", 2) == [
        "2025-03-30T03:00+02:00",
        "2025-03-30T04:00+02:00",
    ]
    assert shown("20 minutes", "Australia/Lord_Howe", "2025-10-05 01:30", 3) == [
        "2025-10-05T01:40+10:30",
        "2025-10-05T02:30+11:00",
        "2025-10-05T02:40+11:00",
    ]


def test_a_day_whose_midnight_is_skipped_begins_when_its_date_is_shown():
    assert shown("1 day", "America/Sao_Paulo", "2018-11-03 00:00", 2) == [
        "2018-11-04T01:00-02:00",
        "2018-11-05T00:00-02:00",
    ]


def test_a_day_whose_midnight_comes_twice_begins_once():
    assert shown("1 day", "America/Havana", "2024-11-02 00:00", 2) == [
        "2024-11-03T00:00-04:00",
        "2024-11-04T00:00-05:00",
    ]


def test_a_day_that_overlaps_the_one_before_begins_once():
    assert shown("1 day", "America/St_Johns", "2010-11-06 00:00", 2) == [
        "2010-11-07T00:00-02:30",
        "2010-11-08T00:00-03:30",
    ]
    before = datetime(2010, 11, 7, 2, 45, tzinfo=UTC)  # it shows 23:15 of the 6th again
    found = schedule("1 day", "America/St_Johns").next_after(before)
    assert found == local("2010-11-08 00:00", "America/St_Johns")


def test_a_day_that_never_was_is_not_scheduled():
    assert shown("1 day", "Pacific/Apia", "2011-12-29 00:00", 2) == [
        "2011-12-31T00:00+14:00",
        "2012-01-01T00:00+14:00",
    ]


def test_cron_follows_the_zones_clock_and_other_intervals_do_not():
    assert shown("1 hour", "Asia/Kathmandu", "2025-03-02 10:00", 1) == ["2025-03-02T11:00+05:45"]
    assert shown("40 minutes", "Asia/Kathmandu", "2025-03-02 05:45", 1) == [
        "2025-03-02T06:25+05:45"
    ]


def test_two_days_stay_at_midnight():
    days = shown("2 days", "Europe/Berlin", "2025-03-26 12:00", 4)
    assert [day[10:16] for day in days] == ["T00:00"] * 4
    assert [day[8:10] for day in days] == ["27", "29", "31", "02"]


def instants(year):
    """Any instant from the beginning of a year to that of 2035."""
    first, last = (datetime.fromisoformat(f"{y}-01-01") for y in (year, 2035))
    return st.datetimes(first, last, timezones=st.just(UTC))


def is_scheduled(plan, moment, before):
    """Whether a minute is scheduled, decided from what the clock shows then and a minute before."""
    step = timedelta(seconds=plan.freshness.seconds)
    anchor = MONDAY
    end = moment.replace(tzinfo=None)
    if (end - anchor) % step == timedelta():
        return not (step >= timedelta(days=1) and moment.fold)
    start = before.replace(tzinfo=None) + MINUTE
    skipped = [start + MINUTE * n for n in range((end - start) // MINUTE)]
    return any((reading - anchor) % step == timedelta() for reading in skipped)


FRESHNESSES = st.sampled_from(
    ["1 minute", "20 minutes", "1 hour", "2 hours", "3 hours", "12 hours", "1 day", "2 days"]
)
SWITCHES = (
    datetime(2025, 3, 30, tzinfo=UTC),
    datetime(2025, 10, 26, tzinfo=UTC),
    datetime(2025, 10, 4, 12, tzinfo=UTC),
    datetime(2025, 4, 5, tzinfo=UTC),
    datetime(2018, 11, 4, tzinfo=UTC),
    datetime(2019, 2, 17, tzinfo=UTC),
    datetime(2024, 11, 3, tzinfo=UTC),
    datetime(2010, 11, 7, tzinfo=UTC),
    datetime(2011, 12, 30, tzinfo=UTC),
)


@given(
    freshness=FRESHNESSES,
    zone=st.sampled_from(ZONES),
    switch=st.sampled_from(SWITCHES),
    minutes=st.integers(-1500, 1000),
)
@example("20 minutes", "Australia/Lord_Howe", SWITCHES[2], 100)
def test_against_a_walk_through_every_minute(freshness, zone, switch, minutes):
    plan = schedule(freshness, zone)
    tz = UTC if zone == "UTC" else ZoneInfo(zone) if "/" in zone else IST
    start = switch + MINUTE * minutes
    walked = [(start + MINUTE * n).astimezone(tz) for n in range(24 * 60)]
    expected = [moment for before, moment in pairwise(walked) if is_scheduled(plan, moment, before)]
    end = walked[-1].astimezone(UTC)
    assert list(due(plan, start, end)) == [moment.astimezone(UTC) for moment in expected]


IST = timezone(timedelta(hours=5, minutes=30))


@given(
    count=st.integers(1, 400),
    unit=st.sampled_from(TimeUnit),
    zone=st.sampled_from(ZONES),
    at=instants(1990),
)
def test_the_newest_and_the_next_have_nothing_between_them(count, unit, zone, at):
    plan = Schedule(Freshness(count, unit), zone)
    newest, following = plan.newest(at), plan.next_after(at)
    assert newest <= at < following
    assert plan.next_after(newest) == following
    assert list(due(plan, newest, following)) == [following]


@given(
    seconds=st.integers(1, 3 * 86400),
    zone=st.sampled_from(ZONES),
    at=instants(2000),
)
def test_never_longer_than_the_freshness_but_for_a_clock_put_back(seconds, zone, at):
    plan = Schedule(Freshness(seconds, TimeUnit.SECOND), zone)
    first = plan.next_after(at)
    gap = plan.next_after(first) - first
    tz = UTC if zone == "UTC" else ZoneInfo(zone) if "/" in zone else IST
    put_back = first.astimezone(tz).utcoffset() - (first + gap).astimezone(tz).utcoffset()
    assert gap <= timedelta(seconds=seconds) + max(put_back, timedelta())


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "freshness",
    [
        Freshness(2147483647, TimeUnit.SECOND),
        Freshness(35791394, TimeUnit.MINUTE),
        Freshness(3550, TimeUnit.WEEK),
    ],
)
def test_the_longest_freshness_has_a_next_time(freshness, zone):
    plan = Schedule(freshness, zone)
    at = datetime(2025, 11, 4, 10, tzinfo=UTC)
    assert plan.newest(at) <= at < plan.next_after(at)
    assert list(due(plan, at, plan.next_after(at))) == [plan.next_after(at)]
    assert plan.next_after(at) - plan.newest(at) <= timedelta(seconds=2147483647, hours=1)
    assert plan.text.startswith("every ")
    assert plan.cron is None
