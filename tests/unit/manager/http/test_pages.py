from __future__ import annotations

import json
import re

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.manager.http.pages import address_of
from dbt.adapters.spark_mt.manager.views import Health, Role, VerificationView
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.site import TOKEN, Site
from tests.unit.manager.http.special_names import (
    LONG,
    LOOP,
    QUOTES,
    SCRIPT,
    tables_with_special_names,
)
from tests.unit.manager.samples import (
    CATALOG,
    DAY,
    MINUTE,
    NOW_MS,
    SECOND,
    full_name,
    many_tables,
    sample_tables,
)

NAMES = [details.view.name for details in sample_tables()]
SPECIAL = [details.view.name for details in tables_with_special_names()]


@pytest.fixture
def site():
    return Site(FakeManager())


@pytest.fixture
def special():
    return Site(FakeManager(tables_with_special_names()))


def test_the_list_shows_every_table(site):
    page = site.get("/")
    assert "3 tables need attention: 2 late, 1 failing, 2 suspended" in page.text
    assert "4 of 9 meet their freshness" in page.text
    for name in NAMES:
        assert page.attributes("a", href=f"/tables/{name}"), name


def test_a_row_shows_the_main_figures(site):
    text = site.get("/?q=busiest").text
    for part in (
        "▲ late 2 h 44 min of 40 min 5 s",
        "✕ failing \u00d74",
        "activated",
        "batch, recompute",
        "REFRESH_MODE = FULL was asked for.",
        "Last 20 refreshes: 14 finished, 2 had nothing to do, 4 failed",
        "in 3 min every 40 minutes",
        "since 12:49 UTC",
        "cannot be cast",
        "It also reads what needs attention: flights.hourly_departures.",
        "To do Remove the cause",
    ):
        assert part in text, part


def test_every_colour_has_a_text(site):
    text = site.get("/").text
    for words in ("✓ on time", "▲ late", "✕ failing", "? unknown", "‖ suspended"):
        assert words in text


def test_a_healthy_catalog_is_shown_as_healthy():
    site = Site(FakeManager(sample_tables()[:2]))
    page = site.get("/")
    assert "Nothing needs attention. 2 of 2 tables meet their freshness." in page.text
    assert "(" not in re.search(r"<title>(.*)</title>", page.html)[1]


def test_the_title_counts_what_needs_attention(site):
    assert "<title>(3) Materialized tables</title>" in site.get("/").html


def test_an_empty_catalog_says_how_to_make_a_table():
    page = Site(FakeManager(())).get("/")
    assert "There is no materialized table in spark_catalog yet." in page.text
    assert not page.attributes("table")


def test_a_search_without_result_leads_back(site):
    page = site.get("/?q=nosuch")
    assert "No table matches “nosuch”." in page.text
    assert page.attributes("input", id="q")[0]["value"] == "nosuch"


def test_the_list_of_many_tables_comes_in_pages():
    site = Site(FakeManager(many_tables(1_000)))
    first = site.get("/")
    assert "1\u201350 of 1,000" in first.text
    assert first.attributes("a", href="/?page=2")
    assert len(first.html) < 250_000
    last = site.get("/?page=20")
    assert "951\u20131,000 of 1,000" in last.text


def test_the_selection_stays_in_every_link_of_the_list():
    site = Site(FakeManager(many_tables(1_000)))
    page = site.get("/?q=report&state=met&sort=rows")
    links = [a["href"] for a in page.attributes("a") if a["href"].startswith("/?")]
    assert all("q=report" in link for link in links)
    assert "/?q=report&state=met&sort=rows&page=2" in links
    assert "/?q=report&state=met&sort=rows&way=back" in links
    hidden = {i["name"]: i["value"] for i in page.attributes("input", type="hidden")}
    assert hidden == {"state": "met", "sort": "rows"}


def test_columns_say_how_they_are_sorted(site):
    assert site.get("/?sort=rows").attributes("th", **{"aria-sort": "descending"})
    assert site.get("/?sort=rows&way=back").attributes("th", **{"aria-sort": "ascending"})
    assert len(site.get("/").attributes("th", **{"aria-sort": "ascending"})) == 1


