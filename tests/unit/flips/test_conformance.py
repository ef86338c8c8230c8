"""The table of the design documents leaves nothing open."""

from __future__ import annotations

from collections import Counter

from tests.flips.conformance import FLIPS, NOT_OURS, NOT_YET, all_rows, section
from tests.flips.journeys import journeys
from tests.unit.flips import test_texts as texts


def test_every_journey_runs_somewhere():
    silent = [name for flip in FLIPS for name, j in journeys(flip) if not (j.memory or j.spark)]
    assert silent == []


def test_no_row_is_listed_twice():
    assert [row for row, count in Counter(all_rows()).items() if count > 1] == []


def test_a_row_without_a_test_has_a_reason():
    untested = [row for row in all_rows() if not row.test]
    assert sorted(untested) == sorted((*NOT_YET, *NOT_OURS))
    assert all(row.differs for row in untested)


def test_every_statement_is_read_refused_or_passed_on():
    tested = [*texts.READ, *texts.REFUSED, *texts.PASSED_ON]
    assert len(tested) == len(texts.ALL_TEXTS)
    assert all(not (text.node and text.error) for text in tested)


def test_the_section_has_all_rows():
    assert len(section()) == len(all_rows()) + 4
    assert {row.flip for row in all_rows()} == {435, 492, 546, 551, 557}
