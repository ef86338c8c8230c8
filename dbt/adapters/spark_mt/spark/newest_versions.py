"""Newest versions of tables that are looked at again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.table_details import NoTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.table_details import TableDetails


class NewestVersions:
    """Remembers where tables live and how far they were, so that a look without news is cheap.

    Args:
        details: What the catalog says about tables; nobody else's, as it is forgotten only where a
            table is no longer where it was.
        log: Reads Delta logs.
    """

    def __init__(self, details: TableDetails, log: DeltaLog) -> None:
        self._details = details
        self._log = log
        self._known: dict[TableName, int] = {}

    def __call__(self, name: TableName) -> int:
        """Return the newest version of a table; -1 where there is none."""
        if name in self._known:
            newest = self._look(name)
            if newest >= 0:
                return newest
        self._details.forget()
        return self._look(name)

    def may_mention(self, name: TableName, word: str, versions: Iterable[int]) -> bool:
        """Whether one of these commits may have a word; True where it costs a job to tell."""
        detail = self._details.of(name)
        return isinstance(detail, NoTable) or any(
            self._log.may_mention(detail.location, version, word) for version in versions
        )

    def _look(self, name: TableName) -> int:
        detail = self._details.of(name)
        known = self._known.pop(name, -1)
        if isinstance(detail, NoTable):
            return -1
        newest = self._log.newest(detail.location, known)
        if newest >= 0:
            self._known[name] = newest
        return newest
