from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.resolution.date_patterns import (
    Period,
    check_pattern,
    finest_period,
    format_partition,
)
from dbt.adapters.spark_mt.resolution.options import (
    Incremental,
    OptionScope,
    TableOptions,
    check_options,
    check_run_options,
    read_options,
    redacted,
    session_confs,
)
from tests.support.errors import raises

MOMENT = datetime(2025, 3, 2, 4, 5, 6)  # noqa: DTZ001 - a partition is named by local time
COLUMNS = (Column("ds", "STRING"), Column("Hour", "VARCHAR(2)"), Column("n", "INT"))
SCOPE = OptionScope("t", COLUMNS, ("ds", "Hour", "n"), str.lower)


def check(*options, scope=SCOPE):
    return list(check_options(options, scope))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd", "2025-03-02"),
        ("y/M/d H:m:s", "2025/3/2 4:5:6"),
        ("yyMMdd", "250302"),
        ("yyyy-MM-dd HH:mm:ss", "2025-03-02 04:05:06"),
        ("yyyy'W'MM", "2025W03"),
        ("'it''s' d", "it's 2"),
        ("HH''mm", "04'05"),
        ("yyyy年MM月", "2025年03月"),
    ],
)
def test_patterns_print_as_spark_does(pattern, text):
    check_pattern(pattern)
    assert format_partition(pattern, MOMENT) == text


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "'text'",
        "--",
        "YYYY-MM-dd",
        "yyyy-MMM",
        "yyy",
        "ddd",
        "EEE",
        "yyyy'",
        "yyyy[MM]",
        "{yyyy}",
        "dd#",
        "hh",
    ],
)
def test_other_patterns_are_refused_with_the_supported_letters(pattern):
    with raises(conditions.INVALID_DATE_FORMATTER) as caught:
        check_pattern(pattern)
    assert caught.value.parameters["pattern"] == pattern


@given(st.text())
def test_random_patterns_are_printed_or_refused(pattern):
    try:
        check_pattern(pattern)
    except InvalidValueError:
        return
    assert format_partition(pattern, MOMENT)


@given(st.datetimes(min_value=datetime(1000, 1, 1)))  # noqa: DTZ001 - local time
def test_a_full_pattern_determines_the_instant(moment):
    text = format_partition("yyyy-MM-dd'T'HH:mm:ss", moment)
    assert datetime.fromisoformat(text) == moment.replace(microsecond=0)


@pytest.mark.parametrize(
    ("pattern", "period"),
    [
        ("yyyy-MM-dd", Period.DAY),
        ("HH", Period.HOUR),
        ("mm", Period.MINUTE),
        ("yyyy", Period.YEAR),
        ("ss.MM", Period.SECOND),
        ("MM", Period.MONTH),
    ],
)
def test_the_finest_letter_determines_the_period(pattern, period):
    assert finest_period(pattern) is period


def test_valid_options_are_read():
    options = (
        ("delta.enableChangeDataFeed", "true"),
        ("partition.fields.ds.date-formatter", "yyyy-MM-dd"),
        ("partition.fields.HOUR.date-formatter", "HH"),
        ("schema.type-widening", "TRUE"),
        ("continuous.trigger-interval", "10 s"),
        ("incremental", "Off"),
        ("verify", "0.25"),
        ("owner's note", "it's 😀"),
    )
    assert check(*options) == []
    assert read_options(options) == TableOptions(
        date_formatters=(("ds", "yyyy-MM-dd"), ("hour", "HH")),
        trigger_interval=timedelta(seconds=10),
        incremental=Incremental.OFF,
        verify=0.25,
    )
    assert read_options(()) == read_options((("incremental", "AUTO"),)) == TableOptions()


@pytest.mark.parametrize(
    ("text", "share"), [("0", 0.0), ("1", 1.0), (".5", 0.5), ("1.", 1.0), ("0.001", 0.001)]
)
def test_the_share_of_verified_refreshes(text, share):
    assert check(("verify", text)) == []
    assert read_options((("verify", text),)).verify == share


def test_a_formatter_of_another_column_has_the_message_of_flink():
    (error,) = check(("partition.fields.day.date-formatter", "yyyy"))
    assert error.kind is conditions.OPTION_NOT_A_PARTITION_COLUMN
    assert (
        "Column 'day' referenced by materialized table option "
        "'partition.fields.day.date-formatter' isn't a partition column. "
        "Available partition columns: ['ds', 'Hour', 'n']."
    ) in str(error)


