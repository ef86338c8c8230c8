from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.releases import UNTESTED, minor_of
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.iceberg import releases
from tests.support.errors import raises

CATALOG = {"spark.sql.catalog.ice": iceberg_format.CATALOG}
SUITE = Path(__file__).parents[3] / "iceberg"
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-{}_2.13:{}"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv(UNTESTED, raising=False)


@pytest.mark.parametrize(
    "confs", [CATALOG, {"spark.jars.packages": RUNTIME.format("4.1", "1.12.0")}]
)
def test_a_spark_without_a_tested_iceberg_is_refused_with_the_pair_that_works(confs):
    with raises(conditions.UNSUPPORTED_SPARK) as raised:
        releases.check_confs("4.2.0", confs)
    assert "on Spark 4.1" in raised.value.parameters["supported"]
    assert releases.PAIRS[0].package in raised.value.parameters["supported"]


def test_the_refusal_follows_from_the_table_of_pairs(monkeypatch):
    pair = releases.Pair("4.2", RUNTIME.format("4.2", "1.13.0"), ("1.13",))
    monkeypatch.setattr(releases, "PAIRS", (*releases.PAIRS, pair))
    releases.check_confs("4.2.0", CATALOG)


def test_a_spark_without_iceberg_is_not_refused():
    releases.check_confs("4.2.0", {"spark.sql.catalog.other": "some.Catalog"})


@pytest.mark.parametrize(
    ("jar", "found"),
    [
        (RUNTIME.format("4.0", "1.12.0"), "Apache Iceberg 1.12.0 for Spark 4.0"),
        (RUNTIME.format("4.1", "1.11.0"), "Apache Iceberg 1.11.0"),
        ("/jars/iceberg-spark-runtime-4.1_2.13-1.11.0.jar", "Apache Iceberg 1.11.0"),
    ],
)
def test_an_iceberg_that_is_not_tested_is_refused(jar, found):
    with raises(iceberg_format.UNSUPPORTED_ICEBERG) as raised:
        releases.check_confs("4.1.4", {"spark.jars.packages": f"a:b:1,{jar}"})
    assert raised.value.parameters["found"] == found


def test_the_tested_pairs_are_accepted():
    for pair in releases.PAIRS:
        releases.check_confs(f"{pair.spark}.9", {**CATALOG, "spark.jars.packages": pair.package})


def test_other_releases_are_allowed_on_request(monkeypatch):
    monkeypatch.setenv(UNTESTED, "true")
    releases.check_confs("4.2.0", {**CATALOG, "spark.jars": RUNTIME.format("4.1", "1.12.0")})


def test_a_new_spark_has_no_cache_in_its_catalogs_unless_the_user_sets_one():
    key = "spark.sql.catalog.ice.cache-enabled"
    assert releases.with_uncached_catalogs(CATALOG) == {key: "false"}
    assert releases.with_uncached_catalogs({**CATALOG, key: "true"}) == {}


def named_in_suite(file, pattern):
    """The one value that a file of the suite on a real Spark assigns."""
    (found,) = re.findall(pattern, (SUITE / file).read_text(encoding="utf-8"), re.MULTILINE)
    return found


def test_the_suite_runs_with_the_first_tested_pair():
    pair = releases.PAIRS[0]
    assert named_in_suite("conftest.py", r'^ICEBERG = "(.+)"$') == pair.package
    assert minor_of(named_in_suite("setup.sh", r"^pyspark=(\S+)$")) == pair.spark


def test_the_package_of_a_pair_is_of_its_spark_and_its_newest_iceberg():
    for pair in releases.PAIRS:
        assert f"-{pair.spark}_" in pair.package
        assert minor_of(pair.package.rpartition(":")[2]) == pair.icebergs[-1]
