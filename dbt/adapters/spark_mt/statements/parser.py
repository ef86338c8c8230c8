"""Parser of CREATE, ADOPT, CHECK, DROP, SHOW, DESC and EXPLAIN, and routing of statements.

Routing decides which statements are about materialized tables. All others go to Spark byte for
byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt import sql_tokens
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Check, ColumnSpec, Constraint, PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.sql_tokens import TokenKind
from dbt.adapters.spark_mt.statements import alter_parser, clauses, lexer, nodes
from dbt.adapters.spark_mt.statements import values as clause_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.errors import StatementSyntaxError
    from dbt.adapters.spark_mt.sql_tokens import Token
    from dbt.adapters.spark_mt.statements.nodes import Statement


_CONSTRAINT_WORDS = frozenset({"PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES", "CHECK", "CONSTRAINT"})
_AFTER_TYPE = frozenset(
    {"NOT", "NULL", "COMMENT", "DEFAULT", "GENERATED", "METADATA", "MASK", *_CONSTRAINT_WORDS}
)
_OPENING = "(<["
_CLOSING = ")>]"


MENTION = r"materialized|\bjobs?\b"
"""What every statement about materialized tables contains, whatever the case."""
_MENTION = re.compile(MENTION, re.IGNORECASE)
_WORD = re.compile(r"\w+")
_MOST_WORDS = 9
_TABLE = r"(?:GLOBAL )?(?:TEMP |TEMPORARY )?MATERIALIZED TABLE\b"
_CREATE = rf"CREATE (?:OR \w+ )?{_TABLE}"
_OURS = re.compile(
    "|".join(
        (
            _CREATE,
            rf"(?:ADOPT|ALTER|CHECK|DROP) {_TABLE}",
            r"SHOW CREATE (?:OR ALTER )?MATERIALIZED TABLE\b",
            r"SHOW MATERIALIZED TABLES?\b",
            r"SHOW JOBS\b",
            r"DESC(?:RIBE)? (?:EXTENDED )?MATERIALIZED TABLE\b",
            r"DESC(?:RIBE)? JOB (?:R )?['\"]",
            rf"EXPLAIN (?:\w+ )?(?:{_CREATE}|(?:ADOPT|ALTER|DROP) {_TABLE})",
        )
    )
)


def _read_column_list(
    cursor: lexer.Cursor,
) -> tuple[tuple[ColumnSpec, ...], tuple[Constraint, ...]]:
    """Read what is between the parentheses after the table's name."""
    columns: list[tuple[ColumnSpec, Token]] = []
    constraints: list[Constraint] = []

    def read(cursor: lexer.Cursor) -> None:
        token = cursor.peek()
        if cursor.at("WATERMARK", "FOR"):
            raise cursor.error(
                conditions.WATERMARK_CLAUSE, option=alter_parser.watermark_option(cursor, 0)
            )
        if not _at_constraint(cursor):
            columns.append((_read_column(cursor), token))
            return
        constraint = _read_constraint(cursor)
        is_key = isinstance(constraint, PrimaryKey)
        if is_key and any(isinstance(other, PrimaryKey) for other in constraints):
            raise cursor.error(conditions.REPEATED_CLAUSE, token, clause="PRIMARY KEY")
        constraints.append(constraint)

    cursor.items(read)
    clause_values.refuse_duplicates(
        cursor, [(column.name, token) for column, token in columns], "column"
    )
    bare = {column.name: token for column, token in columns if column.type is None}
    typed = ", ".join(column.name for column, _ in columns if column.type is not None)
    if bare and typed:
        first = next(iter(bare.values()))
        raise cursor.error(conditions.MIXED_COLUMN_LIST, first, bare=", ".join(bare), typed=typed)
    return tuple(column for column, _ in columns), tuple(constraints)


def _at_constraint(cursor: lexer.Cursor) -> bool:
    """Whether a constraint comes next and not a column with a constraint's keyword as its name."""
    named = cursor.at("CONSTRAINT") and cursor.peek(2).keyword in _CONSTRAINT_WORDS
    key = cursor.at("PRIMARY", "KEY") or cursor.at("FOREIGN", "KEY")
    return named or key or any(cursor.at(w, "(") for w in ("CHECK", "UNIQUE"))


def _read_constraint(cursor: lexer.Cursor) -> Constraint:
    instead = alter_parser.constraint_advice(cursor)
    name = cursor.name("a constraint's name") if cursor.accept("CONSTRAINT") else None
    if cursor.accept("PRIMARY", "KEY"):
        columns = clause_values.read_column_names(cursor)
        if not cursor.accept("NOT", "ENFORCED"):
            raise cursor.error(conditions.ENFORCED_KEY)
        return PrimaryKey(columns, name)
    if cursor.accept("CHECK"):
        return Check(_read_condition(cursor), name)
    raise cursor.error(conditions.UNSUPPORTED_CONSTRAINT, instead=instead)


