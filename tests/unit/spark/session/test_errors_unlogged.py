"""Failures that our look-ups expect are not logged; those of the user are, also meanwhile."""

from __future__ import annotations

import logging
from threading import Thread

import pytest
from pyspark.logger import PySparkLogger  # noqa: TID253 - these tests are about PySpark

from dbt.adapters.spark_mt.spark.session.errors import unlogged

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")


class RecordingHandler(logging.Handler):
    """Keeps the messages that reach it."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture(params=LOGGERS)
def logger(request, monkeypatch):
    found = PySparkLogger.getLogger(request.param)
    monkeypatch.setattr(found, "handlers", [])
    monkeypatch.setattr(found, "disabled", False)
    monkeypatch.setattr(found, "propagate", False)
    before = found.level
    found.setLevel(logging.DEBUG)
    yield found
    found.setLevel(before)


@pytest.fixture
def messages(logger):
    handler = RecordingHandler()
    logger.addHandler(handler)
    return handler.messages


def test_a_failure_within_the_block_is_not_logged(logger, messages):
    with unlogged():
        logger.error("expected")
    assert messages == []


def test_failures_after_the_block_are_logged(logger, messages):
    with unlogged():
        pass
    logger.error("of the user")
    assert messages == ["of the user"]


def test_failures_after_a_block_that_failed_are_logged(logger, messages):
    with pytest.raises(RuntimeError), unlogged():
        raise RuntimeError
    logger.error("of the user")
    assert messages == ["of the user"]


def test_a_block_within_a_block_leaves_the_outer_one_in_force(logger, messages):
    with unlogged():
        with unlogged():
            pass
        logger.error("expected")
    assert messages == []


def test_failures_of_other_threads_are_logged_meanwhile(logger, messages):
    with unlogged():
        user = Thread(target=logger.error, args=("of the user",))
        user.start()
        user.join()
        logger.error("expected")
    assert messages == ["of the user"]


def test_messages_of_the_connect_client_below_errors_stay(logger, messages):
    """A user who sets SPARK_CONNECT_LOG_LEVEL=debug wants to see all calls."""
    with unlogged():
        logger.debug("a call")
    assert messages == ["a call"]


def test_levels_and_handlers_stay(logger):
    before = (logger.level, list(logger.handlers), logger.disabled, logger.propagate)
    for _ in range(3):
        with unlogged():
            pass
    assert (logger.level, list(logger.handlers), logger.disabled, logger.propagate) == before
    assert len(logger.filters) == 1
