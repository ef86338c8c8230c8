"""The page about dbt's adapter tests says what is so."""

from __future__ import annotations

from tests.functional.adapter.conformance import NOT_RUN, PAGE, ours, page, reason, upstream


def test_every_class_runs_or_has_a_reason():
    run = ours()
    silent = [each.name for each in upstream() if each.cls not in run and reason(each) is None]
    assert silent == []


def test_no_reason_for_what_runs():
    run = ours()
    by_name = {each.name: each for each in upstream()}
    running = [n for n in NOT_RUN if n in by_name and by_name[n].cls in run]
    assert running == []
    assert {each.folder for each in upstream() if each.cls in run} & NOT_RUN.keys() == set()


def test_no_stale_reason():
    names = {each.name for each in upstream()} | {each.folder for each in upstream()}
    assert NOT_RUN.keys() - names == set()


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run: python -m tests.functional.adapter.conformance"
    )
