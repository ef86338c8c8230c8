"""A second Spark driver, which adds rows to a Delta table on S3 without anything of this project.

`python -m tests.lake.second_driver <confs as JSON> <table>` reads the table, prints `ready`, waits
for a line, adds a row, and prints `done`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.faults.server import CONFS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class SecondDriver:
    """A driver in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def expect(self, word: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == word

    def begins(self) -> None:
        """Let it add its row."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()


@contextmanager
def second_driver(confs: Mapping[str, str], table: str) -> Iterator[SecondDriver]:
    """Start a driver that is ready to write, and end it afterwards."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "tests.lake.second_driver", json.dumps(dict(confs)), table],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        driver = SecondDriver(process)
        driver.expect("ready")
        yield driver
    finally:
        process.communicate()  # closes its standard input and waits


def main(confs: Mapping[str, str], table: str) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    for key, value in {**CONFS, **confs}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sql(f"SELECT * FROM {table}").collect()
    print("ready", flush=True)  # noqa: T201 - read by `SecondDriver`
    if sys.stdin.readline():
        session.sql(f"INSERT INTO {table} VALUES (2)")
        print("done", flush=True)  # noqa: T201 - as above
    session.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
