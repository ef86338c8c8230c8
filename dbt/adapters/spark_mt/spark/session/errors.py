"""Errors of PySpark as one small value: condition, Java class and message.

PySpark logs each failed statement to standard error, as JSON with a Java stack, when it makes the
Python exception. Statements whose failure is expected run without that log.

Classic sessions raise `PySparkException`, or py4j's `Py4JJavaError` where the Python side of Spark
has no class: for conflicts of commits, violated constraints and cancelled jobs. Connect raises
`PySparkException` with the facts inside, or a gRPC error when the server is gone. Decisions use the
condition or the Java class, never the wording of a message.
"""

from __future__ import annotations

import inspect
import logging
import re
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dbt.adapters.spark_mt.execution.errors import with_system_problem
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


_LOGGERS = (
    "SQLQueryContextLogger",
    "DataFrameQueryContextLogger",
    "pyspark.sql.connect.logging",  # the Connect client's, on by SPARK_CONNECT_LOG_LEVEL
)
_is_expected: ContextVar[bool] = ContextVar("a failure is expected", default=False)


_OF_THE_USER = "_runs_statements_of_the_user"
_Method = TypeVar("_Method", bound="Callable[..., Any]")


_Class = TypeVar("_Class", bound=type[Any])
_Foreign: TypeAlias = Any
"""An object of py4j or PySpark: its attributes exist on the other side only."""
_CONDITION_BY_CLASS = {
    **FORMATS.conditions.by_class,
    "InterruptedException": "OPERATION_CANCELED",
    "ClosedByInterruptException": "OPERATION_CANCELED",
    "FileNotFoundException": "FILE_NOT_FOUND",
}
_BY_METASTORE = {
    "AlreadyExistsException": "TABLE_OR_VIEW_ALREADY_EXISTS",
    "NoSuchObjectException": "TABLE_OR_VIEW_NOT_FOUND",
}
"""What a Hive Metastore answers where another process came first, after Spark had looked."""
_HIVE_FAILED = "_LEGACY_ERROR_TEMP_3065"
"""The condition of Spark for everything that Hive's client throws."""
_OF_METASTORE = frozenset({"MetaException", "TTransportException"})
"""What Hive's client throws. Spark's own exceptions leave out its message."""
_METASTORE_FAILED = "HIVE_METASTORE"
"""The condition of an exception that has none, and that such an exception has caused."""
_OUTAGES = FORMATS.conditions.catalog_away | FORMATS.conditions.outcome_unknown
_CANCELLED = frozenset({"SPARK_JOB_CANCELLED", "OPERATION_CANCELED", "OPERATION_ABANDONED"})
_GONE = frozenset(
    {"UNAVAILABLE", "GRPC_UNAVAILABLE", "RETRIES_EXCEEDED", "NO_ACTIVE_SESSION", "Py4JNetworkError"}
)
_NO_TABLE = FORMATS.conditions.no_table | {
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "NO_SUCH_CATALOG_EXCEPTION",
    "CATALOG_NOT_FOUND",
    "REQUIRES_SINGLE_PART_NAMESPACE",  # a name that is no catalog is a part of the namespace
    "PATH_NOT_FOUND",
}
_REFUSALS = frozenset({"AnalysisException", "ParseException", "IllegalArgumentException"})
"""Exceptions of PySpark, by name: their classes are not loaded without PySpark."""
_TABLE_EXISTS = frozenset({"TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_ALREADY_EXISTS"})
_SCHEMA = FORMATS.conditions.schema | {
    "INCOMPATIBLE_DATA_FOR_TABLE",
    "INCOMPATIBLE_VIEW_SCHEMA_CHANGE",
    "INSERT_COLUMN_ARITY_MISMATCH",
}
_UNREADABLE_VERSION = FORMATS.conditions.unreadable_version | {
    "FILE_NOT_FOUND",
    "FAILED_READ_FILE.FILE_NOT_EXIST",
}
"""Storage that fails raises other conditions."""
ANSI_CONDITIONS = frozenset(
    {
        "ARITHMETIC_OVERFLOW",
        "BINARY_ARITHMETIC_OVERFLOW",
        "CANNOT_PARSE_TIMESTAMP",
        "CAST_INVALID_INPUT",
        "CAST_OVERFLOW",
        "CONVERSION_INVALID_INPUT",
        "DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION",
        "DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION",
        "DIVIDE_BY_ZERO",
        "ILLEGAL_DAY_OF_WEEK",
        "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION",
        "INTERVAL_DIVIDED_BY_ZERO",
        "INVALID_ARRAY_INDEX",
        "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
        "INVALID_URL",
        "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        "REMAINDER_BY_ZERO",
    }
)
"""Conditions whose text in Spark 4.2 advises to turn ANSI mode off or to call a function that gives
NULL instead; and that of `next_day`, which has NULL only without ANSI mode."""
_ANSI_HINT = (
    "This is an error in Spark's ANSI mode. dbt-spark turns it off and has NULL here, or a number "
    "that overflowed: so does `spark.sql.ansi.enabled: false` under server_side_parameters."
)
_STACK = "\n\nJVM stacktrace:\n"
_MAX_CAUSES = 8
_PREFIX = re.compile(r"^\s*(?:\([\w.$]+\)\s+)?\[([A-Z_][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]\s*")
_LINE_AND_COLUMN = re.compile(r"\(line (\d+), pos (\d+)\)")
_JAVA_CLASS = re.compile(r"(?:[a-z_][\w]*\.)+([A-Z][\w$]*)")
_WAITED = "Exception thrown in awaitResult"
"""What Spark says where a thread of it failed for which another one waited: the cause says why."""
_CAUSE = re.compile(r"^Caused by: ([\w.$]+)(?:: )?(.*)$", re.MULTILINE)


