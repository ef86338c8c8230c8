"""Leases of managers as rows of the system table, taken by fenced commits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.definition.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Row

    from dbt.adapters.spark_mt.spark.system_table import SystemTable, Value

FENCE = "materialized-table-manager"
_RELEASED = "RELEASED"
_MOST_COMMITS = 200
"""Each costs a look into a small file; more of them than this cost more than a query."""
_NEWEST = (
    "SELECT newest.* FROM (SELECT max_by(struct(*), struct(seq, recorded_at_ms, status)) AS newest "
    "FROM {table} WHERE kind = 'MANAGER') WHERE newest IS NOT NULL"
)
"""Of two words of the same millisecond, RELEASED comes behind HELD."""


class RegistryCommits(Protocol):
    """What is known of the registry's commits without a query."""

    def version(self, catalog: str) -> int:
        """Return the newest version; -1 without a registry."""
        ...

    def may_mention(self, catalog: str, word: str, versions: Iterable[int]) -> bool:
        """Whether one of these commits may have a word in its file."""
        ...


class SparkLeaseLog:
    """Where managers tell that they hold a catalog.

    Every commit of such a word has the fence's name in its file, so the newest one that was read is
    believed without a query for as long as the commits behind it have not.

    Args:
        table: Of the rows.
        commits: Tells about that table's commits, cheaply.
    """

    def __init__(self, table: SystemTable, commits: RegistryCommits) -> None:
        self._table = table
        self._commits = commits
        self._seen: dict[str, tuple[int, Lease | None]] = {}
        self.words = 0

    def newest(self, catalog: str) -> Lease | None:
        """Return the newest word of the lease with the highest term."""
        version = self._commits.version(catalog)
        seen, lease = self._seen.get(catalog, (-2, None))
        if version != seen:
            if self._may_be_news(catalog, seen, version):
                rows = self._table.rows(catalog, _NEWEST)
                lease = _lease(rows[0], catalog) if rows else None
            self._seen[catalog] = (version, lease)
        return lease

    def _may_be_news(self, catalog: str, seen: int, version: int) -> bool:
        if not 0 <= seen < version <= seen + _MOST_COMMITS:
            return True
        return self._commits.may_mention(catalog, FENCE, range(seen + 1, version + 1))

    def take(self, lease: Lease) -> bool:
        """Claim a term; Delta skips the commit of whoever comes second."""
        return self._table.append_once(lease.catalog, _row(lease), FENCE, lease.term)

    def tell(self, lease: Lease) -> None:
        """Write another word about a lease."""
        self._table.append(lease.catalog, [_row(lease)], lease.heard_at_ms, FENCE)
        self.words += 1
        seen, _ = self._seen.get(lease.catalog, (-2, None))
        version = self._commits.version(lease.catalog)
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
