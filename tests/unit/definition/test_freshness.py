from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    FreshnessTooLongError,
    InvalidFreshnessError,
    InvalidValueError,
    MaterializedTableError,
)
from dbt.adapters.spark_mt.definition.freshness import LONGEST_SECONDS, Freshness, TimeUnit
from tests.support.errors import raises

HUGE = st.integers(1, 9999).map(lambda digits: "9" * digits)


@pytest.mark.parametrize(
    ("text", "count", "unit"),
    [
        ("3 minutes", 3, TimeUnit.MINUTE),
        ("3 minute", 3, TimeUnit.MINUTE),
        ("  1 DAY  ", 1, TimeUnit.DAY),
        ("30m", 30, TimeUnit.MINUTE),
        ("30 min", 30, TimeUnit.MINUTE),
        ("45s", 45, TimeUnit.SECOND),
        ("2h", 2, TimeUnit.HOUR),
        ("7d", 7, TimeUnit.DAY),
        ("2w", 2, TimeUnit.WEEK),
        ("PT30M", 30, TimeUnit.MINUTE),
        ("pt5s", 5, TimeUnit.SECOND),
        ("P2D", 2, TimeUnit.DAY),
        ("P1W", 1, TimeUnit.WEEK),
        ("PT1H30M", 5400, TimeUnit.SECOND),
        ("P0DT5M", 300, TimeUnit.SECOND),
        ("007 days", 7, TimeUnit.DAY),
        ("INTERVAL '3' MINUTE", 3, TimeUnit.MINUTE),
        ("interval ' 3 ' minutes", 3, TimeUnit.MINUTE),
    ],
)
def test_reads_every_spelling(text, count, unit):
    assert Freshness.parse(text) == Freshness(count, unit)


@pytest.mark.parametrize(
    "text", ["abc", "", "0 minutes", "-3 minutes", "1.5 hours", "INTERVAL '0' DAY", "PT", "P", "3"]
)
def test_refuses_what_is_no_positive_whole_number(text):
    with pytest.raises(InvalidFreshnessError) as caught:
        Freshness.parse(text)
    assert caught.value.condition == "MATERIALIZED_TABLE_INVALID_FRESHNESS"


def test_names_the_value_it_was_given():
    with pytest.raises(InvalidFreshnessError) as caught:
        Freshness.of("abc", "MINUTE")
    assert caught.value.parameters == {"value": "abc"}
    assert (
        "The freshness interval currently only supports positive integer type values. But was: abc"
    ) in str(caught.value)


@pytest.mark.parametrize("unit", ["MONTH", "YEAR", "fortnight", "MILLISECOND"])
def test_refuses_other_units(unit):
    with raises(conditions.INVALID_FRESHNESS_UNIT) as caught:
        Freshness.of("3", unit)
    assert caught.value.condition == "MATERIALIZED_TABLE_INVALID_FRESHNESS_UNIT"
    assert caught.value.parameters == {"unit": unit}


def test_a_digit_of_another_script_is_no_number():
    with pytest.raises(InvalidFreshnessError):
        Freshness.of("٣", "MINUTE")


@pytest.mark.parametrize(
    ("one", "other"),
    [("60 seconds", "1 minute"), ("7 days", "1 week"), ("24h", "1 day"), ("PT1H30M", "90 minutes")],
)
def test_equal_durations_have_equal_seconds(one, other):
    assert Freshness.parse(one).seconds == Freshness.parse(other).seconds
    assert Freshness.parse(one) != Freshness.parse(other)


@pytest.mark.parametrize("unit", list(TimeUnit))
@pytest.mark.parametrize("count", [1, 2, 90])
def test_sql_and_text_read_back_the_same(count, unit):
    freshness = Freshness(count, unit)
    assert Freshness.parse(freshness.sql) == freshness
    assert Freshness.parse(str(freshness)) == freshness


def test_is_printed_in_the_singular_and_the_plural():
    assert str(Freshness(1, TimeUnit.DAY)) == "1 day"
    assert str(Freshness(3, TimeUnit.MINUTE)) == "3 minutes"


def test_errors_are_ours_and_value_errors():
    assert issubclass(InvalidFreshnessError, MaterializedTableError)
    assert issubclass(InvalidValueError, ValueError)


def test_cannot_be_changed():
    with pytest.raises(AttributeError):
        Freshness(1, TimeUnit.DAY).count = 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2147483648 seconds", "2147483648"),
        ("12345678901234567890 minutes", "12345678901234567890"),
        ("INTERVAL -'30' SECOND", "-30"),
        ("interval - '30' second", "-30"),
        ("PT2147483648S", "2147483648"),
        ("PT2147483648M1S", "2147483648"),
    ],
)
def test_a_count_that_is_no_positive_integer_of_flink_is_refused(text, value):
    with pytest.raises(InvalidFreshnessError) as caught:
        Freshness.parse(text)
    assert caught.value.condition == "MATERIALIZED_TABLE_INVALID_FRESHNESS"
    assert caught.value.parameters["value"] == value


@pytest.mark.parametrize(
    "text", ["2147483647 minutes", "3551 weeks", "PT1M2147483647S", "P24855DT3H14M8S"]
)
def test_a_freshness_is_at_most_2147483647_seconds_long(text):
    with pytest.raises(FreshnessTooLongError) as caught:
        Freshness.parse(text)
    assert caught.value.condition == "MATERIALIZED_TABLE_FRESHNESS_TOO_LONG"
    assert caught.value.parameters["longest"] == "2147483647 seconds"


def test_the_longest_freshness_is_taken_in_every_unit():
    for unit in TimeUnit:
        count = LONGEST_SECONDS // unit.value
        assert Freshness.of(str(count), unit.name) == Freshness(count, unit)
        with pytest.raises(InvalidFreshnessError):
            Freshness.of(str(count + 1), unit.name)


def test_a_compound_unit_is_an_unknown_unit():
    with raises(conditions.INVALID_FRESHNESS_UNIT) as caught:
        Freshness.parse("INTERVAL '30' DAY TO HOUR")
    assert caught.value.parameters == {"unit": "DAY TO HOUR"}


@given(
    count=HUGE,
    unit=st.sampled_from(("s", "seconds", "minute", "HOURS", "d", "weeks", "month", "")),
    form=st.sampled_from(("{0} {1}", "{0}{1}", "INTERVAL '{0}' {1}", "PT{0}S", "P1DT{0}H")),
)
def test_no_number_is_too_long_for_an_error_of_ours(count, unit, form):
    with suppress(InvalidFreshnessError):
        assert Freshness.parse(form.format(count, unit)).seconds <= LONGEST_SECONDS
