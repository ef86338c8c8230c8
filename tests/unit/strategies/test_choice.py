"""Which strategy keeps a table, which one a refresh uses, and why others are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import FieldName, PrimaryKey, SourceColumns, TableName
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.definition.positions import (
    ADOPTED,
    BEFORE_ALL,
    Baseline,
    ChangeKind,
    DefinitionPosition,
    OffsetPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.strategies.choice import STRATEGIES, choose
from dbt.adapters.spark_mt.strategies.strategy import Cost, RefreshInputs, Refusal, Request, Write
from tests.unit.builders import QUERY, QUERY_COLUMNS, Engine, analyzed, table_source

ORDERS = "spark_catalog.sales.orders"
OLD, NEW = VersionedPosition(2, "b"), VersionedPosition(4, "d")
SINCE = ((ORDERS, OLD),)
ROWS = QUERY
GROUPS = "SELECT user_id, max(price) AS price FROM orders GROUP BY user_id"
WHOLE = "SELECT DISTINCT user_id FROM orders"
DDL = {
    ROWS: QUERY_COLUMNS,
    GROUPS: "user_id INT; price DECIMAL(10,2)",
    WHOLE: "user_id INT",
}
KEPT = Baseline(SINCE, 9, "START_MODE = FROM_NOW")
FRESH = Baseline(SINCE, None, "START_MODE = FROM_NOW")
TAKEN_OVER = Baseline(SINCE, 9, ADOPTED)
DELTA = replace(table_source("orders"), format="delta")
KAFKA = replace(DELTA, kind=SourceKind.UNVERSIONED, format="kafka")
JDBC = replace(KAFKA, format="jdbc")
COLUMNS = SourceColumns(ORDERS, tuple(map(FieldName, ("user_id", "price", "day", "id"))))
GAINED = {ORDERS: ChangeKind.ADDED}


def table(query=ROWS, *sources, key="", **clauses):
    """A definition and its query; the key is one column."""
    facts = {"source_columns": (COLUMNS,)}
    found = analyzed(query, DDL[query], *(sources or (DELTA,)), **facts)
    constraints = (PrimaryKey((key,), None),) if key else ()
    declared = DeclaredDefinition(query, constraints=constraints, **clauses)
    return Engine().knows(found).resolve(declared).definition, found


def now(kinds=None, request=Request.REFRESH, **facts):
    """What a refresh finds: the table's rows are those of version 2, its source is at version 4."""
    given = {
        "positions": dict(SINCE),
        "newest": {ORDERS: NEW},
        "changes": lambda since: {name: (kinds or GAINED)[name] for name, _ in since},
        "is_readable": bool,
        **facts,
    }
    return RefreshInputs(request, **given)


def codes(reasons):
    return [reason.code for reason in reasons]


def why(choice, strategy):
    """The codes by which a strategy was refused."""
    found = [r for r in choice.refused if r.strategy == strategy]
    return codes(found[0].reasons) if found else None


@pytest.mark.parametrize(
    ("query", "key", "baseline", "name", "possible"),
    [
        (ROWS, "", None, "stream/append", ("stream", "append", "recompute")),
        (ROWS, "user_id", None, "incremental/recompute", ("recompute",)),
        (GROUPS, "user_id", None, "incremental/differential", ("differential", "recompute")),
        (WHOLE, "", None, "incremental/differential", ("differential", "recompute")),
        (ROWS, "", KEPT, "incremental/append", ("append",)),
        (ROWS, "", FRESH, "incremental/append", ("append", "window")),
        (ROWS, "user_id", KEPT, "incremental/merge", ("merge",)),
        (ROWS, "user_id", FRESH, "incremental/merge", ("merge", "window")),
        (GROUPS, "user_id", KEPT, "incremental/merge", ("merge",)),
        (GROUPS, "user_id", FRESH, "incremental/window", ("window",)),
        (WHOLE, "", FRESH, "incremental/window", ("window",)),
        (WHOLE, "", KEPT, "incremental/none", ()),
        (ROWS, "", TAKEN_OVER, "incremental/append", ("append",)),
        (WHOLE, "", TAKEN_OVER, "incremental/recompute", ("recompute",)),
    ],
)
def test_a_table_is_kept_by_the_first_strategy_that_is_possible(
    query, key, baseline, name, possible
):
    choice = choose(*table(query, key=key), baseline)
    assert (choice.name, choice.possible) == (name, possible)
    assert choice.reasons
    assert {refusal.strategy for refusal in choice.refused} == {
        strategy.name for strategy in STRATEGIES
    } - set(possible)


