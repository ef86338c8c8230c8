"""Structure of the package, read from its source: imports, cycles, chains, sizes.

`python tools/structure.py` prints the figures. `tests/unit/test_structure.py` compares them with
limits, and the package graph in `docs/architecture.md` is generated from them.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from io import StringIO
from pathlib import Path
from statistics import median
from tokenize import COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL, generate_tokens
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parents[1]
PACKAGE = "dbt.adapters.spark_mt"
SMALL = 60
MANY_NAMES = 3
_LAYOUT = {COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL}


class When(Enum):
    """When an import happens."""

    LOADED = "when the module is loaded"
    CALLED = "when a function is called"
    TYPES = "for type checkers only"


@dataclass(frozen=True, slots=True)
class Import:
    """One name that a module imports.

    Args:
        target: The module that the name is in, or the dotted name where that is not ours.
        name: The name in that module; empty where the module itself is imported, or is not ours.
        local: What the module that imports calls it.
    """

    module: str
    target: str
    line: int
    when: When
    local: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its length in lines."""

    name: str
    lines: int


@dataclass(frozen=True)
class Module:
    """A source file.

    Args:
        lines: All lines.
        code_lines: Lines with code: no blank lines, comments and docstrings.
        docstring_lines: Lines of docstrings.
    """

    name: str
    path: Path
    lines: int = 0
    code_lines: int = 0
    docstring_lines: int = 0
    imports: tuple[Import, ...] = ()
    functions: tuple[Function, ...] = ()

    @property
    def package(self) -> str:
        """The package that the module lies in, such as `spark.delta`; empty for the root."""
        inner = self.name if self.is_package else self.name.rpartition(".")[0]
        return inner.removeprefix(PACKAGE).removeprefix(".")

    @property
    def inner(self) -> str:
        """The name below the package, such as `spark.delta.log`."""
        return self.name.removeprefix(PACKAGE).removeprefix(".")

    @property
    def is_package(self) -> bool:
        """Whether this is the `__init__` of a package."""
        return self.path.name == "__init__.py"


class _Walker(ast.NodeVisitor):
    """Collects every import of a module, those inside functions and TYPE_CHECKING too."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.found: list[Import] = []
        self.functions: list[Function] = []
        self._depth = 0
        self._types = 0

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        self.functions.append(Function(node.name, (node.end_lineno or start) - start + 1))
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_If(self, node: ast.If) -> None:
        only = ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        self._types += only
        for statement in node.body:
            self.visit(statement)
        self._types -= only
        for statement in node.orelse:
            self.visit(statement)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._note(alias.name, node.lineno, alias.asname or alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            target = f"{'.' * node.level}{node.module}.{alias.name}"
            self._note(target, node.lineno, alias.asname or alias.name)

    def _note(self, target: str, line: int, local: str) -> None:
        when = When.TYPES if self._types else When.CALLED if self._depth else When.LOADED
        self.found.append(Import(self.module, target, line, when, local))


def ours(name: str) -> bool:
    """Whether a dotted name lies in the package."""
    return name == PACKAGE or name.startswith(PACKAGE + ".")


def _docstrings(tree: ast.AST) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for first in node.body[:1]:
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def _code(text: str) -> set[int]:
    lines: set[int] = set()
    for token in generate_tokens(StringIO(text).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def _of_module(found: Import) -> Import:
    target, _, name = found.target.rpartition(".")
    return replace(found, target=target, name=name)


def _module(name: str, path: Path, names: Iterable[str]) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    walker = _Walker(name)
    walker.visit(tree)
    documented = _docstrings(tree)
    known = set(names)
    imports = (
        each if each.target in known or not ours(each.target) else _of_module(each)
        for each in walker.found
    )
    return Module(
        name,
        path,
        len(text.splitlines()),
        len(_code(text) - documented),
        len(documented),
        tuple(imports),
        tuple(walker.functions),
    )


@dataclass(frozen=True)
class Structure:
    """The modules of the package, and what they import."""

    modules: Mapping[str, Module]

    def imports(self, *whens: When) -> Iterator[Import]:
        """The imports of our own modules, of the given kinds or of all."""
        for module in self.modules.values():
            for found in module.imports:
                known = found.target in self.modules and found.target != module.name
                if known and (not whens or found.when in whens):
                    yield found

    def edges(self, *whens: When) -> dict[str, set[str]]:
        """Which module imports which, by imports of the given kinds or of all."""
        graph: dict[str, set[str]] = {name: set() for name in self.modules}
        for found in self.imports(*whens):
            graph[found.module].add(found.target)
        return graph

    def importers(self) -> dict[str, set[str]]:
        """Who imports a module."""
        found: dict[str, set[str]] = {name: set() for name in self.modules}
        for each in self.imports():
            found[each.target].add(each.module)
        return found

    def name_lists(self) -> dict[tuple[str, str], set[str]]:
        """The names that a module imports at run time from another one, by the two modules."""
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for each in self.imports(When.LOADED, When.CALLED):
            if each.name:
                found[each.module, each.target].add(each.name)
        return found

    def local_names(self) -> dict[str, set[str]]:
        """What a module is called where it is imported itself."""
        found: dict[str, set[str]] = defaultdict(set)
        for each in self.imports():
            if not each.name:
                found[each.target].add(each.local)
        return found

    def package_edges(self) -> dict[str, set[str]]:
        """Which package imports which; a module of the root counts as a package."""
        found: dict[str, set[str]] = {self.place(name): set() for name in self.modules}
        for each in self.imports():
            source, target = (self.place(name) for name in (each.module, each.target))
            if source != target:
                found[source].add(target)
        return found

    def place(self, name: str) -> str:
        """The package of a module, or its own name in the root."""
        module = self.modules[name]
        return module.package or module.inner or "__init__"


@dataclass(frozen=True, slots=True)
class UnitTests:
    """A file of unit tests in the folder of a package.

    Args:
        path: The path below `tests/unit`.
        module: The module that the file is named after, such as `spark.delta.log`, or None.
    """

    path: str
    module: str | None


def unit_tests(found: Structure, root: Path = ROOT) -> Iterator[UnitTests]:
    """Yield the files of unit tests in folders of packages, with the modules that they name.

    `test_<module>.py` and `test_<module>_<concept>.py` name a module of their package. Of several
    modules the one with the longest name counts.
    """
    folder = root / "tests" / "unit"
    names: dict[str, list[str]] = {}
    for module in found.modules.values():
        if not module.is_package:
            names.setdefault(module.package, []).append(module.inner.rpartition(".")[2])
    for package, modules in names.items():
        for path in sorted((folder / package.replace(".", "/")).glob("test_*.py")):
            stem = path.stem.removeprefix("test_")
            fits = (each for each in modules if f"{stem}_".startswith(f"{each}_"))
            module = max(fits, key=len, default=None)
            inner = f"{package}.{module}".removeprefix(".") if module else None
            yield UnitTests(path.relative_to(folder).as_posix(), inner)


def late_constants(path: Path) -> list[str]:
    """Constants after the first definition of a module that need none of its definitions.

    They show that two modules became one. A constant may follow what its value is made of.
    """
    late: list[str] = []
    made_of: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made_of.add(node.name)
        elif made_of and isinstance(node, (ast.Assign, ast.AnnAssign)):
            inside = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
            names = [each.id for each in inside if isinstance(each.ctx, ast.Store)]
            if made_of & {each.id for each in inside if isinstance(each.ctx, ast.Load)}:
                made_of.update(names)
            else:
                late += names
    return late


@cache
def structure(root: Path = ROOT) -> Structure:
    """Read the package below a folder."""
    base = root.joinpath(*PACKAGE.split("."))
    paths = {}
    for path in sorted(base.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return Structure({name: _module(name, path, paths) for name, path in paths.items()})


def components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components of a graph, dependencies first (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The groups of nodes that reach each other."""
    return [each for each in components(graph) if len(each) > 1]


