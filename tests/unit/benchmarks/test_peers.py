"""Refreshes next to those by hand: what is compared with which target."""

from __future__ import annotations

import pytest

from benchmarks import peers

ROUND = {"join": {"ours": 2.0, "overwrite": 4.0, "by hand": 3.0, "pipeline": 8.0}}


@pytest.mark.parametrize(
    ("rows", "share", "is_near", "most"),
    [(6_000_000, 0.0001, True, 0.6), (20_000_000, 0.005, False, 0.8), (5, 0.005, True, None)],
)
def test_each_other_way_is_compared_with_ours(rows, share, is_near, most):
    found = [*peers._compared([ROUND, ROUND], rows, share, is_near=is_near)]
    assert [each.name.rpartition(", to ")[2] for each in found] == [
        "overwrite",
        "by hand",
        "pipeline",
    ]
    assert [each.ratio for each in found] == [2 / 4, 2 / 3, 2 / 8]
    assert [each.most_ratio for each in found] == [most, 1.0, None]


@pytest.mark.parametrize("shape", peers.SHAPES)
def test_the_model_by_hand_has_the_time_of_change_and_the_condition(shape):
    changed = peers.SHAPES[shape].changed
    assert "{newer}" in changed
    assert "changed_at" in changed.partition(" FROM ")[0]
