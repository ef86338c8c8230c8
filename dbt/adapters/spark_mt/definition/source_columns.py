"""Columns of the relations that a query names, and how a definition stores them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldName:
    """The name of a column or of a nested field.

    Args:
        name: The name, without quotes.
        fields: The names inside its type where that has STRUCTs: the fields of a STRUCT;
            `element`, or `key` and `value`, for an ARRAY or MAP of them.
    """

    name: str
    fields: tuple[FieldName, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """The columns of a relation that a query names.

    Args:
        source: The full name of the relation.
        columns: In the order of the relation.
    """

    source: str
    columns: tuple[FieldName, ...]


def encode_source_columns(
    sources: Iterable[SourceColumns], expanded_query: str, query_columns: Iterable[str]
) -> Document:
    """Return the columns of sources as values that JSON knows, with the query that they belong to.

    Args:
        sources: The columns.
        expanded_query: The query, by full names.
        query_columns: The names of its result.
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
    if not field.fields:
        return field.name
    return {"name": field.name, "fields": [_field(each) for each in field.fields]}


def _read_field(doc: str | Document) -> FieldName:
    if isinstance(doc, str):
        return FieldName(name=doc)
    return FieldName(name=doc["name"], fields=tuple(map(_read_field, doc["fields"])))


def _query_id(expanded_query: str, query_columns: Iterable[str]) -> str:
    text = json.dumps([expanded_query, list(query_columns)], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
