from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.spark_mt.adapter.config import (
    read_clause,
    read_freshness,
    read_wait,
    read_watermark,
)
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import InvalidValueError, MaterializedTableError
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import (
    IntervalUnit,
    StartInterval,
    StartMode,
    StartModeType,
)
from dbt.adapters.spark_mt.resolution.durations import LONGEST, describe_duration, parse_duration
from dbt.adapters.spark_mt.resolution.options import (
    OptionScope,
    check_options,
    check_run_options,
    read_options,
)
from dbt.adapters.spark_mt.resolution.settings import SETTINGS, Settings
from dbt.adapters.spark_mt.statements.clauses import BY_FIELD
from tests.support.errors import raises

PREFIX = "spark.materialized-table."


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30 min", 1800),
        ("1 hour", 3600),
        ("30m", 1800),
        ("PT30M", 1800),
        ("pt1h30m", 5400),
        ("P1DT2H", 93600),
        ("P2W", 1209600),
        ("PT1.5S", 1.5),
        ("INTERVAL '30' MINUTE", 1800),
        ("interval 5 minutes", 300),
        ("INTERVAL '1 hour 30 minutes'", 5400),
        ("1 hour 30 min", 5400),
        ("1h30m", 5400),
        ("500 ms", 0.5),
        ("  2   DAYS ", 172800),
        ("0 s", 0),
    ],
)
def test_durations_are_read_as_spark_and_flink_write_them(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "30",
        "min",
        "-5 min",
        "1.5 h",
        "5 parsecs",
        "P",
        "PT",
        "P1DT",
        "5 min x",
    ],
)
def test_an_invalid_duration_is_refused_with_its_text(text):
    with raises(conditions.INVALID_DURATION) as caught:
        parse_duration(text)
    assert caught.value.parameters == {"value": text}


@pytest.mark.parametrize("text", ["2147483648 s", "24856 d", "PT35791395M", "9" * 20 + " d"])
def test_a_duration_is_at_most_2147483647_seconds(text):
    with raises(conditions.DURATION_TOO_LONG) as caught:
        parse_duration(text)
    assert caught.value.parameters == {"value": text, "longest": "2147483647 seconds"}
    assert caught.value.kind.remedy


def test_a_threshold_may_be_longer_than_any_freshness():
    always = Settings.from_confs({PREFIX + "refresh-mode.freshness-threshold": "999999 days"})
    assert always.freshness_threshold == timedelta(days=999999)


@given(
    count=st.integers(1, 9999).map(lambda digits: "9" * digits),
    form=st.sampled_from(
        ("{} s", "{} ms", "{}weeks", "1 h {} min", "INTERVAL '{}' DAY", "PT{}S", "P{}W", "PT{}.5S")
    ),
)
@settings(max_examples=30)
def test_no_number_is_too_long_for_an_error_of_ours(count, form):
    """The texts reach every place that reads a number and a unit."""
    text = form.format(count)
    for longest in (LONGEST, None):
        with suppress(InvalidValueError):
            assert parse_duration(text, longest=longest) > timedelta()
    for doc in SETTINGS:
        with suppress(MaterializedTableError):
            Settings.from_confs({doc.key: text})
    with suppress(MaterializedTableError):
        check_run_options("t", (("continuous.trigger-interval", text),))
    scope = OptionScope("t", (), (), str.lower)
    for key, value in (("continuous.trigger-interval", text), ("watermark", f"ts DELAY OF {text}")):
        if not list(check_options(((key, value),), scope)):
            read_options(((key, value),))
    for read, value in (
        (read_freshness, text),
        (read_freshness, {"count": count, "period": "day"}),
        (read_watermark, {"column": "ts", "delay": text}),
        (read_wait, {"until": "fresh", "at_most": text}),
        (read_clause(BY_FIELD["start_mode"]), {"from_now": f"{count} days"}),
        (read_clause(BY_FIELD["start_mode"]), f"from_now({text})"),
    ):
        with suppress(InvalidValueError):
            read(value)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(minutes=30), "30 minutes"),
        (timedelta(hours=1), "1 hour"),
        (timedelta(days=14), "2 weeks"),
        (timedelta(seconds=90), "90 seconds"),
        (timedelta(milliseconds=1500), "1500 milliseconds"),
        (timedelta(), "0 seconds"),
        (timedelta(microseconds=1500), "0.0015 seconds"),
    ],
)
def test_durations_are_described_in_their_largest_whole_unit(duration, text):
    assert describe_duration(duration) == text


def test_without_confs_the_defaults_of_the_documentation_apply():
    documented = {
        doc.key: doc.default
        for doc in SETTINGS
        if doc.field not in {"checkpoint_location", "trigger_interval"}
    }
    assert Settings.from_confs({"spark.app.name": "x"}) == Settings.from_confs(documented)


def test_every_setting_is_read_into_its_field():
    settings = Settings.from_confs(
        {
            PREFIX + "refresh-mode.freshness-threshold": "1 hour",
            PREFIX + "default-freshness.continuous": "PT1M30S",
            PREFIX + "default-freshness.full": "INTERVAL '1' DAY",
            PREFIX + "default-start-mode": "from_now(interval '7' day)",
            PREFIX + "enricher": "my.module:Enricher",
            PREFIX + "checkpoint-location": "/data/checkpoints",
            PREFIX + "continuous.trigger-interval": "10s",
            PREFIX + "scheduler": "airflow",
        }
    )
    assert settings == Settings(
        freshness_threshold=timedelta(hours=1),
        default_freshness_continuous=Freshness(90, TimeUnit.SECOND),
        default_freshness_full=Freshness(1, TimeUnit.DAY),
        default_start_mode=StartMode(
            StartModeType.FROM_NOW, interval=StartInterval(7, IntervalUnit.DAY)
        ),
        enricher="my.module:Enricher",
        checkpoint_location="/data/checkpoints",
        trigger_interval=timedelta(seconds=10),
        scheduler="airflow",
    )


@pytest.mark.parametrize("doc", SETTINGS, ids=lambda doc: doc.key)
def test_every_setting_refuses_invalid_values(doc):
    with raises(conditions.INVALID_SETTINGS) as caught:
        Settings.from_confs({doc.key: "  "})
    assert [v.split(" = ")[0] for v in caught.value.violations] == [doc.key]


@pytest.mark.parametrize(
    ("end", "value"),
    [
        ("default-freshness.full", "0 s"),
        ("default-freshness.full", "500 ms"),
        ("default-freshness.continuous", "-3 min"),
        ("continuous.trigger-interval", "0 s"),
        ("default-start-mode", "FROM_THE_MIDDLE"),
        ("default-start-mode", "FROM_NOW FROM_NOW"),
        ("default-start-mode", "FROM_TIMESTAMP"),
    ],
)
def test_values_out_of_range_are_refused(end, value):
    with raises(conditions.INVALID_SETTINGS):
        Settings.from_confs({PREFIX + end: value})


def test_all_wrong_settings_are_named_at_once_with_what_was_meant():
    with raises(conditions.INVALID_SETTINGS) as caught:
        Settings.from_confs(
            {
                PREFIX + "refresh-mode.freshness-treshold": "1 h",
                PREFIX + "default-freshness.full": "soon",
                PREFIX + "bogus": "1",
            }
        )
    bogus, full, threshold = caught.value.violations
    assert bogus == f"{PREFIX}bogus is not a setting."
    assert full.startswith(f"{PREFIX}default-freshness.full = soon: ")
    assert threshold.endswith(f"Did you mean '{PREFIX}refresh-mode.freshness-threshold'?")
