"""How tables with a baseline follow their sources, and the plans for it."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.definition.columns import PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition, StoredTable
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    Baseline,
    DefinitionPosition,
    VersionedPosition,
    positions_of,
)
from dbt.adapters.spark_mt.planning.planner import plan_create, plan_refresh, plan_start
from dbt.adapters.spark_mt.planning.steps import (
    ApplyChanges,
    CommitDefinition,
    Fill,
    FillMode,
    Publish,
    Recluster,
    RefreshRun,
    Register,
    VerifyRows,
    counted_from,
)
from dbt.adapters.spark_mt.resolution.resolver import Resolution
from dbt.adapters.spark_mt.strategies.strategy import (
    APPEND,
    INCREMENTAL,
    MERGE,
    WINDOW,
    Choice,
    Write,
)
from tests.unit.builders import ORDERS, QUERY, QUERY_COLUMNS, TABLE, analyzed, resolve, stored

KEY = (PrimaryKey(("user_id",), None),)
PLAIN = resolve(DeclaredDefinition(QUERY))
KEYED = resolve(DeclaredDefinition(QUERY, constraints=KEY))
SINCE = ((str(ORDERS), VersionedPosition(2, "b")),)
NOW = {str(ORDERS): VersionedPosition(4, "d")}
RUN = RefreshRun("r", "ALTER", NOW, 0)


def test_only_versions_are_positions_to_continue_from():
    positions = {"a": VersionedPosition(1, "x"), "b": DefinitionPosition("f")}
    assert positions_of(("a", "b", "c"), positions) == (("a", VersionedPosition(1, "x")),)


def test_a_beginning_is_no_version():
    described = Baseline((("s.a", BEFORE_ALL),), None, "START_MODE = FROM_NOW").describe()
    assert "s.a after its beginning" in described
    assert "version 7 are kept" in Baseline((), 7, "x").describe()


def a_table(definition=PLAIN, **facts):
    return StoredTable(stored(definition), 3, 9, definition.columns, NOW, **facts)


def a_start(kept=None):
    return Baseline(SINCE, kept, "START_MODE = FROM_NOW")


def run_by(strategy, write=Write.REPLACE):
    return replace(RUN, choice=Choice(INCREMENTAL, strategy, write=write, since=SINCE))


def resolution(definition):
    return Resolution(definition, analyzed(QUERY, QUERY_COLUMNS))


def test_a_new_table_counts_from_its_baseline_in_every_step():
    start, kept = a_start(), Choice(INCREMENTAL, WINDOW)
    plan = counted_from(plan_create(TABLE, "id", resolution(PLAIN), RUN, kept), start)
    assert plan.choice == kept
    fill, publish, register = plan.steps
    assert (fill.since, fill.mode) == (SINCE, FillMode.CREATE)
    assert {step.definition.baseline for step in (fill, publish, register)} == {start}


def test_kept_rows_get_the_changes_in_the_commit_of_the_definition():
    run = run_by(MERGE, Write.KEYS)
    plan = plan_start(a_table(), resolution(KEYED), (), run, a_start(9), run.choice)
    verify, apply, publish, register = plan.steps
    assert isinstance(verify, VerifyRows)
    assert (apply.replaces_keys, apply.seq, apply.since) == (True, 4, SINCE)
    assert apply.changes_definition
    assert apply.definition.baseline.kept_version == 9
    assert isinstance(publish, Publish)
    assert isinstance(register, Register)


def test_where_nothing_is_kept_all_rows_are_those_since_the_start():
    run = run_by(WINDOW)
    plan = plan_start(a_table(), resolution(PLAIN), (), run, a_start(), run.choice)
    (fill, *_) = plan.steps
    assert (type(fill), fill.mode, fill.since) == (Fill, FillMode.OVERWRITE, SINCE)


def test_a_suspended_table_gets_the_definition_with_the_positions_to_continue_from():
    before = a_table()
    suspended = replace(before.definition, status=RefreshStatus.SUSPENDED)
    before = replace(before, definition=suspended)
    plan = plan_start(before, resolution(PLAIN), (), RUN, a_start(9), RUN.choice)
    (commit, *_) = plan.steps
    assert isinstance(commit, CommitDefinition)
    assert commit.positions == dict(SINCE)
    assert commit.definition.status is RefreshStatus.SUSPENDED


def test_a_window_drops_the_clustering_and_changes_do_not():
    clustered = a_table(resolve(DeclaredDefinition(QUERY, clustered_by=("user_id",))))
    kinds = [type(s) for s in plan_refresh(clustered, run_by(WINDOW)).steps]
    assert kinds == [Fill, Recluster, Register]
    plan = plan_refresh(clustered, run_by(APPEND, Write.ADD))
    assert [type(s) for s in plan.steps] == [ApplyChanges, Register]
    assert not plan.steps[0].changes_definition
