"""What the registry and the log of refreshes tell of a table without a manager."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.spark_mt.cli_tables import upstream_first
from dbt.adapters.spark_mt.cli_views import view_of
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.execution.known_tables import KnownTable
from dbt.adapters.spark_mt.service.views import Promise

NOW = 1_000_000_000
NAME = TableName("t", "s", "c")


def known(**facts) -> KnownTable:
    given = {
        "name": NAME,
        "table_id": "1",
        "generation": 1,
        "refresh_mode": RefreshMode.FULL,
        "asked_refresh_mode": "AUTOMATIC",
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


def test_a_young_refresh_keeps_the_promise():
    view = view_of(known(), [], NOW)
    assert (view.promise, view.lag_seconds, view.activity) == (Promise.KEPT, 30.0, "no manager")


def test_of_an_old_one_nobody_knows():
    assert view_of(known(last_refresh_at_ms=NOW - 61_000), [], NOW).promise is Promise.UNKNOWN
    assert view_of(known(last_refresh_at_ms=None), [], NOW).promise is Promise.UNKNOWN


def test_a_run_that_had_nothing_to_do_counts():
    old = known(last_refresh_at_ms=NOW - 600_000)
    view = view_of(old, [job(JobStatus.SKIPPED, 10), job(JobStatus.FAILED, 300, "x")], NOW)
    assert (view.promise, view.lag_seconds) == (Promise.KEPT, 10.0)
    assert (view.failures, view.problem) == (0, "")


def test_failures_in_a_row_with_the_newest_text():
    jobs = [
        job(JobStatus.RUNNING, 1),
        job(JobStatus.FAILED, 10, "newest"),
        job(JobStatus.FAILED, 20, "older"),
        job(JobStatus.FINISHED, 30),
        job(JobStatus.FAILED, 40, "forgotten"),
    ]
    view = view_of(known(), jobs, NOW)
    assert (view.failures, view.problem, view.activity) == (2, "newest", "refreshing")
    assert [point.status for point in view.recent] == [j.status.value for j in reversed(jobs)]
    assert view.recent[-1].duration_ms is None
    assert view_of(known(), jobs[1:], NOW).activity == "failing"


def test_a_suspended_table_promises_nothing():
    view = view_of(known(status=RefreshStatus.SUSPENDED, status_reason="why"), [], NOW)
    assert (view.promise, view.status_reason) == (Promise.NONE, "why")
    assert view.activity == "suspended"


@pytest.mark.parametrize(
    ("reads", "order"),
    [
        ({"a": ["b"], "b": ["c", "x"], "c": []}, ("c", "b", "a")),
        ({"a": ["B"], "b": []}, ("b", "a")),
        ({"a": ["a"]}, ("a",)),
        ({"a": ["b"], "b": ["a"]}, ("a", "b")),
        ({}, ()),
    ],
)
def test_upstream_first(reads, order):
    assert upstream_first(reads) == order


def told(done):
    return {table["name"].rsplit(".")[-1]: table for table in json.loads(done.stdout)["tables"]}


def test_status_without_a_manager(run, shop):
    shop.all()
    done = run("status", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["manager"] is None
    found = told(done)
    assert list(found) == ["best", "daily", "other"]
    assert {table["promise"] for table in found.values()} == {"KEPT"}
    assert found["best"]["reads"] == ["spark_catalog.default.daily"]
    assert "No manager found" in done.stderr


def test_lags_are_measured_where_a_table_may_be_behind(run, shop):
    shop.all()
    shop.wait(minutes=10)
    assert {t["promise"] for t in told(run("status", "--json")).values()} == {"KEPT"}
    shop.sell()
    shop.wait(minutes=5)
    found = told(run("status", "--json"))
    assert {name: table["promise"] for name, table in found.items()} == {
        "best": "KEPT",
        "daily": "BEHIND",
        "other": "BEHIND",
    }
    assert found["daily"]["lag_seconds"] == 300
    quick = told(run("status", "--quick", "--json"))
    assert quick["daily"]["promise"] == "UNKNOWN"
    assert quick["daily"]["lag_seconds"] == 900


def test_a_table_that_cannot_be_measured_says_why(run, shop):
    shop.all()
    shop.wait(hours=2)
    shop.tables.drop("orders")
    found = told(run("status", "daily", "--json"))
    assert list(found) == ["daily"]
    assert found["daily"]["promise"] == "UNKNOWN"
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
    assert list(told(run("status", *patterns, "--json"))) == names
