"""Each step that applies changes to a table with a baseline fails in turn.

A subclass gives the fixture `tables`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.behaviour.faults import Case, Faults
from tests.behaviour.suite import DAY_1, DAY_2, KEYS, SUMS, WIDER, create, or_alter

if TYPE_CHECKING:
    from tests.behaviour.harness import Tables

LIVE = "FRESHNESS = INTERVAL '1' MINUTE"
RESUME = f"{LIVE} START_MODE = RESUME_OR_FROM_BEGINNING"
BY_K = f"(PRIMARY KEY (k) NOT ENFORCED) {RESUME}"
DOUBLED = "SELECT k, amount * 2 AS amount FROM orders"


@dataclass(frozen=True)
class FollowedCase(Case):
    """A statement about a table that keeps rows and applies what came since.

    Args:
        follows: The query with which it began to keep rows; empty if it has not.
    """

    follows: str = ""

    def arrange(self, tables: Tables) -> None:
        create(tables, self.query, self.clauses)
        if self.follows:
            tables.append("orders", [(2, DAY_1, 3)])
            or_alter(tables, self.follows, self.clauses)
        if self.moved:
            tables.append("orders", [(1, DAY_2, 1), (4, DAY_2, 9)])


REFRESH = "ALTER MATERIALIZED TABLE t REFRESH"
CASES = {
    "resume rows": FollowedCase(
        f"CREATE OR ALTER MATERIALIZED TABLE t {RESUME} AS {DOUBLED}", 3, KEYS, RESUME, moved=True
    ),
    "resume groups": FollowedCase(
        f"CREATE OR ALTER MATERIALIZED TABLE t {BY_K} AS {WIDER}", 3, SUMS, BY_K, moved=True
    ),
    "append": FollowedCase(REFRESH, 2, KEYS, RESUME, moved=True, follows=DOUBLED),
    "merge": FollowedCase(REFRESH, 2, SUMS, BY_K, moved=True, follows=WIDER),
}
FAULTS = [
    pytest.param(case, step, after, id=f"{name}-{step}-{'after' if after else 'before'}")
    for name, case in CASES.items()
    for step in range(case.steps)
    for after in (False, True)
]


class BaselineFaults(Faults):
    """No step's failure applies a change twice, or not at all."""

    @pytest.fixture(autouse=True)
    def _learned(self, tables):
        tables.learn(
            DOUBLED, "k INT; amount INT", lambda r: [(k, a * 2) for k, _, a in r["orders"]]
        )

    @pytest.mark.parametrize(("case", "step", "after"), FAULTS)
    def test_a_step_fails(self, tables, case, step, after):
        super().test_a_step_fails(tables, case, step, after)
