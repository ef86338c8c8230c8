"""What Structured Streaming can run, on plans of Spark itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dbt.adapters.spark_mt.definition.watermark import Watermark
from dbt.adapters.spark_mt.query.analyzer import PlanOperator
from dbt.adapters.spark_mt.strategies.strategy import OutputMode
from dbt.adapters.spark_mt.strategies.stream_flow import NotAStreamError
from dbt.adapters.spark_mt.strategies.stream_plan import has_watermark, stream_shape
from tests.unit.strategies.spark_plans import (
    DELTA,
    FILES,
    JSON,
    OTHER,
    PLANS,
    columns,
    operators,
    tree,
)

ON_TS = Watermark(None, "ts", timedelta(seconds=10))


def shape_of(name, *followed, watermarks=()):
    root = operators(name)
    assert root is not None
    return stream_shape(root, columns(name), followed, watermarks)


def codes(name, *followed, watermarks=()):
    with pytest.raises(NotAStreamError) as caught:
        shape_of(name, *followed, watermarks=watermarks)
    return [reason.code for reason in caught.value.reasons]


def key_of(name, *followed, watermarks=()):
    """The columns by which rows replace rows; those with the same meaning are joined by a bar."""
    found = shape_of(name, *followed, watermarks=watermarks)
    assert found.output_mode is OutputMode.UPDATE
    assert found.stateful
    names = columns(name)
    return ["|".join(names[i] for i in sorted(part)) for part in found.key]


STREAMS = sorted(name for name, plan in PLANS.items() if "modes" in plan)


@pytest.mark.parametrize("name", STREAMS)
def test_a_query_accepted_as_a_stream_is_a_stream_for_spark(name):
    try:
        found = shape_of(name)
    except NotAStreamError:
        return
    assert found.output_mode.value in PLANS[name]["modes"]
    assert found.followed


@pytest.mark.parametrize(
    "name",
    [
        *("stream_rows", "stream_union", "stream_explode", "stream_static", "stream_static_left"),
        *("stream_file", "exists", "scalar_sub", "stream_opts"),
    ],
)
def test_rows_that_are_only_added(name):
    found = shape_of(name)
    assert (found.output_mode, found.stateful, found.key) == (OutputMode.APPEND, False, ())


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("agg", ["c"]),
        ("agg_renamed", ["k"]),
        ("agg_expr", ["u", "l"]),
        ("agg_projected", ["k"]),
        ("window", ["ws", "c"]),
        ("window_struct", ["window", "c"]),
        ("window_both", ["ws|we", "c"]),
        ("window_end", ["we"]),
        ("window_slide", ["ws"]),
        ("window_nowm", ["ws"]),
        ("date_trunc_wm", ["h"]),
        ("group_ts_wm", ["ts"]),
        ("distinct", ["id", "c"]),
        ("union_distinct", ["id"]),
        ("join_agg_wm", ["ws"]),
        ("cte", ["ws"]),
        ("stream_view", ["c"]),
        ("stream_subquery_wm", ["ws"]),
    ],
)
def test_groups_replace_what_they_were(name, key):
    assert key_of(name) == key


@pytest.mark.parametrize("name", ["session", "window_time", "agg_agg", "join_left_wm"])
def test_what_comes_when_it_can_no_longer_change(name):
    found = shape_of(name)
    assert (found.output_mode, found.stateful, found.key) == (OutputMode.APPEND, True, ())
    assert "APPEND_MODE" in [reason.code for reason in found.reasons]


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("stream_union_batch", ["UNION_WITH_STATIC"]),
        ("static_stream_left", ["OUTER_JOIN"]),
        ("agg_key_gone", ["NO_WATERMARK", "KEY_NOT_IN_RESULT"]),
        ("agg_projected_key", ["NO_WATERMARK", "KEY_NOT_IN_RESULT"]),
        ("agg_having", ["NO_WATERMARK", "FILTER_AFTER_GROUPS"]),
        ("agg_global", ["GLOBAL_AGGREGATE"]),
        ("agg_distinct", ["DISTINCT_AGGREGATE"]),
        ("rollup", ["GROUPING_SETS"]),
        ("grouping_sets", ["GROUPING_SETS"]),
        ("join_semi", ["NO_WATERMARK"]),
        ("join_anti", ["JOIN"]),
        ("over", ["WINDOW_FUNCTION"]),
        ("orderby", ["SORT"]),
        ("limit", ["LIMIT"]),
        ("intersect", ["INTERSECT"]),
    ],
)
def test_a_query_that_is_no_stream_has_reasons(name, reasons):
    assert codes(name) == reasons


@pytest.mark.parametrize(
    ("name", "source", "key"),
    [
        ("batch_agg", DELTA, ["c"]),
        ("batch_window", DELTA, ["ws", "c"]),
        ("batch_file_agg", JSON, ["c"]),
        ("batch_file_window", FILES, ["ws", "c"]),
        ("batch_distinct", FILES, ["c"]),
        ("wide", FILES, ["c"]),
        ("cte_chain", FILES, ["c"]),
        ("cte_two", FILES, ["c"]),
        ("cte_nested", FILES, ["k"]),
        ("cte_renamed", FILES, ["x"]),
        ("batch_wm_view", DELTA, ["ws"]),
    ],
)
def test_a_plain_query_is_checked_as_if_its_sources_were_streams(name, source, key):
    assert key_of(name, source) == key
    assert shape_of(name, source).followed == (str(source),)


@pytest.mark.parametrize(
    ("name", "sources", "reasons"),
    [
        ("batch_session", [FILES], ["NO_WATERMARK", "SESSION_WINDOW"]),
        ("view_of_groups", [FILES], ["NO_WATERMARK", "KEY_NOT_IN_RESULT"]),
        ("batch_having", [FILES], ["NO_WATERMARK", "FILTER_AFTER_GROUPS"]),
        ("batch_over", [FILES], ["WINDOW_FUNCTION"]),
        ("batch_pivot", [FILES], ["NO_WATERMARK", "SECOND_STATE"]),
        ("qualify", [FILES], ["WINDOW_FUNCTION"]),
        ("multi_distinct", [FILES], ["DISTINCT_AGGREGATE"]),
        ("subquery_in", [FILES, OTHER], ["SUBQUERY"]),
        ("batch_values", [], ["NO_STREAM"]),
        ("udtf_range", [], ["NO_STREAM"]),
        ("batch_rows", [], ["NO_STREAM"]),
    ],
)
def test_a_plain_query_that_is_no_stream_has_reasons(name, sources, reasons):
    assert codes(name, *sources) == reasons


def test_a_watermark_outside_of_the_query_closes_sessions():
    found = shape_of("batch_session", FILES, watermarks=(ON_TS,))
    assert found.output_mode is OutputMode.APPEND
    assert found.watermarks == ((str(FILES), ON_TS),)
    assert [reason.subject for reason in found.reasons if reason.code == "WATERMARK"] == [
        str(FILES)
    ]


def test_a_watermark_bounds_the_state_of_windows():
    unbounded = shape_of("batch_window", DELTA)
    bounded = shape_of("batch_window", DELTA, watermarks=(ON_TS,))
    assert "UNBOUNDED_STATE" in [reason.code for reason in unbounded.reasons]
    assert "UNBOUNDED_STATE" not in [reason.code for reason in bounded.reasons]


@pytest.mark.parametrize(
    "mark",
    [Watermark(OTHER, "ts", timedelta(seconds=1)), Watermark(None, "other", timedelta(hours=1))],
)
def test_a_watermark_of_another_source_or_column_changes_nothing(mark):
    assert shape_of("batch_window", DELTA, watermarks=(mark,)) == shape_of("batch_window", DELTA)


def wide(*sources):
    """A join of tables of which the plan does not show every column."""
    sides = tuple(
        PlanOperator(
            "SubqueryAlias",
            str(source),
            (PlanOperator("Relation", f"{source}[a#{i}1,... 30 more fields] parquet"),),
            relation=str(source),
        )
        for i, source in enumerate(sources)
    )
    return PlanOperator("Join", "Inner, (a#01 = a#11)", sides) if len(sides) > 1 else sides[0]


def test_a_watermark_on_a_column_that_the_plan_does_not_show_is_kept():
    (mark,) = stream_shape(wide(DELTA), ("a",), [DELTA], [ON_TS]).watermarks
    assert mark == (str(DELTA), ON_TS)
    named = Watermark(DELTA, "ts", timedelta(seconds=10))
    both = stream_shape(wide(DELTA, OTHER), ("a", "b"), [DELTA, OTHER], [named])
    assert both.watermarks == ((str(DELTA), named),)
    with pytest.raises(NotAStreamError):
        stream_shape(wide(DELTA, OTHER), ("a", "b"), [DELTA, OTHER], [ON_TS])


def test_a_watermark_on_rows_that_wait_for_nothing_has_no_effect():
    found = shape_of("batch_rows", DELTA, watermarks=(ON_TS,))
    assert [reason.code for reason in found.reasons] == ["WATERMARK_UNUSED"]
    assert not found.stateful


def test_one_of_two_sides_may_be_looked_up():
    found = shape_of("batch_lookup", DELTA)
    assert found.followed == (str(DELTA),)
    assert [reason.code for reason in found.reasons] == ["STATIC_SIDE"]
    assert shape_of("batch_lookup", DELTA, OTHER).stateful


def test_names_that_the_plan_does_not_show_clearly_are_no_keys():
    assert codes("quoted", FILES)[-1] == "UNCLEAR_PLAN"
    assert codes("lit_agg", FILES)[-1] == "UNCLEAR_PLAN"
    root = operators("agg")
    with pytest.raises(NotAStreamError):
        stream_shape(root, ("c", "another"))


def test_a_text_with_lines_like_a_plans_hides_the_tree():
    assert operators("newline_lit") is None


def test_watermarks_in_the_query_are_seen_on_streams_and_tables():
    assert has_watermark(operators("batch_wm_view"))
    assert has_watermark(operators("cte"))
    assert not has_watermark(operators("batch_window"))
    assert not has_watermark(None)


def stream(*more, relation="c.s.t"):
    leaf = PlanOperator("StreamingRelation", "delta, [a#1, b#2], name=<x>", streaming=True)
    alias = PlanOperator("SubqueryAlias", relation, (leaf,), streaming=True, relation=relation)
    for name, detail in more:
        alias = PlanOperator(name, detail, (alias,), streaming=True)
    return alias


GROUPED = ("Aggregate", "[a#1], [a#1, count(1) AS n#3L]")


@pytest.mark.parametrize(
    ("operator", "code"),
    [
        (("Filter", "(n#3L > 1)"), "FILTER_AFTER_GROUPS"),
        (("Generate", "explode(x#1), false, [y#4]"), "ROWS_OF_STATE"),
        (("Project", "[n#3L, (a#1 + 1) AS a#4]"), "KEY_NOT_IN_RESULT"),
        (("Project", "[n#3L, -a#1 AS a#4]"), "KEY_NOT_IN_RESULT"),
        (("Project", "[n#3L, [oops AS a#4]"), "UNCLEAR_PLAN"),
        (("Aggregate", "[n#3L], [n#3L, count(1) AS a#4L]"), "SECOND_STATE"),
        (("Distinct", ""), "SECOND_STATE"),
    ],
)
def test_operators_that_may_be_above_groups(operator, code):
    root = stream(GROUPED, operator)
    with pytest.raises(NotAStreamError) as caught:
        stream_shape(root, ("n", "a"))
    assert [reason.code for reason in caught.value.reasons] == ["NO_WATERMARK", code]


@pytest.mark.parametrize("name", ["MapInPandas", "LateralJoin", "Sample", "Window", "GlobalLimit"])
def test_operators_that_are_not_known_are_no_streams(name):
    with pytest.raises(NotAStreamError) as caught:
        stream_shape(stream((name, "")), ("a",))
    assert [reason.subject for reason in caught.value.reasons] == [name]


def test_rows_that_were_seen_may_be_filtered_but_not_joined_again():
    found = stream_shape(stream(("Distinct", ""), ("Filter", "(a#1 > 1)")), ("a", "b"))
    assert found.key == (frozenset({0}), frozenset({1}))
    side = PlanOperator("SubqueryAlias", "x", (PlanOperator("LocalRelation", "[z#9]"),))
    join = PlanOperator("Join", "Inner, (a#1 = z#9)", (stream(("Distinct", "")), side))
    with pytest.raises(NotAStreamError):
        stream_shape(join, ("a", "b", "z"))


def test_groups_of_several_sides_cannot_be_added():
    union = PlanOperator("Union", "false, false", (stream(GROUPED), stream(relation="c.s.u")))
    with pytest.raises(NotAStreamError) as caught:
        stream_shape(union, ("a", "n"))
    assert [reason.code for reason in caught.value.reasons] == ["UNION_OF_STATE"]


def test_a_session_alone_and_a_stream_without_a_name_are_refused():
    alone = stream(("Aggregate", "[session_window#1], [session_window#1, count(1) AS n#3L]"))
    with pytest.raises(NotAStreamError) as caught:
        stream_shape(alone, ("session_window", "n"))
    assert [reason.code for reason in caught.value.reasons] == ["SESSION_WINDOW_ALONE"]
    leaf = PlanOperator("StreamingRelation", "rate", streaming=True)
    with pytest.raises(NotAStreamError) as caught:
        stream_shape(PlanOperator("Project", "[a#1]", (leaf,), streaming=True), ("a",))
    assert [reason.code for reason in caught.value.reasons] == ["UNNAMED_STREAM"]


def test_the_delay_of_a_watermark_in_the_query_is_shown():
    (late,) = [r for r in shape_of("window").reasons if r.code == "WATERMARK"]
    assert "10 seconds" in late.text
    assert "ts" in late.text


@pytest.mark.parametrize("name", sorted(PLANS))
def test_a_damaged_plan_always_gets_a_verdict(name):
    lines = PLANS[name]["plan"]
    for place, line in enumerate(lines):
        for instead in ([], [line.replace("[", "", 1)], [line.replace(", ", " ", 1)]):
            root = tree([*lines[:place], *instead, *lines[place + 1 :]])
            try:
                found = root and stream_shape(root, columns(name), [DELTA, FILES, JSON, OTHER])
            except NotAStreamError as no:
                assert no.reasons  # noqa: PT017 - either will do
            else:
                assert found is None or found.followed
