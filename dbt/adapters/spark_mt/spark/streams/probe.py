"""Where a log begins and ends, told by a stream that reads nothing of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"
_REMOVED = "spark.sql.streaming.forceDeleteTempCheckpointLocation"


_PATIENCE_S = 60


class NoAnswerError(Exception):
    """A log could be asked, and said nothing for a minute."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Two offsets, each as JSON in the words of the source.

    Args:
        start: Where the stream would begin.
        end: Where the log ended at that moment.
    """

    start: str
    end: str


def ends_of(private: SparkSession, frame: DataFrame) -> Ends:
    """Start a stream that may take no rows, and return what its progress says of its only source.

    The first batch of such a stream ends where it starts. 0.3 s, and no checkpoint is left.

    Args:
        private: The session of `frame`, whose confs for checkpoints are changed.
        frame: A stream of one source whose reader is limited to nothing per batch.

    Raises:
        pyspark.errors.StreamingQueryException: The source cannot be reached.
        NoAnswerError: It did not answer in time.
    """
    private.conf.unset(_CHECKPOINTS)  # a directory of Spark's own is used, and removed
    private.conf.set(_REMOVED, "true")
    query = frame.writeStream.format("noop").trigger(availableNow=True).start()
    if not query.awaitTermination(_PATIENCE_S):
        query.stop()
        raise NoAnswerError
    progress = query.lastProgress
    if progress is None:
        return Ends("null", "null")
    source = progress["sources"][0]
    return Ends(source["endOffset"], source["latestOffset"])
