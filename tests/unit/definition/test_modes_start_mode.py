import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.modes import (
    FROM_BEGINNING,
    IntervalUnit,
    StartInterval,
    StartMode,
    StartModeType,
)
from tests.support.errors import raises

WEEK = StartInterval(7, IntervalUnit.DAY)


@pytest.mark.parametrize(
    ("mode", "sql"),
    [
        (FROM_BEGINNING, "FROM_BEGINNING"),
        (StartMode(StartModeType.FROM_NOW), "FROM_NOW"),
        (StartMode(StartModeType.FROM_NOW, WEEK), "FROM_NOW(INTERVAL '7' DAY)"),
        (
            StartMode(StartModeType.FROM_TIMESTAMP, timestamp="2025-10-28 12:00:00"),
            "FROM_TIMESTAMP(TIMESTAMP '2025-10-28 12:00:00')",
        ),
        (StartMode(StartModeType.RESUME_OR_FROM_BEGINNING), "RESUME_OR_FROM_BEGINNING"),
        (
            StartMode(StartModeType.RESUME_OR_FROM_NOW, WEEK),
            "RESUME_OR_FROM_NOW(INTERVAL '7' DAY)",
        ),
    ],
)
def test_is_written_as_in_a_statement(mode, sql):
    assert mode.sql == sql


@pytest.mark.parametrize("kind", [k for k in StartModeType if "FROM_NOW" not in k.value])
def test_only_from_now_takes_an_interval(kind):
    timestamp = "2025-10-28" if "TIMESTAMP" in kind.value else None
    with raises(conditions.INVALID_START_MODE) as caught:
        StartMode(kind, WEEK, timestamp)
    assert caught.value.parameters["startMode"] == kind.value


@pytest.mark.parametrize("kind", [k for k in StartModeType if "TIMESTAMP" in k.value])
def test_from_timestamp_needs_its_timestamp(kind):
    with raises(conditions.INVALID_START_MODE) as caught:
        StartMode(kind)
    assert caught.value.parameters["problem"] == "needs a timestamp literal"


@pytest.mark.parametrize("kind", [k for k in StartModeType if "TIMESTAMP" not in k.value])
def test_other_forms_take_no_timestamp(kind):
    with raises(conditions.INVALID_START_MODE) as caught:
        StartMode(kind, timestamp="2025-10-28")
    assert caught.value.parameters["problem"] == "takes no timestamp literal"


@pytest.mark.parametrize("count", [0, -7])
def test_intervals_are_positive(count):
    with raises(conditions.INVALID_START_MODE) as caught:
        StartInterval(count, IntervalUnit.MONTH)
    assert caught.value.condition == "MATERIALIZED_TABLE_INVALID_START_MODE"


@pytest.mark.parametrize("kind", list(StartModeType))
def test_the_fallback_is_the_form_without_resume(kind):
    assert not kind.fallback.resumes
    assert kind.resumes == (kind.fallback is not kind)
