"""Stored definition as a document and as one text, and unknown keys of stored documents.

Every key is written out, for writing and for reading: a field can be renamed, a key never. All keys
of release 0.1 are always written. A key that is added later is read with a default, and written
only where its value is another one. The text of a table without it stays byte for byte, and older
releases keep the key.

The text is zlib-compressed JSON in hexadecimal digits. Spark redacts property values that contain
words such as `token` or `url`, and substitutes `${…}`; hexadecimal digits can contain neither.

A newer release may have written keys that a release does not know. When that release writes the
document again, it puts them back into the same objects, so that the newer release loses nothing.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions, modes
from dbt.adapters.spark_mt.definition.columns import (
    Check,
    Column,
    ColumnSpec,
    FieldName,
    PrimaryKey,
    QueryContext,
    SourceColumns,
    TableName,
)
from dbt.adapters.spark_mt.definition.definition import (
    DeclaredDefinition,
    ResolvedDefinition,
    StoredDefinition,
    unknown_keys,
    with_unknown_keys,
)
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.positions import (
    Baseline,
    decode_source_positions,
    encode_source_positions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbt.adapters.spark_mt.definition.columns import Constraint, Pairs

    Document = dict[str, Any]


_TIME_UNITS = {
    TimeUnit.SECOND: "SECOND",
    TimeUnit.MINUTE: "MINUTE",
    TimeUnit.HOUR: "HOUR",
    TimeUnit.DAY: "DAY",
    TimeUnit.WEEK: "WEEK",
}


FORMAT_VERSION = 1
"""The major version: a release that adds keys leaves it as it is, see docs/formats.md."""
_DAMAGE = (ValueError, zlib.error, KeyError, TypeError, AttributeError, OverflowError)
"""What reading a text raises that this module did not write."""


def document_of(stored: StoredDefinition) -> Document:
    """Return a definition as values that JSON knows, without the keys of newer releases."""
    name = stored.name
    return {
        "table_id": stored.table_id,
        "name": {"name": name.name, "schema": name.schema, "catalog": name.catalog},
        "generation": stored.generation,
        "resolved": _resolved(stored.resolved),
        "status": stored.status.value,
        "status_reason": stored.status_reason,
        "handler": stored.handler.hex(),
        "owner": _pairs(stored.owner),
        "changed_by": None if stored.changed_by is None else _pairs(stored.changed_by),
        "run_options": _pairs(stored.run_options),
        "baseline": stored.baseline and _baseline(stored.baseline),
        "fence": stored.fence,
        "origin": encode_source_positions(stored.origin),
    }


def definition_of(doc: Document) -> StoredDefinition:
    """Return the definition that a document holds; keys that are not known are ignored.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: It holds none.
    """
    name, changed_by = doc["name"], doc.get("changed_by")
    return StoredDefinition(
        table_id=doc["table_id"],
        name=TableName(name["name"], name.get("schema"), name.get("catalog")),
        generation=int(doc["generation"]),
        resolved=_read_resolved(doc["resolved"]),
        status=modes.RefreshStatus(doc.get("status", "ACTIVATED")),
        status_reason=doc.get("status_reason", ""),
        handler=bytes.fromhex(doc.get("handler", "")),
        owner=_read_pairs(doc.get("owner", [])),
        changed_by=None if changed_by is None else _read_pairs(changed_by),
        run_options=_read_pairs(doc.get("run_options", [])),
        baseline=_read_baseline(doc.get("baseline")),
        fence=int(doc.get("fence", 0)),
        origin=decode_source_positions(doc.get("origin", [])),
    )


def _baseline(baseline: Baseline) -> Document:
    positions = encode_source_positions(baseline.positions)
    return {
        "positions": positions,
        "kept_version": baseline.kept_version,
        "reason": baseline.reason,
    }


def _read_baseline(doc: Document | None) -> Baseline | None:
    if doc is None:
        return None
    positions = decode_source_positions(doc["positions"])
    return Baseline(positions, doc["kept_version"], doc["reason"])


def _resolved(resolved: ResolvedDefinition) -> Document:
    context, start = resolved.context, resolved.start_mode
    query, sources = (resolved.expanded_query, resolved.query_columns), resolved.source_columns
    return {
        "declared": _declared(resolved.declared),
        "columns": [_column(column) for column in resolved.columns],
        "expanded_query": resolved.expanded_query,
        "context": {
            "catalog": context.catalog,
            "schema": context.schema,
            "confs": _pairs(context.confs),
        },
        "freshness": _freshness(resolved.freshness),
        "refresh_mode": resolved.refresh_mode.value,
        "start_mode": {"mode": _start_mode(start.mode), "instant_ms": start.instant_ms},
        "state_retention": _state_retention(resolved.state_retention),
        "derived_from": _pairs(resolved.derived_from),
        "query_columns": list(resolved.query_columns),
        **({"source_columns": encode_source_columns(sources, *query)} if sources else {}),
    }


def _read_resolved(doc: Document) -> ResolvedDefinition:
    context, start = doc["context"], doc["start_mode"]
    return ResolvedDefinition(
        declared=_read_declared(doc["declared"]),
        columns=tuple(_read_column(column) for column in doc["columns"]),
        expanded_query=doc["expanded_query"],
        context=QueryContext(context["catalog"], context["schema"], _read_pairs(context["confs"])),
        freshness=_read_freshness(doc["freshness"]),
        refresh_mode=modes.RefreshMode(doc["refresh_mode"]),
        start_mode=modes.ResolvedStartMode(
            _read_start_mode(start["mode"]), start.get("instant_ms")
        ),
        state_retention=_read_state_retention(doc["state_retention"]),
        derived_from=_read_pairs(doc.get("derived_from", [])),
        query_columns=tuple(doc["query_columns"]),
        source_columns=decode_source_columns(
            doc.get("source_columns"), doc["expanded_query"], doc["query_columns"]
        ),
    )


def _declared(declared: DeclaredDefinition) -> Document:
    mode, start, retention = declared.refresh_mode, declared.start_mode, declared.state_retention
    return {
        "query": declared.query,
        "columns": [_column_spec(column) for column in declared.columns],
        "constraints": [_constraint(constraint) for constraint in declared.constraints],
        "comment": declared.comment,
        "partitioned_by": list(declared.partitioned_by),
        "clustered_by": list(declared.clustered_by),
        "options": _pairs(declared.options),
        "freshness": declared.freshness and _freshness(declared.freshness),
        "refresh_mode": mode and mode.value,
        "start_mode": start and _start_mode(start),
        "state_retention": retention and _state_retention(retention),
    }


def _read_declared(doc: Document) -> DeclaredDefinition:
    freshness, mode = doc.get("freshness"), doc.get("refresh_mode")
    start, retention = doc.get("start_mode"), doc.get("state_retention")
    return DeclaredDefinition(
        query=doc["query"],
        columns=tuple(_read_column_spec(column) for column in doc.get("columns", [])),
        constraints=tuple(_read_constraint(each) for each in doc.get("constraints", [])),
        comment=doc.get("comment"),
        partitioned_by=tuple(doc.get("partitioned_by", ())),
        clustered_by=tuple(doc.get("clustered_by", ())),
        options=_read_pairs(doc.get("options", [])),
        freshness=freshness and _read_freshness(freshness),
        refresh_mode=mode and modes.LogicalRefreshMode(mode),
        start_mode=start and _read_start_mode(start),
        state_retention=retention and _read_state_retention(retention),
    )


def _column(column: Column) -> Document:
    return {
        "name": column.name,
        "type": column.type,
        "nullable": column.nullable,
        "comment": column.comment,
    }


def _read_column(doc: Document) -> Column:
    return Column(doc["name"], doc["type"], doc.get("nullable", True), doc.get("comment"))


def _column_spec(column: ColumnSpec) -> Document:
    return {
        "name": column.name,
        "type": column.type,
        "not_null": column.not_null,
        "comment": column.comment,
    }


def _read_column_spec(doc: Document) -> ColumnSpec:
    return ColumnSpec(doc["name"], doc.get("type"), doc.get("not_null", False), doc.get("comment"))


def _constraint(constraint: Constraint) -> Document:
    if isinstance(constraint, PrimaryKey):
        return {"columns": list(constraint.columns), "name": constraint.name}
    return {"expression": constraint.expression, "name": constraint.name}


def _read_constraint(doc: Document) -> Constraint:
    if "columns" in doc:
        return PrimaryKey(columns=tuple(doc["columns"]), name=doc.get("name"))
    return Check(expression=doc["expression"], name=doc.get("name"))


def _freshness(freshness: Freshness) -> Document:
    return {"count": freshness.count, "unit": _TIME_UNITS[freshness.unit]}


def _read_freshness(doc: Document) -> Freshness:
    units = {key: unit for unit, key in _TIME_UNITS.items()}
    return Freshness(count=doc["count"], unit=units[doc["unit"]])


def _start_mode(mode: modes.StartMode) -> Document:
    interval = mode.interval
    return {
        "type": mode.type.value,
        "interval": interval and {"count": interval.count, "unit": interval.unit.value},
        "timestamp": mode.timestamp,
    }


def _read_start_mode(doc: Document) -> modes.StartMode:
    interval = doc.get("interval")
    if interval is not None:
        interval = modes.StartInterval(interval["count"], modes.IntervalUnit(interval["unit"]))
    return modes.StartMode(modes.StartModeType(doc["type"]), interval, doc.get("timestamp"))


def _state_retention(retention: modes.StateRetention) -> Document:
    return {"type": retention.type.value, "operators": list(retention.operators)}


def _read_state_retention(doc: Document) -> modes.StateRetention:
    return modes.StateRetention(
        modes.StateRetentionType(doc["type"]), tuple(doc.get("operators", ()))
    )


def _pairs(pairs: Pairs) -> list[list[str]]:
    return [[key, value] for key, value in pairs]


def _read_pairs(items: list[list[str]]) -> Pairs:
    return tuple((key, value) for key, value in items)


def encode_source_columns(
    sources: Iterable[SourceColumns], expanded_query: str, query_columns: Iterable[str]
) -> Document:
    """Return the columns of sources as values that JSON knows, with the query that they belong to.

    `query_columns` are the names of the query's result.
    """
    relations = [
        {"name": each.source, "columns": [_field(field) for field in each.columns]}
        for each in sources
    ]
    return {"query": _query_id(expanded_query, query_columns), "relations": relations}


def decode_source_columns(
    doc: Document | None, expanded_query: str, query_columns: Iterable[str]
) -> tuple[SourceColumns, ...]:
    """Return the columns of sources; none where they belong to another query.

    A release that does not know the key keeps it when it changes the query.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: The document holds no columns.
    """
    if doc is None or doc["query"] != _query_id(expanded_query, query_columns):
        return ()
    return tuple(
        SourceColumns(source=each["name"], columns=tuple(map(_read_field, each["columns"])))
        for each in doc["relations"]
    )


def _field(field: FieldName) -> object:
    if not field.nested:
        return field.name
    return {"name": field.name, "fields": [_field(each) for each in field.nested]}


def _read_field(doc: str | Document) -> FieldName:
    if isinstance(doc, str):
        return FieldName(name=doc)
    return FieldName(name=doc["name"], nested=tuple(map(_read_field, doc["fields"])))


def _query_id(expanded_query: str, query_columns: Iterable[str]) -> str:
    text = json.dumps([expanded_query, list(query_columns)], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def encode_definition(definition: StoredDefinition) -> str:
    """Return `definition` as hexadecimal text."""
    document = with_unknown_keys(_document(definition), definition.unknown_keys)
    packed = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(packed.encode(), 9).hex()


def decode_definition(text: str, table: str) -> StoredDefinition:
    """Return the definition that `encode_definition` was given.

    Args:
        text: The hexadecimal text.
        table: The table's name, for the error.

    Raises:
        UnreadableDefinitionError: The text is damaged, or its format has another major version.
    """
    try:
        document = json.loads(zlib.decompress(bytes.fromhex(text)))
        version = document["format"]
    except _DAMAGE as error:
        raise conditions.UNREADABLE_DEFINITION(
            table=table, problem="the text is damaged"
        ) from error
    if version != FORMAT_VERSION:
        problem = f"its format is {version}, and this release reads {FORMAT_VERSION}"
        raise conditions.UNREADABLE_DEFINITION(table=table, problem=problem)
    try:
        _rename_keys(document["definition"]["resolved"])
        definition = definition_of(document["definition"])
        unknown = unknown_keys(document, _document(definition))
    except _DAMAGE as error:
        raise conditions.UNREADABLE_DEFINITION(
            table=table, problem="the text is damaged"
        ) from error
    return replace(definition, unknown_keys=unknown) if unknown else definition


def _rename_keys(resolved: Document) -> None:
    """Give a key the name that it has since 0.1."""
    if "asked" in resolved:
        resolved.setdefault("declared", resolved.pop("asked"))


def _document(definition: StoredDefinition) -> dict[str, object]:
    return {"format": FORMAT_VERSION, "definition": document_of(definition)}