def test_a_formatter_of_a_number_has_the_message_of_flink():
    (error,) = check(("partition.fields.n.date-formatter", "yyyy"))
    assert error.kind is conditions.OPTION_NOT_A_TEXT_COLUMN
    assert (
        "Materialized table option 'partition.fields.n.date-formatter' only supports referring to "
        "char, varchar and string type partition column. Column `n` type is INT."
    ) in str(error)


def test_a_formatter_without_partitioning_is_refused():
    scope = OptionScope("t", COLUMNS, (), str.lower)
    (error,) = check(("partition.fields.ds.date-formatter", "yyyy"), scope=scope)
    assert error.condition == "MATERIALIZED_TABLE_OPTION_NOT_A_PARTITION_COLUMN"


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("partition.fields.ds.date-formatter", "YYYY", conditions.INVALID_OPTION),
        ("schema.type-widening", "yes", conditions.INVALID_OPTION),
        ("continuous.trigger-interval", "often", conditions.INVALID_OPTION),
        ("incremental", "always", conditions.INVALID_OPTION),
        ("verify", "often", conditions.INVALID_OPTION),
        ("verify", "1.01", conditions.INVALID_OPTION),
        ("verify", "-0.5", conditions.INVALID_OPTION),
        ("verify", "nan", conditions.INVALID_OPTION),
        ("verify", "1e-2", conditions.INVALID_OPTION),
        ("continuous.trigger-interval", "0 s", conditions.INVALID_OPTION),
        ("materialized-table.definition", "x", conditions.RESERVED_OPTION),
        ("Materialized-Table", "x", conditions.RESERVED_OPTION),
    ],
)
def test_values_and_names_that_cannot_be_used(key, value, kind):
    (error,) = check((key, value))
    assert error.kind is kind
    assert error.parameters["option"] == key


@pytest.mark.parametrize(
    ("key", "suggestion"),
    [
        ("schema.type_widening", "schema.type-widening"),
        ("Schema.Type-Widening", "schema.type-widening"),
        ("continous.trigger-interval", "continuous.trigger-interval"),
        ("partition.field.ds.date-formatter", "partition.fields.ds.date-formatter"),
        ("partition.fields.ds.date-format", "partition.fields.ds.date-formatter"),
    ],
)
def test_misspelt_options_are_named_with_what_was_meant(key, suggestion):
    (error,) = check((key, "true"))
    assert error.kind is conditions.MISSPELT_OPTION
    assert error.parameters["suggestion"] == suggestion


def test_every_wrong_option_is_named():
    found = check(
        ("schema.type-widening", "1"), ("a", "x"), ("a", "y"), ("materialized-table.x", "")
    )
    assert [e.parameters["option"] for e in found] == [
        "schema.type-widening",
        "a",
        "materialized-table.x",
    ]


def test_secrets_are_not_shown():
    assert redacted("kafka.password", "x") == "******"
    assert redacted("delta.x", "y") == "y"
    assert redacted("delta.x", "y", pattern="delta") == "******"


GOOD = (
    ("continuous.trigger-interval", "30 s"),
    ("maxFilesPerTrigger", "10"),
    ("spark.sql.shuffle.partitions", "4"),
)


def test_run_options_that_say_how():
    check_run_options("t", GOOD)
    assert session_confs(GOOD) == {"spark.sql.shuffle.partitions": "4"}


@pytest.mark.parametrize(
    "option",
    [
        ("spark.sql.ansi.enabled", "true"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
        ("spark.sql.session.timeZone", "UTC"),
        ("continuous.trigger-interval", "0 s"),
        ("continuous.trigger-interval", "soon"),
        ("maxFilesPerTrigger", "0"),
        ("maxFilesPerTrigger", "-1"),
        ("maxfilespertrigger", "1"),
        ("schema.type-widening", "true"),
        ("spark.executor.memory", "1g"),
    ],
)
def test_other_options_are_no_run_options(option):
    with raises(conditions.INVALID_RUN_OPTIONS) as error:
        check_run_options("s.t", (option,))
    assert (len(error.value.violations), error.value.parameters["table"]) == (1, "s.t")


def test_every_violation_is_named():
    with raises(conditions.INVALID_RUN_OPTIONS) as error:
        check_run_options("t", (("a", "1"), ("b", "2"), GOOD[0], GOOD[0]))
    assert len(error.value.violations) == 3
