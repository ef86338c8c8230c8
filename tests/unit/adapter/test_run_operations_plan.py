"""What `plan_materialized_tables` prints."""

import json

import pytest

from dbt.adapters.spark_mt.adapter.run_operations import ModelPlan, PlanReport
from dbt.adapters.spark_mt.changes.drift import Drift, DriftKind
from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.planning.explain import PlanSummary, Verdict

SAME = ModelPlan("model.shop.same", PlanSummary("s.same", Verdict.UNCHANGED))
REBUILT = ModelPlan(
    "model.shop.daily",
    PlanSummary(
        "s.daily",
        Verdict.REBUILT,
        ("Query changed.",),
        "incremental/recompute",
        ("history",),
        engine="stream/append",
        reasons=("ROW_WISE: one row", "LOG_SOURCE: a log"),
    ),
    (Drift(DriftKind.COMMENT, "the comment was removed", "set it"),),
    ("a note",),
)
REFUSED = ModelPlan(
    "model.shop.no", PlanSummary("s.no", Verdict.REFUSED, violations=("first\nmore", "second"))
)
REPORT = PlanReport((SAME, REBUILT, REFUSED))


def test_the_text_has_a_block_for_each_model_and_the_totals():
    assert REPORT.text().splitlines() == [
        "s.same: unchanged",
        "s.daily: rebuilt",
        "  change      Query changed.",
        "  computed by incremental/recompute",
        "  engine      stream/append",
        "  because     ROW_WISE: one row",
        "  because     LOG_SOURCE: a log",
        "  keeps       history",
        "  note        a note",
        "  drift       the comment was removed; set it",
        "s.no: refused",
        "  reason      first",
        "              more",
        "  reason      second",
        "3 models: 1 unchanged, 1 rebuilt, 1 refused; 1 changed outside of dbt",
    ]


def test_machines_read_one_document():
    document = json.loads(REPORT.json())
    assert document["totals"] == {"unchanged": 1, "rebuilt": 1, "refused": 1}
    _, daily, _ = document["models"]
    assert daily["model"] == "model.shop.daily"
    assert daily["drift"] == [
        {"kind": "comment", "found": "the comment was removed", "remedy": "set it"}
    ]


@pytest.mark.parametrize(
    ("fail_on", "tables"),
    [
        (None, []),
        ("refused", ["s.no"]),
        ("rebuilt", ["s.daily", "s.no"]),
        ("any", ["s.daily", "s.no"]),
    ],
)
def test_what_a_pipeline_fails_for(fail_on, tables):
    assert [failure.split(" ")[0] for failure in REPORT.failures(fail_on)] == tables


def test_fail_on_is_one_of_these():
    with pytest.raises(InvalidValueError):
        REPORT.failures("error")


def test_no_model_is_selected():
    assert PlanReport(()).text() == "0 models: none selected"


def test_one_model_is_one():
    assert PlanReport((SAME,)).totals() == "1 model: 1 unchanged"


def test_only_some_changes_reach_those_who_read_a_table():
    assert not SAME.changes_rows
    assert REBUILT.changes_rows
