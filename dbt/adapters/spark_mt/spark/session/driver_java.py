"""Classes of the driver's JVM, and Java sources that it compiles by its own Janino."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.spark.session.errors import is_spark_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    Java = Any


_JAVA_RELEASE = 8
"""Of static methods in interfaces; Janino's own default is older."""
_COMPILED: WeakKeyDictionary[Java, dict[Path, Java | Exception]] = WeakKeyDictionary()
"""The class of each source, or why there is none, by py4j's view of the JVM."""
_FOUND: WeakKeyDictionary[Java, dict[str, Java]] = WeakKeyDictionary()
"""The classes that were looked up, by py4j's view of the JVM."""
_LOGGER = logging.getLogger(__name__)


def java_class(spark: SparkSession, name: str) -> Java:
    """Return a class of the JVM by its full name, which is looked up once.

    Written as `jvm.org.apache…`, each part of the name is a question to the JVM each time, and the
    first of them has it search all its jars for a class `org` in a dozen packages.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - no public way to the JVM
    known = _FOUND.setdefault(jvm, {})
    if name not in known:
        known[name] = getattr(jvm, name)
    return known[name]


def heap_bytes(spark: SparkSession) -> int:
    """Return how large the heap of the driver's JVM may become."""
    return int(java_class(spark, "java.lang.Runtime").getRuntime().maxMemory())


def compiled(spark: SparkSession, source: Path, nested: Sequence[str] = ()) -> Java:
    """Return the class of a source; to compile it takes a second, once.

    Args:
        spark: A classic session of the driver.
        source: The file, with the name of the class.
        nested: The names of its nested classes.

    Raises:
        py4j.protocol.Py4JError: The classes of Spark do not fit it; the same error each time.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - no public way to the JVM
    known = _COMPILED.setdefault(jvm, {})
    if source not in known:
        try:
            known[source] = _compile(jvm, source, nested)
        except Exception as error:  # noqa: BLE001 - raised below
            known[source] = error
    if isinstance(found := known[source], Exception):
        raise found
    return found


def fitting(spark: SparkSession, source: Path, nested: Sequence[str] = ()) -> Java | None:
    """Return what `compiled` does; None where Spark's classes do not fit, which is logged once."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - no public way to the JVM
    is_first = source not in _COMPILED.get(jvm, {})
    try:
        return compiled(spark, source, nested)
    except Exception as error:
        if not is_spark_error(error):
            raise
        if is_first:
            problem = problem_of(error)
            _LOGGER.warning("%s is left to SQL: no class of it fits (%s).", source.stem, problem)
        return None


def new_object(spark: SparkSession, java: Java, *values: object) -> Java:
    """Make an object by the one constructor of a class that `compiled` returned."""
    context: Any = spark.sparkContext
    kind = java_class(spark, "java.lang.Object")
    arguments = context._gateway.new_array(kind, len(values))  # noqa: SLF001 - no public way to the JVM
    for number, value in enumerate(values):
        arguments[number] = value
    return java.getConstructors()[0].newInstance(arguments)


def _compile(jvm: Java, source: Path, nested: Sequence[str]) -> Java:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setSourceVersion(_JAVA_RELEASE)
    compiler.setTargetVersion(_JAVA_RELEASE)
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(source.read_text(encoding="utf-8"))
    loader = compiler.getClassLoader()
    # A class that the JVM does not verify fails here and not in a statement.
    name = f"dbt.adapters.spark_mt.{source.stem}"
    names = (name, *(f"{name}${each}" for each in nested))
    return [jvm.java.lang.Class.forName(each, True, loader) for each in names][0]  # noqa: FBT003, RUF015 - Java's; all are loaded