@pytest.mark.parametrize(
    ("query", "key", "baseline", "strategy", "code"),
    [
        (ROWS, "", KEPT, "stream", "BASELINE"),
        (GROUPS, "user_id", None, "stream", "GROUPS"),
        (ROWS, "user_id", None, "append", "PRIMARY_KEY"),
        (GROUPS, "user_id", KEPT, "append", "GROUPS"),
        (WHOLE, "", None, "append", "DISTINCT"),
        (ROWS, "user_id", None, "merge", "NO_BASELINE"),
        (ROWS, "", KEPT, "merge", "NO_KEY"),
        (WHOLE, "", KEPT, "merge", "DISTINCT"),
        (GROUPS, "user_id", FRESH, "merge", "BASELINE"),
        (WHOLE, "", None, "window", "NO_BASELINE"),
        (WHOLE, "", KEPT, "window", "KEPT_ROWS"),
        (WHOLE, "", KEPT, "recompute", "BASELINE"),
        (ROWS, "", TAKEN_OVER, "recompute", "BASELINE"),
    ],
)
def test_a_refusal_keeps_its_reason(query, key, baseline, strategy, code):
    assert why(choose(*table(query, key=key), baseline), strategy) == [code]


def test_mode_full_refuses_every_other_strategy():
    choice = choose(*table(refresh_mode=LogicalRefreshMode.FULL))
    assert (choice.name, codes(choice.reasons)) == ("batch/recompute", ["FULL_MODE"])
    assert {refusal.reasons for refusal in choice.refused} == {choice.reasons}
    assert choice.refusals == (), "one reason is shown once"


def test_sources_that_do_not_record_changes_are_read_as_a_whole():
    choice = choose(*table(ROWS, JDBC))
    assert choice.name == "incremental/recompute"
    assert why(choice, "append") == ["READ_WHOLE"]
    assert choose(*table(ROWS, JDBC), FRESH).strategy == "none"


def test_a_stream_over_several_sources_has_no_common_state_to_record():
    other = replace(KAFKA, name=TableName("other", "sales", "spark_catalog"))
    query = "SELECT user_id, product_id, price FROM orders UNION ALL SELECT * FROM other"
    found = analyzed(query, QUERY_COLUMNS, KAFKA, other)
    definition = Engine().knows(found).resolve(DeclaredDefinition(query)).definition
    choice = choose(definition, found)
    assert choice.name == "incremental/append"
    assert why(choice, "stream") == ["ROW_WISE", "SEVERAL_SOURCES"]


def test_a_refresh_adds_what_the_sources_gained():
    choice = choose(*table(), None, now())
    assert (choice.name, choice.write, choice.since) == ("incremental/append", Write.ADD, SINCE)
    assert why(choice, "stream") == ["ONE_COMMIT"]


def test_a_host_runs_the_stream_and_reads_no_changes():
    inputs = now(request=Request.HOST, changes=None)
    choice = choose(*table(), None, inputs)
    assert (choice.name, choice.runs_batches) == ("stream/append", True)
    for facts, code in (
        ({"is_readable": lambda _: False}, "SOURCE_RECREATED"),
        ({"positions": None}, "POSITIONS_UNKNOWN"),
        ({"positions": {}}, "POSITIONS_UNKNOWN"),
        ({"newest": {ORDERS: NEW, "v": DefinitionPosition("f")}}, "VIEW_CHANGED"),
    ):
        other = choose(*table(), None, replace(inputs, **facts))
        assert (other.strategy, why(other, "stream")) == ("append", [code])
        assert not other.runs_batches
    no_streams = Refusal.of("stream", "NO_STREAMS", "over Connect")
    assert choose(*table(), None, inputs, (no_streams,)).name == "incremental/append"


