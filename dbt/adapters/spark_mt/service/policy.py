"""How a manager spends its time and its threads."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.spark_mt.definition.lease import SILENCE_MS
from dbt.adapters.spark_mt.execution.host_progress import HostPolicy


@dataclass(frozen=True, slots=True)
class ManagerPolicy:
    """All times in milliseconds.

    Args:
        tick: From one look at the registry to the next.
        sweep: In which time every definition is compared with its row in the registry.
        takeover: After how long without a word another manager may take over.
        runs: How many refreshes of FULL tables, and such that were asked for, run at a time.
        patience: How long a run waits at most for upstream tables that are due at the same time.
        give_up_after: After how many failures of the same cause a table is suspended; 0 for never.
        look: How often a host looks at its table's log by itself; the registry tells of changes
            long before.
        compact_after: After how many batches an idle table's small files are merged; 0 for never.
    """

    tick: int = 5_000
    sweep: int = 3_600_000
    takeover: int = SILENCE_MS
    runs: int = 4
    patience: int = 300_000
    give_up_after: int = 20
    look: int = 30_000
    compact_after: int = 200

    @property
    def hosts(self) -> HostPolicy:
        """How hosted tables are treated."""
        return HostPolicy(look=self.look, spread=0.3, give_up_after=self.give_up_after)

    @property
    def scheduled(self) -> HostPolicy:
        """How failed runs are tried again: the first after five seconds."""
        return HostPolicy(
            first_pause=5_000,
            longest_pause=300_000,
            spread=0.3,
            give_up_after=self.give_up_after,
        )
