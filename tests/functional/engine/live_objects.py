"""Live objects of the driver's JVM, after collections of both heaps."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSION = "org.apache.spark.sql.classic.SparkSession"
STREAM = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"
_ROUNDS = 10
_PAUSE_S = 0.5


def live(spark: SparkSession, kind: str, most: int) -> int:
    """Return how many objects of a class are alive, as soon as they are no more than `most`.

    An object of the JVM that Python refers to, and the other way round, goes step by step: each
    collection of one heap releases what the other one holds, in a thread of its own.

    Args:
        spark: A classic session.
        kind: The class.
        most: How many are expected.
    """
    found = most + 1
    for _ in range(_ROUNDS):
        gc.collect()
        found = _histogram(spark).get(kind, 0)
        if found <= most:
            break
        time.sleep(_PAUSE_S)
    return found


def _histogram(spark: SparkSession) -> dict[str, int]:
    """Live objects by class: the JVM makes a full collection for it."""
    gateway: Any = spark.sparkContext._gateway
    jvm, text = gateway.jvm, gateway.jvm.java.lang.String
    arguments = gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = gateway.new_array(text, 0)
    kinds = gateway.new_array(text, 1)
    kinds[0] = "[Ljava.lang.String;"
    name = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    # The server's class is not one that Py4J may call: by the method of its interface.
    methods = jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethods()
    invoke = next(each for each in methods if each.getName() == "invoke")
    given = gateway.new_array(jvm.java.lang.Object, 4)
    for place, argument in enumerate((name, "gcClassHistogram", arguments, kinds)):
        given[place] = argument
    lines = str(invoke.invoke(server, given)).splitlines()
    words = [line.split() for line in lines]
    return {w[3]: int(w[1]) for w in words if len(w) >= 4 and w[0].endswith(":")}