def _read_condition(cursor: lexer.Cursor) -> str:
    """Read `( expression )`, byte for byte without what surrounds it."""
    cursor.expect("(")
    first = cursor.peek()
    depth = 1
    while not (cursor.at_end() or cursor.at(";")):
        depth += {"(": 1, ")": -1}.get(cursor.peek().text, 0)
        if depth == 0:
            break
        cursor.next()
    if cursor.peek() is first:
        raise cursor.expected(what="a condition")
    last = cursor.previous
    if not cursor.accept(")"):
        raise cursor.expected(what="a closing parenthesis")
    return cursor.text_between(first, last)


def _read_column(cursor: lexer.Cursor) -> ColumnSpec:
    name = cursor.name("a column's name")
    if cursor.at(",") or cursor.at(")"):
        return ColumnSpec(name)
    if cursor.at("AS"):
        raise _unsupported_option(cursor, name)
    type_, not_null, comment = _read_type(cursor), False, None
    while not (cursor.at(",") or cursor.at(")") or cursor.at_end()):
        token = cursor.peek()
        if cursor.accept("NOT"):
            cursor.expect("NULL")
            repeated, not_null = not_null, True
        elif cursor.accept("COMMENT"):
            repeated, comment = comment is not None, cursor.string("a comment")
        elif token.keyword in _CONSTRAINT_WORDS:
            instead = alter_parser.constraint_advice(cursor, name)
            raise cursor.error(conditions.UNSUPPORTED_CONSTRAINT, instead=instead)
        else:
            raise _unsupported_option(cursor, name)
        if repeated:
            raise cursor.error(conditions.REPEATED_CLAUSE, token, clause=token)
    return ColumnSpec(name, type_, not_null, comment)


def _unsupported_option(cursor: lexer.Cursor, column: str) -> StatementSyntaxError:
    """Return the error about what follows a column, with the value that it gives."""
    option = cursor.next()
    if option.keyword == "GENERATED":
        cursor.accept("ALWAYS")
        cursor.accept("AS")
    first = last = cursor.peek()
    depth = 0
    while not cursor.at_end() and not (depth == 0 and cursor.peek().text in (",", ")")):
        last = cursor.next()
        depth += {"(": 1, ")": -1}.get(last.text, 0)
    gives = option.keyword in ("AS", "GENERATED", "DEFAULT") and last is cursor.previous
    expression = cursor.text_between(first, last) if gives and first is not cursor.peek() else ""
    instead = alter_parser.computed_advice(option.keyword, expression, column)
    return cursor.error(conditions.UNSUPPORTED_COLUMN_OPTION, option, instead=instead)


def _read_type(cursor: lexer.Cursor) -> str:
    """Read a type such as `STRUCT<a: INT, b: ARRAY<STRING>>`, byte for byte; Spark checks it."""
    first = cursor.peek()
    if first.kind is not TokenKind.WORD or first.keyword in _AFTER_TYPE:
        raise cursor.expected(what="a column's type, a comma or a closing parenthesis")
    depth = 0
    while not (cursor.at_end() or cursor.at(";")):
        token = cursor.peek()
        if depth == 0 and (token.text in (",", ")") or token.keyword in _AFTER_TYPE):
            break
        if token.kind is TokenKind.SIGN:
            depth += sum((c in _OPENING) - (c in _CLOSING) for c in token.text)
        if depth < 0:
            break
        cursor.next()
    if depth != 0:
        raise cursor.expected(what="a type whose brackets are closed")
    return cursor.text_between(first, cursor.previous)


def _create_parts() -> clauses.PartList:
    columns = clauses.Part("items", ("(",), _read_column_list, title="(column, …)", keep=True)
    places = {place: [c for c in clauses.CLAUSES if c.place is place] for place in clauses.Place}
    parts = [
        part
        for place in clauses.Place
        for clause in places[place]
        for part in clauses.parts_of(clause)
    ]
    # The FLIPs put either pair after WITH and never combine them.
    orders = (
        (clauses.Place.HEAD, clauses.Place.REFRESH, clauses.Place.EVOLUTION),
        (clauses.Place.HEAD, clauses.Place.EVOLUTION, clauses.Place.REFRESH),
    )
    fields = (tuple(c.field for place in order for c in places[place]) for order in orders)
    return clauses.PartList((columns, *parts), tuple((columns.field, *order) for order in fields))


