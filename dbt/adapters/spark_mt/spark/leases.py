"""Leases of managers as rows of the system table, taken by fenced commits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.definition.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Row

    from dbt.adapters.spark_mt.spark.system_table import SystemTable, Value

FENCE = "materialized-table-manager"
_RELEASED = "RELEASED"
_NEWEST = (
    "SELECT newest.* FROM (SELECT max_by(struct(*), struct(seq, recorded_at_ms, status)) AS newest "
    "FROM {table} WHERE kind = 'MANAGER') WHERE newest IS NOT NULL"
)
"""Of two words of the same millisecond, RELEASED comes behind HELD."""


class SparkLeaseLog:
    """Where managers tell that they hold a catalog.

    A word that nobody wrote anything behind is remembered: whoever renews a lease in a catalog that
    rests runs no query for it.

    Args:
        table: Of the rows.
        version_of: Returns the newest version of that table in a catalog, cheaply.
    """

    def __init__(self, table: SystemTable, version_of: Callable[[str], int]) -> None:
        self._table = table
        self._version_of = version_of
        self._seen: dict[str, tuple[int, Lease | None]] = {}
        self.words = 0

    def newest(self, catalog: str) -> Lease | None:
        """Return the newest word of the lease with the highest term."""
        version = self._version_of(catalog)
        seen, lease = self._seen.get(catalog, (-2, None))
        if version != seen:
            rows = self._table.rows(catalog, _NEWEST)
            lease = _lease(rows[0], catalog) if rows else None
            self._seen[catalog] = (version, lease)
        return lease

    def take(self, lease: Lease) -> bool:
        """Claim a term; Delta skips the commit of whoever comes second."""
        return self._table.append_once(lease.catalog, _row(lease), FENCE, lease.term)

    def tell(self, lease: Lease) -> None:
        """Write another word about a lease."""
        self._table.append(lease.catalog, [_row(lease)], lease.heard_at_ms)
        self.words += 1
        seen, _ = self._seen.get(lease.catalog, (-2, None))
        version = self._version_of(lease.catalog)
        if version == seen + 1:  # nothing but this word
            self._seen[lease.catalog] = (version, lease)


def _row(lease: Lease) -> dict[str, Value]:
    facts = {
        "address": lease.address,
        "settings": dict(lease.settings),
        "silence_ms": lease.silence_ms,
    }
    return {
        "kind": "MANAGER",
        "status": _RELEASED if lease.is_released else "HELD",
        "recorded_at_ms": lease.heard_at_ms,
        "seq": lease.term,
        "owner_host": lease.owner.host,
        "owner_pid": lease.owner.pid,
        "owner_process": lease.owner.process,
        "owner_user": lease.owner.user,
        "facts": json.dumps(facts),
    }


def _lease(row: Row, catalog: str) -> Lease:
    facts = json.loads(row["facts"])
    return Lease(
        catalog=catalog,
        term=row["seq"],
        owner=Owner(row["owner_host"], row["owner_pid"], row["owner_process"], row["owner_user"]),
        heard_at_ms=row["recorded_at_ms"],
        address=facts["address"],
        settings=tuple(sorted(facts["settings"].items())),
        silence_ms=facts["silence_ms"],
        is_released=row["status"] == _RELEASED,
    )
