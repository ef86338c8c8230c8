"""A stateful processor that makes the rows of a table out of those of its query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
    """A process function as a table uses it; equal calls can go on with each other's state.

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
