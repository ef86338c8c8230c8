from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.registry.system_table import SystemTable

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
