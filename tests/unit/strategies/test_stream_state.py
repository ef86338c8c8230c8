"""Whether state fits to a changed query."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.query.operator_builder import operator_tree
from dbt.adapters.spark_mt.query.operators import Tree
from dbt.adapters.spark_mt.strategies.strategy import STATEFUL, STREAM, Choice, OutputMode
from dbt.adapters.spark_mt.strategies.stream_state import state_problems, stateful_operators
from tests.unit.strategies.stream_queries import COLUMNS, CONTEXT, DELTA, OTHER, VIEWS, query_tree

ENGINE = Choice(STREAM, STATEFUL, output_mode=OutputMode.UPDATE, key=("k",), followed=(str(DELTA),))


def tree_of(query):
    return operator_tree(query, CONTEXT, sources=COLUMNS, views=VIEWS)


def problems(before, after, engine=ENGINE):
    return state_problems((query_tree(before), ENGINE), (query_tree(after), engine))


def changed(before, after):
    """What does not fit, for two queries of which all tables are read as streams."""
    engine = replace(ENGINE, followed=(str(DELTA), str(OTHER)))
    return state_problems((tree_of(before), engine), (tree_of(after), engine))


@pytest.mark.parametrize(
    "plan",
    [
        *("agg", "window", "window_struct", "session", "distinct", "join_inner_wm", "agg_agg"),
        *("window_slide", "window_time", "stream_view", "union_distinct", "cte"),
    ],
)
def test_every_analysis_means_the_same(plan):
    assert problems(plan, plan) == ()
    assert stateful_operators(query_tree(plan))


def test_operators_around_a_stateful_operator_do_not_count():
    """Another alias, a column of the result that is computed from the same, or none of a key."""
    assert problems("window", "window_struct") == ()
    assert problems("agg", "agg_renamed") == ()


COUNTED = "SELECT c, count(*) AS n FROM STREAM s.o GROUP BY c"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            COUNTED,
            "SELECT 1 + count(*) AS m FROM (SELECT c AS d FROM STREAM s.o) AS q GROUP BY q.d",
        ),
        (COUNTED, "SELECT c, COUNT(*) AS n FROM STREAM s.o AS x WHERE v > 1 GROUP BY 1"),
        (COUNTED, "SELECT c, count(*) AS n FROM STREAM s.o JOIN s.p USING (id) GROUP BY ALL"),
        ("SELECT (c) AS c FROM STREAM s.o GROUP BY (c)", "SELECT c FROM STREAM s.o GROUP BY c"),
    ],
)
def test_state_is_used_again(before, after):
    assert changed(before, after) == ()


def grouped(by, rows="STREAM s.o"):
    return f"SELECT {by} AS k, count(*) AS n FROM {rows} GROUP BY {by}"


EXPLODED = "STREAM s.o LATERAL VIEW explode(split(c, '{}')) e AS x"
LATE = "SELECT DISTINCT id, ts FROM STREAM s.o WATERMARK ts DELAY OF INTERVAL {}"
UNITED = "(SELECT c AS k FROM STREAM s.o UNION ALL SELECT {} AS k FROM STREAM s.p)"
JOINED = "SELECT x.id FROM STREAM s.o AS x JOIN STREAM s.p AS y ON {}"


@pytest.mark.parametrize(
    ("before", "after", "kept", "asked"),
    [
        (
            "SELECT DISTINCT id FROM STREAM s.o",
            "SELECT DISTINCT id, c FROM STREAM s.o",
            "DISTINCT by id",
            "DISTINCT by id, c",
        ),
        (
            COUNTED,
            COUNTED.replace("count(*) AS n", "count(*) AS n, min(id) AS i"),
            "the aggregate by c of count(*)",
            "the aggregate by c of count(*), min(id)",
        ),
        (
            grouped("window(ts, '1 hour', '9 minutes')"),
            grouped("window(ts, '1 hour', '3 minutes')"),
            *tuple(
                f"the aggregate by window(ts, '1 hour', '{n} minutes') of count(*)" for n in (9, 3)
            ),
        ),
        (
            grouped("k", "(SELECT lower(c) AS k FROM STREAM s.o)"),
            grouped("upper(c)"),
            *tuple(f"the aggregate by {name}(c) of count(*)" for name in ("lower", "upper")),
        ),
        (
            JOINED.format("x.id = y.id"),
            JOINED.format("x.v = y.id"),
            "the INNER JOIN by o.id = p.id",
            "the INNER JOIN by o.v = p.id",
        ),
        (
            grouped("o.id", "STREAM s.o JOIN s.p USING (id)"),
            grouped("p.id", "STREAM s.o JOIN s.p"),
            "the aggregate by id of count(*)",
            "the aggregate by p.id of count(*)",
        ),
        (
            LATE.format("10 SECONDS"),
            LATE.format("1 MINUTE"),
            "the watermark by ts of 10 seconds",
            "the watermark by ts of 1 minute",
        ),
        (
            grouped("x", EXPLODED.format(",")),
            grouped("x", EXPLODED.format(";")),
            *tuple(f"the aggregate by explode(split(c, '{c}'))[0] of count(*)" for c in ",;"),
        ),
        (
            grouped("k", UNITED.format("d")),
            grouped("k", UNITED.format("id")),
            *tuple(f"the aggregate by o.c | p.{column} of count(*)" for column in ("d", "id")),
        ),
    ],
)
def test_other_state_is_named(before, after, kept, asked):
    assert changed(before, after) == (f"State was kept for {kept}, and is asked for {asked}.",)


def test_a_subquery_in_a_key_counts():
    largest = "(SELECT (SELECT {}(id) FROM s.p) AS m FROM STREAM s.o)"
    before, after = (grouped("m", largest.format(name)) for name in ("max", "min"))
    assert changed(before, before) == ()
    assert len(changed(before, after)) == 1


def test_operators_that_come_or_go_are_named():
    gone = problems("agg_agg", "stream_rows")
    assert all("which is no longer there" in text for text in gone)
    added = problems("stream_rows", "agg_agg")
    assert all(text.startswith("There is no state for ") for text in added)
    assert len(gone) == len(added) == len(stateful_operators(query_tree("agg_agg"))) == 3


def test_other_sources_modes_and_watermarks():
    engine = replace(ENGINE, output_mode=OutputMode.APPEND, key=(), followed=("s.p",))
    assert len(problems("agg", "agg", engine)) == 2


def test_arithmetic_around_an_aggregate_keeps_nothing():
    (shown,) = stateful_operators(
        tree_of("SELECT c, sum(v) * 2 + count(*) AS n FROM STREAM s.o GROUP BY c")
    )
    assert shown.values == ("sum(v)", "count(*)")


def test_what_is_no_stream_keeps_nothing():
    tree = tree_of(
        "SELECT x.id FROM STREAM s.o AS x JOIN (SELECT DISTINCT id FROM s.p) y USING (id)"
    )
    assert stateful_operators(tree, (str(DELTA),)) == ()
    plain = tree_of("SELECT DISTINCT x.id FROM s.f AS x JOIN s.p AS y USING (id)")
    assert [str(o) for o in stateful_operators(plain, ("spark_catalog.s.F",))] == ["DISTINCT by id"]


def test_names_that_are_not_clear_fit_to_no_state():
    query = "SELECT z, count(*) AS n FROM STREAM s.o GROUP BY z"
    assert "It is not clear for what state is kept: z cannot be resolved." in changed(query, query)


def test_names_do_not_matter_where_no_state_is_kept():
    """As before a process function, whose columns are those of the table."""
    rows = operator_tree("SELECT z FROM STREAM s.o", CONTEXT, ("id", "n"), sources=COLUMNS)
    assert {"UNRESOLVED_COLUMN", "COLUMNS"} <= {code for code, _ in rows.gaps}
    assert state_problems((rows, ENGINE), (rows, ENGINE)) == ()


def test_an_unexpected_failure_fits_to_no_state():
    (found,) = state_problems((Tree(None, ()), ENGINE), (tree_of(COUNTED), ENGINE))
    assert found.startswith("It is not clear for what state is kept: its analysis failed")


def test_an_expression_of_itself_does_not_multiply():
    query = "SELECT v AS x FROM STREAM s.o"
    for _ in range(40):
        query = f"SELECT x + x AS x FROM ({query})"
    (shown,) = stateful_operators(tree_of(f"SELECT x, count(*) AS n FROM ({query}) GROUP BY x"))
    (other,) = stateful_operators(
        tree_of(f"SELECT x, count(*) AS n FROM ({query.replace('x + x', 'x * x', 1)}) GROUP BY x")
    )
    assert len(str(shown)) < 2000
    assert shown != other
