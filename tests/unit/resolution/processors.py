"""Process functions that tests register; none of them runs."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.watermark import ProcessFunction


def counts():
    return ProcessFunction(object, ("id",), {"id": "int", "n": "bigint"})


def again():
    return counts()


def unkeyed():
    return ProcessFunction(object, (), {"n": "bigint"})


def broken():
    raise OSError
