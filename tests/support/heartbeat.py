"""A heartbeat that beats when the test says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.context import Action, RunningHeartbeat


@dataclass(slots=True)
class ManualHeartbeat:
    """Beats when a test asks for it."""

    _beats: list[Action] = field(default_factory=list)

    def __call__(self, beat: Action) -> RunningHeartbeat:
        """Remember `beat` until it is stopped."""
        self._beats.append(beat)
        return _Remembered(self._beats, beat)

    def tick(self) -> None:
        """Let every running heartbeat beat once."""
        for beat in tuple(self._beats):
            beat()


@dataclass(slots=True)
class _Remembered:
    beats: list[Action]
    beat: Action

    def stop(self) -> None:
        if self.beat in self.beats:
            self.beats.remove(self.beat)