class _Unexpected(logging.Filter):
    """Filter of errors that this thread expects; those of other threads and lower levels pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno < logging.ERROR or not _is_expected.get()


_FILTER = _Unexpected()


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep PySpark from logging the failures of this thread's statements within the block.

    For statements whose exception the caller handles, or turns into an error that says the same.
    """
    _install()
    before = _is_expected.set(True)
    try:
        yield
    finally:
        _is_expected.reset(before)


def unlogged_methods(
    quiet: Callable[[Any], AbstractContextManager[None]],
) -> Callable[[_Class], _Class]:
    """Run the public methods of a class unlogged: each of their failures is an exception of ours.

    Not those that run a statement of the user as it is, which are marked with `of_the_user`.

    Args:
        quiet: Returns for an object what else keeps failures from being logged meanwhile.
    """

    def with_unlogged_methods(facade: _Class) -> _Class:
        for name in dir(facade):
            method = inspect.getattr_static(facade, name)
            is_public = inspect.isfunction(method) and not name.startswith("_")
            if is_public and not hasattr(method, _OF_THE_USER):
                setattr(facade, name, _unlogged_call(method, quiet))
        return facade

    return with_unlogged_methods


def of_the_user(method: _Method) -> _Method:
    """Mark a method whose failing statements PySpark logs as it does without us."""
    setattr(method, _OF_THE_USER, True)
    return method


def _unlogged_call(
    method: Callable[..., Any], quiet: Callable[[Any], AbstractContextManager[None]]
) -> Callable[..., Any]:
    @wraps(method)
    def call(facade: Any, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - those of the method
        with unlogged(), quiet(facade):
            return method(facade, *arguments, **named)

    return call


@cache
def _install() -> None:
    """Add the filter to PySpark's loggers, once; PySpark's way to make them is not thread-safe."""
    from pyspark.logger import PySparkLogger

    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_FILTER)


