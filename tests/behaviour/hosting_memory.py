"""Hosts in memory: a batch happens whenever a test lets streams work."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

from tests.behaviour.hosting_world import QUICK, World
from tests.behaviour.memory import MemoryTables
from tests.unit.builders import columns


class MemoryWorld(World):
    """Everything happens in one thread, and time passes when a test lets streams work."""

    patience = 12

    def __init__(self) -> None:
        self._now = datetime.now(tz=timezone.utc)
        super().__init__(MemoryTables(clock=lambda: self._now))
        self.streams = self.tables.memory.streams

    def ports(self):
        return self.tables.environment

    def wait(self) -> None:
        self._now += QUICK.trigger_interval
        self.streams.run_batches()

    def pass_time(self, seconds: float) -> None:
        """Let time pass while streams do nothing."""
        self._now += timedelta(seconds=seconds)

    def update(self, name, id_, v) -> None:
        self._change(
            name, "UPDATE", lambda rows: [(*r[:2], v, *r[3:]) if r[0] == id_ else r for r in rows]
        )

    def overwrite(self, name, rows) -> None:
        self._change(name, "WRITE", lambda _: rows)

    def replace(self, name, ddl, rows) -> None:
        new = tuple(rows)
        self.tables.catalog.change(
            self.tables.name(name),
            "CREATE OR REPLACE TABLE AS SELECT",
            lambda s: replace(s, columns=columns(ddl), rows=new),
        )

    def rewrite(self, name) -> None:
        self._change(name, "OPTIMIZE", lambda rows: rows)

    def add_column(self, name, column, type_) -> None:
        added = columns(f"{column} {type_}")
        self.tables.catalog.change(
            self.tables.name(name),
            "ADD COLUMNS",
            lambda s: replace(
                s, columns=s.columns + added, rows=tuple((*row, None) for row in s.rows)
            ),
        )

    def rename(self, name, to) -> None:
        catalog = self.tables.catalog
        catalog.put(self.tables.name(to), catalog.get(self.tables.name(name)))
        self.tables.drop(name)

    def _change(self, name, operation, rows) -> None:
        self.tables.catalog.change(
            self.tables.name(name), operation, lambda s: replace(s, rows=tuple(rows(s.rows)))
        )
