"""Prose of the project: texts, names of tests, and terms not to use.

`python tools/prose.py [path …]` lists the terms found below the paths, by default the project.
`tests/unit/test_prose.py` fails when there are any.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from tokenize import COMMENT, generate_tokens
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
CODE = ("dbt", "tests", "tools", "benchmarks", "examples")
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "docs",
    "changes",
    "examples",
)
_GENERATED = re.compile(r"<!-- generated: ([\w-]+) -->\n.*?<!-- end of \1 -->", re.DOTALL)
_FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[])")
_TAG = re.compile(r"<[^>]*>")
_MACRO_COMMENT = re.compile(r"\{#-?(.*?)-?#\}", re.DOTALL)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_LITERAL = re.compile(r"``.+?``|`[^`\n]+`|\]\([^)\s]*\)|https?://\S+|^[ ]{2,}\w+: ", re.MULTILINE)
"""Code, links, and the names of arguments in docstrings: no prose."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term that the project's texts do not use.

    Args:
        pattern: Regular expression of the term, matched without regard to case.
        instead: The terms to use.
        allowed: Regular expressions of phrases in which the term has its usual meaning.
    """

    pattern: str
    instead: str
    allowed: tuple[str, ...] = ()

    def found(self, text: str) -> Iterator[re.Match[str]]:
        """Every use of the term in a text, outside of the allowed phrases."""
        spans = [match.span() for phrase in self.allowed for match in _matches(phrase, text)]
        for match in _matches(rf"\b(?:{self.pattern})\b", text):
            if not any(start <= match.start() and match.end() <= end for start, end in spans):
                yield match


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return _compiled(pattern).finditer(text)


@dataclass(frozen=True, slots=True)
class Text:
    """A docstring, a comment, a message, a page, or a name in tests with spaces in it.

    Args:
        line: Number of the first line in the file.
    """

    path: Path
    line: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A use of a term that the project's texts do not use."""

    path: Path
    line: int
    kind: str
    used: str
    instead: str
    context: str

    def __str__(self) -> str:
        where = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return (
            f"{where}:{self.line}: {self.kind}: {self.used!r}, say {self.instead}: {self.context}"
        )


TERMS = (
    # Invented terms
    Term("makes? way|on (?:its|their) way", "is dropped; upstream"),
    Term("conducts?", "execution context", (r"code of conduct",)),
    Term("strangers?", "unmanaged table"),
    Term("tell|tells|told|telling", "return, report, write, show, record"),
    Term("hear|hears|heard", "last heartbeat; receive"),
    Term("overtak(?:e|es|en|ing)", "conflict"),
    Term("beaten", "conflict; loses the commit"),
    Term("upkeep", "maintenance"),
    Term("farewell", "release"),
    Term("going first|goes first", "writer priority"),
    Term("hand(?:s|ed)? over|handover", "adopt; pass"),
    Term("tally|tallies", "refresh statistics"),
    Term("hasten(?:s|ed)?", "retry now"),
    Term("firings?", "due runs"),
    Term("judge[sd]?", "decide; effective status"),
    Term("(?:commit|step) facts", "commit metadata"),
    Term("under way", "in progress, running"),
    Term("in vain", "without success; timeout"),
    # Actors without a name
    Term("nobody|no one", "name the actor, or use the passive"),
    Term("(?:some|any|every)body", "name the actor: a user, another writer, a process"),
    Term("(?:some|any|every)one", "name the actor: a user, another writer, a process"),
    # Words for another term
    Term("anew", "again"),
    Term("by itself|by themselves", "automatically"),
    Term("go(?:es|ing)? on|went on|gone on", "continue"),
    Term(
        "stands?|stood|standing",
        "is stored, is written, is",
        (r"stands? for", r"standing query"),
    ),
    Term("beside", "in parallel with; next to; in addition to"),
    Term(
        "behind",
        "after; downstream",
        (r"behind (?:a|an|the|its) (?:\w+ )?(?:prox(?:y|ies)|token|load balancer|firewall)",),
    ),
    Term("in front(?: of)?", "before", (r"proxy[\w ]* in front",)),
    Term("apart", "separate; distinguish", (r"apart from",)),
    # Personification
    Term("promis(?:e|es|ed|ing)", "guarantee; target"),
    Term("(?:in|of) (?:its|our|their|his|\\w+'s?) (?:own )?words", "in terms of"),
    Term("outlives?|outlived", "is kept after"),
    Term("speaks?|spoken", "supports, uses"),
    Term("(?:an?|one|each|every|next|last|first|second) looks?", "check, read"),
    # References that a reader of the repository cannot follow
    Term(r"seeds? \d+", "FLIP-<number>"),
    Term(r"(?:semantics|design) (?:§ ?)?\d[\d.]*", "a page of docs/"),
    Term(r"house\.md|feasibility(?:\.md)?|semantics\.md|design\.md", "a page of docs/"),
)

TERMS_OF_NAMES = (
    Term("foreign", "of another writer", ("foreign keys?",)),
    Term("hinders?", "block, delay"),
    Term("whoever|nobodys", "name the actor: a user, another writer, a process"),
    Term("words", "text, syntax, tokens"),
    Term("(?:holds?|held) up", "delay, affect"),
    Term("(?:gives?|given|gave) up", "fails; is suspended"),
    Term("made up for", "is repeated, follows"),
    Term("looks?(?: at| again| for)|looked (?:at|for)", "check, read, search"),
    Term("people", "users; as text"),
    Term("says? (?:so|why)|(?:is|was) said", "is reported; has a reason"),
    Term("meddl(?:e|es|ed|er|ing)", "change"),
    Term("awkward", "with special characters"),
)
"""Terms that are usual in a sentence and not in the name of a test, which has no context."""

