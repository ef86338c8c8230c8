"""Whether state fits to a changed query, on plans as Spark prints them."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.strategies.strategy import STATEFUL, STREAM, Choice, OutputMode
from dbt.adapters.spark_mt.strategies.stream_flow import state_problems, stateful_operators
from tests.unit.strategies.spark_plans import operators

ENGINE = Choice(STREAM, STATEFUL, output_mode=OutputMode.UPDATE, key=("k",), followed=("s.o",))


def problems(before, after, engine=ENGINE):
    return state_problems((operators(before), ENGINE), (operators(after), engine))


@pytest.mark.parametrize(
    "plan", ["agg", "window", "window_struct", "session", "distinct", "join_inner_wm", "agg_agg"]
)
def test_every_analysis_calls_columns_otherwise_and_means_the_same(plan):
    assert problems(plan, plan) == ()
    assert stateful_operators(operators(plan))


def test_operators_around_a_stateful_operator_do_not_count():
    """Another alias, a column of the result that is computed from the same, or none of a key."""
    assert problems("window", "window_struct") == ()
    assert problems("agg", "agg_renamed") == ()


def test_the_width_of_a_window_is_part_of_the_key():
    found = problems("window", "window_slide")
    assert len(found) == 1
    assert found[0].startswith("State was kept for the aggregate by ")


def test_a_key_is_what_it_is_computed_from():
    """The plan names a window alike, however wide it is: its bounds are computed below."""
    minutes = operators("window")
    hours = wider(minutes)
    found = state_problems((minutes, ENGINE), (hours, ENGINE))
    assert len(found) == 1
    assert "3600000000" in found[0]


def wider(node):
    """The same plan over windows of an hour."""
    children = tuple(map(wider, node.children))
    return replace(node, detail=node.detail.replace("60000000", "3600000000"), children=children)


@pytest.mark.parametrize(
    ("before", "after"),
    [("agg", "agg_expr"), ("window", "window_nowm"), ("join_inner_wm", "join_left_wm")],
)
def test_other_operators_are_named(before, after):
    assert problems(before, after)


def test_operators_that_come_or_go_are_named():
    gone = problems("agg_agg", "stream_rows")
    assert all("which is no longer there" in text for text in gone)
    added = problems("stream_rows", "agg_agg")
    assert all(text.startswith("There is no state for ") for text in added)
    assert len(gone) == len(added) == len(stateful_operators(operators("agg_agg")))


def test_other_sources_modes_and_watermarks():
    engine = replace(ENGINE, output_mode=OutputMode.APPEND, key=(), followed=("s.p",))
    assert len(problems("agg", "agg", engine)) == 2


def test_arithmetic_around_an_aggregate_keeps_nothing():
    shown = [str(operator) for operator in stateful_operators(operators("agg_expr"))]
    assert shown
    assert all("*" not in text for text in shown)
