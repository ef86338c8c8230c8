"""Who gets what: every route under every rule, with every kind of credential."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.routing import Mount

from dbt.adapters.spark_mt.manager.http import app, pages
from dbt.adapters.spark_mt.manager.http.auth import HEALTH, AccessRules
from tests.unit.manager.http.client import (
    BEARER,
    DAILY,
    JSON,
    OWN_PAGE,
    TABLES,
    TOKEN,
    Client,
    problem,
)

FOREIGN = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}
SUSPEND = f"{TABLES}/{DAILY}/suspend"
SUSPEND_ROUTE = f"{TABLES}/{{name}}/suspend"
OPEN = AccessRules()
GUARDED = AccessRules(token=TOKEN)
READABLE = AccessRules(token=TOKEN, open_reads=True)
ELSEWHERE = AccessRules("10.0.0.7", TOKEN)
PROXIED = AccessRules(token=TOKEN, names=("tables.example.com",), open_reads=True)
READS = [TABLES, f"{TABLES}/{DAILY}", f"{TABLES}/{DAILY}/refreshes", "/v3/manager", "/v3/jobs/x"]
READS += ["/metrics", "/openapi.json", "/", "/tables/x", "/nothing", "/docs"]
CHANGES = [SUSPEND, f"{TABLES}/{DAILY}/resume", f"{TABLES}/refresh", f"{TABLES}/plan"]
CHANGES += ["/v3/manager/wake", "/actions/suspend", "/plan", "/logout", "/nothing"]


def refused(answer):
    return answer.status_code in {401, 403}


@pytest.mark.parametrize("rules", [GUARDED, ELSEWHERE, PROXIED])
def test_reading_needs_the_token(rules):
    client = Client(rules=rules)
    for path in READS:
        answer = client.get(path)
        assert (path, *problem(answer)) == (path, 401, "UNAUTHENTICATED")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        wrong = client.get(path, headers={"authorization": "Bearer wrong"})
        assert (path, *problem(wrong)) == (path, 401, "UNAUTHENTICATED")
    assert client.manager.requested == []
    assert [path for path in READS if refused(client.get(path, headers=BEARER))] == []
    client.sign_in()
    assert [path for path in READS if refused(client.get(path))] == []


@pytest.mark.parametrize("rules", [OPEN, READABLE], ids=["no token", "open reads"])
def test_reading_is_open_where_it_was_allowed(rules):
    client = Client(rules=rules)
    assert [path for path in READS if refused(client.get(path))] == []


@pytest.mark.parametrize("rules", [OPEN, GUARDED, READABLE, ELSEWHERE])
def test_health_is_open(rules):
    client = Client(rules=rules)
    assert [client.get(path).status_code for path in sorted(HEALTH)] == [200, 200]


@pytest.mark.parametrize("rules", [GUARDED, READABLE, ELSEWHERE])
def test_changing_needs_the_token(rules):
    client = Client(rules=rules)
    for path in CHANGES:
        for headers in ({}, OWN_PAGE, {"authorization": "Bearer wrong"}):
            answer = client.post(path, headers=headers)
            assert (path, *problem(answer)) == (path, 401, "UNAUTHENTICATED")
    assert client.manager.requested == []


def test_with_the_token_a_program_may_change():
    client = Client(rules=GUARDED)
    assert client.post(SUSPEND, headers=BEARER).status_code == 200


def test_without_a_token_browsers_change_nothing():
    client = Client(rules=OPEN)
    for path in CHANGES:
        for headers in (OWN_PAGE, FOREIGN):
            answer = client.post(path, headers=headers)
            assert (path, *problem(answer)) == (path, 403, "CROSS_SITE_REQUEST")
    assert client.manager.requested == []


def test_without_a_token_programs_of_this_machine_may_change():
    assert Client(rules=OPEN).post(SUSPEND).status_code == 200


def test_a_session_needs_its_csrf_token_too():
    client = Client(rules=GUARDED)
    client.sign_in()
    assert problem(client.post(SUSPEND, headers=OWN_PAGE)) == (403, "CROSS_SITE_REQUEST")
    csrf = client.access.csrf_token(_with_cookies(client))
    wrong = {**OWN_PAGE, "x-csrf-token": csrf[:-1] + ("0" if csrf[-1] != "0" else "1")}
    assert problem(client.post(SUSPEND, headers=wrong)) == (403, "CROSS_SITE_REQUEST")
    foreign = {**FOREIGN, "x-csrf-token": csrf}
    assert problem(client.post(SUSPEND, headers=foreign)) == (403, "CROSS_SITE_REQUEST")
    assert client.manager.requested == []
    right = {**OWN_PAGE, "x-csrf-token": csrf}
    assert client.post(SUSPEND, headers=right).status_code == 200


@pytest.mark.parametrize("rules", [GUARDED, ELSEWHERE])
def test_a_browser_is_redirected_to_sign_in(rules):
    client = Client(rules=rules)
    answer = client.get("/tables/x?tab=history", headers={"accept": "text/html,*/*"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=%2Ftables%2Fx%3Ftab%3Dhistory"
    assert client.get("/login").status_code == 200
    assert client.sign_in("wrong").status_code == 403
    assert client.sign_in().status_code == 303


def test_programs_are_not_sent_to_a_page():
    answer = Client(rules=GUARDED).get(TABLES, headers={"accept": "text/html"})
    assert problem(answer) == (401, "UNAUTHENTICATED")


def test_a_page_of_another_site_cannot_sign_in():
    client = Client(rules=GUARDED)
    answer = client.ask("POST", "/login", data={"token": TOKEN}, headers=FOREIGN)
    assert problem(answer) == (403, "CROSS_SITE_REQUEST")


@pytest.mark.parametrize("rules", [OPEN, GUARDED, READABLE])
def test_a_name_that_was_bound_to_this_machine_gets_nothing(rules):
    client = Client(rules=rules)
    for path in ("/livez", "/", TABLES, "/login", "/static/status.css"):
        answer = client.get(path, headers={**BEARER, "host": "evil.example"})
        assert problem(answer) == (421, "UNKNOWN_HOST")
        assert "evil.example" not in answer.text


def test_changes_are_asked_for_in_json():
    client = Client(rules=OPEN)
    forms = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
    for headers in ({}, *({"content-type": form} for form in forms)):
        answer = client.ask("POST", SUSPEND, content=b"{}", headers=headers)
        assert problem(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert client.manager.requested == []


def test_json_may_say_its_charset():
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert Client().ask("POST", SUSPEND, content=b"{}", headers=headers).status_code == 200


def test_every_route_checks_access():
    """Whatever a client adds: without the token nothing answers but health and signing in."""
    client = Client(rules=ELSEWHERE)
    described = app.document(client.app)["paths"]
    requested = {(method.upper(), path) for path, found in described.items() for method in found}
    more = [*client.app.routes, *pages.router(client.manager, client.access).routes]
    for route in more:
        methods = getattr(route, "methods", None) or ()
        requested |= {(method, route.path.replace(":path", "")) for method in methods}
        if isinstance(route, Mount):
            requested.add(("GET", f"{route.path}/{{path}}"))
    answers = {(method, path): client.ask(method, path, headers=JSON) for method, path in requested}
    let_in = {path for (_, path), answer in answers.items() if not refused(answer)}
    assert let_in == {*HEALTH, "/login", "/static/{path}"}
    assert {"/", "/metrics", "/openapi.json", "/tables/{name}", SUSPEND_ROUTE} <= {
        path for _, path in requested
    }
    assert client.manager.requested == []


def test_no_answer_names_the_token():
    client = Client(rules=GUARDED)
    client.sign_in()
    texts = [client.get(path, headers=BEARER).text for path in [*READS, "/login"]]
    texts += [client.post(path, {"x": 1}, headers=BEARER).text for path in CHANGES]
    assert [text for text in texts if TOKEN in text] == []


def test_answers_are_not_readable_by_other_sites():
    client = Client()
    for path in ("/livez", TABLES, "/metrics", "/v3/nothing"):
        headers = client.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "access-control-allow-origin" not in headers


def _with_cookies(client):
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    return Request({"type": "http", "headers": [(b"cookie", cookie.encode())]})
