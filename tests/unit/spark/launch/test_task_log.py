"""When the JVM's log of failing tasks is switched off, and on again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.spark.launch import task_log
from dbt.adapters.spark_mt.spark.launch.task_log import LOGGERS, TaskLog
from dbt.adapters.spark_mt.spark.session.errors import of_the_user, unlogged_methods

MINE = LOGGERS[0]


class Log4j:
    """The configuration of Log4j, of which the user has configured one logger."""

    def __init__(self):
        self.loggers = {MINE: "the user's"}
        self.LogManager = SimpleNamespace(getContext=lambda _: self)
        self.Level = SimpleNamespace(OFF="OFF")
        kind = SimpleNamespace(LoggerConfig=lambda name, level, _: f"{name} {level}")
        self.core = SimpleNamespace(config=kind)
        self.updates = 0

    def getConfiguration(self):  # noqa: N802 - Java's name, as below
        return self

    def getLoggers(self):  # noqa: N802
        return SimpleNamespace(containsKey=self.loggers.__contains__)

    def addLogger(self, name, logger):  # noqa: N802
        self.loggers[name] = logger

    def removeLogger(self, name):  # noqa: N802
        del self.loggers[name]

    def updateLoggers(self):  # noqa: N802
        self.updates += 1

    @property
    def session(self):
        """A classic session of the JVM."""
        jvm = SimpleNamespace(
            org=SimpleNamespace(apache=SimpleNamespace(logging=SimpleNamespace(log4j=self)))
        )
        return SimpleNamespace(sparkContext=SimpleNamespace(_jvm=jvm))


@pytest.fixture
def log4j(monkeypatch):
    monkeypatch.setattr(task_log, "is_connect", lambda _: False)
    monkeypatch.setattr(task_log, "has_launched", lambda: False)
    return Log4j()


def silent(log4j):
    return {name for name, logger in log4j.loggers.items() if logger.endswith(" OFF")}


def test_it_is_off_until_the_last_statement_has_ended(log4j):
    first, second = TaskLog(log4j.session), TaskLog(log4j.session)
    with first.off():
        with second.off():
            assert silent(log4j) == set(LOGGERS) - {MINE}
        assert silent(log4j) == set(LOGGERS) - {MINE}
    assert log4j.loggers == {MINE: "the user's"}
    assert log4j.updates == 2


def test_a_statement_that_fails_switches_it_on_again(log4j):
    with pytest.raises(RuntimeError), TaskLog(log4j.session).off():
        raise RuntimeError
    assert log4j.loggers == {MINE: "the user's"}


@pytest.mark.parametrize("name", ["is_connect", "has_launched"])
def test_it_stays_where_the_output_is_not_the_users(log4j, monkeypatch, name):
    monkeypatch.setattr(task_log, name, lambda *_: True)
    with TaskLog(log4j.session).off():
        assert silent(log4j) == set()


def test_every_public_method_of_a_facade_is_quiet_but_those_of_the_user(log4j):
    class Parent:
        def inherited(self):
            return silent(log4j)

    @unlogged_methods(lambda facade: facade.log.off())
    class Facade(Parent):
        log = TaskLog(log4j.session)

        def own(self, *, first):
            return first, silent(log4j)

        @of_the_user
        def sql(self):
            return silent(log4j)

    facade = Facade()
    others = set(LOGGERS) - {MINE}
    assert facade.own(first=1) == (1, others)
    assert facade.inherited() == others
    assert facade.sql() == set()
    assert Parent().inherited() == set()
