"""Functions that a query calls, by its operators or, where it has none, by the tokens of its text.

The tokens are for texts without an operator tree: those that sqlglot cannot parse, bodies of
functions, and the parts of a query that its tree has as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import exp

from dbt.adapters.spark_mt.query import functions
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.boundary import guarded
from dbt.adapters.spark_mt.query.expressions import call_name
from dbt.adapters.spark_mt.query.text import tokens_of
from dbt.adapters.spark_mt.sql_tokens import TokenKind, closing, is_sign

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.sql_tokens import Token


_TYPED = re.compile(r"(\w+)[^'\"]*('[^']*'|\"[^\"]*\")")
"""A literal such as `DATE '2020-01-01'`."""
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


def functions_in(node: ops.Operator) -> FunctionUse:
    """Find the functions in the operators of a query with another value at another time.

    Whether a value depends on the order of rows is a fact of its call (`AggregateCall`).
    """
    found = sorted(_varying(node), key=lambda each: each[0])  # as a scan of its SQL would find them
    uses = (functions_of(text) for text in ops.texts_in(node))
    random: dict[str, None] = {}
    timely: dict[str, None] = {}
    for _, name in found:
        (random if name in functions.RANDOM else timely)[name] = None
    for use in uses:
        random |= dict.fromkeys(use.nondeterministic)
        timely |= dict.fromkeys(use.time_dependent)
    return FunctionUse(tuple(random), tuple(timely))


def _varying(node: ops.Operator) -> Iterator[tuple[int, str]]:
    """Yield what may have another value in the next refresh, with a rank.

    Literals come first, then calls, then functions that are written without parentheses.
    """
    for expression in ops.written_expressions(node):
        for part in expression.tree.dfs():
            if isinstance(part, exp.Var):
                typed = _TYPED.fullmatch(part.name)
                if typed and (literal := functions.relative_literal(*typed.groups())):
                    yield 0, literal
            elif name := _varying_call(part):
                yield 1 if isinstance(part, exp.Anonymous) else 2, name


def _varying_call(node: exp.Expr) -> str:
    """Return the function that a node calls if its value may differ; empty for others."""
    name = call_name(node)
    is_empty = name in functions.TIME_DEPENDENT_IF_EMPTY and not node.expressions
    varies = is_empty or name in functions.RANDOM or name in functions.TIME_DEPENDENT
    return name if varies else ""


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
            name in functions.TIME_DEPENDENT_IF_EMPTY and is_sign(tokens, i + 2, ")")
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
        if after.keyword == "(" and word.kind is not TokenKind.STRING:
            yield i, word.name.lower()


def _is_random(tokens: Sequence[Token], i: int, name: str) -> bool:
    if name in functions.RANDOM:
        return True
    if name not in functions.ORDER_DEPENDENT:
        return False
    around = tokens[i - 2].name.lower() if i > 1 else ""
    in_order_free = is_sign(tokens, i - 1, "(") and around in functions.ORDER_FREE
    return not (in_order_free or _is_ordered(tokens, _closing(tokens, i + 1)))


def _is_ordered(tokens: Sequence[Token], close: int) -> bool:
    """Return whether an order follows a call: OVER (… ORDER BY …), OVER w, WITHIN GROUP."""
    i = close + 1
    while is_sign(tokens, i, "IGNORE", "RESPECT", "NULLS", "FILTER"):
        i = _closing(tokens, i + 1) + 1 if is_sign(tokens, i, "FILTER") else i + 1
    if is_sign(tokens, i, "WITHIN"):
        return True
    if not is_sign(tokens, i, "OVER") or i + 1 >= len(tokens):
        return False
    if not is_sign(tokens, i + 1, "("):
        return True
    window = tokens[i + 1 : _closing(tokens, i + 1)]
    return any(t.name.upper().startswith(("ORDER", "SORT")) for t in window)


def _closing(tokens: Sequence[Token], opening: int) -> int:
    found = closing(tokens, opening)
    return len(tokens) - 1 if found is None else found


def _may_be_persistent(tokens: Sequence[Token], i: int) -> bool:
    """Return whether a call may be of a catalog's function: no syntax, no alias list."""
    if not tokens[i].is_name:
        return False
    first = i - 2 * (len(_dotted(tokens, i)) - 1)
    before = tokens[first - 1] if first > 0 else None
    if before is None or not (before.is_name or before.keyword in ("AS", ")")):
        return True
    return before.name.upper() in _PIPE_WORDS


def _dotted(tokens: Sequence[Token], i: int) -> tuple[str, ...]:
    parts = [tokens[i].name]
    while is_sign(tokens, i - 1, ".") and i >= 2 and _is_word(tokens[i - 2]):
        i -= 2
        parts.insert(0, tokens[i].name)
    return tuple(parts)


def _is_word(token: Token) -> bool:
    return token.is_name or token.kind is TokenKind.WORD


def _bare(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield words that are functions without parentheses, unless a column has their name."""
    for i, token in enumerate(tokens):
        name = token.keyword.lower()
        if name not in functions.WITHOUT_PARENTHESES:
            continue
        is_field = is_sign(tokens, i - 1, ".") or is_sign(tokens, i + 1, ".")
        if not is_field and not is_sign(tokens, i - 1, "AS"):
            yield name


def _relative_literals(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield literals such as `DATE 'today'`."""
    for word, literal in pairwise(tokens):
        if literal.kind is TokenKind.STRING and (
            found := functions.relative_literal(word.name, literal.text)
        ):
            yield found


def _samples_freely(tokens: Sequence[Token]) -> bool:
    """Return whether there is a TABLESAMPLE without REPEATABLE."""
    for i, token in enumerate(tokens):
        if token.keyword == "TABLESAMPLE":
            after = _closing(tokens, i + 1) + 1
            if not is_sign(tokens, after, "REPEATABLE"):
                return True
    return False
