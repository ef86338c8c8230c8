from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.execution import jobs

OWNER = Owner("here", 7)
OTHER = Owner("here", 8)


def job(kind=JobKind.MANUAL, status=JobStatus.RUNNING, request=""):
    name = TableName("t", "s", "c")
    return Job("1", name, kind, status, 0, 0, OWNER, "REFRESH", request=request)


def environment(now_ms, lease=None, gone=()):
    return SimpleNamespace(
        now_ms=lambda: now_ms,
        managers=SimpleNamespace(live=lambda _: lease),
        execution_context=SimpleNamespace(
            processes=SimpleNamespace(is_gone=lambda owner: owner in gone)
        ),
    )


LEASE, FOREIGN = SimpleNamespace(owner=OWNER), SimpleNamespace(owner=OTHER)
REQUESTED = job(request="{}")


@pytest.mark.parametrize(
    ("recorded", "now_ms", "lease", "gone", "status"),
    [
        (job(), jobs.SILENCE_MS, None, (), JobStatus.RUNNING),
        (job(), jobs.SILENCE_MS + 1, None, (), JobStatus.FAILED),
        (job(), jobs.SILENCE_MS + 1, LEASE, (), JobStatus.RUNNING),
        (job(), jobs.SILENCE_MS + 1, FOREIGN, (), JobStatus.FAILED),
        (job(), 0, LEASE, (OWNER,), JobStatus.FAILED),
        (job(JobKind.CONTINUOUS), jobs.HOST_SILENCE_MS, None, (), JobStatus.RUNNING),
        (job(JobKind.CONTINUOUS), jobs.HOST_SILENCE_MS + 1, None, (), JobStatus.FAILED),
        (REQUESTED, jobs.WAITING_MS, None, (OWNER,), JobStatus.RUNNING),
        (REQUESTED, jobs.WAITING_MS + 1, None, (), JobStatus.CANCELED),
        (REQUESTED, jobs.WAITING_MS + 1, FOREIGN, (), JobStatus.RUNNING),
        (job(status=JobStatus.SKIPPED), jobs.KEPT_MS, None, (OWNER,), JobStatus.SKIPPED),
    ],
)
def test_a_running_row_counts_only_with_a_heartbeat_or_a_lease(
    recorded, now_ms, lease, gone, status
):
    now = jobs.with_effective_status(recorded, environment(now_ms, lease, gone))
    assert now.status is status
    if status is not JobStatus.RUNNING and recorded.status is JobStatus.RUNNING:
        assert now.error
        assert now.ended_at_ms == recorded.last_heartbeat_ms
