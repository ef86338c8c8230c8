"""The structure of the package, read from its source: layers, cycles, foreign imports, sizes."""

from __future__ import annotations

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "dbt.adapters.spark_mt"
SOURCE = ROOT.joinpath(*PACKAGE.split("."))
MACROS = ROOT / "dbt" / "include" / "spark_mt" / "macros"
LAYERS = (
    "definition",
    "statements",
    "resolution",
    "changes",
    "planning",
    "execution",
    "spark",
    "service",
)
PLACES = {"spark": 6, "scheduler": 6, "service": 7, "integrations": 8} | {
    name: level for level, name in enumerate(LAYERS[:6])
}
DBT_CONTRACT = 8
ENGINE = 6


class Import(NamedTuple):
    """One name that a module imports."""

    module: str
    target: str
    line: int
    when_loaded: bool
    for_types: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


class Walker(ast.NodeVisitor):
    """Collects every import of a module, those inside functions and TYPE_CHECKING too."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.found: list[Import] = []
        self._functions = 0
        self._types = 0

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._functions += 1
        self.generic_visit(node)
        self._functions -= 1

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_If(self, node: ast.If) -> None:
        typing_only = ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        self._types += typing_only
        for statement in node.body:
            self.visit(statement)
        self._types -= typing_only
        for statement in node.orelse:
            self.visit(statement)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._note(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, f"{self.module}:{node.lineno}: relative import"
        for alias in node.names:
            self._note(f"{node.module}.{alias.name}", node.lineno)

    def _note(self, target: str, line: int) -> None:
        loaded = not self._functions and not self._types
        self.found.append(Import(self.module, target, line, loaded, bool(self._types)))


def module_name(path: Path) -> str:
    """The dotted name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports_of(module: str) -> list[Import]:
    """Every import of a module; what is ours is named by module, not by the object in it."""
    walker = Walker(module)
    walker.visit(ast.parse(FILES[module].read_text(encoding="utf-8")))
    return [found._replace(target=_as_module(found.target)) for found in walker.found]


def _as_module(target: str) -> str:
    return target if target in FILES or not ours(target) else target.rpartition(".")[0]


def ours(module: str) -> bool:
    """Whether a dotted name lies in the package."""
    return module == PACKAGE or module.startswith(PACKAGE + ".")


def level(module: str) -> int:
    """The layer of one of our modules."""
    inner = module.removeprefix(PACKAGE).removeprefix(".").partition(".")[0]
    return PLACES.get(inner, DBT_CONTRACT)


IMPORTS = [found for module in FILES for found in imports_of(module)]


def is_pyspark(found: Import) -> bool:
    """Whether something of Spark's Python side is imported."""
    return found.target.split(".")[0] in {"pyspark", "py4j"}


def is_dbt(found: Import) -> bool:
    """Whether something of dbt is imported that is not ours."""
    top = found.target.split(".")[0]
    return (top == "dbt" and not ours(found.target)) or top.startswith("dbt_")


def test_there_is_something_to_check():
    assert len(FILES) > 15
    assert len(IMPORTS) > 50


def test_every_folder_has_a_layer():
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert folders <= PLACES.keys()


def test_imports_go_downward():
    upward = [
        str(found)
        for found in IMPORTS
        if ours(found.target) and level(found.target) > level(found.module)
    ]
    assert upward == []


def test_no_import_cycle():
    graph: dict[str, set[str]] = {module: set() for module in FILES}
    for found in IMPORTS:
        if found.target in FILES and found.target != found.module and not found.for_types:
            graph[found.module].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " -> ".join(error.args[1]))


def test_the_engine_knows_nothing_of_dbt():
    assert [str(f) for f in IMPORTS if is_dbt(f) and level(f.module) <= ENGINE] == []


def test_pyspark_stays_in_its_package():
    engine = [f for f in IMPORTS if is_pyspark(f) and not f.for_types and level(f.module) != ENGINE]
    assert [str(f) for f in engine if level(f.module) < ENGINE] == []
    assert [str(f) for f in engine if f.when_loaded] == []


def test_what_runs_in_airflow_needs_neither_spark_nor_dbt():
    """Nor anything else: there the package is installed without what it depends on."""
    seen: set[str] = set()
    waiting = [module for module in FILES if module.startswith(f"{PACKAGE}.integrations")]
    foreign = set()
    while waiting:
        module = waiting.pop()
        seen.add(module)
        for found in imports_of(module):
            if ours(found.target) and found.when_loaded and found.target not in seen:
                waiting.append(found.target)
            elif not ours(found.target) and found.when_loaded:
                foreign.add(found.target.split(".")[0])
    assert foreign - sys.stdlib_module_names == {"airflow"}
    assert f"{PACKAGE}.planning.schedules" in seen


def functions_of(path: Path):
    """The functions of a file, with their lengths in lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield node.name, (node.end_lineno or start) - start + 1


def lines_of(path: Path) -> int:
    """How many lines a file has."""
    return len(path.read_text(encoding="utf-8").splitlines())


def test_modules_are_short():
    assert {m: lines_of(p) for m, p in FILES.items() if lines_of(p) > 300} == {}


def test_functions_are_short():
    long = {
        f"{module}.{name}": length
        for module, path in FILES.items()
        for name, length in functions_of(path)
        if length > 40
    }
    assert long == {}


def test_macro_files_are_short():
    macros = {path.relative_to(MACROS).as_posix(): lines_of(path) for path in MACROS.rglob("*.sql")}
    assert {name: lines for name, lines in macros.items() if lines > 60} == {}


@pytest.mark.parametrize("folder", ["dbt", "dbt/adapters", "dbt/include"])
def test_folders_of_dbt_stay_namespaces(folder):
    assert not (ROOT / folder / "__init__.py").exists()
