"""The registry's rows are read when they changed, and corrected where they are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.context import FIGURES_MS, MOST_ROWS
from dbt.adapters.spark_mt.manager.buffered_log import BufferedJobLog
from dbt.adapters.spark_mt.manager.table_views import RefreshStatistics
from tests.unit.manager.test_table_views_statistics import SINCE, T, job
from tests.unit.manager.world import Port


class Log:
    """A log that fails at a call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.fails_at = -1

    def append(self, *jobs, tables=()):
        assert not tables
        if len(self.calls) == self.fails_at:
            self.fails_at = -1
            raise ConnectionError
        self.calls.append(tuple(each.job_id for each in jobs))
        return len(self.calls)

    def job(self, *_):
        return None

    def of_table(self, *_):
        return (job("old", began=SINCE - 10),)

    def last_scheduled(self, *_):
        return {T: SINCE}


def skipped(number):
    return replace(
        job(str(number), JobStatus.SKIPPED, SINCE + number), scheduled_at_ms=SINCE + number
    )


@pytest.fixture
def log():
    return Log()


class Clock:
    """The time of a buffered log."""

    def __init__(self):
        self.now = SINCE

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def buffered(log, clock):
    return BufferedJobLog(log, RefreshStatistics(SINCE), clock)


def test_only_scheduled_runs_without_work_may_wait(buffered, log, clock):
    at_once = [job("a", JobStatus.RUNNING), job("b"), job("c", JobStatus.SKIPPED)]
    buffered.append(*at_once, skipped(1))
    assert log.calls == [("a", "b", "c")]
    buffered.append(skipped(2))
    assert len(log.calls) == 1
    buffered.flush()
    buffered.flush()
    assert log.calls[1:] == [("1", "2")]
    buffered.append(skipped(3))
    clock.now += FIGURES_MS - 1
    buffered.flush()
    assert len(log.calls) == 2, "at most one commit a minute tells of runs without work"
    clock.now += 1
    buffered.flush()
    assert log.calls[2:] == [("3",)]


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_nothing_is_lost_when_the_log_cannot_be_written(buffered, log, fails_at):
    count = 2 * MOST_ROWS + 10
    buffered.append(*(skipped(number) for number in range(count)))
    log.fails_at = fails_at
    with pytest.raises(ConnectionError):
        buffered.flush()
    buffered.append(skipped(count))
    buffered.close()
    written = [id_ for call in log.calls for id_ in call]
    assert written == [str(number) for number in range(count + 1)]
    assert max(len(call) for call in log.calls) == MOST_ROWS


def test_buffered_rows_are_read_as_if_they_were_written(buffered):
    buffered.append(skipped(1), skipped(2))
    assert buffered.job("c", "2") == skipped(2)
    assert buffered.job("c", "3") is None
    assert [each.job_id for each in buffered.of_table(T, 2)] == ["2", "1"]
    assert buffered.last_scheduled("c") == {T: SINCE + 2}
    buffered.flush()
    assert buffered.last_scheduled("c") == {T: SINCE}


def test_what_comes_while_rows_are_written_is_written_by_the_next_call(log):
    buffered = BufferedJobLog(Port(log), RefreshStatistics(SINCE), lambda: SINCE)
    buffered.append(skipped(1))
    real = log.append

    def slow(*jobs, tables):
        if not log.calls:
            log.append = real
            buffered.append(skipped(2))
        return real(*jobs, tables=tables)

    log.append = slow
    buffered.flush()
    assert log.calls == [("1",)]
    buffered.close()
    assert log.calls == [("1",), ("2",)]
