import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.modes import (
    FROM_BEGINNING,
    IntervalUnit,
    StartInterval,
    StartMode,
    StartModeType,
)
from dbt.adapters.spark_mt.resolution.settings import parse_start_mode
from tests.support.errors import raises


def interval(count, unit):
    return StartInterval(count, IntervalUnit[unit])


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("FROM_BEGINNING", FROM_BEGINNING),
        (" resume_or_from_now ", StartMode(StartModeType.RESUME_OR_FROM_NOW)),
        (
            "From_Now(Interval '7' Day)",
            StartMode(StartModeType.FROM_NOW, interval=interval(7, "DAY")),
        ),
        (
            "resume_or_from_timestamp(timestamp '2025-10-28 12:00:00')",
            StartMode(StartModeType.RESUME_OR_FROM_TIMESTAMP, timestamp="2025-10-28 12:00:00"),
        ),
    ],
)
def test_a_setting_takes_the_forms_of_the_clause(text, mode):
    assert parse_start_mode(text) == mode


@pytest.mark.parametrize("text", ["", "FROM", "FROM_NOW(7)", "FROM_BEGINNING(1)", "FROM_NOW; x"])
def test_a_setting_takes_nothing_else(text):
    with raises(conditions.INVALID_START_MODE) as caught:
        parse_start_mode(text)
    assert caught.value.parameters["startMode"] == text
