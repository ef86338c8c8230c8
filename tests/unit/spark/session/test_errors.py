from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.spark.session.errors import ANSI_CONDITIONS, failure_of, is_spark_error

pyspark = pytest.importorskip("pyspark")

Py4JError = pytest.importorskip("py4j.protocol").Py4JError
AnalysisException = pytest.importorskip("pyspark.errors").AnalysisException
PySparkException = pytest.importorskip("pyspark.errors").PySparkException
SparkConnectGrpcException = pytest.importorskip(
    "pyspark.errors.exceptions.connect"
).SparkConnectGrpcException


@dataclass
class FakeClass:
    name: str

    def getSimpleName(self) -> str:  # noqa: N802 - Java's name
        return self.name


@dataclass
class FakeThrowable:
    """An exception in the JVM as py4j shows it: a missing method fails when it is called."""

    name: str
    message: str = ""
    condition: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    cause: FakeThrowable | None = None

    def getClass(self) -> FakeClass:  # noqa: N802
        return FakeClass(self.name)

    def getMessage(self) -> str:  # noqa: N802
        return self.message

    def getCause(self) -> FakeThrowable | None:  # noqa: N802
        return self.cause

    def _fact(self, value: Any) -> Any:
        if self.condition is None:
            raise Py4JError(self.name)
        return value

    def getCondition(self) -> Any:  # noqa: N802
        return self._fact(self.condition)

    def getErrorClass(self) -> Any:  # noqa: N802
        return self._fact(self.condition)

    def getSqlState(self) -> Any:  # noqa: N802
        return self._fact("XX000")

    def getMessageParameters(self) -> Any:  # noqa: N802
        return self._fact(self.parameters)


class FakeJavaError(Exception):
    def __init__(self, java_exception: FakeThrowable) -> None:
        super().__init__("An error occurred while calling o1.sql")
        self.java_exception = java_exception


def test_java_errors_are_unwrapped_to_the_innermost_condition() -> None:
    inner = FakeThrowable(
        "DeltaInvariantViolationException",
        "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint pos (a > 0) violated by row with "
        "values:\n - a : -1\n\tat org.apache.X",
        "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
        {"constraintName": "pos"},
    )
    middle = FakeThrowable("SparkException", "Job aborted", "_LEGACY_ERROR_TEMP_1", cause=inner)
    error = FakeJavaError(FakeThrowable("RuntimeException", cause=middle))
    failure = failure_of(error)
    assert failure.condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    assert failure.parameter("constraintName") == "pos"
    assert failure.parameter("other") == ""
    assert not failure.is_conflict
    assert failure.cause is error
    assert "\n" not in failure.message
    assert failure.message.startswith("CHECK constraint pos")


@pytest.mark.parametrize(
    "name",
    [
        "ConcurrentTransactionException",
        "ConcurrentAppendException",
        "MetadataChangedException",
        "ProtocolChangedException",
    ],
)
def test_conflicts_without_a_condition_are_known_by_class(name: str) -> None:
    assert failure_of(FakeJavaError(FakeThrowable(name, "anything"))).is_conflict


@pytest.mark.parametrize(
    ("name", "predicate"),
    [
        ("CommitStateUnknownException", "is_outcome_unknown"),
        ("RESTException", "is_catalog_away"),
        ("ServiceFailureException", "is_catalog_away"),
        ("ServiceUnavailableException", "is_catalog_away"),
        ("UncheckedSQLException", "is_catalog_away"),
        ("RuntimeMetaException", "is_catalog_away"),
        ("TTransportException", "is_catalog_away"),
        ("MetaException", "is_catalog_away"),
        ("CommitFailedException", "is_conflict"),
        ("BadRequestException", None),
        ("NotAuthorizedException", None),
        ("ForbiddenException", None),
    ],
)
def test_failures_of_a_catalog_are_known_by_class(name: str, predicate: str | None) -> None:
    failure = failure_of(FakeJavaError(FakeThrowable(name, "anything")))
    predicates = [n for n in dir(failure) if n.startswith("is_") and getattr(failure, n)]
    assert predicates == ([predicate] if predicate else [])


