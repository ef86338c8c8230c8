"""Hosted tables in the hands of a test, and what others do to their sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from dbt.adapters.spark_mt.execution.refresh import Refreshes
from dbt.adapters.spark_mt.hosting.hosted_table import HostedTable
from dbt.adapters.spark_mt.hosting.policy import PATIENT, HostPhase
from dbt.adapters.spark_mt.resolution.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.hosting.policy import HostPolicy, HostProgress
    from tests.behaviour.harness import Tables

QUICK = Settings(trigger_interval=timedelta(milliseconds=100))


class World(ABC):
    """Hosts, and others in parallel with them.

    Attributes:
        tables: The session of the others.
    """

    patience: ClassVar[int]
    """After how many ticks a test gives up."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._hosts: list[Hosted] = []

    def host(self, name: str = "t", policy: HostPolicy = PATIENT) -> Hosted:
        """Make a host with ports of its own, which does nothing until it ticks."""
        environment = replace(self.ports(), settings=lambda: QUICK)
        table = HostedTable(self.tables.name(name), environment, Refreshes(environment), policy)
        self._hosts.append(Hosted(self, table))
        return self._hosts[-1]

    def close(self) -> None:
        """End every host."""
        for host in self._hosts:
            host.table.end()

    @abstractmethod
    def ports(self) -> Environment:
        """Return the ports of one host."""

    @abstractmethod
    def wait(self) -> None:
        """Let streams do what they have to do."""

    @abstractmethod
    def update(self, name: str, id_: int, v: int) -> None:
        """UPDATE the value of a row."""

    @abstractmethod
    def overwrite(self, name: str, rows: list[tuple]) -> None: ...

    @abstractmethod
    def replace(self, name: str, ddl: str, rows: list[tuple]) -> None:
        """CREATE OR REPLACE TABLE: other rows, one log."""

    @abstractmethod
    def rewrite(self, name: str) -> None:
        """Change the files and no row."""

    @abstractmethod
    def add_column(self, name: str, column: str, type_: str) -> None: ...

    @abstractmethod
    def rename(self, name: str, to: str) -> None: ...


@dataclass
class Hosted:
    """A host that ticks when the test says so.

    Args:
        pauses: What each tick asked for, in milliseconds.
    """

    world: World
    table: HostedTable
    pauses: list[int] = field(default_factory=list)

    @property
    def progress(self) -> HostProgress:
        return self.table.progress

    def tick(self) -> int:
        """Tick once, and let the streams work."""
        self.pauses.append(self.table.tick())
        self.world.wait()
        return self.pauses[-1]

    def until(self, holds: Callable[[HostProgress], bool]) -> HostProgress:
        """Tick until something holds."""
        for _ in range(self.world.patience):
            if holds(self.progress):
                return self.progress
            self.tick()
        raise AssertionError(self.progress)

    def reaches(self, phase: HostPhase) -> HostProgress:
        """Tick until the host is in a phase."""
        return self.until(lambda progress: progress.phase is phase)

    def fresh(self, *sources: str) -> HostProgress:
        """Tick until the table reflects the newest state of its sources."""
        self.tick()
        wanted = self.now(*(sources or ("events",)))
        return self.until(
            lambda progress: (
                progress.phase is not HostPhase.FAILING
                and progress.positions is not None
                and wanted.items() <= dict(progress.positions).items()
            )
        )

    def now(self, *sources: str):
        """The current positions of sources."""
        tables = self.world.tables
        tables.forget()
        resolved = tables.stored(self.table_name).definition.resolved
        analyzed = tables.environment.stored_analyzer.analyze_stored(resolved)
        found = tables.environment.sources.positions(analyzed.sources)
        names = {str(tables.name(source)) for source in sources}
        return {name: position for name, position in found.items() if name in names}

    @property
    def table_name(self) -> str:
        return self.progress.table.rpartition(".")[2]
