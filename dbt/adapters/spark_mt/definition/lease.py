"""Who keeps the tables of a catalog fresh, as the registry knows it (design section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.job import Owner

SILENCE_MS = 60_000
"""After how long without a heartbeat a manager counts as gone, unless it says otherwise."""


@dataclass(frozen=True, slots=True)
class Lease:
    """One manager's claim to a catalog; of all claims, the one with the highest term holds.

    Args:
        catalog: Whose tables.
        term: Grows by one with every takeover.
        owner: The manager's process.
        heard_at_ms: When it said so last, on its own clock: milliseconds since the epoch, UTC.
        address: Of its REST interface; empty without one.
        settings: The settings under `spark.materialized-table.` that are in force in it, which
            hold for the tables that it hosts (semantics 3).
        silence_ms: After how long without a word it may be taken for gone.
        is_released: Whether it has given the lease up in good order.
    """

    catalog: str
    term: int
    owner: Owner
    heard_at_ms: int
    address: str = ""
    settings: Pairs = ()
    silence_ms: int = SILENCE_MS
    is_released: bool = False
