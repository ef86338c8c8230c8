"""Names of the installed table formats."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.table_format import (
    Conditions,
    EngineConfs,
    TableFormat,
    TableFormats,
)


def made(name, **given):
    return TableFormat(name, name.title(), f"id.{name}", f"{name}.checks.", **given)


ONE = made(
    "one",
    maintained=("one.kept.",),
    catalog_class="OneCatalog",
    conditions=Conditions(frozenset({"ONE_FIRST"}), by_class={"OneException": "ONE_FIRST"}),
    confs=EngineConfs(local={"one.local": "1"}, not_copied=("one.fence",)),
)
OTHER = made(
    "other",
    catalogs=frozenset({"OtherCatalog"}),
    conditions=Conditions(frozenset({"OTHER_FIRST"}), no_table=frozenset({"NO_OTHER"})),
    confs=EngineConfs(local={"other.local": "2"}, not_copied=("other.fence",)),
)
FORMATS = TableFormats((ONE, OTHER))


@pytest.mark.parametrize(
    ("provider", "found"),
    [("one", ONE), ("OTHER", OTHER), ("parquet", None), ("", None), (None, None)],
)
def test_a_provider_has_a_format_in_any_case(provider, found):
    assert FORMATS.of(provider) is found


def test_the_first_format_is_the_default():
    assert FORMATS.default is ONE
    assert FORMATS.names == ("one", "other")


@pytest.mark.parametrize(
    ("catalog", "found"),
    [("own", ONE), ("lake", OTHER), ("strange", None), ("missing", None)],
)
def test_a_catalog_has_the_format_of_its_class(catalog, found):
    classes = {"own": "OneCatalog", "lake": "OtherCatalog", "strange": "StrangeCatalog"}
    confs = {f"spark.sql.catalog.{name}": value for name, value in classes.items()}
    assert FORMATS.of_catalog(catalog, confs.get) is found


def test_an_error_is_looked_up_in_the_conditions_of_all_formats():
    conditions = FORMATS.conditions
    assert conditions.conflict == {"ONE_FIRST", "OTHER_FIRST"}
    assert conditions.no_table == {"NO_OTHER"}
    assert conditions.by_class == {"OneException": "ONE_FIRST"}


def test_a_session_has_the_confs_of_all_formats():
    assert FORMATS.confs.local == {"one.local": "1", "other.local": "2"}
    assert FORMATS.confs.not_copied == ("one.fence", "other.fence")


def test_a_property_of_any_format_is_maintained():
    assert FORMATS.is_maintained("ONE.kept.x")
    assert not FORMATS.is_maintained("other.kept.x")


def test_a_provider_of_the_default_format_is_known_in_any_case():
    assert FORMATS.is_default("ONE")
    assert not FORMATS.is_default("other")
    assert not FORMATS.is_default(None)
