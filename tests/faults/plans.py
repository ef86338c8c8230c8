"""The statements that are killed, one for each shape that a plan can have."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.spark_mt.execution.errors import AlreadyResumedError, AlreadySuspendedError
from tests.behaviour.faults import CASES
from tests.behaviour.suite import DAY_1, DAY_2, DAY_3, SUMS, WIDER

_SOURCE = (
    "CREATE TABLE orders (k INT, day STRING, amount INT) USING delta",
    f"INSERT INTO orders VALUES (1, '{DAY_1}', 10), (1, '{DAY_2}', 5), (2, '{DAY_2}', 7)",
)
_MOVE = f"INSERT INTO orders VALUES (1, '{DAY_1}', 1), (1, '{DAY_3}', 1)"
_DONE = frozenset({AlreadySuspendedError.condition, AlreadyResumedError.condition})


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
