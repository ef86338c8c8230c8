"""Which statements are ours: everything else goes to Spark byte for byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.statements.lexical import skip_blank
from dbt.adapters.spark_mt.statements.nodes import DropTable
from dbt.adapters.spark_mt.statements.parser import parse

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.statements.nodes import Statement

_MENTION = re.compile(r"materialized|\bjobs?\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_MOST_WORDS = 9
_TABLE = r"MATERIALIZED TABLE\b"
_CREATE = rf"CREATE (?:OR \w+ )?(?:GLOBAL )?(?:TEMP |TEMPORARY )?{_TABLE}"
_OURS = re.compile(
    "|".join(
        (
            _CREATE,
            rf"(?:ALTER|DROP) {_TABLE}",
            rf"SHOW CREATE (?:OR ALTER )?{_TABLE}",
            r"SHOW MATERIALIZED TABLES?\b",
            r"SHOW JOBS\b",
            rf"DESC(?:RIBE)? (?:EXTENDED )?{_TABLE}",
            r"DESC(?:RIBE)? JOB (?:R )?['\"]",
            rf"EXPLAIN (?:\w+ )?(?:{_CREATE}|(?:ALTER|DROP) {_TABLE})",
        )
    )
)


def parse_statement(sql: str) -> Statement | None:
    """Read a statement if it is about materialized tables.

    Args:
        sql: Any SQL, comments before it included.

    Returns:
        The statement; None where it is Spark's, also when it cannot be read at all.

    Raises:
        StatementSyntaxError: It is ours and does not follow the grammar.
    """
    return parse(sql) if is_ours(sql) else None


def is_ours(sql: str) -> bool:
    """Tell from its first words whether a statement is about materialized tables.

    Only the words are looked at: a text that does not mention the keywords costs one search, and
    no text is ever tokenized here.
    """
    return _MENTION.search(sql) is not None and _OURS.match(_head(sql)) is not None


def _head(sql: str) -> str:
    """Return the first words in upper case with one blank between, and the sign behind them."""
    words: list[str] = []
    offset = skip_blank(sql, 0)
    while len(words) < _MOST_WORDS and (match := _WORD.match(sql, offset)):
        words.append(match[0].upper())
        offset = skip_blank(sql, match.end())
    return " ".join([*words, sql[offset : offset + 1]])


def parse_name(text: str) -> TableName:
    """Return the table that a name in a statement would mean.

    Args:
        text: A name of one to three parts, in backticks where it needs them.

    Raises:
        StatementSyntaxError: It is no name.
        TypeError: It is more than a name.
    """
    parsed = parse_statement(f"DROP MATERIALIZED TABLE {text}")
    if not isinstance(parsed, DropTable):
        raise TypeError(text)
    return parsed.name
