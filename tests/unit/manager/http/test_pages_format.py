from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.manager.http import pages_format as text
from dbt.adapters.spark_mt.manager.http.pages_format import HEIGHT, SHOWN, WIDTH, sparkline
from dbt.adapters.spark_mt.manager.views import RefreshPoint
from tests.unit.manager.samples import (
    DAY,
    MINUTE,
    NOW_MS,
    SECOND,
)


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (None, "unknown"),
        (-3, "0 s"),
        (0, "0 s"),
        (0.04, "0 s"),
        (0.26, "0.3 s"),
        (9.96, "10 s"),
        (10.4, "10 s"),
        (59.7, "1 min"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3_599.9, "1 h"),
        (9_870, "2 h 44 min"),
        (86_400, "1 d"),
        (200_000, "2 d 7 h"),
        (604_800 + 7_200, "1 w"),
    ],
)
def test_durations_have_two_units_at_most(seconds, written):
    assert text.duration(seconds) == written


def test_instants_say_that_they_are_utc():
    assert text.instant(NOW_MS) == "2026-11-21 14:50:00 UTC"
    assert text.machine_instant(NOW_MS) == "2026-11-21T14:50:00Z"
    assert text.instant(None) == text.machine_instant(None) == ""
    assert text.clock_time(NOW_MS - MINUTE, NOW_MS) == "14:49 UTC"
    assert text.clock_time(NOW_MS - DAY, NOW_MS) == "11-20 14:50 UTC"


@pytest.mark.parametrize(
    ("offset", "written"),
    [
        (-20 * SECOND, "20 s ago"),
        (3 * MINUTE, "in 3 min"),
        (400, "now"),
        (-2_400, "2 s ago"),
    ],
)
def test_distances_name_their_direction(offset, written):
    assert text.distance(NOW_MS + offset, NOW_MS) == written
    assert text.distance(None, NOW_MS) == "never"


def test_counts():
    assert text.count(1_234_567) == "1,234,567"
    assert text.count(0) == "0"
    assert text.count(None) == "\u2013"
    assert text.plural(1, "refresh", "refreshes") == "1 refresh"
    assert text.plural(1_000, "table") == "1,000 tables"


def test_only_the_own_catalog_is_left_out_of_names():
    assert text.short_name("spark_catalog.s.t", "spark_catalog") == "s.t"
    assert text.short_name("other.s.t", "spark_catalog") == "other.s.t"


def test_the_gist_leaves_out_condition_and_table():
    said = "[SOME_CONDITION.SUB] Materialized table c.s.t: the column x is gone.\nDo this."
    assert text.gist(said, "c.s.t") == "the column x is gone.\nDo this."
    assert text.gist("[not a condition] text", "c.s.t") == "[not a condition] text"


def test_a_chart_has_a_text_alternative():
    points = (
        RefreshPoint(0, 1_000, "FINISHED"),
        RefreshPoint(1, 4_000, "FINISHED"),
        RefreshPoint(2, 10, "SKIPPED"),
        RefreshPoint(3, 500, "FAILED"),
        RefreshPoint(4, None, "RUNNING"),
    )
    drawn = sparkline(points)
    assert dict(drawn.paths).keys() == {"finished", "skipped", "failed", "running"}
    assert drawn.label == (
        "Last 5 refreshes: 2 finished, 1 had nothing to do, 1 failed, 1 running; "
        "the longest took 4 s"
    )


def test_the_longest_refresh_fills_the_height_and_the_newest_is_on_the_right():
    drawn = dict(
        sparkline((RefreshPoint(0, 2_000, "FINISHED"), RefreshPoint(1, 0, "FINISHED"))).paths
    )
    first, second = drawn["finished"].split("M")[1:]
    assert first.startswith(f"{WIDTH - 10} {HEIGHT}v-{HEIGHT}.0")
    assert second.startswith(f"{WIDTH - 5} {HEIGHT}v-2.0")


def test_only_the_newest_refreshes_are_drawn():
    points = [RefreshPoint(n, n, "FINISHED") for n in range(SHOWN + 10)]
    assert dict(sparkline(points).paths)["finished"].count("M") == SHOWN


@pytest.mark.parametrize("points", [(), (RefreshPoint(0, None, "RUNNING"),)])
def test_few_refreshes_are_drawn(points):
    drawn = sparkline(points)
    assert drawn.label == ("Last 1 refresh: 1 running" if points else "No refresh yet")
