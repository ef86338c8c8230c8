"""What the behaviour suite needs from an engine, and runners that fail or come too late."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.table_state import StoredTable
from dbt.adapters.spark_mt.execution.conduct import in_turn
from dbt.adapters.spark_mt.execution.manager import MaterializedTableManager
from dbt.adapters.spark_mt.statements.routing import parse_statement

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import StepRunner
    from dbt.adapters.spark_mt.execution.results import StatementResult
    from dbt.adapters.spark_mt.planning.steps import Step


@dataclass(frozen=True)
class Metadata:
    """What readers see of a table beside its rows; options are those that the user asked for."""

    comment: str
    column_comments: dict[str, str]
    options: dict[str, str]
    clustered_by: tuple[str, ...] = ()


class Tables(ABC):
    """A session with a schema of its own."""

    environment: Environment

    def execute(self, statement: str, runner: StepRunner | None = None) -> StatementResult:
        """Carry out a statement; by another runner if one is given, step after step."""
        environment = self.environment
        if runner is not None:
            conduct = replace(environment.conduct, beside=in_turn)
            environment = replace(environment, runner=runner, conduct=conduct)
        self.forget()
        parsed = parse_statement(statement)
        assert parsed is not None
        return MaterializedTableManager(environment).execute(parsed)

    def name(self, name: str) -> TableName:
        """The full name."""
        return self.environment.store.full_name(TableName(name))

    def find(self, name: str):
        """What stands under a name."""
        self.forget()
        return self.environment.store.find(self.name(name))

    def stored(self, name: str) -> StoredTable:
        """The materialized table of this name."""
        found = self.find(name)
        assert isinstance(found, StoredTable)
        return found

    def options(self, properties: dict[str, str]) -> dict[str, str]:
        """The properties among all that no engine sets by itself."""
        own = ("materialized-table.", "delta.")
        return {k: v for k, v in properties.items() if not k.startswith(own)}

    @abstractmethod
    def forget(self) -> None: ...

    @abstractmethod
    def learn(self, query: str, ddl: str, evaluate: Callable) -> None:
        """Say what a query returns; only an engine without SQL listens."""

    @abstractmethod
    def learn_check(self, expression: str, holds: Callable) -> None: ...

    @abstractmethod
    def source(self, name: str, ddl: str, rows: list[tuple]) -> None:
        """Create a table with versions, in place of what has the name."""

    @abstractmethod
    def view(self, name: str, query: str) -> None: ...

    @abstractmethod
    def append(self, name: str, rows: list[tuple]) -> None: ...

    @abstractmethod
    def delete(self, name: str, column: str, value: object) -> None: ...

    @abstractmethod
    def drop(self, name: str) -> None: ...

    @abstractmethod
    def drop_column(self, name: str, column: str) -> None: ...

    @abstractmethod
    def set_property(self, name: str, key: str, value: str) -> None: ...

    @abstractmethod
    def restore(self, name: str, version: int) -> None: ...

    @abstractmethod
    def clone(self, name: str, target: str) -> None: ...

    @abstractmethod
    def rows(self, name: str) -> list[tuple]:
        """The rows, sorted."""

    @abstractmethod
    def identity(self, name: str) -> str:
        """The format's own identity of a table, by which its readers know it."""

    @abstractmethod
    def metadata(self, name: str) -> Metadata: ...


class InjectedError(Exception):
    """A step failed because the test said so."""


@dataclass
class Faulty:
    """Fails at the step with a number, or at that of a kind, before it or directly after it."""

    runner: StepRunner
    at: int | type
    after: bool = False
    seen: list[Step] = field(default_factory=list)

    def run(self, step):
        self.seen.append(step)
        if not (isinstance(step, self.at) if isinstance(self.at, type) else self._is_its_turn()):
            return self.runner.run(step)
        if self.after:
            self.runner.run(step)
        raise InjectedError

    def undo(self, step):
        self.runner.undo(step)

    @property
    def failed(self) -> Step | None:
        """The step that failed, if there was one."""
        if isinstance(self.at, type):
            return next((step for step in self.seen if isinstance(step, self.at)), None)
        return self.seen[self.at] if len(self.seen) > self.at else None

    def _is_its_turn(self) -> bool:
        return len(self.seen) - 1 == self.at


@dataclass
class Beaten:
    """Lets somebody else do something right before a kind of step, once or each time."""

    runner: StepRunner
    kind: type
    other: Callable[[], object]
    times: int = 1

    def run(self, step):
        if isinstance(step, self.kind) and self.times:
            self.times -= 1
            self.other()
        return self.runner.run(step)

    def undo(self, step):
        self.runner.undo(step)


def divided(suite: type, core: tuple[str, ...]) -> tuple[type, type]:
    """Divide a suite of guarantees into what every run tests on Delta, and the rest.

    Args:
        suite: The guarantees.
        core: Those in which Delta has a part, without `test_`.
    """
    names = {name for name in vars(suite) if name.startswith("test_")}
    wanted = {f"test_{name}" for name in core}
    assert wanted <= names, wanted - names
    every_run = type(suite.__name__, (suite,), dict.fromkeys(names - wanted))
    rest = type(suite.__name__, (suite,), dict.fromkeys(wanted))
    return every_run, rest
