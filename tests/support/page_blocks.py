"""Code blocks of the documentation, which tests run."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block(page: str, heading: str, language: str) -> str:
    """Return the first block of a language below a heading of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return next(each[2] for each in _BLOCK.finditer(section) if each[1] == language)
