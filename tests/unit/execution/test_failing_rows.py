"""CHECK, and the rows with which it says what is wrong."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import NotMaterializedError, TableNotFoundError
from dbt.adapters.spark_mt.definition.verification import RowDifference, Side
from dbt.adapters.spark_mt.execution.checks import Difference
from dbt.adapters.spark_mt.execution.failing_rows import (
    FailingRow,
    checked,
    differing_rows,
    unhealthy_rows,
)
from dbt.adapters.spark_mt.execution.results import Action
from dbt.adapters.spark_mt.statements.parser import parse
from tests.behaviour.adoption import COLUMNS, EQUAL_ROWS, OLD_ROWS
from tests.behaviour.memory import MemoryTables
from tests.behaviour.suite import SUMS, prepare


class Says:
    """Checks that give fixed answers, or raise them."""

    def __init__(self, difference=None, health=()):
        self._difference, self._health = difference, health

    def difference(self, _name, **_):
        if isinstance(self._difference, Exception):
            raise self._difference
        return self._difference

    def health(self, _name):
        return self._health


@pytest.fixture
def tables():
    """Tables with the source `orders`."""
    tables = MemoryTables()
    prepare(tables)
    return tables


def check(tables, text):
    """The rows of CHECK."""
    return checked(parse(f"CHECK MATERIALIZED TABLE {text}"), tables.environment).rows


def test_a_table_that_cannot_be_compared_is_a_row():
    (row,) = differing_rows(Says(difference=conditions.NOT_FOUND(table="t")), "t", 10)
    assert row.problem == "not comparable"
    found = Difference("t", problem="the source s has no versions")
    (row,) = differing_rows(Says(difference=found), "t", 1)
    assert row == FailingRow("t", "not comparable", "the source s has no versions", 1)


def test_equal_rows():
    assert list(differing_rows(Says(difference=Difference("t")), "t", 10)) == []


def test_the_last_row_stands_for_those_that_are_not_shown():
    row = RowDifference(Side.MISSING, '{"a":1}', 2)
    found = Difference("t", (row,), total=9, baseline="FROM_NOW", note="today is today")
    shown, rest = differing_rows(Says(difference=found), "t", 1)
    assert (shown.problem, shown.failures) == ("missing row", 2)
    assert shown.details == '{"a":1} (baseline: FROM_NOW; today is today)'
    assert (rest.problem, rest.failures) == ("more rows", 7)


def test_every_problem_of_a_table_is_a_row():
    rows = list(unhealthy_rows(Says(health=("one", "two")), "t"))
    assert [row.details for row in rows] == ["one", "two"]


def test_check_of_a_healthy_table_has_no_rows(tables):
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}")
    for kind in ("HEALTH", "FRESHNESS", "QUERY"):
        assert check(tables, f"t {kind}") == ()


def test_check_says_what_is_wrong(tables):
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {SUMS}")
    tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    ((_, problem, details, failures),) = check(tables, "t HEALTH")
    assert (problem, failures) == ("not healthy", 1)
    assert "suspended" in details.lower()


def test_check_of_what_is_no_materialized_table(tables):
    with pytest.raises(TableNotFoundError):
        check(tables, "missing HEALTH")
    with pytest.raises(NotMaterializedError):
        check(tables, "orders QUERY")


def test_a_plain_table_is_adopted_and_released_by_statements(tables):
    tables.source("t", COLUMNS, EQUAL_ROWS)
    adopted = tables.execute(f"ADOPT MATERIALIZED TABLE t IF EQUAL AS {SUMS}").outcome
    assert adopted.action is Action.ADOPTED
    assert check(tables, "t QUERY") == ()
    released = tables.execute("ALTER MATERIALIZED TABLE t RELEASE").outcome
    assert released.action is Action.RELEASED
    assert tables.rows("t") == EQUAL_ROWS


def test_explain_of_adopt_changes_nothing(tables):
    tables.source("t", COLUMNS, EQUAL_ROWS)
    rows = tables.execute(f"EXPLAIN ADOPT MATERIALIZED TABLE t AS {SUMS}").rows
    assert rows[0][0] == "adopt"
    with pytest.raises(NotMaterializedError):
        check(tables, "t QUERY")
    tables.execute(f"ADOPT MATERIALIZED TABLE t AS {SUMS}")
    rows = tables.execute(f"EXPLAIN ADOPT MATERIALIZED TABLE t AS {SUMS}").rows
    assert "adopt" not in {row[0] for row in rows}, "it is one already"


def test_explain_of_adopt_names_what_does_not_fit(tables):
    tables.source("t", "x INT", [])
    with pytest.raises(Exception, match="`x` INT") as raised:
        tables.execute(f"EXPLAIN ADOPT MATERIALIZED TABLE t AS {SUMS}")
    assert raised.value.condition == "MATERIALIZED_TABLE_CANNOT_ADOPT"


def test_rows_that_differ_are_not_adopted_by_if_equal(tables):
    tables.source("t", COLUMNS, OLD_ROWS)
    with pytest.raises(Exception, match="differ") as raised:
        tables.execute(f"ADOPT MATERIALIZED TABLE t IF EQUAL AS {SUMS}")
    assert raised.value.condition == "MATERIALIZED_TABLE_ROWS_DIFFER"
    assert tables.execute(f"ADOPT MATERIALIZED TABLE t AS {SUMS}").outcome.action is Action.ADOPTED
