from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus, LagStage, SourceActivity
from dbt.adapters.spark_mt.manager.http.pages_tables import Advice, Row, advise
from dbt.adapters.spark_mt.manager.views import RefreshPoint
from tests.unit.manager.samples import MINUTE, NOW_MS, full_name, sample_tables

ROWS = {d.view.name: Row(d.view, NOW_MS) for d in sample_tables()}


def advice_of(table, **changes):
    row = ROWS[full_name(table)]
    return advise(Row(replace(row.view, **changes), NOW_MS), ROWS)


def test_a_table_without_problems_has_no_advice():
    assert advice_of("flights_wide") == Advice()
    assert advice_of("carrier_scores") == Advice(), "the user suspended it"


def test_a_late_table_says_since_when():
    assert advice_of("hourly_departures").facts == (
        "It has been late for 4 min 11 s, since 14:45 UTC.",
    )


def test_failures_say_how_often_and_since_when():
    assert advice_of("busiest_hours").facts == (
        "It has been late for 2 h 4 min, since 12:45 UTC.",
        "Its refresh failed 4 times in a row, since 12:49 UTC.",
    )


def test_an_unknown_start_of_failures_is_not_shown():
    failures = tuple(RefreshPoint(NOW_MS - n * MINUTE, 10, "FAILED", error="no") for n in (3, 2, 1))
    facts = advice_of("busiest_hours", recent=failures, failures=50).facts
    assert facts[1] == "Its refresh failed 50 times in a row."


def test_a_running_refresh_does_not_hide_earlier_failures():
    recent = (
        *ROWS[full_name("busiest_hours")].view.recent,
        RefreshPoint(NOW_MS - 1_000, None, "RUNNING"),
    )
    assert "since 12:49 UTC" in advice_of("busiest_hours", recent=recent).facts[1]


def test_late_or_failing_sources_are_named_as_the_cause():
    found = advice_of("daily_report", freshness_status=FreshnessStatus.LATE, lag_seconds=100_000.0)
    assert found.causes == (full_name("hourly_departures"),)
    assert "once what it reads has" in found.remedy


def test_a_source_that_the_user_suspended_is_a_cause_too():
    reads = (full_name("carrier_scores"), full_name("flights_wide"), "no.such.table")
    found = advice_of("daily_report", freshness_status=FreshnessStatus.LATE, reads=reads)
    assert found.causes == (full_name("carrier_scores"),)


def test_the_table_for_which_most_of_the_lag_has_waited_is_named():
    """It is no cause of its own: by its own freshness it is on time."""
    stages = (LagStage(full_name("flights_wide"), 170.0), LagStage("t", 20.0))
    found = advice_of("hourly_departures", lag_seconds=190.0, lag_stages=stages)
    assert found.causes == ()
    assert found.remedy.startswith(f"2 min 50 s of its lag arise in {full_name('flights_wide')}")


def test_refreshes_that_take_too_long_are_named_with_both_figures():
    remedy = advice_of("hourly_departures").remedy
    assert "usually takes 3 min 46 s" in remedy
    assert "a freshness of 3 min" in remedy


def test_the_source_that_changes_most_often_is_named_with_them():
    activities = (
        SourceActivity("c.s.rare", 600.0),
        SourceActivity("c.s.often", 7.0),
        SourceActivity("c.s.once"),
    )
    remedy = advice_of("hourly_departures", source_activities=activities).remedy
    assert "a freshness of 3 min while c.s.often changes every 7 s: make" in remedy


def test_sources_with_many_small_files_are_named():
    activities = (
        SourceActivity("c.s.small", 7.0, 312, 4_096, "OPTIMIZE c.s.small"),
        SourceActivity("c.s.few", 7.0, 99, 4_096),
        SourceActivity("c.s.unknown", 7.0),
    )
    facts = advice_of("hourly_departures", source_activities=activities).facts
    assert facts[1:] == ("c.s.small has 312 files of 4 kB on average: OPTIMIZE c.s.small.",)


def test_a_refresh_that_runs_is_named_when_nothing_else_explains_the_lag():
    recent = (RefreshPoint(NOW_MS - 2 * MINUTE, None, "RUNNING"),)
    remedy = advice_of("hourly_departures", recent=recent).remedy
    assert "running for 2 min" in remedy


def test_a_lag_that_is_not_known_gives_no_instant():
    found = advice_of("hourly_departures", lag_seconds=None, recent=())
    assert found.facts == ("Its lag to its base tables is larger than its freshness allows.",)
    assert "No refresh has failed" in found.remedy


def test_a_table_that_we_suspended_is_to_be_resumed():
    found = advice_of("delays_by_plane")
    assert found.facts == ("The manager has suspended it.",)
    assert "resume" in found.remedy
