"""Requests over HTTP to a manager of real tables: wrong ones are refused with a reason."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import httpx
import pytest
import schemathesis
from hypothesis import settings

from dbt.adapters.spark_mt.manager.http.app import HttpServer, create_app, document
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.client import BEARER, TABLES, TOKEN, problem

FULL = (
    "CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL "
    "AS SELECT id, v FROM orders"
)
RULES = Access(AccessRules(token=TOKEN))
schema_document = schemathesis.openapi.from_dict(document(create_app(FakeManager(), RULES)))


@pytest.fixture(scope="module")
def url(manager):
    """Where the manager answers."""
    server = HttpServer(create_app(manager, RULES), "127.0.0.1", 0)
    server.start()
    yield server.url
    server.stop(5)


@pytest.fixture
def http(url):
    with httpx.Client(base_url=url, headers=BEARER, timeout=120) as client:
        yield client


@schema_document.parametrize()
@settings(max_examples=2, derandomize=True, deadline=None, database=None)
def test_no_generated_request_is_an_error_of_the_manager(case, url):
    answer = case.call(base_url=url, headers=BEARER)
    assert answer.status_code < 500, answer.text


@pytest.mark.usefixtures("shop")
def test_names_that_spark_does_not_know_are_refused_as_such(http):
    lists = "/v3/schemas/nothing/materialized-tables"
    assert http.get(lists).json() == {"names": []}
    assert http.get(lists, params={"catalog": "nothing"}).json() == {"names": []}
    for name in ("nothing", "nothing.t", "nothing.s.t", "`a b`.`c`.t"):
        path = f"{TABLES}/{quote(name)}"
        for answer in (
            http.get(path),
            http.get(f"{path}/refreshes"),
            http.post(f"{path}/refresh", json={}),
            http.post(f"{path}/suspend", json={}),
            http.post(f"{path}/resume", json={}),
            http.post(f"{TABLES}/refresh", json={"materializedTable": name}),
        ):
            status, _ = problem(answer)
            assert status == 404, answer.text
            assert "DROP" not in answer.json()["remedy"]
    body = {"statement": "ALTER MATERIALIZED TABLE t SUSPEND"}
    for where in ({"currentSchema": "nothing"}, {"currentCatalog": "nothing"}):
        answer = http.post(f"{TABLES}/execute", json={**body, **where})
        assert problem(answer) == (404, "UNKNOWN_NAME")


def test_two_requests_of_one_id_are_one_statement_and_one_refusal(http, shop):
    shop.execute(FULL)
    body = {
        "statement": f"ALTER MATERIALIZED TABLE {shop.schema}.t REFRESH",
        "requestID": "twice",
    }
    with ThreadPoolExecutor(6) as clients:
        answers = list(clients.map(lambda _: http.post(f"{TABLES}/execute", json=body), range(6)))
    assert {a.status_code for a in answers} <= {200, 409}
    assert any(a.status_code == 200 for a in answers)
    refused = (problem(a)[1] for a in answers if a.status_code == 409)
    assert set(refused) <= {"REQUEST_IN_PROGRESS"}
    assert http.post(f"{TABLES}/execute", json=body).status_code == 200, "it is over"


def test_schemas_and_tables_are_found_in_any_case(http, shop):
    shop.execute(FULL)
    name = f"{shop.schema}.t".upper()
    shop.manager.wake()
    for schema in (shop.schema, shop.schema.upper()):
        found = http.get(f"/v3/schemas/{schema}/materialized-tables").json()
        assert found == {"names": ["t"]}
    assert http.get(f"{TABLES}/{name}").json()["view"]["name"].endswith(f"{shop.schema}.t")
    job = http.post(f"{TABLES}/{name}/refresh", json={}).json()["jobID"]
    assert http.get(f"/v3/jobs/{job}").status_code == 200
