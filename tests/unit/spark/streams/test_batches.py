"""Which source an entry in the offsets of a checkpoint belongs to."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, VersionedPosition
from dbt.adapters.spark_mt.planning.steps import RefreshRun
from dbt.adapters.spark_mt.spark.delta.stream import DeltaSource
from dbt.adapters.spark_mt.spark.query.offsets import (
    FilesSource,
    KafkaSource,
    RateSource,
    kafka_position,
)
from dbt.adapters.spark_mt.spark.streams.batches import BatchEnds
from tests.support.refs import delta_at

LOG = SimpleNamespace(
    commit=lambda table, version: SimpleNamespace(identity=f"{table.handle}@{version}")
)
TOPIC = {"orders": {"0": 5}}


def delta_offset(table, version=5):
    return {
        "reservoirId": f"id of {table}",
        "reservoirVersion": version,
        "index": -1,
        "isStartingVersion": False,
    }


def name(table):
    return TableName(table, "s", "c")


def delta(table, requested=None):
    def identity(name):
        (requested if requested is not None else []).append(name.name)
        return f"id of {name.name}"

    reader = SimpleNamespace(table=lambda name: delta_at(f"/{name.name}", name), identity=identity)
    return DeltaSource(None, name(table), reader, SimpleNamespace(history=LOG))


def kafka(table):
    return KafkaSource(None, name(table))


def files(table):
    return FilesSource(None, name(table), "json")


def rate(table):
    return RateSource(None, name(table), "rate")


def at(table, version):
    return VersionedPosition(version, f"/{table}@{version}")


def test_tables_are_recognized_by_their_identities_in_any_order():
    requested = []
    ends = BatchEnds({"a": delta("a", requested), "b": delta("b", requested)})
    assert requested == ["a", "b"], (
        "before the first batch: a table may be replaced while it is read"
    )
    found = ends.positions([delta_offset("b", 8), delta_offset("a", 3)])
    assert found == {"a": at("a", 2), "b": at("b", 7)}
    assert requested == ["a", "b"]


def test_the_identity_of_a_single_table_is_not_asked_for():
    requested = []
    ends = BatchEnds({"k": kafka("k"), "a": delta("a", requested)})
    assert ends.positions([TOPIC, delta_offset("a")]) == {
        "k": kafka_position('{"orders": {"0": 5}}'),
        "a": at("a", 4),
    }
    assert requested == []


@pytest.mark.parametrize(
    ("offset", "owner"),
    [(delta_offset("d"), "d"), (TOPIC, "k"), ({"logOffset": 3}, "f"), (17, "r")],
)
def test_each_kind_of_offset_has_one_kind_of_source(offset, owner):
    ends = BatchEnds({"k": kafka("k"), "r": rate("r"), "f": files("f"), "d": delta("d")})
    assert list(ends.positions([offset])) == [owner]


def test_a_source_that_had_nothing_yet_has_no_position():
    assert BatchEnds({"a": delta("a")}).positions([None]) == {}


@pytest.mark.parametrize(
    ("position", "is_of"),
    [(at("a", 4), True), (VersionedPosition(4, "another table's"), False), (BEFORE_ALL, True)],
)
def test_positions_of_a_table_that_had_the_place_are_not_its_own(position, is_of):
    ends = BatchEnds({"a": delta("a"), "k": kafka("k")})
    assert ends.are_of({"a": position, "k": kafka_position('{"orders": {"0": 5}}')}) is is_of


@pytest.mark.parametrize(
    ("changes", "columns"), [(("a was INT and is BIGINT",), ("a",)), ((), None)]
)
def test_a_batch_after_which_columns_have_other_types_is_reported(changes, columns):
    spans = []
    source = delta("a")
    source._reader.changed_types = lambda span: spans.append(span) or changes
    ends = BatchEnds({"a": source, "k": kafka("k")})
    topic = kafka_position('{"orders": {"0": 5}}')
    read = {} if columns is None else {"a": columns}
    run = RefreshRun("r", "HOST", {"a": at("a", 5), "k": topic}, 0, columns=read)
    assert ends.change_types({"a": at("a", 4), "k": topic}, run) is bool(changes)
    assert [(s.after.version, s.upto.version, s.columns) for s in spans] == [(4, 5, columns)]
    assert not ends.change_types({}, run), "a source that the table has not read yet"