def test_the_lineage_says_who_reads_what(site):
    nodes = {li["data-node"]: li for li in site.get("/").attributes("li") if "data-node" in li}
    assert set(NAMES) < nodes.keys()
    wide = nodes[full_name("flights_wide")]
    assert json.loads(wide["data-reads"]) == [
        full_name(source) for source in ("airlines", "flights", "planes", "weather")
    ]
    assert wide["data-kind"] == "met"
    assert nodes[full_name("busiest_hours")]["data-kind"] == "failing"
    assert nodes[full_name("delays_by_plane")]["data-kind"] == "late"
    assert nodes[full_name("planes")]["data-kind"] == "source"
    assert nodes[full_name("planes")]["data-address"] == ""


@pytest.mark.parametrize("name", NAMES)
def test_every_table_has_a_page(site, name):
    page = site.get(address_of(name))
    assert name.removeprefix(f"{CATALOG}.") in page.text
    assert "CREATE MATERIALIZED TABLE" in page.text
    for heading in ("Now", "Sources", "Lineage", "Refreshes", "Definition"):
        assert heading in page.text


def test_the_page_of_a_table_shows_everything(site):
    text = site.get(address_of(full_name("busiest_hours"))).text
    for part in (
        "INTERVAL '40' MINUTE",
        "every 40 minutes (Europe/Berlin)",
        "schedule 0 0 * * * in Europe/Berlin, workflow daily_report",
        "Reads flights.hourly_departures, flights.live_departures",
        "Read by nothing",
        "version 41 version 42",
        "The newest 20 refreshes as a table",
        "The airline's two-letter code.",
        "What refreshes run SELECT 1 AS one",
        "Engine batch, recompute: REFRESH_MODE = FULL was asked for.",
    ):
        assert part in text, part


def test_readers_of_a_table_are_links(site):
    page = site.get(address_of(full_name("flights_wide")))
    for reader in ("hourly_departures", "carrier_delays"):
        assert page.attributes("a", href=address_of(full_name(reader)))


def test_the_catalog_is_not_asked_by_every_open_page_every_few_seconds(site):
    address = address_of(full_name("flights_wide"))
    for seconds in (0, 5, 10, 15, 55):
        site.clock.ms += seconds * SECOND
        site.get(address)
    requested = [call for call in site.manager.requested if call[0] == "table"]
    assert len(requested) == 2, "once, and once more when it was a minute old"


def test_a_change_is_shown_within_ten_seconds(site):
    address = address_of(full_name("flights_wide"))
    site.get(address)
    site.manager.change(full_name("flights_wide"), last_refresh_at_ms=site.clock.ms)
    site.get(address)
    site.clock.ms += 10 * SECOND
    site.get(address)
    assert len(site.manager.requested) == 2


def test_a_statement_on_a_table_is_shown_at_once(site):
    site.sign_in()
    site.get(address_of(full_name("flights_wide")))
    site.press("suspend", full_name("flights_wide"))
    site.get(address_of(full_name("flights_wide")))
    assert [name for name, _ in site.manager.requested] == ["table", "suspend", "table"]


def test_a_table_whose_details_cannot_be_read_still_shows_what_is_known(site):
    def gone(_):
        raise conditions.NOT_FOUND(table="gone from the catalog")

    site.manager.before = gone
    page = site.get(address_of(full_name("busiest_hours")))
    assert "The catalog has no more about this table" in page.text
    assert "gone from the catalog" in page.text
    assert "2 h 44 min" in page.text


def test_a_table_that_is_not_there(site):
    page = site.get("/tables/no.such.table", status=404)
    assert "There is no materialized table no.such.table in this catalog" in page.text


@pytest.mark.parametrize(
    ("role", "words"),
    [
        (Role.STANDBY, "This manager is on standby: ana, process 4711 on node-1 keeps"),
        (Role.STARTING, "This manager is starting"),
        (Role.STOPPING, "This manager is stopping"),
    ],
)
def test_a_manager_that_does_not_lead_answers_that(site, role, words):
    site.manager.become(role=role)
    assert words in site.get("/").text


def test_problems_of_the_manager_are_on_every_page(site):
    site.manager.become(Health(is_alive=True, is_ready=False, problems=("The log is full.",)))
    for address in ("/", address_of(NAMES[0])):
        assert "The log is full." in site.get(address).text


def test_the_manager_reports_its_own_state(site):
    text = site.get("/").text
    assert "active, process 4711 on node-1, started 3 h ago" in text
    assert "ana, process 4711 on node-1, term 7" in text
    assert "Spark 4.2.0 on local[2]" in text


