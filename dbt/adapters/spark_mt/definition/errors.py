"""Conditions of errors, and the classes of errors that are caught."""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_E = TypeVar("_E", bound="MaterializedTableError")
_BY_NAME: dict[str, list[Condition[Any]]] = {}


class Group(Enum):
    """Where errors come from; the value is the heading in docs/errors.md."""

    STATEMENT = "The text of a statement"
    DEFINITION = "A definition"
    CHANGE = "A change of a definition"
    EXECUTION = "Carrying out a statement"
    SPARK = "Spark, Java and the metastore"
    MANAGER = "The refresh manager"
    CLIENT = "The command line"
    DBT = "dbt"


class RemedyCost(Enum):
    """What the most expensive remedy of a condition costs."""

    RETRY = "the statement, the request or the start of the process once more"
    COMMIT = "one commit of the table"
    TABLE = "rows that are computed again or lost"


@dataclass(frozen=True, slots=True)
class Condition(Generic[_E]):
    """A condition of errors; a call of it with the parameters makes such an error.

    Args:
        error: The class of its errors; `MaterializedTableError` where they are not caught alone.
        group: Where it comes from.
        name: By which programs know it.
        about: What docs/errors.md says of it.
        text: What happened, on which table; a `str.format` template over the parameters.
        remedy: What to do and what that costs, likewise. Empty where each violation of the error
            has its own.
        cost: What the remedy costs. A cost beyond RETRY is named in `remedy`, too.
    """

    error: type[_E]
    group: Group
    name: str
    about: str
    text: str
    remedy: str = ""
    cost: RemedyCost = RemedyCost.RETRY

    def __post_init__(self) -> None:
        _BY_NAME.setdefault(self.name, []).append(self)

    def __call__(self, *, violations: Sequence[str] = (), **parameters: object) -> _E:
        """Return an error of this condition."""
        return self.error(self, violations=violations, **parameters)

    @staticmethod
    def of_statement(
        name: str, about: str, text: str, remedy: str
    ) -> Condition[StatementSyntaxError]:
        """Return a condition of the text of a statement."""
        return Condition(StatementSyntaxError, Group.STATEMENT, name, about, _placed(text), remedy)

    def in_statement(self, about: str, remedy: str = "") -> Condition[StatementSyntaxError]:
        """Return the condition as it is where a statement has the value, with its place."""
        return Condition(
            StatementSyntaxError,
            self.group,
            self.name,
            about,
            _placed(self.text),
            remedy or self.remedy,
            self.cost,
        )

    @staticmethod
    def named(name: str) -> tuple[Condition[Any], ...]:
        """Return the conditions of a name: elsewhere, and in a statement."""
        return tuple(_BY_NAME.get(name, ()))


def _placed(text: str) -> str:
    return "{statement}, line {line}, column {column}: " + text + "\n{excerpt}"


class MaterializedTableError(Exception):
    """An operation on a materialized table cannot be done.

    Callers and tests read `condition` and `parameters`, never the wording.

    Args:
        kind: The condition, with its texts.
        violations: Every single reason, where there are several.
        parameters: The facts that the texts name, by name.
    """

    def __init__(
        self, kind: Condition[Any], /, *, violations: Sequence[str] = (), **parameters: object
    ) -> None:
        self.kind = kind
        self.parameters = {name: str(value) for name, value in parameters.items()}
        self.violations = tuple(violations)
        super().__init__(self._render())

    @property
    def condition(self) -> str:
        """The name of the condition, by which programs know the error."""
        return self.kind.name

    def name_table(self, table: str) -> None:
        """Say which table the error is about, unless it knows.

        What is found deep down, in a query or in a source, learns it from the statement.
        """
        if "table" not in self.parameters:
            self.parameters["table"] = table
            self.args = (self._render(),)

    def _render(self) -> str:
        silent = "table" in self.parameters and "{table}" not in self.kind.text
        table = f"Materialized table {self.parameters['table']}: " if silent else ""
        happened = self.kind.text.format_map(self.parameters)
        lines = [f"[{self.condition}] {table}{happened}"]
        lines += [f"  - {violation}" for violation in self.violations]
        if self.kind.remedy:
            lines.append(self.kind.remedy.format_map(self.parameters))
        return "\n".join(lines)


class InvalidValueError(MaterializedTableError, ValueError):
    """A config, setting or clause holds a value that is never valid, whatever the table.

    It is one violation among others in the error of the config, settings or statement.
    """


