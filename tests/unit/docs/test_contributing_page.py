"""The pages for contributors name what there is: packages, rooms, folders of tests, targets."""

from __future__ import annotations

import re
from pathlib import Path

from tools.package_graph import folded
from tools.prose import pages
from tools.structure import cycles, structure

ROOT = Path(__file__).parents[3]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
EDGES = structure().package_edges()
PACKAGES = {module.package for module in structure().modules.values() if module.is_package} - {""}


def section(page: str, title: str) -> str:
    """The text of a section of a page."""
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rooms() -> list[str]:
    """The rooms in the table of the architecture, from the first row to the last."""
    found = re.findall(
        r"^\| `(spark/[\w.]+)/?` \|", section(ARCHITECTURE, "The rooms of `spark/`"), re.M
    )
    return [room.replace("/", ".").removesuffix(".environment.py") for room in found]


def targets_named(text: str) -> set[str]:
    """The targets of make in code spans and in lines of shell of a page."""
    spans = re.findall(r"`make ([^`]+)`", text)
    lines = re.findall(r"^make ([^#\n]+)", text, re.MULTILINE)
    words = (word for line in (*spans, *lines) for word in line.split())
    return {word for word in words if "=" not in word}


def test_the_layout_names_every_package():
    layout = section(CONTRIBUTING, "Layout")
    own = {package for package in PACKAGES if not package.startswith("spark.")}
    assert {p for p in own if f"`{p.replace('.', '/')}/`" not in layout} == set()


def test_the_architecture_names_every_room():
    text = section(ARCHITECTURE, "The rooms of `spark/`")
    every = {package for package in PACKAGES if package.startswith("spark.")}
    assert {room for room in every if f"`{room.replace('.', '/')}/`" not in text} == set()


def test_a_room_imports_only_rooms_above_it_in_the_table():
    order = rooms()
    assert order[-1] == "spark"
    wrong = {
        (room, other)
        for at, room in enumerate(order)
        for other in EDGES[room]
        if other in order[at:]
    }
    assert wrong == set()


def test_the_graph_of_packages_has_no_cycle():
    assert cycles(folded()) == []


def test_every_folder_of_tests_is_named():
    found = {path.relative_to(ROOT).parts[1] for path in (ROOT / "tests").glob("*/*.*")}
    nested = {path.relative_to(ROOT).parts[1] for path in (ROOT / "tests").glob("*/*/*.py")}
    folders = (found | nested) - {"__pycache__"}
    assert {each for each in folders if f"`tests/{each}/" not in CONTRIBUTING} == set()


def test_targets_in_pages_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    there = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = {
        (path.name, target)
        for path in pages()
        for target in targets_named(path.read_text(encoding="utf-8"))
    }
    assert {each for each in named if each[1] not in there} == set()
    assert {target for _, target in named} >= {"setup", "iceberg", "clients", "ci"}
