"""Spark drivers of their own processes over one metastore, which can be killed in a statement.

`python -m tests.lake.driver <folder> <confs as JSON>` reads orders as lines of JSON, and answers
each with a line of JSON, until its standard input ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.launch.session import classic_spark
from tests.faults.boundaries import Boundary, watched
from tests.faults.jvm import die
from tests.faults.server import CONFS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

_READY = "ready"


class Driver:
    """A driver in a process of its own, with a JVM of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, schema: str, statements: Sequence[str]) -> list[str]:
        """Carry statements out, one after the other.

        Returns:
            What became of each: nothing, or the condition of its error. An error of another kind
            is its whole text.
        """
        self._order({"schema": schema, "statements": list(statements)})
        answer = self.receive()
        assert isinstance(answer, list), answer
        return answer

    def dies_in(self, schema: str, statement: str, at: Boundary) -> bool:
        """Carry a statement out, and be killed with the JVM at a moment of it.

        Returns:
            Whether it was killed; it was not when the statement ended before that moment.
        """
        self._order({"schema": schema, "statements": [statement], "dies_at": asdict(at)})
        self._process.communicate()
        return self._process.returncode == -signal.SIGKILL

    def receive(self) -> Any:
        """Wait for the next line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the driver ended"
        return json.loads(line)

    def _order(self, order: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()


@contextmanager
def running_driver(folder: Path, confs: Mapping[str, str]) -> Iterator[Driver]:
    """Start a driver that is ready, and end it afterwards."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.lake.driver", str(folder), json.dumps(dict(confs))]
    with (folder / "driver.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        driver = Driver(process)
        assert driver.receive() == _READY
        yield driver
    finally:
        if process.poll() is None:
            process.communicate()  # closes its standard input and waits


def main(folder: Path, confs: Mapping[str, str]) -> None:
    """Do what the module says."""
    requested = {**CONFS, "spark.driver.memory": "1g", "spark.master": "local[2]", **confs}
    spark = classic_spark(requested, folder, folder / "spark.log")
    spark.sql("SHOW DATABASES").collect()
    _answer(_READY)
    for line in sys.stdin:
        order = json.loads(line)
        spark.sql(f"USE {order['schema']}")
        if "dies_at" in order:
            _die_in(spark, order["statements"][0], Boundary(**order["dies_at"]))
        else:
            tables = MaterializedTables(spark)
            _answer([outcome_of(tables, each) for each in order["statements"]])
    spark.stop()


def outcome_of(tables: MaterializedTables, statement: str) -> str:
    """Carry a statement out; return its error's condition or text, empty if there was none."""
    try:
        if tables.execute(statement) is None:
            tables.sql(statement)
    except MaterializedTableError as error:
        return error.condition
    except Exception as error:  # noqa: BLE001 - the test reads what it was
        return f"{statement}: {type(error).__name__}: {error}"
    return ""


def _die_in(spark: SparkSession, statement: str, at: Boundary) -> None:
    def reached(boundary: Boundary) -> None:
        if boundary == at:
            die()

    with watched(spark, reached) as tables:
        tables.execute(statement)
    os._exit(0)


def _answer(words: object) -> None:
    print(json.dumps(words), flush=True)  # noqa: T201 - read by `Driver`


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
