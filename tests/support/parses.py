"""Count of the statements that are parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.statements import parser

if TYPE_CHECKING:
    import pytest


def counted_parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the text of each statement that is parsed from now on."""
    texts: list[str] = []
    parse = parser.parse

    def counted(sql: str) -> object:
        texts.append(sql)
        return parse(sql)

    monkeypatch.setattr(parser, "parse", counted)
    return texts