@pytest.mark.parametrize("name", ["MetaException", "TTransportException"])
def test_a_metastore_that_failed_is_known_by_the_cause(name: str) -> None:
    cause = FakeThrowable(name, "Could not connect")
    away = failure_of(FakeJavaError(FakeThrowable("RuntimeException", "No table", cause=cause)))
    assert away.is_catalog_away
    assert away.message == "No table. Hive Metastore: Could not connect"
    changed = FakeThrowable("CommitFailedException", "The table was modified", cause=cause)
    assert failure_of(FakeJavaError(changed)).is_conflict


def test_a_catalog_that_is_away_is_explained_by_the_innermost_cause() -> None:
    root = FakeThrowable("ConnectException", "Connect to http://127.0.0.1:1 failed")
    error = FakeThrowable(
        "RESTException", "Error occurred while processing GET request", cause=root
    )
    assert failure_of(FakeJavaError(error)).message == (
        "Error occurred while processing GET request "
        "(ConnectException: Connect to http://127.0.0.1:1 failed)"
    )


def test_advice_to_repair_a_commit_by_hand_is_left_out() -> None:
    text = "Service failed: 504\nCannot determine whether the commit was successful or not"
    failure = failure_of(FakeJavaError(FakeThrowable("CommitStateUnknownException", text)))
    assert failure.message == "Service failed: 504"


def test_an_unknown_java_error_keeps_its_class() -> None:
    failure = failure_of(FakeJavaError(FakeThrowable("OutOfMemoryError", "Java heap\n\tat x.y")))
    assert (failure.condition, failure.message) == ("OutOfMemoryError", "Java heap")


_WAITED = "Exception thrown in awaitResult: "


def test_a_joined_thread_raises_its_error() -> None:
    lost = FakeThrowable("IOException", "Connection from /10.0.0.1:7077 closed")
    failure = failure_of(FakeJavaError(FakeThrowable("SparkException", _WAITED, cause=lost)))
    assert (failure.condition, failure.message) == (
        "IOException",
        "Connection from /10.0.0.1:7077 closed",
    )


@pytest.mark.parametrize(
    ("innermost", "condition", "message"),
    [
        ("java.io.FileNotFoundException: s3a://a/b", "FILE_NOT_FOUND", "s3a://a/b"),
        ("org.apache.spark.SparkException: [SOME_CONDITION] It is full.", "SOME_CONDITION", "It"),
        ("java.io.IOException", "IOException", ""),
    ],
)
def test_over_connect_it_is_refused_with_the_reason(
    innermost: str, condition: str, message: str
) -> None:
    error = SparkConnectGrpcException(
        _WAITED,
        reason="org.apache.spark.SparkException",
        server_stacktrace="org.apache.spark.SparkException\n\tat a.b.C\nCaused by: "
        f"java.lang.RuntimeException: round\n\tat a.b.C\nCaused by: {innermost}\n\tat a.b.C",
    )
    failure = failure_of(error)
    assert failure.condition == condition
    assert message in failure.message
    assert "awaitResult" not in failure.message


def test_a_task_over_connect_has_its_condition() -> None:
    text = "[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_3_1 not found!"
    aborted = "Job aborted due to stage failure: Task 1 in stage 6.0 failed 4 times"
    failure = failure_of(
        SparkConnectGrpcException(
            f"{aborted}, most recent failure: SparkException: {text}",
            server_stacktrace=f"SparkException\nCaused by: org.apache.spark.SparkException: {text}",
        )
    )
    assert failure.is_lost_executor
    assert failure.message.startswith(aborted)


@pytest.mark.parametrize("kind", [SparkConnectGrpcException, PySparkException])
def test_without_a_cause_it_says_what_spark_says(kind: type[Exception]) -> None:
    """Exceptions of a classic session have no stack to ask for."""
    failure = failure_of(kind(message=_WAITED))  # type: ignore[call-arg]
    assert failure.message.startswith("Exception thrown in awaitResult")
    assert failure.condition == kind.__name__


def _away() -> FakeThrowable:
    """What Spark throws where Hive's client reaches no metastore, without Spark's own exception."""
    text = (
        "Could not connect to meta store using any of the URIs provided. Most recent failure: "
        "java.net.ConnectException: Connection refused\n\tat org.apache.thrift.transport.TSocket"
    )
    reflected = FakeThrowable(
        "InvocationTargetException", cause=FakeThrowable("MetaException", text)
    )
    runtime = FakeThrowable("RuntimeException", "Unable to instantiate Client", cause=reflected)
    return FakeThrowable("HiveException", "Unable to fetch table t", cause=runtime)


