from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.manager.http.pages import address_of, local_path
from dbt.adapters.spark_mt.manager.views import RefreshRequest
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.site import TOKEN, Page, Site
from tests.unit.manager.http.special_names import QUOTES, SCRIPT, tables_with_special_names
from tests.unit.manager.samples import full_name

WIDE = full_name("flights_wide")
SQL = "`spark_catalog`.`flights`.`flights_wide`"
VERBS = ("suspend", "resume", "refresh")


@pytest.fixture
def site():
    found = Site(FakeManager())
    found.sign_in()
    found.manager.requested.clear()
    return found


def changes(site):
    return [call for call in site.manager.requested if call[0] != "table"]


def buttons(page):
    return {form["action"] for form in page.attributes("form")} - {"/", "/logout", "/plan"}


def test_there_are_no_buttons_without_a_session():
    for site in (Site(FakeManager()), Site(FakeManager(), token=None)):
        page = site.get(address_of(WIDE))
        assert page.attributes("form") == []
        assert not page.attributes("input", name="csrf_token")


def test_buttons_fit_the_state(site):
    assert buttons(site.get(address_of(WIDE))) == {"/actions/refresh", "/actions/suspend"}
    suspended = site.get(address_of(full_name("carrier_scores")))
    assert buttons(suspended) == {"/actions/refresh", "/actions/resume"}
    assert buttons(site.get(address_of(full_name("weather_hourly")))) == set()


def test_suspend_resume_and_refresh(site):
    said = [Page(site.press(verb, WIDE).text).text for verb in VERBS]
    assert changes(site) == [
        ("suspend", SQL),
        ("resume", (SQL, ())),
        ("refresh", RefreshRequest(SQL)),
    ]
    assert "SUSPENDED flights.flights_wide: Its refresh has been suspended." in said[0]
    assert "RESUMED flights.flights_wide" in said[1]
    assert "job job-1" in said[2]


def test_a_refusal_is_shown_in_full(site):
    response = site.press("resume", WIDE)
    assert response.status_code == 409
    text = Page(response.text).text
    assert "has been resumed" in text
    assert "Back to flights.flights_wide" in text


def test_a_plan_changes_nothing_and_shows_everything(site):
    statement = f"CREATE OR ALTER MATERIALIZED TABLE {WIDE} AS SELECT dropped_column FROM t"
    data = {"csrf_token": site.csrf_token(), "statement": statement}
    text = Page(site.client.post("/plan", data=data).text).text
    assert "REFUSED" in text
    assert "The column x cannot be dropped." in text
    assert [name for name, _ in changes(site)] == ["plan"]


def test_a_text_that_is_no_statement_is_reported(site):
    data = {"csrf_token": site.csrf_token(), "statement": "DROP"}
    response = site.client.post("/plan", data=data)
    assert response.status_code == 409
    assert "[" in Page(response.text).text


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("csrf_token", ["", "0" * 64, "\u00e4"])
def test_a_form_without_the_right_csrf_token_does_nothing(site, verb, csrf_token):
    data = {"csrf_token": csrf_token, "table": WIDE}
    response = site.client.post(f"/actions/{verb}", data=data)
    assert response.status_code == 403
    assert changes(site) == []


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_form_of_another_site_does_nothing(site, headers):
    data = {"csrf_token": site.csrf_token(), "table": WIDE}
    response = site.client.post("/actions/suspend", data=data, headers=headers)
    assert response.status_code == 403
    assert changes(site) == []


def test_a_csrf_token_of_another_session_does_nothing(site):
    other = Site(site.manager)
    other.sign_in()
    response = site.press("suspend", WIDE, csrf_token=other.csrf_token())
    assert response.status_code == 403
    assert changes(site) == []


def test_the_bearer_token_of_programs_does_not_press_buttons():
    site = Site(FakeManager())
    headers = {"authorization": f"Bearer {TOKEN}"}
    response = site.client.post("/actions/suspend", data={"table": WIDE}, headers=headers)
    assert response.status_code == 403
    assert site.manager.requested == []


@pytest.mark.parametrize("address", ["/actions/suspend", "/plan", "/logout"])
def test_only_forms_are_read(site, address):
    assert site.client.post(address, json={"table": WIDE}).status_code == 415
    kind = {"content-type": "application/x-www-form-urlencoded"}
    for broken in (b"\xff\xfe", b"table=%ff", b"&".join(b"a=b" for _ in range(50))):
        assert site.client.post(address, content=broken, headers=kind).status_code == 400
    assert changes(site) == []


def test_there_are_no_other_buttons(site):
    assert site.press("drop", WIDE).status_code == 404
    assert site.client.get("/actions/suspend").status_code == 405
    assert changes(site) == []


@pytest.mark.parametrize("table", ["", "no.such.table", "a.b.c.d.e", "x; DROP TABLE y", SCRIPT])
def test_a_button_for_no_table_is_refused(site, table):
    response = site.press("suspend", table)
    assert response.status_code == 409
    page = Page(response.text)
    assert page.attributes("script") == [{"type": "module", "src": "/static/status.js"}]


def test_buttons_work_for_names_with_special_characters():
    site = Site(FakeManager(tables_with_special_names()))
    site.sign_in()
    for name in (full_name(SCRIPT), full_name(QUOTES)):
        assert site.press("suspend", name).status_code == 200
    assert [name for name, _ in changes(site)] == ["suspend", "suspend"]


def test_a_wrong_token_begins_no_session():
    site = Site(FakeManager())
    response = site.client.post("/login", data={"token": "wrong", "next": "/tables/x"})
    assert response.status_code == 403
    page = Page(response.text)
    assert "That is not the manager's token." in page.text
    assert "set-cookie" not in response.headers
    assert page.attributes("input", name="next")[0]["value"] == "/tables/x"
    assert "wrong" not in response.text


def test_signing_in_leads_to_the_page_that_was_asked_for():
    site = Site(FakeManager())
    response = site.client.post("/login", data={"token": TOKEN, "next": "/?q=a%20b"})
    assert response.headers["location"] == "/?q=a%20b"


def test_without_a_token_the_sign_in_page_says_that_there_is_none():
    page = Site(FakeManager(), token=None).get("/login")
    assert "started without a token" in page.text
    assert page.attributes("form") == []


def test_signing_out_takes_the_buttons_away(site):
    token = site.csrf_token()
    assert site.client.post("/logout", data={"csrf_token": token}).status_code == 303
    assert buttons(site.get(address_of(WIDE))) == set()


def test_another_site_cannot_sign_a_user_out(site):
    assert site.client.post("/logout", data={"csrf_token": "0"}).status_code == 303
    assert buttons(site.get(address_of(WIDE))) != set()


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ("/tables/x?a=b#c", "/tables/x?a=b#c"),
        ("/", "/"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nset-cookie: b", "/"),
        ("tables", "/"),
        ("///evil.example", "/"),
        ("/login[", "/login["),
        ("http://[", "/"),
    ],
)
def test_signing_in_redirects_to_no_other_site(wanted, path):
    assert local_path(wanted) == path
