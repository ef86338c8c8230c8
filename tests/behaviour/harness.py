"""What the behaviour suite needs from an engine, and runners that fail or come too late."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import StoredTable
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.context import run_sequential
from dbt.adapters.spark_mt.execution.operations import carried_out
from dbt.adapters.spark_mt.statements.parser import parse_statement

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import StepRunner
    from dbt.adapters.spark_mt.execution.results import StatementResult
    from dbt.adapters.spark_mt.planning.steps import Step


@dataclass(frozen=True)
class Rel:
    """Rows under names: what a relation is, and what a query returns."""

    names: tuple[str, ...]
    rows: list[tuple]

    def pick(self, *wanted: str) -> Rel:
        """The columns of these names; KeyError where one is not there."""
        if gone := [name for name in wanted if name not in self.names]:
            raise KeyError(gone[0])
        places = [self.names.index(name) for name in wanted]
        return Rel(wanted, [tuple(row[at] for at in places) for row in self.rows])

    def named(self, *names: str) -> Rel:
        """The same columns under other names, by position."""
        if len(names) != len(self.names):
            raise KeyError(names)
        return Rel(names, self.rows)

    def join(self, other: Rel, *on: str) -> Rel:
        """JOIN … USING: the common columns, then the others of both."""
        here, there = self.pick(*on), other.pick(*on)
        rest = [n for n in self.names if n not in on], [n for n in other.names if n not in on]
        mine, theirs = self.pick(*rest[0]), other.pick(*rest[1])
        rows = [
            key + mine.rows[i] + theirs.rows[j]
            for i, key in enumerate(here.rows)
            for j, same in enumerate(there.rows)
            if key == same
        ]
        return Rel((*on, *rest[0], *rest[1]), rows)

    def union(self, other: Rel) -> Rel:
        """UNION ALL: by position, under the names of the first."""
        return Rel(self.names, self.rows + other.named(*self.names).rows)


def sortable(row: tuple) -> tuple:
    """A key by which rows with NULLs are sorted as they are without."""
    return tuple((value is None, value) for value in row)


@dataclass(frozen=True)
class Metadata:
    """What readers see of a table other than its rows; options are those that the user asked for.

    Args:
        not_null: Columns in which the table refuses NULL, whoever writes it.
    """

    comment: str
    column_comments: dict[str, str]
    options: dict[str, str]
    clustered_by: tuple[str, ...] = ()
    not_null: tuple[str, ...] = ()


class Tables(ABC):
    """A session with a schema of its own."""

    environment: Environment

    def execute(self, statement: str, runner: StepRunner | None = None) -> StatementResult:
        """Carry out a statement; by another runner if one is given, step after step."""
        environment = self.environment
        if runner is not None:
            execution_context = replace(environment.execution_context, run_both=run_sequential)
            environment = replace(environment, runner=runner, execution_context=execution_context)
        self.forget()
        parsed = parse_statement(statement)
        assert parsed is not None
        try:
            return carried_out(parsed, environment)
        except MaterializedTableError as error:
            if error.kind is not conditions.UNEXPECTED_ERROR:
                raise
            raise (error.__cause__ or error) from None  # the very error that a test injected

    def name(self, name: str) -> TableName:
        """The full name."""
        return self.environment.store.full_name(TableName(name))

    def format_of(self, name: str) -> TableFormat:
        """The format of a table, or of one that would be made under the name."""
        return self.environment.format_of(self.name(name))

    def find(self, name: str):
        """The table or view of a name."""
        self.forget()
        return self.environment.store.find(self.name(name))

    def stored(self, name: str) -> StoredTable:
        """The materialized table of this name."""
        found = self.find(name)
        assert isinstance(found, StoredTable)
        return found

    def options(self, properties: dict[str, str]) -> dict[str, str]:
        """The properties among all that no engine sets on its own."""
        prefix, _, _ = self.format_of("t").constraint_prefix.partition(".")
        own = ("materialized-table.", f"{prefix}.")
        return {k: v for k, v in properties.items() if not k.startswith(own)}

    def not_null(self, properties: dict[str, str]) -> tuple[str, ...]:
        """The columns of the constraints among all properties."""
        ours = self.format_of("t").constraint_prefix + "materialized-table.not-null."
        return tuple(sorted(k.removeprefix(ours) for k in properties if k.startswith(ours)))

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
    def learn_star(self, query: str, made: Callable) -> None:
        """Say how a query's result follows from the columns and rows of its relations."""

    @abstractmethod
    def move_column(self, name: str, column: str, after: str | None) -> None:
        """Move a column after another one, or to the front."""

    @abstractmethod
    def add_column(self, name: str, column: str, after: str | None) -> None:
        """Add an INT, NULL in every row, after another column, or as the first one."""

    @abstractmethod
    def rename_column(self, name: str, column: str, other: str) -> None: ...

    @abstractmethod
    def columns(self, name: str) -> tuple[str, ...]: ...

    @abstractmethod
    def set_property(self, name: str, key: str, value: str) -> None: ...

    @abstractmethod
    def drop_not_null(self, name: str, column: str) -> None:
        """Drop the constraint of a NOT NULL column, as a user may."""

    @abstractmethod
    def versions(self, name: str) -> list[int]:
        """The versions of a table, the oldest first."""

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
class ConflictingRunner:
    """Lets another writer do something right before a kind of step, once or each time."""

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
