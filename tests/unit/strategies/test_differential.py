"""The strategy that derives the change of a result: when it is chosen, and why it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import ColumnSpec, FieldName, SourceColumns, TableName
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.freshness import Freshness
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.definition.positions import (
    Baseline,
    ChangeExtent,
    ChangeKind,
    DefinitionPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.query import differential, operator_sql, partial_sums
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.query.operator_builder import definition_tree
from dbt.adapters.spark_mt.strategies.choice import choose
from dbt.adapters.spark_mt.strategies.differential import slower
from dbt.adapters.spark_mt.strategies.strategy import (
    Cost,
    RefreshInputs,
    Refusal,
    Request,
    Write,
)
from tests.support.errors import raises
from tests.unit.builders import Engine, analyzed, table_source

NAME = "differential"
ORDERS = "spark_catalog.sales.orders"
OLD, NEW = VersionedPosition(2, "b"), VersionedPosition(4, "d")
SOURCE = replace(table_source("orders"), format="delta")
COLUMNS = SourceColumns(ORDERS, tuple(map(FieldName, ("user_id", "price", "day", "id"))))
GROUPS = "SELECT user_id, max(price) AS price FROM orders GROUP BY user_id"
ROWS = "SELECT user_id, price FROM orders"
HIGHEST = f"SELECT o.user_id, o.price FROM orders o JOIN ({GROUPS}) USING (user_id, price)"
DDL = "user_id INT; price DECIMAL(10,2)"
STRICT = (("incremental", "strict"),)
FEW = ChangeExtent(ChangeKind.REMOVED, 150_000, 1_000_000)


def table(query=GROUPS, source=SOURCE, options=STRICT, facts=None, **clauses):
    found = analyzed(query, DDL, source, source_columns=(COLUMNS,), **(facts or {}))
    declared = DeclaredDefinition(query, options=options, **clauses)
    return Engine().knows(found).resolve(declared).definition, found


def now(extent=FEW, request=Request.REFRESH, **facts):
    """What a refresh finds: the rows are those of version 2, the source is at version 4."""
    given = {
        "positions": {ORDERS: OLD},
        "newest": {ORDERS: NEW},
        "changes": lambda since: {name: extent.kind for name, _ in since},
        "extents": lambda since: {name: extent for name, _ in since},
        **facts,
    }
    return RefreshInputs(request, **given)


def codes(choice, strategy=NAME):
    """The codes by which a strategy was refused."""
    found = next(refusal for refusal in choice.refused if refusal.strategy == strategy)
    return [reason.code for reason in found.reasons]


def test_it_keeps_a_table_whose_query_has_rules():
    choice = choose(*table())
    assert (choice.name, choice.write) == ("incremental/differential", Write.CHANGE)
    assert choice.possible == (NAME, "recompute")
    assert [reason.code for reason in choice.reasons] == ["RULES", "VERSIONED_SOURCE"]
    assert choice.reads_changes


def test_no_sql_is_written_to_choose(monkeypatch):
    given = table()
    kept, chosen = choose(*given), choose(*given, None, now())

    def refused(*_):
        raise AssertionError

    monkeypatch.setattr(operator_sql, "_Renderer", refused)
    for inputs, found in (((), kept), ((None, now()), chosen)):
        differential.obstacles.__wrapped__.cache_clear()
        partial_sums.partial_sums.cache_clear()
        again = choose(*given, *inputs)
        assert (again.name, again.explanation) == (found.name, found.explanation)
        assert "RULES" in [reason.code for reason in again.reasons]


def test_when_switched_off_nothing_is_printed():
    choice = choose(*table(options=(("incremental", "off"),)))
    assert (choice.name, choice.possible) == ("incremental/recompute", ("recompute",))
    assert codes(choice) == ["SWITCHED_OFF"]
    assert [strategy for strategy, _ in choice.refusals] == ["append"]


def test_strict_refuses_a_query_with_every_obstacle():
    query = "SELECT user_id, price FROM orders LIMIT 3"
    with raises(conditions.NOT_INCREMENTAL) as caught:
        table(query)
    (violation,) = caught.value.violations
    assert violation.startswith("it limits the number of rows of a whole result (Write ORDER BY")
    assert violation.endswith("(GLOBAL_LIMIT)")


def test_changes_that_are_found_by_comparing_all_rows_are_so_only_where_the_option_is_strict():
    extent = ChangeExtent(ChangeKind.REMOVED, 1, 1_000_000, "the mode to by-row")
    choice = choose(*table(options=()), None, now(extent))
    assert (choice.strategy, codes(choice)) == ("recompute", ["MERGE_ON_READ_SOURCE"])
    assert choice.reasons[0].subject == ORDERS
    assert choice.reasons[0].text.endswith("set the mode to by-row")
    choice = choose(*table(), None, now(extent))
    assert (choice.strategy, choice.reasons[0].code) == (NAME, "MERGE_ON_READ_SOURCE")


def test_small_sources_and_large_changes_are_read_whole_unless_the_option_is_strict():
    small, large = (ChangeExtent(ChangeKind.REMOVED, *size) for size in ((1, 400_000), (16, 100)))
    for extent, code in ((small, "SMALL_SOURCES"), (large, "CHANGE_TOO_LARGE")):
        choice = choose(*table(options=()), None, now(extent))
        assert (choice.strategy, codes(choice)) == ("recompute", [code])
        choice = choose(*table(), None, now(extent))
        assert (choice.strategy, choice.reasons[0].code) == (NAME, code)


COLD, COLD_CHANGES = Cost(10.0, ago=2, is_cold=True), Cost(30.0, repeated=2, is_cold=True)


@pytest.mark.parametrize(
    ("costs", "code"),
    [
        ({}, "SMALL_CHANGE"),
        ({"recompute": Cost(1.9)}, "SHORT_RECOMPUTE"),
        ({"recompute": Cost(2.0)}, "CHANGES_WOULD_TAKE_LONGER"),
        ({"recompute": Cost(2.0), NAME: Cost(0.5, ago=99)}, "CHANGES_WOULD_TAKE_LONGER"),
        ({"recompute": Cost(5.0)}, "SMALL_CHANGE"),
        ({"recompute": Cost(10.0, ago=1), NAME: Cost(30.0, repeated=1)}, "SMALL_CHANGE"),
        ({"recompute": Cost(10.0, ago=1), NAME: Cost(30.1, repeated=1)}, "CHANGES_TOOK_LONGER"),
        ({"recompute": Cost(10.0, ago=2), NAME: Cost(12.0, repeated=2)}, "SMALL_CHANGE"),
        ({"recompute": Cost(10.0, ago=2), NAME: Cost(13.0, repeated=2)}, "CHANGES_TOOK_LONGER"),
        ({"recompute": Cost(10.0, repeated=1), NAME: Cost(9.0, ago=1)}, "CHANGES_TOOK_LONGER"),
        ({"recompute": Cost(10.0, repeated=1), NAME: Cost(7.0, ago=1)}, "SMALL_CHANGE"),
        ({"recompute": Cost(10.0, repeated=21), NAME: Cost(14.9, ago=20)}, "CHANGES_TOOK_LONGER"),
        ({"recompute": Cost(10.0, repeated=21), NAME: Cost(14.9, ago=21)}, "SMALL_CHANGE"),
        ({"recompute": Cost(10.0, repeated=80), NAME: Cost(30.0, ago=80)}, "CHANGES_TOOK_LONGER"),
        ({"recompute": Cost(10.0, repeated=81), NAME: Cost(30.0, ago=81)}, "SMALL_CHANGE"),
        ({"recompute": Cost(10.0, ago=20), NAME: Cost(9.0, repeated=20)}, "SMALL_CHANGE"),
        ({"recompute": Cost(10.0, ago=21), NAME: Cost(6.7, repeated=21)}, "OLD_DURATION"),
        ({"recompute": Cost(10.0, ago=21), NAME: Cost(6.6, repeated=21)}, "SMALL_CHANGE"),
        ({"recompute": COLD, NAME: Cost(3.4, repeated=2)}, "OLD_DURATION"),
        ({"recompute": COLD, NAME: Cost(3.3, repeated=2)}, "SMALL_CHANGE"),
        ({"recompute": COLD, NAME: Cost(3.4, repeated=2, is_cold=True)}, "SMALL_CHANGE"),
        ({"recompute": COLD, NAME: Cost(13.0, repeated=2, is_cold=True)}, "CHANGES_TOOK_LONGER"),
        ({"recompute": COLD, NAME: Cost(3.4, repeated=1)}, "SMALL_CHANGE"),
        ({"recompute": replace(COLD, ago=0), NAME: Cost(3.4, ago=1)}, "SMALL_CHANGE"),
        ({"recompute": Cost(10.0, ago=2), NAME: COLD_CHANGES}, "SMALL_CHANGE"),
        ({"recompute": Cost(10.0, ago=21), NAME: COLD_CHANGES}, "OLD_DURATION"),
        ({"recompute": Cost(9.0, ago=2), NAME: COLD_CHANGES}, "CHANGES_TOOK_LONGER"),
        ({"recompute": Cost(3.0, ago=20)}, "SMALL_CHANGE"),
        ({"recompute": Cost(2.5, repeated=20)}, "CHANGES_WOULD_TAKE_LONGER"),
        ({"recompute": Cost(2.5, repeated=21)}, "SMALL_CHANGE"),
        ({NAME: Cost(30.0, repeated=2)}, "SMALL_CHANGE"),
    ],
)
def test_the_durations_of_earlier_refreshes_decide_unless_the_option_is_strict(costs, code):
    """The strategy of the last refresh may take 1.25 times as long as the other one."""
    choice = choose(*table(options=()), None, now(costs=costs))
    found = choice.reasons[0].code if choice.strategy == NAME else codes(choice)[0]
    assert found == code
    assert (choice.strategy == NAME) is (code == "SMALL_CHANGE")
    assert choose(*table(), None, now(costs=costs)).strategy == NAME
    assert dict(choice.costs) == costs


@pytest.mark.parametrize(
    ("query", "costs", "strategy"),
    [
        (GROUPS, {"recompute": Cost(5.0)}, NAME),
        (HIGHEST, {"recompute": Cost(5.0)}, "recompute"),
        (HIGHEST, {"recompute": Cost(500.0)}, "recompute"),
        (HIGHEST, {"recompute": Cost(5.0, repeated=22)}, "recompute"),
        (HIGHEST, {"recompute": Cost(5.0, repeated=23)}, NAME),
        (HIGHEST, {"recompute": Cost(5.0, ago=2), NAME: Cost(4.0, repeated=2)}, NAME),
        (HIGHEST, {}, NAME),
    ],
)
def test_changes_that_read_twice_what_the_query_reads_are_not_tried(query, costs, strategy):
    choice = choose(*table(query, options=()), None, now(costs=costs))
    assert choice.strategy == strategy
    assert choose(*table(query), None, now(costs=costs)).strategy == NAME


def extent(changed, rows):
    return ChangeExtent(ChangeKind.REMOVED, changed, rows)


@pytest.mark.parametrize(
    ("changed", "rows", "code"),
    [
        (100_000, 1_000_000, "CHANGES_TOOK_LONGER"),
        (1_000, 1_000_000, "SMALL_CHANGE"),
        (100_000, 3_000_000, "SMALL_CHANGE"),
        (1_000, 500_000, "CHANGES_TOOK_LONGER"),
    ],
    ids=["as before", "fewer changed rows", "more rows", "fewer rows of each"],
)
def test_durations_are_estimated_for_the_rows_of_this_refresh(changed, rows, code):
    costs = {
        "recompute": Cost(10.0, ago=2, source_rows=1_000_000),
        NAME: Cost(25.0, repeated=2, source_rows=100_000),
    }
    inputs = now(extent(changed, rows), costs=costs)
    choice = choose(*table(options=()), None, inputs)
    found = choice.reasons[0].code if choice.strategy == NAME else codes(choice)[0]
    assert found == code
    assert choice.source_rows == (changed if choice.strategy == NAME else rows)


def test_a_choice_shows_the_estimates_of_both_strategies():
    costs = {
        "recompute": Cost(20.0, ago=2, source_rows=1_000_000),
        NAME: Cost(8.0, repeated=2, source_rows=100),
    }
    choice = choose(*table(options=()), None, now(extent(1_000, 2_000_000), costs=costs))
    assert "12.7 seconds by their changes and 40.0 seconds by computing all rows" in choice.reason


def test_an_estimate_is_never_far_from_the_last_duration():
    last = Cost(10.0, source_rows=1_000)
    assert last.estimate(1_000_000_000, 0.2, 2.5) == 25.0
    assert last.estimate(0, 0.2, 2.5) == 4.0
    assert Cost(10.0).estimate(5, 0.2, 2.5) == 10.0
    assert Cost().estimate(5, 0.2, 2.5) is None


def test_many_changed_rows_are_not_tried_where_a_recompute_is_estimated_to_be_faster():
    costs = {"recompute": Cost(4.0)}
    assert slower(costs, 240_000, 10_000_000) is None
    found = slower(costs, 300_000, 10_000_000)
    assert found.code == "CHANGES_WOULD_TAKE_LONGER"
    assert found.text.startswith("300000 changed rows take about 3.5 seconds")
    assert slower({"recompute": Cost(4.0, ago=20)}, 400_000, 10_000_000) is None
    tried = {**costs, NAME: Cost(3.0, source_rows=600_000, repeated=2)}
    assert slower(tried, 600_000, 10_000_000) is None


def test_the_logs_of_sources_are_not_read_where_a_recompute_is_short():
    def extents(_):
        pytest.fail("the logs were read")

    inputs = now(costs={"recompute": Cost(0.3)}, extents=extents)
    assert codes(choose(*table(options=()), None, inputs)) == ["SHORT_RECOMPUTE"]


def test_differential_comes_after_cheaper_strategies():
    choice = choose(*table(ROWS))
    assert choice.possible == ("stream", "append", NAME, "recompute")
    assert choose(*table(ROWS), None, now()).strategy == NAME
    gained = ChangeExtent(ChangeKind.ADDED, 900_000, 1_000_000)
    assert choose(*table(ROWS), None, now(gained)).strategy == "append"


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        (LogicalRefreshMode.AUTOMATIC, "incremental/differential"),
        (LogicalRefreshMode.FULL, "batch/recompute"),
    ],
)
def test_mode_full_uses_it_where_the_freshness_led_to_the_mode(mode, name):
    day = Freshness.of("1", "DAY")
    choice = choose(*table(options=(), freshness=day, refresh_mode=mode))
    assert choice.name == name


def test_first_rows_are_those_of_the_query_only_with_its_types():
    definition, found = table(f"{ROWS} ORDER BY price DESC, user_id LIMIT 3")
    assert choose(definition, found).name == "incremental/differential"
    price = replace(found.columns[1], type="BIGINT")
    other = choose(definition, replace(found, columns=(found.columns[0], price)))
    assert codes(other) == ["TOP_OF_OTHER_TYPES"]


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"nondeterministic": ("rand",)}, "NONDETERMINISTIC"),
        ({"time_dependent": ("current_date",)}, "TIME_DEPENDENT"),
        ({"lookups": (TableName.of("spark_catalog", "sales", "orders"),)}, "LOOKUP"),
        ({"pinnable": False}, "NOT_PINNABLE"),
        ({"streaming": True}, "STREAM_QUERY"),
    ],
)
def test_a_query_whose_rows_depend_on_more_than_versions_is_refused(facts, code):
    definition, found = table()
    assert code in codes(choose(definition, replace(found, **facts)))


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT user_id, price FROM orders ORDER BY price LIMIT 3 OFFSET 1", "GLOBAL_LIMIT"),
        (
            "SELECT user_id, sum(price) OVER (ORDER BY id) AS price FROM orders",
            "WINDOW_WITHOUT_PARTITION_BY",
        ),
    ],
)
def test_every_obstacle_of_the_query_is_named_with_its_remedy(query, code):
    choice = choose(*table(query, options=()))
    assert (choice.strategy, codes(choice)) == ("recompute", [code])
    (reason,) = (r for strategy, r in choice.refusals if strategy == NAME)
    assert reason.text.endswith(")")


def test_other_sources_baselines_and_watermarks_are_refused():
    unversioned = replace(SOURCE, kind=SourceKind.UNVERSIONED, format="jdbc")
    assert codes(choose(*table(source=unversioned, options=()))) == ["READ_WHOLE"]
    baseline = Baseline(((ORDERS, OLD),), None, "START_MODE = FROM_NOW")
    assert codes(choose(*table(), baseline)) == ["BASELINE"]
    definition, found = table()
    late = ("watermark", "day DELAY OF INTERVAL 10 SECONDS")
    marked = replace(definition, declared=replace(definition.declared, options=(*STRICT, late)))
    assert codes(choose(marked, found)) == ["STREAM_QUERY"]


def test_a_refresh_applies_what_changed_since_the_positions_of_the_rows():
    choice = choose(*table(), None, now())
    assert (choice.strategy, choice.since) == (NAME, ((ORDERS, OLD),))
    assert [reason.code for reason in choice.reasons][:2] == ["SMALL_CHANGE", "RULES"]
    assert "about 150000 of 1000000 source rows" in choice.reason


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        (now(ChangeExtent(ChangeKind.GONE)), "SOURCE_HISTORY_GONE"),
        (now(ChangeExtent(ChangeKind.REPLACED)), "SOURCE_RECREATED"),
        (now(request=Request.FORCED), "ALL_ROWS"),
        (now(request=Request.FILL), "ALL_ROWS"),
        (now(request=Request.PARTITIONS), "ALL_ROWS"),
        (now(positions=None), "POSITIONS_UNKNOWN"),
        (now(foreign=(7,)), "FOREIGN_ROWS"),
        (now(is_partly_refreshed=lambda: True), "PARTITIONS"),
        (now(newest={ORDERS: NEW, "c.s.v": DefinitionPosition("x")}), "VIEW_CHANGED"),
    ],
)
def test_a_refresh_computes_all_rows_for_a_reason(inputs, code):
    choice = choose(*table(options=()), None, inputs)
    assert (choice.strategy, choice.write) == ("recompute", Write.REPLACE)
    assert (codes(choice), choice.reasons[0].code) == ([code], code)


def test_a_change_that_failed_is_the_reason_for_the_recompute():
    failed = Refusal.of(NAME, "CHANGE_FAILED", "it failed")
    choice = choose(*table(), None, now(), (failed,))
    assert (choice.strategy, [r.code for r in choice.reasons]) == ("recompute", ["CHANGE_FAILED"])


def test_columns_of_one_name_are_derived_under_a_column_list():
    query = "SELECT user_id, price, id AS user_id FROM orders ORDER BY price DESC, id LIMIT 3"
    ddl = "user_id INT; price DECIMAL(10,2); user_id STRING"
    found = analyzed(query, ddl, SOURCE, source_columns=(COLUMNS,))
    names = tuple(map(ColumnSpec, "abc"))
    definition = Engine().knows(found).resolve(DeclaredDefinition(query, columns=names)).definition
    choice = choose(definition, found)
    assert (choice.strategy, choice.reasons[0].code) == (NAME, "RULES")
    assert definition_tree(definition, found).columns == ("column_0", "column_1", "column_2")


NO_KEY = "SELECT o.user_id, o.price FROM orders o LEFT JOIN orders p ON o.id < p.id"


def test_strict_refuses_what_every_refresh_would_refuse():
    with raises(conditions.NOT_INCREMENTAL) as caught:
        table(NO_KEY)
    (violation,) = caught.value.violations
    assert violation.endswith("(JOIN_WITHOUT_KEY)")
    choice = choose(*table(NO_KEY, options=()))
    assert (choice.strategy, codes(choice)) == ("recompute", ["JOIN_WITHOUT_KEY"])


def test_what_only_some_refreshes_refuse_is_named():
    other = replace(table_source("refunds"), format="delta")
    columns = SourceColumns("spark_catalog.sales.refunds", COLUMNS.columns)
    query = NO_KEY.replace("JOIN orders p", "JOIN refunds p")
    found = analyzed(query, DDL, SOURCE, other, source_columns=(COLUMNS, columns))
    declared = DeclaredDefinition(query, options=STRICT)
    choice = choose(Engine().knows(found).resolve(declared).definition, found)
    assert choice.strategy == NAME
    first, second, *_ = choice.reasons
    assert (first.code, second.code) == ("RULES", "JOIN_WITHOUT_KEY")
    assert second.text.startswith("not by each refresh: a side of a join")
