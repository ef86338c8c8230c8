"""A process with a Spark and a Derby metastore of its own that dies, JVM and all, in a statement.

`python -m tests.faults.jvm <directory> <plan> <seed>` first settles what the process before
it left, then runs a plan's statement and kills itself at a moment that the seed chooses. With an
empty plan it only settles.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.launch.session import classic_spark
from tests.faults.boundaries import Boundary, watched
from tests.faults.plans import PLANS
from tests.faults.scene import Leads, Scene
from tests.faults.server import CONFS
from tests.faults.victims import dice

if TYPE_CHECKING:
    from random import Random

    from pyspark.sql import SparkSession

LEFT, KILLED = "left.pickle", "killed.txt"
_LATER_S = 0.4


@dataclass(frozen=True)
class Left:
    """What a process that was killed leaves to the next one.

    Args:
        plan: The plan whose statement it ran.
        schema: Where.
        done: When it was killed.
    """

    plan: str
    schema: str
    leads: Leads
    done: str


def settle(spark: SparkSession, directory: Path) -> None:
    """Assert what must hold after the kill before."""
    path = directory / LEFT
    if path.exists():
        left: Left = pickle.loads(path.read_bytes())  # noqa: S301 - we wrote it a minute ago
        scene = Scene(spark, directory / "spark-warehouse", PLANS[left.plan])
        spark.sql(f"USE {left.schema}")
        scene.settle(left.schema, left.leads, left.done)
        path.unlink()


def run_and_die(spark: SparkSession, directory: Path, plan: str, chance: Random) -> None:
    """Run a statement and be killed at a boundary of it, or some time after one."""
    scene = Scene(spark, directory / "spark-warehouse", PLANS[plan])
    moments: list[Boundary] = []

    def run(_: str) -> None:
        with watched(spark, moments.append) as tables:
            tables.execute(scene.case.statement)

    leads = scene.undisturbed(run)
    moment, later_s = chance.choice(moments), chance.choice([0, chance.uniform(0, _LATER_S)])
    schema = scene.set()
    done = f"{plan}: the JVM was killed {later_s:.3f} s {moment}"
    (directory / LEFT).write_bytes(pickle.dumps(Left(plan, schema, leads, done)))
    (directory / KILLED).write_text(str(moment))

    def reached(boundary: Boundary) -> None:
        if boundary == moment:
            Timer(later_s, die).start() if later_s else die()

    with watched(spark, reached) as tables:
        tables.execute(scene.case.statement)
    die()


def die() -> None:
    """Kill the JVM and this process."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    assert gateway is not None
    os.kill(gateway.proc.pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def main(directory: Path, plan: str, seed: str) -> None:
    """Do what the module says."""
    requested = {**CONFS, "spark.master": "local[2]"}
    spark = classic_spark(requested, directory, directory / "spark.log")
    settle(spark, directory)
    if plan:
        run_and_die(spark, directory, plan, dice(seed))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
