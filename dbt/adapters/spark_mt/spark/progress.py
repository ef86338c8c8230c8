"""How far Spark has come with the stages that it runs now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.private_session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class StageProgress:
    """The tasks of the stages that run now, of all jobs of the driver.

    Args:
        ended: How many have ended.
        tasks: How many there are.
    """

    ended: int
    tasks: int


def stage_progress(spark: SparkSession) -> StageProgress | None:
    """Return how far the running stages are.

    Returns:
        None where no stage runs, and over Spark Connect, where only the driver knows.
    """
    if is_connect(spark):
        return None
    tracker = spark.sparkContext.statusTracker()
    found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    stages = [stage for stage in found if stage is not None]
    if not stages:
        return None
    ended = sum(stage.numCompletedTasks for stage in stages)
    return StageProgress(ended, sum(stage.numTasks for stage in stages))
