"""Unknown keys of a stored document, which a newer release wrote.

A release reads the keys that it knows. When it writes the document again, it puts the other keys
back into the same objects, so that the newer release loses nothing.
"""

from __future__ import annotations

import json
from typing import Any

Unknown = dict[str, Any]
"""Unknown keys by the path to them; `{}` for none."""


def unknown_keys(found: dict[str, Any], known: dict[str, Any]) -> Unknown:
    """Return the keys of `found` that `known` has not, at any depth.

    Args:
        found: A document as it was stored.
        known: The same document, decoded and encoded again by this release.
    """
    beyond = {
        key: _beyond(value, known[key]) if key in known else value for key, value in found.items()
    }
    return {key: value for key, value in beyond.items() if key not in known or value}


def with_unknown_keys(document: dict[str, Any], unknown: Unknown) -> dict[str, Any]:
    """Return `document` with unknown keys in the objects that it still has.

    An item of a list is found again by its `name`, or else by being equal. The keys of an object
    that the document no longer has are dropped with it.
    """
    more = {
        key: _with(document[key], value) if key in document else value
        for key, value in unknown.items()
    }
    return {**document, **more}


def _beyond(found: object, known: object) -> Unknown | tuple[tuple[str, Any], ...]:
    if isinstance(found, dict) and isinstance(known, dict):
        return unknown_keys(found, known)
    if isinstance(found, list) and isinstance(known, list) and len(found) == len(known):
        items = [(_identity(k), _beyond(f, k)) for f, k in zip(found, known, strict=True)]
        return tuple((identity, more) for identity, more in items if more)
    return {}


def _with(document: object, unknown: object) -> object:
    if isinstance(document, dict) and isinstance(unknown, dict):
        return with_unknown_keys(document, unknown)
    if isinstance(document, list) and isinstance(unknown, tuple):  # a list would be a stored value
        by_identity = dict(unknown)
        return [_with(item, by_identity.get(_identity(item))) for item in document]
    return document


def _identity(item: object) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else json.dumps(item, sort_keys=True)
