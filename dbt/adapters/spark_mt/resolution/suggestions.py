"""What a misspelt name was probably meant to be."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALIKE = 0.8


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` looks like, or None if it looks like none of them."""
    by_lower = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=_ALIKE)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean '…'?`, or an empty text."""
    found = closest(name, known)
    return f" Did you mean '{found}'?" if found else ""
