"""The values of a model's config, as clauses of a statement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.definition import AskedDefinition
from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.definition.freshness import Freshness, InvalidFreshnessError
from dbt.adapters.spark_mt.definition.identifier import quote, quote_text
from dbt.adapters.spark_mt.definition.wait import Wait
from dbt.adapters.spark_mt.resolution.durations import parse_duration
from dbt.adapters.spark_mt.resolution.suggestions import did_you_mean
from dbt.adapters.spark_mt.resolution.watermarks import parse_watermarks
from dbt.adapters.spark_mt.resolution.zones import parse_timestamp
from dbt.adapters.spark_mt.statements.errors import StatementSyntaxError
from dbt.adapters.spark_mt.statements.nodes import CreateTable
from dbt.adapters.spark_mt.statements.routing import parse_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from dbt.adapters.spark_mt.definition.definition import Pairs

_QUERY = "SELECT 1"
_PERIODS = {"count", "period"}
_MARK = {"column", "delay", "source"}
_NO_ZONE = timezone(timedelta(0), "the session's")


def read_freshness(value: Any) -> str:  # noqa: ANN401 - whatever the YAML holds
    """Read a text, `{count, period}` or `{build_after: {count, period}}` into an interval.

    Raises:
        InvalidFreshnessError: It is none of these.
    """
    if isinstance(value, dict) and set(value) >= {"build_after"}:
        value = value["build_after"]
    if isinstance(value, dict) and _PERIODS <= set(value) <= _PERIODS | {"updates_on"}:
        return Freshness.of(str(value["count"]), str(value["period"])).sql
    if not isinstance(value, str):
        raise InvalidFreshnessError(value=value)
    return Freshness.parse(value).sql


def read_word(known: Collection[str]) -> Callable[[Any], str]:
    """A reader of one of `known`, in any case."""

    def read(value: Any) -> str:  # noqa: ANN401
        word = str(getattr(value, "value", value)).lower()
        if word not in known:
            listed = ", ".join(sorted(known))
            hint = did_you_mean(word, known)
            raise InvalidValueError(detail=f"is one of {listed}, but was: {value!r}.{hint}")
        return word

    return read


def read_names(value: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Read a column's name or a list of them.

    Raises:
        InvalidValueError: It is neither.
    """
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(n, str) and n for n in names):
        raise InvalidValueError(
            detail=f"is a column's name or a list of names, but was: {value!r}."
        )
    return tuple(names)


def read_options(value: Any) -> Pairs:  # noqa: ANN401
    """Read a mapping of option keys to plain values.

    Raises:
        InvalidValueError: It is none, or a value is a list or a mapping.
    """
    plain = isinstance(value, dict) and not any(
        isinstance(v, dict | list) or v is None for v in value.values()
    )
    if not plain:
        raise InvalidValueError(detail=f"is a mapping of keys to texts, but was: {value!r}.")
    return tuple((str(key), _option_text(each)) for key, each in value.items())


def read_watermark(value: Any) -> str:  # noqa: ANN401
    """Read a text, `{column, delay}` with or without `source`, or a list of these, as an option.

    Raises:
        InvalidValueError: It is none of these.
    """
    marks = value if isinstance(value, list | tuple) else [value]
    text = "; ".join(_mark(each) for each in marks)
    parse_watermarks(text)
    return text


def _mark(value: object) -> str:
    if isinstance(value, str):
        return value.strip().removesuffix(";")
    if not isinstance(value, dict) or not {"column", "delay"} <= set(value) <= _MARK:
        detail = f"is a text or {{column: ts, delay: 10 seconds}}, but was: {value!r}."
        raise InvalidValueError(detail=detail)
    source = f"{value['source']}: " if value.get("source") else ""
    return f"{source}{_identifier(str(value['column']))} DELAY OF {value['delay']}"


