"""A stream is stopped between batches, also when the next one begins at that moment."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Event, Thread

import pytest

from dbt.adapters.spark_mt.spark.streams.runner import BatchQuery, _StoppedError, spread_ms

PATIENCE_S = 20


class Query:
    """Spark's side: `stop` returns when the batch that runs has ended."""

    def __init__(self) -> None:
        self.batches = []
        self.outcomes = []
        self.before_stop = lambda: None

    def begin(self, run, number) -> None:
        """Run a batch in a thread of Spark's."""

        def batch():
            try:
                run(None, number)
            except _StoppedError:
                self.outcomes.append("stopped")
            else:
                self.outcomes.append("done")

        self.batches.append(Thread(target=batch, daemon=True))
        self.batches[-1].start()

    def stop(self) -> None:
        self.before_stop()
        for batch in self.batches:
            batch.join(PATIENCE_S)
            assert not batch.is_alive(), "stopping and the batch wait for each other"


class Writer:
    """What `writeStream` gives; remembers the function of a batch."""

    def __init__(self, query) -> None:
        self.query = query

    def foreachBatch(self, run):  # noqa: N802 - PySpark's name
        self.query.run = run
        return self

    def __getattr__(self, name):
        return (lambda *_, **__: self.query) if name == "start" else (lambda *_, **__: self)


class Frame:
    def __init__(self, query) -> None:
        self.writeStream = Writer(query)


def started(on_batch):
    query, stream = Query(), BatchQuery(on_batch, "append", ExitStack())
    stream.start(Frame(query), "checkpoint", "name", 1000)
    return query, stream


def test_a_batch_that_begins_while_it_is_stopped_does_nothing_and_is_not_waited_for():
    written = []
    query, stream = started(lambda _, number: written.append(number))
    query.before_stop = lambda: query.begin(query.run, 7)
    stream.stop()
    assert (query.outcomes, written) == (["stopped"], [])


def test_a_batch_that_has_begun_ends_before_it_is_stopped():
    begun, may_end, written = Event(), Event(), []

    def on_batch(_, number):
        begun.set()
        assert may_end.wait(PATIENCE_S)
        written.append(number)

    query, stream = started(on_batch)
    query.begin(query.run, 3)
    assert begun.wait(PATIENCE_S)
    query.before_stop = lambda: written.append("stop")
    stopping = Thread(target=stream.stop, daemon=True)
    stopping.start()
    may_end.set()
    stopping.join(PATIENCE_S)
    assert (query.outcomes, written) == (["done"], [3, "stop"])


def triggers(names, every_ms, now_ms):
    """When Spark begins the next batch of each stream: at multiples of its interval."""
    spread = [spread_ms(every_ms, name) for name in names]
    return sorted(-(-now_ms // each) * each - now_ms for each in spread)


@pytest.mark.parametrize("every_ms", [5_000, 30_000, 54_000, 3_600_000])
@pytest.mark.parametrize("day", [0, 3, 10, 100])
def test_streams_with_one_interval_begin_their_batches_at_different_times(every_ms, day):
    names = [f"spark_catalog.fresh.live_{number}" for number in range(50)]
    begin = triggers(names, every_ms, 1_795_000_000_000 + day * 86_400_000)
    most = max(sum(start <= each < start + every_ms / 10 for each in begin) for start in begin)
    assert most <= 20, "two fifths of the batches begin in a tenth of the interval"


@pytest.mark.parametrize("every_ms", [1, 99, 100, 1_000, 30_000])
def test_an_interval_is_shortened_by_a_hundredth_at_most_and_always_by_the_same(every_ms):
    found = {spread_ms(every_ms, f"t{number}") for number in range(1000)}
    assert min(found) >= every_ms - every_ms // 100
    assert max(found) == every_ms
    assert len({spread_ms(every_ms, "t") for _ in range(5)}) == 1
