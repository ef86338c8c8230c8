"""What an offset in a checkpoint means for an Iceberg source, and which source it belongs to."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.positions import BEFORE_ALL, VersionedPosition
from dbt.adapters.spark_mt.spark.iceberg.stream import IcebergSource, offset_of, position_in

UUID = "8b1e"
SOURCE = IcebergSource(None, TableName("t", "s", "c"), None, None)


@pytest.mark.parametrize(
    ("position", "offset"),
    [
        (
            VersionedPosition(7, "9182736455463728190"),
            '{"table_uuid": "8b1e", "sequence_number": 7, "snapshot_id": "9182736455463728190"}',
        ),
        (
            VersionedPosition(0, UUID),
            '{"table_uuid": "8b1e", "sequence_number": 0, "snapshot_id": ""}',
        ),
    ],
)
def test_checkpoints_keep_what_offsets_mean(position, offset):
    assert offset_of(position, UUID) == offset
    assert SOURCE.position_of(offset) == position
    assert SOURCE.identity_in(json.loads(offset)) == UUID


def test_a_stream_of_all_rows_begins_before_the_first_snapshot():
    assert offset_of(BEFORE_ALL, UUID) == ""
    begun = '{"table_uuid": "8b1e", "sequence_number": -1, "snapshot_id": ""}'
    assert position_in(begun) == BEFORE_ALL


@pytest.mark.parametrize("offset", [5, {"orders": {"0": 5}}, {"reservoirId": "8b1e"}])
def test_an_offset_of_another_format_is_none_of_this_source(offset):
    assert SOURCE.identity_in(offset) is None


def test_the_empty_table_that_had_the_place_before_is_another_table():
    offset = json.loads(offset_of(VersionedPosition(0, "the table before"), UUID))
    assert offset["table_uuid"] == "the table before"