def _identifier(column: str) -> str:
    return column if column.isidentifier() else quote(column)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a run waits for where a manager keeps the table.

    Args:
        until: For what.
        at_most_s: For how many seconds at most.
    """

    until: Wait = Wait.NONE
    at_most_s: float = 300.0


NOT_AT_ALL = Waiting()


def read_wait(value: Any) -> Waiting:  # noqa: ANN401
    """Read `none`, `started`, `fresh`, or `{until: fresh, at_most: 10 minutes}`.

    Raises:
        InvalidValueError: It is none of these.
    """
    word = read_word([each.value for each in Wait])
    if value is False:
        return NOT_AT_ALL
    if not isinstance(value, dict):
        return Waiting(Wait(word(value)))
    if not {"until"} <= set(value) <= {"until", "at_most"}:
        detail = f"is a word or {{until: fresh, at_most: 10 minutes}}, but was: {value!r}."
        raise InvalidValueError(detail=detail)
    bound = parse_duration(str(value["at_most"])) if "at_most" in value else None
    if bound is not None and bound <= timedelta():
        raise InvalidValueError(detail=f"at_most is a positive duration, but was: {value!r}.")
    seconds = NOT_AT_ALL.at_most_s if bound is None else bound.total_seconds()
    return Waiting(Wait(word(value["until"])), seconds)


@dataclass(frozen=True, slots=True)
class Adopt:
    """Whether a plain table that has the model's name is taken over.

    Args:
        as_of: The instant whose state of the sources its rows reflect, without a zone in the
            session's; None for now.
    """

    wanted: bool = False
    as_of: datetime | None = None


STAYS = Adopt()
"""What has the model's name stays what it is, or is replaced."""


def read_adopt(value: Any) -> Adopt:  # noqa: ANN401
    """Read true, false or `{as_of: <timestamp>}`.

    Raises:
        InvalidValueError: It is none of these.
    """
    if isinstance(value, bool):
        return Adopt(value)
    if not isinstance(value, dict) or set(value) != {"as_of"}:
        raise InvalidValueError(
            detail=f"is true, false or {{as_of: <timestamp>}}, but was: {value!r}."
        )
    return Adopt(wanted=True, as_of=_instant(value["as_of"]))


def _instant(value: object) -> datetime:
    """A timestamp as YAML or a text holds it; naive where it names no zone."""
    if isinstance(value, datetime):
        return value
    instant = parse_timestamp(str(value), _NO_ZONE)
    return instant.replace(tzinfo=None) if instant.tzinfo is _NO_ZONE else instant


def read_clause(clause: str) -> Callable[[Any], str]:
    """A reader of START_MODE or STATE_RETENTION, which asks the statement's own parser."""

    def read(value: Any) -> str:  # noqa: ANN401
        text = _of_mapping(value) if isinstance(value, dict) else str(value)
        try:
            parsed = parse_statement(f"CREATE MATERIALIZED TABLE t {clause} = {text} AS {_QUERY}")
        except StatementSyntaxError as error:
            raise InvalidValueError(detail=str(error).partition("\n")[0]) from error
        return _value_of(parsed, clause, value)

    return read


def _value_of(parsed: object, clause: str, value: object) -> str:
    """The clause's value, provided that it is all that the text held."""
    asked = parsed.asked if isinstance(parsed, CreateTable) else None
    found = getattr(asked, clause.lower(), None)
    if found is None or asked != replace(AskedDefinition(_QUERY), **{clause.lower(): found}):
        raise InvalidValueError(detail=f"was not understood: {value!r}.")
    return str(found.sql)


def _of_mapping(value: Mapping[str, Any]) -> str:
    """`{from_timestamp: ...}` and `{from_now: 7 days}` as text."""
    if len(value) != 1:
        raise InvalidValueError(detail=f"has one key as a mapping, but was: {dict(value)!r}.")
    form, argument = next(iter(value.items()))
    if str(form).lower().endswith("from_timestamp"):
        return f"{form}(TIMESTAMP {quote_text(str(argument))})"
    if str(argument).strip().lower().startswith("interval"):
        return f"{form}({argument})"
    count, _, unit = str(argument).strip().partition(" ")
    return f"{form}(INTERVAL {quote_text(count)} {unit})"


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
