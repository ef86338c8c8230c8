from __future__ import annotations

from datetime import datetime, timezone

import pytest

from dbt.adapters.spark_mt.adapter.config import (
    ADOPT_IF_EQUAL,
    ModelSettings,
    Waiting,
    validate_config,
)
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.modes import Wait
from dbt.adapters.spark_mt.execution.results import AdoptionTerms
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from tests.support.errors import raises
from tests.support.parses import counted_parses


def settings(**values) -> ModelSettings:
    return validate_config("m", values, values)


def violations(**values) -> tuple[str, ...]:
    with raises(conditions.INVALID_CONFIG) as raised:
        settings(**values)
    assert raised.value.parameters == {"model": "m"}
    return raised.value.violations


def test_an_empty_config_has_no_clause():
    assert settings(materialized="materialized_table") == ModelSettings()


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        ("3 minutes", "INTERVAL '3' MINUTE"),
        ("30m", "INTERVAL '30' MINUTE"),
        ("interval '1' week", "INTERVAL '1' WEEK"),
        ({"count": 2, "period": "hour"}, "INTERVAL '2' HOUR"),
        ({"build_after": {"count": 1, "period": "day", "updates_on": "all"}}, "INTERVAL '1' DAY"),
    ],
)
def test_freshness(value, sql):
    assert settings(freshness_interval=value).clauses == (("FRESHNESS", sql),)


@pytest.mark.parametrize(
    ("value", "option"),
    [
        ("ts DELAY OF INTERVAL 10 SECONDS;", "ts DELAY OF INTERVAL 10 SECONDS"),
        ({"column": "ts", "delay": "10 seconds"}, "ts DELAY OF 10 seconds"),
        ({"column": "a b", "delay": "1 h", "source": "s.t"}, "s.t: `a b` DELAY OF 1 h"),
        (
            [{"column": "ts", "delay": "1 m", "source": "a"}, "b: at DELAY OF 2 m"],
            "a: ts DELAY OF 1 m; b: at DELAY OF 2 m",
        ),
    ],
)
def test_a_watermark_is_an_option(value, option):
    assert settings(watermark=value).options == (("watermark", option),)
    both = settings(watermark=value, options={"a": "b"}).options
    assert both == (("a", "b"), ("watermark", option))


@pytest.mark.parametrize(
    "value",
    ["ts", "ts DELAY OF 0 s", {"column": "ts"}, {"column": "ts", "delay": "1", "x": 1}, 5, [[]]],
)
def test_a_watermark_that_is_none(value):
    assert [v.partition(":")[0] for v in violations(watermark=value)] == ["watermark"]


def test_a_watermark_is_given_once():
    given = {"watermark": "ts DELAY OF 1 s", "options": {"watermark": "ts DELAY OF 1 s"}}
    (violation,) = violations(**given)
    assert violation.startswith("watermark")


@pytest.mark.parametrize(
    "value", ["0 minutes", "-1 day", "1.5 hours", "abc", 5, {"count": 1}, {"warn_after": {}}, []]
)
def test_freshness_that_is_none(value):
    assert [v.partition(":")[0] for v in violations(freshness=value)] == ["freshness"]


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        ("from_beginning", "FROM_BEGINNING"),
        ("from_now(interval '7' day)", "FROM_NOW(INTERVAL '7' DAY)"),
        ({"from_now": "7 days"}, "FROM_NOW(INTERVAL '7' DAY)"),
        ({"from_now": "interval '7' day"}, "FROM_NOW(INTERVAL '7' DAY)"),
        (
            {"from_timestamp": "2025-10-28 12:00:00"},
            "FROM_TIMESTAMP(TIMESTAMP '2025-10-28 12:00:00')",
        ),
        ("resume_or_from_now", "RESUME_OR_FROM_NOW"),
    ],
)
def test_start_mode(value, sql):
    assert settings(start_mode=value).clauses == (("START_MODE", sql),)


@pytest.mark.parametrize(
    "value",
    [
        "from_yesterday",
        "from_now(3)",
        "from_beginning AS SELECT 2 --",
        "from_beginning state_retention = all",
        {"from_now": "1 day", "x": 1},
    ],
)
def test_start_mode_holds_nothing_else(value):
    assert violations(start_mode=value)[0].startswith("start_mode: ")


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("from_yesterday", "MATERIALIZED_TABLE_UNKNOWN_VALUE"),
        ("from_now(interval 'x' day)", "MATERIALIZED_TABLE_INVALID_START_MODE"),
        ("from_beginning AS SELECT 2 --", "MATERIALIZED_TABLE_SYNTAX_ERROR"),
        ("from_now('", "MATERIALIZED_TABLE_UNREADABLE_TEXT"),
    ],
)
def test_an_error_of_a_clause_names_its_condition(value, condition):
    (violation,) = violations(start_mode=value)
    assert violation.startswith(f"start_mode: [{condition}] The ")
    assert "CREATE" not in violation


def test_no_statement_is_parsed_for_a_config(monkeypatch):
    parses = counted_parses(monkeypatch)
    settings(freshness_interval="1 day", start_mode="from_now", state_retention="ptf_only('a')")
    assert parses == []


def test_keywords_in_any_case():
    found = settings(refresh_mode="Full", state_retention="none", refresh_on_run="NEVER")
    assert found.clauses == (("REFRESH_MODE", "FULL"), ("STATE_RETENTION", "NONE"))
    assert found.refresh_on_run == "never"


