"""Every way in which a request fails is a problem document that says what to do."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.manager.http.errors import STATUSES, status_of, title_of
from tests.unit.manager.http.client import DAILY, JSON, TABLES, Client, problem
from tools.error_catalogue import documented

REFRESH = f"{TABLES}/refresh"


def violations(answer):
    assert problem(answer) == (400, "INVALID_REQUEST")
    return answer.json()["violations"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"materialisedTable": DAILY},
            [
                "The key 'materializedTable' is missing.",
                "The key 'materialisedTable' is not known. Did you mean 'materializedTable'?",
            ],
        ),
        (
            {"materializedTable": DAILY, "isPeriodic": "yes", "config": {"a": 1}},
            [
                "The key 'isPeriodic': input should be a valid boolean.",
                "The key 'config.a': input should be a valid string.",
            ],
        ),
        (
            {"materializedTable": DAILY, "x": 1},
            ["The key 'x' is not known. There are materializedTable, isPeriodic, scheduleTime, "],
        ),
        ({"materializedTable": ""}, ["The key 'materializedTable': string should have at least"]),
        ([], ["The body: input should be a valid dictionary"]),
    ],
)
def test_everything_wrong_with_a_body_is_named_at_once(body, expected):
    client = Client()
    found = violations(client.post(REFRESH, body))
    assert len(found) == len(expected)
    assert all(f.startswith(e) for f, e in zip(found, expected, strict=True))
    assert client.manager.requested == []


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"null"])
def test_a_body_that_is_no_json(body):
    assert len(violations(Client().ask("POST", REFRESH, content=body, headers=JSON))) == 1


@pytest.mark.parametrize("path", [f"{TABLES}/{DAILY}/suspend", "/v3/manager/wake"])
def test_a_body_where_none_is_needed_has_no_keys_either(path):
    client = Client()
    assert "is not known" in violations(client.post(path, {"reason": "x"}))[0]
    assert client.manager.requested == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limits=1", "The parameter 'limits' is not known. Did you mean 'limit'?"),
        ("limit=0", "The parameter 'limit': input should be greater than or equal to 1."),
        ("status=GONE", "The parameter 'status': input should be 'INITIALIZING', 'ACTIVATED' or "),
        (
            "freshness_status=x",
            "The parameter 'freshness_status': input should be 'MET', 'LATE', 'UNKNOWN' or ",
        ),
    ],
)
def test_a_query_is_checked(query, expected):
    (found,) = violations(Client().get(f"{TABLES}?{query}"))
    assert found.startswith(expected)


def test_an_unknown_path_is_not_found():
    answer = Client().get("/v3/nothing")
    assert problem(answer) == (404, "NO_SUCH_ROUTE")
    assert answer.json()["parameters"] == {"path": "/v3/nothing"}


def test_a_method_that_a_path_does_not_take():
    answer = Client().ask("DELETE", f"{TABLES}/{DAILY}", headers=JSON)
    assert problem(answer) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET"


def test_unexpected_errors_show_no_stack():
    client = Client()

    def fail(_: str) -> None:
        raise FileNotFoundError(2, "No such file", "/home/ana/secret.txt")

    client.manager.before = fail
    with capture_logs() as logged:
        answer = client.get(f"{TABLES}/{DAILY}?password=hidden")
    assert problem(answer) == (500, "INTERNAL_ERROR")
    assert "secret" not in answer.text
    assert "FileNotFoundError" not in answer.text
    failed, recorded = logged
    assert (failed["event"], failed["log_level"], failed["exc_info"]) == (
        "request failed",
        "error",
        True,
    )
    assert failed["request_id"] == recorded["request_id"] == answer.headers["x-request-id"]
    assert "hidden" not in str(logged)


def test_an_error_on_the_event_loop_is_answered(monkeypatch):
    client = Client()
    monkeypatch.setattr(client.manager, "_health", None)
    with capture_logs() as logged:
        assert problem(client.get("/livez")) == (500, "INTERNAL_ERROR")
    assert [event["event"] for event in logged] == ["request failed", "request"]


def test_an_error_of_the_manager_is_passed_on_whole():
    client = Client()

    def conflict(_: str) -> None:
        raise conditions.CONCURRENT_CHANGE(table="a.b", violations=["one", "two"])

    client.manager.before = conflict
    answer = client.post(f"{TABLES}/{DAILY}/suspend")
    assert problem(answer) == (409, "CONCURRENT_CHANGE")
    assert answer.json()["violations"] == ["one", "two"]
    assert answer.json()["title"].startswith("Another commit came first")


def test_classes_without_a_status_have_that_of_their_kind():
    place = {"statement": "s", "line": 1, "column": 1, "excerpt": ""}
    assert status_of(conditions.INVALID_FRESHNESS_IN_STATEMENT(value=0, **place)) == 400
    assert status_of(conditions.INVALID_FRESHNESS(value=0)) == 400
    assert (
        status_of(conditions.DROPPED_COLUMN(table="t", oldCount=2, newCount=1, dropped="a")) == 422
    )
    assert status_of(conditions.REFRESH_FAILED(table="t", problem="p")) == 500
    assert all(400 <= status < 600 for status in STATUSES.values())


def test_titles_are_sentences_without_their_end_and_without_references():
    titles = [title_of(each.condition) for each in documented()]
    assert [t for t in titles if not t or t.endswith(".") or "seed" in t or "of Flink" in t] == []
