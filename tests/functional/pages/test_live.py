"""The page stays current without a click, and keeps what a reader did to it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from tests.unit.manager.samples import full_name

EVERY_MS = 5_000
WIDE = full_name("flights_wide")


def renew(page):
    """Let the time between two renewals pass, and wait for the answer."""
    with page.expect_response(lambda found: found.request.resource_type == "fetch"):
        page.clock.run_for(EVERY_MS)


def row_of(page, table):
    return page.locator("tbody").filter(has=page.locator("th a", has_text=f"flights.{table}"))


def test_the_list_follows_the_manager(server, visit):
    page = visit(server)
    expect(page.locator("#summary")).to_contain_text("3 tables need attention")
    server.manager.change(
        WIDE,
        freshness_status=FreshnessStatus.LATE,
        lag_seconds=4_000.0,
        failures=1,
        problem="The disk is full.",
    )
    renew(page)
    expect(page.locator("#summary")).to_contain_text("4 tables need attention")
    expect(page).to_have_title("(4) Materialized tables")
    expect(row_of(page, "flights_wide")).to_contain_text("The disk is full.")
    expect(page.locator(".node.failing")).to_have_count(2)


def test_changes_of_the_page_are_announced_politely(server, visit):
    page = visit(server)
    expect(page.get_by_role("status").first).to_contain_text("3 tables need attention")
    page.evaluate("window.kept = document.getElementById('summary')")
    server.manager.drop(full_name("busiest_hours"))
    renew(page)
    expect(page.get_by_role("status").first).to_contain_text("2 tables need attention")
    same = "window.kept === document.getElementById('summary')"
    assert page.evaluate(same), "a region that is replaced is not announced"


def test_focus_scroll_and_open_details_stay(serve, visit):
    server = serve("many")
    page = visit(server, "/?q=report")
    why = row_of(page, "report_0010").locator("details").first
    why.locator("summary").click()
    link = row_of(page, "report_0011").get_by_role("link").first
    link.focus()
    page.evaluate("scrollTo(0, 900)")
    before = page.evaluate("scrollY")
    places = page.locator("tbody th").all_inner_texts()
    for other in ("report_0001", "report_0011"):
        server.manager.change(full_name(other), lag_seconds=80_000.0)
    renew(page)
    expect(row_of(page, "report_0011")).to_contain_text("22 h 13 min")
    assert page.locator("tbody th").all_inner_texts() != places, "rows have changed places"
    expect(link).to_be_focused()
    assert why.get_attribute("open") is not None
    assert page.evaluate("scrollY") == before > 0


def test_typing_is_not_disturbed(server, visit):
    page = visit(server)
    box = page.get_by_role("searchbox", name="Find")
    box.focus()
    page.keyboard.type("busi")
    renew(page)
    page.keyboard.type("est")
    expect(box).to_have_value("busiest")
    page.clock.run_for(300)
    expect(page.locator("tbody")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?q=busiest$"))
    renew(page)
    expect(box).to_have_value("busiest")
    expect(box).to_be_focused()


def test_a_hidden_tab_asks_for_nothing(server, visit):
    page = visit(server)
    expect(page.locator("#graph svg")).to_have_count(1)
    visit.requested.clear()
    hide = """hidden => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, arg=True)
    page.clock.run_for(10 * EVERY_MS)
    assert visit.requested == []
    with page.expect_request(lambda request: request.resource_type == "fetch"):
        page.evaluate(hide, arg=False)


def test_updates_can_be_paused(server, visit):
    page = visit(server)
    button = page.get_by_role("button", name="Pause updates")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    server.manager.drop(full_name("busiest_hours"))
    page.clock.run_for(10 * EVERY_MS)
    expect(page.locator("#summary")).to_contain_text("3 tables need attention")
    button.click()
    expect(page.locator("#summary")).to_contain_text("2 tables need attention")


def test_the_end_and_the_return_of_a_manager_are_shown(server, visit):
    page = visit(server)
    context = page.context
    context.set_offline(True)
    page.clock.run_for(EVERY_MS)
    alert = page.get_by_role("alert")
    expect(alert).to_have_text(
        re.compile(
            r"The manager is not reachable since \d\d:\d\d:\d\d UTC\. What you see is from then\."
        )
    )
    first = alert.inner_text()
    with page.expect_event("requestfailed"):
        page.clock.run_for(EVERY_MS)
    expect(alert).to_have_text(first)
    expect(row_of(page, "busiest_hours")).to_be_visible()
    context.set_offline(False)
    renew(page)
    expect(alert).to_be_hidden()
    visit.complaints.clear()  # the browser itself notes every request that failed


def test_an_error_answer_of_the_manager_is_shown(server, visit):
    page = visit(server)
    expect(page.locator("#graph svg")).to_have_count(1)
    page.route("**/*", lambda route: route.fulfill(status=500, body="{}"))
    renew(page)
    expect(page.get_by_role("alert")).to_contain_text("(it answers 500)")
    visit.complaints.clear()


def test_a_table_that_is_dropped_while_its_page_is_open(server, visit):
    page = visit(server, f"/tables/{WIDE}")
    server.manager.drop(WIDE)
    renew(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("No such table")
    visit.complaints.clear()


def test_the_chart_and_the_history_follow(server, visit):
    page = visit(server, f"/tables/{full_name('carrier_scores')}")
    expect(page.locator("#chart canvas")).to_have_count(1)
    rows = page.locator("#history tbody tr")
    expect(rows).to_have_count(6)
    page.clock.run_for(2 * EVERY_MS)
    expect(rows).to_have_count(6)
