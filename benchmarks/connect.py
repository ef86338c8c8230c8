"""`dbt run` in the Spark of a manager, against `dbt run` that starts its own.

`python -m benchmarks.connect <folder>` serves the project in a folder until its input ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import yaml

from benchmarks.report import Measurement, progress
from dbt.adapters.spark_mt.manager import serve as manager
from dbt.adapters.spark_mt.manager.serve import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXAMPLE = Path(__file__).parents[1] / "examples" / "flights"
NOT_COPIED = ("__pycache__", "target", "logs", "spark-warehouse", "metastore_db")
BATCH_ONLY = ("--exclude", "live_departures")
"""A stream that keeps state runs in its driver only."""
READY = "serving"
_MOST_MORE_S = 2.0
WARM_UPS = 8


def measure(folder: Path, samples: int) -> list[Measurement]:
    """Run the demo project again, unchanged, in turn in a Spark of its own and in a served one.

    Each dbt is a process of its own, as in a shell. Some runs before the first sample warm the
    served Spark up: half of what its JVM does in them is compiling.
    """
    alone, served = prepare(folder / "alone"), prepare(folder / "served")
    with serving(served):
        for _ in range(WARM_UPS):
            dbt_seconds(served, "run", *BATCH_ONLY)
        rounds = [_round(alone, served, number) for number in range(samples)]
    own, ours, parse = zip(*rounds, strict=True)
    least = median(parse)
    return [
        Measurement("second dbt run, served", ours, own, most_ratio=1 / 2),
        Measurement(
            f"the same without dbt parse ({least:.1f} s)",
            tuple(seconds - least for seconds in ours),
            tuple(seconds - least for seconds in own),
            most_ratio=1 / 5,
        ),
        Measurement(
            "… beyond dbt parse",
            tuple(mine - bare for _, mine, bare in rounds),
            most_seconds=_MOST_MORE_S,
        ),
    ]


def prepare(project: Path) -> Path:
    """Copy the demo project, let a month of flights arrive, and build its tables."""
    progress(f"building the demo project in {project.name} …")
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns(*NOT_COPIED))
    _seconds(project, sys.executable, "land.py", "1")
    dbt_seconds(project, "run", *BATCH_ONLY)
    return project


def environment() -> dict[str, str]:
    """Return an environment in which a process of another folder finds these modules."""
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def confs_of(project: Path) -> dict[str, str]:
    """Return the confs of Spark in the profile of a demo project."""
    profile = yaml.safe_load((project / "profiles.yml").read_text(encoding="utf-8"))
    confs: dict[str, str] = profile["flights"]["outputs"]["dev"]["server_side_parameters"]
    return confs


@contextmanager
def serving(project: Path) -> Iterator[None]:
    """Let a manager in another process serve a project while the block runs."""
    command = [sys.executable, "-m", "benchmarks.connect", str(project)]
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as server:
        if server.stdout is None or server.stdout.readline().strip() != READY:
            raise ServerFailedError(project / "spark-manager.log")
        yield
        server.communicate()  # closes its input and waits


def _round(alone: Path, served: Path, number: int) -> tuple[float, float, float]:
    own, ours = dbt_seconds(alone, "run", *BATCH_ONLY), dbt_seconds(served, "run", *BATCH_ONLY)
    seconds = own, ours, dbt_seconds(served, "parse")
    progress(f"round {number}: " + " ".join(f"{each:.2f}" for each in seconds))
    return seconds


def dbt_seconds(project: Path, *arguments: str, more: Mapping[str, str] | None = None) -> float:
    """Run dbt in a process of its own and return its seconds; `more` are variables for it."""
    dbt = Path(sys.executable).with_name("dbt")
    return _seconds(project, str(dbt), "--quiet", *arguments, more=more)


def _seconds(project: Path, *command: str, more: Mapping[str, str] | None = None) -> float:
    variables = {**os.environ, **(more or {})}
    start = time.perf_counter()
    subprocess.run(command, cwd=project, check=True, stdin=subprocess.DEVNULL, env=variables)  # noqa: S603 - our own commands
    return time.perf_counter() - start


class ServerFailedError(RuntimeError):
    """The served Spark did not start."""

    def __init__(self, log: Path) -> None:
        super().__init__(f"Spark did not start, see {log}")


def serve(project: Path) -> None:
    """Run a manager over a project's warehouse, until the standard input ends."""
    os.chdir(project)
    options = ServeOptions(project, project, confs_of(project), port=0, log_level="warning")
    manager.serve(options, until=_await_end, ready=lambda _: print(READY, flush=True))  # noqa: T201 - read by `serving`


def _await_end() -> None:
    sys.stdin.read()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
