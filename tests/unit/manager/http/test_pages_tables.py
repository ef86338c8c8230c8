from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from dbt.adapters.spark_mt.manager.http.pages_tables import (
    PAGE_SIZE,
    Choice,
    Row,
    State,
    choose,
    counts,
)
from tests.unit.manager.samples import CATALOG, NOW_MS, many_tables, sample_tables


def rows_of(tables):
    return [Row(details.view, NOW_MS) for details in tables]


def names(rows):
    return [row.view.name.removeprefix(f"{CATALOG}.flights.") for row in rows]


ROWS = rows_of(sample_tables())


def test_tables_that_need_attention_come_first_by_their_overdue_time():
    found = names(choose(ROWS, Choice()).rows)
    assert found[:4] == ["busiest_hours", "hourly_departures", "delays_by_plane", "weather_hourly"]
    assert found[-1] == "carrier_scores", "what the user suspended comes last"


@pytest.mark.parametrize(
    ("sort", "first", "last"),
    [
        ("name", "busiest_hours", "weather_hourly"),
        ("lag", "busiest_hours", "weather_hourly"),
        ("rows", "carrier_delays", "weather_hourly"),
        ("next", "busiest_hours", "weather_hourly"),
        ("refreshed", "flights_wide", "weather_hourly"),
    ],
)
def test_sorts_in_both_directions(sort, first, last):
    found = names(choose(ROWS, Choice(sort=sort)).rows)
    assert (found[0], found[-1]) == (first, last)
    back = choose(ROWS, Choice(sort=sort, backwards=True)).rows
    assert set(names(back)) == set(found)
    assert back[0].view.name != choose(ROWS, Choice(sort=sort)).rows[0].view.name


def test_equal_rows_are_sorted_by_name_in_both_directions():
    for backwards in (False, True):
        found = choose(ROWS, Choice(sort="engine", backwards=backwards)).rows
        wide_like = [n for n in names(found) if n in {"flights_wide", "carrier_scores"}]
        assert wide_like == ["carrier_scores", "flights_wide"]


def test_every_word_of_a_search_must_occur_somewhere():
    assert names(choose(ROWS, Choice(search="BUSIEST")).rows) == ["busiest_hours"]
    assert names(choose(ROWS, Choice(search="cast_invalid failing")).rows) == ["busiest_hours"]
    assert names(choose(ROWS, Choice(search="stateful stream")).rows) == ["live_departures"]
    assert choose(ROWS, Choice(search="busiest nothing")).rows == ()


def test_the_counts_of_a_search_do_not_depend_on_the_state_that_is_shown():
    chosen = choose(ROWS, Choice(search="departures", state=State.LATE))
    assert names(chosen.rows) == ["hourly_departures"]
    assert counts(chosen.matching)[State.MET] == 1


def test_counts_of_states():
    found = counts(ROWS)
    assert found == {
        State.ATTENTION: 3,
        State.LATE: 2,
        State.FAILING: 1,
        State.SUSPENDED: 2,
        State.UNKNOWN: 1,
        State.MET: 4,
    }


def test_pages_hold_everything_once():
    rows = rows_of(many_tables(120))
    seen = [name for page in (1, 2, 3) for name in names(choose(rows, Choice(page=page)).rows)]
    assert len(seen) == len(set(seen)) == 120
    last = choose(rows, Choice(page=99))
    assert (last.choice.page, last.pages, last.first) == (3, 3, 2 * PAGE_SIZE + 1)


def test_no_table_is_one_empty_page():
    chosen = choose([], Choice())
    assert (chosen.rows, chosen.pages) == ((), 1)


@pytest.mark.parametrize(
    "choice",
    [
        Choice(),
        Choice(search="ä & b=c", state=State.FAILING, sort="rows", backwards=True, page=7),
        Choice(sort="next"),
    ],
)
def test_an_address_says_all_of_a_choice(choice):
    assert Choice.of(dict(parse_qsl(urlsplit(choice.address).query))) == choice


@pytest.mark.parametrize(
    "query",
    [
        {"state": "no such", "sort": "; drop", "page": "-1", "way": "up"},
        {"page": "9" * 400},
        {"page": "\u0663"},
        {"page": "1.5"},
    ],
)
def test_invalid_parameters_of_an_address_are_ignored(query):
    assert Choice.of(query) == Choice()


def test_a_column_turns_round_when_it_is_chosen_again():
    by_rows = Choice(page=3).sorted_by("rows")
    assert (by_rows.backwards, by_rows.page, by_rows.direction) == (False, 1, "descending")
    assert by_rows.sorted_by("rows").direction == "ascending"
    assert by_rows.sorted_by("rows").sorted_by("name").direction == "ascending"


def test_a_table_that_fails_but_is_on_time_needs_attention():
    view = replace(sample_tables()[0].view, failures=1, problem="no")
    assert Row(view, NOW_MS).states == {State.ATTENTION, State.FAILING, State.MET}
