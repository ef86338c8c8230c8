"""Installation of the hook in Spark's parser: Java that the driver's Janino compiles."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.spark.parser.answers import Answers
from dbt.adapters.spark_mt.spark.session import driver_java
from dbt.adapters.spark_mt.spark.session.private_session import is_connect
from dbt.adapters.spark_mt.statements import parser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.errors import UnusableHookError
    from dbt.adapters.spark_mt.spark.parser.answers import SqlEngine

    Java = Any


SOURCE = Path(__file__).with_name("StatementHook.java")
NESTED = (
    "Failed",
    "Parser",
    "Question",
    "Refused",
    "Rows",
    "Statement",
    "Threads",
    "Work",
)
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hook:
    """The hook in the parsers of a driver.

    Args:
        java: The object in the JVM.
        answers: What carries out statements.
    """

    java: Java
    answers: Answers

    def close(self) -> None:
        """Refuse all statements from now on."""
        self.answers.close()


class _Statement:
    """A `PassedStatement` of the JVM."""

    def __init__(self, java: Java, spark: SparkSession) -> None:
        self.id = str(java.id())
        self.text = str(java.text())
        self.has_parameters = bool(java.hasParameters())
        self.is_looked_at = bool(java.isLookedAt())
        self._java = java
        self._spark = spark

    def session(self) -> SparkSession:
        """Return the client's session: confs, current schema and temporary views are its own."""
        from pyspark.sql import SparkSession

        return SparkSession(self._spark.sparkContext, self._java.session())


class _Engine:
    """The `java.util.function.BiFunction` that the JVM calls."""

    def __init__(self, spark: SparkSession, answers: Answers) -> None:
        self._spark = spark
        self._answers = answers

    def apply(self, request: str, argument: Java) -> str:
        """Answer a request of the hook."""
        if request == "is_ours":
            return "true" if parser.is_ours(argument) else "false"
        if request == "interrupt":
            self._answers.interrupt(argument)
            return ""
        return self._answers.answer(_Statement(argument, self._spark))

    class Java:
        """The interface, for py4j."""

        implements = ("java.util.function.BiFunction",)


def compiled(spark: SparkSession) -> Java:
    """Return the hook's class in the driver; to compile it takes a second, once.

    Raises:
        MaterializedTableError: Spark's classes do not fit it.
    """
    try:
        return driver_java.compiled(spark, SOURCE, NESTED)
    except Exception as error:
        raise _unusable(spark.version, error) from error


def install(
    spark: SparkSession, engine: SqlEngine, hook_class: Java = None, *, is_of_connect: bool
) -> Hook:
    """Let all sessions that are made from now on pass on statements about materialized tables.

    Args:
        spark: A classic session of the driver.
        engine: Carries out the statements.
        hook_class: What `compiled` returned; it is compiled here by default.
        is_of_connect: Whether clients of Spark Connect use the sessions. Their errors then have a
            class that such clients show with its text.

    Raises:
        MaterializedTableError: The session is one of Spark Connect.
        MaterializedTableError: Spark's classes do not take the hook.
    """
    from pyspark import java_gateway

    if is_connect(spark):
        raise conditions.SQL_HOOK_OVER_CONNECT()
    hook_class = hook_class or compiled(spark)
    context: Any = spark.sparkContext
    gateways: Any = java_gateway
    answers = Answers(engine)
    try:
        gateways.ensure_callback_server_started(context._gateway)  # noqa: SLF001 - as PySpark's foreachBatch
        words = f" {' '.join(parser.FIRST_WORDS)} "
        values = (parser.MENTION, words, is_of_connect)
        made = driver_java.new_object(spark, hook_class, *values)
        made.inject(spark._jsparkSession, _Engine(spark, answers))  # noqa: SLF001 - as above
    except Exception as error:
        raise conditions.SQL_HOOK_UNUSABLE(
            version=spark.version, problem=problem_of(error)
        ) from error
    return Hook(made, answers)


def enter(hook: Hook, spark: SparkSession) -> None:
    """Let a session that is open already pass on the statements, too.

    Raises:
        MaterializedTableError: Spark's classes do not take the hook.
    """
    try:
        hook.java.enter(spark._jsparkSession)  # noqa: SLF001 - no public way to the session
    except Exception as error:
        raise conditions.SQL_HOOK_UNUSABLE(
            version=spark.version, problem=problem_of(error)
        ) from error


def _unusable(version: str, error: Exception) -> UnusableHookError:
    return conditions.SQL_HOOK_UNUSABLE(version=version, problem=problem_of(error))
