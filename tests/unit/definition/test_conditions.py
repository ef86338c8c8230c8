"""The table of conditions and the places that raise and catch errors, by the product's sources."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from dbt.adapters.spark_mt import api
from dbt.adapters.spark_mt.definition import conditions, errors
from dbt.adapters.spark_mt.definition.errors import Condition, MaterializedTableError, RemedyCost
from dbt.adapters.spark_mt.spark.formats import delta
from tools.error_catalogue import parameters

ROOT = Path(__file__).parents[3]
PRODUCT = sorted((ROOT / "dbt" / "adapters" / "spark_mt").rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PRODUCT}
TEST_TREES = [
    ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests").rglob("*.py"))
]
TABLES = (conditions, delta)
ENTRIES = {
    name: entry
    for table in TABLES
    for name, entry in vars(table).items()
    if isinstance(entry, Condition)
}
CLASSES = [
    found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, MaterializedTableError)
]
COSTS = {
    RemedyCost.TABLE: re.compile(
        r"comput(es?|ed|ing)\b|builds rows|fills it again|reads all|reading (all|more)|"
        r"loses|removes its rows|query costs|whole query|costs the storage|reading them once"
    ),
    RemedyCost.COMMIT: re.compile(r"one (small )?commit"),
}
"""How a remedy names its cost."""
NO_COST = {"STREAMS_OVER_CONNECT", "REFRESH_NOT_ACCEPTED", "WORKFLOW_NOT_FOUND", "NOT_CONTINUOUS"}
"""Remedies that name the computation of rows, and cost nothing."""


def entry_of(node: ast.AST) -> str | None:
    """The name of the condition that `conditions.X` or a name is."""
    name = getattr(node, "attr", None) or getattr(node, "id", None)
    is_read = isinstance(getattr(node, "ctx", None), ast.Load)
    return name if name in ENTRIES and is_read else None


@cache
def caught() -> set[str]:
    """Names of classes that an `except`, `isinstance` or a tuple for one of them names."""
    found = set()
    for tree in (*TREES.values(), *TEST_TREES):
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and node.type is not None:
                found |= names(node.type)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in {"isinstance", "suppress"}:
                    found |= {name for arg in node.args for name in names(arg)}
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                found |= names(node.value)
    return found


def names(node: ast.AST) -> set[str]:
    return {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute)
    }


@pytest.mark.parametrize("found", CLASSES, ids=lambda found: found.__name__)
def test_a_class_is_caught_or_public_or_a_base(found):
    name = found.__name__
    assert name in caught() | set(api.__all__) or found.__subclasses__()


def test_every_condition_is_raised():
    raised = {
        entry_of(node)
        for path, tree in TREES.items()
        if path.name != "conditions.py"
        for node in ast.walk(tree)
    }
    elsewhere = {
        "INVALID_DEFINITION",  # by `raise_violations`
        "WORKFLOW_NOT_FOUND",  # by schedulers of users
    }
    assert set(ENTRIES) - raised == elsewhere


def test_every_raise_passes_the_parameters_of_the_texts():
    missing = [
        (path.name, node.lineno, name, sorted(lacking))
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (name := entry_of(node.func)) in ENTRIES
        if all(keyword.arg for keyword in node.keywords)
        if (lacking := needed(ENTRIES[name]) - {keyword.arg for keyword in node.keywords})
    ]
    assert missing == []


def needed(entry: Condition) -> set[str]:
    return parameters(entry.text) | parameters(entry.remedy)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_remedy_names_its_cost(name):
    entry = ENTRIES[name]
    said = [cost for cost, phrase in COSTS.items() if phrase.search(entry.remedy)]
    expected = said[0] if said and name not in NO_COST else RemedyCost.RETRY
    assert entry.cost is expected


@pytest.mark.parametrize("name", ENTRIES)
def test_a_condition_is_found_by_its_name(name):
    assert ENTRIES[name].name == f"MATERIALIZED_TABLE_{name.removesuffix('_IN_STATEMENT')}"
