"""Each step of each plan fails in turn: before the commit nothing has changed, after it all holds.

A subclass gives the fixture `tables`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.definition import Missing, StoredTable
from dbt.adapters.spark_mt.definition.errors import (
    AlreadyResumedError,
    AlreadySuspendedError,
    UnfinishedChangeError,
)
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.planning.steps import (
    CommitDefinition,
    Phase,
    PrepareStorage,
    RecordJob,
    Register,
    Unregister,
)
from tests.behaviour.harness import Faulty, InjectedError
from tests.behaviour.suite import DAILY, DAY_1, DAY_3, SUMS, WIDER, create, prepare

if TYPE_CHECKING:
    from tests.behaviour.harness import Tables

SPACED = "SELECT k, sum(amount) AS total, count(*) AS `n=n` FROM orders GROUP BY k"


@dataclass(frozen=True)
class Case:
    """A statement with a plan, and the table that it finds.

    Args:
        steps: How many steps its plan has.
        query: Of the table that is there before; empty if there is none.
        moved: Whether the source has new rows.
        suspended: Whether the user has suspended the table.
        refreshes_first: Whether the table is refreshed before its definition changes; a failure in
            between leaves it as a refresh of its own would.
    """

    statement: str
    steps: int
    query: str = SUMS
    clauses: str = ""
    moved: bool = False
    suspended: bool = False
    refreshes_first: bool = False

    def arrange(self, tables: Tables) -> None:
        """Make the table and its source what the statement finds."""
        if self.query:
            create(tables, self.query, self.clauses)
        if self.suspended:
            tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
        if self.moved:
            tables.append("orders", [(1, DAY_1, 1), (1, DAY_3, 1)])


STRICT, LOOSE = "(k INT, total BIGINT NOT NULL)", "(k INT, total BIGINT)"
NEW_CLAUSES = "(k INT COMMENT 'new', total BIGINT) COMMENT 'new' WITH ('b' = '2')"
OLD_CLAUSES = "(k INT COMMENT 'old', total BIGINT COMMENT 'gone') COMMENT 'old' WITH ('a' = '1')"
CASES = {
    "create": Case(f"CREATE MATERIALIZED TABLE t {NEW_CLAUSES} AS {SUMS}", 3, query=""),
    "alter metadata": Case(
        f"CREATE OR ALTER MATERIALIZED TABLE t {NEW_CLAUSES} AS {SUMS}", 3, clauses=OLD_CLAUSES
    ),
    "add a key": Case(
        f"CREATE OR ALTER MATERIALIZED TABLE t (PRIMARY KEY (k) NOT ENFORCED) AS {SUMS}", 4
    ),
    "alter content": Case(
        f"CREATE OR ALTER MATERIALIZED TABLE t COMMENT 'new' AS {WIDER}", 3, clauses="COMMENT 'old'"
    ),
    "alter with column mapping": Case(f"CREATE OR ALTER MATERIALIZED TABLE t AS {SPACED}", 4),
    "replace": Case(
        f"CREATE OR REPLACE MATERIALIZED TABLE t {NEW_CLAUSES} AS {SUMS}",
        3,
        query=WIDER,
        clauses="COMMENT 'old' WITH ('a' = '1')",
    ),
    "create not null": Case(f"CREATE MATERIALIZED TABLE t {STRICT} AS {SUMS}", 3, query=""),
    "begin not null": Case(
        f"CREATE OR ALTER MATERIALIZED TABLE t {STRICT} AS {SUMS}", 4, clauses=LOOSE
    ),
    "end not null": Case(
        f"CREATE OR ALTER MATERIALIZED TABLE t (k INT, total BIGINT, n BIGINT) AS {WIDER}",
        4,
        clauses=STRICT,
    ),
    "replace not null": Case(
        f"CREATE OR REPLACE MATERIALIZED TABLE t {LOOSE} AS {SUMS}", 4, clauses=STRICT
    ),
    "refresh": Case("ALTER MATERIALIZED TABLE t REFRESH", 2, moved=True),
    "refresh clustered": Case(
        "ALTER MATERIALIZED TABLE t REFRESH", 3, clauses="CLUSTER BY (k)", moved=True
    ),
    "refresh partition": Case(
        f"ALTER MATERIALIZED TABLE t REFRESH PARTITION (day = '{DAY_1}')",
        2,
        query=DAILY,
        clauses="PARTITIONED BY (day) REFRESH_MODE = FULL",
        moved=True,
    ),
    "drop": Case("DROP MATERIALIZED TABLE t", 2),
    "suspend": Case("ALTER MATERIALIZED TABLE t SUSPEND", 3),
    "resume": Case(
        "ALTER MATERIALIZED TABLE t RESUME", 5, suspended=True, moved=True, refreshes_first=True
    ),
    "alter suspended": Case(f"CREATE OR ALTER MATERIALIZED TABLE t AS {SPACED}", 4, suspended=True),
    "alter a clause": Case("ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '1' DAY", 3),
    "alter the query": Case(f"ALTER MATERIALIZED TABLE t AS {WIDER}", 3),
}
FAULTS = [
    pytest.param(case, step, after, id=f"{name}-{step}-{'after' if after else 'before'}")
    for name, case in CASES.items()
    for step in range(case.steps)
    for after in (False, True)
]


@dataclass(frozen=True)
class Seen:
    """All that readers can see of the table."""

    rows: object
    stored: object
    metadata: object


def look(tables: Tables) -> Seen | None:
    """Look at the table; None if there is none."""
    found = tables.find("t")
    if isinstance(found, Missing):
        return None
    assert isinstance(found, StoredTable)
    versions = {name: str(position) for name, position in (found.positions or {}).items()}
    definition = found.definition
    facts = (definition.resolved, definition.status, versions, found.unpublished)
    return Seen(tables.rows("t"), facts, tables.metadata("t"))


class Faults:
    """No step's failure loses or mixes anything."""

    @pytest.fixture(autouse=True)
    def _prepared(self, tables):
        prepare(tables)
        tables.learn(
            SPACED,
            "k INT; total BIGINT; n=n BIGINT",
            lambda rows: [(1, 15, 2), (2, 7, 1)],  # noqa: ARG005 - of orders that never change
        )

    @pytest.mark.parametrize(("case", "step", "after"), FAULTS)
    def test_a_step_fails(self, tables, case, step, after):
        case.arrange(tables)
        before = look(tables)
        faulty = Faulty(tables.environment.runner, step, after)
        error = attempt(tables, case.statement, faulty)
        failed = faulty.failed
        assert failed is not None
        if isinstance(failed, Register | RecordJob | Unregister):
            assert error is None
        elif failed.phase is Phase.AFTER:
            assert isinstance(error, UnfinishedChangeError)
        else:
            assert isinstance(error, InjectedError)
        if failed.phase is Phase.BEFORE or (failed.phase is Phase.COMMIT and not after):
            if case.refreshes_first and isinstance(failed, CommitDefinition):
                assert look(tables).stored[1] is RefreshStatus.SUSPENDED
            else:
                assert_as_before(tables, before, failed)
        self.finish(tables, case)

    def finish(self, tables, case):
        """The same statement again leads to what it would have led to at once."""
        if case.statement.startswith("DROP"):
            tables.execute(case.statement.replace("TABLE t", "TABLE IF EXISTS t"))
        else:
            again = case.statement.replace("CREATE MATERIALIZED", "CREATE OR ALTER MATERIALIZED")
            attempt(tables, again)
        done = look(tables)
        expected = self.undisturbed(tables, case)
        assert (done is None) == (expected is None)
        if done is not None:
            assert done.rows == expected.rows
            assert done.metadata == expected.metadata
            assert done.stored == expected.stored

    def undisturbed(self, tables, case):
        """What the statement does to a table made again where nothing fails."""
        tables.execute("DROP MATERIALIZED TABLE IF EXISTS t")
        prepare(tables)
        case.arrange(tables)
        tables.execute(case.statement)
        return look(tables)


def attempt(tables, statement, runner=None):
    """Carry out a statement and return the error, if there is one."""
    try:
        tables.execute(statement, runner)
    except (InjectedError, UnfinishedChangeError) as error:
        return error
    except (AlreadyResumedError, AlreadySuspendedError):
        if runner is not None:
            raise
    return None


def assert_as_before(tables, before, failed):
    """Nothing shows that anything was tried."""
    now = look(tables)
    if isinstance(failed, PrepareStorage):
        assert (now.rows, now.stored) == (before.rows, before.stored)
        assert now.metadata.not_null == before.metadata.not_null
    else:
        assert now == before
