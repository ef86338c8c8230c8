"""A stateful processor that numbers the rows of each key, and remembers their number."""

from __future__ import annotations

from pyspark.sql import Row  # noqa: TID253 - loaded only where Spark is
from pyspark.sql.streaming import StatefulProcessor  # noqa: TID253 - as above

from dbt.adapters.spark_mt.definition.watermark import ProcessFunction


class Numbering(StatefulProcessor):
    """Yields every row with its number among those of its key."""

    def init(self, handle):
        self._state = handle.getValueState("count", "n BIGINT")

    def handleInputRows(self, key, rows, timerValues):  # noqa: N802, N803, ARG002 - Spark
        count = self._state.get()[0] if self._state.exists() else 0
        for row in rows:
            count += 1
            yield Row(k=key[0], v=row["v"], n=count)
        self._state.update((count,))

    def close(self):
        """Nothing is open."""


def numbers():
    return ProcessFunction(Numbering, ("k",), {"k": "INT", "v": "INT", "n": "BIGINT"})


def others():
    return ProcessFunction(Numbering, ("k",), {"k": "INT", "v": "INT", "n": "BIGINT"})
