"""Signing in, and what the buttons do."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.unit.manager.http.site import TOKEN
from tests.unit.manager.samples import full_name

WIDE = f"/tables/{full_name('flights_wide')}"
ACTIONS = ("Refresh now", "Suspend", "Resume")


def test_the_token_opens_the_buttons_and_leads_back(server, visit):
    page = visit(server, WIDE)
    for name in ACTIONS:
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.get_by_role("link", name="Sign in").first.click()
    page.get_by_label("The manager's token").fill("not the token")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("That is not the manager's token.")
    page.get_by_label("The manager's token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile(f"{re.escape(WIDE)}$"))
    expect(page.get_by_role("button", name="Suspend")).to_be_visible()
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert TOKEN not in str(page.context.storage_state())
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in").first).to_be_visible()
    assert page.context.cookies() == []
    visit.complaints.clear()  # the browser notes the answer to the wrong token


def test_suspend_resume_and_refresh_without_leaving_the_page(server, visit):
    page = visit(server, WIDE, signed_in=True)
    said = page.locator("#outcome")
    page.get_by_role("button", name="Suspend").click()
    expect(said).to_contain_text("SUSPENDED flights.flights_wide: Its refresh has been suspended.")
    expect(page.locator("#headline")).to_contain_text("suspended")
    page.get_by_role("button", name="Resume").click()
    expect(said).to_contain_text("RESUMED")
    expect(page.get_by_role("button", name="Suspend")).to_be_enabled()
    page.get_by_role("button", name="Refresh now").click()
    expect(said).to_contain_text("A refresh has begun: job job-1.")
    expect(page.locator("#history tbody tr").first).to_contain_text("running")
    expect(page).to_have_url(re.compile(f"{re.escape(WIDE)}$"))
    page.clock.run_for(5_000)
    expect(said).to_contain_text("job-1")


def test_a_refusal_is_shown_next_to_the_button(server, visit):
    page = visit(server, WIDE, signed_in=True)
    server.manager.suspend(full_name("flights_wide"))
    page.get_by_role("button", name="Suspend").click()
    expect(page.locator("#outcome")).to_contain_text("has been suspended")
    expect(page.locator("#outcome .refused")).to_have_count(1)
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    visit.complaints.clear()  # the browser notes the answer


def test_a_session_that_ended_elsewhere_leads_to_the_sign_in_page(server, visit):
    page = visit(server, WIDE, signed_in=True)
    page.context.clear_cookies()
    page.get_by_role("button", name="Suspend").click()
    expect(page.get_by_label("The manager's token")).to_be_visible()
    visit.complaints.clear()  # the browser notes the answer


def test_a_session_that_ends_while_reading_leads_to_the_sign_in_page_and_back(serve, visit):
    server = serve(open_reads=False)
    page = visit(server, f"{WIDE}?from=a%26b", signed_in=True)
    expect(page.get_by_role("button", name="Suspend")).to_be_visible()
    page.context.clear_cookies()
    page.clock.run_for(5_000)
    expect(page.get_by_role("button", name="Suspend")).to_have_count(0)
    page.get_by_label("The manager's token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile(r"flights_wide\?from=a%26b$"))
    expect(page.get_by_role("button", name="Suspend")).to_be_visible()


def test_a_change_is_explained_before_it_is_made(server, visit):
    page = visit(server, WIDE, signed_in=True)
    page.get_by_text("What would a change do?").click()
    box = page.get_by_label(re.compile("Edit the statement"))
    statement = box.input_value()
    assert "CREATE OR ALTER MATERIALIZED TABLE" in statement
    box.fill(statement.replace("SELECT", "SELECT dropped_column,"))
    page.clock.run_for(5_000)
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#planned")).to_contain_text("The column x cannot be dropped.")
    assert "dropped_column" in box.input_value()
    assert [name for name, _ in server.manager.requested if name != "table"] == ["plan"]


def test_a_button_works_once_while_its_request_runs(server, visit):
    page = visit(server, WIDE, signed_in=True)
    held = []
    page.route("**/actions/*", lambda route: held.append(route))  # noqa: PLW0108 - it sets attributes
    button = page.get_by_role("button", name="Suspend")
    button.click()
    expect(button).to_be_disabled()
    expect(page.locator("#outcome")).to_have_text("Suspend: in progress \u2026")
    updated = page.locator("#updated").inner_text()
    page.clock.run_for(5_000)
    expect(page.locator("#updated")).not_to_have_text(updated)
    expect(button).to_be_disabled()
    held[0].continue_()
    expect(page.locator("#outcome")).to_contain_text("SUSPENDED")
    assert [name for name, _ in server.manager.requested if name != "table"] == ["suspend"]
