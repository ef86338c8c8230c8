"""A refresh as released Flink's SQL Gateway is asked for it."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.manager.views import RefreshRequest
from tests.unit.manager.http.client import DAILY, TABLES, Client, problem

ROUTE = f"{TABLES}/{DAILY}/refresh"
SCHEDULED = {
    "isPeriodic": True,
    "scheduleTime": "2026-11-21 00:00:00",
    "dynamicOptions": {},
    "staticPartitions": {},
    "executionConfig": {},
    "periodic": True,
}
"""As Flink's embedded scheduler sends it; Jackson writes the getter `periodic`, too."""
ONE_TIME = {
    "isPeriodic": False,
    "dynamicOptions": {"maxFilesPerTrigger": "5"},
    "staticPartitions": {"ds": "2026-11-21"},
    "executionConfig": {"spark.sql.shuffle.partitions": "8"},
    "periodic": False,
}
"""As Flink's client sends it: NON_NULL leaves a missing scheduleTime out."""


def requested(body, route=ROUTE):
    """What the manager is asked for."""
    client = Client()
    answer = client.post(route, body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["jobID"] == "job-1"
    ((kind, request),) = client.manager.requested
    assert kind == "refresh"
    return request


def test_a_request_of_a_schedule():
    time = "2026-11-21 00:00:00"
    assert requested(SCHEDULED) == RefreshRequest(DAILY, is_periodic=True, schedule_time=time)


def test_a_request_for_a_partition():
    assert requested(ONE_TIME) == RefreshRequest(
        DAILY,
        run_options=(("maxFilesPerTrigger", "5"), ("spark.sql.shuffle.partitions", "8")),
        partition=(("ds", "2026-11-21"),),
    )


def test_both_bodies_are_the_same_request():
    draft = {
        "materializedTable": DAILY,
        "isPeriodic": True,
        "scheduleTime": "2026-11-21 00:00:00",
        "scheduleTimeFormat": "yyyy-MM-dd HH:mm:ss",
        "config": {},
    }
    assert requested(draft, f"{TABLES}/refresh") == requested(SCHEDULED)


def test_as_in_flink_a_schedule_names_no_partition():
    assert requested({**SCHEDULED, "staticPartitions": {"ds": "x"}}) == requested(SCHEDULED)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {
            "scheduleTime": None,
            "staticPartitions": None,
            "dynamicOptions": None,
            "executionConfig": None,
        },
    ],
)
def test_omitted_parameters_have_defaults(body):
    assert requested(body) == RefreshRequest(DAILY)


def test_a_name_in_backticks():
    request = requested(
        {}, f"{TABLES}/%60spark_catalog%60.%60flights%60.%60daily_report%60/refresh"
    )
    assert request.table == "`spark_catalog`.`flights`.`daily_report`"


@pytest.mark.parametrize("time", [{}, {"scheduleTime": None}, {"scheduleTime": " "}])
def test_a_periodic_refresh_needs_its_time(time):
    client = Client()
    assert problem(client.post(ROUTE, {"isPeriodic": True, **time})) == (
        400,
        "SCHEDULE_TIME_MISSING",
    )
    assert client.manager.requested == []


@pytest.mark.parametrize(
    "body",
    [
        {"isPeriodic": True, "periodic": False, "scheduleTime": "2026-11-21 00:00:00"},
        {"periodic": True, "scheduleTime": "2026-11-21 00:00:00"},
        {"staticPartitions": ["ds"]},
        {"materializedTable": DAILY},
        {"config": {}},
    ],
)
def test_contradicting_and_unknown_parameters_are_refused(body):
    client = Client()
    answer = client.post(ROUTE, body)
    assert answer.status_code == 400
    assert answer.json()["violations"]
    assert client.manager.requested == []
