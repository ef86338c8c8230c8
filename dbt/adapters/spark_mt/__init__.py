"""dbt adapter for materialized tables on Apache Spark.

`Plugin` is built when it is first asked for (PEP 562), so that the engine can be used without dbt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.releases import check_python

if TYPE_CHECKING:
    from dbt.adapters.base.plugin import AdapterPlugin

    Plugin: AdapterPlugin

check_python()


def __getattr__(name: str) -> object:
    if name != "Plugin":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from dbt.adapters.spark_mt.plugin import PLUGIN  # noqa: PLC0415 - see the docstring

    return PLUGIN
