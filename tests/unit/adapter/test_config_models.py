from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.adapter.config import inherited_config, settings_of
from dbt.adapters.spark_mt.definition import conditions
from tests.support.errors import raises

_PROJECT = {
    "+refresh_mode": "full",
    "shop": {"+on_schema_change": "fail", "marts": {"freshness": "1 day", "daily": {"+tags": "x"}}},
    "other": {"+sql_header": "x"},
}
_FQN = ["shop", "marts", "daily"]


def node(config, written=None):
    written = written if written is not None else config
    return SimpleNamespace(name="daily", fqn=_FQN, config=config, unrendered_config=written)


def test_inherited_config_follows_the_models_folders():
    assert dict(inherited_config(_PROJECT, _FQN)) == {
        "refresh_mode": "full",
        "on_schema_change": "fail",
        "freshness": "1 day",
        "tags": "x",
    }


def test_a_foreign_key_is_an_error_on_the_model_and_a_warning_from_the_project():
    inherited = settings_of(node({"on_schema_change": "fail"}), _PROJECT)
    assert [w.partition(":")[0] for w in inherited.warnings] == ["on_schema_change"]
    with raises(conditions.INVALID_CONFIG):
        settings_of(node({"on_schema_change": "ignore"}), _PROJECT)


def test_values_are_the_rendered_ones():
    found = settings_of(node({"refresh_mode": "full"}, {"refresh_mode": "{{ var('m') }}"}), {})
    assert found.clauses == (("REFRESH_MODE", "FULL"),)


def test_freshness_comes_under_our_name():
    written = {"freshness": "{{ var('f') }}"}
    found = settings_of(node({"freshness_interval": "2 hours"}, written), {})
    assert found.clauses == (("FRESHNESS", "INTERVAL '2' HOUR"),)


def test_dbts_mapping_is_accepted_next_to_our_interval():
    written = {
        "freshness_interval": "5 minutes",
        "freshness": {
            "warn_after": {"count": 1, "period": "day"},
            "error_after": {"count": "{{ var('days') }}", "period": "day"},
            "build_after": {"count": 4, "period": "hour"},
        },
    }
    found = settings_of(node({"freshness_interval": "5 minutes"}, written), {})
    assert found.clauses == (("FRESHNESS", "INTERVAL '5' MINUTE"),)


def test_dbts_mapping_without_an_interval_leaves_the_default():
    written = {"freshness": {"warn_after": {"count": 1, "period": "day"}}}
    assert settings_of(node({}, written), {}).clauses == ()


@pytest.mark.parametrize("interval", [None, "5 minutes"])
@pytest.mark.parametrize(
    ("freshness", "named"),
    [
        ({"warn_after": {"count": 1}}, "warn_after is"),
        ({"error_after": {"count": 0, "period": "day"}}, "positive integer"),
        ({"warn_after": None, "eror_after": {}}, "'error_after'"),
    ],
)
def test_a_faulty_mapping_of_dbt_is_named(freshness, named, interval):
    with raises(conditions.INVALID_CONFIG) as raised:
        settings_of(node({"freshness_interval": interval}, {"freshness": freshness}), {})
    (violation,) = raised.value.violations
    assert violation.startswith("freshness: ")
    assert named in violation
