"""Where the checkpoints of streams live, and what stands in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.commit_facts import StreamFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.resolution.settings import Settings
    from dbt.adapters.spark_mt.spark.driver_files import DriverFiles

_DIRECTORY = ".materialized-table-checkpoints"
PASSING = "stream-"
"""How the names of checkpoints begin in which no later stream goes on."""
_ABANDONED_MS = 7 * 24 * 3600 * 1000
_HEADER_LINES = 2
"""In front of an entry's offsets: the version of its format, and the batch's own metadata."""
_NOTHING = "-"
"""Stands for a source that has no offset yet."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint of one stream.

    Args:
        path: Its directory.
        name: How commits call it.
        is_kept: Whether a later stream goes on in it.
    """

    path: str
    name: str
    is_kept: bool

    def facts(self, batch: int) -> StreamFacts:
        """Return how a commit calls a batch."""
        return StreamFacts(self.name, batch)


class Checkpoints:
    """Finds and removes checkpoints: `<root>/<table id>/<name>`.

    Args:
        spark: A classic session.
        files: Its file systems.
        settings: Reads the settings in force.
    """

    def __init__(
        self, spark: SparkSession, files: DriverFiles, settings: Callable[[], Settings]
    ) -> None:
        self._spark = spark
        self._files = files
        self._settings = settings

    def of(self, table_id: str, name: str, *, is_kept: bool) -> Checkpoint:
        """Return a table's checkpoint, whether it is there or not."""
        return Checkpoint(f"{self._of_table(table_id)}/{name}", name, is_kept)

    def can_resume(self, table_id: str, stream: StreamFacts) -> bool:
        """Whether a checkpoint has a batch, and no later one that is complete."""
        path = self.of(table_id, stream.checkpoint, is_kept=True).path
        if stream.batch < 0:
            return not _numbers(self._files.names(f"{path}/commits"))
        complete = _numbers(self._files.names(f"{path}/commits"))
        begun = _numbers(self._files.names(f"{path}/offsets"))
        return stream.batch in begun and max(complete, default=-1) <= stream.batch

    def offsets(self, checkpoint: Checkpoint, batch: int) -> list[Any]:
        """Return the offsets behind a batch, in the order of the plan's sources; None for none."""
        text = self._files.read(f"{checkpoint.path}/offsets/{batch}")
        lines = text.splitlines()[_HEADER_LINES:]
        return [None if line == _NOTHING else json.loads(line) for line in lines]

    def remove(self, checkpoint: Checkpoint) -> None:
        """Remove one."""
        self._files.delete(checkpoint.path)

    def remove_others(self, table_id: str, name: str = "") -> None:
        """Remove all checkpoints of a table but one, or all."""
        directory = self._of_table(table_id)
        others = [other for other in self._files.names(directory) if other != name]
        for other in others:
            self._files.delete(f"{directory}/{other}")
        if not name and others:
            self._files.delete(directory)

    def remove_abandoned(self, table_id: str, now_ms: int) -> None:
        """Remove what streams without state left behind whose process was killed.

        A stream that goes on notes every batch; one that notes none for a week begins anew if its
        checkpoint goes, and loses nothing by it.

        Args:
            table_id: The table.
            now_ms: The current instant, milliseconds since the epoch, UTC.
        """
        directory = self._of_table(table_id)
        for name in self._files.names(directory):
            path = f"{directory}/{name}"
            if name.startswith(PASSING) and now_ms - self._noted_ms(path) > _ABANDONED_MS:
                self._files.delete(path)

    def _noted_ms(self, path: str) -> int:
        found = (self._files.modified_ms(each) for each in (f"{path}/offsets", path))
        return max((at for at in found if at is not None), default=0)

    def _of_table(self, table_id: str) -> str:
        asked = self._settings().checkpoint_location
        warehouse = self._spark.conf.get("spark.sql.warehouse.dir") or "spark-warehouse"
        return f"{(asked or f'{warehouse}/{_DIRECTORY}').rstrip('/')}/{table_id}"


def _numbers(names: list[str]) -> set[int]:
    return {int(name) for name in names if name.isdigit()}
