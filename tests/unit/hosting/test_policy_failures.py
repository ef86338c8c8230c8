"""A refresh that fails again and again for the same cause is given up, with the reason."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.hosting.policy import Failures, HostPhase, HostPolicy, cause_of
from tests.behaviour.hosting import assert_each_row_once, create, prepare
from tests.behaviour.hosting_memory import MemoryWorld


def missing(name):
    return conditions.NOT_FOUND(table=TableName(name))


def test_failures_of_one_cause_are_counted_apart_from_others():
    failures = Failures().after(missing("a")).after(missing("b"))
    assert (failures.count, failures.same) == (2, 2), "the texts differ, the condition does not"
    failures = failures.after(ValueError("x"))
    assert (failures.count, failures.same, failures.problem) == (3, 1, "x")


@pytest.mark.parametrize(
    "kind",
    [conditions.CATALOG_UNAVAILABLE, conditions.OUTCOME_UNKNOWN, conditions.COMMIT_NOT_MADE],
)
def test_an_outage_makes_pauses_longer_and_suspends_no_table(kind):
    failures = Failures().after(missing("a"))
    for _ in range(30):
        failures = failures.after(
            kind(table="t", gone="The catalog c", catalog="c", asked="", problem="p")
        )
    assert (failures.count, failures.same) == (31, 0)
    assert failures.after(missing("a")).same == 1


def test_an_error_of_spark_is_known_by_its_condition():
    class SparkError(Exception):
        def getCondition(self):  # noqa: N802 - PySpark's name
            return "DIVIDE_BY_ZERO"

    assert cause_of(SparkError()) == "DIVIDE_BY_ZERO"
    assert cause_of(KeyError("k")) == "KeyError"


def test_a_table_that_always_fails_is_suspended_with_the_reason_and_resumes():
    world = MemoryWorld()
    tables = world.tables
    prepare(tables)
    create(tables)
    host = world.host(policy=HostPolicy(suspend_after=4))
    host.fresh()
    tables.drop("events")
    host.reaches(HostPhase.SUSPENDED)
    definition = tables.stored("t").definition
    assert definition.status_reason.startswith("given up after 4 failures of the same cause: [")
    assert not definition.suspended_by_user
    tables.source("events", "id INT; k INT; v INT", [(8, 8, 8)])
    tables.execute("ALTER MATERIALIZED TABLE t RESUME")
    host.fresh()
    assert_each_row_once(tables)
