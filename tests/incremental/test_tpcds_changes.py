"""Changes of the queries of TPC-DS over few random rows, compared with a recompute in DuckDB.

`INCREMENTAL_SEED` is the seed of the rows and changes. The queries are those of Spark's tests.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from decimal import Decimal
from functools import cache, cached_property

import duckdb
import pytest

from dbt.adapters.spark_mt.definition.columns import distinct_names
from dbt.adapters.spark_mt.query.differential import ChangeNotSupported, obstacles
from tests.corpus import tpcds
from tests.corpus.jars import tests_jar
from tests.corpus.sources import Choice
from tests.support.differential_cases import Case, Comparison

SEED = int(os.environ.get("INCREMENTAL_SEED", "1"))
PARTS = 20
QUERIES = 135
LIMIT = 100
_SETS = re.compile(r"GROUP BY (ROLLUP|CUBE)\s*\([^()]*\)", re.IGNORECASE)
"""Without rows Spark has no groups of these, where DuckDB has the one of all rows."""
_GONE, _UPDATED = 0.12, 0.3


class QueryOfSpark(Case):
    """A query with names for columns that Spark names."""

    @cached_property
    def tree(self):
        """The operator tree of the query."""
        tree = super().tree
        names = tuple(name or f"unnamed_{n}" for n, name in enumerate(tree.columns))
        return replace(tree, columns=distinct_names(names))

    @property
    def oracle(self):
        """The query itself."""
        return self.query


class RoundedComparison(Comparison):
    """Compares nine digits of floating-point numbers: the last ones depend on the order of rows."""

    def run(self, text, schema):
        """Return the rows of a query of Spark."""
        return [
            tuple(f"{value:.9g}" if isinstance(value, float) else value for value in row)
            for row in super().run(text, schema)
        ]


@pytest.fixture(scope="module")
def jar():
    return tests_jar()


def type_of(column):
    """A type that DuckDB has."""
    return "STRING" if column.type.upper().startswith(("CHAR", "VARCHAR")) else column.type


@cache
def sources_of(query):
    """The tables of a query; it takes seconds to find rows for some queries."""
    return tpcds.sources([query], tpcds.tables(tests_jar()), SEED)


def case_of(query):
    sources = sources_of(query)
    tables = {s.name: {c.name: type_of(c) for c in s.columns} for s in sources}
    choice = Choice(f"{SEED} {query.name}")
    before = {
        s.name: [tuple(map(exact, row, (c.type for c in s.columns))) for row in s.rows]
        for s in sources
    }
    after = {
        name: changed(rows, choice) if choice.random() < 1 / 2 else rows
        for name, rows in before.items()
    }
    text = _SETS.sub(r"\g<0> HAVING count(*) > 0", query.text)
    return QueryOfSpark(text, before, after, tables)


def exact(value, type_):
    """A decimal number whose sums DuckDB has exactly: its averages are floating-point numbers."""
    if value is None or not type_.upper().startswith("DECIMAL"):
        return value
    return str(round(Decimal(value) * 4) / Decimal(4))


def changed(rows, choice):
    """Rows without some, with other values in some, and with some more."""
    found = []
    for row in rows:
        kind = choice.random()
        place = choice.randrange(len(row))
        if kind < _GONE:
            continue
        new = (*row[:place], choice.choice(rows)[place], *row[place + 1 :])
        found.append(new if kind < _UPDATED else row)
    more = choice.randrange(3) if rows else 0
    return found + [
        tuple(choice.choice(rows)[place] for place in range(len(rows[0]))) for _ in range(more)
    ]


def fails(comparison, case):
    """Whether the query fails over the rows before or after, as by a subquery with two rows."""
    try:
        for schema in ("old", "new"):
            comparison.run(case.oracle, schema)
    except duckdb.Error:
        return True
    return False


def is_cut(comparison, case):
    """Whether the query leaves out rows, some of which may be equal to others in its order."""
    return "LIMIT" in case.query and len(comparison.run(case.oracle, "new")) == LIMIT


@pytest.mark.parametrize("part", range(PARTS))
def test_the_change_gives_the_recomputed_result(jar, part):
    queries = tpcds.queries(jar)[part::PARTS]
    compared = 0
    for query in queries:
        case, comparison = case_of(query), RoundedComparison()
        try:
            change = comparison.change(case)
        except ChangeNotSupported:
            continue
        except duckdb.Error:
            assert fails(comparison, case), query.name
            continue
        problem = comparison.problem_of(case, change)
        if problem and is_cut(comparison, case):
            continue
        assert not problem, f"{query.name}: {problem}"
        compared += not comparison.is_unknown(change)
    assert compared >= len(queries) - 2


def test_nearly_all_queries_have_rules(jar):
    queries = tpcds.queries(jar)
    cases = {query.name: case_of(query) for query in queries}
    assert len(cases) == QUERIES
    refused = {name: obstacles(case.tree) for name, case in cases.items()}
    assert {name for name, found in refused.items() if found} == set()
