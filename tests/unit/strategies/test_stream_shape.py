"""What Structured Streaming can run, on queries that Spark itself was asked about."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.watermark import Watermark
from dbt.adapters.spark_mt.query.analyzer import Source, SourceKind
from dbt.adapters.spark_mt.query.operator_builder import operator_tree
from dbt.adapters.spark_mt.query.operators import Tree
from dbt.adapters.spark_mt.strategies.strategy import OutputMode
from dbt.adapters.spark_mt.strategies.stream_shape import NotAStreamError, stream_shape
from tests.unit.strategies.stream_queries import (
    COLUMNS,
    CONTEXT,
    DELTA,
    FILES,
    JSON,
    OTHER,
    QUERIES,
    SOURCES,
    VIEWS,
    columns,
    query_tree,
)

ON_TS = Watermark(None, "ts", timedelta(seconds=10))


def shape_of(name, *followed, watermarks=()):
    return stream_shape(query_tree(name), SOURCES, map(str, followed), watermarks)


def refused(decide):
    with pytest.raises(NotAStreamError) as caught:
        decide()
    return caught.value.reasons


def codes(name, *followed, watermarks=()):
    reasons = refused(lambda: shape_of(name, *followed, watermarks=watermarks))
    return [reason.code for reason in reasons]


def streamed(query, *followed, sources=COLUMNS, tables=SOURCES, watermarks=()):
    """How a query is run that is not among the recorded ones."""
    tree = operator_tree(query, CONTEXT, sources=sources, views=VIEWS)
    return stream_shape(tree, tables, map(str, followed), watermarks)


def problems(query, *followed, **facts):
    return [r.code for r in refused(lambda: streamed(query, *followed, **facts))]


def key_of(name, *followed, watermarks=()):
    """The columns by which rows replace rows; those with the same meaning are joined by a bar."""
    found = shape_of(name, *followed, watermarks=watermarks)
    assert found.output_mode is OutputMode.UPDATE
    assert found.stateful
    names = columns(name)
    return ["|".join(names[i] for i in sorted(part)) for part in found.key]


STREAMS = sorted(name for name, query in QUERIES.items() if "modes" in query)


@pytest.mark.parametrize("name", STREAMS)
def test_a_query_accepted_as_a_stream_is_a_stream_for_spark(name):
    try:
        found = shape_of(name)
    except NotAStreamError:
        return
    assert found.output_mode.value in QUERIES[name]["modes"]
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
        ("quoted", FILES, ["x#1, y"]),
        ("lit_agg", FILES, ["c"]),
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
        ("batch_pivot", [FILES], ["PIVOT"]),
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


def test_a_watermark_on_a_column_that_is_not_known_is_kept():
    rows, both = "SELECT o.id FROM s.o", "SELECT o.id FROM s.o JOIN s.p ON o.id = p.id"
    found = streamed(rows, DELTA, sources=(), watermarks=[ON_TS])
    assert found.watermarks == ((str(DELTA), ON_TS),)
    named = Watermark(DELTA, "ts", timedelta(seconds=10))
    found = streamed(both, DELTA, OTHER, sources=(), watermarks=[named])
    assert found.watermarks == ((str(DELTA), named),)
    assert problems(both, DELTA, OTHER, sources=(), watermarks=[ON_TS]) == ["UNCLEAR_PLAN"]


def test_a_watermark_on_rows_that_wait_for_nothing_has_no_effect():
    found = shape_of("batch_rows", DELTA, watermarks=(ON_TS,))
    assert [reason.code for reason in found.reasons] == ["WATERMARK_UNUSED"]
    assert not found.stateful


def test_one_of_two_sides_may_be_looked_up():
    found = shape_of("batch_lookup", DELTA)
    assert found.followed == (str(DELTA),)
    assert [reason.code for reason in found.reasons] == ["STATIC_SIDE"]
    assert shape_of("batch_lookup", DELTA, OTHER).stateful


def test_watermarks_in_the_query_are_seen_on_streams_and_tables():
    marked = {name for name in QUERIES if query_tree(name).has_watermark}
    assert marked == {name for name, each in QUERIES.items() if "WATERMARK" in each["query"]}


GROUPS = "(SELECT c, count(*) AS n FROM STREAM s.o GROUP BY c)"
SESSIONS = "(SELECT session_window(ts, '1 minute') AS w FROM STREAM s.o)"
LATE = "WATERMARK ts DELAY OF INTERVAL 10 SECONDS"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (f"SELECT * FROM {GROUPS} WHERE n > 1", "FILTER_AFTER_GROUPS"),
        (f"SELECT * FROM {GROUPS} WHERE c IN (SELECT d FROM s.p)", "FILTER_AFTER_GROUPS"),
        (f"SELECT c, x FROM {GROUPS} LATERAL VIEW explode(split(c, ',')) e AS x", "ROWS_OF_STATE"),
        (f"SELECT c, window(n, '1 hour', '1 minute') AS w FROM {GROUPS}", "ROWS_OF_STATE"),
        (f"SELECT n, c || 'x' AS c FROM {GROUPS}", "KEY_NOT_IN_RESULT"),
        (f"SELECT n, -c AS c FROM {GROUPS}", "KEY_NOT_IN_RESULT"),
        (f"SELECT n, z AS c FROM {GROUPS}", "KEY_NOT_IN_RESULT"),
        (f"SELECT n, count(*) AS c FROM {GROUPS} GROUP BY n", "SECOND_STATE"),
        (f"SELECT DISTINCT n FROM {GROUPS}", "KEY_NOT_IN_RESULT"),
        (f"SELECT DISTINCT c FROM {GROUPS}", "SECOND_STATE"),
        (f"SELECT n, d FROM {GROUPS} q JOIN s.p ON p.d = q.c", "JOIN_AFTER_STATE"),
        ("SELECT z, count(*) AS n FROM STREAM s.o GROUP BY z", "UNCLEAR_PLAN"),
    ],
)
def test_operators_that_may_be_above_groups(query, code):
    assert problems(query) == ["NO_WATERMARK", code]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT o.id FROM STREAM s.o, LATERAL (SELECT d FROM s.p WHERE p.id = o.id)", "LATERAL"),
        ("SELECT TRANSFORM(id) USING 'cat' AS (x STRING) FROM STREAM s.o", "SCRIPT"),
        ("SELECT id FROM STREAM s.o TABLESAMPLE (10 PERCENT)", "SAMPLE"),
        ("SELECT id FROM STREAM s.o LIMIT 3 OFFSET 2", "OFFSET"),
        ("SELECT id FROM STREAM s.o EXCEPT SELECT id FROM s.p", "EXCEPT"),
        ("SELECT id FROM STREAM s.o SORT BY id", "SORT"),
        ("SELECT id FROM STREAM s.o WHERE id IN (SELECT id FROM STREAM s.p)", "SUBQUERY"),
        ("SELECT (SELECT id FROM STREAM s.p) AS m FROM s.o", "SUBQUERY"),
        ("SELECT id FROM STREAM s.o JOIN s.rows_of(3) USING (id)", "TABLE_FUNCTION"),
        ("SELECT id FROM STREAM s.o JOIN s.q SELECT", "UNREADABLE"),
        ("SELECT id FROM STREAM s.other", "UNNAMED_STREAM"),
        (f"SELECT w FROM {SESSIONS} GROUP BY w", "SESSION_WINDOW_ALONE"),
        (f"SELECT c FROM {GROUPS} UNION ALL SELECT d FROM STREAM s.p", "UNION_OF_STATE"),
    ],
)
def test_what_no_stream_has(query, code):
    assert problems(query) == [code]


@pytest.mark.parametrize(
    "side",
    [
        "(SELECT id, count(*) AS n FROM s.p GROUP BY id ORDER BY n LIMIT 5)",
        "(SELECT id, row_number() OVER (ORDER BY id) AS n FROM s.p)",
        "(SELECT * FROM s.p TABLESAMPLE (10 PERCENT))",
        "(SELECT * FROM s.p PIVOT (max(ts2) FOR d IN ('a', 'b')))",
        "range(10)",
        "(SELECT id FROM s.p EXCEPT SELECT id FROM s.f)",
        "(VALUES (1), (2))",
        f"(SELECT id, ts FROM s.f {LATE})",
    ],
)
def test_a_side_that_is_no_stream_may_be_anything(side):
    found = streamed(f"SELECT o.c FROM STREAM s.o JOIN {side} AS q ON q.id = o.v")
    assert [reason.code for reason in found.reasons] == ["STATIC_SIDE"]


def test_a_function_that_may_aggregate_is_left_to_spark():
    """Spark refuses to add the rows of an aggregate without a watermark to group by."""
    found = streamed("SELECT s.f(v) AS x FROM STREAM s.o")
    assert (found.output_mode, found.stateful) == (OutputMode.APPEND, False)
    side = "(SELECT s.f(id) AS id FROM s.p) AS q"
    assert streamed(f"SELECT o.id FROM STREAM s.o JOIN {side} ON q.id = o.id").followed
    assert problems(f"SELECT s.f(n) AS n FROM {GROUPS}") == ["NO_WATERMARK", "KEY_NOT_IN_RESULT"]
    assert problems("SELECT s.f(v) AS x FROM STREAM s.o LIMIT 3") == ["LIMIT"]
    distinct = problems("SELECT DISTINCT s.f(v) AS x FROM STREAM s.o")
    assert distinct == ["NO_WATERMARK", "UNKNOWN_FUNCTION"]


def test_rows_that_were_seen_may_be_filtered_but_not_joined_again():
    seen = "(SELECT DISTINCT id, c FROM STREAM s.o)"
    assert streamed(f"SELECT * FROM {seen} WHERE id > 1").key == (frozenset({0}), frozenset({1}))
    joined = f"SELECT q.*, d FROM {seen} AS q JOIN s.p USING (id)"
    assert problems(joined) == ["NO_WATERMARK", "JOIN_AFTER_STATE"]


def test_the_delay_of_a_watermark_in_the_query_is_shown():
    (late,) = [r for r in shape_of("window").reasons if r.code == "WATERMARK"]
    assert late.text == "rows that come more than 10 seconds late by ts may be left out"
    query = (
        "SELECT DISTINCT ts FROM STREAM s.o WATERMARK ts DELAY OF INTERVAL '1:30' MINUTE TO SECOND"
    )
    (late,) = [r for r in streamed(query).reasons if r.code == "WATERMARK"]
    assert "more than interval '1:30' minute to second late" in late.text


def test_groups_are_named_as_the_query_names_them():
    query = (
        "SELECT 1 AS n FROM STREAM s.o GROUP BY window(ts, '1 hour'), `c`, date_trunc('HOUR', ts)"
    )
    (reason,) = [r for r in shape_and_lost(query) if r.code == "GROUPS"]
    assert reason.text == "groups are kept as state: window, c, date_trunc('HOUR', ts)"


def shape_and_lost(query):
    keyed = query.replace("1 AS n", "window, c, date_trunc('HOUR', ts) AS h")
    return streamed(keyed).reasons


def test_a_view_ends_a_watermark_because_spark_casts_its_columns():
    late = f"SELECT ts, count(*) AS n FROM (SELECT ts FROM STREAM s.o {LATE}) GROUP BY ts"
    assert "UNBOUNDED_STATE" not in [r.code for r in streamed(late).reasons]
    found = streamed("SELECT ts, count(*) AS n FROM s.sv GROUP BY ts")
    assert "UNBOUNDED_STATE" in [r.code for r in found.reasons]


def test_a_view_that_is_not_known_is_no_table():
    view = Source(TableName("hidden", "s", "spark_catalog"), SourceKind.VIEW)
    query = "SELECT o.id FROM STREAM s.o JOIN s.hidden USING (id)"
    assert problems(query, tables=(*SOURCES, view)) == ["UNCLEAR_PLAN"]


def test_every_followed_table_is_found():
    assert problems("SELECT id FROM s.o", DELTA, FILES) == ["UNCLEAR_PLAN"]
    upper = "SELECT ID FROM S.O"
    assert streamed(upper, DELTA).followed == (str(DELTA),)


def test_an_unexpected_failure_is_no_stream():
    assert [r.code for r in refused(lambda: stream_shape(Tree(None, ()), ()))] == ["UNEXPECTED"]
