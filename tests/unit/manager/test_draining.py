"""Draining: hosts that stop are waited for, and no longer than configured."""

from __future__ import annotations

from threading import Event

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.hosting.host import Host
from dbt.adapters.spark_mt.hosting.hosted_table import HostProgress

T, U = TableName("t", "s", "c"), TableName("u", "s", "c")


class Batch:
    """A hosted table whose one batch continues until the test ends it."""

    def __init__(self, name) -> None:
        self.progress = HostProgress(str(name))
        self.began, self.may_end, self.ended = Event(), Event(), Event()

    def tick(self) -> int:
        self.began.set()
        assert self.may_end.wait(20)
        return 60_000

    def end(self) -> None:
        self.ended.set()


@pytest.fixture
def batches():
    return {name: Batch(name) for name in (T, U)}


def test_a_batch_under_way_comes_to_its_end(batches):
    host = Host(batches.__getitem__)
    for name, batch in batches.items():
        host.start(name)
        assert batch.began.wait(20)
    for name in batches:
        host.forget(name)
    assert host.hosted() == frozenset()
    assert not host.drain(0.01), "they are still at it"
    batches[T].may_end.set()
    assert batches[T].ended.wait(20)
    assert not host.drain(0.01)
    batches[U].may_end.set()
    assert host.drain(20)
    assert batches[U].ended.is_set()


def test_without_any_there_is_nothing_to_wait_for(batches):
    assert Host(batches.__getitem__).drain(0)
