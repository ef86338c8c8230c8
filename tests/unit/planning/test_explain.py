"""A plan for people."""

from dataclasses import replace
from typing import get_args

import pytest

from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.planning.explain import explain, summarize
from dbt.adapters.spark_mt.planning.steps import (
    ApplyChanges,
    CommitDefinition,
    DropTable,
    Fill,
    FillMode,
    FillPartitions,
    Plan,
    PrepareStorage,
    Publish,
    Recluster,
    RecordJob,
    RefreshRun,
    Register,
    Release,
    RemoveProperties,
    ReserveSequence,
    Step,
    Unregister,
    VerifyRows,
)
from dbt.adapters.spark_mt.strategies.reasons import Reason
from dbt.adapters.spark_mt.strategies.strategy import (
    BATCH,
    INCREMENTAL,
    MERGE,
    RECOMPUTE,
    Choice,
    Refusal,
    Write,
)
from tests.unit.builders import QUERY, TABLE, resolve, stored

DEFINITION = stored(resolve(DeclaredDefinition(QUERY)))
FULL = stored(resolve(DeclaredDefinition(QUERY, refresh_mode=LogicalRefreshMode.FULL)))
RUN = RefreshRun("r", "CREATE", {"s.orders": VersionedPosition(4, "x")}, 0)
SINCE = ((next(iter(RUN.positions)), VersionedPosition(2, "b")),)
STEPS = {
    "prepare storage": PrepareStorage(DEFINITION, maps_names=True),
    "verify rows": VerifyRows(DEFINITION),
    "create": Fill(DEFINITION, FillMode.CREATE, 1, RUN),
    "fill": Fill(DEFINITION, FillMode.OVERWRITE, 1, RUN),
    "replace": Fill(DEFINITION, FillMode.REPLACE, 1, RUN),
    "commit definition": CommitDefinition(DEFINITION, 1, {}, None),
    "adopt": CommitDefinition(DEFINITION, 1, {}, None, adopts=True),
    "apply changes": ApplyChanges(DEFINITION, 2, RUN, SINCE),
    "publish": Publish(DEFINITION, None),
    "cluster": Recluster(DEFINITION),
    "register": Register(DEFINITION, 1, {}, None),
}
LOOSENED = PrepareStorage(DEFINITION, maps_names=False, nullable=("price",))
NEVER_EXPLAINED = {
    FillPartitions,
    RecordJob,
    DropTable,
    Unregister,
    ReserveSequence,
    Release,
    RemoveProperties,
}


def test_nothing_to_do():
    ((step, _, _, keeps, loses, _),) = explain(Plan(TABLE, ()))
    assert (step, keeps, loses) == ("none", "everything", "nothing")


@pytest.mark.parametrize("name", STEPS)
def test_every_step_has_a_row_with_the_changes_at_the_commit(name):
    ((step, change, *_),) = explain(Plan(TABLE, (STEPS[name],), ("one", "two")))
    assert step == name
    silent = {"prepare storage", "verify rows", "publish", "cluster", "register"}
    assert (change == "one; two") == (name not in silent)


def test_every_step_of_a_create_statement_can_be_explained():
    explained = {type(step) for step in STEPS.values()}
    assert explained | NEVER_EXPLAINED == set(get_args(Step))


def test_the_rows_name_sources_engine_and_reason():
    ((_, _, effect, _, _, reason),) = explain(Plan(TABLE, (STEPS["create"],)))
    assert "incremental/recompute" in effect
    assert "s.orders at version 4" in effect
    assert "by default" in reason
    run = replace(RUN, choice=Choice(BATCH, RECOMPUTE))
    ((_, _, effect, *_),) = explain(Plan(TABLE, (Fill(FULL, FillMode.CREATE, 1, run),)))
    assert "batch/recompute" in effect


def test_every_reason_for_the_engine_is_a_row_after_the_steps():
    reasons = (Reason("ROW_WISE", "", "one row"), Reason("LOG_SOURCE", "s.k", "a log"))
    refused = (Refusal("merge", (Reason("NO_KEY", "", "no key"), reasons[0])),)
    choice = Choice("stream", "append", reasons, refused=refused)
    plan = Plan(TABLE, (STEPS["create"],), warnings=("careful",), choice=choice)
    _, first, second, third, note = explain(plan)
    assert first == ("engine", "", "stream/append", "", "", "ROW_WISE: one row")
    assert second == ("engine", "s.k", "stream/append", "", "", "LOG_SOURCE: a log")
    assert third == ("not used", "", "merge", "", "", "NO_KEY: no key")
    assert note[0] == "note"
    summary = summarize(plan)
    assert summary.not_used == ("merge: NO_KEY: no key",)
    assert (summary.strategy, summary.engine) == ("incremental/recompute", "stream/append")
    assert summary.reasons == ("ROW_WISE: one row", "LOG_SOURCE: a log")


def test_rows_and_state_of_a_stream_begin_together():
    choice = Choice("stream", RECOMPUTE, keeps_checkpoint=True)
    fill = Fill(DEFINITION, FillMode.CREATE, 1, replace(RUN, choice=choice))
    ((_, _, effect, *_),) = explain(Plan(TABLE, (fill,)))
    assert "computed by stream/recompute" in effect


def test_a_query_without_sources():
    run = RefreshRun("r", "CREATE", {}, 0)
    ((_, _, effect, *_),) = explain(Plan(TABLE, (Fill(DEFINITION, FillMode.CREATE, 1, run),)))
    assert "no sources" in effect


def test_a_part_of_the_sources_is_named():
    window = replace(RUN, choice=Choice(INCREMENTAL, "window", since=SINCE))
    by_key = replace(RUN, choice=Choice(INCREMENTAL, MERGE, write=Write.KEYS, since=SINCE))
    fill = Fill(DEFINITION, FillMode.CREATE, 1, window, since=SINCE)
    merge = ApplyChanges(DEFINITION, 2, by_key, SINCE)
    for step in (fill, merge):
        ((_, _, effect, *_),) = explain(Plan(TABLE, (step,)))
        assert f"rows added to {SINCE[0][0]} after version 2 up to version 4" in effect
    assert "incremental/window" in explain(Plan(TABLE, (fill,)))[0][2]
    ((_, _, effect, keeps, loses, reason),) = explain(Plan(TABLE, (merge,)))
    assert "incremental/merge" in effect
    assert (keeps, loses) == ("all other rows", "nothing")
    assert "keys" in reason


def test_warnings_are_rows():
    rows = explain(Plan(TABLE, (STEPS["publish"],), warnings=("careful",)))
    assert rows[1][:3] == ("note", "", "careful")


def test_removed_not_null_is_shown():
    ((_, change, effect, *_),) = explain(Plan(TABLE, (LOOSENED,)))
    assert (change, effect) == ("price may be NULL", "NOT NULL of the table dropped")
