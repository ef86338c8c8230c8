"""Remembers for seconds what the catalog says of a table, so that open pages cost little."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import TableName

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.service.port import ManagerService
    from dbt.adapters.spark_mt.service.views import TableDetails, TableView

FRESH_MS = 10_000
"""Younger than this, it is shown whatever happened since."""
OLDEST_MS = 60_000
"""Older than this, it is read again even if nothing is known to have happened."""
MOST = 64


@dataclass(frozen=True, slots=True)
class _Kept:
    details: TableDetails
    seen: TableView
    read_at_ms: int


class DetailsReader:
    """Reads the details of tables for pages that ask every few seconds.

    Args:
        service: Whose catalog is read.
        now: The clock, milliseconds.
    """

    def __init__(self, service: ManagerService, now: Callable[[], int]) -> None:
        self._service = service
        self._now = now
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def read(self, view: TableView) -> TableDetails:
        """Return the details of a table, at most a minute old.

        Args:
            view: What the list shows of it now.

        Raises:
            MaterializedTableError: The catalog cannot tell them.
        """
        with self._lock:
            kept = self._kept.get(view.name)
        if kept is not None and self._serves(kept, view):
            return kept.details
        read_at_ms = self._now()
        details = self._service.table(quoted(view.name))
        with self._lock:
            self._kept[view.name] = _Kept(details, view, read_at_ms)
            self._kept.move_to_end(view.name)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return details

    def forget(self, name: str) -> None:
        """Read a table anew at the next occasion: something was done to it."""
        with self._lock:
            self._kept.pop(name, None)

    def _serves(self, kept: _Kept, view: TableView) -> bool:
        age = self._now() - kept.read_at_ms
        return age < FRESH_MS or (age < OLDEST_MS and _same(kept.seen, view))


def _same(one: TableView, other: TableView) -> bool:
    parts = ("status", "status_reason", "last_refresh_at_ms", "failures", "problem", "recent")
    return all(getattr(one, part) == getattr(other, part) for part in parts)


def quoted(name: str) -> str:
    """Write a full name as statements and services want it, every part in backticks."""
    return TableName.of(*name.split(".", 2)).sql
