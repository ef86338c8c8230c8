"""The rows that the generic tests fail with."""

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.adapter.data_tests import rows_query, stale_rows
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.execution.checks import Lag
from dbt.adapters.spark_mt.execution.failing_rows import FailingRow


def says(**answers):
    """Materialized tables that give fixed answers, or raise them."""

    def method(answer):
        def call(*_, **__):
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    return SimpleNamespace(**{name: method(answer) for name, answer in answers.items()})


def problems(rows):
    return [(row.problem, row.failures) for row in rows]


def measured_lag(seconds):
    since = None if seconds is None else 100_000 - seconds * 1000
    path = (("up", since), ("t", since))
    return Lag("t", 60, 60, 100_000, is_known=seconds is not None, since_ms=since, path=path)


def test_a_stale_table_names_the_stage_with_the_largest_lag():
    late = Lag("t", 30, 35, 100_000, since_ms=50_000, path=(("up", 50_000), ("t", 89_000)))
    (row,) = stale_rows(says(lag=late), "t", None)
    assert row.details.startswith("it lags its base tables by 50 seconds, and 35 are allowed")
    assert row.details.endswith("up 39 s → t 11 s")


@pytest.mark.parametrize(
    ("seconds", "within", "found"),
    [
        (60, None, []),
        (61, None, [("not fresh", 1)]),
        (61, "2 minutes", []),
        (61, "INTERVAL '1' MINUTE", [("not fresh", 1)]),
        (None, None, [("unknown lag", 1)]),
    ],
)
def test_a_lag_against_what_is_allowed(seconds, within, found):
    assert problems(stale_rows(says(lag=measured_lag(seconds)), "t", within)) == found


def test_a_misspelt_duration_is_an_error_even_where_there_is_no_table():
    with pytest.raises(InvalidValueError):
        list(stale_rows(says(lag=conditions.NOT_FOUND(table="t")), "t", "soon"))


def test_a_table_that_cannot_be_asked_fails_its_tests():
    missing = conditions.NOT_FOUND(table="t")
    assert problems(stale_rows(says(lag=missing), "t", None)) == [("unknown lag", 1)]


def test_rows_become_a_query_with_spark_literals():
    query = rows_query([FailingRow("s.t", "p", "it's \\ broken", 3)])
    assert r"('s.t', 'p', 'it\'s \\ broken', 3L)" in query
    assert "WHERE false" in rows_query([])
