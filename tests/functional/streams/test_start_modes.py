"""START_MODE over Delta and over Kafka: which rows count, by versions and by offsets."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from tests.behaviour.spark import SparkTables
from tests.behaviour.start_modes import AT, EVENTS, StartModes, World, once

_EPOCH = datetime.fromtimestamp(0, tz=timezone.utc)


class SparkWorld(World):
    """Statements are executed when the test says so, whatever the time is."""

    def __init__(self, session) -> None:
        tables = SparkTables(session)
        super().__init__(tables, datetime.now(tz=timezone.utc))
        tables.environment = replace(tables.environment, clock=lambda: self.now)
        self._spark = session


class DeltaWorld(SparkWorld):
    """Each row is a commit, with the time at which it was made."""

    def __init__(self, session) -> None:
        super().__init__(session)
        self.tables.source("events", EVENTS, [])

    def add(self, id_):
        self.tables.append("events", [(id_,)])
        newest = self._spark.sql("DESCRIBE HISTORY events LIMIT 1")
        at_ms = newest.selectExpr("unix_millis(timestamp)").collect()[0][0]
        return _EPOCH + timedelta(milliseconds=at_ms)

    def lose(self):
        self.tables.source("events", EVENTS, [])


class KafkaWorld(SparkWorld):
    """Each record has a time of its own, hours ago, in one of two partitions."""

    query = "SELECT CAST(CAST(value AS STRING) AS INT) AS id, '{}' AS tag FROM events"

    def __init__(self, session, topics, topic) -> None:
        super().__init__(session)
        self._topics, self._topic = topics, topic
        self._time = self.now - timedelta(hours=5)
        self._ends = [0, 0]
        topics.create(topic, len(self._ends))
        topics.table(session, "events", topic)

    def add(self, id_):
        self._time += timedelta(seconds=1)
        self.late(id_, self._time)
        return self._time

    def late(self, id_, at):
        """Add a record whose time may lie before that of others."""
        partition = id_ % len(self._ends)
        self._topics.record(self._topic, id_, at, partition)
        self._ends[partition] += 1

    def lose(self):
        for id_ in range(len(self._ends)):
            self.add(id_)
        for partition, end in enumerate(self._ends):
            self._topics.expire(self._topic, end, partition)


@pytest.fixture(params=[DeltaWorld, KafkaWorld], ids=["delta", "kafka"])
def world(request, session, schema):
    assert session.catalog.currentDatabase() == schema
    if request.param is DeltaWorld:
        return DeltaWorld(session)
    return kafka_world(request, session, schema)


def kafka_world(request, session, schema):
    return KafkaWorld(session, request.getfixturevalue("topics"), schema)


@pytest.mark.conformance
class TestStartModes(StartModes):
    """Every guarantee."""


def test_records_since_an_instant(request, session, schema):
    """A record that comes later counts, whatever its own time is: offsets decide."""
    world = kafka_world(request, session, schema)
    begin = world.add(1)
    world.mark(2)
    world.add(3)
    world.define(AT)
    assert world.arrived() == once(new=(2, 3))
    world.late(4, begin)
    world.refresh()
    assert world.arrived() == once(new=(2, 3, 4))