@dataclass(frozen=True, slots=True)
class SparkFailure:
    """What went wrong in Spark.

    Args:
        condition: The error condition of Spark or of the table format, with its sub-condition; for
            errors without one the Java or Python class.
        sql_state: The SQLSTATE, empty where there is none.
        message: One line without the condition and without Java stacks.
        offset: Where in the statement's text the wrong part starts, in characters from 0.
        line_and_column: The same as line and column, both from 1; syntax errors have only this.
        cause: What was raised.
        described: What has the parameters of the condition; None where there are none.
    """

    condition: str
    sql_state: str
    message: str
    offset: int | None = None
    line_and_column: tuple[int, int] | None = None
    cause: BaseException | None = None
    described: _Foreign = None

    @property
    def parameters(self) -> dict[str, str]:
        """The condition's parameters; to read them takes two dozen calls of the JVM."""
        found = None if self.described is None else _safely(self.described.getMessageParameters)
        return {str(key): str(value) for key, value in dict(found or {}).items()}

    @property
    def main_condition(self) -> str:
        """The condition without its sub-condition."""
        return self.condition.partition(".")[0]

    @property
    def is_conflict(self) -> bool:
        """Another writer's commit came first: read again and plan again."""
        return self.main_condition in FORMATS.conditions.conflict

    @property
    def is_cancelled(self) -> bool:
        """The operation was interrupted."""
        return self.main_condition in _CANCELLED

    @property
    def is_server_gone(self) -> bool:
        """Spark does not answer any more: what it did with the last statement is not known."""
        return self.main_condition in _GONE

    @property
    def is_outcome_unknown(self) -> bool:
        """The catalog of a table does not know whether it made a commit."""
        return self.main_condition in FORMATS.conditions.outcome_unknown

    @property
    def is_catalog_away(self) -> bool:
        """The catalog of a table did not answer."""
        away = FORMATS.conditions.catalog_away
        return self.main_condition in away or self.condition == _METASTORE_FAILED

    @property
    def is_missing_table(self) -> bool:
        """The table, its schema, its catalog or its directory is not there."""
        return self.main_condition in _NO_TABLE

    @property
    def is_missing_schema(self) -> bool:
        """There is no schema of the name."""
        return self.main_condition == "SCHEMA_NOT_FOUND"

    @property
    def is_existing_table(self) -> bool:
        """A table or view of the name is there already."""
        return self.main_condition in _TABLE_EXISTS

    @property
    def is_taken_directory(self) -> bool:
        """CREATE TABLE found files at the table's location."""
        return self.main_condition in FORMATS.conditions.directory_taken

    @property
    def is_unreadable_version(self) -> bool:
        """The commit or the files of a version were removed."""
        return not _UNREADABLE_VERSION.isdisjoint((self.condition, self.main_condition))

    @property
    def is_lost_executor(self) -> bool:
        """Rows were lost with the executor that held them; the statement can compute them again."""
        return self.main_condition == "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"

    @property
    def broken_rule(self) -> str:
        """The rule of Spark's optimizer that made an invalid plan; empty for other failures."""
        is_of_a_rule = self.main_condition == "PLAN_VALIDATION_FAILED_RULE_IN_BATCH"
        return self.parameters.get("rule", "") if is_of_a_rule else ""

    @property
    def is_broken_by_rows(self) -> bool:
        """Rows that are there break a constraint that was to be added."""
        return self.main_condition in FORMATS.conditions.rows_break_constraint

    @property
    def is_constraint_known(self) -> bool:
        """A constraint of the name is there already."""
        return self.main_condition in FORMATS.conditions.constraint_exists

    @property
    def is_schema_mismatch(self) -> bool:
        """The written columns do not fit the table's."""
        return self.main_condition in _SCHEMA

    @property
    def is_syntax_error(self) -> bool:
        """Spark's parser refused the text."""
        return self.main_condition == "PARSE_SYNTAX_ERROR"

    @property
    def is_temporary_object(self) -> bool:
        """Something persistent refers to a temporary view, function or session variable."""
        return self.main_condition == "INVALID_TEMP_OBJ_REFERENCE"

    def parameter(self, name: str) -> str:
        """Return the parameter `name` of the condition, empty where it has none."""
        return self.parameters.get(name, "")


def failure_of(error: BaseException) -> SparkFailure:
    """Describe `error`, whichever PySpark raised it, without raising.

    The message of an error of ANSI mode says where its statement has NULL instead.
    """
    failure = _described(error)
    if ANSI_CONDITIONS.isdisjoint((failure.condition, failure.main_condition)):
        return failure
    return replace(failure, message=f"{failure.message} {_ANSI_HINT}")


def _described(error: BaseException) -> SparkFailure:
    java = getattr(error, "java_exception", None)
    if java is not None:
        return _of_java(java, error)
    if hasattr(error, "getCondition"):
        return _of_pyspark(error)
    if hasattr(error, "code") and callable(error.code):  # grpc.RpcError
        status = str(getattr(error.code(), "name", "UNKNOWN"))
        details = getattr(error, "details", str)
        return SparkFailure(f"GRPC_{status}", "", _one_line(str(details() or "")), cause=error)
    return SparkFailure(type(error).__name__, "", _one_line(str(error)), cause=error)


def is_spark_error(error: BaseException) -> bool:
    """Whether `error` was raised by PySpark rather than by a mistake of this project."""
    return type(error).__module__.partition(".")[0] in {"pyspark", "py4j", "grpc"}


