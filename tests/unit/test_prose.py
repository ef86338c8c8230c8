"""Prose of texts and of names of tests: terms, references, module docstrings."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tools.prose import (
    CODE,
    ROOT,
    TERMS,
    TERMS_OF_NAMES,
    TESTS,
    Finding,
    Text,
    findings,
    long_sentences,
    names_of_module,
    pages,
    sources,
    texts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHEEL = ROOT / "dbt"
PACKAGE = WHEEL / "adapters" / "spark_mt"
OWN = {ROOT / "tools" / "prose.py", TESTS / "unit" / "test_prose.py"}
"""The files that have to name the terms."""

VERBS = (
    "Asks|Brings|Builds|Computes|Creates|Decides|Describes|Finds|Gives|Holds|Keeps|Lands|Loads|"
    "Makes|Parses|Prints|Provides|Reads|Renders|Resolves|Returns|Says|Sends|Serves|Shows|Starts|"
    "Stores|Takes|Tells|Waits|Writes"
)
"""Verbs with which no docstring of a module begins; forms that are also nouns are left out."""
MOST_WORDS = 40
"""Words of a sentence in a page. 20 are the rule; this is where a sentence fails."""
QUESTIONS = "How|What|Whatever|When|Where|Whether|Which|Who"


def package_of(path: Path) -> str | None:
    """The package of a module of the wheel, "macros" for macros; None for other files."""
    if path.is_relative_to(PACKAGE):
        return ".".join(path.relative_to(PACKAGE).parts[:-1])
    return "macros" if path.is_relative_to(WHEEL) else None


def packages() -> dict[str, list[Path]]:
    """The files of the wheel by their packages."""
    found: dict[str, list[Path]] = {}
    for path in sources("dbt"):
        package = package_of(path)
        if package is not None:
            found.setdefault(package, []).append(path)
    return found


@cache
def found_outside_of_the_wheel() -> tuple[Finding, ...]:
    return tuple(findings(checked()))


def checked() -> Iterator[Text]:
    """Every text outside of the wheel. Tests quote its messages, so theirs are left out."""
    for path in (*pages(), *sources(*CODE)):
        if package_of(path) is None and path not in OWN:
            for text in texts_of(path):
                if not (text.kind == "message" and path.is_relative_to(TESTS)):
                    yield text


def named(found: list[str]) -> str:
    return "\n".join(["", *found])


def test_texts_outside_of_the_wheel_use_the_terms_of_the_field() -> None:
    found = [str(each) for each in found_outside_of_the_wheel() if each.kind != "name"]

    assert not found, named(found)


def test_names_of_tests_use_the_terms_of_the_field() -> None:
    names = [each for each in found_outside_of_the_wheel() if each.kind == "name"]
    found = {each.context.replace(" ", "_"): str(each) for each in names}

    assert not found, named(list(found.values()))


@pytest.mark.parametrize("package", sorted(packages()))
def test_a_package_uses_the_terms_of_the_field(package: str) -> None:
    found = [
        str(finding)
        for path in packages()[package]
        for finding in findings(texts_of(path))
        if path not in OWN
    ]

    assert not found, named(found)


def test_module_docstrings_are_noun_phrases() -> None:
    """A verb at the start is no term to search for. Tests may be named by a question."""
    wrong = []
    for path in sources(*CODE):
        text = (
            ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
            if path.suffix == ".py"
            else None
        )
        first = VERBS if package_of(path) is None else f"{VERBS}|{QUESTIONS}"
        if text and re.match(rf"(?:{first})\b", text):
            wrong.append(f"{path.relative_to(ROOT)}: {text.splitlines()[0]}")

    assert not wrong, named(wrong)


def test_sentences_of_pages_are_short() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{text.line}: {sentence}"
        for path in pages()
        for text in texts_of(path)
        for sentence in long_sentences(text, MOST_WORDS)
    ]

    assert not found, named(found)


def named_paths(page: str) -> set[str]:
    """The files, modules and folders in a page that are written as code."""
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = r"(?:[\w.]+/)*[\w.]+\.(?:py|md|toml|xml|txt)|(?:[\w.]+/)+|(?:[a-z_]+/)+[a-z_]+"
    return set(re.findall(rf"`({paths})`", text))


def exists(path: str) -> bool:
    return any((below / path).exists() for below in (ROOT, PACKAGE)) or (
        (PACKAGE / f"{path}.py").exists()
    )


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_paths_in_pages_exist(page: str) -> None:
    made = ".work/"  # what targets of the Makefile write there
    missing = {path for path in named_paths(page) if not (path.startswith(made) or exists(path))}

    assert not missing
    assert named_paths(page)


def test_the_rule_of_commit_subjects_is_written_down() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    commits = text.partition("\n## Commits\n")[2].partition("\n## ")[0]

    types = set(re.findall(r"`([a-z]+)`", commits))
    examples = re.findall(r"```text\n(.*?)```", commits, re.DOTALL)[0].splitlines()
    subject = re.compile(rf"(?:{'|'.join(types)})\([a-z_-]+\): [a-z].{{,60}}[^.]")

    assert types == {"feat", "fix", "perf", "refactor", "docs", "test", "build", "ci", "chore"}
    assert "72 characters" in commits
    assert examples
    assert all(subject.fullmatch(line) and len(line) <= 72 for line in examples)


def used(text: str, kind: str = "docstring") -> list[str]:
    """The terms that a text of this module would be refused for."""
    path = TESTS / "unit" / "test_prose.py"
    return [finding.used for finding in findings([Text(path, 1, kind, text)])]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Nobody knows when the manager is told.", ["told", "Nobody"]),
        ("Computes the rows anew,\nbehind the stream.", ["anew", "behind"]),
        ("The job goes on by itself.", ["by itself", "goes on"]),
        (
            "Pinned reads (semantics 7), as in seed 435 and house.md.",
            ["seed 435", "semantics 7", "house.md"],
        ),
        ("It stands there, beside the table.", ["stands", "beside"]),
    ],
)
def test_a_term_of_the_list_is_found(text: str, terms: list[str]) -> None:
    assert used(text) == terms


@pytest.mark.parametrize(
    "text",
    [
        "The manager is behind a proxy, and behind the token.",
        "`$` stands for the current version.",
        "The state BEHIND is written as `BEHIND`, and a flag as ``told``.",
        "Args:\n    told: Rows in the order of their commits.",
        "Apart from that it holds a lease, found 3 rows and marks one.",
        "See [the page](operating.md#beside) and https://example.org/behind.",
    ],
)
def test_the_usual_meaning_of_a_word_is_not_found(text: str) -> None:
    assert [term for term in used(text) if term != "BEHIND"] == []


NAMES = """
@pytest.fixture
def whoever_asks(): ...
def test_a_source_made_anew_hinders_no_refresh(): ...
def test_a_foreign_key(): ...
def look_again(): ...
class TestForeignCommits: ...
"""


def test_names_of_tests_fixtures_and_classes_are_read_as_words(tmp_path: Path) -> None:
    path = tmp_path / "test_names.py"
    path.write_text(NAMES, encoding="utf-8")

    assert [found.used for found in findings(names_of_module(path))] == [
        "whoever",
        "anew",
        "hinders",
        "Foreign",
    ]


def test_a_finding_has_the_line_of_the_term() -> None:
    path = TESTS / "unit" / "test_prose.py"

    (found,) = findings([Text(path, 10, "comment", "One.\nTwo, and nobody.\nThree.")])

    assert (found.line, found.context) == (11, "Two, and nobody.")


def test_every_term_has_another_one_to_use() -> None:
    assert all(term.instead for term in (*TERMS, *TERMS_OF_NAMES))
