"""Plans: which steps, in which order, and what each of them is to know."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.changes.differ import diff
from dbt.adapters.spark_mt.definition.columns import Check, Column, PrimaryKey
from dbt.adapters.spark_mt.definition.definition import (
    DeclaredDefinition,
    InconsistentTable,
    LastRefresh,
    StoredTable,
)
from dbt.adapters.spark_mt.planning import planner
from dbt.adapters.spark_mt.planning.steps import (
    CommitDefinition,
    DropTable,
    Fill,
    FillMode,
    FillPartitions,
    Phase,
    PrepareStorage,
    Publish,
    Recluster,
    RefreshRun,
    Register,
    Unregister,
    VerifyRows,
    plan_publish,
)
from dbt.adapters.spark_mt.resolution.resolver import Resolution
from dbt.adapters.spark_mt.strategies.strategy import INCREMENTAL, RECOMPUTE, Choice
from tests.unit.builders import (
    QUERY,
    QUERY_COLUMNS,
    TABLE,
    analyzed,
    changed,
    resolve,
    stored,
)

LAST = LastRefresh("r1", "recompute", "CREATE", 1, 2, 3)
RUN = RefreshRun("r2", "ALTER", {}, 5)
KEPT = Choice(INCREMENTAL, RECOMPUTE)


def resolution(ddl=QUERY_COLUMNS, query=QUERY, **clauses):
    definition = resolve(DeclaredDefinition(query, **clauses), ddl)
    return Resolution(definition, analyzed(query, ddl), ("a warning",))


def table(ddl=QUERY_COLUMNS, published=None, **clauses):
    definition = stored(resolve(DeclaredDefinition(QUERY, **clauses), ddl))
    return StoredTable(
        definition, 7, 20, definition.resolved.columns, {}, LAST, published=published
    )


def alter(before, wanted, run=None):
    changes = diff(before.definition.resolved, wanted.definition)
    return planner.plan_alter(before, wanted, changes, run, KEPT)


def kinds(plan):
    return [type(step) for step in plan.steps]


def test_a_new_table_is_one_commit():
    plan = planner.plan_create(TABLE, "id-9", resolution(), RUN, KEPT, (("model", "m"),))
    fill, publish, register = plan.steps
    assert (fill.mode, fill.seq, fill.changes_definition) == (FillMode.CREATE, 1, True)
    assert fill.definition.owner == (("model", "m"),)
    assert (fill.definition.table_id, fill.definition.generation) == ("id-9", 1)
    assert publish == Publish(fill.definition, None, created=True)
    assert (register.seq, register.refresh.refresh_id) == (1, "r2")
    assert plan.warnings == ("a warning",)
    assert plan.choice is KEPT


def test_a_change_of_metadata_commits_the_definition_and_keeps_what_is_known_of_the_rows():
    before = table()
    plan = alter(before, resolution(comment="new"))
    commit, publish, register = plan.steps
    assert commit == CommitDefinition(commit.definition, 8, before.positions, LAST)
    assert commit.definition.generation == 2
    assert publish == Publish(commit.definition, before.definition)
    assert (register.seq, register.refresh) == (8, LAST)
    assert len(plan.changes) == 1


@pytest.mark.parametrize(
    "clauses",
    [
        {"constraints": (PrimaryKey(("user_id",)),)},
        {"constraints": (Check("price > 0"),)},
    ],
)
def test_new_constraints_are_checked_before_anything_is_committed(clauses):
    assert kinds(alter(table(), resolution(**clauses)))[0] is VerifyRows


def test_constraints_that_were_there_are_not_checked_again():
    keys = {"constraints": (PrimaryKey(("user_id",)),)}
    plan = alter(table(**keys), resolution(comment="new", **keys))
    assert VerifyRows not in kinds(plan)


def test_a_column_that_becomes_not_null_is_checked():
    wanted = resolution()
    strict = (Column("user_id", "INT", nullable=False), *wanted.definition.columns[1:])
    definition = changed(wanted.definition, columns=strict)
    plan = planner.plan_alter(table(), replace(wanted, definition=definition), (), None, KEPT)
    assert kinds(plan)[0] is VerifyRows


def test_a_changed_query_is_one_commit_of_rows_and_definition():
    before = table()
    plan = alter(before, resolution(QUERY_COLUMNS + "; n BIGINT"), RUN)
    fill, publish, register = plan.steps
    assert (fill.mode, fill.seq, fill.changes_definition) == (FillMode.OVERWRITE, 8, True)
    assert publish == Publish(fill.definition, before.definition)
    assert isinstance(register, Register)


def test_wider_types_need_a_new_schema_which_loses_comments():
    wider = QUERY_COLUMNS.replace("user_id INT", "user_id BIGINT")
    fill, publish, _ = alter(table(), resolution(wider), RUN).steps
    assert fill.mode is FillMode.REPLACE
    assert publish.schema_replaced


def test_names_that_delta_refuses_are_mapped_first():
    plan = alter(table(), resolution(QUERY_COLUMNS + "; count(*) BIGINT"), RUN)
    assert kinds(plan) == [PrepareStorage, Fill, Publish, Register]


def test_not_null_ends_before_the_rows_of_a_definition_that_takes_null():
    strict = resolution()
    columns = tuple(replace(column, nullable=False) for column in strict.definition.columns)
    strict = replace(strict, definition=replace(strict.definition, columns=columns))
    before = table()
    before = replace(before, definition=replace(before.definition, resolved=strict.definition))
    prepared, *_ = planner.plan_replace(before, resolution(), RUN, KEPT).steps
    assert prepared.nullable == tuple(column.name for column in columns)
    assert kinds(planner.plan_replace(table(), strict, RUN, KEPT)) == [Fill, Publish, Register]


def test_replacing_keeps_the_identity_and_takes_the_next_number():
    before = table()
    fill, publish, _ = planner.plan_replace(before, resolution(), RUN, KEPT).steps
    assert (fill.mode, fill.seq) == (FillMode.REPLACE, 8)
    assert fill.definition.table_id == before.definition.table_id
    assert fill.definition.generation == 2
    assert publish == Publish(fill.definition, before.definition, schema_replaced=True)


def test_a_damaged_table_is_replaced_after_its_highest_number():
    inconsistent = InconsistentTable(TABLE, "columns are gone", 12, table().definition)
    plan = planner.plan_replace(inconsistent, resolution(), RUN, KEPT)
    assert plan.steps[0].seq == 13


def test_replacing_keeps_the_owner_unless_another_one_declares_it():
    owned = replace(table(), definition=replace(table().definition, owner=(("model", "a"),)))
    kept = planner.plan_replace(owned, resolution(), RUN, KEPT).steps[0]
    assert kept.definition.owner == (("model", "a"),)
    taken = planner.plan_replace(owned, resolution(), RUN, KEPT, (("model", "b"),)).steps[0]
    assert taken.definition.owner == (("model", "b"),)


def test_what_was_left_undone_is_published_from_what_is_published():
    old = stored(resolve(DeclaredDefinition(QUERY, options=(("a", "1"),))))
    before = table(published=old)
    assert plan_publish(before).steps[0] == Publish(before.definition, old, schema_replaced=True)
    plan = alter(before, resolution(comment="new"))
    assert plan.steps[1] == Publish(plan.steps[0].definition, old, schema_replaced=True)
    plan = planner.plan_replace(before, resolution(), RUN, KEPT)
    assert plan.steps[1].before == old


def test_a_refresh_leaves_the_definition():
    before = table()
    fill, register = planner.plan_refresh(before, RUN).steps
    assert fill == Fill(before.definition, FillMode.OVERWRITE, 8, RUN, changes_definition=False)
    assert register.positions == RUN.positions


def test_a_refresh_sets_the_clustering_again():
    plan = planner.plan_refresh(table(clustered_by=("user_id",)), RUN)
    assert kinds(plan) == [Fill, Recluster, Register]


def test_partitions_keep_what_is_known_of_the_table():
    before = table()
    partitions = ((("user_id", "1"),),)
    (step,) = planner.plan_partitions(before, partitions, RUN).steps
    assert step == FillPartitions(before.definition, partitions, 8, RUN, {}, LAST)


def test_dropping():
    assert kinds(planner.plan_drop(TABLE)) == [DropTable, Unregister]


def test_every_plan_has_one_commit_point_and_never_returns_before_it():
    order = list(Phase)
    plans = [
        planner.plan_create(TABLE, "id", resolution(), RUN, KEPT),
        alter(table(), resolution(constraints=(PrimaryKey(("user_id",)),))),
        alter(table(), resolution(QUERY_COLUMNS + "; a=b INT"), RUN),
        planner.plan_replace(table(), resolution("a=b INT"), RUN, KEPT),
        planner.plan_refresh(table(clustered_by=("user_id",)), RUN),
        planner.plan_partitions(table(), (), RUN),
        planner.plan_drop(TABLE),
    ]
    for plan in plans:
        phases = [order.index(step.phase) for step in plan.steps]
        assert phases == sorted(phases)
        assert phases.count(order.index(Phase.COMMIT)) == 1
