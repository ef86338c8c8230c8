"""How a table of dbt's own materializations takes the place of what has its name."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError  # noqa: TID251 - what dbt shows

from dbt.adapters.spark_mt.adapter.plain_tables import (
    Placement,
    constraints_of,
    plan_write,
)
from dbt.adapters.spark_mt.impl import SparkMTAdapter
from dbt.adapters.spark_mt.relation import SparkMTRelation
from dbt.adapters.spark_mt.spark.formats import delta, iceberg

TABLE = SparkMTRelation.create(
    database="spark_catalog", schema="default", identifier="t", type="table"
)
DELTA, ICEBERG = TABLE.incorporate(is_delta=True), TABLE.incorporate(is_iceberg=True)
VIEW, OURS = TABLE.as_view(), TABLE.as_table()


@pytest.mark.parametrize(
    ("existing", "file_format", "placement"),
    [
        (None, "delta", Placement.REPLACE),
        (DELTA, "delta", Placement.REPLACE),
        (OURS, "delta", Placement.RELEASE),
        (TABLE, "delta", Placement.STAGE),
        (VIEW, "delta", Placement.STAGE),
        (ICEBERG, "iceberg", Placement.REPLACE),
        (OURS, "iceberg", Placement.RELEASE),
        (VIEW, "iceberg", Placement.STAGE),
        (DELTA, "iceberg", Placement.STAGE),
        (TABLE, "parquet", Placement.DROP),
        (VIEW, "parquet", Placement.DROP),
        (OURS, "parquet", Placement.DROP),
        (None, None, Placement.REPLACE),
        (DELTA, None, Placement.DROP),
    ],
)
def test_how_a_table_gets_its_name(existing, file_format, placement):
    write = plan_write(TABLE, existing, file_format)
    assert write.placement is placement
    is_staged = placement is Placement.STAGE
    assert write.written.identifier == ("t__dbt_staged" if is_staged else "t")


class Catalogs(SparkMTAdapter):
    """Has a session with the confs of catalogs, and counts how often it is opened."""

    def __init__(self) -> None:
        self.opened = 0

    @contextmanager
    def _session(self, what):
        assert what
        self.opened += 1
        confs = {
            "spark.sql.catalog.spark_catalog": delta.CATALOG,
            "spark.sql.catalog.lake": iceberg.CATALOG,
            "spark.sql.catalog.other": "org.example.Catalog",
        }
        yield SimpleNamespace(conf=SimpleNamespace(get=confs.get))


def node(catalog, file_format, materialized="table"):
    config = {"file_format": file_format, "materialized": materialized}
    return SimpleNamespace(config=config, database=catalog, schema="s", alias="t")


@pytest.mark.parametrize(
    ("catalog", "given", "settled", "opened"),
    [
        ("spark_catalog", None, "delta", 0),
        ("spark_catalog", "delta", "delta", 0),
        ("spark_catalog", "parquet", "parquet", 0),
        ("lake", None, "iceberg", 1),
        ("lake", "iceberg", "iceberg", 1),
        ("lake", "parquet", "parquet", 0),
        ("other", None, "delta", 1),
        ("other", "iceberg", "iceberg", 1),
    ],
)
def test_a_model_that_names_no_format_has_that_of_its_catalog(catalog, given, settled, opened):
    adapter, model = Catalogs(), node(catalog, given)
    adapter.pre_model_hook(SimpleNamespace(model=model))
    assert (model.config["file_format"], adapter.opened) == (settled, opened)


@pytest.mark.parametrize(("catalog", "given"), [("lake", "delta"), ("spark_catalog", "iceberg")])
def test_another_format_than_the_catalogs_is_refused_where_a_table_is_written(catalog, given):
    for materialized in ("table", "incremental", "seed", "snapshot"):
        with pytest.raises(DbtRuntimeError) as raised:
            Catalogs().pre_model_hook(SimpleNamespace(model=node(catalog, given, materialized)))
        assert f"{catalog}.s.t is to be a table of" in raised.value.msg
    Catalogs().pre_model_hook(SimpleNamespace(model=node(catalog, given, "view")))


class Adapter(SparkMTAdapter):
    """Records what is done; a query about a missing column is not valid."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def query_columns(self, query):
        if "missing" in query:
            raise ValueError(query)

    def release_materialized_table(self, relation):
        self.did.append(f"release {relation.identifier}")

    def drop_relation(self, relation):
        self.did.append(f"drop {relation.type} {relation.identifier}")

    def rename_relation(self, relation, to):
        self.did.append(f"{relation.identifier} > {to.identifier}")


