"""Sources of streams, each through the one interface: positions, ranges at rest, and streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import SourceNotFoundError
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    ChangeKind,
    OffsetPosition,
    UnknownPosition,
)
from dbt.adapters.spark_mt.spark.catalog.table_details import TableDetails
from dbt.adapters.spark_mt.spark.environment import installed_tables
from dbt.adapters.spark_mt.spark.query.offsets import KafkaSource
from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader
from dbt.adapters.spark_mt.spark.query.stream_sources import stream_source
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions
from tests.functional.streams.following import followed, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.spark.query.stream_sources import StreamSource
    from tests.kafka.topics import Topics


@dataclass(frozen=True)
class Opener:
    """Opens tables of a schema as sources."""

    spark: SparkSession
    schema: str

    def open(self, table: str, format_: str) -> StreamSource:
        tables = installed_tables(self.spark)
        sessions = PrivateSessions(self.spark)
        reader = SparkSourceReader(tables, TableDetails(self.spark, tables), sessions)
        name = TableName.of("spark_catalog", self.schema, table)
        source = stream_source(self.spark.newSession(), name, format_, reader, tables.named)
        assert source is not None
        return source


@pytest.fixture
def sources(session: SparkSession, schema: str) -> Opener:
    return Opener(session, schema)


@pytest.fixture
def orders(topics: Topics, session: SparkSession, schema: str, sources: Opener) -> KafkaSource:
    """A table over a topic of the schema's name with two partitions."""
    topics.create(schema, 2)
    topics.table(session, "orders", schema)
    found = sources.open("orders", "kafka")
    assert isinstance(found, KafkaSource)
    return found


def at(topic: str, *offsets: int) -> OffsetPosition:
    parts = ",".join(f'"{number}":{offset}' for number, offset in enumerate(offsets))
    return OffsetPosition("kafka", f'{{"{topic}":{{{parts}}}}}')


def test_kafka_at_rest_and_as_a_stream(orders, topics, schema, tmp_path):
    empty = orders.latest()
    assert (empty, orders.earliest()) == (at(schema, 0, 0), at(schema, 0, 0))
    topics.write(schema, ["a", "b"])
    first = orders.latest()
    topics.write(schema, ["c"], partition=1)
    second = orders.latest()
    assert (first, second) == (at(schema, 2, 0), at(schema, 2, 1))
    assert texts(orders.batch(None, first)) == ["a", "b"]
    assert texts(orders.batch(first, second)) == ["c"]
    assert texts(orders.batch(second, second)) == []

    topics.grow(schema, 3)
    topics.write(schema, ["d"], partition=2)
    third = orders.latest()
    assert (third, orders.kind(second, third)) == (at(schema, 2, 1, 1), ChangeKind.ADDED)
    assert texts(orders.batch(None, second)) == ["a", "b", "c"]
    batches, behind = followed(orders, first, tmp_path / "after")
    assert [sorted(row[1] for row in batch) for batch in batches] == [[b"c", b"d"]]
    assert behind == third
    batches, behind = followed(orders, None, tmp_path / "all")
    assert (sum(map(len, batches)), behind) == (4, third)


def test_kafka_reports_expired_records(orders, topics, schema):
    topics.write(schema, ["a", "b", "c"])
    read = at(schema, 1, 0)
    assert orders.kind(read, orders.latest()) is ChangeKind.ADDED
    assert orders.is_readable(read)
    topics.expire(schema, 1)
    assert (orders.earliest(), orders.kind(read, orders.latest())) == (
        at(schema, 1, 0),
        ChangeKind.ADDED,
    )
    topics.expire(schema, 2)
    assert (orders.kind(read, orders.latest()), orders.is_readable(read)) == (
        ChangeKind.GONE,
        False,
    )
    assert orders.kind(at(schema, 9, 0), orders.latest()) is ChangeKind.REPLACED
    assert texts(orders.batch(None, orders.latest())) == ["c"]


@pytest.mark.conformance
def test_kafka_at_an_instant(orders, topics, schema):
    topics.write(schema, ["a", "b"])
    start = orders.first_change_after(at(schema, 0, 0))
    second = orders.first_change_after(at(schema, 1, 0))
    assert orders.first_change_after(orders.latest()) is None
    found = orders.position_at(start)
    assert (found.position, found.is_complete) == (at(schema, 0, 0), True)
    assert orders.position_at(second + 1).position == orders.latest()
    topics.expire(schema, 1)
    found = orders.position_at(start)
    assert (found.position, found.is_complete) == (at(schema, 1, 0), False)


