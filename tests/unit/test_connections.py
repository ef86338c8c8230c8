from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError  # noqa: TID251 - what dbt expects of credentials

from dbt.adapters.spark_mt.connections import SparkMTCredentials


def credentials(**profile) -> SparkMTCredentials:
    profile = SparkMTCredentials.translate_aliases(profile)
    SparkMTCredentials.validate(profile)
    return SparkMTCredentials.from_dict(profile)


def test_a_schema_is_enough():
    found = credentials(schema="dev")
    assert (found.type, found.method, found.database) == ("spark_mt", "auto", "spark_catalog")


def test_catalog_is_the_database():
    assert credentials(schema="dev", catalog="lake").database == "lake"


def test_conf_values_are_texts():
    found = credentials(schema="dev", server_side_parameters={"a": True, "b": 2, "c": "x"})
    assert found.server_side_parameters == {"a": "true", "b": "2", "c": "x"}


def test_ansi_is_left_unchanged():
    assert "spark.sql.ansi.enabled" not in credentials(schema="dev").server_side_parameters


@pytest.mark.parametrize(
    ("profile", "named"),
    [
        ({}, "`schema`"),
        ({"schema": "lake.dev"}, "`catalog: lake`"),
        ({"schema": "dev", "method": "connect"}, "`host`"),
    ],
)
def test_what_is_missing_is_named(profile, named):
    with pytest.raises(DbtRuntimeError, match=named):
        credentials(**profile)


def test_connect_url():
    found = credentials(schema="dev", method="connect", host="sc://spark/", token="t0k3n")  # noqa: S106 - made up
    assert found.connect_url == "sc://spark:15002/;use_ssl=false;token=t0k3n"
    assert "t0k3n" not in dict(found.connection_info()).values()


@pytest.mark.parametrize(
    "freshness", ["3 minutes", {"count": 1, "period": "day"}, {"build_after": {"count": 1}}]
)
def test_a_models_freshness_is_kept_under_our_name(freshness):
    kept = SparkMTCredentials.translate_aliases({"freshness": freshness})
    assert kept == {"freshness": freshness, "freshness_interval": freshness}


@pytest.mark.parametrize(
    "freshness",
    [
        None,
        {},
        {"warn_after": {"count": 1, "period": "day"}},
        {"warn_after": None, "build_after": None},
        {"error_after": {"count": 1, "period": "day"}, "build_after": {"updates_on": "all"}},
    ],
)
def test_a_freshness_without_an_interval_is_left_to_dbt(freshness):
    assert SparkMTCredentials.translate_aliases({"freshness": freshness}) == {
        "freshness": freshness
    }


def test_our_interval_wins_over_the_build_after_next_to_it():
    given = {
        "freshness": {"build_after": {"count": 1, "period": "day"}},
        "freshness_interval": "5 minutes",
    }
    assert SparkMTCredentials.translate_aliases(given) == given


def test_a_misspelt_freshness_reaches_the_validation():
    kept = SparkMTCredentials.translate_aliases({"freshness": {"warn_afer": {"count": 1}}})
    assert kept["freshness_interval"] == {"warn_afer": {"count": 1}}


def test_two_freshnesses_in_one_config():
    with pytest.raises(DbtRuntimeError, match="differ"):
        SparkMTCredentials.translate_aliases({"freshness": "1 d", "freshness_interval": "2 d"})


@pytest.mark.parametrize(
    ("facts", "shown"),
    [({}, []), ({"method": "connect", "host": "spark"}, ["host", "port"])],
)
def test_debug_prints_the_server_only_where_there_is_one(facts, shown):
    keys = [key for key, _ in credentials(schema="dev", **facts).connection_info()]
    assert [key for key in keys if key in ("host", "port")] == shown


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.hadoop.fs.s3a.secret.key", "hidden"),
        ("spark.hadoop.fs.s3a.access.key", "hidden"),
        ("spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net", "hidden"),
        ("spark.hadoop.google.cloud.auth.service.account.private.key", "hidden"),
        ("spark.ssl.keyPassword", "hidden"),
        ("spark.driver.extraJavaOptions", "-Djavax.net.ssl.trustStorePassword=hidden"),
        ("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:mysql://hive:hidden@db:3306/meta"),
        ("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:postgresql://db/m?password=hidden"),
    ],
)
def test_dbt_debug_shows_no_secret(key, value):
    shown = dict(credentials(schema="dev", server_side_parameters={key: value}).connection_info())
    assert "hidden" not in str(shown)
    assert list(shown["server_side_parameters"]) == [key]


def test_dbt_debug_shows_other_confs():
    confs = {"spark.hadoop.hive.metastore.uris": "thrift://metastore:9083", "spark.master": "yarn"}
    shown = dict(credentials(schema="dev", server_side_parameters=confs).connection_info())
    assert shown["server_side_parameters"] == confs
