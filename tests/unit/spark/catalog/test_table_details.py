"""What the catalog has under a name, while other sessions create and drop tables."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution.table_format import InstalledTables
from dbt.adapters.spark_mt.spark.catalog.table_details import NoTable, TableDetails
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables
from tests.support.refs import delta_at

errors = pytest.importorskip("pyspark.errors")
NAME = TableName("t", "s", "c")
TABLES = InstalledTables(DeltaTables(None))
DESCRIBED = [
    {"col_name": "id", "data_type": "int"},
    {"col_name": "# Detailed Table Information", "data_type": ""},
    {"col_name": "Provider", "data_type": "delta"},
    {"col_name": "Location", "data_type": "file:/t"},
]


def failed(condition):
    return errors.AnalysisException("text", errorClass=condition, messageParameters={})


class Spark:
    """A session whose DESCRIBE gives these answers, one after the other; the last one remains."""

    def __init__(self, *answers, exists=True, kind="MANAGED"):
        self.answers, self.exists, self.kind = list(answers), exists, kind
        self.catalog = self
        self.conf = SimpleNamespace(get=lambda *_: None)

    def sql(self, text):
        assert text == f"DESCRIBE TABLE EXTENDED {NAME.sql}"
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(collect=lambda: answer)

    def tableExists(self, name):  # noqa: N802 - Spark's name
        if isinstance(self.exists, Exception):
            raise self.exists
        return self.exists and name == NAME.sql

    def getTable(self, name):  # noqa: N802 - Spark's name
        assert name == NAME.sql
        return SimpleNamespace(tableType=self.kind)


def test_a_table_that_is_created_between_two_questions_is_that_table():
    spark = Spark(failed("TABLE_OR_VIEW_NOT_FOUND"), DESCRIBED)
    tables = InstalledTables(DeltaTables(None))
    assert TableDetails(spark, tables).of(NAME) == delta_at("file:/t", NAME)


@pytest.mark.parametrize("exists", [True, failed("DELTA_PATH_DOES_NOT_EXIST")])
def test_a_table_whose_files_are_gone_stays_one(exists):
    spark = Spark(failed("DELTA_PATH_DOES_NOT_EXIST"), exists=exists)
    found = TableDetails(spark, TABLES).of(NAME)
    assert isinstance(found, NoTable)
    assert found.kind == "table whose files are gone"


def test_a_view_that_spark_cannot_describe_is_a_view():
    found = TableDetails(Spark(failed("INVALID_VIEW_TEXT"), kind="VIEW"), TABLES).of(NAME)
    assert isinstance(found, NoTable)
    assert found.kind == "view"


def test_nothing_is_nothing():
    spark = Spark(failed("TABLE_OR_VIEW_NOT_FOUND"), exists=False)
    assert TableDetails(spark, TABLES).of(NAME) == NoTable()
