"""dbt's tests of Python models."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.python_model.test_python_model import (
    BasePythonEmptyTests,
    BasePythonIncrementalTests,
    BasePythonMetaGetTests,
    BasePythonModelTests,
    BasePythonSampleTests,
)
from dbt.tests.adapter.python_model.test_spark import BasePySparkTests
from dbt.tests.util import run_dbt


@pytest.mark.conformance
class TestPythonModel(BasePythonModelTests):
    pass


class TestPythonIncremental(BasePythonIncrementalTests):
    pass


@pytest.mark.conformance
class TestPySpark(BasePySparkTests):
    @pytest.mark.usefixtures("project")
    def test_different_dataframes(self):
        # Koalas has been part of PySpark since 3.2, and is not made for Spark 4
        assert len(run_dbt(["run", "--exclude", "koalas_df"])) == 3


@pytest.mark.conformance
class TestPythonMetaGet(BasePythonMetaGetTests):
    pass


@pytest.mark.conformance
class TestPythonEmpty(BasePythonEmptyTests):
    pass


@pytest.mark.conformance
class TestPythonSample(BasePythonSampleTests):
    pass
