"""The commit of one batch of a stream, which no plan holds: the stream itself makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.commit_facts import StreamFacts
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """Add the rows that a batch of a stream gives.

    Args:
        run: The refresh; its positions are those behind the batch.
        stream: Which batch it is.
        foreign: Changes by others that stay, as (version, operation).
    """

    definition: StoredDefinition
    seq: int
    run: RefreshRun
    stream: StreamFacts
    foreign: tuple[tuple[int, str], ...] = ()
