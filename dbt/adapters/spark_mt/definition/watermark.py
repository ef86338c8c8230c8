"""Watermarks of sources, and process functions: stateful processors of a query's rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import TableName, quote
from dbt.adapters.spark_mt.definition.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta


_PART = r"(?:`(?:[^`]|``)+`|\w+)"
_MARK = re.compile(
    rf"(?:(?P<source>{_PART}(?:\s*\.\s*{_PART}){{0,2}})\s*:\s*)?"
    rf"(?:WATERMARK\s+)?(?P<column>{_PART})\s+DELAY\s+OF\s+(?P<delay>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(_PART)
_SEPARATOR = re.compile(r";(?=(?:[^`]*`[^`]*`)*[^`]*$)")


class InvalidWatermarkError(InvalidValueError):
    """A text is no watermark."""

    condition = "MATERIALIZED_TABLE_INVALID_WATERMARK"
    text = "'{value}' is not a watermark."
    remedy = (
        "Write it as ts DELAY OF INTERVAL '10' SECOND, with the source before it where several "
        "have such a column: s.orders: ts DELAY OF INTERVAL '10' SECOND; several are separated by "
        "a semicolon."
    )


@dataclass(frozen=True, slots=True)
class WatermarkText:
    """A watermark as written.

    Args:
        source: The source, in one to three parts; None for whichever has the column.
        column: The column of the source that holds a row's time.
        delay: How late a row may come, as written.
    """

    source: TableName | None
    column: str
    delay: str


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


def split_watermarks(text: str) -> tuple[WatermarkText, ...]:
    """Take `s.orders: ts DELAY OF INTERVAL '10' SECOND; …` into its parts.

    Raises:
        InvalidWatermarkError: A part of it has another form.
    """
    return tuple(_read(part.strip()) for part in _SEPARATOR.split(text.strip().removesuffix(";")))


def _read(text: str) -> WatermarkText:
    match = _MARK.fullmatch(text)
    if match is None:
        raise InvalidWatermarkError(value=text)
    source = TableName.of(*_names(match["source"])) if match["source"] else None
    return WatermarkText(source, _names(match["column"])[0], match["delay"].strip())


def _names(text: str) -> list[str]:
    return [
        name[1:-1].replace("``", "`") if name.startswith("`") else name
        for name in _NAME.findall(text)
    ]


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
