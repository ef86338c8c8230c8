"""Results of a user's Python model as DataFrames, and the session that its code gets."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.definition import conditions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from pyspark.sql import DataFrame, SparkSession


def activate(spark: SparkSession) -> None:
    """Make `spark` the active session, which pandas-on-Spark takes.

    PySpark has no call for that alone; making a DataFrame from values does it, on the way. All
    threads of a process share the active session, so it may be another one a moment later.
    """
    _leave_out_notice()
    spark.createDataFrame([], "nothing INT")


@cache
def _leave_out_notice() -> None:
    """Leave out the warning of PySpark 4.1 when pandas-on-Spark is loaded into a running Spark.

    It asks for a variable that PyArrow 2 needed, and which it then sets. PySpark 4.2 does neither.
    """
    warnings.filterwarnings("ignore", message="'PYARROW_IGNORE_TIMEZONE' environment variable")


def spark_frame(value: object, model: str) -> DataFrame:
    """Return the rows of a model as Spark's: of a DataFrame of Spark, pandas-on-Spark or pandas.

    pandas DataFrames go through pandas-on-Spark, as in dbt-spark: it knows more of their types than
    Spark itself. An index is not a column.

    Raises:
        UnsupportedFrameError: It is something else, or a stream.
    """
    from pyspark.sql import DataFrame

    if isinstance(value, DataFrame):
        if value.isStreaming:
            raise conditions.PYTHON_MODEL_RESULT(model=model, kind="a streaming DataFrame")
        return value
    if _is_of("pandas", value) or _is_of("pyspark.pandas", value):
        from pyspark import pandas as on_spark

        frame: DataFrame = on_spark.DataFrame(value).spark.frame()  # type: ignore[no-untyped-call]
        return frame
    raise conditions.PYTHON_MODEL_RESULT(model=model, kind=_kind(value))


def create_view(spark: SparkSession, frame: DataFrame, name: str) -> None:
    """Make a temporary view of a frame in `spark`, whichever session the frame is from."""
    if frame.sparkSession is spark:
        frame.createOrReplaceTempView(name)
        return
    bridge = f"bridge_{uuid4().hex}"
    frame.createGlobalTempView(bridge)
    try:
        schema = spark.conf.get("spark.sql.globalTempDatabase")
        spark.table(f"{schema}.{bridge}").createOrReplaceTempView(name)
    finally:
        spark.catalog.dropGlobalTempView(bridge)


@contextmanager
def known_module(module: ModuleType) -> Iterator[None]:
    """Let Python find `module` by its name in the block, and Spark's workers do without it.

    Dataclasses and `inspect` look modules up. Spark sends functions of such a module to the
    workers by name. The workers do not have this module, so it is sent by value.
    """
    from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

    name = module.__name__
    sys.modules[name] = module
    register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
        del sys.modules[name]


def _is_of(library: str, value: object) -> bool:
    """Whether it is a library's DataFrame; a process that has one has loaded the library."""
    loaded = sys.modules.get(library)
    return loaded is not None and isinstance(value, loaded.DataFrame)


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    cls = type(value)
    return f"a value of the type {cls.__module__}.{cls.__qualname__}".replace("builtins.", "")
