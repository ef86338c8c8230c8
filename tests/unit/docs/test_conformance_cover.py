"""The list of what CI leaves to `make conformance`, compared with the marks and the tests."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.conformance import COVERS, FUNCTIONAL, TESTS, marked

MARKED = marked()
LEFT = sorted({test for row in COVERS for test in row.left})
BY = sorted({test for row in COVERS for test in row.by})


def file_of(test):
    """The path of a test's file, and the names after it."""
    file, _, name = test.partition("::")
    folder = TESTS.parent if file.startswith("tests/") else FUNCTIONAL
    return folder / file, name.split("::") if name else []


@cache
def body_of(path):
    """The statements of a file."""
    return ast.parse(path.read_text(encoding="utf-8")).body


def inner(body, name):
    """The class or function of a name; None where the file has none."""
    nodes = [each for each in body if getattr(each, "name", None) == name]
    return nodes[0] if nodes else None


SUITES = "".join(path.read_text(encoding="utf-8") for path in TESTS.glob("behaviour/*.py"))


def inherited(name):
    """Whether a suite of behaviours, of which a class takes a part, has a test."""
    return f"def {name}(" in SUITES


def test_every_mark_is_in_the_list():
    named = {test.partition("::")[0] for test in LEFT if "::" not in test}
    missing = [
        f"{file}::{name}"
        for file, names in MARKED.items()
        for name in names
        if file not in named and f"{file}::{name}" not in LEFT
    ]
    assert missing == []


@pytest.mark.parametrize("test", LEFT)
def test_what_is_listed_is_left_out_of_ci(test):
    file, _, name = test.partition("::")
    assert file in MARKED
    assert not name or name in MARKED[file]


@pytest.mark.parametrize("test", BY)
def test_what_covers_a_rule_is_there(test):
    path, names = file_of(test)
    body = body_of(path)
    for name in names:
        node = inner(body, name)
        if node is None:
            assert name.startswith("test_"), test
            assert inherited(name), test
            return
        body = getattr(node, "body", [])


@pytest.mark.parametrize("test", BY)
def test_what_covers_a_rule_runs_in_ci(test):
    """A test of which CI leaves some parameters out runs with the others."""
    path, names = file_of(test)
    body = body_of(path)
    node = inner(body, names[0]) if names else None
    assert not {"pytest.mark.conformance", "conformance"} & {*decorators(node)}
    assert "pytestmark = pytest.mark.conformance" not in map(ast.unparse, body)
    assert test not in LEFT or any("parametrize" in each for each in decorators(node))


def decorators(node):
    """The decorators of a test or a class, as texts."""
    return [] if node is None else [ast.unparse(each) for each in node.decorator_list]


def test_every_row_has_tests():
    assert all(row.left and row.by and row.rule for row in COVERS)
