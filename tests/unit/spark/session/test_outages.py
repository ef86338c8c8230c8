from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.spark.query.analyzer import query_error
from dbt.adapters.spark_mt.spark.session.errors import failure_of
from dbt.adapters.spark_mt.spark.session.outages import naming_outages, outage, suppress_outages
from tests.support.errors import raises

errors = pytest.importorskip("pyspark.errors")
NAME = TableName("t", "s", "lake")


def failure(condition):
    return errors.PySparkException("text", errorClass=condition, messageParameters={})


@pytest.mark.parametrize("condition", ["ICEBERG_REST", "ICEBERG_SQL", "ICEBERG_HIVE_METASTORE"])
def test_a_catalog_that_does_not_answer_is_named_with_the_table(condition):
    with raises(conditions.CATALOG_UNAVAILABLE) as failed, naming_outages(NAME):
        raise failure(condition)
    text = str(failed.value)
    assert condition in text
    assert "about lake.s.t" in text


def test_the_catalog_of_a_query_is_not_known():
    found = outage(failure_of(failure("ICEBERG_REST")))
    assert found.kind is conditions.CATALOG_UNAVAILABLE
    assert "A catalog did not answer, so" in str(found)
    found = query_error(failure_of(failure("ICEBERG_REST")), "SELECT 1", 0)
    assert "A catalog did not answer about a table that the query reads, so" in str(found)


@pytest.mark.parametrize("error", [failure("DIVIDE_BY_ZERO"), ValueError("ICEBERG_REST")])
def test_other_errors_pass(error):
    with pytest.raises(type(error)) as failed, naming_outages(NAME):
        raise error
    assert failed.value is error


def test_an_outage_alone_is_left_out():
    away, other = failure("ICEBERG_REST"), failure("DIVIDE_BY_ZERO")
    with suppress_outages():
        raise away
    with pytest.raises(errors.PySparkException), suppress_outages():
        raise other
