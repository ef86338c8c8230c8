"""Relations in the text of a query, with their offsets.

Spark has no way to print an expanded query, and regenerated SQL differs from the user's. So a query
is changed only by replacing names at their offsets, and every change keeps the other offsets.
Offsets are characters from 0. A query that sqlglot cannot read is no error: it is reported as
`readable=False`, and nothing in it is replaced. sqlglot cannot read Spark's syntax for streams and
`window(…)`. So text of the same length overwrites it, with the same relations and offsets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from dbt.adapters.spark_mt import sql_tokens
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.query.boundary import guarded
from dbt.adapters.spark_mt.sql_tokens import closing, is_sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
    from dbt.adapters.spark_mt.sql_tokens import Token


_RELATION_STARTS = ("FROM", "JOIN")
_FURTHEST = 60
"""The largest number of tokens in the column of a watermark."""


_PROCESSING_TIME = {"PROCTIME", "CURRENT_TIMESTAMP"}
_STAND_IN_ALIAS = "_wm"


def streams_of(tokens: Sequence[Token]) -> list[Token]:
    """Return the STREAM keywords: in a relation's place, before its name or a parenthesis."""
    return [
        token
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if token.is_name
        and token.keyword == "STREAM"
        and before.keyword in (*_RELATION_STARTS, ",", "(")
        and (after.is_name or (after.keyword == "(" and before.keyword in _RELATION_STARTS))
    ]


