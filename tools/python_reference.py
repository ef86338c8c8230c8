"""The Python API as the code declares it: docs/python.md shows its methods and types."""

from __future__ import annotations

import ast
import inspect
import re
from enum import Enum
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from dbt.adapters.spark_mt import api

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[1] / "examples" / "python" / "api.py"
GROUPS = {
    "Statements": (
        "sql",
        "enable_sql",
        "execute",
        "materialize",
        "plan",
        "explain",
        "validate",
        "keep_configuration",
    ),
    "Refreshes": ("refresh", "suspend", "resume", "derive_again"),
    "What there is": ("names", "declared", "is_materialized", "figures", "columns", "reads"),
    "Checks": ("drift", "health", "lag", "loaded_at", "difference"),
    "Plain tables": ("adopt", "release"),
    "Following sources in this process": ("start", "await_fresh", "progress", "stop", "stop_all"),
    "With a refresh manager": ("keeper", "wait_for"),
    "The registry": ("register", "forget", "repair"),
    "Interrupting": ("cancel",),
}
"""Every method, by what it is for."""
_SECTION = re.compile(r"^(Args|Returns|Raises|Yields):\n((?: {4}.*\n?|\n)+)", re.MULTILINE)
_MODULE = re.compile(r"\b[a-z_]+\.(?=[A-Z])")
_ITEM = re.compile(r"^([\w.]+): (.*(?:\n {4}.*)*)", re.MULTILINE)


class Explained(NamedTuple):
    """A docstring in parts."""

    text: str
    arguments: dict[str, str]
    returns: str
    raises: dict[str, str]


def methods() -> str:
    """The constructor and every method, with an example."""
    found = [f"## `MaterializedTables{_signature(api.MaterializedTables.__init__)}`\n"]
    found.append(_explanation(explained(api.MaterializedTables)))
    for title, names in GROUPS.items():
        found += [f"## {title}\n", *map(_method, names)]
    return "\n" + "\n".join(found) + "\n"


def _method(name: str) -> str:
    function = getattr(api.MaterializedTables, name)
    example = f"```python\n{examples()[name]}\n```\n"
    return f"### `{name}{_signature(function)}`\n\n{_explanation(explained(function))}\n{example}"


def _signature(function: object) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    shown = str(signature.replace(parameters=parameters)).replace("'", "")
    shown = _MODULE.sub("", shown)  # users import all types from `api`
    return shown.removesuffix(" -> None").replace("<class tuple>", "tuple")


def _explanation(found: Explained) -> str:
    lines = [found.text, ""]
    lines += [f"* `{name}`: {text}" for name, text in found.arguments.items()]
    lines += [f"* returns: {found.returns}"] if found.returns else []
    lines += [f"* raises `{name}`: {text}" for name, text in found.raises.items()]
    return "\n".join(lines).rstrip() + "\n"


def explained(documented: object) -> Explained:
    """Split a docstring of Google's style into its parts."""
    text = inspect.getdoc(documented) or ""
    sections = {match[1]: dedent(match[2]) for match in _SECTION.finditer(text)}
    free = _SECTION.sub("", text)
    return Explained(
        re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<!\n)\n(?!\n)", " ", free)).strip(),
        _items(sections.get("Args", "")),
        _flat(sections.get("Returns", "")),
        _items(sections.get("Raises", "")),
    )


def _items(section: str) -> dict[str, str]:
    return {match[1]: _flat(match[2]) for match in _ITEM.finditer(section)}


def _flat(text: str) -> str:
    return " ".join(text.split())


def examples() -> dict[str, str]:
    """The bodies of the examples, by the method that they are of."""
    return {name: body for name, body in _bodies().items() if name != "prepare"}


def preparation() -> str:
    """The imports of the examples, and what makes their tables."""
    source = EXAMPLES.read_text(encoding="utf-8")
    tree = ast.parse(source)
    imports = [
        ast.get_source_segment(source, node) or ""
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module not in {"__future__", "typing"}
    ]
    body = _bodies()["prepare"].removesuffix("return tables").rstrip()
    return "```python\n" + "\n".join(imports) + f"\n\n{body}\n```\n"


def _bodies() -> dict[str, str]:
    source = EXAMPLES.read_text(encoding="utf-8")
    lines = source.splitlines()
    return {
        node.name: dedent("\n".join(lines[_first(node).lineno - 1 : node.end_lineno]))
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }


def _first(function: ast.FunctionDef) -> ast.stmt:
    """The first statement after the docstring."""
    return function.body[1] if ast.get_docstring(function) else function.body[0]


def types() -> str:
    """Every exported class but the facade."""
    kinds = [getattr(api, name) for name in api.__all__ if name != "MaterializedTables"]
    return "\n" + "\n".join(map(_type, kinds)) + "\n"


def _type(kind: type) -> str:
    if issubclass(kind, Exception):
        return f"### `{kind.__name__}`\n\n{explained(kind).text}\n"
    found = explained(kind)
    parts = list(_values(kind) if issubclass(kind, Enum) else _fields(kind, found.arguments))
    return f"### `{kind.__name__}`\n\n{found.text}\n\n" + "\n".join(parts) + "\n"


def _values(kind: type[Enum]) -> Iterator[str]:
    yield ", ".join(f"`{member.name}`" for member in kind) + "."


def _fields(kind: type, meanings: dict[str, str]) -> Iterator[str]:
    for name, annotation in inspect.get_annotations(kind).items():
        if not name.startswith("_"):
            meaning = meanings.get(name, "")
            yield f"* `{name}: {annotation}`" + (f": {meaning}" if meaning else "")
    for name, member in vars(kind).items():
        if isinstance(member, property):
            yield f"* `{name}`: {_first_paragraph(member)}"
        elif inspect.isfunction(member) and not name.startswith("_"):
            yield f"* `{name}{_signature(member)}`: {_first_paragraph(member)}"


def _first_paragraph(documented: object) -> str:
    return explained(documented).text.partition("\n\n")[0]
