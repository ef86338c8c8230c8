"""Sources whose offsets count in the checkpoint of their stream."""

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.positions import ChangeKind, OffsetPosition, UnknownPosition
from dbt.adapters.spark_mt.spark.query.offsets import FilesSource, RateSource
from tests.support.errors import raises

LANDED = TableName.of("spark_catalog", "s", "landed")
FILES = FilesSource(None, LANDED, "json")
RATE = RateSource(None, LANDED, "rate")


def test_the_newest_position_is_unknown():
    assert (FILES.latest(), FILES.earliest()) == (UnknownPosition(), UnknownPosition())


@pytest.mark.parametrize("source", [FILES, RATE])
def test_nothing_starts_at_an_instant_of_them(source):
    with raises(conditions.SOURCE_WITHOUT_TIME) as caught:
        source.position_at(0)
    assert caught.value.parameters["source"] == str(LANDED)


def test_a_source_of_generated_rows_is_only_streamed():
    with raises(conditions.SOURCE_ONLY_STREAMS) as caught:
        RATE.batch(None, RATE.latest())
    assert caught.value.parameters == {"source": str(LANDED), "format": "rate"}


def test_an_offset_is_a_position_in_its_checkpoint():
    assert FILES.position_of('{"logOffset": 3}') == OffsetPosition("json", '{"logOffset":3}')
    assert RATE.position_of("12") == OffsetPosition("rate", "12")


@pytest.mark.parametrize(
    ("after", "upto", "expected"),
    [
        (None, '{"logOffset":3}', ChangeKind.ADDED),
        ('{"logOffset":3}', '{"logOffset": 3}', ChangeKind.NONE),
        ('{"logOffset":3}', '{"logOffset":12}', ChangeKind.ADDED),
        ('{"logOffset":12}', '{"logOffset":3}', ChangeKind.REPLACED),
    ],
)
def test_a_lower_offset_is_one_of_another_checkpoint(after, upto, expected):
    before = None if after is None else FILES.position_of(after)
    assert FILES.kind(before, FILES.position_of(upto)) is expected
