"""Plans in short: the verdict, what is kept and lost, and why something is refused."""

import json

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.planning.explain import Verdict, refused, summarize, verdict_of
from dbt.adapters.spark_mt.planning.steps import (
    CommitDefinition,
    Fill,
    FillMode,
    Plan,
    Publish,
    RefreshRun,
    Register,
    VerifyRows,
)
from tests.unit.builders import QUERY, TABLE, resolve, stored

DEFINITION = stored(resolve(DeclaredDefinition(QUERY)))
RUN = RefreshRun("r", "ALTER", {}, 0)
COMMIT = CommitDefinition(DEFINITION, 2, {}, None)
AFTER = (Publish(DEFINITION, None), Register(DEFINITION, 2, {}, None))


def plan(*steps, changes=("freshness changed",)):
    return Plan(TABLE, steps, changes, ("read this",))


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ((Fill(DEFINITION, FillMode.CREATE, 1, RUN), *AFTER), Verdict.CREATED),
        ((Fill(DEFINITION, FillMode.OVERWRITE, 2, RUN), *AFTER), Verdict.REBUILT),
        ((Fill(DEFINITION, FillMode.REPLACE, 2, RUN), *AFTER), Verdict.REBUILT),
        ((COMMIT, *AFTER), Verdict.METADATA_ONLY),
        ((VerifyRows(DEFINITION), COMMIT, *AFTER), Verdict.IN_PLACE),
        (
            (CommitDefinition(DEFINITION, 2, None, None, (Column("more", "INT"),)), *AFTER),
            Verdict.IN_PLACE,
        ),
    ],
)
def test_a_verdict_says_what_happens_to_the_rows(steps, verdict):
    assert verdict_of(plan(*steps)) is verdict


def test_finishing_what_was_left_undone_changes_nothing():
    assert verdict_of(plan(*AFTER, changes=())) is Verdict.UNCHANGED


def test_a_summary_has_what_explain_says_once():
    summary = summarize(plan(Fill(DEFINITION, FillMode.OVERWRITE, 2, RUN), *AFTER))
    assert summary.changes == ("freshness changed",)
    assert summary.warnings == ("read this",)
    assert summary.strategy == "incremental/recompute"
    assert summary.loses == ("the old query's rows",)
    assert "rows" not in summary.keeps
    assert json.loads(json.dumps(summary.as_dict()))["verdict"] == "rebuilt"


def test_a_refusal_lists_every_violation_once_and_the_remedy():
    error = conditions.DROPPED_COLUMN(
        violations=["one", "two"], table="t", oldCount=3, newCount=2, dropped="`a`"
    )
    summary = refused("t", error)
    head, one, two, remedy = summary.violations
    assert (summary.verdict, summary.condition) == (Verdict.REFUSED, error.condition)
    assert "drop column is unsupported" in head
    assert (one, two) == ("one", "two")
    assert remedy.startswith("Keep the columns `a`")


def test_a_refusal_for_one_reason_is_its_whole_text():
    error = conditions.ALREADY_EXISTS(table="t")
    assert refused("t", error).violations == (str(error),)
