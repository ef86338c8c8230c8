"""What each route answers, and what it asks of the manager."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.results import (
    Action,
    AdoptionTerms,
    RelayedStatement,
    result_of,
)
from dbt.adapters.spark_mt.manager.views import Health, RefreshRequest, StatementRequest
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.client import DAILY, DAILY_FULL, JSON, TABLES, Client, problem
from tests.unit.manager.samples import many_tables


def names(answer):
    return [table["name"].rpartition(".")[2] for table in answer.json()["tables"]]


def test_a_refresh_is_answered_at_submission():
    client = Client()
    answer = client.post(f"{TABLES}/refresh", {"materializedTable": DAILY})
    assert answer.status_code == 200
    assert answer.json() == {
        "jobID": "job-1",
        "clusterInfo": {"host": "node-1", "master": "local[2]"},
    }
    assert client.get("/v3/jobs/job-1").json()["status"] == "RUNNING"
    client.manager.finish("job-1", JobStatus.FAILED, "no space left")
    job = client.get("/v3/jobs/job-1").json()
    assert (job["status"], job["error"], job["table"]) == ("FAILED", "no space left", DAILY_FULL)
    assert job["owner"] == "ana, process 4711 on node-1"


def test_every_field_of_a_refresh_reaches_the_manager():
    client = Client()
    client.post(
        f"{TABLES}/refresh",
        {
            "materializedTable": "`flights`.daily_report",
            "isPeriodic": True,
            "scheduleTime": "21.11.2026",
            "scheduleTimeFormat": "dd.MM.yyyy",
            "config": {"maxFilesPerTrigger": "5"},
        },
    )
    request = RefreshRequest(
        "`flights`.daily_report",
        is_periodic=True,
        schedule_time="21.11.2026",
        schedule_time_format="dd.MM.yyyy",
        run_options=(("maxFilesPerTrigger", "5"),),
    )
    assert client.manager.requested == [("refresh", request)]


def test_omitted_options_of_a_refresh_have_defaults():
    client = Client()
    client.post(f"{TABLES}/refresh", {"materializedTable": DAILY, "scheduleTimeFormat": None})
    assert client.manager.requested == [("refresh", RefreshRequest(DAILY))]


@pytest.mark.parametrize("time", [{}, {"scheduleTime": None}, {"scheduleTime": " "}])
def test_a_periodic_refresh_needs_its_time(time):
    client = Client()
    body = {"materializedTable": DAILY, "isPeriodic": True, **time}
    answer = client.post(f"{TABLES}/refresh", body)
    assert problem(answer) == (400, "SCHEDULE_TIME_MISSING")
    assert answer.json()["detail"] == (
        "The scheduler time must not be null during the periodic refresh of the materialized "
        "table flights.daily_report."
    )
    assert client.manager.requested == []


def test_every_table_is_listed():
    answer = Client().get(TABLES).json()
    assert (len(answer["tables"]), answer["total"], answer["next"]) == (9, 9, None)
    table = next(t for t in answer["tables"] if t["name"] == DAILY_FULL)
    assert table["schedule"]["cron"] == "0 0 * * *"
    assert (table["freshness_status"], table["refresh_mode"]) == ("MET", "FULL")
    assert table["recent"][-1]["status"] == "FINISHED"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("contains=DAILY", ["daily_report"]),
        ("status=SUSPENDED", ["carrier_scores", "delays_by_plane"]),
        ("refresh_mode=FULL", ["busiest_hours", "daily_report"]),
        ("freshness_status=LATE", ["busiest_hours", "hourly_departures"]),
        ("failing=true", ["busiest_hours"]),
        ("failing=false&refresh_mode=FULL", ["daily_report"]),
        ("contains=nothing", []),
    ],
)
def test_filters(query, found):
    answer = Client().get(f"{TABLES}?{query}")
    assert names(answer) == found
    assert answer.json()["total"] == len(found)


def test_pages_follow_each_other():
    client = Client(FakeManager(many_tables(25)))
    seen, after = [], ""
    while after is not None:
        answer = client.get(TABLES, params={"limit": 10, "after": after})
        assert answer.json()["total"] == 25
        seen += names(answer)
        after = answer.json()["next"]
    assert seen == names(client.get(TABLES))
    assert len(seen) == 25


def test_a_last_page_that_is_full_is_the_last():
    assert Client().get(f"{TABLES}?limit=9").json()["next"] is None


def test_a_list_without_its_charts():
    client = Client()
    assert all(t["recent"] == [] for t in client.get(f"{TABLES}?recent=0").json()["tables"])
    (table,) = client.get(f"{TABLES}?recent=2&contains=busiest").json()["tables"]
    whole = client.get(f"{TABLES}?contains=busiest").json()["tables"][0]
    assert table["recent"] == whole["recent"][-2:]


def test_a_table_is_described():
    answer = Client().get(f"{TABLES}/{DAILY}").json()
    assert answer["view"]["name"] == DAILY_FULL
    assert answer["columns"][0] == {
        "name": "carrier",
        "type": "string",
        "comment": "The airline's two-letter code.",
    }
    assert answer["description"][0] == {"label": "Status", "text": "ACTIVATED"}
    assert answer["positions"][0]["newest"] == "version 42"
    assert answer["statement"].startswith("CREATE MATERIALIZED TABLE flights.daily_report")
    assert len(answer["history"]) == 14


def test_names_may_be_quoted():
    answer = Client().get(f"{TABLES}/%60flights%60.%60daily_report%60")
    assert answer.json()["view"]["name"] == DAILY_FULL


def test_a_history_has_the_newest_first():
    client = Client()
    refreshes = client.get(f"{TABLES}/flights.busiest_hours/refreshes?limit=5").json()["refreshes"]
    assert [r["status"] for r in refreshes] == ["FAILED"] * 4 + ["FINISHED"]
    assert refreshes[0]["started_at_ms"] > refreshes[1]["started_at_ms"]
    assert client.manager.requested == [("history", ("flights.busiest_hours", 5))]


def test_a_plan_changes_nothing():
    client = Client()
    statement = f"ALTER MATERIALIZED TABLE {DAILY} SET FRESHNESS = INTERVAL '3' MINUTE"
    answer = client.post(f"{TABLES}/plan", {"statement": statement}).json()
    assert (answer["table"], answer["action"]) == (DAILY_FULL, "ALTERED")
    assert client.manager.requested == [("plan", statement)]


def test_a_plan_that_would_be_refused_is_an_answer():
    statement = f"ALTER MATERIALIZED TABLE {DAILY} AS SELECT 1 AS dropped_column"
    answer = Client().post(f"{TABLES}/plan", {"statement": statement})
    assert answer.status_code == 200
    assert answer.json()["violations"] == ["The column x cannot be dropped."]


def test_a_text_that_is_no_statement():
    answer = Client().post(f"{TABLES}/plan", {"statement": "SELECT 1"})
    assert problem(answer) == (400, "SYNTAX_ERROR")


def test_a_statement_is_carried_out_where_its_names_belong():
    client = Client()
    requested = {
        "statement": "CREATE MATERIALIZED TABLE t AS SELECT 1 AS n",
        "currentSchema": "shop",
        "owner": {"dbt": "model.shop.t"},
    }
    answer = client.post(f"{TABLES}/execute", requested)
    result = result_of(answer.json())
    assert result.outcome.table == "spark_catalog.shop.t"
    assert result.outcome.action is Action.CREATED
    assert result.rows == (("CREATE", ["created"]),)
    ((_, request),) = client.manager.requested
    assert request.owner == (("dbt", "model.shop.t"),)


def test_every_field_of_a_statement_reaches_the_manager():
    client = Client()
    text = "CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 1 AS n"
    requested = {
        "statement": text,
        "requestID": "r1",
        "sessionID": "s1",
        "refreshPolicy": "never",
        "adopting": True,
        "ifEqual": True,
        "asOf": "2026-11-21T00:00:00+00:00",
    }
    client.post(f"{TABLES}/execute", requested)
    as_of = datetime(2026, 11, 21, tzinfo=timezone.utc)
    statement = RelayedStatement(text, "never", AdoptionTerms(as_of, if_equal=True))
    request = StatementRequest(statement, "r1", session="s1")
    assert client.manager.requested == [("execute", request)]


def test_terms_without_an_adoption_have_no_effect():
    client = Client()
    text = "CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 1 AS n"
    requested = {"statement": text, "requestID": "r1", "refreshPolicy": "auto", "ifEqual": True}
    client.post(f"{TABLES}/execute", requested)
    ((_, request),) = client.manager.requested
    assert request.statement == RelayedStatement(text, "auto")


def test_a_statement_of_a_request_is_interrupted():
    client = Client()
    assert client.post("/v3/statements/r1/interrupt").status_code == 204
    assert client.manager.requested == [("interrupt", "r1")]


def test_the_names_of_a_schema():
    client = Client()
    found = client.get("/v3/schemas/flights/materialized-tables").json()["names"]
    assert found == sorted(names(client.get(TABLES)))
    assert client.manager.requested == [("names", ("flights", ""))]
    assert client.get("/v3/schemas/nothing/materialized-tables?catalog=c").json() == {"names": []}


def test_a_manager_carries_out_nothing_else():
    answer = Client().post(f"{TABLES}/execute", {"statement": "DROP MATERIALIZED TABLE t"})
    assert problem(answer) == (422, "NOT_EXECUTABLE")


def test_suspending_and_resuming():
    client = Client()
    assert client.post(f"{TABLES}/{DAILY}/suspend").json()["action"] == "SUSPENDED"
    assert problem(client.post(f"{TABLES}/{DAILY}/suspend")) == (409, "ALREADY_SUSPENDED")
    answer = client.post(f"{TABLES}/{DAILY}/resume", {"config": {"a": "b"}})
    assert answer.json()["action"] == "RESUMED"
    assert client.manager.requested[-1] == ("resume", (DAILY, (("a", "b"),)))
    assert problem(client.post(f"{TABLES}/{DAILY}/resume")) == (409, "ALREADY_RESUMED")


@pytest.mark.parametrize("verb", ["suspend", "resume"])
def test_a_change_needs_no_body(verb):
    answer = Client().ask("POST", f"{TABLES}/flights.carrier_scores/{verb}", headers=JSON)
    assert answer.status_code in {200, 409}
    assert "UNSUPPORTED" not in answer.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{TABLES}/flights.nothing"),
        ("GET", f"{TABLES}/flights.nothing/refreshes"),
        ("POST", f"{TABLES}/flights.nothing/suspend"),
        ("POST", f"{TABLES}/flights.nothing/resume"),
    ],
)
def test_a_table_that_does_not_exist(method, path):
    answer = Client().ask(method, path, headers=JSON)
    assert problem(answer) == (404, "NOT_FOUND")
    assert answer.json()["parameters"] == {"table": "spark_catalog.flights.nothing"}


@pytest.mark.parametrize("name", ["two%20words", "a.b.c.d", "a;%20b", "%60open"])
def test_a_name_that_is_none(name):
    answer = Client().get(f"{TABLES}/{name}")
    assert problem(answer)[0] == 400


def test_a_job_that_does_not_exist():
    answer = Client().get("/v3/jobs/nothing")
    assert problem(answer) == (404, "JOB_NOT_FOUND")
    assert answer.json()["parameters"] == {"job_id": "nothing", "catalog": "spark_catalog"}


def test_a_table_that_is_being_created_cannot_be_refreshed():
    answer = Client().post(f"{TABLES}/refresh", {"materializedTable": "flights.weather_hourly"})
    assert problem(answer) == (409, "INITIALIZING")


def test_the_manager_reports_its_own_state():
    answer = Client().get("/v3/manager").json()
    assert (answer["role"], answer["term"], answer["pid"]) == ("ACTIVE", 7, 4711)


def test_the_manager_can_be_woken():
    client = Client()
    assert client.post("/v3/manager/wake").status_code == 204
    assert client.manager.requested == [("wake", None)]


@pytest.mark.parametrize(
    ("health", "livez", "readyz"),
    [
        (Health(is_alive=True, is_ready=True), 200, 200),
        (Health(is_alive=True, is_ready=False, problems=("Not looked yet.",)), 200, 503),
        (Health(is_alive=False, is_ready=True, problems=("Stuck.",)), 503, 503),
    ],
)
def test_health(health, livez, readyz):
    client = Client()
    client.manager.become(health)
    assert client.get("/livez").status_code == livez
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["problems"]) == (readyz, list(health.problems))


def test_wrong_rows_are_among_the_details_of_readiness():
    client = Client()
    client.manager.become(Health(is_alive=True, is_ready=True, findings=("Rows of t differ.",)))
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["problems"]) == (200, ["Rows of t differ."])
    assert client.get("/livez").json()["problems"] == []


def test_the_status_page_is_there():
    answer = Client().get("/")
    assert answer.status_code == 200
    assert "daily_report" in answer.text
    assert "https://" not in answer.headers["content-security-policy"]