CREATE_PARTS = _create_parts()


def _read_create(cursor: lexer.Cursor) -> nodes.CreateTable:
    cursor.expect("CREATE")
    form = nodes.CreateForm.CREATE
    if cursor.accept("OR"):
        form = nodes.CreateForm(f"CREATE OR {cursor.choice('CREATE OR …', ('ALTER', 'REPLACE'))}")
    cursor.statement = f"{form.value} MATERIALIZED TABLE"
    lexer.refuse_temporary(cursor, ", or create a temporary view, which stores no rows")
    cursor.expect("MATERIALIZED", "TABLE")
    token = cursor.peek()
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    if if_not_exists and form is not nodes.CreateForm.CREATE:
        raise cursor.error(conditions.IF_NOT_EXISTS, token, form=form.value)
    name = lexer.read_table_name(cursor)
    values: dict[str, Any] = clauses.read_clauses(cursor, CREATE_PARTS)
    columns, constraints = values.pop("items", ((), ()))
    declared = DeclaredDefinition(clause_values.read_query(cursor), columns, constraints, **values)
    return nodes.CreateTable(form, name, declared, if_not_exists)


def _read_adopt(cursor: lexer.Cursor) -> nodes.Adopt:
    cursor.statement = "ADOPT MATERIALIZED TABLE"
    cursor.expect("ADOPT")
    lexer.refuse_temporary(cursor)
    cursor.expect("MATERIALIZED", "TABLE")
    name = lexer.read_table_name(cursor)
    if_equal = cursor.accept("IF", "EQUAL")
    as_of = _read_instant(cursor) if cursor.accept("AS", "OF") else None
    values: dict[str, Any] = clauses.read_clauses(cursor, CREATE_PARTS)
    columns, constraints = values.pop("items", ((), ()))
    declared = DeclaredDefinition(clause_values.read_query(cursor), columns, constraints, **values)
    return nodes.Adopt(name, declared, if_equal, as_of)


def _read_instant(cursor: lexer.Cursor) -> datetime:
    cursor.expect("TIMESTAMP")
    token = cursor.peek()
    text = cursor.string("a timestamp")
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise cursor.error(conditions.ADOPT_INSTANT, token, value=text) from error


def _read_check(cursor: lexer.Cursor) -> nodes.CheckTable:
    cursor.statement = "CHECK MATERIALIZED TABLE"
    cursor.expect("CHECK")
    lexer.refuse_temporary(cursor)
    cursor.expect("MATERIALIZED", "TABLE")
    name = lexer.read_table_name(cursor)
    known = tuple(kind.value for kind in nodes.CheckKind)
    kind = nodes.CheckKind(cursor.choice("CHECK MATERIALIZED TABLE", known))
    is_limited = kind is nodes.CheckKind.FRESHNESS and cursor.accept("WITHIN")
    return nodes.CheckTable(
        name, kind, clause_values.read_freshness(cursor) if is_limited else None
    )


def _read_drop(cursor: lexer.Cursor) -> nodes.DropTable:
    cursor.statement = "DROP MATERIALIZED TABLE"
    cursor.expect("DROP")
    lexer.refuse_temporary(cursor)
    cursor.expect("MATERIALIZED", "TABLE")
    if_exists = cursor.accept("IF", "EXISTS")
    return nodes.DropTable(lexer.read_table_name(cursor), if_exists)


def _read_show(cursor: lexer.Cursor) -> nodes.ShowTables | nodes.ShowCreate | nodes.ShowJobs:
    cursor.statement = "SHOW"
    cursor.expect("SHOW")
    if cursor.accept("JOBS"):
        return nodes.ShowJobs()
    return _read_show_create(cursor) if cursor.accept("CREATE") else _read_show_tables(cursor)


def _read_describe(cursor: lexer.Cursor) -> nodes.DescribeTable | nodes.DescribeJob:
    cursor.statement = cursor.next().keyword
    if cursor.accept("JOB"):
        return nodes.DescribeJob(cursor.string("a job's id"))
    extended = cursor.accept("EXTENDED")
    cursor.expect("MATERIALIZED", "TABLE")
    cursor.statement = f"{cursor.statement} MATERIALIZED TABLE"
    # A table may be called extended: then nothing, or a dot, follows it.
    if cursor.at("EXTENDED") and cursor.peek(1).kind in (
        TokenKind.WORD,
        TokenKind.QUOTED,
    ):
        cursor.next()
        extended = True
    return nodes.DescribeTable(lexer.read_table_name(cursor), extended)


