"""Lease of a catalog: one active manager, and standby managers.

The lease prevents duplicate work; it does not protect data. A paused manager may assume for a
moment that it still has the lease. The fence of each table then rejects its commits.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from dbt.adapters.spark_mt.definition.job import SILENCE_MS, Lease

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.definition.job import Owner
    from dbt.adapters.spark_mt.execution.context import Processes


HEARTBEAT_MS = 20_000


CHECK_MS = 10_000
"""How long a lease that was read is used; a takeover may be noticed that much later."""


class LeaseLog(Protocol):
    """The leases of catalogs, which managers write."""

    def newest(self, catalog: str) -> Lease | None:
        """Return the newest state of the lease with the highest term."""

    def take(self, lease: Lease) -> bool:
        """Claim a term; if several managers claim the same term, one of them gets it."""

    def write(self, lease: Lease) -> None:
        """Write another row of a lease that is held or released."""

    def beat(self, lease: Lease) -> None:
        """Record a heartbeat of a lease that is still held; this is no commit."""


def holds(lease: Lease | None, processes: Processes, now_ms: int) -> bool:
    """Whether a lease that was not read before is held, by the clocks alone."""
    if lease is None or lease.is_released or processes.is_gone(lease.owner):
        return False
    return now_ms - lease.last_heartbeat_ms <= lease.silence_ms


@dataclass(frozen=True, slots=True)
class Claim:
    """A manager's claim of a catalog's lease.

    Args:
        owner: The manager's process.
        address: Returns the address of its REST interface, once that is known.
        settings: The settings in force in it.
        silence_ms: Time without a heartbeat after which others may take the lease.
        heartbeat_ms: Time between two heartbeats.
    """

    catalog: str
    owner: Owner
    address: Callable[[], str] = str
    settings: Pairs = ()
    silence_ms: int = SILENCE_MS
    heartbeat_ms: int = HEARTBEAT_MS


class Leadership:
    """Holds a catalog's lease, or waits for it.

    Args:
        log: The leases.
        processes: Identifies the processes of this machine that have ended.
        claim: The claim of this manager.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(
        self, log: LeaseLog, processes: Processes, claim: Claim, now_ms: Callable[[], int]
    ) -> None:
        self._log = log
        self._processes = processes
        self._claim = claim
        self._now_ms = now_ms
        self._held: Lease | None = None
        self._other: Lease | None = None
        self._other_since_ms = 0

    @property
    def lease(self) -> Lease | None:
        """The lease as last read: that of this manager, or that of another one."""
        return self._held or self._other

    @property
    def is_held(self) -> bool:
        """Whether this manager holds the lease, with a heartbeat that is not too old."""
        held = self._held
        return held is not None and self._now_ms() - held.last_heartbeat_ms < held.silence_ms

    def tick(self) -> bool:
        """Keep the lease, take it if no manager has it, or notice that it is lost.

        Returns:
            Whether this manager holds it.
        """
        held, now = self._held, self._now_ms()
        if held is None:
            self._try_to_take(now)
        elif now - held.last_heartbeat_ms >= self._claim.heartbeat_ms:
            self._keep(held, now)
        return self.is_held

    def release(self) -> None:
        """Release the lease, so that another manager can take it at once."""
        if self._held is not None:
            now = self._now_ms()
            self._log.write(replace(self._held, last_heartbeat_ms=now, is_released=True))
            self._held = None

    def _keep(self, held: Lease, now: int) -> None:
        newest = self._log.newest(self._claim.catalog)
        if newest is not None and newest.term > held.term:
            self._held = None
            self._observe(newest, now)
            return
        current = replace(held, last_heartbeat_ms=now)
        self._log.beat(current)
        self._held = current

    def _try_to_take(self, now: int) -> None:
        newest = self._log.newest(self._claim.catalog)
        if newest is not None:
            self._observe(newest, now)
            if not self._is_over(newest, now):
                return
        claim = self._claim
        lease = Lease(
            claim.catalog,
            (newest.term if newest else 0) + 1,
            claim.owner,
            now,
            claim.address(),
            claim.settings,
            claim.silence_ms,
        )
        if self._log.take(lease):
            self._held, self._other = lease, None

    def _observe(self, lease: Lease, now: int) -> None:
        """Store the lease, and since when, by this process's clock, it has been the same."""
        if lease != self._other:
            self._other, self._other_since_ms = lease, now

    def _is_over(self, lease: Lease, now: int) -> bool:
        return (
            lease.is_released
            or lease.owner == self._claim.owner
            or self._processes.is_gone(lease.owner)
            or now - self._other_since_ms >= lease.silence_ms
        )


class LeaseCache:
    """Leases as they were last read; the sessions of a process may share one."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[int, Lease | None]] = {}

    def exclude(self, catalog: str) -> None:
        """Record that no manager can keep a catalog fresh while this process runs."""
        self._read[catalog] = (sys.maxsize, None)

    def lease(self, catalog: str, now_ms: int, read: Callable[[str], Lease | None]) -> Lease | None:
        """Return the lease of a catalog; `read` it again after `CHECK_MS`."""
        read_ms, lease = self._read.get(catalog, (0, None))
        if now_ms - read_ms >= CHECK_MS:
            lease = read(catalog)
            self._read[catalog] = (now_ms, lease)
        return lease


class Managers:
    """Lookup of a catalog's manager, at most every ten seconds; arguments as for `Leadership`.

    Args:
        cache: What was read of leases; by default one of its own.
    """

    def __init__(
        self,
        leases: LeaseLog,
        processes: Processes,
        now_ms: Callable[[], int],
        cache: LeaseCache | None = None,
    ) -> None:
        self._leases = leases
        self._processes = processes
        self._now_ms = now_ms
        self._cache = LeaseCache() if cache is None else cache

    def live(self, catalog: str) -> Lease | None:
        """Return the lease of the manager that keeps a catalog fresh; None without one."""
        now = self._now_ms()
        lease = self._cache.lease(catalog, now, self._leases.newest)
        return lease if holds(lease, self._processes, now) else None
