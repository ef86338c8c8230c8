"""Everything that shows how a table is kept prints the same choice."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.adapter.run_operations import ModelPlan
from dbt.adapters.spark_mt.execution.alter import plannable, planned_by
from dbt.adapters.spark_mt.execution.show import choice_rows
from dbt.adapters.spark_mt.manager.http.metrics import registry
from dbt.adapters.spark_mt.manager.http.schemas import JobAnswer
from dbt.adapters.spark_mt.planning.explain import explain, summarize
from dbt.adapters.spark_mt.strategies import differential
from dbt.adapters.spark_mt.strategies.choice import choose
from tests.behaviour.hosting import EVENTS, LIVE, ROWS
from tests.unit.manager.world import world

SUMS = "SELECT k, sum(v) AS total FROM events GROUP BY k"
BY_K = "(PRIMARY KEY (k) NOT ENFORCED)"
BY_ID = "(PRIMARY KEY (id) NOT ENFORCED)"
NAME = "spark_catalog.default.t"


@pytest.fixture
def life():
    with world() as found:
        found.learn(SUMS, "k INT; total BIGINT", sums)
        yield found


def sums(rows):
    totals: dict[int, int] = {}
    for row in rows["events"]:
        totals[row[1]] = totals.get(row[1], 0) + row[2]
    return list(totals.items())


def choice_of(tables):
    """The choice for the table as it is stored."""
    stored = tables.stored("t").definition
    analyzed = tables.environment.stored_analyzer.analyze_stored(stored.resolved)
    return choose(stored.resolved, analyzed, stored.baseline)


def summary_of(plan):
    """The engine and the reasons of EXPLAIN's rows."""
    rows = explain(plan)
    engine = {row[2] for row in rows if row[0] == "engine"}
    reasons = tuple(row[5] for row in rows if row[0] == "engine")
    refused = tuple(f"{row[2]}: {row[5]}" for row in rows if row[0] == "not used")
    return engine, reasons, refused


@pytest.mark.parametrize(
    ("query", "clauses", "expected"),
    [
        (ROWS, LIVE, "stream/append"),
        (ROWS, f"{BY_ID} {LIVE}", "incremental/differential"),
        (SUMS, LIVE, "incremental/differential"),
        (SUMS, f"{BY_K} {LIVE}", "incremental/differential"),
        (SUMS, f"WITH ('incremental' = 'off') {LIVE}", "incremental/recompute"),
        (ROWS, f"{LIVE} START_MODE = FROM_NOW", "incremental/append"),
        (SUMS, f"{BY_K} {LIVE} START_MODE = FROM_NOW", "incremental/window"),
        (ROWS, f"{BY_ID} {LIVE} START_MODE = FROM_NOW", "incremental/merge"),
        (SUMS, "FRESHNESS = INTERVAL '1' DAY", "incremental/differential"),
        (SUMS, "FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL", "batch/recompute"),
    ],
)
def test_every_surface_prints_the_same_choice(life, query, clauses, expected):
    statement = f"CREATE MATERIALIZED TABLE t {clauses} AS {query}"
    plan, _ = planned_by(plannable(statement), life.tables.environment)
    life.execute(statement)
    choice = choice_of(life.tables)
    assert choice.name == expected
    reasons = tuple(map(str, choice.reasons))
    refused = tuple(f"{name}: {reason}" for name, reason in choice.refusals)

    assert summary_of(plan) == ({choice.name}, reasons, refused)
    summary = summarize(plan)
    assert (summary.engine, summary.reasons, summary.not_used) == (choice.name, reasons, refused)
    lines = list(ModelPlan("model.t", summary).lines())
    assert f"  engine      {choice.name}" in lines
    assert all(any(line.endswith(reason) for line in lines) for reason in (*reasons, *refused))

    described = {row[0]: row[1] for row in life.execute("DESC EXTENDED MATERIALIZED TABLE t").rows}
    shown = dict(choice_rows(life.tables.stored("t").definition, choice))
    assert shown.items() <= described.items()
    assert described["Engine"].startswith(f"{choice.engine}, strategy {choice.strategy}")

    life.move(1)
    manager = life.manager()
    life.live(60)
    view = manager.view_of("t")
    found = (choice.engine, choice.strategy, choice.explanation)
    if view.schedule is not None:  # what the last refresh did
        (created,) = life.jobs("t")
        found = (*created.strategy.split("/"), created.reason)
    assert (view.engine, view.strategy, view.reason) == found
    (info,) = [
        sample
        for metric in registry(manager.manager).collect()
        for sample in metric.samples
        if sample.name == "spark_mt_table_info" and NAME in sample.labels.values()
    ]
    assert (info.labels["engine"], info.labels["strategy"]) == found[:2]
    page = dict(manager.manager.table(NAME).description)
    assert shown.items() <= page.items()


def test_the_log_the_commit_and_the_outcome_print_the_choice_of_the_refresh(life, monkeypatch):
    monkeypatch.setattr(differential, "slower", lambda *_: None)
    monkeypatch.setattr(differential, "SHORTEST_RECOMPUTE_S", 0)
    life.learn(ROWS, EVENTS, lambda r: [e[:3] for e in r["events"]])
    life.create("t")
    (created,) = life.jobs("t")
    assert (created.strategy, created.reason.partition(":")[0]) == (
        "incremental/recompute",
        "ALL_ROWS",
    )
    life.move(1)
    life.append((4, 4, 4))
    done = life.execute("ALTER MATERIALIZED TABLE t REFRESH").outcome.refresh
    job = life.jobs("t")[-1]
    assert (done.strategy, life.tables.stored("t").last_refresh.strategy) == ("append", "append")
    assert (job.strategy, JobAnswer.of(job).strategy) == ("incremental/append",) * 2
    assert job.reason.startswith("ROW_WISE: ")
    life.tables.delete("events", "id", 1)
    life.move(1)
    again = life.execute("ALTER MATERIALIZED TABLE t REFRESH").outcome.refresh
    job = life.jobs("t")[-1]
    assert (again.strategy, job.strategy) == ("recompute", "incremental/recompute")
    assert job.reason.startswith("CHANGE_TOO_LARGE: about 1 of 3 source rows changed")
    shown = life.execute("SHOW JOBS").rows[0]
    assert shown[-2:] == (job.strategy, job.reason)
