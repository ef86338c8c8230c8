"""The dbt plugin of adapters with `type: spark_mt`."""

from __future__ import annotations

from dbt.adapters.base.plugin import AdapterPlugin

from dbt.adapters.spark_mt.connections import SparkMTCredentials
from dbt.adapters.spark_mt.impl import SparkMTAdapter
from dbt.include.spark_mt import PACKAGE_PATH

PLUGIN = AdapterPlugin(
    adapter=SparkMTAdapter,  # type: ignore[arg-type]
    credentials=SparkMTCredentials,
    include_path=PACKAGE_PATH,
    dependencies=["spark"],
)
