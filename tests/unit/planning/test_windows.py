"""How tables with a baseline follow their sources, and the plans for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.baseline import Baseline
from dbt.adapters.spark_mt.definition.columns import PrimaryKey
from dbt.adapters.spark_mt.definition.definition import AskedDefinition
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    DefinitionPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.planning.planner import plan_create
from dbt.adapters.spark_mt.planning.steps import (
    ApplyChanges,
    CommitDefinition,
    Fill,
    FillMode,
    Method,
    Publish,
    Recluster,
    RefreshRun,
    Register,
    VerifyRows,
)
from dbt.adapters.spark_mt.planning.window_plans import (
    Start,
    counted_from,
    plan_follow,
    plan_start,
)
from dbt.adapters.spark_mt.planning.windows import Strategy, positions_of, strategy_of
from dbt.adapters.spark_mt.resolution.query_shape import RowShape, Shape
from dbt.adapters.spark_mt.resolution.resolver import Resolution
from tests.unit.builders import ORDERS, QUERY, QUERY_COLUMNS, TABLE, analyzed, resolve, stored

KEY = (PrimaryKey(("user_id",), None),)
PLAIN = resolve(AskedDefinition(QUERY))
KEYED = resolve(AskedDefinition(QUERY, constraints=KEY))
SINCE = ((str(ORDERS), VersionedPosition(2, "b")),)
NOW = {str(ORDERS): VersionedPosition(4, "d")}
RUN = RefreshRun("r", "ALTER", NOW, 0)
ROWS, GROUPS = RowShape(Shape.ROW_WISE), RowShape(Shape.KEYED)
WHOLE = RowShape(Shape.WHOLE, "DISTINCT", "it uses DISTINCT")
UNPINNED = RowShape(Shape.WHOLE, "NOT_PINNABLE", "it cannot")


@pytest.mark.parametrize(
    ("shape", "definition", "keeps", "expected"),
    [
        (ROWS, PLAIN, True, Strategy.APPEND),
        (ROWS, PLAIN, False, Strategy.APPEND),
        (ROWS, KEYED, True, Strategy.MERGE),
        (ROWS, KEYED, False, Strategy.MERGE),
        (GROUPS, KEYED, True, Strategy.MERGE),
        (GROUPS, KEYED, False, Strategy.WINDOW),
        (WHOLE, PLAIN, False, Strategy.WINDOW),
        (WHOLE, KEYED, True, None),
        (UNPINNED, PLAIN, False, None),
        (replace(ROWS, unversioned=("s.t",)), PLAIN, False, None),
    ],
)
def test_the_strategy_follows_from_shape_key_and_kept_rows(shape, definition, keeps, expected):
    assert strategy_of(shape, definition, keeps_rows=keeps) is expected


def test_only_versions_are_positions_to_go_on_from():
    positions = {"a": VersionedPosition(1, "x"), "b": DefinitionPosition("f")}
    assert positions_of(("a", "b", "c"), positions) == (("a", VersionedPosition(1, "x")),)


def test_a_beginning_is_no_version():
    described = Baseline((("s.a", BEFORE_ALL),), None, "START_MODE = FROM_NOW").describe()
    assert "s.a after its beginning" in described
    assert "version 7 are kept" in Baseline((), 7, "x").describe()


def a_table(definition=PLAIN, **facts):
    return StoredTable(stored(definition), 3, 9, definition.columns, NOW, **facts)


def a_start(strategy, kept=None):
    return Start(Baseline(SINCE, kept, "START_MODE = FROM_NOW"), strategy)


def resolution(definition):
    return Resolution(definition, analyzed(QUERY, QUERY_COLUMNS))


def test_a_new_table_counts_from_its_baseline_in_every_step():
    start = a_start(Strategy.WINDOW)
    plan = counted_from(plan_create(TABLE, "id", resolution(PLAIN), RUN), start)
    fill, publish, register = plan.steps
    assert (fill.since, fill.mode) == (SINCE, FillMode.CREATE)
    assert {step.definition.baseline for step in (fill, publish, register)} == {start.baseline}


def test_kept_rows_get_the_changes_in_the_commit_of_the_definition():
    plan = plan_start(a_table(), resolution(KEYED), (), RUN, a_start(Strategy.MERGE, 9))
    verify, apply, publish, register = plan.steps
    assert isinstance(verify, VerifyRows)
    assert (apply.method, apply.seq, apply.since) == (Method.MERGE, 4, SINCE)
    assert apply.changes_definition
    assert apply.definition.baseline.kept_version == 9
    assert isinstance(publish, Publish)
    assert isinstance(register, Register)


def test_nothing_is_merged_where_nothing_happened_since():
    start = Start(Baseline(tuple(NOW.items()), 9, "START_MODE = FROM_NOW"), Strategy.MERGE)
    plan = plan_start(a_table(KEYED), resolution(KEYED), (), RUN, start)
    (apply, *_) = plan.steps
    assert apply.method is Method.APPEND


def test_where_nothing_is_kept_all_rows_are_those_since_the_start():
    plan = plan_start(a_table(), resolution(PLAIN), (), RUN, a_start(Strategy.APPEND))
    (fill, *_) = plan.steps
    assert (type(fill), fill.mode, fill.since) == (Fill, FillMode.OVERWRITE, SINCE)


def test_a_suspended_table_gets_the_definition_with_the_positions_to_go_on_from():
    before = a_table()
    suspended = replace(before.definition, status=RefreshStatus.SUSPENDED)
    before = replace(before, definition=suspended)
    plan = plan_start(before, resolution(PLAIN), (), RUN, a_start(Strategy.APPEND, 9))
    (commit, *_) = plan.steps
    assert isinstance(commit, CommitDefinition)
    assert commit.positions == dict(SINCE)
    assert commit.definition.status is RefreshStatus.SUSPENDED


def test_a_window_drops_the_clustering_and_changes_do_not():
    clustered = a_table(resolve(AskedDefinition(QUERY, clustered_by=("user_id",))))
    kinds = [type(s) for s in plan_follow(clustered, RUN, Strategy.WINDOW, SINCE).steps]
    assert kinds == [Fill, Recluster, Register]
    plan = plan_follow(clustered, RUN, Strategy.APPEND, SINCE)
    assert [type(s) for s in plan.steps] == [ApplyChanges, Register]
    assert not plan.steps[0].changes_definition
