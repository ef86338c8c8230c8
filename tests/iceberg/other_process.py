"""A process with a Spark of its own on the catalog of a test, and what the test sends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.functional.engine.conftest import started


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

    def begin(self, statement):
        """Send a statement."""
        self._process.stdin.write(json.dumps(statement) + "\n")
        self._process.stdin.flush()

    def answer(self):
        """Wait for the newest statement; return its error, or nothing."""
        return json.loads(self._process.stdout.readline())

    def end(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _answer(spark, statement):
    try:
        spark.sql(statement)
    except Exception as error:  # noqa: BLE001 - the test reads it
        return {"error": str(error)}
    return {}


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
