"""Functions that a query calls, found in its tokens.

The tree is not needed. So queries that sqlglot cannot parse are covered.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import Token, TokenType

from dbt.adapters.spark_mt.query import functions
from dbt.adapters.spark_mt.query.boundary import guarded
from dbt.adapters.spark_mt.query.text import closing, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_RELATIVE_LITERALS = frozenset({"now", "today", "yesterday", "tomorrow"})
_NAME_TYPES = {TokenType.VAR, TokenType.IDENTIFIER}
_NOT_BEFORE_A_CALL = {TokenType.ALIAS, TokenType.R_PAREN, *_NAME_TYPES}
_PIPE_WORDS = {"AGGREGATE", "EXTEND", "SELECT", "RECURSIVE"}


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """Functions of a query, in order of appearance, lower case, each once.

    Args:
        nondeterministic: The value differs for the same rows.
        time_dependent: One value per execution.
        bare: Those of both kinds that were only written without parentheses: they may as well be
            columns.
        calls: Names that may be functions of a catalog, as written.
    """

    nondeterministic: tuple[str, ...] = ()
    time_dependent: tuple[str, ...] = ()
    bare: frozenset[str] = frozenset()
    calls: tuple[tuple[str, ...], ...] = ()


def _unknown(_: str) -> FunctionUse:
    return FunctionUse(time_dependent=("functions that could not be found in its text",))


@guarded(_unknown)
def functions_of(query: str) -> FunctionUse:
    """Find the functions that `query` calls."""
    tokens = tokens_of(query)
    random: dict[str, None] = {}
    timely: dict[str, None] = dict.fromkeys(_relative_literals(tokens))
    called: set[str] = set()
    calls: dict[tuple[str, ...], None] = {}
    for i, name in _called(tokens):
        called.add(name)
        if _is_random(tokens, i, name):
            random[name] = None
        elif name in functions.TIME_DEPENDENT or (
            name == "unix_timestamp" and _is_empty(tokens, i)
        ):
            timely[name] = None
        if _may_be_persistent(tokens, i):
            calls[_dotted(tokens, i)] = None
    bare = [name for name in _bare(tokens) if name not in called]
    random.update(dict.fromkeys(n for n in bare if n in functions.RANDOM))
    timely.update(dict.fromkeys(n for n in bare if n in functions.TIME_DEPENDENT))
    if _samples_freely(tokens):
        random["tablesample"] = None
    return FunctionUse(tuple(random), tuple(timely), frozenset(bare), tuple(calls))


def _called(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    for i, (word, after) in enumerate(pairwise(tokens)):
        if after.token_type == TokenType.L_PAREN and word.token_type != TokenType.STRING:
            yield i, word.text.lower()


def _is_random(tokens: Sequence[Token], i: int, name: str) -> bool:
    if name in functions.RANDOM:
        return True
    if name not in functions.ORDER_DEPENDENT:
        return False
    around = tokens[i - 2].text.lower() if i > 1 else ""
    in_order_free = tokens[i - 1].token_type == TokenType.L_PAREN and around in functions.ORDER_FREE
    return not (in_order_free or _is_ordered(tokens, _closing(tokens, i + 1)))


def _is_ordered(tokens: Sequence[Token], close: int) -> bool:
    """Return whether an order follows a call: OVER (… ORDER BY …), OVER w, WITHIN GROUP."""
    i = close + 1
    while i < len(tokens) and tokens[i].text.upper() in {"IGNORE", "RESPECT", "NULLS", "FILTER"}:
        i = _closing(tokens, i + 1) + 1 if tokens[i].text.upper() == "FILTER" else i + 1
    word = tokens[i].text.upper() if i < len(tokens) else ""
    if word in {"WITHIN", "WITHIN GROUP"}:
        return True
    if word != "OVER" or i + 1 >= len(tokens):
        return False
    if tokens[i + 1].token_type != TokenType.L_PAREN:
        return True
    window = tokens[i + 1 : _closing(tokens, i + 1)]
    return any(t.text.upper().startswith(("ORDER", "SORT")) for t in window)


def _closing(tokens: Sequence[Token], opening: int) -> int:
    found = closing(tokens, opening)
    return len(tokens) - 1 if found is None else found


def _is_empty(tokens: Sequence[Token], i: int) -> bool:
    return i + 2 < len(tokens) and tokens[i + 2].token_type == TokenType.R_PAREN


def _may_be_persistent(tokens: Sequence[Token], i: int) -> bool:
    """Return whether a call may be of a catalog's function: no syntax, no alias list."""
    if tokens[i].token_type not in _NAME_TYPES:
        return False
    first = i - 2 * (len(_dotted(tokens, i)) - 1)
    before = tokens[first - 1] if first > 0 else None
    if before is None or before.token_type not in _NOT_BEFORE_A_CALL:
        return True
    return before.text.upper() in _PIPE_WORDS


def _dotted(tokens: Sequence[Token], i: int) -> tuple[str, ...]:
    parts = [tokens[i].text]
    while i >= 2 and tokens[i - 1].token_type == TokenType.DOT and _is_word(tokens[i - 2]):
        i -= 2
        parts.insert(0, tokens[i].text)
    return tuple(parts)


def _is_word(token: Token) -> bool:
    return token.token_type in _NAME_TYPES or token.text.isidentifier()


def _bare(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield words that are functions without parentheses, unless a column has their name."""
    for i, token in enumerate(tokens):
        name = token.text.lower()
        if name not in functions.WITHOUT_PARENTHESES or token.token_type in {
            TokenType.STRING,
            TokenType.IDENTIFIER,
        }:
            continue
        around = {t.token_type for t in tokens[max(i - 1, 0) : i + 2]}
        follows_as = i > 0 and tokens[i - 1].token_type == TokenType.ALIAS
        if TokenType.DOT not in around and not follows_as:
            yield name


def _relative_literals(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield literals such as `DATE 'today'`."""
    for word, literal in pairwise(tokens):
        typed = word.text.upper().startswith(("DATE", "TIMESTAMP"))
        if typed and literal.token_type == TokenType.STRING:
            value = literal.text.strip().lower()
            if value in _RELATIVE_LITERALS:
                yield f"{word.text.lower()} '{value}'"


def _samples_freely(tokens: Sequence[Token]) -> bool:
    """Return whether there is a TABLESAMPLE without REPEATABLE."""
    for i, token in enumerate(tokens):
        if token.text.upper() == "TABLESAMPLE" and token.token_type != TokenType.IDENTIFIER:
            after = _closing(tokens, i + 1) + 1
            if after >= len(tokens) or tokens[after].text.upper() != "REPEATABLE":
                return True
    return False
