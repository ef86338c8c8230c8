"""Schemas in Delta's log: which columns are not of one type at two versions of a table.

A type counts with all that changes what a query makes of a value: nested names and their order,
elements, keys, the length of CHAR and VARCHAR, collations, and the names in the data files, by
which a column that was dropped and added again is another one. Nullability and comments do not
count.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.spark.session.types import CHAR_METADATA

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    Field = Mapping[str, Any]


_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_COLLATIONS = "__COLLATIONS"
_SQL_NAMES = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
    "timestamp_ntz": "TIMESTAMP_NTZ",
}
_PARTS = ("elementType", "keyType", "valueType")


def changed_types(before: str, now: str, columns: Collection[str] | None) -> tuple[str, ...]:
    """Return the columns that do not have the same type in two schemas, as a clause for people.

    Args:
        before: A schema as JSON, as in a `metaData` action.
        now: A later one.
        columns: The names of the columns that count, in lower case; None for all.
    """
    old, new = _fields(before), _fields(now)
    names = {**old, **new} if columns is None else columns
    return tuple(
        _described(name, old.get(name), new.get(name))
        for name in sorted(names)
        if (name in old or name in new) and _key(old.get(name)) != _key(new.get(name))
    )


def has_moved_columns(before: str, now: str, columns: Collection[str] | None) -> bool:
    """Whether a column of both schemas has another name in the data files, as `changed_types`."""
    old, new = (_physical_names({"fields": _chosen(text, columns)}) for text in (before, now))
    earlier = dict(old)
    return any(earlier.get(path, name) != name for path, name in new)


def maps_names(schema: str) -> bool:
    """Whether columns may have other names in the data files than in a schema."""
    return _PHYSICAL_NAME in schema


def _fields(schema: str) -> dict[str, Field]:
    return {field["name"].lower(): field for field in json.loads(schema)["fields"]}


def _chosen(schema: str, columns: Collection[str] | None) -> list[Field]:
    fields = _fields(schema)
    return [field for name, field in fields.items() if columns is None or name in columns]


def _key(field: Field | None) -> object:
    """Return what distinguishes the types of a column, without its own name."""
    if field is None:
        return None
    metadata = field.get("metadata") or {}
    own = tuple(
        json.dumps(metadata.get(name), sort_keys=True) for name in (CHAR_METADATA, _COLLATIONS)
    )
    return own, metadata.get(_PHYSICAL_NAME, field["name"].lower()), _type_key(field["type"])


def _type_key(type_: object) -> object:
    if not isinstance(type_, dict):
        return type_
    inner = tuple(_type_key(type_.get(part)) for part in _PARTS)
    fields = tuple((f["name"], _key(f)) for f in type_.get("fields", ()))
    return type_["type"], type_.get("class"), inner, fields


def _described(name: str, before: Field | None, now: Field | None) -> str:
    if before is None or now is None:
        return f"{name} {'is new' if before is None else 'is gone'}"
    old, new = _shown(before), _shown(now)
    if old == new:
        return f"{name} or a field in it was renamed, or dropped and added again"
    return f"{name} was {old} and is {new}"


def _shown(field: Field) -> str:
    metadata = field.get("metadata") or {}
    collations = metadata.get(_COLLATIONS)
    ordered = f" COLLATE {', '.join(collations.values())}" if collations else ""
    fixed = str(metadata.get(CHAR_METADATA) or "").upper()
    return f"{fixed or _type_text(field['type'])}{ordered}"


def _type_text(type_: Any) -> str:  # noqa: ANN401 - a document
    if not isinstance(type_, dict):
        return _SQL_NAMES.get(str(type_), str(type_).upper())
    if type_["type"] == "struct":
        fields = ", ".join(f"{field['name']}: {_shown(field)}" for field in type_["fields"])
        return f"STRUCT<{fields}>"
    inner = ", ".join(_type_text(type_[part]) for part in _PARTS if part in type_)
    return f"{type_['type'].upper()}<{inner}>" if inner else str(type_["type"])


def _physical_names(type_: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path of each column and field of a type, and its name in the data files."""
    if not isinstance(type_, dict):
        return
    for field in type_.get("fields", ()):
        name = f"{path}.{quote(field['name'].lower())}"
        yield name, str(field.get("metadata", {}).get(_PHYSICAL_NAME, field["name"]))
        yield from _physical_names(field["type"], name)
    for part in _PARTS:
        yield from _physical_names(type_.get(part), f"{path}.{part}")
