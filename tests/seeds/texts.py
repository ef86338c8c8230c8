"""Statements of the design documents that their text alone decides: read, or refused with a fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.seeds.texts_435 import TEXTS_435
from tests.seeds.texts_later import TEXTS_LATER
from tests.seeds.told import TEXTS, Told

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS_TOLD = (*TEXTS_435, *TEXTS_LATER)


def rows() -> Iterator[Told]:
    """The rows of the page; statements with one meaning share a row."""
    for text in TEXTS_TOLD:
        yield Told(text.seed, text.section, text.what, TEXTS, text.differs)