def unknown_words(tokens: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """Yield what sqlglot does not read: from which offset to which, and a word in its place."""
    done = -1
    for i, token in enumerate(tokens):
        if i <= done:
            continue
        last = _last_of(tokens, i)
        if last is not None:
            done = last
            yield token.start, tokens[last].end, ""
        elif token.keyword == "WINDOW" and is_sign(tokens, i + 1, "("):
            yield token.start, token.end, "windoo"


def _last_of(tokens: Sequence[Token], i: int) -> int | None:
    """Return the index of the last token of a clause that begins at `i`; None for no clause."""
    if tokens[i].keyword == "WITH" and is_sign(tokens, i + 1, "("):
        return closing(tokens, i + 1)
    follows = i > 0 and (tokens[i - 1].is_name or is_sign(tokens, i - 1, ")"))
    if tokens[i].keyword == "WATERMARK" and follows:
        return _watermark_end(tokens, i)
    return None


def _watermark_end(tokens: Sequence[Token], i: int) -> int | None:
    """Return the last token's index: `WATERMARK column DELAY OF INTERVAL 1 MINUTE 30 SECONDS`."""
    for j in range(i + 2, min(len(tokens) - 2, i + _FURTHEST)):
        if [token.keyword for token in tokens[j : j + 3]] == ["DELAY", "OF", "INTERVAL"]:
            last = sql_tokens.interval_end(tokens, j + 2)
            return last if last > j + 2 else None
    return None


@dataclass(frozen=True, slots=True)
class RelationRef:
    """A place in a query that names a relation outside the query.

    Args:
        parts: The name as written, without quotes, outermost first.
        start: Offset of its first character.
        end: Offset after its last character; VERSION AS OF goes here.
        aliased: Whether the query gives it another name.
        sampled: Whether TABLESAMPLE follows; an alias would have to follow that.
        pinned: Whether the user wrote VERSION AS OF or TIMESTAMP AS OF.
        streamed: Whether STREAM precedes it.
        tail: Offset after the parenthesis of STREAM(…) and the clauses of Spark after it (WITH
            options, WATERMARK); an alias goes there.
        begin: Offset of STREAM, or of the name without STREAM.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    aliased: bool = False
    sampled: bool = False
    pinned: bool = False
    streamed: bool = False
    tail: int = 0
    begin: int = 0


@dataclass(frozen=True, slots=True)
class QueryShape:
    """The relations that sqlglot finds in a query.

    Args:
        readable: Whether it could be read at all; otherwise nothing else is known.
        relations: In order of appearance.
        opaque: Names of table functions, which are in a relation's place without being one.
    """

    readable: bool
    relations: tuple[RelationRef, ...] = ()
    opaque: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WithoutLookups:
    """A query as Spark reads it, lookup clauses blanked out, and the relations before them.

    Args:
        text: As long as the original, every other character at its old offset.
        lookups: Names as written.
    """

    text: str
    lookups: tuple[tuple[str, ...], ...] = ()


def _no_tokens(_: str) -> tuple[Token, ...]:
    return ()


@guarded(_no_tokens)
def tokens_of(query: str) -> tuple[Token, ...]:
    """Return the tokens of a query; none where it cannot be split."""
    try:
        return sql_tokens.tokens_of(query)
    except sql_tokens.UnreadableTokensError:
        return ()


def tree_of(query: str) -> exp.Query | exp.Values | None:
    """Return sqlglot's tree of a query, whose identifiers have offsets; None for any other text.

    The tree is shared: it must not be changed.
    """
    try:
        return _parsed(readable_text(query))
    except (SqlglotError, RecursionError):
        return None


@lru_cache(maxsize=32)
def _parsed(text: str) -> exp.Query | exp.Values | None:
    # A failure is not kept: whether a text is nested too deeply depends on the caller's stack.
    tokens = list(sql_tokens.sqlglot_tokens(text))
    found = Spark().parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, text)
    tree = found[0] if len(found) == 1 else None  # of several statements none is the query
    return tree if isinstance(tree, (exp.Query, exp.Values)) else None


def _not_readable(_: str) -> QueryShape:
    return QueryShape(readable=False)


@guarded(_not_readable)
def shape_of(query: str) -> QueryShape:
    """Find the relations of `query`; names of CTEs count only outside their scope."""
    tree = tree_of(query)
    if tree is None:
        return QueryShape(readable=False)
    tokens = tokens_of(query)
    streams = streams_of(tokens)
    clauses = [(start, end) for start, end, word in unknown_words(tokens) if not word]
    relations: dict[int, RelationRef] = {}
    opaque: list[str] = []
    for table in tree.find_all(exp.Table):
        if isinstance(table.parent, exp.JoinHint) or _is_cte(table):
            continue
        if not all(isinstance(part, exp.Identifier) for part in table.parts):
            opaque.append(table.this.name or table.this.key)
        elif (ref := _ref(query, table, streams)) is not None:
            relations[ref.start] = replace(ref, tail=_tail(query, ref, clauses))
    return QueryShape(True, tuple(relations[k] for k in sorted(relations)), tuple(opaque))  # noqa: FBT003 - readable


def readable_text(query: str) -> str:
    """Return a query in words that sqlglot reads, every other character at its old offset."""
    tokens = tokens_of(query)
    streams = ((token.start, token.end, "") for token in streams_of(tokens))
    words = (*streams, *unknown_words(tokens))
    return replace_at(
        query, ((start, end, word or _blanks(query[start:end])) for start, end, word in words)
    )


@dataclass(frozen=True, slots=True)
class WatermarkClause:
    """A WATERMARK clause of a query.

    Args:
        column: The column of a row's time as written; an expression with an alias adds a column.
        delay: The interval as written.
        is_named: Whether the relation has an alias of its own.
    """

    column: str
    delay: str
    is_named: bool


def watermarks_of(query: str) -> tuple[str, dict[int, WatermarkClause]]:
    """Return the text of `readable_text`, and the WATERMARK clauses by the alias of the relation.

    An alias is known by its offset. A relation without one gets one in the place of the clause.
    """
    tokens = tokens_of(query)
    text = readable_text(query)
    clauses: dict[int, WatermarkClause] = {}
    for i, token in enumerate(tokens):
        last = _last_of(tokens, i) if token.keyword == "WATERMARK" else None
        if last is None:
            continue
        delay = next(j for j in range(i + 2, last) if is_sign(tokens, j, "DELAY"))
        column = query[token.end : tokens[delay].start].strip()
        alias = last + 1 + is_sign(tokens, last + 1, "AS")
        named = alias < len(tokens) and tokens[alias].is_name
        start = tokens[alias].start if named else token.start
        interval = query[tokens[delay + 2].start : tokens[last].end]
        clauses[start] = WatermarkClause(column, interval, named)
        if not named:
            text = replace_at(text, [(start, start + len(_STAND_IN_ALIAS), _STAND_IN_ALIAS)])
    return text, clauses


def _no_variables(_: str) -> tuple[str, ...]:
    return ()


@guarded(_no_variables)
def naming_variables(query: str) -> tuple[str, ...]:
    """Return the session variables by which IDENTIFIER(…) names something in a query."""
    tokens = tokens_of(query)
    found: dict[str, None] = {}
    for i, token in enumerate(tokens):
        if token.keyword != "IDENTIFIER" or not is_sign(tokens, i + 1, "("):
            continue
        last = closing(tokens, i + 1) or i
        for j in range(i + 2, last):
            if tokens[j].is_name and not is_sign(tokens, j + 1, ".", "("):
                found[tokens[j].name] = None
    return tuple(found)


def replace_at(query: str, replacements: Iterable[tuple[int, int, str]]) -> str:
    """Replace `query[start:end]` by each text; the ranges must not overlap."""
    pieces: list[str] = []
    done = 0
    for start, end, text in sorted(replacements):
        if start < done:
            raise ValueError(f"overlapping replacement at offset {start}")  # noqa: TRY003, EM102
        pieces += (query[done:start], text)
        done = end
    return "".join((*pieces, query[done:]))


def blank(query: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Overwrite ranges with spaces, keeping line ends, so that all offsets and lines stay."""
    return replace_at(query, ((a, b, _blanks(query[a:b])) for a, b in ranges))


def _blanks(text: str) -> str:
    return "".join(char if char in "\r\n" else " " for char in text)


def without_lookups(query: str) -> WithoutLookups:
    """Take out `FOR SYSTEM_TIME AS OF proctime()`, which Spark would read as time travel.

    Raises:
        MaterializedTableError: The expression of a lookup join is not the processing time.
    """
    tokens = tokens_of(query)
    ranges: list[tuple[int, int]] = []
    lookups: list[tuple[str, ...]] = []
    for i in range(len(tokens)):
        if [token.keyword for token in tokens[i : i + 4]] != ["FOR", "SYSTEM_TIME", "AS", "OF"]:
            continue
        last = _processing_time_end(tokens, i + 4)
        name = _name_before(tokens, i)
        if last is None or not name:
            raise _lookup_error(query, tokens, i, name)
        ranges.append((tokens[i].start, tokens[last].end))
        lookups.append(name)
    return WithoutLookups(blank(query, ranges), tuple(lookups))


def _processing_time_end(tokens: Sequence[Token], i: int) -> int | None:
    """Return the index of the last token of `proctime()` or `current_timestamp[()]` at `i`."""
    if i >= len(tokens) or tokens[i].name.upper() not in _PROCESSING_TIME:
        return None
    if is_sign(tokens, i + 1, "(") and is_sign(tokens, i + 2, ")"):
        end = i + 2
    else:
        end = i if tokens[i].name.upper() == "CURRENT_TIMESTAMP" else -1
    return None if end < 0 or is_sign(tokens, end + 1, "-", "+", ".") else end


def _name_before(tokens: Sequence[Token], i: int) -> tuple[str, ...]:
    parts: list[str] = []
    i -= 1
    while i >= 0 and tokens[i].is_name:
        parts.insert(0, tokens[i].name)
        if not is_sign(tokens, i - 1, "."):
            break
        i -= 2
    return tuple(parts)


def _lookup_error(
    query: str, tokens: Sequence[Token], i: int, name: tuple[str, ...]
) -> MaterializedTableError:
    rest = query[tokens[i + 3].end :].strip().splitlines()
    return conditions.LOOKUP_TIME_NOT_SUPPORTED(
        relation=".".join(name) or "a subquery",
        expression=rest[0][:60] if rest else "nothing",
        line=query.count("\n", 0, tokens[i].start) + 1,
    )


def _ref(query: str, table: exp.Table, streams: Sequence[Token]) -> RelationRef | None:
    """Return the place of `table`; None if sqlglot generated it (pipe syntax becomes CTEs)."""
    parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
    for part in parts:
        start, end = part.meta.get("start"), part.meta.get("end")
        if start is None or end is None or _unquoted(query[start : end + 1]) != part.name:
            return None
    start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
    between = {query[t.end : start].strip(): t.start for t in streams if t.end <= start}
    outer = table.parent if "(" in between and isinstance(table.parent, exp.Subquery) else None
    return RelationRef(
        parts=tuple(part.name for part in parts),
        start=start,
        end=end,
        aliased=bool(table.alias or (outer and outer.alias)),
        sampled=bool(table.args.get("sample")),
        pinned=bool(table.args.get("version") or table.args.get("when")),
        streamed=outer is not None or "" in between,
        tail=end if outer is None else query.index(")", end) + 1,
        begin=between.get("" if outer is None else "(", start),
    )


def _tail(query: str, ref: RelationRef, clauses: Iterable[tuple[int, int]]) -> int:
    """Return the offset after the clauses that follow a relation."""
    tail = ref.tail
    for start, end in clauses:
        if start >= tail and not query[tail:start].strip():
            tail = end
    return tail


def _unquoted(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def _is_cte(table: exp.Table) -> bool:
    """Return whether the name means a CTE: one in scope hides a table of the same name."""
    if table.db or not isinstance(table.this, exp.Identifier):
        return False
    return any(name == table.name.lower() for name in _visible_ctes(table))


def _visible_ctes(node: exp.Expr) -> Iterator[str]:
    """Yield the names of the CTEs in scope of `node`, innermost first.

    The body of a WITH sees all of its CTEs. Each CTE sees those before it, and under RECURSIVE also
    itself.
    """
    child = node
    while (current := child.parent) is not None:
        if isinstance(current, exp.With):
            yield from _before(current, child)
        else:
            with_ = current.args.get("with_")
            if isinstance(with_, exp.With) and with_ is not child:
                yield from (cte.alias.lower() for cte in with_.expressions)
        child = current


def _before(with_: exp.With, inside: exp.Expr) -> Iterator[str]:
    for cte in with_.expressions:
        if cte is not inside:
            yield cte.alias.lower()
            continue
        if with_.args.get("recursive"):
            yield cte.alias.lower()
        return