def longest_chain(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """The longest path of a graph; a cycle counts as one node."""
    best: dict[str, list[str]] = {}
    for group in components(graph):
        below = (best[other] for node in group for other in graph[node] if other not in group)
        longest = max(below, key=len, default=[])
        for node in group:
            best[node] = [group[0], *longest]
    return max(best.values(), key=len, default=[])


def reduced(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """A graph without the edges that longer paths imply."""

    def reach(node: str, seen: set[str]) -> set[str]:
        for other in graph.get(node, ()):
            if other not in seen:
                seen.add(other)
                reach(other, seen)
        return seen

    return {
        node: {
            each
            for each in others
            if not any(each in reach(other, set()) for other in others if other != each)
        }
        for node, others in graph.items()
    }


def figures(found: Structure) -> dict[str, object]:
    """The figures that `python tools/structure.py` prints."""
    modules = [each for each in found.modules.values() if not each.is_package]
    single = [name for name, by in found.importers().items() if len(by) == 1]
    return {
        "modules": len(modules),
        "lines": sum(each.lines for each in found.modules.values()),
        "code lines": sum(each.code_lines for each in found.modules.values()),
        "docstring lines": sum(each.docstring_lines for each in found.modules.values()),
        "median lines of a module": int(median(each.lines for each in modules)),
        "import edges": sum(len(each) for each in found.edges().values()),
        "longest chain": len(longest_chain(found.edges(When.LOADED))),
        "longest chain with type-only imports": len(longest_chain(found.edges())),
        "cycles with type-only imports": len(cycles(found.edges())),
        f"modules under {SMALL} code lines": sum(each.code_lines < SMALL for each in modules),
        "modules with one importer": len(single),
        f"lists of over {MANY_NAMES} names": sum(
            len(each) > MANY_NAMES for each in found.name_lists().values()
        ),
    }


def main(root: Path) -> int:
    """Print the figures, and the longest chain."""
    found = structure(root)
    for name, value in figures(found).items():
        print(f"{name:40} {value}")  # noqa: T201 - this is a command
    chain = longest_chain(found.edges(When.LOADED))
    names = (found.modules[name].inner or "__init__" for name in chain)
    print("longest chain:", " > ".join(names))  # noqa: T201 - as above
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
