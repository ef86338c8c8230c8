"""Errors when Spark is gone before it reports what became of a change."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import RefreshFailedError
from dbt.adapters.spark_mt.planning.steps import DropTable, Phase
from dbt.adapters.spark_mt.spark.catalog.commit import WriteErrors
from dbt.adapters.spark_mt.spark.catalog.table_details import NoTable
from dbt.adapters.spark_mt.spark.tables.runner import SparkStepRunner
from tests.support.errors import raises

errors = pytest.importorskip("pyspark.errors")
NAME = TableName("orders", "shop", "spark_catalog")


def raised(condition: str) -> Exception:
    return errors.PySparkException("text", errorClass=condition, messageParameters={})


class FailingRunner(SparkStepRunner):
    """Fails at every step as PySpark would."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self._details = SimpleNamespace(forget=lambda: None)

    def _run(self, _):
        raise self._error


@pytest.mark.parametrize(
    ("condition", "error"),
    [("UNAVAILABLE", conditions.OUTCOME_UNKNOWN), ("DIVIDE_BY_ZERO", conditions.CHANGE_FAILED)],
)
def test_an_unknown_outcome_is_never_reported_as_unchanged(condition, error):
    step = DropTable(NAME, "id")
    assert step.phase is not Phase.AFTER
    with raises(error) as failed:
        FailingRunner(raised(condition)).run(step)
    assert condition in failed.value.parameters["problem"]
    assert failed.value.parameters["table"] == str(NAME)


def test_a_spark_that_ended_gets_no_query_about_the_winner():
    requested = []

    def of(name):
        requested.append(name)
        return NoTable("")

    writes = WriteErrors(SimpleNamespace(), SimpleNamespace(forget=lambda: None, of=of))
    step = SimpleNamespace(definition=SimpleNamespace(name=NAME), seq=1)
    gone, failure = raised("UNAVAILABLE"), raised("DIVIDE_BY_ZERO")
    with pytest.raises(errors.PySparkException) as failed, writes.explaining(None, step):
        raise gone
    assert (failed.value, requested) == (gone, [])
    with pytest.raises(RefreshFailedError), writes.explaining(None, step):
        raise failure
    assert requested == [NAME]
