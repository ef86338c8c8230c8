"""Offsets of Kafka: the end of a topic, and what happened between two positions."""

import pytest

from dbt.adapters.spark_mt.definition.positions import ChangeKind, OffsetPosition
from dbt.adapters.spark_mt.spark.query.offsets import (
    EARLIEST,
    assignment,
    completed,
    holds,
    kafka_position,
    kind_between,
    offsets_of,
    parse,
    reaches_back,
    render,
)

ONE, TWO, OTHER = ("orders", 0), ("orders", 1), ("other.topic", 10)


def test_equal_offsets_are_equal_positions():
    spark, canonical = (
        '{"other.topic": {"10": 3}, "orders": {"1": 7, "0": 12}}',
        '{"orders":{"0":12,"1":7},"other.topic":{"10":3}}',
    )
    position = kafka_position(spark)
    assert position == OffsetPosition("kafka", canonical)
    assert offsets_of(position) == {ONE: 12, TWO: 7, OTHER: 3}
    assert render(parse(spark)) == canonical


def test_a_pattern_without_topics_has_no_position():
    assert kafka_position("null") == kafka_position("{}") == OffsetPosition("kafka", "{}")


def test_a_batch_is_assigned_the_partitions_of_its_position():
    assert assignment({OTHER: 3, TWO: 7, ONE: 12}) == '{"orders":[0,1],"other.topic":[10]}'


def test_a_stream_reads_new_partitions_from_their_oldest_record():
    assert completed({ONE: 5}, {ONE: 9, TWO: 2}) == {ONE: 5, TWO: EARLIEST}


@pytest.mark.parametrize(
    ("after", "upto", "oldest", "expected"),
    [
        ({ONE: 5}, {ONE: 5}, {ONE: 0}, ChangeKind.NONE),
        ({ONE: 5}, {ONE: 9}, {ONE: 0}, ChangeKind.ADDED),
        ({ONE: 5}, {ONE: 9}, {ONE: 5}, ChangeKind.ADDED),
        ({ONE: 5}, {ONE: 9}, {ONE: 6}, ChangeKind.GONE),
        ({ONE: 5, TWO: 5}, {ONE: 9, TWO: 5}, {ONE: 0, TWO: 8}, ChangeKind.ADDED),
        ({ONE: 5}, {ONE: 4}, {ONE: 0}, ChangeKind.REPLACED),
        ({ONE: 5, TWO: 5}, {ONE: 9, TWO: 4}, {ONE: 0, TWO: 0}, ChangeKind.REPLACED),
        ({ONE: 5}, {ONE: 5, TWO: 0}, {ONE: 0, TWO: 0}, ChangeKind.NONE),
        ({ONE: 5}, {ONE: 5, TWO: 3}, {ONE: 0, TWO: 0}, ChangeKind.ADDED),
        ({ONE: 5}, {ONE: 5, TWO: 3}, {ONE: 0, TWO: 1}, ChangeKind.GONE),
        ({ONE: 5, OTHER: 1}, {ONE: 5}, {ONE: 0}, ChangeKind.GONE),
        ({}, {ONE: 5}, {ONE: 0}, ChangeKind.ADDED),
        ({ONE: 5}, {ONE: 9}, {}, ChangeKind.GONE),
    ],
)
def test_what_happened_between_two_positions(after, upto, oldest, expected):
    assert kind_between(after, upto, oldest) is expected


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ({ONE: 5}, True),
        ({ONE: 3}, True),
        ({ONE: 9}, True),
        ({ONE: 2}, False),
        ({ONE: 10}, False),
        ({TWO: 1}, False),
        ({}, True),
    ],
)
def test_a_position_is_valid_while_all_records_after_it_exist(position, expected):
    assert holds(position, {ONE: 3}, {ONE: 9}) is expected


@pytest.mark.parametrize(
    ("start", "oldest", "expected"),
    [({ONE: 0}, {ONE: 0}, True), ({ONE: 4}, {ONE: 3}, True), ({ONE: 3}, {ONE: 3}, False)],
)
def test_a_log_reaches_back_where_it_still_has_what_lay_before(start, oldest, expected):
    assert reaches_back(start, oldest) is expected
