from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.table_format import Capability
from dbt.adapters.spark_mt.spark.catalog.objects import keeps_versions
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from tests.support.errors import raises


def test_a_catalog_of_iceberg_has_tables_of_iceberg():
    assert [each for each in FORMATS.known if iceberg_format.CATALOG in each.catalogs] == [
        iceberg_format.FORMAT
    ]


@pytest.mark.parametrize(
    ("catalog", "found"),
    [("metastore", True), ("rest", False), ("untyped", False), ("none", False), ("other", False)],
)
def test_a_hive_metastore_keeps_names_in_lower_case(catalog, found):
    class_ = iceberg_format.CATALOG
    prefix = "spark.sql.catalog."
    confs = {
        **{f"{prefix}{name}": class_ for name in ("metastore", "rest", "untyped")},
        f"{prefix}metastore.type": "Hive",
        f"{prefix}rest.type": "rest",
        f"{prefix}other": "SomeCatalog",
        f"{prefix}other.type": "hive",
    }
    assert FORMATS.keeps_lower_case(catalog, confs.get) is found


def test_over_connect_tables_of_iceberg_have_fewer_features():
    whole, connect = iceberg_format.FORMAT.capabilities, iceberg_format.OVER_CONNECT.capabilities
    assert connect == {Capability.MATERIALIZED_TABLE}
    assert FORMATS.default.capabilities - whole == {Capability.CLUSTERING}
    assert FORMATS.default.capabilities == frozenset(Capability)


def test_columns_that_are_not_published_are_properties():
    found = iceberg_format.FORMAT.staged_columns([f"{iceberg_format.STAGED}Twice", "comment"])
    assert found == {"twice"}
    assert FORMATS.default.staged_columns([f"{iceberg_format.STAGED}twice"]) == frozenset()


class Session:
    """A catalog whose tables have one property."""

    def __init__(self, version):
        self.version = version

    def sql(self, statement):
        assert statement.startswith("SHOW TBLPROPERTIES ")
        return self

    def collect(self):
        return [{"key": "format-version", "value": self.version}]


@pytest.mark.parametrize(
    ("format_", "name", "version", "kept"),
    [
        (iceberg_format.FORMAT, "t", "1", False),
        (iceberg_format.FORMAT, "t", "2", True),
        (iceberg_format.FORMAT, "/a/t", "2", False),
        (FORMATS.default, "/a/t", "1", True),
    ],
)
def test_tables_of_the_first_format_version_and_paths_keep_no_versions(
    format_, name, version, kept
):
    assert keeps_versions(Session(version), TableName(name, "s", "ice"), format_) is kept


def test_a_session_of_ours_reads_no_branch_of_the_user():
    assert "spark.wap.branch".startswith(FORMATS.confs.not_copied)


@pytest.mark.parametrize(("value", "is_refused"), [(None, True), ("true", True), ("False ", False)])
def test_a_catalog_with_a_cache_is_refused(value, is_refused):
    confs = {} if value is None else {"spark.sql.catalog.ice.cache-enabled": value}
    if not is_refused:
        iceberg_format.check_cache("ice", confs.get)
        return
    with raises(iceberg_format.CACHED_CATALOG) as raised:
        iceberg_format.check_cache("ice", confs.get)
    assert raised.value.parameters == {
        "catalog": "ice",
        "key": "spark.sql.catalog.ice.cache-enabled",
    }


SOUND = {
    iceberg_format.EXTENSIONS_KEY: f"org.example.Other,{iceberg_format.EXTENSION}",
    "spark.sql.catalog.ice.cache-enabled": "false",
}


@pytest.mark.parametrize(
    ("confs", "line"),
    [
        (
            {iceberg_format.EXTENSIONS_KEY: "org.example.Other"},
            f"spark.sql.extensions: org.example.Other,{iceberg_format.EXTENSION} (",
        ),
        ({iceberg_format.EXTENSIONS_KEY: ""}, f"spark.sql.extensions: {iceberg_format.EXTENSION}"),
        (
            {"spark.sql.catalog.ice.cache-enabled": "true"},
            "spark.sql.catalog.ice.cache-enabled: false (",
        ),
        ({"spark.wap.branch": "audit"}, "spark.wap.branch must not be set, but is audit ("),
        ({"spark.wap.id": "7"}, "spark.wap.id must not be set, but is 7 ("),
    ],
)
def test_each_line_that_a_session_lacks_is_named(confs, line):
    with raises(iceberg_format.SESSION) as raised:
        iceberg_format.check_session(["ice"], {**SOUND, **confs}.get)
    (problem,) = raised.value.violations
    assert problem.startswith(line)


def test_a_sound_session_and_one_without_catalogs_are_not_refused():
    iceberg_format.check_session(["ice"], SOUND.get)
    iceberg_format.check_session([], {}.get)


def test_all_lines_are_named_at_once():
    with raises(iceberg_format.SESSION) as raised:
        iceberg_format.check_session(["a", "b"], {"spark.wap.id": "7"}.get)
    assert raised.value.parameters == {"catalogs": "a, b"}
    assert len(raised.value.violations) == 4


@pytest.mark.parametrize(
    ("options", "is_refused"),
    [
        ({"type": "hadoop", "warehouse": "s3a://lake/w"}, True),
        ({"type": "HADOOP", "warehouse": "GS://lake/w"}, True),
        ({"type": "hadoop", "warehouse": "hdfs://namenode/w"}, False),
        ({"type": "hadoop", "warehouse": "/w"}, False),
        ({"type": "rest", "warehouse": "s3a://lake/w"}, False),
        ({}, False),
    ],
)
def test_a_catalog_that_renames_by_copies_is_for_one_driver(options, is_refused):
    confs = {f"spark.sql.catalog.ice.{key}": value for key, value in options.items()}
    if not is_refused:
        iceberg_format.check_commits("ice", confs.get)
        return
    with raises(iceberg_format.HADOOP_CATALOG) as raised:
        iceberg_format.check_commits("ice", confs.get)
    assert raised.value.parameters["warehouse"] == options["warehouse"]
    confs["spark.materialized-table.single-driver"] = "true"
    iceberg_format.check_commits("ice", confs.get)
