"""A definition as one text of letters and digits, for a place that keeps only strings.

The text is zlib-compressed JSON in hexadecimal digits: Spark redacts property values that contain
words such as `token` or `url`, and substitutes `${…}`; hexadecimal digits can hold neither.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.baseline import Baseline
from dbt.adapters.spark_mt.definition.columns import Check, Column, ColumnSpec, PrimaryKey
from dbt.adapters.spark_mt.definition.definition import (
    AskedDefinition,
    QueryContext,
    ResolvedDefinition,
    StoredDefinition,
)
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.identifier import TableName
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode, RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.positions import OffsetPosition, VersionedPosition
from dbt.adapters.spark_mt.definition.start_mode import (
    IntervalUnit,
    ResolvedStartMode,
    StartInterval,
    StartMode,
    StartModeType,
)
from dbt.adapters.spark_mt.definition.state_retention import StateRetention, StateRetentionType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbt.adapters.spark_mt.definition.baseline import SourcePositions
    from dbt.adapters.spark_mt.definition.columns import Constraint
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.positions import FollowedPosition

FORMAT_VERSION = 1
_DAMAGE = (ValueError, zlib.error, KeyError, TypeError, AttributeError)
"""What reading a text raises that this module did not write."""


class UnreadableDefinitionError(MaterializedTableError):
    """What stands where the definition should stand cannot be read."""

    condition = "MATERIALIZED_TABLE_UNREADABLE_DEFINITION"
    text = "The stored definition of the materialized table {table} cannot be read: {problem}."
    remedy = (
        "Upgrade dbt-spark-mt if a newer release wrote it. Otherwise CREATE OR REPLACE "
        "MATERIALIZED TABLE stores a new definition and computes the whole table again."
    )


def encode_definition(definition: StoredDefinition) -> str:
    """Return `definition` as hexadecimal text."""
    document = {"format": FORMAT_VERSION, "definition": definition}
    packed = json.dumps(document, default=_plain, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(packed.encode(), 9).hex()


def decode_definition(text: str, table: str) -> StoredDefinition:
    """Return the definition that `encode_definition` was given.

    Args:
        text: The hexadecimal text.
        table: The table's name, for the error.

    Raises:
        UnreadableDefinitionError: The text is damaged, or of a format that is not known here.
    """
    try:
        document = json.loads(zlib.decompress(bytes.fromhex(text)))
        version = document["format"]
    except _DAMAGE as error:
        raise UnreadableDefinitionError(table=table, problem="the text is damaged") from error
    if version != FORMAT_VERSION:
        problem = f"its format is {version}, and this release reads {FORMAT_VERSION}"
        raise UnreadableDefinitionError(table=table, problem=problem)
    try:
        return _stored(document["definition"])
    except _DAMAGE as error:
        raise UnreadableDefinitionError(table=table, problem="the text is damaged") from error


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bytes):
        return value.hex()
    return {f.name: getattr(value, f.name) for f in fields(value)}  # type: ignore[arg-type]


def _stored(doc: Mapping[str, Any]) -> StoredDefinition:
    return StoredDefinition(
        **{
            **doc,
            "name": TableName(**doc["name"]),
            "resolved": _resolved(doc["resolved"]),
            "status": RefreshStatus[doc["status"]],
            "handler": bytes.fromhex(doc["handler"]),
            "owner": _pairs(doc["owner"]),
            "changed_by": None if doc["changed_by"] is None else _pairs(doc["changed_by"]),
            "run_options": _pairs(doc["run_options"]),
            "baseline": _baseline(doc["baseline"]),
            "fence": int(doc["fence"]),
            "origin": _source_positions(doc["origin"]),
        }
    )


def _baseline(doc: Mapping[str, Any] | None) -> Baseline | None:
    if doc is None:
        return None
    return Baseline(_source_positions(doc["positions"]), doc["kept_version"], doc["reason"])


def _source_positions(doc: Sequence[Any]) -> SourcePositions:
    return tuple((name, _followed(at)) for name, at in doc)


def _followed(doc: Mapping[str, Any]) -> FollowedPosition:
    return OffsetPosition(**doc) if "offset" in doc else VersionedPosition(**doc)


def _resolved(doc: Mapping[str, Any]) -> ResolvedDefinition:
    context = doc["context"]
    start = doc["start_mode"]
    return ResolvedDefinition(
        **{
            **doc,
            "asked": _asked(doc["asked"]),
            "columns": tuple(Column(**c) for c in doc["columns"]),
            "query_columns": tuple(doc["query_columns"]),
            "context": QueryContext(**{**context, "confs": _pairs(context["confs"])}),
            "freshness": _freshness(doc["freshness"]),
            "refresh_mode": RefreshMode[doc["refresh_mode"]],
            "start_mode": ResolvedStartMode(_start_mode(start["mode"]), start["instant_ms"]),
            "state_retention": _state_retention(doc["state_retention"]),
            "derived_from": _pairs(doc["derived_from"]),
        }
    )


def _asked(doc: Mapping[str, Any]) -> AskedDefinition:
    mode, start, retention = doc["refresh_mode"], doc["start_mode"], doc["state_retention"]
    return AskedDefinition(
        **{
            **doc,
            "columns": tuple(ColumnSpec(**c) for c in doc["columns"]),
            "constraints": tuple(_constraint(c) for c in doc["constraints"]),
            "partitioned_by": tuple(doc["partitioned_by"]),
            "clustered_by": tuple(doc["clustered_by"]),
            "options": _pairs(doc["options"]),
            "freshness": doc["freshness"] and _freshness(doc["freshness"]),
            "refresh_mode": mode and LogicalRefreshMode[mode],
            "start_mode": start and _start_mode(start),
            "state_retention": retention and _state_retention(retention),
        }
    )


def _constraint(doc: Mapping[str, Any]) -> Constraint:
    if "columns" in doc:
        return PrimaryKey(tuple(doc["columns"]), doc["name"])
    return Check(doc["expression"], doc["name"])


def _freshness(doc: Mapping[str, Any]) -> Freshness:
    return Freshness(doc["count"], TimeUnit[doc["unit"]])


def _start_mode(doc: Mapping[str, Any]) -> StartMode:
    interval = doc["interval"]
    return StartMode(
        StartModeType[doc["type"]],
        interval and StartInterval(interval["count"], IntervalUnit[interval["unit"]]),
        doc["timestamp"],
    )


def _state_retention(doc: Mapping[str, Any]) -> StateRetention:
    return StateRetention(StateRetentionType[doc["type"]], tuple(doc["operators"]))


def _pairs(items: list[list[str]]) -> Pairs:
    return tuple((key, value) for key, value in items)
