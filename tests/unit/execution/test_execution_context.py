"""Heartbeats in threads, and two actions at the same time."""

from threading import Event, get_ident

import pytest

from dbt.adapters.spark_mt.execution.context import ThreadedHeartbeat, run_parallel, run_sequential

FOREVER = 3600.0


def test_a_heartbeat_goes_on_until_it_is_stopped():
    called = Event()
    beats = []

    def beat():
        beats.append(get_ident())
        if len(beats) == 3:
            called.set()

    heartbeat = ThreadedHeartbeat(0, 0)(beat)
    assert called.wait(10)
    heartbeat.stop()
    seen = len(beats)
    heartbeat.stop()
    assert len(beats) == seen
    assert get_ident() not in beats


def test_what_is_fast_is_never_told():
    beats = []
    ThreadedHeartbeat(FOREVER, FOREVER)(lambda: beats.append(1)).stop()
    assert beats == []


def test_stopping_waits_for_the_beat_that_is_under_way():
    started, go_on, done = Event(), Event(), []

    def beat():
        started.set()
        assert go_on.wait(10)
        done.append(1)

    heartbeat = ThreadedHeartbeat(0, FOREVER)(beat)
    assert started.wait(10)
    go_on.set()
    heartbeat.stop()
    assert done == [1]


@pytest.mark.parametrize("run_both", [run_sequential, run_parallel])
def test_both_end_although_one_fails(run_both):
    done = []

    def fail():
        raise KeyError

    with pytest.raises(KeyError):
        run_both(lambda: done.append(1), fail)
    assert done == [1]
