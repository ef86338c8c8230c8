"""Views of a table without a manager, from the registry and the log of refreshes."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.spark_mt.cli.session import measured, view_of
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.freshness import Freshness, FreshnessStatus
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.checks import Lag
from dbt.adapters.spark_mt.execution.ports import KnownTable

NOW = 1_000_000_000
NAME = TableName("t", "s", "c")


def known(**facts) -> KnownTable:
    given = {
        "name": NAME,
        "table_id": "1",
        "generation": 1,
        "refresh_mode": RefreshMode.FULL,
        "declared_refresh_mode": "AUTOMATIC",
        "freshness": Freshness.parse("1 minute"),
        "status": RefreshStatus.ACTIVATED,
        "last_refresh_at_ms": NOW - 30_000,
    }
    return KnownTable(**{**given, **facts})


def job(status: JobStatus, ago_s: int, error: str = "") -> Job:
    started = NOW - ago_s * 1000
    ended = None if status is JobStatus.RUNNING else started + 500
    owner = Owner("host", 1)
    return Job(
        f"j{ago_s}",
        NAME,
        JobKind.SCHEDULED,
        status,
        started,
        started,
        owner,
        "REFRESH",
        ended_at_ms=ended,
        rows=3,
        error=error,
    )


def test_a_view_has_no_lag_before_it_is_measured():
    """How old the last refresh is says nothing: its sources may be late themselves."""
    view = view_of(known(), [])
    assert (view.freshness_status, view.lag_seconds, view.activity) == (
        FreshnessStatus.UNKNOWN,
        None,
        "no manager",
    )
    late = Lag("c.s.t", 60, 65, NOW, since_ms=NOW - 66_000, path=(("c.s.t", NOW - 66_000),))
    seen = measured(view, late)
    assert (seen.freshness_status, seen.lag_seconds, seen.allowed_lag_seconds) == (
        FreshnessStatus.LATE,
        66.0,
        65,
    )
    assert [(stage.table, stage.seconds) for stage in seen.lag_stages] == [("c.s.t", 66.0)]


def test_a_run_that_had_nothing_to_do_counts():
    old = known(last_refresh_at_ms=NOW - 600_000)
    view = view_of(old, [job(JobStatus.SKIPPED, 10), job(JobStatus.FAILED, 300, "x")])
    assert view.last_refresh_at_ms == NOW - 10_000
    assert (view.failures, view.problem) == (0, "")


def test_failures_in_a_row_with_the_newest_text():
    jobs = [
        job(JobStatus.RUNNING, 1),
        job(JobStatus.FAILED, 10, "newest"),
        job(JobStatus.FAILED, 20, "older"),
        job(JobStatus.FINISHED, 30),
        job(JobStatus.FAILED, 40, "forgotten"),
    ]
    view = view_of(known(), jobs)
    assert (view.failures, view.problem, view.activity) == (2, "newest", "refreshing")
    assert [point.status for point in view.recent] == [j.status.value for j in reversed(jobs)]
    assert view.recent[-1].duration_ms is None
    assert view_of(known(), jobs[1:]).activity == "failing"


def test_a_suspended_table_has_nothing_to_meet():
    view = view_of(known(status=RefreshStatus.SUSPENDED, status_reason="why"), [])
    assert (view.freshness_status, view.status_reason) == (FreshnessStatus.NONE, "why")
    assert view.activity == "suspended"


def shown(done):
    return {table["name"].rsplit(".")[-1]: table for table in json.loads(done.stdout)["tables"]}


def test_status_without_a_manager(run, shop):
    shop.all()
    done = run("status", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["manager"] is None
    found = shown(done)
    assert list(found) == ["best", "daily", "other"]
    assert {table["freshness_status"] for table in found.values()} == {"MET"}
    assert found["best"]["reads"] == ["spark_catalog.default.daily"]
    assert "No manager found" in done.stderr


def test_lags_are_measured_to_the_base_tables(run, shop):
    shop.all()
    shop.wait(minutes=10)
    assert {t["freshness_status"] for t in shown(run("status", "--json")).values()} == {"MET"}
    shop.sell()
    shop.wait(minutes=5)
    found = shown(run("status", "--json"))
    assert {name: table["freshness_status"] for name, table in found.items()} == {
        "best": "MET",
        "daily": "LATE",
        "other": "LATE",
    }
    assert found["daily"]["lag_seconds"] == found["best"]["lag_seconds"] == 300
    assert found["best"]["own_lag_seconds"] == 0
    assert [stage["seconds"] for stage in found["best"]["lag_stages"]] == [300, 0]
    quick = shown(run("status", "--quick", "--json"))
    assert quick["daily"]["freshness_status"] == "UNKNOWN"
    assert quick["daily"]["lag_seconds"] is None


def test_a_table_with_a_missing_source_counts_from_its_last_refresh_and_names_it(run, shop):
    shop.all()
    shop.wait(hours=2)
    shop.tables.drop("orders")
    found = shown(run("status", "daily", "--json"))
    assert list(found) == ["daily"]
    assert found["daily"]["freshness_status"] == "LATE"
    assert found["daily"]["lag_seconds"] == 7200
    assert "orders" in found["daily"]["problem"]


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["daily"], ["daily"]),
        (["DEFAULT.*"], ["best", "daily", "other"]),
        (["*t*r", "best"], ["best", "other"]),
        (["aily"], []),
    ],
)
def test_names_are_patterns(run, shop, patterns, names):
    shop.all()
    assert list(shown(run("status", *patterns, "--json"))) == names
