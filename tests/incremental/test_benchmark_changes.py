"""Changes of the results of TPC-H and Nexmark, compared with a recompute in DuckDB."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.query.differential import ChangeNotSupported, obstacles
from tests.support.benchmark_rows import (
    Choice,
    events,
    new_order,
    row,
    totally_ordered,
    tpch_rows,
    typed,
    with_names,
)
from tests.support.differential_cases import Case, Comparison
from tests.support.query_corpus import NEXMARK, NEXMARK_TABLES, TPCH, TPCH_TABLES

ROUNDS = 5


def refreshed(chosen, rows, tables):
    """RF1 adds orders with their lines, RF2 removes some; a third one changes any table."""
    after = {name: list(each) for name, each in rows.items()}
    order, lines = new_order(chosen, len(rows["orders"]) + 1, tables)
    after["orders"].append(order)
    after["lineitem"] += lines
    if chosen.random() < 0.6:
        gone = chosen.choice(rows["orders"])[0]
        after["orders"] = [each for each in after["orders"] if each[0] != gone]
        after["lineitem"] = [each for each in after["lineitem"] if each[0] != gone]
    if chosen.random() < 0.5:
        after |= {name: changed(chosen, after[name], tables[name]) for name in tables}
    return after


def changed(chosen, rows, columns):
    """Return rows of which some were changed, with their keys kept, and some removed."""
    if chosen.random() < 0.5:
        return rows
    kept = [each for each in rows if chosen.random() < 0.95]
    return [
        (each[0], *row(chosen, columns)[1:]) if chosen.random() < 0.15 else each for each in kept
    ]


def next_events(chosen, rows, tables):
    after = {name: [*each, row(chosen, tables[name])] for name, each in rows.items()}
    if chosen.random() < 0.5:
        after = {name: changed(chosen, each, tables[name]) for name, each in after.items()}
    return after


def tree_of(query, tables):
    return Case(query, {}, {}, tables).tree


def compared(name, query, tables, rows, after):
    comparison = Comparison()
    some = 0
    for seed in range(ROUNDS):
        chosen = Choice(f"{name}{seed}")
        chosen.query = query
        before = rows(chosen, tables)
        case = Case(query, before, after(chosen, before, tables), tables)
        assert obstacles(case.tree) == ()
        try:
            change = comparison.change(case)
        except ChangeNotSupported as refused:
            pytest.fail(f"{name}: {refused.reason}")
        problem = comparison.problem_of(case, change)
        assert not problem, f"{name}, round {seed}: {problem}"
        if not comparison.is_unknown(change):
            some += bool(comparison.run(query, "new")) if "window(" not in query else 1
    assert some


@pytest.mark.parametrize("name", TPCH)
def test_tpch(name):
    """With a LIMIT that cuts, and an order without equal rows."""
    tables = typed(TPCH_TABLES)
    query = with_names(TPCH[name])
    query = totally_ordered(query, len(tree_of(query, tables).columns), limit=3)
    compared(name, query, tables, tpch_rows, refreshed)


@pytest.mark.parametrize("name", sorted(NEXMARK.keys() - {"q11"}))
def test_nexmark(name):
    """DuckDB has no session windows (q11)."""
    compared(name, NEXMARK[name], typed(NEXMARK_TABLES), events, next_events)


def test_no_query_has_an_obstacle():
    for ddl, queries in ((TPCH_TABLES, TPCH), (NEXMARK_TABLES, NEXMARK)):
        tables = typed(ddl)
        assert not [name for name, q in queries.items() if obstacles(tree_of(q, tables))]
