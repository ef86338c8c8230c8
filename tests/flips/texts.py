"""Statements of the design documents that their text alone decides: read, or refused with a fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.flips.journeys import TEXTS, ConformanceRow
from tests.flips.texts_435 import TEXTS_435
from tests.flips.texts_later import TEXTS_LATER

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL_TEXTS = (*TEXTS_435, *TEXTS_LATER)


def rows() -> Iterator[ConformanceRow]:
    """The rows of the page; statements with one meaning share a row."""
    for text in ALL_TEXTS:
        yield ConformanceRow(text.flip, text.section, text.what, TEXTS, text.differs)