def _read_explain(cursor: lexer.Cursor) -> nodes.Explain:
    cursor.statement = "EXPLAIN"
    cursor.expect("EXPLAIN")
    if cursor.at("CREATE"):
        return nodes.Explain(_read_create(cursor))
    if cursor.at("ADOPT"):
        return nodes.Explain(_read_adopt(cursor))
    token = cursor.peek()
    if cursor.at("ALTER"):
        statement = alter_parser.read_alter(cursor)
        if isinstance(statement, nodes.AlterQuery):
            return nodes.Explain(statement)
        cursor.statement = "EXPLAIN"
    what = "ALTER without AS query" if token.keyword == "ALTER" else token
    raise cursor.error(conditions.UNSUPPORTED_EXPLAIN, token, what=what)


def _read_show_create(cursor: lexer.Cursor) -> nodes.ShowCreate:
    or_alter = cursor.accept("OR")
    if or_alter:
        cursor.expect("ALTER")
    cursor.statement = f"SHOW CREATE {'OR ALTER ' if or_alter else ''}MATERIALIZED TABLE"
    cursor.expect("MATERIALIZED", "TABLE")
    return nodes.ShowCreate(lexer.read_table_name(cursor), or_alter)


def _read_show_tables(cursor: lexer.Cursor) -> nodes.ShowTables:
    cursor.statement = "SHOW MATERIALIZED TABLES"
    cursor.expect("MATERIALIZED", "TABLES")
    schema: tuple[str, ...] = ()
    if cursor.accept("FROM") or cursor.accept("IN"):
        schema = lexer.read_parts(cursor, 2, "a schema's name")
    negated = cursor.accept("NOT")
    pattern = None
    if negated or cursor.at("LIKE"):
        cursor.expect("LIKE")
        pattern = cursor.string("a pattern")
    return nodes.ShowTables(schema, pattern, negated)


_READERS: dict[str, Callable[[lexer.Cursor], Statement]] = {
    "CREATE": _read_create,
    "ALTER": alter_parser.read_alter,
    "ADOPT": _read_adopt,
    "CHECK": _read_check,
    "DROP": _read_drop,
    "SHOW": _read_show,
    "DESC": _read_describe,
    "DESCRIBE": _read_describe,
    "EXPLAIN": _read_explain,
}


def parse(sql: str) -> Statement:
    """Read one statement about materialized tables; `parse_statement` decides first if it is one.

    Comments before it and a semicolon after it do not count.

    Raises:
        StatementSyntaxError: The text does not follow the grammar.
    """
    cursor = lexer.Cursor(sql)
    read = _READERS.get(cursor.peek().keyword)
    if read is None:
        raise cursor.expected(" or ".join(_READERS))
    statement = read(cursor)
    lexer.expect_end(cursor)
    return statement


FIRST_WORDS = tuple(_READERS)


def parse_statement(sql: str) -> Statement | None:
    """Read a statement of any SQL, comments before it included, if it is about our tables.

    Returns:
        None where it is Spark's, also when it cannot be read at all.

    Raises:
        StatementSyntaxError: It is ours and does not follow the grammar.
    """
    return parse(sql) if is_ours(sql) else None


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement with its text, parsed once where it enters the process.

    Args:
        text: The text.
        node: The statement about materialized tables; None for one of Spark.
    """

    text: str
    node: Statement | None

    @classmethod
    def of(cls, statement: str | ParsedStatement) -> ParsedStatement:
        """Parse a text; a statement that is parsed already stays as it is.

        Raises:
            StatementSyntaxError: It is about materialized tables and does not follow the grammar.
        """
        if isinstance(statement, ParsedStatement):
            return statement
        return cls(statement, parse_statement(statement))


def is_ours(sql: str) -> bool:
    """Decide by its first words whether a statement is about materialized tables.

    Only the words are looked at: a text that does not mention the keywords costs one search, and
    no text is ever tokenized here.
    """
    return _MENTION.search(sql) is not None and _OURS.match(_head(sql)) is not None


def _head(sql: str) -> str:
    """Return the first words in upper case with one blank between, and the sign after them."""
    words: list[str] = []
    offset = sql_tokens.skip_blank(sql, 0)
    while len(words) < _MOST_WORDS and (match := _WORD.match(sql, offset)):
        words.append(match[0].upper())
        offset = sql_tokens.skip_blank(sql, match.end())
    return " ".join([*words, sql[offset : offset + 1]])


def parse_name(text: str) -> TableName:
    """Return the table that a name of one to three parts, quoted if need be, would mean.

    Raises:
        StatementSyntaxError: It is no name, or more than a name.
    """
    cursor = lexer.Cursor(text)
    cursor.statement = "The name"
    name = lexer.read_table_name(cursor)
    lexer.expect_end(cursor)
    return name
