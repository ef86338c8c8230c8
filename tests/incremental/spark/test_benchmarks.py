"""TPC-H and Nexmark on Spark: tables are refreshed by changes, and equal their queries."""

from __future__ import annotations

from itertools import cycle

import pytest

from tests.incremental.spark.benchmark import (
    ROUNDS,
    Benchmark,
    create_sources,
    insert,
    is_incremental,
    update,
)
from tests.support.benchmark_rows import (
    VALUES,
    Choice,
    events,
    new_order,
    numbered,
    row,
    totally_ordered,
    tpch_rows,
    typed,
    with_names,
)
from tests.support.query_corpus import NEXMARK, NEXMARK_TABLES, TPCH, TPCH_TABLES

SIZES = {
    "lineitem": 400,
    "orders": 90,
    "partsupp": 120,
    "customer": 50,
    "part": 50,
    "supplier": 30,
    "nation": 10,
    "region": 3,
}
LARGEST = {
    "l_partkey": 25,
    "ps_partkey": 25,
    "l_suppkey": 10,
    "ps_suppkey": 10,
    "c_nationkey": 10,
    "s_nationkey": 10,
    "o_custkey": 30,
    "seller": 20,
    "bidder": 20,
}
"""Keys that rows refer to; some of the rows with these keys are referred to by none."""
EVENTS = 60
RECOMPUTED = {
    "tpch": {"q03": "rows left the first ones"},
    "nexmark": {},
}
"""Queries with a refresh that is no incremental one, and a part of its reason."""
NUMBERED = ("person", "auction", "side_input")


def choice_of(queries, seed):
    """Return the choice of rows by a seed; with the ones below each query returns some."""
    choice = Choice(seed)
    choice.query = "".join(queries.values())
    choice.largest = LARGEST
    choice.has_fractions = True
    return choice


def rows_of_tpch(choice, columns):
    """All names of nations and regions are there, each nation with a region."""
    rows = tpch_rows(choice, columns, SIZES)
    for name in ("region", "nation"):
        names = cycle(VALUES[f"{name[0]}_name"])
        rows[name] = [(key, next(names), *others) for key, _, *others in rows[name]]
    return rows


def changes_of_tpch(choice, columns, rows):
    """RF1 adds orders with their lines, RF2 removes some; both change other tables too."""
    made = [new_order(choice, number, columns) for number in range(101, 106)]
    stock = [row(choice, columns["partsupp"]) for _ in range(6)]
    gone = " OR ".join(
        f"(ps_partkey = {part} AND ps_suppkey = {supplier})"
        for part, supplier, *_ in (*rows["partsupp"][:5], stock[0])
    )

    def updates(**numbers):
        keys = {"lineitem": 4, "partsupp": 2}
        return [
            update(choice, name, columns[name], each, keys.get(name, 1))
            for name, number in numbers.items()
            for each in rows[name][-number:]
        ]

    return {
        "insert": [
            insert("orders", columns["orders"], [order for order, _ in made]),
            insert("lineitem", columns["lineitem"], [line for _, lines in made for line in lines]),
            insert("partsupp", columns["partsupp"], stock),
        ],
        "delete": [
            "DELETE FROM lineitem WHERE l_orderkey IN (1, 2, 3, 4, 101)",
            "DELETE FROM orders WHERE o_orderkey IN (1, 2, 3, 4, 101)",
            f"DELETE FROM partsupp WHERE {gone}",
            *updates(region=1),
        ],
        "update": updates(lineitem=8, partsupp=4, customer=3, part=2, supplier=2, nation=1),
    }


def changes_of_nexmark(choice, columns, rows):
    added = events(choice, columns, 3)
    added |= {name: numbered(added[name], EVENTS + 1) for name in NUMBERED}
    bids = [rows["bid"][0], rows["bid"][1], added["bid"][0]]
    return {
        "insert": [insert(name, columns[name], each) for name, each in added.items()],
        "delete": [
            "DELETE FROM person WHERE id IN (3, 62)",
            "DELETE FROM auction WHERE id IN (2, 5)",
            "DELETE FROM side_input WHERE key = 2",
            *(f"DELETE FROM bid WHERE ts = TIMESTAMP '{bid[-1]}'" for bid in bids),
        ],
        "update": [
            update(choice, name, columns[name], each[0], 2 if name == "bid" else 1)
            for name, each in (rows | {"bid": rows["bid"][2:]}).items()
        ],
    }


@pytest.fixture(scope="module")
def tpch(spark, finished):
    columns = typed(TPCH_TABLES)
    choice = choice_of(TPCH, 58)
    rows = rows_of_tpch(choice, columns)
    tables = create_sources(spark, columns, rows)
    queries = {}
    for name, text in TPCH.items():
        query = with_names(text)
        width = len(tables.sql(query).columns)
        queries[name] = totally_ordered(query, width)
    yield from finished(
        Benchmark("TPC-H on Spark", tables, queries, changes_of_tpch(choice, columns, rows))
    )


@pytest.fixture(scope="module")
def nexmark(spark, finished):
    columns = typed(NEXMARK_TABLES)
    choice = choice_of(NEXMARK, 5)
    rows = events(choice, columns, EVENTS)
    rows |= {name: numbered(rows[name]) for name in NUMBERED}
    rows["bid"] += rows["bid"][-3:]  # some are equal
    tables = create_sources(spark, columns, rows)
    yield from finished(
        Benchmark("Nexmark on Spark", tables, NEXMARK, changes_of_nexmark(choice, columns, rows))
    )


def steps(queries):
    """All tables are created, then all are refreshed after each round of changes."""
    return [
        pytest.param(name, round_, id=f"{round_}-{name}")
        for round_ in ("create", *ROUNDS)
        for name in queries
    ]


def take(benchmark, name, round_, recomputed):
    if round_ == "create":
        benchmark.create(name)
        assert benchmark.tables.sql(f"SELECT 1 FROM {name} LIMIT 1").collect()
    else:
        done = benchmark.refresh(name, round_)
        assert is_incremental(done) or name in recomputed


@pytest.mark.parametrize(("name", "round_"), steps(TPCH))
def test_tpch(tpch, name, round_):
    take(tpch, name, round_, RECOMPUTED["tpch"])


@pytest.mark.parametrize(("name", "round_"), steps(NEXMARK))
def test_nexmark(nexmark, name, round_):
    take(nexmark, name, round_, RECOMPUTED["nexmark"])


@pytest.mark.parametrize("name", ["tpch", "nexmark"])
def test_the_other_queries_state_a_reason(request, name):
    benchmark, expected = request.getfixturevalue(name), RECOMPUTED[name]
    if not benchmark.is_complete:
        pytest.skip("some tables were not refreshed after every round")
    found = benchmark.recomputed()
    assert found.keys() == expected.keys()
    assert all(code in found[query] for query, code in expected.items()), found
