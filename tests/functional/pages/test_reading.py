"""What a person sees and can reach, with a mouse, a keyboard, a phone, without scripts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.unit.manager.http.special_names import SCRIPT
from tests.unit.manager.samples import full_name

PHONE = {"viewport": {"width": 375, "height": 812}, "has_touch": True}
FAILING = f"/tables/{full_name('busiest_hours')}"
PAGES = ("/", FAILING, f"/tables/{full_name('hourly_departures')}", "/login")

# Text whose contrast with its background is below what WCAG AA asks for.
PALE = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const box = e.closest('.node')?.querySelector('rect');
      const found = parts(getComputedStyle(e).backgroundColor);
      if (box && getComputedStyle(box).fill !== 'none') return parts(getComputedStyle(box).fill);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !element.getClientRects().length || element.closest('.unseen, title')) continue;
    const style = getComputedStyle(element);
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const [one, other] = [light(parts(colour)), light(ground(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.textContent.trim().slice(0, 40)}`);
  }
  return found;
}"""


def drawn(page):
    """Wait for what the script draws."""
    expect(page.locator("#graph svg")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
def test_everything_can_be_read_and_nothing_runs_over(server, visit, scheme, size):
    grounds = set()
    page = visit(server, "/", signed_in=True, color_scheme=scheme, **size)
    for path in PAGES:
        page.goto(path)
        if path != "/login":
            drawn(page)
        assert page.evaluate(PALE) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds == {"rgb(18, 22, 27)" if scheme == "dark" else "rgb(255, 255, 255)"}


@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
def test_names_and_texts_that_are_made_to_break_a_page_do_not(serve, visit, size):
    server = serve("special")
    page = visit(server, "/", **size)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page).to_have_title(re.compile("Materialized tables"))
    failing = page.get_by_role("link", name=f"flights.{SCRIPT}").first
    expect(failing).to_be_visible()
    short = page.locator("details.error").filter(has_text="x" * 500)
    assert short.evaluate("e => e.clientHeight") < 120
    short.locator("summary").click()
    expect(short.locator("pre")).to_contain_text("x" * 2_000)
    failing.click()
    drawn(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"flights.{SCRIPT}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_landmarks_headings_and_headers(server, visit):
    page = visit(server)
    for role in ("banner", "main", "contentinfo", "search"):
        expect(page.get_by_role(role)).to_have_count(1)
    expect(page.get_by_role("navigation", name="Site")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_text("Materialized tables")
    table = page.get_by_role("table")
    assert table.get_by_role("columnheader").all_inner_texts() == [
        *("Table", "Lag / allowed", "Status \u2191", "Refresh", "Last refreshes", "Rows"),
        "Next run",
    ]
    expect(table.get_by_role("rowheader")).to_have_count(9)
    chart = table.get_by_role("img").first
    expect(chart).to_have_accessible_name(re.compile("Last 20 refreshes: 14 finished"))


def test_rows_are_still_a_table_on_a_phone(server, visit):
    page = visit(server, **PHONE)
    expect(page.get_by_role("table").get_by_role("rowheader")).to_have_count(9)
    expect(page.get_by_role("cell").first).to_be_visible()


def test_the_keyboard_reaches_everything_and_shows_where_it_is(server, visit):
    page = visit(server)
    drawn(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    focused = "document.activeElement"
    assert page.evaluate(f"{focused}.className").startswith("chip")
    assert page.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid"
    seen = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        seen.add(page.evaluate(f"{focused}.closest('#search, table, #graph, footer')?.id ?? ''"))
    assert {"search", "graph"} <= seen


def test_the_lineage_is_a_graph_of_links(server, visit):
    page = visit(server)
    drawn(page)
    graph = page.locator("#graph")
    expect(graph.locator(".node")).to_have_count(14)
    expect(graph.locator(".edge")).to_have_count(14)
    overlaps = page.evaluate(
        """() => { const boxes = [...document.querySelectorAll('#graph .node rect')]
            .map((e) => e.getBoundingClientRect());
          return boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right
            && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length; }"""
    )
    assert overlaps == 0
    graph.get_by_role("link", name="flights.busiest_hours, \u2715 failing").click()
    expect(page).to_have_url(re.compile("busiest_hours$"))
    drawn(page)
    expect(page.locator("#graph .current")).to_contain_text("flights.busiest_hours")


def test_a_thousand_tables_stay_usable(serve, visit):
    server = serve("many")
    page = visit(server)
    drawn(page)
    expect(page.locator("tbody")).to_have_count(50)
    expect(page.get_by_text("14 more tables and sources left out")).to_be_visible()
    page.get_by_role("link", name="Next \u2192").click()
    expect(page.get_by_role("navigation", name="Pages of the list")).to_contain_text("51")
    page.get_by_role("link", name=re.compile("^Needs attention")).click()
    expect(page.locator("tbody")).to_have_count(22)
    page.get_by_role("searchbox").fill("report_00")
    page.clock.run_for(300)
    expect(page.locator("tbody")).to_have_count(2)
    page.get_by_role("columnheader", name="Table").get_by_role("link").click()
    expect(page.locator("tbody th").first).to_have_text("flights.report_0049")
    expect(page.get_by_role("searchbox")).to_have_value("report_00")


def test_what_is_typed_before_the_script_runs_is_searched(server, visit):
    page, held = visit(server), []
    drawn(page)
    page.route("**/status.js*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    page.goto("/", wait_until="commit")
    page.get_by_role("searchbox").fill("busiest")
    expect(page.locator("tbody").nth(1)).to_be_visible()
    for route in held:
        route.continue_()
    expect(page.locator("tbody")).to_have_count(1)
    expect(page.get_by_role("searchbox")).to_have_value("busiest")


@pytest.mark.parametrize("catalog", ["empty", "one"])
def test_a_list_of_few_tables(serve, visit, catalog):
    page = visit(serve(catalog))
    if catalog == "empty":
        expect(page.get_by_text("There is no materialized table")).to_be_visible()
        expect(page.locator("#graph")).to_have_count(0)
    else:
        drawn(page)
        expect(page.locator("#summary")).to_contain_text("Nothing needs attention.")
        expect(page.locator("tbody")).to_have_count(1)


def test_nothing_comes_from_elsewhere(server, visit):
    page = visit(server, FAILING)
    drawn(page)
    expect(page.locator("#chart canvas")).to_have_count(1)
    assert len(visit.requested) > 8
    assert [address for address in visit.requested if not address.startswith(server.url)] == []


def test_nothing_moves_for_those_who_want_calm(server, visit):
    page = visit(server, reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    moving = """[...document.querySelectorAll('*')].map((e) => getComputedStyle(e))
        .filter((s) => s.animationName !== 'none' || s.transitionDuration !== '0s').length"""
    assert page.evaluate(moving) == 0


def test_it_works_without_scripts(server, browser):
    context = browser.new_context(base_url=server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("searchbox", name="Find").fill("busiest")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("tbody")).to_have_count(1)
    page.get_by_role("link", name="flights.busiest_hours").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("flights.busiest_hours")
    page.get_by_text("Lineage as a list").click()
    expect(page.locator("#lineage-list li")).to_have_count(9)
    context.close()
