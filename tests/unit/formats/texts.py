"""Texts of definitions as mappings, and as a newer release might write them."""

from __future__ import annotations

import json
import zlib


def pack(document: object) -> str:
    """A document as the text of a property."""
    return zlib.compress(json.dumps(document).encode()).hex()


def unpack(text: str):
    """The document in the text of a property."""
    return json.loads(zlib.decompress(bytes.fromhex(text)))


def with_more(value, key: str = "later"):
    """A key that today's release does not know in every object of a document, at any depth."""
    if isinstance(value, dict):
        more = {each: with_more(item, key) for each, item in value.items()}
        return {**more, key: {"nested": [1, "x"]}}
    return [with_more(item, key) for item in value] if isinstance(value, list) else value


def without(value, *keys: str):
    """A document without these keys, at any depth."""
    if isinstance(value, dict):
        return {k: without(item, *keys) for k, item in value.items() if k not in keys}
    return [without(item, *keys) for item in value] if isinstance(value, list) else value
