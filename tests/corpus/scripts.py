"""SQL tests of Spark: their files as statements, with tables in place of temporary views."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tests.corpus.sources import Column, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.corpus.jars import TestsJar

FOLDER = "sql-tests/inputs"
LEFT_OUT = {
    "udf": "functions in Scala and Python that Spark's suite registers for itself",
    "udaf": "aggregate functions that Spark's suite registers for itself",
    "udtf": "table functions in Python that Spark's suite registers for itself",
    "scripting": "SQL scripts, which are no queries",
}
"""Folders whose files are not run, each with what they need."""

_DELIMITED = re.compile(r"^--QUERY-DELIMITER-START$(.*?)^--QUERY-DELIMITER-END$", re.M | re.S)
_END = re.compile(r"(?<=[^\\]);")
_IMPORT, _SET = "--IMPORT ", "--SET "
_OF_FOLDERS = {
    "nonansi": ("spark.sql.ansi.enabled", "false"),
    "timestampNTZ": ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
}
_BEFORE = re.compile(r"\A\s*(?:--[^\n]*(?:\n\s*|\Z))+")
_COMMENTS = re.compile(r"/\*(?!\+).*?\*/", re.DOTALL)
_QUERY = re.compile(r"(?:SELECT|WITH|FROM|TABLE|VALUES)(?![\w.])|\(", re.I)
_WRITES = re.compile(r"\bINSERT\s+(?:INTO|OVERWRITE)\b", re.IGNORECASE)
"""What a WITH or a FROM can begin as well as a query."""
_TEMPORARY = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+)?TEMP(?:ORARY)?\s+VIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    r"(?P<name>[\w.`]+)\s*(?P<columns>\([^()]*\))?\s*AS\b\s*(?P<query>.*)",
    re.I | re.S,
)
_TABLE = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\b", re.I)
_USING = re.compile(r"\bUSING\s+(?:parquet|json|orc|csv|hive|text|\$\w+)\b", re.I)
_ADDS = re.compile(r"(?:CREATE\s+(?!OR\s+REPLACE)|INSERT\s+INTO|ANALYZE|DESC|SHOW|EXPLAIN)\b", re.I)


class Kind(Enum):
    """What a statement does."""

    QUERY = "query"
    ADDS = "adds"
    """It leaves every object that is there with its meaning."""
    CHANGES = "changes"


@dataclass(frozen=True)
class Statement:
    """A statement of a file.

    Args:
        text: The statement, without comments.
        kind: What it does.
    """

    text: str
    kind: Kind


@dataclass(frozen=True)
class Script:
    """A file of Spark's SQL tests.

    Args:
        name: Its path without the ending, such as `sql-tests/group-by`.
        confs: What it runs with.
        statements: Its statements.
    """

    name: str
    confs: tuple[tuple[str, str], ...]
    statements: tuple[Statement, ...]

    @property
    def has_queries(self) -> bool:
        """Whether it has a query."""
        return any(each.kind is Kind.QUERY for each in self.statements)


def scripts(jar: TestsJar) -> tuple[Script, ...]:
    """Return the files of Spark's SQL tests that can be run, by name."""
    paths = (PurePosixPath(name) for name in jar.names if name.startswith(f"{FOLDER}/"))
    texts = {
        str(path.relative_to(FOLDER)): jar.text(str(path))
        for path in paths
        if path.suffix == ".sql" and path.relative_to(FOLDER).parts[0] not in LEFT_OUT
    }
    found = (script(name, texts) for name in sorted(texts))
    return tuple(each for each in found if each.has_queries)


def script(name: str, texts: Mapping[str, str]) -> Script:
    """Read a file.

    Args:
        name: Its path below the folder of all files.
        texts: The texts of all files, by path.
    """
    lines = texts[name].splitlines()
    imported = [line.removeprefix(_IMPORT) for line in lines if line.startswith(_IMPORT)]
    whole = "\n".join((*(texts[each.strip()] for each in imported), texts[name]))
    settings = [line.removeprefix(_SET) for line in whole.splitlines() if line.startswith(_SET)]
    pairs = (each.partition("=") for line in settings for each in line.split(","))
    own = [(key.strip(), value.strip()) for key, _, value in pairs]
    folders = [conf for folder, conf in _OF_FOLDERS.items() if f"{folder}/" in name]
    return Script(
        f"sql-tests/{name.removesuffix('.sql')}",
        (*folders, *own),
        tuple(Statement(text, _kind(text)) for text in statements(whole)),
    )