@pytest.mark.conformance
def test_kafka_by_pattern(session, schema, topics, sources):
    topics.table(session, "many", subscribePattern=f"{schema}_.*")
    many = sources.open("many", "kafka")
    nowhere = many.latest()
    assert nowhere == OffsetPosition("kafka", "{}")
    assert texts(many.batch(None, nowhere)) == []
    for name in ("a", "b"):
        topics.create(f"{schema}_{name}")
        topics.write(f"{schema}_{name}", [name])
    assert many.kind(nowhere, many.latest()) is ChangeKind.ADDED
    assert texts(many.batch(nowhere, many.latest())) == ["a", "b"]


@pytest.mark.conformance
def test_a_kafka_table_whose_options_bound_it(session, schema, topics, sources):
    topics.create(schema)
    topics.write(schema, range(5))
    start, end = (f'{{"{schema}":{{"0":{n}}}}}' for n in (2, 4))
    topics.table(session, "tail", schema, startingOffsets=start)
    topics.table(session, "part", schema, startingOffsets=start, endingOffsets=end)
    tail, part = sources.open("tail", "kafka"), sources.open("part", "kafka")
    assert texts(tail.batch(None, tail.latest())) == ["2", "3", "4"]
    assert (tail.is_followable, part.is_followable) == (True, False)


@pytest.mark.conformance
def test_a_source_that_cannot_be_reached_is_named(session, schema, topics, sources):
    topics.table(session, "none", schema)
    for table in ("none", "gone"):
        with pytest.raises(SourceNotFoundError) as caught:
            sources.open(table, "kafka").latest()
        assert caught.value.parameters["source"] == f"spark_catalog.{schema}.{table}"


@pytest.mark.conformance
def test_options_are_read_as_they_were_given(session, schema, topics):
    topics.create(schema)
    topics.write(schema, ["a"])
    secret = {"kafka.ssl.key.password": "sesame", "kafka.client.id": "a=b, c"}
    topics.table(session, "orders", schema, **secret)
    private = session.newSession()
    hidden = private.conf.get("spark.redaction.regex", None)
    source = KafkaSource(private, TableName.of("spark_catalog", schema, "orders"))
    assert {key: source._options[key] for key in secret} == secret
    assert private.conf.get("spark.redaction.regex", None) == hidden
    assert source.latest() == at(schema, 1)


def test_files_are_counted_by_their_checkpoint(session, sources, tmp_path):
    landed = tmp_path / "landed"
    landed.mkdir()
    session.sql(f"CREATE TABLE landed (id BIGINT) USING json LOCATION '{landed.as_uri()}'")
    source = sources.open("landed", "json")
    assert (source.latest(), followed(source, None, tmp_path / "none")) == (
        UnknownPosition(),
        ([], None),
    )
    (landed / "1.json").write_text('{"id": 1}\n{"id": 2}\n', encoding="utf-8")
    first = followed(source, None, tmp_path / "kept")
    assert first == ([[(1,), (2,)]], OffsetPosition("json", '{"logOffset":0}'))
    (landed / "2.json").write_text('{"id": 3}\n', encoding="utf-8")
    second = followed(source, first[1], tmp_path / "kept")
    assert second == ([[(3,)]], OffsetPosition("json", '{"logOffset":1}'))
    assert source.kind(first[1], second[1]) is ChangeKind.ADDED
    assert source.batch(None, second[1]).count() == 3


def test_generated_rows_are_streams_only(session, sources, tmp_path):
    session.sql("CREATE TABLE ticks USING rate OPTIONS ('rowsPerSecond' '5', 'rampUpTime' '0s')")
    ticks = sources.open("ticks", "rate")
    assert ticks.stream().columns == ["timestamp", "value"]
    batches, behind = followed(ticks, None, tmp_path / "ticks")
    assert (sum(map(len, batches)), behind) == (0, OffsetPosition("rate", "0"))


def test_delta_from_the_version_that_is_not_yet_written(session, sources, tmp_path):
    session.sql("CREATE TABLE t USING delta AS SELECT 1L AS id")
    source = sources.open("t", "delta")
    newest = source.latest()
    assert (source.earliest(), newest.version) == (BEFORE_ALL, 0)
    assert followed(source, newest, tmp_path / "waiting") == ([], None)
    assert followed(source, None, tmp_path / "all") == ([[(1,)]], newest)
    session.sql("INSERT INTO t VALUES (2)")
    session.sql("INSERT INTO t VALUES (3)")
    rows, behind = followed(source, newest, tmp_path / "after")
    assert (rows, behind) == ([[(2,), (3,)]], source.latest())
    assert sorted(row[0] for row in source.batch(newest, behind).collect()) == [2, 3]
    assert source.kind(newest, behind) is ChangeKind.ADDED
