"""The examples of docs/python.md, each run on Spark."""

from __future__ import annotations

import inspect

import pytest

from examples.python import api as examples

METHODS = [
    name
    for name, found in vars(examples).items()
    if inspect.isfunction(found) and found.__module__ == examples.__name__ and name != "prepare"
]
ALWAYS = ("refresh", "start")
"""Methods whose examples `make test` runs; `make conformance` runs all."""


@pytest.fixture(scope="module")
def tables(spark):
    session = spark.newSession()
    session.sql("DROP SCHEMA IF EXISTS sales CASCADE")
    yield examples.prepare(session)
    session.sql("DROP SCHEMA sales CASCADE")


@pytest.mark.parametrize(
    "method",
    [m if m in ALWAYS else pytest.param(m, marks=pytest.mark.conformance) for m in METHODS],
)
def test_the_example_runs_and_leaves_its_tables(tables, method):
    before = tables.names("sales")
    getattr(examples, method)(tables)
    tables.stop_all()
    assert tables.names("sales") == before == {"daily", "large"}
