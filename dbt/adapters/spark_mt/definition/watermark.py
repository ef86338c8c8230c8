"""Watermarks of sources, and process functions: stateful processors of a query's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

    from dbt.adapters.spark_mt.definition.columns import TableName


@dataclass(frozen=True, slots=True)
class Watermark:
    """How late rows of a source may come.

    Args:
        source: The source, in one to three parts; None for whichever has the column.
        column: The column of the source that holds a row's time.
        delay: How much later than the latest time seen so far a row may come; more than nothing.
    """

    source: TableName | None
    column: str
    delay: timedelta

    @property
    def sql(self) -> str:
        """The clause after a relation in Spark: ``WATERMARK `ts` DELAY OF INTERVAL '10' SECOND``.

        Milliseconds are written as a fraction of a second.
        """
        seconds = self.delay.total_seconds()
        return f"WATERMARK {quote(self.column)} DELAY OF INTERVAL '{seconds:.3f}' SECOND"

    def is_of(self, source: TableName) -> bool:
        """Whether it is about a source, given by its full name; names are compared without case."""
        if self.source is None:
            return True
        wanted = tuple(part.lower() for part in self.source.parts)
        return tuple(part.lower() for part in source.parts)[-len(wanted) :] == wanted


@dataclass(frozen=True, slots=True)
class ProcessFunction:
    """What a registered function returns.

    Args:
        processor: Makes the `pyspark.sql.streaming.StatefulProcessor`; called for each stream.
        keys: The columns of the query by which state is kept.
        output: The columns of the rows that the processor yields, by name, with their SQL types.
    """

    processor: Callable[[], Any]
    keys: tuple[str, ...]
    output: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProcessCall:
    """A process function as a table uses it; equal calls can continue with each other's state.

    Args:
        name: The registered name.
        place: Where it is defined, `module:name`.
        keys: The columns of the query by which state is kept.
        output: Names and SQL types of its rows.
    """

    name: str
    place: str
    keys: tuple[str, ...]
    output: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """For people."""
        columns = ", ".join(f"{name} {type_}" for name, type_ in self.output)
        keys = ", ".join(self.keys)
        return f"the process function {self.name} ({self.place}) by {keys} for {columns}"
