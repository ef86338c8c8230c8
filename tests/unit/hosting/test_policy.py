"""Turns of refreshes, with a clock that tests set."""

from __future__ import annotations

from contextlib import ExitStack
from queue import Queue
from threading import Event, Thread

import pytest

from dbt.adapters.spark_mt.hosting.policy import LONG_MS, Pace, TurnGivenUpError, Turns, differs

PATIENCE_S = 30


class World:
    """Refreshes in threads, each of which ends when `end` is called."""

    def __init__(self, most):
        self.now = 1_000
        self.turns = Turns(most, lambda: self.now)
        self.begun, self.ends, self.threads = Queue(), {}, []
        self.stopped = set()

    def refresh(self, name, due_ms):
        """Begin one; return when it has begun or waits."""
        waiting, ended = self.turns.waiting, self.ends.setdefault(name, Event())

        def run():
            try:
                with self.turns.turn(due_ms, lambda: name in self.stopped):
                    self.begun.put(name)
                    assert ended.wait(PATIENCE_S)
            except TurnGivenUpError:
                self.begun.put(f"{name} did not begin")

        thread = Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()
        return waiting

    def waits(self, name, due_ms):
        before = self.refresh(name, due_ms)
        while self.turns.waiting == before:
            assert self.begun.empty()

    def begins(self, name=""):
        found = self.begun.get(timeout=PATIENCE_S)
        assert name in ("", found)
        return found

    def end(self, name):
        self.ends[name].set()

    def close(self):
        for end in self.ends.values():
            end.set()
        for thread in self.threads:
            thread.join(PATIENCE_S)


@pytest.fixture
def world():
    with ExitStack() as stack:

        def made(most):
            found = World(most)
            stack.callback(found.close)
            return found

        yield made


def test_as_many_run_at_a_time_as_may(world):
    world = world(2)
    for name in "ab":
        world.refresh(name, 5_000)
        world.begins(name)
    world.waits("c", 1)
    world.end("b")
    world.begins("c")


def test_the_table_that_is_late_first_comes_first(world):
    world = world(1)
    world.refresh("a", 9_000)
    world.begins("a")
    for name, due_ms in (("late", 7_000), ("later", 8_000), ("first", 6_000), ("same", 6_000)):
        world.waits(name, due_ms)
    for before, name in (("a", "first"), ("first", "same"), ("same", "late"), ("late", "later")):
        world.end(before)
        world.begins(name)


def test_a_long_refresh_does_not_keep_others_from_theirs(world):
    world = world(1)
    world.refresh("large", 5_000)
    world.begins("large")
    world.waits("small", 6_000)
    world.now += LONG_MS
    world.refresh("next", 7_000)  # whoever comes looks again
    world.begins("small")
    world.end("small")
    world.begins("next")


def test_an_error_ends_a_turn():
    turns = Turns(1, lambda: 0)
    with pytest.raises(LookupError), turns.turn(0):
        raise LookupError
    with turns.turn(0):
        assert turns.waiting == 0


def test_a_waiting_refresh_does_not_begin_when_its_host_stops(world):
    world = world(1)
    world.refresh("a", 0)
    world.begins("a")
    world.waits("b", 1)
    world.waits("c", 2)
    world.stopped.add("b")
    world.turns.look_again()
    world.begins("b did not begin")
    with pytest.raises(TurnGivenUpError), world.turns.turn(0, lambda: True):
        raise AssertionError
    world.end("a")
    world.begins("c")


def pace(*took):
    found = Pace()
    for each in took:
        found.took(each)
    return found


@pytest.mark.parametrize(
    ("took", "inputs", "every"),
    [
        ((), 0, 15_000),
        ((100, 100, 100), 0, 15_000),
        ((2_000,) * 4, 0, 23_000),
        ((2_000, 100, 100, 100), 0, 23_000),
        ((6_000, *(1_000,) * 7), 0, 15_000),
        ((6_000, *(1_000,) * 8), 0, 25_000),
        ((60_000,) * 4, 0, 15_000),
        ((-5,) * 4, 0, 27_000),
        ((2_000,) * 4, 10_000, 13_000),
        ((2_000,) * 4, 60_000, 7_500),
        ((2_000,) * 3, 10_000, 15_000),
    ],
)
def test_a_table_checks_as_seldom_as_its_freshness_permits(took, inputs, every):
    assert pace(*took).interval_ms(30_000, inputs) == every


@pytest.mark.parametrize("took", [0, 500, 2_000, 6_000])
@pytest.mark.parametrize("freshness", [30_000, 60_000, 3_600_000])
def test_a_change_is_there_before_the_table_is_late(took, freshness):
    """It came when a refresh had begun; the next one begins an interval after that one."""
    every = pace(*(took,) * 4).interval_ms(freshness)
    assert took + every + took <= freshness


@pytest.mark.parametrize(
    ("took", "inputs", "every"),
    [
        ((6_000,) * 3, 0, 30_000),
        ((6_000,) * 4, 0, 48_000),
        ((20_000,) * 4, 0, 34_000),
        ((30_000,) * 4, 0, 30_000),
        ((6_000,) * 4, 20_000, 28_000),
        ((6_000,) * 4, 60_000, 15_000),
    ],
)
def test_a_stream_waits_for_one_batch(took, inputs, every):
    """Its interval is from begin to begin, so no change waits for the batch that has begun."""
    assert pace(*took).interval_ms(60_000, inputs, is_stream=True) == every


@pytest.mark.parametrize(
    ("every", "wanted", "starts_again"),
    [(10, 10, False), (10, 12, False), (10, 13, True), (10, 8, False), (10, 7, True)],
)
def test_a_stream_is_started_again_with_an_interval_far_from_its_own(every, wanted, starts_again):
    assert differs(every, wanted) is starts_again