class InvalidDefinitionError(MaterializedTableError):
    """A definition, or its change in place, has violations; nothing was done.

    Each of several violations is an error of its own; `errors` holds them.
    """

    errors: tuple[MaterializedTableError, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition of every violation."""
        return tuple(e.condition for e in self.errors) or (self.condition,)


class StatementSyntaxError(MaterializedTableError):
    """A statement about materialized tables does not follow the grammar.

    No table has been read or changed when it is raised. The parameters `statement, line, column,
    found, excerpt` are always present.
    """


class BaselineBrokenError(MaterializedTableError):
    """A table with a baseline can no longer follow its sources; it is suspended.

    Computing all of it again would add rows that its start mode excludes, so that is never done
    automatically.
    """


class ManagerUnreachableError(MaterializedTableError):
    """No manager answers at the URL."""

    @property
    def is_silent(self) -> bool:
        """Whether something accepts connections there, and did not answer in time."""
        cause = self.__cause__
        return isinstance(getattr(cause, "reason", cause), TimeoutError)


class ManagerRefusedError(MaterializedTableError):
    """The manager refused a request, or failed at it; `answer` has its own condition.

    Args:
        kind: The condition.
        violations: As the manager listed them.
        answer: The problem document.
        parameters: `url`, `status`, `detail` and `advice`.
    """

    def __init__(
        self,
        kind: Condition[Any],
        /,
        *,
        violations: Sequence[str] = (),
        answer: dict[str, Any] | None = None,
        **parameters: object,
    ) -> None:
        self.answer: dict[str, Any] = answer or {}
        super().__init__(kind, violations=violations, **parameters)


class InvalidFreshnessError(InvalidValueError):
    """The freshness is not a positive whole number (message of FLIP-435)."""


class FreshnessTooLongError(InvalidFreshnessError):
    """The freshness is longer than the longest one."""


class InvalidTypeError(InvalidValueError):
    """A text is no data type."""


class ProcessFunctionError(InvalidDefinitionError):
    """A process function that a table names cannot be used for it."""


class QueryError(MaterializedTableError):
    """The engine refuses the query. Line and column count from 1 within the query."""


class RefreshFailedError(MaterializedTableError):
    """Spark could not compute or write the rows."""


class TemporaryObjectError(MaterializedTableError):
    """The query uses an object that only the session of the statement has."""


class UnknownEnricherError(MaterializedTableError):
    """No enricher can be loaded under the configured name."""


class UnreadableDefinitionError(MaterializedTableError):
    """The text in the place of the definition cannot be read."""


class UnsupportedDbtError(MaterializedTableError):
    """The installed dbt-core has a version that no test runs with."""


class AlreadyResumedError(MaterializedTableError):
    """RESUME finds the table active (message of Flink)."""


class AlreadySuspendedError(MaterializedTableError):
    """SUSPEND finds the table suspended (message of Flink)."""


class ComparisonFailedError(MaterializedTableError):
    """A table could not be compared with its query."""


class CommitConflictError(MaterializedTableError):
    """Another commit came first: the plan is no longer valid and must be made again."""


class OutageError(MaterializedTableError):
    """Something that a statement needs did not answer: time mends it, and not a change."""


class CommitNotMadeError(OutageError):
    """A commit whose answer was lost was not made: the plan is made again."""


class ConstraintViolatedError(MaterializedTableError):
    """The rows break a declared key or check."""


class ExecutorLostError(MaterializedTableError):
    """Rows that were kept for a write were lost with their executor: the plan is made again."""


class NotMaterializedError(MaterializedTableError):
    """Something else has this name."""


class HostingOverConnectError(MaterializedTableError):
    """A Connect client cannot host: streams run in the driver's process."""


class NotContinuousError(MaterializedTableError):
    """A host can refresh only a table in mode CONTINUOUS."""


class UnusableHookError(MaterializedTableError):
    """Spark's classes do not take the hook of our statements."""


class HookOverConnectError(MaterializedTableError):
    """A client of Spark Connect cannot change the parser of the server."""


class TableNotFoundError(MaterializedTableError):
    """There is no such table."""


class NotFreshError(MaterializedTableError):
    """A table does not reflect its sources within the time that a caller waits for it."""


class NotHostedError(MaterializedTableError):
    """The table is not hosted in this process."""


class NotPlannableError(MaterializedTableError):
    """A plan was requested for a statement that changes no definition."""


class RefreshNotIncrementalError(MaterializedTableError):
    """A refresh must compute all rows, and the option `incremental` is `strict`."""


class RefreshSchemaError(MaterializedTableError):
    """The query's result no longer has the columns that the table has."""


class SourceFilesGoneError(RefreshFailedError):
    """Files of an earlier version of a source, which a change was to be read from, are gone."""


class SourceNotFoundError(MaterializedTableError):
    """A source was there when the query was analysed and is gone now."""


class SuspendedError(MaterializedTableError):
    """A scheduled run finds the table suspended."""


class UnfinishedChangeError(MaterializedTableError):
    """The change is committed, but properties or comments could not be written."""


class WaitTimeoutError(MaterializedTableError):
    """A table is not started, or not fresh, within the time."""


class WorkflowNotFoundError(MaterializedTableError):
    """The scheduler has no such workflow."""


class MetastoreInUseError(MaterializedTableError):
    """Another process has the Derby metastore open."""


class UnknownSchedulerError(MaterializedTableError):
    """No workflow scheduler can be made under the configured name."""


class ConfigurationChangedError(MaterializedTableError):
    """The configuration of a model changed whose `on_configuration_change` is `fail`."""


class UnsupportedFrameError(MaterializedTableError):
    """A Python model returned something that is no set of rows."""


@contextmanager
def about(table: object) -> Iterator[None]:
    """Name the table in every error of the block that does not.

    Args:
        table: Its name, as the user wrote it or in full.

    Raises:
        MaterializedTableError: The error of the block.
    """
    try:
        yield
    except MaterializedTableError as error:
        error.name_table(str(table))
        raise


def as_violation(error: MaterializedTableError) -> str:
    """Return `error` as an item of the list of another error."""
    return str(error).replace("\n", "\n    ")


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is similar to `name`, or None."""
    by_lower = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.8)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean '…'?`, or an empty text."""
    found = closest(name, known)
    return f" Did you mean '{found}'?" if found else ""