def test_lists_and_mappings():
    found = settings(partition_by="ds", options={"a": 1, "b": True}, primary_key=["x", "y"])
    assert found.partitioned_by == ("ds",)
    assert found.options == (("a", "1"), ("b", "true"))
    assert found.primary_key == ("x", "y")


def test_synonyms():
    found = settings(tblproperties={"a": "b"}, unique_key="id")
    assert (found.options, found.primary_key) == ((("a", "b"),), ("id",))


def test_synonyms_that_differ():
    assert violations(primary_key="a", unique_key="b") == (
        "primary_key and unique_key mean the same and differ.",
    )


def test_a_models_own_key_wins_over_an_inherited_synonym():
    found = validate_config("m", {"primary_key": "a", "unique_key": "b"}, {"primary_key"})
    assert found.primary_key == ("a",)


def test_all_errors_at_once():
    found = violations(
        freshnes="1 day",
        refresh_mode="incremental",
        sql_header="set x",
        adopt="yes",
        partition_by=[1],
        file_format="parquet",
    )
    assert len(found) == 6
    assert "Did you mean 'freshness'?" in found[0]


def test_partitioning_and_clustering():
    assert violations(partition_by="a", cluster_by="b") == (
        "partition_by and cluster_by exclude each other.",
    )


def test_an_inherited_violation_is_only_a_warning():
    found = validate_config("m", {"sql_header": "x", "of_our_own": 1, "freshness": "1 day"}, set())
    assert [warning.partition(":")[0] for warning in found.warnings] == ["sql_header", "of_our_own"]
    assert found.clauses == (("FRESHNESS", "INTERVAL '1' DAY"),)


def test_an_option_without_effect_is_a_warning():
    found = settings(grants={"select": ["a"]}, location_root="/x")
    assert [warning.partition(":")[0] for warning in found.warnings] == ["grants", "location_root"]


_NOON = datetime(2026, 11, 1, 12)  # noqa: DTZ001 - in the session's zone


@pytest.mark.parametrize(
    ("value", "adopt"),
    [
        (None, ADOPT_IF_EQUAL),
        ("if_equal", ADOPT_IF_EQUAL),
        (False, None),
        (True, AdoptionTerms()),
        ({"as_of": "2026-11-01 12:00:00"}, AdoptionTerms(_NOON)),
        ({"as_of": _NOON}, AdoptionTerms(_NOON)),
        (
            {"as_of": "2026-11-01T12:00:00Z"},
            AdoptionTerms(_NOON.replace(tzinfo=timezone.utc)),
        ),
    ],
)
def test_adopt(value, adopt):
    found = settings(adopt=value).adopt
    assert found == adopt
    if found is not None and found.as_of is not None:
        assert found.as_of.tzinfo == adopt.as_of.tzinfo


@pytest.mark.parametrize("value", ["yes", 1, {}, {"as_of": "soon"}, {"asof": _NOON}, []])
def test_what_adopt_cannot_be(value):
    assert [v.partition(":")[0] for v in violations(adopt=value)] == ["adopt"]


@pytest.mark.parametrize(
    ("value", "waiting"),
    [
        ("none", Waiting()),
        (False, Waiting()),
        ("Started", Waiting(Wait.STARTED)),
        ("fresh", Waiting(Wait.FRESH, 300.0)),
        ({"until": "fresh", "at_most": "10 minutes"}, Waiting(Wait.FRESH, 600.0)),
    ],
)
def test_wait(value, waiting):
    assert settings(wait=value).wait == waiting


@pytest.mark.parametrize(
    "value", ["forever", {"until": "fresh", "for": "5 min"}, {"at_most": "5 min"}, 5]
)
def test_what_cannot_be_waited_for(value):
    assert violations(wait=value)[0].startswith("wait: ")


def test_a_bound_of_waiting_is_positive():
    assert "positive" in violations(wait={"until": "fresh", "at_most": "0 seconds"})[0]


@pytest.mark.parametrize(
    ("value", "option"),
    [(0, "0"), (1, "1"), (0.01, "0.01"), (1e-05, "0.00001"), ("0.5", "0.5")],
)
def test_verify_is_an_option(value, option):
    assert settings(verify=value).options == (("verify", option),)


@pytest.mark.parametrize("value", ["always", 2, -0.1, True, float("nan"), [1]])
def test_a_share_that_is_none(value):
    (violation,) = violations(verify=value)
    assert violation.startswith("verify")


@pytest.mark.parametrize(("value", "option"), [("auto", "auto"), ("OFF", "off"), (False, "off")])
def test_incremental_is_an_option(value, option):
    assert settings(incremental=value).options == (("incremental", option),)
    (violation,) = violations(incremental="always")
    assert violation.startswith("incremental")


def test_the_format_is_that_of_the_catalog():
    delta, iceberg = FORMATS.known
    values = {"file_format": "iceberg"}
    assert validate_config("m", values, values, iceberg) == ModelSettings()
    (text,) = violations(**values)
    assert "so it is delta or left out, but was: 'iceberg'. Name a catalog of" in text
    with raises(conditions.INVALID_CONFIG) as raised:
        validate_config("m", {"file_format": "parquet"}, {}, iceberg)
    assert raised.value.violations[0].endswith("so it is iceberg or left out, but was: 'parquet'.")
    assert validate_config("m", {"file_format": delta.name}, {}) == ModelSettings()
