"""The dbt plugin of adapters with `type: spark_mt`."""

from __future__ import annotations

from importlib import metadata

from dbt.adapters.base.plugin import AdapterPlugin
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_mt.connections import SparkMTCredentials
from dbt.adapters.spark_mt.definition.errors import UnsupportedDbtError
from dbt.adapters.spark_mt.definition.releases import check_dbt
from dbt.adapters.spark_mt.impl import SparkMTAdapter
from dbt.include.spark_mt import PACKAGE_PATH

try:
    check_dbt(metadata.version("dbt-core"))
except UnsupportedDbtError as error:
    raise DbtRuntimeError(str(error)) from None  # of all others dbt prints a traceback

PLUGIN = AdapterPlugin(
    adapter=SparkMTAdapter,  # type: ignore[arg-type]
    credentials=SparkMTCredentials,
    include_path=PACKAGE_PATH,
    dependencies=["spark"],
)