def is_refusal(error: BaseException) -> bool:
    """Whether Spark refused a name or a text, and not failed at carrying it out."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return is_spark_error(error) and not kinds.isdisjoint(_REFUSALS)


class suppress_spark_errors:  # noqa: N801 - as contextlib.suppress
    """Leave out what Spark refuses in the block, unlogged, where something else makes up for it.

    Args:
        expected: Which failures are left out; all of Spark's by default.
    """

    def __init__(self, expected: Callable[[SparkFailure], bool] = lambda _: True) -> None:
        self._expected = expected
        self._unlogged = unlogged()

    def __enter__(self) -> None:
        self._unlogged.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> bool:
        self._unlogged.__exit__(None, None, None)
        if not isinstance(error, Exception) or not is_spark_error(error):
            return False
        return self._expected(failure_of(error))


def _of_pyspark(error: _Foreign) -> SparkFailure:
    text = str(error).partition(_STACK)[0]
    condition = error.getCondition() or _prefixed(text)
    if not condition and (cause := _innermost(error)):
        condition = _prefixed(cause)
        if _WAITED in text:
            text = cause
    if not condition:
        named = _JAVA_CLASS.search(text)
        name = named.group(1) if named else type(error).__name__
        condition = _CONDITION_BY_CLASS.get(name, name)
    if condition == _HIVE_FAILED:
        classes = map(_class, _causes(getattr(error, "_origin", None)))
        condition = next((_BY_METASTORE[c] for c in classes if c in _BY_METASTORE), condition)
    position = _LINE_AND_COLUMN.search(text)
    return SparkFailure(
        condition,
        _safely(error.getSqlState) or "",
        _explained(
            _one_line(text),
            getattr(error, "_origin", None),
            _safely(getattr(error, "getStackTrace", str)) or "",
        ),
        _offset(error),
        (int(position[1]), int(position[2]) + 1) if position else None,
        cause=error,
        described=error,
    )


def _of_java(java: _Foreign, error: BaseException) -> SparkFailure:
    """Take the innermost exception that has a condition, or whose class we know."""
    best: SparkFailure | None = None
    for each in _causes(java):
        condition = _safely(each.getCondition) or _safely(each.getErrorClass)
        condition = condition or _CONDITION_BY_CLASS.get(_class(each), "")
        if condition:
            message = _explained(_one_line(str(each.getMessage() or "")), each)
            if condition in _OUTAGES:
                message = _with_root(str(each.getMessage() or ""), each)
            state = _safely(each.getSqlState) or ""
            best = SparkFailure(condition, state, message, cause=error, described=each)
    if best is not None:
        return best
    said = java
    if _WAITED in str(java.getMessage() or ""):
        *_, said = _causes(java)
    message = _explained(_one_line(str(said.getMessage() or "")), java)
    is_of_metastore = not _OF_METASTORE.isdisjoint(map(_class, _causes(java)))
    condition = _METASTORE_FAILED if is_of_metastore else _class(said)
    return SparkFailure(condition, "", message, cause=error)


def _prefixed(text: str) -> str:
    """Return the condition with which a message begins; empty without one."""
    found = _PREFIX.match(text)
    return found.group(1) if found else ""


def _innermost(error: _Foreign) -> str:
    """Return the innermost cause in the Java stack of an exception, as class and message.

    Only those of Spark Connect have a stack; the causes of others are objects.
    """
    causes = _CAUSE.findall(_safely(getattr(error, "getStackTrace", str)) or "")
    return "({}) {}".format(*causes[-1]) if causes else ""


def _explained(message: str, java: _Foreign, stack: str = "") -> str:
    """Add to a message what the operating system or Hive's client says, where it was the cause."""
    said = (str(each.getMessage() or "") for each in _causes(java))
    return _with_metastore(with_system_problem(message, *said, stack), java)


def _with_metastore(message: str, java: _Foreign) -> str:
    for each in _causes(java):
        if _class(each) in _OF_METASTORE:
            reason = _one_line(str(each.getMessage() or _class(each)))
            if reason not in message:
                return f"{message.rstrip('.')}. Hive Metastore: {reason}"
    return message


def _with_root(message: str, java: _Foreign) -> str:
    """Add the innermost cause to a message: of a connection that failed, where it led to.

    Lines after the first one advise to repair by hand what is repaired here.
    """
    *_, root = _causes(java)
    message = _one_line(message.partition("\n")[0])
    reason = _one_line(str(root.getMessage() or _class(root)).partition("\n")[0])
    return message if reason in message else f"{message.rstrip('.')} ({_class(root)}: {reason})"


def _causes(java: _Foreign) -> Iterator[Any]:
    for _ in range(_MAX_CAUSES):
        if java is None:
            return
        yield java
        java = java.getCause()


def _class(java: _Foreign) -> str:
    return str(java.getClass().getSimpleName())


def _safely(call: _Foreign) -> _Foreign:
    """Call a method of an exception; None where it fails in Spark or does not exist."""
    try:
        return call()
    except Exception as error:
        if is_spark_error(error):
            return None
        raise


def _offset(error: _Foreign) -> int | None:
    """Return the start of the wrong part; DataFrame contexts have none."""
    for context in _safely(error.getQueryContext) or ():
        start = _safely(context.startIndex) if context.contextType().name == "SQL" else None
        if start is not None and start >= 0:
            return int(start)
    return None


def _one_line(text: str) -> str:
    """Return the first paragraph of a message, without condition, plan, SQL echo and Java stack."""
    text = _PREFIX.sub("", text.partition(_STACK)[0].strip())
    text = re.split(r"\s*(?:;?\n'?\S+ ?\[|\n== SQL|\n\tat |; line \d+ pos \d+)", text, maxsplit=1)[
        0
    ]
    text = re.sub(r"\s*SQLSTATE: \w{5}", "", text)
    return re.sub(r"\s+", " ", _LINE_AND_COLUMN.sub("", text)).strip()