@pytest.mark.parametrize(
    ("existing", "file_format", "done"),
    [
        (None, "delta", []),
        (DELTA, "delta", []),
        (OURS, "delta", ["release t"]),
        (VIEW, "parquet", ["drop view t"]),
        (
            VIEW,
            "delta",
            [
                "drop table t__dbt_staged",
                "drop view t__dbt_backup",
                "t > t__dbt_backup",
                "t__dbt_staged > t",
                "drop view t__dbt_backup",
            ],
        ),
    ],
)
def test_what_is_done_before_and_after_the_write(existing, file_format, done):
    adapter, write = Adapter(), plan_write(TABLE, existing, file_format)
    adapter.prepare_write(write, "select 1")
    adapter.finish_write(write)
    assert adapter.did == done


@pytest.mark.parametrize(("existing", "file_format"), [(OURS, "delta"), (VIEW, "parquet")])
def test_nothing_is_dropped_for_a_query_that_is_not_valid(existing, file_format):
    adapter = Adapter()
    with pytest.raises(ValueError, match="missing"):
        adapter.prepare_write(plan_write(TABLE, existing, file_format), "select missing")
    assert adapter.did == []


_MODEL = {
    "columns": {
        "id": {
            "name": "id",
            "constraints": [
                {"type": "not_null"},
                {"type": "unique"},
                {"type": "primary_key", "warn_unsupported": False},
            ],
        },
        "a b": {"name": "a b", "constraints": [{"type": "check", "expression": "`a b` <> 'x'"}]},
        "free": {"name": "free"},
    },
    "constraints": [
        {"type": "check", "name": "small", "expression": "id < 9"},
        {"type": "not_null", "columns": ["a b", "id"]},
        {"type": "foreign_key", "columns": ["id"]},
    ],
}


def test_constraints_of_columns_and_of_the_model_are_put_together():
    found = constraints_of(_MODEL, None)
    assert found.not_null == ("id", "a b")
    assert [expression for _, expression in found.checks] == ["`a b` <> 'x'", "id < 9"]
    assert found.checks[1][0] == "small"
    assert found.checks[0][0] == constraints_of(_MODEL, None).checks[0][0] != ""
    assert [warning.partition(":")[0] for warning in found.warnings] == [
        "constraint unique (id)",
        "constraint foreign_key (id)",
    ]
    not_null, _, check, _ = found.statements("`s`.`t`")
    assert not_null == "ALTER TABLE `s`.`t` ADD CONSTRAINT `not_null_id` CHECK (`id` IS NOT NULL)"
    assert check.endswith("CHECK (`a b` <> 'x')")


def test_a_guard_covers_each_constraint():
    guard = constraints_of(_MODEL, None).guard()
    assert guard.count("raise_error(") == 4
    assert "WHEN NOT coalesce(`a b` <> 'x', false)" in guard
    assert r"(`a b` <> \'x\')" in guard


def test_a_model_without_constraints_needs_no_guard():
    assert constraints_of({"columns": {"id": {"name": "id"}}}, "delta").guard() == ""


@pytest.mark.parametrize(
    ("file_format", "title"), [("iceberg", "Apache Iceberg"), ("parquet", "parquet")]
)
def test_tables_of_other_formats_have_no_constraint(file_format, title):
    found = constraints_of(_MODEL, file_format)
    assert (found.guard(), list(found.statements("t"))) == ("", [])
    assert found.warnings[0] == f"constraint not_null (id): no {title} table has it."
    assert len(found.warnings) == 6
