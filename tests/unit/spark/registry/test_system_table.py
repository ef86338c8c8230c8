from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.registry.system_table import SystemTable
from tests.support.errors import raises

if TYPE_CHECKING:
    from collections.abc import Iterator

AnalysisException = pytest.importorskip("pyspark.errors").AnalysisException

_NO_TABLE = "[TABLE_OR_VIEW_NOT_FOUND] registry"


class Raced:
    """A catalog in which another process makes the system tables at the same time.

    It is the session, its catalog, the opener of private sessions and the committer.

    Args:
        replaced: What Spark answers to CREATE OR REPLACE VIEW.
    """

    format = FORMATS.default

    def __init__(self, replaced: str) -> None:
        self.catalog = self.spark = self
        self._replaced = replaced
        self._is_made = False

    def tableExists(self, _name: str) -> bool:  # noqa: N802 - PySpark's name
        return self._is_made

    @contextmanager
    def reused(self, _confs: Any) -> Iterator[Raced]:
        yield self

    def sql(self, statement: str) -> None:
        if statement.startswith("CREATE TABLE"):
            self._is_made = True
        if statement.startswith("CREATE OR REPLACE VIEW"):
            raise AnalysisException(self._replaced)

    def commit(self, *_arguments: Any) -> int:
        if not self._is_made:
            raise AnalysisException(_NO_TABLE)
        return 1


@pytest.mark.parametrize("condition", ["TABLE_OR_VIEW_NOT_FOUND", "TABLE_OR_VIEW_ALREADY_EXISTS"])
def test_rows_are_appended_while_another_process_makes_the_view(condition: str) -> None:
    raced: Any = Raced(f"[{condition}] jobs")
    assert (
        SystemTable(raced, lambda _: raced, raced).append("spark_catalog", [{"kind": "JOB"}], 0)
        == 1
    )


def test_a_view_that_cannot_be_made_for_another_reason_is_an_error() -> None:
    raced: Any = Raced("[PERMISSION_DENIED] jobs")
    with pytest.raises(AnalysisException, match="PERMISSION_DENIED"):
        SystemTable(raced, lambda _: raced, raced).append("spark_catalog", [{"kind": "JOB"}], 0)


class Refusing(Raced):
    """A catalog that makes the second commit only.

    Args:
        error: What it raises at the first one.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__("")
        self._error: Exception | None = error

    def append(self, *_: Any) -> None:
        """Append nothing."""

    def commit(self, *_arguments: Any) -> int:
        error, self._error = self._error, None
        if error is not None:
            raise error
        return 1


@pytest.mark.parametrize(
    "error",
    [
        conditions.COMMIT_NOT_MADE(table="t", catalog="c", problem="p"),
        conditions.CONCURRENT_CHANGE(table="t"),
        AnalysisException("[DELTA_CONCURRENT_APPEND] t"),
    ],
)
def test_a_row_whose_commit_was_not_made_is_appended_again(error: Exception) -> None:
    refusing: Any = Refusing(error)
    table = SystemTable(refusing, lambda _: refusing, refusing)
    assert table.append_once("spark_catalog", {"kind": "JOB"}, "fence", 1)


def test_a_row_is_not_appended_again_where_the_outcome_is_unknown() -> None:
    unknown = conditions.OUTCOME_UNKNOWN(table="t", gone="The catalog c", problem="p")
    refusing: Any = Refusing(unknown)
    table = SystemTable(refusing, lambda _: refusing, refusing)
    with raises(conditions.OUTCOME_UNKNOWN):
        table.append_once("spark_catalog", {"kind": "JOB"}, "fence", 1)
