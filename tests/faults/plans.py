"""The statements that are killed, one for each shape that a plan can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.strategies.strategy import DIFFERENTIAL
from tests.behaviour.faults import CASES
from tests.behaviour.suite import DAY_1, DAY_2, DAY_3, SUMS, WIDER

_SOURCE = (
    "CREATE TABLE orders (k INT, day STRING, amount INT) USING delta",
    f"INSERT INTO orders VALUES (1, '{DAY_1}', 10), (1, '{DAY_2}', 5), (2, '{DAY_2}', 7)",
)
_MOVE = f"INSERT INTO orders VALUES (1, '{DAY_1}', 1), (1, '{DAY_3}', 1)"
_DONE = frozenset({conditions.ALREADY_SUSPENDED.name, conditions.ALREADY_RESUMED.name})


@dataclass(frozen=True)
class Case:
    """A statement, the tables that it finds, and how the same is asked for a second time.

    Args:
        before: The statements that make the tables.
        statement: What is killed.
        again: Leads to the same when the statement was done, half done, or not begun.
        done: Conditions by which `again` says that all is done already.
        others: Other statements that may come first after a kill and that `again` follows; none
            of them changes what `again` leads to.
        strategy: How the statement refreshes the table; empty for any way.
        later: What happens to the sources in the end, before each of some more refreshes.
        sums: How many tables with partial sums there are after these refreshes.
    """

    before: tuple[str, ...]
    statement: str
    again: str
    done: frozenset[str] = frozenset()
    others: tuple[str, ...] = (
        "ALTER MATERIALIZED TABLE t REFRESH",
        "DESCRIBE MATERIALIZED TABLE t",
        "SHOW CREATE MATERIALIZED TABLE t",
    )
    strategy: str = ""
    later: tuple[str, ...] = ()
    sums: int = 0


def _of(name: str) -> Case:
    """Take a case of the behaviour suite."""
    case = CASES[name]
    before = _SOURCE
    if case.query:
        before += (f"CREATE MATERIALIZED TABLE t {case.clauses} AS {case.query}",)
    if case.suspended:
        before += ("ALTER MATERIALIZED TABLE t SUSPEND",)
    if case.moved:
        before += (_MOVE,)
    again = case.statement.replace("CREATE MATERIALIZED", "CREATE OR ALTER MATERIALIZED")
    again = again.replace("DROP MATERIALIZED TABLE", "DROP MATERIALIZED TABLE IF EXISTS")
    fills = "PARTITION (" not in again and not case.suspended
    return Case(before, case.statement, again, _DONE, Case.others if fills else Case.others[1:])


PLANS = {name: _of(name) for name in CASES} | {
    "widen a type": Case(
        (
            *_SOURCE,
            "CREATE MATERIALIZED TABLE t AS SELECT k, max(amount) AS m FROM orders GROUP BY k",
        ),
        "CREATE OR ALTER MATERIALIZED TABLE t WITH ('schema.type-widening' = 'true') "
        "AS SELECT k, max(CAST(amount AS BIGINT)) AS m FROM orders GROUP BY k",
        "CREATE OR ALTER MATERIALIZED TABLE t WITH ('schema.type-widening' = 'true') "
        "AS SELECT k, max(CAST(amount AS BIGINT)) AS m FROM orders GROUP BY k",
    ),
    "cluster": Case(
        (*_SOURCE, f"CREATE MATERIALIZED TABLE t CLUSTER BY (k) AS {SUMS}"),
        f"CREATE OR ALTER MATERIALIZED TABLE t CLUSTER BY (total) AS {WIDER}",
        f"CREATE OR ALTER MATERIALIZED TABLE t CLUSTER BY (total) AS {WIDER}",
    ),
}

REFRESH = "ALTER MATERIALIZED TABLE t REFRESH"
_STRICT = "t WITH ('incremental' = 'strict') FRESHNESS = INTERVAL '1' MINUTE"
"""Rows are computed from changes although the sources are small."""
_PAD = "concat_ws('', transform(sequence(1, 8), n -> sha2(concat_ws(' ', id, n), 256)))"
"""Makes the files of a source so large that partial sums pay."""
_JOINED = (
    "SELECT name, count(*) AS n, sum(v) AS s FROM facts AS f JOIN names AS g ON f.k = g.k "
    "GROUP BY name"
)
SUMMED = "SELECT k, sum(v) AS s, avg(v) AS m FROM facts GROUP BY k"
_CHANGED = "SELECT k, sum(v) AS s, avg(v) AS m FROM facts WHERE id < 300 GROUP BY k"
_WITHOUT_SUMS = "SELECT k, sum(v) AS s, max(v) AS m FROM facts GROUP BY k"
_FACTS = (
    "UPDATE facts SET v = v + 1 WHERE id = 1",
    "DELETE FROM facts WHERE id IN (4, 5)",
    "INSERT INTO facts SELECT id + 1000, 9, NULL, '' FROM range(3)",
)
_NAMES = (
    "MERGE INTO names USING (SELECT 2 AS k, 'zwei' AS name UNION ALL SELECT 9, 'new') AS s "
    "ON names.k = s.k WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *"
)
_LATER = (
    "MERGE INTO facts USING (SELECT id FROM range(20, 60)) AS s ON facts.id = s.id "
    "WHEN MATCHED AND facts.id < 40 THEN DELETE WHEN MATCHED THEN UPDATE SET v = v + 10"
)
"""Of every group rows go and rows change."""


def _incremental(query: str, *more: str, pad: str = _PAD) -> tuple[str, ...]:
    """Return what makes a table over `facts` and `names`, and more statements."""
    facts = (
        "SELECT id, id % 7 AS k, CAST(IF(id % 3 = 0, NULL, id % 5) AS INT) AS v, "
        f"{pad} AS pad FROM range(400)"
    )
    names = "SELECT id AS k, concat('n', id % 3) AS name FROM range(7)"
    return (
        f"CREATE TABLE facts USING delta AS {facts}",
        f"CREATE TABLE names USING delta AS {names}",
        f"CREATE MATERIALIZED TABLE {_STRICT} AS {query}",
        *more,
    )


def _with_sums(statement: str, again: str = "", **more: Any) -> Case:
    """Return a case of a table whose partial sums are stored, and whose sources moved since."""
    before = _incremental(SUMMED, _FACTS[0], REFRESH, *_FACTS)
    return Case(before, statement, again or statement, **more)


PLANS |= {
    "refresh join by changes": Case(
        _incremental(_JOINED, *_FACTS, _NAMES, pad="''"),
        REFRESH,
        REFRESH,
        strategy=DIFFERENTIAL,
        later=(_LATER,),
    ),
    "build partial sums": Case(
        _incremental(SUMMED, *_FACTS),
        REFRESH,
        REFRESH,
        strategy=DIFFERENTIAL,
        later=(_LATER,),
        sums=1,
    ),
    "refresh partial sums": _with_sums(REFRESH, strategy=DIFFERENTIAL, later=(_LATER,), sums=1),
    "alter with partial sums": _with_sums(
        f"CREATE OR ALTER MATERIALIZED TABLE {_STRICT} AS {_CHANGED}",
        later=(_LATER,),
        sums=1,
    ),
    "replace with partial sums": _with_sums(
        f"CREATE OR REPLACE MATERIALIZED TABLE {_STRICT} AS {_WITHOUT_SUMS}",
        f"CREATE OR ALTER MATERIALIZED TABLE {_STRICT} AS {_WITHOUT_SUMS}",
        later=(_LATER,),
        sums=1,  # those of the earlier query stay until DROP
    ),
    "drop with partial sums": _with_sums(
        "DROP MATERIALIZED TABLE t", "DROP MATERIALIZED TABLE IF EXISTS t"
    ),
}