@pytest.mark.parametrize("address", ["/", *(address_of(name) for name in SPECIAL)])
@pytest.mark.parametrize("signed_in", [False, True])
def test_nothing_that_others_wrote_becomes_markup(special, address, signed_in):
    if signed_in:
        special.sign_in()
    page = special.get(address)
    assert page.attributes("script") == [{"type": "module", "src": "/static/status.js"}]
    assert SCRIPT not in page.html
    assert not [tag for tag, _ in page.elements if tag in {"style", "iframe", "object"}]
    inline = {a for _, found in page.elements for a in found if a == "style" or a.startswith("on")}
    assert inline == set()


def test_names_with_special_characters_are_shown_unchanged(special):
    text = special.get("/").text
    for name in (SCRIPT, QUOTES, LONG, "other_spark_catalog.s.t", *LOOP):
        assert name in text


@pytest.mark.parametrize("name", SPECIAL)
def test_names_with_special_characters_link_to_their_own_page(special, name):
    page = special.get("/")
    link = page.attributes("a", href=address_of(name))[0]
    opened = special.get(link["href"])
    assert '<h1 class="name">' in opened.html
    assert special.manager.requested[-1][0] == "table"
    assert "The catalog cannot tell more" not in opened.text


def test_ids_are_unique_and_ages_do_not_change_them(special):
    for address in ("/", address_of(SPECIAL[0])):
        before = [found["id"] for _, found in special.get(address).elements if "id" in found]
        assert len(before) == len(set(before))
        special.clock.ms += DAY
        after = [found["id"] for _, found in special.get(address).elements if "id" in found]
        assert before == after


HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.mark.parametrize("address", ["/", "/login", "/tables/no.such", f"/tables/{NAMES[0]}"])
def test_every_page_forbids_what_it_does_not_need(site, address):
    headers = site.client.get(address).headers
    assert {name: headers[name] for name in HEADERS} == HEADERS


def test_nothing_is_shown_before_sign_in():
    site = Site(FakeManager(), open_reads=False)
    for address in ("/?q=a%26b", address_of(NAMES[0])):
        response = site.client.get(address)
        assert response.status_code == 303
        assert "flights_wide" not in response.text
        assert response.headers["location"].startswith("/login?next=%2F")
    page = site.get("/login?next=%2F%3Fq%3Da%2526b")
    assert page.attributes("input", name="next")[0]["value"] == "/?q=a%26b"
    assert "node-1" not in page.html, "the manager is not described to strangers"
    site.sign_in()
    assert "9" in site.get("/").text


def test_the_token_is_in_no_page():
    site = Site(FakeManager())
    site.sign_in()
    for address in ("/", "/login", address_of(NAMES[0])):
        assert TOKEN not in site.get(address).html


def test_ages_count_from_now(site):
    site.clock.ms += 5 * MINUTE
    assert "2 min ago every 40 minutes" in site.get("/?q=busiest").text


def test_the_page_of_a_table_shows_the_stage_with_the_largest_lag(site):
    text = site.get(address_of(full_name("hourly_departures"))).text
    assert "7 min 11 s to the base tables, 6 min 51 s to what it reads directly" in text
    assert "flights.flights_wide 20 s → flights.hourly_departures 6 min 51 s" in text


def test_a_full_table_says_that_its_refresh_is_allowed_as_well(site):
    text = site.get(address_of(full_name("busiest_hours"))).text
    assert "lag 2 h 44 min of 40 min 5 s" in text
    assert "(a FULL table may lag by its last refresh's 5 s as well)" in text
    assert "may be behind by" not in site.get(address_of(full_name("hourly_departures"))).text


def test_wrong_rows_are_on_the_pages(site):
    name = full_name("flights_wide")
    found = VerificationView("different", NOW_MS - 60_000, "job-1", 'missing {"id":1}')
    site.manager.change(name, verification=found)
    assert "wrong rows found" in site.get("/").text
    page = site.get(address_of(name)).text
    assert 'missing {"id":1}' in page
    assert "job-1" in page
    site.manager.change(name, verification=VerificationView("equal", NOW_MS - 60_000, "job-2"))
    assert "wrong rows found" not in site.get(address_of(name)).text
