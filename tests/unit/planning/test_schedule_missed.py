"""What is run after a pause: once, or once for each partition that was missed."""

from datetime import datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.planning.schedule import (
    MissedRuns,
    Schedule,
    missed_runs,
    scheduled_partitions,
)
from dbt.adapters.spark_mt.resolution.time_zones import parse_zone
from tests.support.schedules import due

UTC = timezone.utc
DAY = {"ds": "yyyy-MM-dd"}
HOUR = {"ds": "yyyy-MM-dd", "h": "HH"}


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def missed(freshness, last, now, formatters=DAY, most=1000):
    plan = Schedule(Freshness.parse(freshness), "UTC")
    found = missed_runs(plan, formatters, at(last), at(now), most)
    return [run.strftime("%m-%d %H:%M") for run in found.scheduled], found.left_out


def test_nothing_was_missed():
    plan = Schedule(Freshness(1, TimeUnit.HOUR), "UTC")
    last = at("2025-03-02 10:00")
    assert missed_runs(plan, DAY, last, at("2025-03-02 10:59:59")) == MissedRuns()


def test_a_table_that_is_computed_whole_runs_once():
    assert missed("1 hour", "2025-03-01 10:00", "2025-03-03 10:30", {}) == (["03-03 10:00"], None)


@pytest.mark.parametrize(
    ("freshness", "last", "now", "formatters", "expected"),
    [
        ("1 day", "2025-03-01 00:00", "2025-03-04 10:00", DAY, ["02 00", "03 00", "04 00"]),
        ("1 hour", "2025-03-01 10:00", "2025-03-03 02:00", DAY, ["02 00", "03 00", "03 02"]),
        ("2 days", "2025-03-01 00:00", "2025-03-08 00:00", DAY, ["03 00", "05 00", "07 00"]),
        ("1 day", "2025-02-10 00:00", "2025-03-10 00:00", {"m": "yyyyMM"}, ["01 00", "10 00"]),
        ("4 hours", "2025-03-02 00:00", "2025-03-02 09:00", HOUR, ["02 04", "02 08"]),
    ],
)
def test_every_partition_once_the_oldest_first(freshness, last, now, formatters, expected):
    found, left_out = missed(freshness, last, now, formatters)
    assert found == [f"03-{day}:00" for day in expected]
    assert left_out is None


def test_intervals_that_begin_within_a_period():
    found, _ = missed("40 minutes", "2025-03-02 08:00", "2025-03-02 11:00", HOUR)
    assert found == ["03-02 08:40", "03-02 10:00", "03-02 10:40"]
    found, _ = missed("40 minutes", "2025-03-02 08:40", "2025-03-02 11:00", HOUR)
    assert found == ["03-02 09:20", "03-02 10:00", "03-02 10:40"]


def test_excess_partitions_are_left_out_and_counted():
    found, left_out = missed("1 day", "2020-01-01 00:00", "2025-03-04 10:00", most=2)
    assert found == ["03-03 00:00", "03-04 00:00"]
    assert left_out == at("2025-03-02 00:00")


def test_a_pattern_that_repeats_is_written_once():
    found, left_out = missed("1 hour", "2025-03-01 00:00", "2025-03-04 00:00", {"h": "HH"})
    assert len(found) == 24
    assert left_out is None


FORMATTERS = st.sampled_from([DAY, HOUR, {"m": "yyyyMM"}, {"t": "yyyyMMddHHmm"}])
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe"])
STARTS = st.sampled_from(["2025-03-28", "2025-10-24", "2024-11-01"])


SCHEDULES = st.builds(
    Schedule,
    st.builds(
        Freshness,
        st.integers(1, 50),
        st.sampled_from([TimeUnit.MINUTE, TimeUnit.HOUR, TimeUnit.DAY]),
    ),
    ZONES,
)


@given(
    plan=SCHEDULES,
    formatters=FORMATTERS,
    start=STARTS,
    hours=st.integers(0, 100),
    pause=st.integers(1, 90),
)
@settings(max_examples=40)
def test_exactly_what_was_missed_is_written(plan, formatters, start, hours, pause):
    """Against all scheduled times of the pause, one by one."""
    end = at(start) + timedelta(hours=hours + pause)
    expected = list(due(plan, at(start) + timedelta(hours=hours), end))[-400:]
    last = expected[0] - timedelta(seconds=1) if expected else end

    def written(runs):
        zone = parse_zone(plan.zone)
        return [set(scheduled_partitions(formatters, r, plan.freshness, zone)) for r in runs]

    found = missed_runs(plan, formatters, last, end, 5000)
    runs = list(found.scheduled)
    assert found.left_out is None
    assert runs == sorted(runs)
    assert set(runs) <= set(expected)
    assert runs[-1:] == expected[-1:]
    partitions = written(runs)
    assert set().union(*partitions) == set().union(*written(expected))
    assert not any(older <= newer for older, newer in pairwise(partitions))