def test_a_metastore_that_is_not_reached_is_named() -> None:
    reason = (
        "Hive Metastore: Could not connect to meta store using any of the URIs "
        "provided. Most recent failure: java.net.ConnectException: Connection refused"
    )
    captured = AnalysisException("[_LEGACY_ERROR_TEMP_3065] Unable to fetch table t")
    captured._origin = FakeThrowable("AnalysisException", cause=_away())
    failure = failure_of(captured)
    assert failure.condition == "_LEGACY_ERROR_TEMP_3065"
    assert failure.message == f"Unable to fetch table t. {reason}"
    in_java = failure_of(FakeJavaError(_away()))
    assert in_java.is_catalog_away
    assert in_java.message == f"Unable to fetch table t. {reason}"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("AlreadyExistsException", (True, False)),
        ("NoSuchObjectException", (False, True)),
        ("MetaException", (False, False)),
    ],
)
def test_races_in_a_metastore_are_known_by_class(name: str, wanted: tuple[bool, bool]) -> None:
    hive = FakeThrowable("HiveException", "Table t", cause=FakeThrowable(name, "Table t"))
    captured = AnalysisException("[_LEGACY_ERROR_TEMP_3065] Table t")
    captured._origin = FakeThrowable("AnalysisException", cause=hive)
    failure = failure_of(captured)
    assert (failure.is_existing_table, failure.is_missing_table) == wanted


def test_what_a_metastore_answers_is_written_once() -> None:
    error = FakeThrowable("MetaException", "Could not connect to meta store")
    assert failure_of(FakeJavaError(error)).message == "Could not connect to meta store"


def test_endless_causes_end() -> None:
    loop = FakeThrowable("RuntimeException", "round")
    loop.cause = loop
    assert failure_of(FakeJavaError(loop)).condition == "RuntimeException"


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        ("TABLE_OR_VIEW_NOT_FOUND", "is_missing_table"),
        ("DELTA_TABLE_NOT_FOUND", "is_missing_table"),
        ("SPARK_JOB_CANCELLED", "is_cancelled"),
        ("OPERATION_CANCELED", "is_cancelled"),
        ("DELTA_CONCURRENT_APPEND.WITHOUT_HINT", "is_conflict"),
        ("DELTA_METADATA_MISMATCH", "is_schema_mismatch"),
        ("PARSE_SYNTAX_ERROR", "is_syntax_error"),
        ("INVALID_TEMP_OBJ_REFERENCE", "is_temporary_object"),
        ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", None),
        ("RETRIES_EXCEEDED", "is_server_gone"),
        ("UNAVAILABLE", "is_server_gone"),
        ("DIVIDE_BY_ZERO", None),
    ],
)
def test_predicates_go_by_condition(condition: str, predicate: str | None) -> None:
    error = PySparkException("text", errorClass=condition, messageParameters={"b": "2", "a": "1"})
    failure = failure_of(error)
    predicates = [n for n in dir(failure) if n.startswith("is_") and getattr(failure, n)]
    assert predicates == ([predicate] if predicate else [])
    assert failure.parameters == {"a": "1", "b": "2"}


def test_a_message_is_one_line_without_plan_and_stack() -> None:
    error = AnalysisException(
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `nope`\ncannot be resolved. "
        "SQLSTATE: 42703; line 2 pos 3;\n'Project ['nope]\n+- SubqueryAlias c.s.t"
        "\n\nJVM stacktrace:\norg.apache.spark.sql.X\n\tat y.z"
    )
    failure = failure_of(error)
    assert failure.condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert failure.message == "A column with name `nope` cannot be resolved."


def test_a_syntax_error_has_line_and_column() -> None:
    error = PySparkException(
        "\n[PARSE_SYNTAX_ERROR] Syntax error at or near ','. SQLSTATE: 42601 (line 2, pos 9)\n\n"
        "== SQL ==\nselect 1,,\n---------^^^\n"
    )
    failure = failure_of(error)
    assert failure.line_and_column == (2, 10)
    assert failure.message == "Syntax error at or near ','."


