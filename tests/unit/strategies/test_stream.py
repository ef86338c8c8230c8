"""Which table is kept by which engine, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.query.analyzer import LOG_FORMATS, Source, SourceKind
from dbt.adapters.spark_mt.strategies.choice import choose
from dbt.adapters.spark_mt.strategies.strategy import OutputMode
from tests.unit.builders import Engine, analyzed
from tests.unit.strategies.stream_queries import COLUMNS, DELTA, FILES, OTHER, QUERIES, columns

ON_TS = {"options": (("watermark", "ts DELAY OF INTERVAL 10 SECONDS"),)}
OFF = (("incremental", "off"),)
TYPE = {"window": "STRUCT<start: TIMESTAMP, end: TIMESTAMP>"}


def delta(name=DELTA):
    return Source(name, SourceKind.VERSIONED, format="delta")


def log(format_="parquet"):
    return Source(FILES, SourceKind.UNVERSIONED, format=format_)


def chosen(name, *sources, key="", query="", facts=None, **clauses):
    """The engine of a table over one of the plans."""
    text = query or QUERIES[name]["query"]
    ddl = "; ".join(f"{column} {TYPE.get(column, 'STRING')}" for column in columns(name))
    given = {
        "source_columns": COLUMNS,
        "streaming": "modes" in QUERIES[name],
        "expanded": text.replace(" s.", " spark_catalog.s."),
        **(facts or {}),
    }
    found = analyzed(text, ddl, *sources, **given)
    constraints = (PrimaryKey(tuple(key.split()), None),) if key else ()
    declared = DeclaredDefinition(text, constraints=constraints, **clauses)
    plain = DeclaredDefinition(text)
    definition = Engine().knows(analyzed(text, ddl, *sources)).resolve(plain).definition
    return choose(_with(definition, declared, given["expanded"]), found)


def _with(definition, declared, expanded):
    mode = (
        definition.refresh_mode.__class__(declared.refresh_mode.value)
        if declared.refresh_mode
        else None
    )
    return replace(
        definition,
        declared=declared,
        expanded_query=expanded,
        refresh_mode=mode or definition.refresh_mode,
    )


def codes(engine):
    return [reason.code for reason in engine.reasons]


def test_mode_full_is_computed_as_a_whole():
    engine = chosen("batch_rows", delta(), refresh_mode=LogicalRefreshMode.FULL)
    assert (engine.name, codes(engine)) == ("batch/recompute", ["FULL_MODE"])


def test_rows_of_several_tables_are_added_over_one_state_of_all_of_them():
    query = "SELECT * FROM s.o UNION ALL SELECT * FROM s.p"
    both = chosen("batch_rows", delta(), delta(OTHER), query=query)
    assert both.name == "incremental/append"
    assert codes(both) == ["ROW_WISE", "SEVERAL_SOURCES", "VERSIONED_SOURCE", "VERSIONED_SOURCE"]


def test_rows_of_tables_with_versions_are_added():
    engine = chosen("batch_rows", delta())
    assert engine.name == "stream/append"
    assert engine.is_stream
    assert (engine.output_mode, engine.key) == (OutputMode.APPEND, ())
    assert engine.followed == (str(DELTA),)
    assert codes(engine) == ["ROW_WISE", "VERSIONED_SOURCE"]
    assert engine.reasons[-1].subject == str(DELTA)


@pytest.mark.parametrize("format_", sorted(LOG_FORMATS))
def test_rows_of_logs_are_added_or_replace_rows_of_the_same_key(format_):
    engine = chosen("batch_distinct", log(format_), query="SELECT c FROM s.f")
    assert (engine.name, engine.key) == ("stream/append", ())
    keyed = chosen("batch_distinct", log(format_), query="SELECT c FROM s.f", key="c")
    assert (keyed.name, keyed.key, "UPSERT" in codes(keyed)) == ("stream/append", ("c",), True)


def test_a_declared_key_over_rows_that_may_change_is_computed():
    engine = chosen("batch_rows", delta(), key="id", options=OFF)
    assert (engine.name, codes(engine)) == ("incremental/recompute", ["PRIMARY_KEY"])


@pytest.mark.parametrize("format_", ["hive", "jdbc", ""])
def test_a_source_that_no_stream_follows_is_read_as_a_whole(format_):
    engine = chosen("batch_distinct", log(format_), query="SELECT c FROM s.f")
    assert (engine.name, codes(engine)) == ("incremental/recompute", ["NOT_A_STREAM"])
    assert engine.reasons[0].subject == str(FILES)


def test_groups_of_tables_with_versions_are_computed_unless_a_watermark_asks_for_a_stream():
    for key in ("", "c", "c ws"):
        engine = chosen("batch_window", delta(), key=key, options=OFF)
        assert (engine.name, codes(engine)) == ("incremental/recompute", ["GROUPS"])
    engine = chosen("batch_window", delta(), **ON_TS)
    assert (engine.name, engine.output_mode) == ("stream/stateful", OutputMode.UPDATE)
    assert engine.key == ("ws", "c")
    assert [(name, mark.column) for name, mark in engine.watermarks] == [(str(DELTA), "ts")]
    assert "WATERMARK_DECLARED" in codes(engine)


def test_a_watermark_in_a_plain_query_asks_for_a_stream_as_well():
    engine = chosen("batch_wm_view", delta())
    assert (engine.name, engine.key) == ("stream/stateful", ("ws",))


def test_groups_of_logs_are_kept_as_state():
    engine = chosen("batch_file_window", log())
    assert (engine.name, engine.key) == ("stream/stateful", ("ws", "c"))
    assert codes(engine)[0] == "ONLY_LOGS"
    assert codes(engine)[-1] == "LOG_SOURCE"


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("batch_having", ["NO_WATERMARK", "FILTER_AFTER_GROUPS", "READ_WHOLE"]),
        ("batch_over", ["WINDOW_FUNCTION", "READ_WHOLE"]),
        ("multi_distinct", ["DISTINCT_AGGREGATE", "READ_WHOLE"]),
    ],
)
def test_logs_of_which_no_stream_can_be_made_are_read_as_a_whole(name, reasons):
    engine = chosen(name, log())
    assert (engine.name, codes(engine)) == ("incremental/recompute", reasons)


def test_a_declared_key_is_what_is_grouped_by_or_there_is_no_stream():
    assert chosen("batch_file_window", log(), key="c ws").key == ("c", "ws")
    for key in ("c", "c n", "c ws n"):
        engine = chosen("batch_file_window", log(), key=key)
        assert codes(engine) == ["KEY_IS_NOT_GROUP", "READ_WHOLE"]


def test_the_key_goes_by_the_start_or_the_end_of_a_window():
    stream = chosen("window_both", delta())
    assert (stream.name, stream.key) == ("stream/stateful", ("ws", "c"))
    assert chosen("window_both", delta(), key="c we").key == ("c", "we")


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"pinnable": False}, "NOT_PINNABLE"),
        ({"source_columns": ()}, "NO_WATERMARK"),
        ({"time_dependent": ("now",)}, "TIME_DEPENDENT"),
        ({"nondeterministic": ("rand",)}, "NONDETERMINISTIC"),
    ],
)
def test_reasons_why_a_plain_query_is_no_stream(facts, code):
    engine = chosen("batch_file_window", log(), facts=facts)
    assert engine.name == "incremental/recompute"
    assert codes(engine)[0] == code


def test_a_sort_keeps_rows_from_being_streamed():
    facts = {"streaming": False}
    query = "SELECT id FROM s.o ORDER BY id"
    choice = chosen("orderby", delta(), facts=facts, query=query, options=OFF)
    assert (choice.name, codes(choice)) == ("incremental/append", ["ROW_WISE", "VERSIONED_SOURCE"])
    assert [(name, reason.code) for name, reason in choice.refusals] == [("stream", "SORT")]


def test_a_query_that_says_stream_itself():
    engine = chosen("stream_static", delta(), delta(OTHER))
    assert (engine.name, engine.followed) == ("stream/append", (str(DELTA),))
    assert codes(engine) == ["STREAM_QUERY", "STATIC_SIDE", "VERSIONED_SOURCE"]
    assert engine.keeps_checkpoint
    keyed = chosen("stream_static", delta(), delta(OTHER), key="id")
    assert keyed.key == ("id",)
    timed = chosen("stream_rows", delta(), facts={"time_dependent": ("current_date",)})
    assert "TIME_OF_BATCH" in codes(timed)
    assert chosen("agg_having", delta()).name == "incremental/recompute"


@pytest.mark.parametrize("format_", ["rate", "rate-micro-batch"])
def test_generated_rows_are_a_stream_without_the_keyword(format_):
    """Spark reads such a table as a stream, whatever the query says."""
    facts = {"streaming": True}
    choice = chosen("batch_distinct", log(format_), query="SELECT c FROM s.f", facts=facts)
    assert (choice.name, choice.followed) == ("stream/append", (str(FILES),))
    assert codes(choice)[0] == "STREAM_QUERY"


def test_a_source_joined_with_a_fixed_version_of_itself_is_no_stream():
    query = "SELECT c, count(*) AS n FROM s.f JOIN s.f VERSION AS OF 1 USING (c) GROUP BY c"
    engine = chosen("batch_file_agg", log(), query=query)
    assert codes(engine) == ["VERSION", "READ_WHOLE"]


def test_reasons_have_a_text_and_a_code():
    engine = chosen("batch_rows", delta())
    assert str(engine.reasons[0]).startswith("ROW_WISE: every row")
    assert engine.reason.count(";") == 1
