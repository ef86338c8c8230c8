"""A refresh manager in a process of its own, over an embedded metastore.

`python -m tests.functional.processes.serving <folder> <confs> <log level>` serves until its
standard input ends, and answers each line of it with the number of jobs that Spark runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.manager.serve import ServeOptions, Serving, serve
from tests.faults.server import CONFS, ROOT, environment
from tests.support import jvm_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_READY = "serving"
SHORT = {**CONFS, jvm_options.OPTIONS: jvm_options.SHORT}
SECRET = "n0t-f0r-0thers"  # noqa: S105 - made up
SECRETS = {
    "spark.hadoop.fs.s3a.secret.key": f"{SECRET} with = and \\ in it",
    jvm_options.OPTIONS: f"{jvm_options.SHORT} -Dstore.password='{SECRET} x'",
}


@dataclass(frozen=True)
class Manager:
    """A manager that serves, in the folder of a project.

    Args:
        process: Its Python process.
        jvm: The id of its JVM's process.
        connect_url: Of its Spark Connect server.
    """

    home: Path
    process: subprocess.Popen[str]
    jvm: int
    connect_url: str

    @property
    def file(self) -> Path:
        """Where others learn of it."""
        return discovery.place(self.home / "metastore_db")

    def running_jobs(self) -> int:
        """How many jobs Spark runs now."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("jobs\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def serving(
    home: Path, confs: Mapping[str, str] = CONFS, log_level: str = "warning"
) -> Iterator[Manager]:
    """Serve the warehouse in `home` while the block runs.

    The token is that of the variable SPARK_MT_TOKEN, or made up.
    """
    (home / "confs.json").write_text(json.dumps(dict(confs)), encoding="utf-8")
    words = [str(home), str(home / "confs.json"), log_level]
    command = [sys.executable, "-m", "tests.functional.processes.serving", *words]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[:1] == [_READY], (home / "server.log").read_text()[-2000:]
        yield Manager(home, process, int(words[1]), words[2])
    finally:
        process.communicate()  # closes its standard input and waits


def _serve(home: Path, confs: Path, log_level: str) -> None:
    """Look at the catalog when a statement changes it, and else hardly ever."""
    from pyspark import SparkContext

    def say_ready(serving: Serving) -> None:
        gateway = SparkContext._gateway
        assert gateway is not None
        print(_READY, gateway.proc.pid, serving.connect_url, flush=True)  # noqa: T201 - read by `serving`

    def answer() -> None:
        context = SparkContext._active_spark_context
        assert context is not None
        tracker = context.statusTracker()
        for _ in sys.stdin:
            print(len(tracker.getActiveJobsIds()), flush=True)  # noqa: T201 - read by `running_jobs`

    os.chdir(home)
    options = ServeOptions(
        home,
        home,
        json.loads(confs.read_text(encoding="utf-8")),
        port=0,
        token=os.environ.get("SPARK_MT_TOKEN", ""),
        log_level=log_level,
        tick_seconds=3600,
    )
    confs.unlink()
    serve(options, answer, say_ready)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
