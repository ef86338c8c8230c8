from datetime import timedelta

import pytest

from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.start_mode import (
    IntervalUnit,
    StartInterval,
    StartMode,
    StartModeType,
)
from dbt.adapters.spark_mt.resolution.durations import (
    InvalidDurationError,
    describe_duration,
    parse_duration,
)
from dbt.adapters.spark_mt.resolution.settings import SETTINGS, InvalidSettingsError, Settings

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
        "9" * 20 + " d",
    ],
)
def test_what_is_no_duration_is_refused_with_its_text(text):
    with pytest.raises(InvalidDurationError) as caught:
        parse_duration(text)
    assert caught.value.parameters == {"value": text}


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
def test_every_setting_refuses_nonsense(doc):
    with pytest.raises(InvalidSettingsError) as caught:
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
    with pytest.raises(InvalidSettingsError):
        Settings.from_confs({PREFIX + end: value})


def test_all_wrong_settings_are_named_at_once_with_what_was_meant():
    with pytest.raises(InvalidSettingsError) as caught:
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
