"""A process with a Spark of its own on the catalog of a test, and what the test sends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.iceberg.driver_transactions import DriverTransaction
from tests.functional.engine.conftest import started

STEPS = {"begun": ("begin", True), "written": ("execute", True), "publishing": ("publish", False)}
"""Where a process ends in a transaction: in which method, and whether at its end."""
PUBLISHED = "published"


class OtherProcess:
    """The process, seen from a test.

    Args:
        confs: Of its Spark.
        home: A directory of its own.
    """

    def __init__(self, confs, home):
        home.mkdir()
        known = home / "confs.json"
        known.write_text(json.dumps(confs), encoding="utf-8")
        self._process = subprocess.Popen(  # noqa: S603 - this file
            [sys.executable, "-m", __name__, str(known)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(home / "errors").open("wb"),
            text=True,
        )

    def begin(self, **request):
        """Send a request: `sql`, or the table to `refresh`, and the step to `end` at."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def answer(self):
        """Wait for what the newest request led to; None if the process has ended."""
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def end(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _answer(spark, request):
    tables = MaterializedTables(spark)
    if step := request.get("end"):
        _end_at(spark, step)
    try:
        if "refresh" in request:
            return {"strategy": tables.refresh(request["refresh"]).strategy}
        spark.sql(request["sql"])
    except Exception as error:  # noqa: BLE001 - the test reads it
        return {"error": str(error)}
    return {}


def _end_at(spark, step):
    jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    method, is_after = STEPS.get(step, ("publish", True))
    inner = getattr(DriverTransaction, method)

    def ending(*arguments):
        if is_after:
            inner(*arguments)
        os.kill(jvm, signal.SIGKILL)
        os._exit(1)

    setattr(DriverTransaction, method, ending)


def main():
    confs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Spark's launcher prints
    for spark in started(str(Path(sys.argv[1]).parent / "warehouse"), **confs):
        for line in sys.stdin:
            answers.write(json.dumps(_answer(spark, json.loads(line))) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
