"""What the statement just before found out, for the statement right after it.

dbt sends CREATE OR ALTER and then REFRESH for each model. The second needs the same look at the
table and the same analysis of its query, which are most of what an unchanged model costs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery

MAX_AGE_S = 2.0


@dataclass(slots=True)
class Recent:
    """Keeps one finding, gives it out once, and only within two seconds.

    An answer from it is the answer of a moment ago: positions of sources are read anew in any case,
    and a commit is fenced.

    Args:
        now: Seconds on a clock that never goes back.
    """

    now: Callable[[], float] = time.monotonic
    _kept: tuple[float, StoredTable, AnalyzedQuery] | None = field(default=None, init=False)

    def keep(self, table: StoredTable, analyzed: AnalyzedQuery) -> None:
        """Remember a table whose definition is the one that was asked for."""
        self._kept = (self.now(), table, analyzed)

    def take(self, name: TableName) -> tuple[StoredTable, AnalyzedQuery] | None:
        """Return what the statement before found of `name`, if that is all it was about."""
        kept, self._kept = self._kept, None
        if kept is None or kept[1].name != name or self.now() - kept[0] > MAX_AGE_S:
            return None
        return kept[1], kept[2]

    def forget(self) -> None:
        """Another statement comes in between, and may change what was found."""
        self._kept = None
