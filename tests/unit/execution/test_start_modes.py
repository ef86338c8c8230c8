"""START_MODE on the ports in memory."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from tests.behaviour.memory import MemoryTables
from tests.behaviour.start_modes import EVENTS, NEW, OLD, StartModes, World

_BEGIN = datetime(2025, 10, 28, 10, tzinfo=timezone.utc)
_LATER = timedelta(minutes=1)


class MemoryWorld(World):
    """Each row comes a minute later than the one before it."""

    def __init__(self) -> None:
        super().__init__(MemoryTables(clock=lambda: self.now), _BEGIN)
        self.tables.source("events", EVENTS, [])
        for tag in OLD, NEW:
            self._learn(tag)

    def _learn(self, tag):
        self.tables.learn(
            self.query.format(tag),
            "id INT; tag STRING",
            lambda rows: [(id_, tag) for (id_,) in rows["events"]],
        )

    def add(self, id_):
        self.now += _LATER
        self.tables.append("events", [(id_,)])
        return self.now

    def lose(self):
        self.now += _LATER
        self.tables.source("events", EVENTS, [])


@pytest.fixture
def world():
    return MemoryWorld()


class TestStartModes(StartModes):
    """Every guarantee, without an SQL engine."""
