"""`dbt parse` must not load PySpark, and the engine must not load dbt."""

from __future__ import annotations

import subprocess
import sys

import pytest

_LOADED = "import sys; {code}; print([m for m in {modules} if m in sys.modules])"


def loaded(code: str, *modules: str) -> str:
    script = _LOADED.format(code=code, modules=modules)
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_plugin_loads_no_pyspark():
    code = "from dbt.adapters.spark_mt import Plugin; assert Plugin.project_name == 'dbt_spark_mt'"
    assert loaded(code, "pyspark", "py4j") == "[]"


def test_the_python_api_loads_no_pyspark():
    assert loaded("import dbt.adapters.spark_mt.api", "pyspark", "py4j", "pandas") == "[]"


@pytest.mark.parametrize("module", ["definition.definition", "api", "execution.operations"])
def test_the_engine_loads_no_dbt(module):
    code = f"import dbt.adapters.spark_mt.{module}"
    assert loaded(code, "dbt.adapters.base", "dbt_common", "agate") == "[]"
