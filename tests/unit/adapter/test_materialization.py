"""The decision of a run, and that a plan reports the same one."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from dbt.exceptions import FailFastError

from dbt.adapters.spark_mt.adapter.config import ModelSettings, Waiting
from dbt.adapters.spark_mt.adapter.materialization import (
    Drop,
    Method,
    Rename,
    check_swap,
    decide,
    plan_decision,
    settled,
)
from dbt.adapters.spark_mt.adapter.responses import response_of
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    ConfigurationChangedError,
    NotMaterializedError,
    StatementSyntaxError,
)
from dbt.adapters.spark_mt.definition.modes import Wait
from dbt.adapters.spark_mt.execution.operations import TableOperations
from dbt.adapters.spark_mt.execution.results import AdoptionTerms
from dbt.adapters.spark_mt.impl import SparkMTAdapter
from dbt.adapters.spark_mt.planning.explain import Verdict
from dbt.adapters.spark_mt.relation import SparkMTRelation
from dbt.adapters.spark_mt.statements.parser import ParsedStatement
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import SUMS, WIDER, prepare
from tests.support.errors import raises
from tests.support.parses import counted_parses

MODEL = SparkMTRelation.create(database="spark_catalog", schema="default", identifier="t")
VIEW, OURS = MODEL.as_view(), MODEL.as_table()
PLAIN = MODEL.incorporate(type="table", is_delta=True)
OTHER = MODEL.incorporate(type="table")
SETTINGS = ModelSettings()
ADOPTING = replace(SETTINGS, adopt=AdoptionTerms())
NEVER = replace(SETTINGS, adopt=None)


@pytest.mark.parametrize(
    ("existing", "settings", "full_refresh", "validates", "method", "target"),
    [
        (None, SETTINGS, False, False, Method.ALTER, "t"),
        (None, SETTINGS, True, False, Method.REPLACE, "t"),
        (None, ADOPTING, False, False, Method.ALTER, "t"),
        (OURS, SETTINGS, False, False, Method.ALTER, "t"),
        (OURS, SETTINGS, True, False, Method.REPLACE, "t"),
        (OURS, ADOPTING, False, False, Method.ALTER, "t"),
        (OURS, SETTINGS, False, True, Method.ALTER, "t"),
        (VIEW, SETTINGS, False, False, Method.SWAP, "t__dbt_staged"),
        (VIEW, ADOPTING, False, False, Method.SWAP, "t__dbt_staged"),
        (VIEW, SETTINGS, False, True, Method.SWAP, "t__dbt_staged"),
        (PLAIN, SETTINGS, True, False, Method.SWAP, "t__dbt_staged"),
        (PLAIN, ADOPTING, True, False, Method.SWAP, "t__dbt_staged"),
        (PLAIN, ADOPTING, False, False, Method.ADOPT, "t"),
        (PLAIN, ADOPTING, False, True, Method.ADOPT, "t"),
        (PLAIN, SETTINGS, False, False, Method.ADOPT, "t"),
        (PLAIN, SETTINGS, False, True, Method.ADOPT, "t"),
        (PLAIN, NEVER, False, True, Method.SWAP, "t__dbt_staged"),
        (OTHER, ADOPTING, False, False, Method.ADOPT, "t"),
        (OTHER, SETTINGS, False, True, Method.SWAP, "t__dbt_staged"),
    ],
)
def test_the_decision(existing, settings, full_refresh, validates, method, target):
    decision = decide(MODEL, existing, settings, full_refresh=full_refresh, validates=validates)
    assert (decision.method, decision.target.identifier) == (method, target)
    assert decision.replaces is (method is Method.REPLACE)
    assert decision.relation.is_materialized_table
    assert decision.target.is_materialized_table


@pytest.mark.parametrize(("existing", "settings"), [(PLAIN, NEVER), (OTHER, SETTINGS)])
def test_a_plain_table_is_not_replaced_without_being_asked(existing, settings):
    with pytest.raises(NotMaterializedError) as caught:
        decide(MODEL, existing, settings, full_refresh=False)
    assert caught.value.parameters["what"] == "a plain table"
    assert str(caught.value.parameters["table"]) == "spark_catalog.default.t"


@pytest.mark.parametrize(
    ("existing", "stand_in", "result"),
    [(None, VIEW, VIEW), (VIEW, VIEW, VIEW), (OURS, None, OURS), (PLAIN, None, PLAIN)],
)
def test_a_check_leaves_what_is_there_or_a_view(existing, stand_in, result):
    decision = decide(MODEL, existing, SETTINGS, full_refresh=False, validates=True)
    assert (decision.stand_in, decision.result) == (stand_in, result)


def test_a_run_makes_the_table():
    decision = decide(MODEL, VIEW, SETTINGS, full_refresh=False)
    assert (decision.stand_in, decision.result) == (None, OURS)


@pytest.fixture
def memory():
    memory = MemoryTables()
    prepare(memory)
    return memory


@pytest.fixture
def tables(memory):
    return TableOperations(memory.environment)


def statement(decision, query=SUMS, clauses=""):
    form = "REPLACE" if decision.replaces else "ALTER"
    name = decision.target.identifier
    return f"CREATE OR {form} MATERIALIZED TABLE {name} {clauses} AS {query}"


def planned(tables, decision, settings=SETTINGS, **parts):
    query = parts.get("query", SUMS)
    parsed = ParsedStatement.of(statement(decision, **parts))
    return plan_decision(tables, decision, parsed, settings, query)


def test_a_plan_of_a_table_that_is_altered_or_replaced(tables):
    tables.materialize(statement(decide(MODEL, None, SETTINGS, full_refresh=False)))
    alter = decide(MODEL, OURS, SETTINGS, full_refresh=False)
    assert planned(tables, alter)[0].verdict is Verdict.UNCHANGED
    assert planned(tables, alter, query=WIDER)[0].verdict is Verdict.REBUILT
    replacing = decide(MODEL, OURS, SETTINGS, full_refresh=True)
    assert planned(tables, replacing)[0].verdict is Verdict.REBUILT


def test_a_plan_of_a_table_that_is_adopted(tables, memory):
    memory.source("t", "k INT; total BIGINT", [(8, 800)])
    summary, _ = planned(tables, decide(MODEL, PLAIN, ADOPTING, full_refresh=False), ADOPTING)
    assert summary.changes == ("table adopted",)


def test_a_plan_says_that_the_run_compares_the_rows(tables, memory):
    memory.source("t", "k INT; total BIGINT", [(8, 800)])
    summary, notes = planned(tables, decide(MODEL, PLAIN, SETTINGS, full_refresh=False))
    assert summary.changes == ("table adopted, because its rows are those of the query",)
    assert notes == ("the run computes the query to compare the rows, and refuses others",)


@pytest.mark.parametrize(
    ("existing", "verdict", "loses"),
    [
        (VIEW, Verdict.CREATED, "the view"),
        (PLAIN, Verdict.REBUILT, "the plain table with its rows and history"),
    ],
)
def test_a_plan_of_a_swap_names_the_model_and_what_is_lost(tables, existing, verdict, loses):
    summary, _ = planned(tables, decide(MODEL, existing, SETTINGS, full_refresh=True))
    assert (summary.table, summary.verdict) == ("spark_catalog.default.t", verdict)
    assert summary.loses == (loses,)


def test_a_swap_is_refused_for_a_query_that_reads_the_relation(tables, memory):
    memory.view("t", SUMS)
    memory.learn("SELECT k, total FROM t", "k INT; total BIGINT", lambda rows: list(rows["t"]))
    decision = decide(MODEL, VIEW, SETTINGS, full_refresh=False)
    with raises(conditions.READS_ITSELF):
        check_swap(tables, decision, "SELECT k, total FROM t")
    check_swap(tables, decision, SUMS)


def test_a_plan_of_a_swap_that_is_refused_names_the_model(tables):
    decision = decide(MODEL, VIEW, SETTINGS, full_refresh=False)
    summary, _ = planned(tables, decision, clauses="PARTITIONED BY (absent)")
    assert summary.verdict is Verdict.REFUSED
    assert "spark_catalog.default.t" in str(summary)
    assert "__dbt_staged" not in str(summary)


FRESH = "FRESHNESS = INTERVAL '2' HOUR"


@pytest.mark.parametrize("policy", ["apply", "continue", "fail"])
def test_on_configuration_change(tables, policy):
    decision = decide(MODEL, OURS, SETTINGS, full_refresh=False)
    tables.materialize(statement(decision))
    settings = replace(SETTINGS, on_configuration_change=policy)
    changed = ParsedStatement.of(statement(decision, WIDER, FRESH))
    if policy == "fail":
        with pytest.raises(ConfigurationChangedError) as caught:
            settled(tables, decision, changed, settings)
        assert len(caught.value.violations) == 2
        return
    kept = settled(tables, decision, changed, settings)
    assert bool(kept.left) is (policy == "continue")
    tables.materialize(kept.statement)
    summary, notes = planned(tables, decision, settings, query=WIDER, clauses=FRESH)
    assert summary.verdict is Verdict.UNCHANGED
    assert len(notes) == len(kept.left)


class Adapter(SparkMTAdapter):
    """The adapter on tables in memory; relations are only renamed in `did`."""

    def __init__(self, tables) -> None:
        self.tables = tables
        self.connections = SimpleNamespace(materialize=self.carry_out)
        self.did: list[str] = []

    @contextmanager
    def working(self, what):
        if what.startswith("waiting"):
            self.did.append("wait")
        yield self.tables

    def carry_out(self, statement, **how):
        self.did.append(statement.text)
        return response_of(self.tables.materialize(statement, **how))

    def drop_relation(self, relation):
        self.did.append(f"drop {relation.identifier}")

    def rename_relation(self, relation, to):
        self.did.append(f"{relation.identifier} > {to.identifier}")


def run(adapter, decision, settings=SETTINGS, **parts):
    query = parts.get("query", SUMS)
    return adapter.materialize(decision, statement(decision, **parts), settings, query)


def test_a_swap_fills_the_staged_table_before_it_drops_what_is_there(tables):
    adapter = Adapter(tables)
    decision = decide(MODEL, VIEW, SETTINGS, full_refresh=False)
    response = run(adapter, decision)
    assert (str(response), response.rows) == ("CREATED", 2)
    dropped, created, *renamed = adapter.did
    assert dropped == "drop t__dbt_staged"
    assert created == statement(decision)
    assert renamed == [
        "drop t__dbt_backup",
        "t > t__dbt_backup",
        "t__dbt_staged > t",
        "drop t__dbt_backup",
        "wait",
    ]


def test_a_run_and_a_plan_refuse_the_same_swap(tables, memory):
    memory.view("t", SUMS)
    reading = "SELECT k, total FROM t"
    memory.learn(reading, "k INT; total BIGINT", lambda rows: list(rows["t"]))
    decision, adapter = decide(MODEL, VIEW, SETTINGS, full_refresh=False), Adapter(tables)
    for act in (
        lambda: run(adapter, decision, query=reading),
        lambda: planned(tables, decision, query=reading),
    ):
        with raises(conditions.READS_ITSELF):
            act()
    assert adapter.did == []


def test_a_check_changes_nothing(tables, memory):
    adapter = Adapter(tables)
    decision = decide(MODEL, None, SETTINGS, full_refresh=False, validates=True)
    assert str(run(adapter, decision)) == "VALIDATED"
    assert adapter.did == []
    assert memory.catalog.table(memory.name("t")) is None


def test_an_adopted_table_is_not_waited_for(tables, memory):
    memory.source("t", "k INT; total BIGINT", [(8, 800)])
    waiting = replace(ADOPTING, wait=Waiting(Wait.FRESH))
    adapter = Adapter(tables)
    response = run(adapter, decide(MODEL, PLAIN, waiting, full_refresh=False), waiting)
    assert str(response) == "ADOPTED"
    assert "wait" not in adapter.did
    assert memory.rows("t") == [(8, 800)]


def test_a_table_with_the_rows_of_its_query_is_adopted_without_being_asked(tables, memory):
    memory.source("t", "k INT; total BIGINT", [(1, 15), (2, 7)])
    decision = decide(MODEL, PLAIN, SETTINGS, full_refresh=False)
    assert str(run(Adapter(tables), decision)) == "ADOPTED"
    memory.append("orders", [(1, "2026-03-01", 100)])
    assert run(Adapter(tables), decide(MODEL, OURS, SETTINGS, full_refresh=False)).rows
    assert memory.rows("t") == [(1, 115), (2, 7)]


@pytest.mark.parametrize(("policy", "rows"), [("auto", 2), ("always", 2), ("never", None)])
def test_a_run_refreshes_as_the_config_says(tables, memory, policy, rows):
    adapter, decision = Adapter(tables), decide(MODEL, OURS, SETTINGS, full_refresh=False)
    run(adapter, decision)
    memory.append("orders", [(1, "2026-03-01", 100)])
    response = run(adapter, decision, replace(SETTINGS, refresh_on_run=policy))
    assert response.rows == rows


def test_a_changed_configuration_is_left_or_ends_the_run(tables):
    adapter, decision = Adapter(tables), decide(MODEL, OURS, SETTINGS, full_refresh=False)
    run(adapter, decision)
    keeping = replace(SETTINGS, on_configuration_change="continue")
    response = run(adapter, decision, keeping, clauses=FRESH)
    assert response.action == "UNCHANGED"
    assert "`continue` for `spark_catalog.default.t`" in response.warnings[0]
    adapter.did.clear()
    failing = replace(SETTINGS, on_configuration_change="fail")
    with pytest.raises(FailFastError) as caught:
        run(adapter, decision, failing, clauses=FRESH)
    assert "was set to `fail` for `spark_catalog.default.t`" in str(caught.value)
    assert adapter.did == []


@pytest.mark.parametrize("policy", ["apply", "continue"])
@pytest.mark.parametrize("validates", [False, True])
@pytest.mark.parametrize("clauses", ["", FRESH])
def test_a_run_parses_its_statement_once(tables, monkeypatch, policy, validates, clauses):
    adapter = Adapter(tables)
    run(adapter, decide(MODEL, None, SETTINGS, full_refresh=False))
    decision = decide(MODEL, OURS, SETTINGS, full_refresh=False, validates=validates)
    parses = counted_parses(monkeypatch)
    settings = replace(SETTINGS, on_configuration_change=policy)
    run(adapter, decision, settings, clauses=clauses)
    assert parses == [statement(decision, clauses=clauses)]


def test_a_statement_that_is_not_valid_drops_no_staged_table(tables):
    adapter = Adapter(tables)
    decision = decide(MODEL, VIEW, SETTINGS, full_refresh=False)
    with pytest.raises(StatementSyntaxError):
        run(adapter, decision, clauses="FRESHNESS INTERVAL '1' DAY")
    assert adapter.did == []


def test_the_steps_of_a_swap_are_values():
    decision = decide(MODEL, VIEW, SETTINGS, full_refresh=False)
    backup = VIEW.with_suffix("__dbt_backup")
    assert decision.steps_before == (Drop(decision.target),)
    assert decision.steps_after == (
        Drop(backup),
        Rename(VIEW, backup),
        Rename(decision.target, decision.relation),
        Drop(backup),
    )
    altered = decide(MODEL, OURS, SETTINGS, full_refresh=False)
    assert (altered.steps_before, altered.steps_after) == ((), ())