@pytest.mark.parametrize(
    ("kinds", "facts", "code"),
    [
        (ChangeKind.REMOVED, {}, "ROWS_CHANGED"),
        (ChangeKind.GONE, {}, "SOURCE_HISTORY_GONE"),
        (ChangeKind.REPLACED, {}, "SOURCE_RECREATED"),
        (ChangeKind.ADDED, {"request": Request.FORCED}, "ALL_ROWS"),
        (ChangeKind.ADDED, {"request": Request.FILL}, "ALL_ROWS"),
        (ChangeKind.ADDED, {"request": Request.PARTITIONS}, "ALL_ROWS"),
        (ChangeKind.ADDED, {"positions": None}, "POSITIONS_UNKNOWN"),
        (
            ChangeKind.ADDED,
            {"newest": {ORDERS: NEW, "v": DefinitionPosition("f")}},
            "VIEW_CHANGED",
        ),
    ],
)
def test_without_a_baseline_all_rows_are_computed_where_none_can_be_added(kinds, facts, code):
    choice = choose(*table(), None, now({ORDERS: kinds}, **facts))
    assert (choice.name, choice.write, choice.since) == (
        "incremental/recompute",
        Write.REPLACE,
        None,
    )
    assert why(choice, "append") == [code]
    assert codes(choice.reasons) == [code]


def test_what_a_log_dropped_is_in_the_table_alone():
    before = {ORDERS: OffsetPosition("kafka", '{"o":{"0":1}}')}
    inputs = now({ORDERS: ChangeKind.GONE}, positions=before)
    choice = choose(*table(ROWS, KAFKA), None, inputs)
    assert (choice.strategy, codes(choice.reasons)) == ("none", ["SOURCE_HISTORY_GONE"])
    (final,) = [refusal for refusal in choice.refused if refusal.is_final]
    assert (final.strategy, final.since) == ("append", tuple(before.items()))


def test_changed_rows_are_merged_by_key_or_end_the_table():
    removed = now({ORDERS: ChangeKind.REMOVED})
    merged = choose(*table(GROUPS, key="user_id"), KEPT, removed)
    assert (merged.name, merged.write, merged.since) == ("incremental/merge", Write.KEYS, SINCE)
    ended = choose(*table(), KEPT, removed)
    assert (ended.strategy, codes(ended.reasons)) == ("none", ["ROWS_CHANGED"])
    for kind in (ChangeKind.GONE, ChangeKind.REPLACED):
        assert choose(*table(GROUPS, key="user_id"), KEPT, now({ORDERS: kind})).strategy == "none"


def test_where_no_row_changed_a_commit_without_rows_records_the_positions():
    choice = choose(*table(GROUPS, key="user_id"), KEPT, now({ORDERS: ChangeKind.NONE}))
    assert (choice.name, choice.write, codes(choice.reasons)) == (
        "incremental/append",
        Write.ADD,
        ["NO_CHANGE"],
    )


def test_a_window_is_chosen_where_added_rows_are_not_enough():
    by_version = {OLD: ChangeKind.REMOVED, BEFORE_ALL: ChangeKind.ADDED}
    start = replace(FRESH, positions=((ORDERS, BEFORE_ALL),))
    inputs = now(changes=lambda since: {name: by_version[at] for name, at in since})
    choice = choose(*table(), start, inputs)
    assert (choice.name, choice.write, choice.since) == (
        "incremental/window",
        Write.REPLACE,
        start.positions,
    )
    assert why(choice, "append") == ["ROWS_CHANGED"]
    views = {ORDERS: NEW, "v": DefinitionPosition("f")}
    assert choose(*table(), FRESH, now(newest=views)).strategy == "window"
    assert choose(*table(), KEPT, now(newest=views)).strategy == "append", "kept rows stay"


@pytest.mark.parametrize(
    ("baseline", "facts", "code"),
    [
        (FRESH, {"kinds": {ORDERS: ChangeKind.REMOVED}}, "ROWS_CHANGED"),
        (replace(FRESH, positions=()), {}, "POSITIONS_UNKNOWN"),
        (
            replace(FRESH, positions=((ORDERS, BEFORE_ALL),)),
            {"is_readable": lambda _: False},
            "SOURCE_RECREATED",
        ),
    ],
)
def test_a_window_ends_where_the_rows_since_the_start_are_not_known(baseline, facts, code):
    choice = choose(*table(WHOLE), baseline, now(**facts))
    assert (choice.strategy, why(choice, "window")) == ("none", [code])
    assert choose(*table(WHOLE), baseline, now(request=Request.FILL)).strategy == "window"


RETYPED = {"changed_types": lambda since: {name: ("a was INT and is BIGINT",) for name, _ in since}}