def test_errors_that_are_not_of_spark_are_recognized() -> None:
    assert is_spark_error(PySparkException("x"))
    assert is_spark_error(Py4JError("x"))
    assert not is_spark_error(ValueError("x"))
    assert failure_of(ValueError("two\nlines")).message == "two lines"
    assert failure_of(ValueError("x")).condition == "ValueError"


def test_a_lost_server_is_a_grpc_condition() -> None:
    class Code:
        name = "UNAVAILABLE"

    class RpcError(Exception):
        def code(self) -> Code:
            return Code()

        def details(self) -> str:
            return "connection refused"

    failure = failure_of(RpcError())
    assert (failure.condition, failure.message) == ("GRPC_UNAVAILABLE", "connection refused")


_ADVISES_NULL = re.compile("and return NULL|to bypass this error|with ANSI mode on")
_NOT_BY_ANSI_MODE = {
    "CAST_OVERFLOW_IN_TABLE_INSERT",  # raised in both modes: the policy of stores decides
    "INVALID_VARIANT_CAST",
}
_WITHOUT_ADVICE = {"ILLEGAL_DAY_OF_WEEK"}


def conditions_of_spark():
    """Every condition of the installed Spark with its text, sub-conditions too."""
    (jar,) = Path(pyspark.__file__).parent.glob("jars/spark-common-utils_2.13-*.jar")
    with zipfile.ZipFile(jar) as opened:
        found = json.loads(opened.read("error/error-conditions.json"))
    for name, about in found.items():
        yield name, " ".join(about["message"])
        for sub, more in about.get("subClass", {}).items():
            yield f"{name}.{sub}", " ".join(more["message"])


@pytest.mark.skipif(not pyspark.__version__.startswith("4.2."), reason="the list is for Spark 4.2")
def test_the_conditions_of_ansi_mode_are_those_that_spark_advises_on():
    found = {name for name, text in conditions_of_spark() if _ADVISES_NULL.search(text)}
    assert (found - _NOT_BY_ANSI_MODE) | _WITHOUT_ADVICE == ANSI_CONDITIONS


@pytest.mark.parametrize(
    ("condition", "is_of_ansi_mode"),
    [
        ("DIVIDE_BY_ZERO", True),
        ("DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION", True),
        ("DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION", False),
        ("TABLE_OR_VIEW_NOT_FOUND", False),
    ],
)
def test_an_error_of_ansi_mode_names_the_conf(condition, is_of_ansi_mode):
    message = failure_of(PySparkException(f"[{condition}] Something failed.")).message
    assert message.startswith("Something failed.")
    assert ("`spark.sql.ansi.enabled: false`" in message) == is_of_ansi_mode


@pytest.mark.parametrize(
    "said",
    [
        "No space left on device",
        "Disk quota exceeded",
        "Read-only file system",
        "Too many open files",
    ],
)
def test_the_error_of_the_operating_system_is_named(said):
    """However many exceptions of Spark are around it, and whichever surface shows the error."""
    inner = FakeThrowable("IOException", f"write: {said}")
    middle = FakeThrowable("SparkException", "Task failed while writing rows.", cause=inner)
    outer = FakeThrowable("SparkException", "Job aborted.", "TASK_WRITE_FAILED", cause=middle)
    for error in (outer, FakeThrowable("SparkException", "Job aborted.", cause=middle)):
        assert said in failure_of(FakeJavaError(error)).message
    stack = f"java.io.IOException: aborted\n\tat x\nCaused by: java.io.IOException: {said}\n\tat y"
    called = FakeJavaError(outer)
    called.args = (f"An error occurred while calling o1.save.\n: {stack}",)
    assert problem_of(called) == f"java.io.IOException: aborted ({said})"
    captured = PySparkException("Job aborted.")
    captured._stackTrace = stack
    assert said in problem_of(captured)
    connect = SparkConnectGrpcException("Job aborted.", server_stacktrace=stack)
    assert said in failure_of(connect).message
    assert said in problem_of(connect)


def test_a_known_warning_is_not_repeated():
    assert problem_of(OSError(28, "No space left on device")).count("No space left") == 1
