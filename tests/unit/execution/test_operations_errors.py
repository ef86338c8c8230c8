"""Errors that no part of a statement expects, at every port: they become errors of ours."""

from __future__ import annotations

from dataclasses import fields, replace
from inspect import getmembers, isfunction

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, QueryError
from dbt.adapters.spark_mt.execution.operations import TableOperations
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import SUMS, prepare
from tests.support.errors import raises

DECLARED = f"CREATE OR ALTER MATERIALIZED TABLE t REFRESH_MODE = CONTINUOUS AS {SUMS}"
OTHER = DECLARED.replace(" t ", " new ")
CHANGED = DECLARED.replace("REFRESH_MODE", "FRESHNESS = INTERVAL '2' MINUTE REFRESH_MODE")
CALLS = {
    "create": lambda o: o.execute(OTHER),
    "materialize": lambda o: o.materialize(OTHER),
    "alter": lambda o: o.execute(CHANGED),
    "replace": lambda o: o.execute(DECLARED.replace("OR ALTER", "OR REPLACE")),
    "refresh": lambda o: o.refresh("t"),
    "force": lambda o: o.refresh("t", force=True),
    "refresh statement": lambda o: o.execute("ALTER MATERIALIZED TABLE t REFRESH"),
    "refresh twice": lambda o: (o.refresh("t"), o.refresh("t")),
    "suspend": lambda o: o.suspend("t"),
    "resume": lambda o: o.resume("suspended"),
    "drop": lambda o: o.execute("DROP MATERIALIZED TABLE t"),
    "show": lambda o: o.execute("SHOW MATERIALIZED TABLES"),
    "show create": lambda o: o.execute("SHOW CREATE MATERIALIZED TABLE t"),
    "describe": lambda o: o.execute("DESC EXTENDED MATERIALIZED TABLE t"),
    "jobs": lambda o: o.execute("SHOW JOBS"),
    "explain": lambda o: o.explain(CHANGED),
    "plan": lambda o: o.plan(CHANGED),
    "validate": lambda o: o.validate(CHANGED),
    "keep": lambda o: o.keep_configuration(CHANGED),
    "keeper": lambda o: o.keeper("t"),
    "is materialized": lambda o: o.is_materialized(TableName("t")),
    "reads": lambda o: o.reads(SUMS, TableName("orders")),
}
PORTS = (
    *("analyzer", "clock", "confs", "managers", "new_id", "observer", "owner", "registry"),
    *("runner", "settings", "sources", "store", "stored_analyzer", "up_to_date", "upstream"),
)
NOT_IN_STATEMENTS = {
    "described",
    "execution_context",
    "format_of",
    "handlers",
    "outage_of",
    "states",
    "storage",
}
NOT_IN_STATEMENTS |= {"streams", "verifications"}


class InjectedError(Exception):
    """Nothing expects it."""


class Failing:
    """A port that raises when one of its methods is called for the n-th time."""

    def __init__(self, port, error, after=0):
        self._port, self._error, self._left = port, error, after
        self.failed = False

    def __getattr__(self, name):
        found = getattr(self._port, name)
        return self._failing(found) if callable(found) else found

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)

    def __call__(self, *arguments, **named):
        return self._failing(self._port)(*arguments, **named)

    def _failing(self, found):
        def call(*arguments, **named):
            self._left -= 1
            if self._left < 0:
                self.failed = True
                raise self._error
            return found(*arguments, **named)

        return call


def made():
    """A world with a table whose source has moved, and a suspended one."""
    tables = MemoryTables()
    prepare(tables)
    operations = TableOperations(tables.environment)
    operations.execute(DECLARED)
    operations.execute(DECLARED.replace(" t ", " suspended "))
    operations.suspend("suspended")
    tables.append("orders", [(1, "2026-03-01", 100)])
    return tables


def failing_at(port, error, call, after=0):
    """Carry out a call while a port fails; return whether it was reached, and the error."""
    tables = made()
    failing = Failing(getattr(tables.environment, port), error, after)
    try:
        call(TableOperations(replace(tables.environment, **{port: failing})))
    except BaseException as raised:  # noqa: BLE001 - the tests look at it
        return failing.failed, raised
    return failing.failed, None


def test_every_port_is_tried():
    known = {field.name for field in fields(MemoryTables().environment)}
    assert known == {*PORTS} | NOT_IN_STATEMENTS


@pytest.mark.parametrize(
    ("port", "after"), [*((port, 0) for port in PORTS), ("store", 2), ("runner", 1), ("sources", 1)]
)
def test_a_failure_at_any_port_is_an_error_of_ours_with_its_cause(port, after):
    reached = 0
    for call in CALLS.values():
        failed, raised = failing_at(port, InjectedError("the disk is gone"), call, after)
        reached += failed
        assert raised is None or isinstance(raised, MaterializedTableError)
        if raised is not None and raised.kind is conditions.UNEXPECTED_ERROR:
            assert isinstance(raised.__cause__, InjectedError)
            assert "InjectedError: the disk is gone" in str(raised)
    assert reached or after


def test_the_error_names_the_table_of_the_statement():
    error = InjectedError("no space")
    _, raised = failing_at("runner", error, CALLS["refresh statement"])
    assert raised.kind is conditions.UNEXPECTED_ERROR
    assert raised.__cause__ is error
    assert raised.parameters["table"] == "t"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_an_interrupt_passes(error):
    assert failing_at("sources", error, CALLS["refresh"]) == (True, error)


def test_the_error_of_a_cancelled_statement_passes():
    tables, error = made(), InjectedError("cancelled")
    sources = Failing(tables.environment.sources, error)
    environment = replace(tables.environment, sources=sources, described=lambda _: None)
    with pytest.raises(InjectedError):
        TableOperations(environment).refresh("t")


def test_a_catalog_that_is_away_is_no_unexpected_error():
    tables, error = made(), InjectedError("away")
    found = conditions.CATALOG_UNAVAILABLE(catalog="c", asked="", problem="p")
    environment = replace(
        tables.environment,
        sources=Failing(tables.environment.sources, error),
        outage_of=lambda raised: found if raised is error else None,
    )
    with raises(conditions.CATALOG_UNAVAILABLE) as raised:
        TableOperations(environment).refresh("t")
    assert raised.value.__cause__ is error


def test_every_public_method_of_the_facade_has_the_net():
    """But `sql`, which passes statements of others on to Spark."""
    public = [(n, m) for n, m in getmembers(MaterializedTables, isfunction) if n[0] != "_"]
    assert [name for name, method in public if not hasattr(method, "__wrapped__")] == ["sql"]


def test_errors_of_ours_stay_what_they_are():
    with pytest.raises(MaterializedTableError) as raised:
        TableOperations(made().environment).refresh("absent")
    assert raised.value.condition == "MATERIALIZED_TABLE_NOT_FOUND"


@pytest.mark.parametrize("head", ["", "EXPLAIN "])
def test_an_unknown_relation(head):
    with pytest.raises(QueryError) as error:
        MemoryTables().execute(f"{head}CREATE MATERIALIZED TABLE a.b AS SELECT * FROM nowhere")
    assert error.value.parameters["table"] == "a.b"
    assert "Materialized table a.b: The query is refused" in str(error.value)


def test_an_error_without_a_table_needs_none():
    with pytest.raises(MaterializedTableError) as error:
        MemoryTables().execute("DESC JOB 'nothing'")
    assert "table" not in error.value.parameters
