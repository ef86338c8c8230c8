"""The Python API exports what a program needs that uses it, and is documented with examples."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
import typing
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt import api
from tools import python_reference

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "dbt.adapters.spark_mt"
OPAQUE = {api.LeaseCache, api.ParsedStatement}
"""Classes of values that a program only passes on."""


def methods():
    """The public methods of the facade, by name; `__init__` among them."""
    found = dict(inspect.getmembers(api.MaterializedTables, inspect.isfunction))
    return {n: f for n, f in found.items() if n == "__init__" or not n.startswith("_")}


@cache
def names_of(module_name: str) -> dict[str, object]:
    """What a module's annotations may name, also what is imported for them only."""
    module = sys.modules[module_name]
    names = {**vars(typing), **vars(module)}
    for block in ast.parse(inspect.getsource(module)).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(block.body, []), module_name, "exec"), names)  # noqa: S102 - ours
    return names


def hints(thing, module_name: str) -> dict[str, object]:
    """The annotations of a function or class, resolved."""
    return typing.get_type_hints(thing, globalns=names_of(module_name))


def ours(annotation) -> Iterator[type]:
    """The classes of this package that an annotation names, also inside others."""
    for part in typing.get_args(annotation):
        yield from ours(part)
    if isinstance(annotation, type) and annotation.__module__.startswith(PACKAGE):
        yield annotation


def parts_of(kind: type) -> Iterator[type]:
    """The classes of the fields of a class, and of what its properties and methods return."""
    for annotation in hints(kind, kind.__module__).values():
        yield from ours(annotation)
    for name, member in vars(kind).items():
        method = member.fget if isinstance(member, property) else member
        if inspect.isfunction(method) and not name.startswith("_"):
            yield from ours(hints(method, kind.__module__).get("return"))


def needed() -> set[type]:
    """Every class that a method takes, returns or has in what it returns."""
    annotations = [a for f in methods().values() for a in hints(f, f.__module__).values()]
    waiting = [kind for annotation in annotations for kind in ours(annotation)]
    found: set[type] = set()
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            if not issubclass(kind, Enum | Exception) and kind not in OPAQUE:
                waiting.extend(parts_of(kind))
    return found


def test_every_type_that_methods_take_or_return_is_exported():
    missing = {kind.__name__ for kind in needed()} - set(api.__all__)
    assert missing == set()
    assert len(needed()) > 15, "the annotations were followed"


def raised() -> set[str]:
    """The errors of ours that the docstrings of methods name."""
    found = {name for f in methods().values() for name in python_reference.explained(f).raises}
    return {name for name in found if not hasattr(builtins, name)}


def test_every_exported_name_exists_and_is_needed():
    wanted = {"MaterializedTables"} | {kind.__name__ for kind in needed()} | raised()
    assert set(api.__all__) == wanted
    assert list(api.__all__) == sorted(api.__all__)
    assert all(inspect.isclass(getattr(api, name)) for name in api.__all__)


def test_every_error_that_methods_name_is_exported():
    assert "NotHostedError" in raised()
    assert raised() - set(api.__all__) == set()


def test_every_method_has_an_example_and_a_place_on_the_page():
    names = set(methods()) - {"__init__"}
    grouped = [name for group in python_reference.GROUPS.values() for name in group]
    assert sorted(grouped) == sorted(names)
    assert set(python_reference.examples()) == names


@pytest.mark.parametrize("name", sorted(python_reference.examples()))
def test_each_example_uses_its_method(name):
    assert re.search(rf"\btables\.{name}\b", python_reference.examples()[name])
