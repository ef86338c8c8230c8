"""What the benchmarks of streams conclude from what Spark says, without Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timezone

import pytest

from benchmarks import streams_lag, streams_sides
from benchmarks.streams_sides import NoProgressError, batches
from benchmarks.streams_sources import DeltaFeed, KafkaFeed


class NoSpark:
    """Takes every statement."""

    def __getattr__(self, name):
        return self

    def __call__(self, *_, **__):
        return self


class Progress(dict):
    """What PySpark returns: fields by name, and the text that the JVM wrote."""

    @property
    def json(self):
        return json.dumps(self)


@dataclass
class Query:
    recentProgress: list = field(default_factory=list)  # noqa: N815 - Spark's name
    failure: Exception | None = None

    def exception(self):
        return self.failure

    @property
    def lastProgress(self):  # noqa: N802 - Spark's name
        return self.recentProgress[-1] if self.recentProgress else None


@dataclass
class Feed:
    """Rows whose batches are there as soon as they arrive."""

    running: Query
    arriving: list
    table: str = "events"

    def append(self, _):
        self.running.recentProgress += self.arriving

    def is_read(self, offset):
        return DeltaFeed(NoSpark(), "events", _version=1).is_read(offset)


class Side:
    name = "side"

    def __init__(self, *arriving, before=(), failure=None):
        self.running = Query(list(before), failure)
        self.feed = Feed(self.running, list(arriving))

    def query(self):
        return self.running


def batch(number, rows, seconds, version):
    offset = {"reservoirVersion": version, "index": -1}
    return Progress(
        batchId=number,
        numInputRows=rows,
        durationMs={"triggerExecution": 1000 * seconds},
        sources=[{"endOffset": offset}],
    )


def test_only_batches_that_read_the_rows_count():
    old, first, second = batch(0, 5, 9, 1), batch(1, 2, 3, 1), batch(2, 3, 4, 2)
    side = Side(first, second, batch(3, 0, 9, 2), before=[old])
    assert batches(side, 5) == [3.0, 4.0]


def test_a_stream_that_has_read_nothing_yet_is_waited_for(monkeypatch):
    nothing = Progress({**batch(0, 0, 1, 0), "sources": [{"endOffset": None}]})
    monkeypatch.setattr(streams_sides, "_PATIENCE_S", 0.1)
    with pytest.raises(NoProgressError):
        batches(Side(nothing), 5)


def test_a_stream_that_failed_or_does_not_start_is_reported(monkeypatch):
    with pytest.raises(NoProgressError) as caught:
        batches(Side(failure=ValueError("broken")), 5)
    assert isinstance(caught.value.__cause__, ValueError)
    monkeypatch.setattr(streams_sides, "_PATIENCE_S", 0)
    with pytest.raises(NoProgressError):
        batches(Side(batch(0, 2, 3, 1)), 5)


def test_a_source_is_read_when_all_that_arrived_lies_before_the_offset():
    delta, kafka = DeltaFeed(NoSpark(), "d"), KafkaFeed(NoSpark(), "k", "broker:1")
    delta.append(10)
    kafka.append(10)
    assert [delta.is_read(f'{{"reservoirVersion": {v}}}') for v in (1, 2)] == [False, True]
    recorded = ['{"k": {"0": 5, "1": 5}}', '{"k": {"0": 5, "1": 6}}']
    assert [kafka.is_read(offset) for offset in recorded] == [False, True]


def test_the_lag_of_a_commit_ends_with_the_first_that_reflects_it(monkeypatch):
    def row(version, second, reflected=None):
        at = datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)
        return {"version": version, "timestamp": at, "userMetadata": facts.get(reflected)}

    facts = {n: str(n) for n in (0, 2, 3)}
    recorded = {str(n): metadata_at(n) for n in (0, 2, 3)}
    logs = {
        "source": [row(3, 9), row(2, 5), row(1, 4), row(0, 1)],
        "target": [row(9, 11, 3), row(8, 10), row(7, 7, 2), row(6, 2, 0)],
    }
    monkeypatch.setattr(streams_lag, "_history", lambda _, table: logs[table])
    monkeypatch.setattr(streams_lag, "decode_commit", recorded.get)
    assert sorted(streams_lag._lags(NoSpark(), "source", "target")) == [2.0, 2.0, 3.0]


def metadata_at(version):
    class Facts:
        positions = {"source": streams_lag.VersionedPosition(version, "x")}  # noqa: RUF012

    return Facts