_ANY = _compiled("|".join(rf"\b(?:{term.pattern})\b" for term in (*TERMS, *TERMS_OF_NAMES)))


def texts_of_page(path: Path) -> Iterator[Text]:
    """The prose of a Markdown page, without code samples and generated blocks."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    page = _FENCED.sub(blank, _GENERATED.sub(blank, path.read_text(encoding="utf-8")))
    for number, line in enumerate(page.splitlines(), 1):
        if line.strip():
            yield Text(path, number, "page", line)


def texts_of_module(path: Path) -> Iterator[Text]:
    """Docstrings, comments and messages of a Python module.

    A message is a string with a space in it. The literal parts of an f-string count as one.
    """
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings = set(_docstrings(tree))
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            literal = (v.value for v in node.values if isinstance(v, ast.Constant))
            yield Text(path, node.lineno, "message", "…".join(map(str, literal)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node in docstrings:
                yield Text(path, node.lineno, "docstring", node.value)
            elif " " in node.value.strip() and id(node) not in parts:
                yield Text(path, node.lineno, "message", node.value)
    yield from _comments(path, source)


def names_of_module(path: Path) -> Iterator[Text]:
    """Names of tests, fixtures and classes of a Python module, split into words."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named = isinstance(node, ast.ClassDef) or (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.name.startswith("test") or _is_fixture(node))
        )
        if named:
            yield Text(path, node.lineno, "name", _CAMEL.sub(" ", node.name).strip())


def _is_fixture(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("fixture" in ast.unparse(each) for each in node.decorator_list)


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every string that is a statement: docstrings, and those below an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _comments(path: Path, source: str) -> Iterator[Text]:
    """Blocks of comments; lines that follow each other are one text."""
    lines: list[str] = []
    first = last = -1
    for token in generate_tokens(StringIO(source).readline):
        if token.type == COMMENT:
            if lines and token.start[0] != last + 1:
                yield Text(path, first, "comment", "\n".join(lines))
                lines = []
            first = token.start[0] if not lines else first
            last = token.start[0]
            lines.append(token.string.lstrip("# "))
    if lines:
        yield Text(path, first, "comment", "\n".join(lines))


def texts_of_macros(path: Path) -> Iterator[Text]:
    """Comments of a file of Jinja macros."""
    source = path.read_text(encoding="utf-8")
    for match in _MACRO_COMMENT.finditer(source):
        yield Text(path, source.count("\n", 0, match.start(1)) + 1, "comment", match[1])


def texts_of_template(path: Path) -> Iterator[Text]:
    """The lines of an HTML template without its tags: text, and the texts that Jinja prints."""
    page = _TAG.sub(lambda match: "\n" * match[0].count("\n"), path.read_text(encoding="utf-8"))
    for number, line in enumerate(page.splitlines(), 1):
        if line.strip():
            yield Text(path, number, "template", line)


def texts_of(path: Path) -> Iterator[Text]:
    """All texts of a file, by its suffix, and the names in tests."""
    readers = {
        ".html": texts_of_template,
        ".md": texts_of_page,
        ".py": texts_of_module,
        ".sql": texts_of_macros,
    }
    yield from readers[path.suffix](path)
    if path.suffix == ".py" and path.is_relative_to(TESTS):
        yield from names_of_module(path)


def findings(texts: Iterable[Text]) -> Iterator[Finding]:
    """Every use of a term of the list, with its line."""
    for text in texts:
        prose = _LITERAL.sub(lambda match: "_" * len(match[0]), text.text)
        joined = prose.replace("\n", " ")
        if not _ANY.search(joined):
            continue
        for term in (*TERMS, *(TERMS_OF_NAMES if text.kind == "name" else ())):
            for match in term.found(joined):
                offset = prose.count("\n", 0, match.start())
                context = text.text.splitlines()[offset].strip()
                yield Finding(
                    text.path, text.line + offset, text.kind, match[0], term.instead, context
                )


def long_sentences(text: Text, most: int) -> Iterator[str]:
    """Sentences of a page with more words than allowed; rows of tables have none."""
    if not text.text.startswith("|"):
        prose = _LINK.sub(r"\1", text.text)
        yield from (s for s in _SENTENCE.split(prose) if len(s.split()) > most)


def pages() -> Iterator[Path]:
    """Every Markdown page."""
    for name in PAGES:
        path = ROOT / name
        yield from sorted(path.rglob("*.md")) if path.is_dir() else [path]


def sources(*folders: str) -> Iterator[Path]:
    """Every file of Python, of macros or of templates below folders of the project."""
    for name in folders:
        yield from sorted((ROOT / name).rglob("*.py"))
        yield from sorted((ROOT / name).rglob("*.html"))
        yield from sorted((ROOT / name / "include").rglob("*.sql"))


def main(arguments: list[str]) -> int:
    """List the findings below paths."""
    below = [Path(argument).resolve() for argument in arguments] or [ROOT]
    paths = [path for path in (*pages(), *sources(*CODE)) if path != Path(__file__).resolve()]
    for path in paths:
        if any(path.is_relative_to(folder) for folder in below):
            for finding in findings(texts_of(path)):
                print(finding)  # noqa: T201 - this is a command
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
