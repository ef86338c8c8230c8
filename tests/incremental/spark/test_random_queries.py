"""Random queries on Spark and Delta, refreshed by changes in `strict`, compared with the query.

`INCREMENTAL_CASES` is their number, `INCREMENTAL_SEED` the first of them. Those of one batch share
their sources. A query that is refused with its definition is counted, and no change may fail.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import (
    MaterializedTableError,
    QueryError,
    RefreshNotIncrementalError,
)
from dbt.adapters.spark_mt.spark.session.errors import ANSI_CONDITIONS, is_spark_error
from tests.functional.engine.oracle import outcome
from tests.support.typed_queries import TABLES, TypedQueries

CASES = int(os.environ.get("INCREMENTAL_CASES", "40"))
SEED = int(os.environ.get("INCREMENTAL_SEED", "1"))
AT_ONCE = 10
CHANGES = 2
ROWS = 40


@pytest.mark.parametrize("first", range(SEED, SEED + CASES, AT_ONCE))
@pytest.mark.usefixtures("schema")
def test_no_change_of_a_random_query_fails(session, first, counts):
    tables, source = MaterializedTables(session), TypedQueries.of(first)
    for (name, columns), kind in zip(TABLES.items(), ("true", "false", "true"), strict=True):
        ddl = ", ".join(f"{column} {type_}" for column, type_ in columns.items())
        listed = ", ".join(source.values(name) for _ in range(ROWS))
        session.sql(
            f"CREATE TABLE {name} ({ddl}) USING delta "
            f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{kind}')"
        )
        session.sql(f"INSERT INTO {name} VALUES {listed}")
    seeds = range(first, min(first + AT_ONCE, SEED + CASES))
    queries = {seed: TypedQueries.of(seed).query() for seed in seeds}
    created = {seed: query for seed, query in queries.items() if was_created(tables, seed, query)}
    counts.update(created=len(created), refused=len(queries) - len(created))
    problems: list[str] = []
    for table in TABLES:
        for _ in range(CHANGES):
            session.sql(source.change(table))
    for seed, query in created.items():
        found = problem(tables, seed, query, counts)
        problems += [f"seed {seed}: {found}\n{query}"] if found else []
    assert not problems, "\n\n".join(problems)
    assert created


def was_created(tables: MaterializedTables, seed: int, query: str) -> bool:
    """Create the table of a query, unless no change of it can be derived."""
    try:
        outcome(
            tables,
            f"CREATE MATERIALIZED TABLE q{seed} WITH ('incremental' = 'strict') "
            f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {query}",
        )
    except QueryError:  # as of two types that Spark does not compare
        return False
    except MaterializedTableError as error:
        if "NOT_INCREMENTAL" not in str(error) and not fails(tables, query):
            raise
        return False
    return True


def fails(tables: MaterializedTables, query: str) -> bool:
    """Whether Spark cannot compute a query, such as one that casts text that is no number."""
    try:
        tables.sql(query).collect()
    except Exception as error:
        if not is_spark_error(error):
            raise
        return True
    return False


def problem(tables: MaterializedTables, seed: int, query: str, counts: Counter[str]) -> str:
    """Refresh a table; return what is wrong."""
    try:
        found = refused(tables, seed, counts)
    except Exception as error:
        if not isinstance(error, MaterializedTableError) and not is_spark_error(error):
            raise
        found = f"{type(error).__name__}: {error}"
    if found and fails(tables, query):
        counts["query fails"] += 1
        return ""
    return found or difference(tables, seed, query)


def refused(tables: MaterializedTables, seed: int, counts: Counter[str]) -> str:
    """Refresh a table; return why its change failed, and compute all rows where it has no rule.

    A change computes more rows than the query, such as those of a group that no join keeps. A cast
    may fail for one of these: then all rows are computed, and the query is counted.
    """
    try:
        done = tables.refresh(f"q{seed}")
    except RefreshNotIncrementalError as error:
        is_of_value = any(f"[{each}]" in str(error) for each in ANSI_CONDITIONS)
        if "_FAILED" in str(error) and not is_of_value:
            return str(error)
        by_data = "TOP_ROWS_LEFT" in str(error)
        needs = "recomputed for first rows" if by_data else "recomputed"
        counts["a value of another row fails" if is_of_value else needs] += 1
        tables.refresh(f"q{seed}", force=True)
        return ""
    counts[f"{done.status.value} {done.strategy}"] += 1
    return ""


def difference(tables: MaterializedTables, seed: int, query: str) -> str:
    """Return the rows that a table and its query do not have equally often."""
    stored, wanted = (
        Counter(map(repr, tables.sql(text).collect())) for text in (f"TABLE q{seed}", query)
    )
    return f"has {stored - wanted} in place of {wanted - stored}" if stored != wanted else ""
