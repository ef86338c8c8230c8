"""A share of TPC-DS and of Spark's SQL tests, drawn by a seed, as materialized tables."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.corpus.queries import Query
from tests.corpus.run import Workplace

KNOWN: dict[str, str] = {}
"""Queries with a fault that is known, each with the reason: removed with the fault."""


def test_each_table_equals_its_query(results):
    faults = {r.query: r.faults for r in results if r.faults and r.query not in KNOWN}
    assert not faults


def test_each_known_fault_is_still_there(results):
    mended = {r.query for r in results if not r.faults} & KNOWN.keys()
    assert not mended


@pytest.mark.parametrize("corpus", ["tpcds", "sql-tests"])
def test_tables_are_refreshed_by_changes(results, corpus):
    """A share in which nothing is created, or everything recomputed, would show no fault."""
    found = [r for r in results if r.corpus.startswith(corpus)]
    assert any(r.is_created for r in found)
    assert any(r.is_incremental for r in found)


@pytest.fixture
def place(session, schema):
    """A place with a source `t(k, v)`, and the results."""
    session.sql(f"CREATE TABLE {schema}.t (k INT, v STRING) USING delta")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (2, 'b'), (3, NULL)")
    found = []
    return Workplace(session, 1, found.append), found


COUNTS = Query("own/counts", "SELECT v, count(*) AS n, sum(k) AS k FROM t GROUP BY v")


def test_a_table_that_is_not_refreshed_is_a_fault(place, monkeypatch):
    workplace, found = place

    class Nothing:
        status, strategy = None, "differential"

    monkeypatch.setattr(MaterializedTables, "refresh", lambda *_: Nothing)
    workplace.run([COUNTS], ["t"])
    (result,) = found
    assert result.outcome == "strict"
    assert "insert" in result.faults[0]
    assert "missing" in result.faults[0]


def test_an_exception_that_is_not_ours_is_a_fault(place, monkeypatch):
    workplace, found = place

    def fail(*_):
        raise KeyError("key not found")  # noqa: TRY003, EM101 - as Spark's

    monkeypatch.setattr(MaterializedTables, "refresh", fail)
    workplace.run([COUNTS], ["t"])
    assert found[0].faults[0] == "insert: KeyError: 'key not found'"


@pytest.mark.parametrize(
    ("query", "is_determined"),
    [
        (COUNTS.text, True),
        ("SELECT first(v) AS v FROM t", False),
        ("SELECT k FROM t LIMIT 3", False),
    ],
)
def test_rows_that_depend_on_the_order_of_the_input_are_not_compared(place, query, is_determined):
    workplace, _ = place
    session = workplace.session
    session.sql("INSERT INTO t SELECT id, concat('x', id) FROM range(10, 40)")
    assert workplace.is_determined(query, session.sql(query).collect()) == is_determined