def statements(text: str) -> Iterator[str]:
    """Yield the statements of a file, without comments."""
    at = 0
    for found in _DELIMITED.finditer(text):
        yield from _split(text[at : found.start()])
        yield from _split(re.sub(r"^--QUERY-DELIMITER.*$", "", found[1], flags=re.M), whole=True)
        at = found.end()
    yield from _split(text[at:])


def _split(text: str, *, whole: bool = False) -> Iterator[str]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    code = _COMMENTS.sub(" ", "\n".join(lines))
    for part in [code] if whole else _END.split(code):
        found = _BEFORE.sub("", part).strip().rstrip(";").strip()
        if found:
            yield found


def _kind(text: str) -> Kind:
    if _QUERY.match(text) and not _WRITES.search(text):
        return Kind.QUERY
    return Kind.ADDS if _ADDS.match(text) else Kind.CHANGES


def alternatives(text: str, *, reads_tables: bool) -> Sequence[str]:
    """Return statements to try for a statement, the first that Spark takes being the one to use.

    A temporary view becomes a table of the format under test where it has rows of its own, and a
    persistent view where it reads tables. A table gets that format in place of its own.

    Args:
        text: The statement.
        reads_tables: Whether the query of a temporary view reads a table.
    """
    if (found := _TEMPORARY.match(text)) is not None:
        columns, query = found["columns"] or "", found["query"]
        name = found["name"].rpartition(".")[2]
        view = f"CREATE OR REPLACE VIEW {name} {columns} AS {query}"
        if reads_tables:
            return (view, text)
        rows = f"SELECT * FROM (\n{query}\n) AS {name}{columns}"
        return (f"CREATE OR REPLACE TABLE {name} USING delta AS {rows}", view, text)
    if _TABLE.match(text):
        return (_USING.sub("USING delta", text),)
    return (text,)


def temporary_query(text: str) -> str | None:
    """Return the query of a temporary view that a statement creates."""
    found = _TEMPORARY.match(text)
    return found["query"] if found is not None else None


_POSTGRES = "test-data/postgresql"
_WISCONSIN = (
    "unique1 unique2 two four ten twenty hundred thousand twothousand fivethous tenthous odd even"
)
_STRINGS = ("stringu1", "stringu2", "string4")
_FEW = 60


def common_sources(jar: TestsJar) -> tuple[Source, ...]:
    """Return the tables that Spark's suite creates for all files, shortened."""
    names = (*_WISCONSIN.split(), *_STRINGS)
    wisconsin = tuple(Column(name, "STRING" if name in _STRINGS else "INT") for name in names)
    return (
        Source(
            "testdata",
            (Column("key", "INT"), Column("value", "STRING")),
            tuple((str(number), str(number)) for number in range(1, _FEW)),
        ),
        Source("aggtest", (Column("a", "INT"), Column("b", "FLOAT")), _lines(jar, "agg")),
        Source("onek", wisconsin, _lines(jar, "onek")),
        Source("tenk1", wisconsin, _lines(jar, "tenk")),
    )


def _lines(jar: TestsJar, name: str) -> tuple[tuple[str | None, ...], ...]:
    lines = jar.text(f"{_POSTGRES}/{name}.data").splitlines()[:_FEW]
    return tuple(tuple(line.split("\t")) for line in lines)


NESTED_SOURCES = {
    "arraydata": "SELECT * FROM VALUES (array(1, 2, 3), array(array(1, 2, 3))), "
    "(array(2, 3, 4), array(array(2, 3, 4))) AS t(arraycol, nestedarraycol)",
    "mapdata": "SELECT map(id, concat('a', id), id + 1, 'b') AS mapcol "
    "FROM (SELECT CAST(id AS INT) AS id FROM range(1, 5))",
}
"""The tables of Spark's suite with nested columns, as queries."""