@pytest.mark.parametrize(
    ("query", "key", "baseline", "request_", "refusing"),
    [
        (ROWS, "", None, Request.REFRESH, ("append",)),
        (ROWS, "", None, Request.HOST, ("stream",)),
        (WHOLE, "", None, Request.REFRESH, ("differential",)),
        (ROWS, "", KEPT, Request.REFRESH, ("append",)),
        (ROWS, "", FRESH, Request.REFRESH, ("append",)),
        (ROWS, "user_id", KEPT, Request.REFRESH, ("merge",)),
        (WHOLE, "", FRESH, Request.REFRESH, ("window",)),
    ],
)
def test_changes_of_sources_with_other_types_are_not_applied(
    query, key, baseline, request_, refusing
):
    inputs = now(request=request_, changes=None, extents=None, **RETYPED)
    choice = choose(*table(query, key=key), baseline, inputs)
    for strategy in refusing:
        assert why(choice, strategy) == ["SOURCE_TYPES_CHANGED"]
    if baseline is not None:
        assert choice.strategy == "none", "it cannot be computed again: it is suspended"
        assert choice.refused[0].is_final
        assert "a was INT and is BIGINT" in choice.reason
    elif request_ is Request.REFRESH:
        assert (choice.strategy, codes(choice.reasons)) == ("recompute", ["SOURCE_TYPES_CHANGED"])


def test_partitions_are_computed_whole_or_over_the_window():
    inputs = now(request=Request.PARTITIONS)
    assert choose(*table(), None, inputs).since is None
    assert choose(*table(), FRESH, inputs).since == SINCE
    assert choose(*table(), KEPT, inputs).strategy == "none"


LOGS = replace(KAFKA, format="json")


def test_a_stream_with_a_checkpoint_resumes_on_request_or_begins_again():
    kept = choose(*table(ROWS, LOGS))
    assert (kept.name, kept.keeps_checkpoint) == ("stream/append", True)
    resumed = choose(*table(ROWS, LOGS), None, now(can_resume=lambda: True))
    assert (resumed.name, resumed.runs_batches) == ("stream/append", True)
    again = choose(*table(ROWS, LOGS), None, now())
    assert (again.name, again.write) == ("stream/recompute", Write.REPLACE)
    assert (again.followed, again.key) == (kept.followed, kept.key)
    assert why(again, "stream") == ["CHECKPOINT_LOST"]
    assert codes(again.reasons) == ["CHECKPOINT_LOST"]
    failed = Refusal.of("stream", "STREAM_FAILED", "it failed")
    after = choose(*table(ROWS, LOGS), None, now(can_resume=lambda: True), (failed,))
    assert (after.name, codes(after.reasons)) == ("stream/recompute", ["STREAM_FAILED"])


def test_the_cost_is_that_of_the_last_refresh_by_the_same_strategy():
    costs = {"append": Cost(1.5, 20)}
    assert str(choose(*table(), None, now(costs=costs)).cost) == "1.5 seconds, 20 rows"
    assert choose(*table(), None, now(costs=costs, request=Request.FORCED)).cost is None
    kept = choose(*table(), None, RefreshInputs(Request.KEEP, costs=costs))
    assert (kept.name, str(kept.cost)) == ("stream/append", "1.5 seconds, 20 rows")


def test_what_is_shown_of_refusals_adds_to_the_reasons():
    choice = choose(*table(GROUPS, key="user_id", options=(("incremental", "off"),)))
    assert codes(choice.reasons) == ["GROUPS"]
    assert choice.refusals == ()
    assert choice.explanation.startswith("GROUPS: it groups rows")
    kept = choose(*table(ROWS, key="user_id"), KEPT)
    shown = {(strategy, reason.code) for strategy, reason in kept.refusals}
    assert shown == {
        ("stream", "PRIMARY_KEY"),
        ("append", "PRIMARY_KEY"),
        ("window", "KEPT_ROWS"),
        ("differential", "BASELINE"),
        ("recompute", "BASELINE"),
    }


def test_a_lost_checkpoint_ends_a_table_whose_query_cannot_be_applied_to_changes():
    kept = replace(KEPT, positions=())
    choice = choose(*table(ROWS, LOGS), kept, now())
    assert choice.possible == ("stream",)
    assert (choice.strategy, why(choice, "stream")) == ("none", ["CHECKPOINT_LOST"])
    assert codes(choice.reasons) == why(choice, "append")
