"""Graph of the packages for `docs/architecture.md`, from the imports in the source."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tools.structure import PACKAGE, ROOT, reduced, structure

if TYPE_CHECKING:
    from collections.abc import Mapping

_WHOLE = {
    "manager.http": "manager",
    **dict.fromkeys(("adapter", "connections", "handle", "impl", "plugin", "relation"), "adapter"),
}
_HIDDEN = {"__init__", "__version__"}
_SOURCE = ROOT.joinpath(*PACKAGE.split("."))


def folded() -> dict[str, set[str]]:
    """The packages with what they import; nested ones count for those that they are in."""
    graph: dict[str, set[str]] = {}
    for package, others in structure().package_edges().items():
        if package not in _HIDDEN:
            whole = _WHOLE.get(package, package)
            found = {_WHOLE.get(each, each) for each in others} - _HIDDEN - {whole}
            graph.setdefault(whole, set()).update(found)
    return graph


def mermaid() -> str:
    """The graph as Mermaid; an edge that follows from longer paths is left out."""
    lines = ["```mermaid", "graph TD"]
    for package, others in sorted(reduced(folded()).items()):
        lines += [f"    {package} --> {each}" for each in sorted(others)]
    return "\n".join(lines) + "\n```\n"


def rows() -> list[tuple[str, str, str]]:
    """Every package with its docstring and the packages that it imports."""
    edges = structure().package_edges()
    return [
        (f"`{package.replace('.', '/')}/`", about, _listed(edges, package))
        for package, about in sorted(_documented().items())
    ]


def _documented() -> dict[str, str]:
    found = {}
    for path in _SOURCE.rglob("__init__.py"):
        package = ".".join(path.parent.relative_to(_SOURCE).parts)
        if package:
            found[package] = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return found


def _listed(edges: Mapping[str, set[str]], package: str) -> str:
    others = sorted(edges.get(package, set()) - _HIDDEN)
    return ", ".join(f"`{each.replace('.', '/')}`" for each in others)
