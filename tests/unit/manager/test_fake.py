"""The manager in memory does what the protocol requires; pages and routes are tested against it."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    SuspendedError,
    TableNotFoundError,
)
from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.manager.views import RefreshRequest
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.samples import many_tables

TABLE = "flights.daily_report"


def view(manager: FakeManager):
    return manager.table(TABLE).view


def test_the_sample_has_every_state():
    views = FakeManager().tables()
    assert {v.status for v in views} == {"INITIALIZING", "ACTIVATED", "SUSPENDED"}
    assert {v.freshness_status for v in views} == set(FreshnessStatus)
    assert {v.engine for v in views} == {"stream", "incremental", "batch"}
    assert [v.name for v in views] == sorted(v.name for v in views)
    assert all(v.recent[0].started_at_ms <= v.recent[-1].started_at_ms for v in views if v.recent)


def test_there_can_be_many_tables():
    assert len(FakeManager(many_tables(1_000)).tables()) == 1_000


def test_a_refresh_runs_until_it_is_ended():
    manager = FakeManager()
    submitted = manager.refresh(RefreshRequest("`flights`.daily_report"))
    assert manager.job(submitted.job_id).status is JobStatus.RUNNING
    assert (view(manager).activity, view(manager).recent[-1].status) == ("refreshing", "RUNNING")
    manager.finish(submitted.job_id, JobStatus.FAILED, "no space left")
    assert manager.history(TABLE, 1)[0].error == "no space left"
    assert view(manager).problem == "no space left"


def test_suspending_and_resuming():
    manager = FakeManager()
    manager.suspend(TABLE)
    assert view(manager).status == "SUSPENDED"
    with pytest.raises(AlreadySuspendedError):
        manager.suspend(TABLE)
    with pytest.raises(SuspendedError):
        manager.refresh(RefreshRequest(TABLE, is_periodic=True, schedule_time="x"))
    manager.resume(TABLE)
    assert view(manager).status == "ACTIVATED"
    with pytest.raises(AlreadyResumedError):
        manager.resume(TABLE)


def test_an_unknown_table():
    with pytest.raises(TableNotFoundError):
        FakeManager().table("flights.nothing")


def test_a_dropped_table_is_gone():
    manager = FakeManager()
    manager.drop(TABLE)
    with pytest.raises(TableNotFoundError):
        manager.history(TABLE)


def test_plans():
    manager = FakeManager()
    assert manager.plan(f"ALTER MATERIALIZED TABLE {TABLE} SUSPEND").action == "ALTERED"
    refused = manager.plan(f"ALTER MATERIALIZED TABLE {TABLE} AS SELECT 1 AS dropped_column")
    assert (refused.action, len(refused.violations)) == ("REFUSED", 1)


def test_counters_are_those_of_the_histories():
    manager = FakeManager()
    totals = {t.table: t for t in manager.totals()}["spark_catalog.flights.busiest_hours"]
    assert dict(totals.by_status) == {"FINISHED": 14, "SKIPPED": 2, "FAILED": 4, "CANCELED": 0}
