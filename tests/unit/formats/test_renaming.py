"""A field of a dataclass can be renamed, and no stored byte changes."""

from __future__ import annotations

import ast
import importlib
import io
import json
import sys
import tokenize
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from dbt.adapters.spark_mt import definition
from tests.unit.formats import samples
from tests.unit.formats.test_golden import golden

SOURCES = Path(definition.__path__[0])
PACKAGE = SOURCES.parent
CODECS = (
    "definition/codec.py",
    "definition/commit_metadata.py",
    "definition/positions.py",
    "definition/job.py",
    "client/discovery.py",
    "planning/properties.py",
    "spark/registry/leases.py",
    "spark/registry/registry.py",
)
BY_NAME = {"asdict", "astuple", "fields", "getattr", "setattr", "vars", "__dict__", "__slots__"}
"""What takes a key from the name of a field, or a field from the name of a key."""


class WithoutSystem(ast.NodeTransformer):
    """Leaves out `getattr(os, …)`, which asks what the operating system has."""

    def visit_Call(self, node):
        is_system = ast.unparse(node).startswith("getattr(os, ")
        return ast.Constant(None) if is_system else self.generic_visit(node)


@pytest.mark.parametrize("codec", CODECS)
def test_no_key_comes_from_the_name_of_a_field(codec):
    tree = ast.parse((PACKAGE / codec).read_text(encoding="utf-8"))
    tree = WithoutSystem().visit(tree)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    unpacked = [ast.unparse(c) for c in calls if any(k.arg is None for k in c.keywords)]
    assert (names & BY_NAME, unpacked) == (set(), [])


def field_names():
    """Every field of every dataclass of the package."""
    for path in SOURCES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and "dataclass" in ast.unparse(node.decorator_list):
                for line in node.body:
                    if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                        yield line.target.id


def renamed(source, names, packages):
    """The source with other names for fields, as a tool for renaming would write it.

    Calls such as `type(…)` and `"".format(…)` are of functions: no field is called.
    """
    imports = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)]
    kept = {line for node in imports for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for token, after in reversed(list(pairwise(tokens))):
        number, begin = token.start
        is_name = token.type == tokenize.NAME and token.string in names
        if is_name and after.string != "(" and number not in kept:
            line = lines[number - 1]
            lines[number - 1] = f"{line[: token.end[1]]}_renamed{line[token.end[1] :]}"
            assert line[begin : token.end[1]] == token.string
    text = "".join(lines)
    for old, new in packages.items():
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The package with all fields renamed, and the samples made of its values."""
    names = set(field_names()) - {"error"}  # of `Unreadable`, which is not stored; `zlib.error` is
    assert {"table_id", "resolved", "declared", "columns", "name", "type", "seq", "host"} <= names
    root = tmp_path_factory.mktemp("renamed")
    package = root / "renamed_definition"
    package.mkdir()
    packages = {"dbt.adapters.spark_mt.definition": "renamed_definition"}
    for path in SOURCES.glob("*.py"):
        text = renamed(path.read_text(encoding="utf-8"), names, packages)
        (package / path.name).write_text(text, encoding="utf-8")
    wanted = Path(samples.__file__).read_text(encoding="utf-8").partition("\nHERE = ")[0]
    text = renamed(without_other_imports(wanted), names, packages)
    (root / "renamed_samples.py").write_text(text, encoding="utf-8")
    sys.path.insert(0, str(root))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(root))
        for module in [m for m in sys.modules if m.startswith("renamed_")]:
            del sys.modules[module]


def without_other_imports(source):
    """The samples without the modules that are not of the package."""
    others = ("dbt.adapters.spark_mt.client.discovery", "dbt.adapters.spark_mt.planning")
    lines = source.splitlines(keepends=True)
    return "".join(
        line for line in lines if not line.startswith(tuple(f"from {o}" for o in others))
    )


def test_the_fields_have_other_names(other):
    stored = other("renamed_definition.definition").StoredDefinition
    assert "table_id_renamed" in stored.__slots__
    assert "table_id" not in stored.__slots__


def test_definitions_of_renamed_fields_have_the_golden_texts(other):
    codec, values = other("renamed_definition.codec"), other("renamed_samples").DEFINITIONS
    assert [*values] == [*golden("definitions")]
    for name, value in values.items():
        expected = golden("definitions")[name]["text"]
        written = codec.encode_definition(value)
        assert zlib.decompress(bytes.fromhex(written)) == zlib.decompress(bytes.fromhex(expected))
        assert codec.decode_definition(expected, "t") == value, name


def test_commits_of_renamed_fields_have_the_golden_texts(other):
    commits, values = other("renamed_definition.commit_metadata"), other("renamed_samples").COMMITS
    assert [*values] == [*golden("commits")]
    for name, value in values.items():
        assert commits.encode_commit(value) == golden("commits")[name]
        assert commits.decode_commit(golden("commits")[name]) == value, name


def test_handlers_of_renamed_fields_have_the_golden_texts(other):
    handlers, values = (
        other("renamed_definition.job"),
        other("renamed_samples").HANDLERS,
    )
    serializer = handlers.JsonRefreshHandlerSerializer()
    for name, value in values.items():
        assert serializer.serialize(value).decode() == golden("handlers")[name]
        assert serializer.deserialize(golden("handlers")[name].encode()) == value, name
    assert json.loads(golden("handlers")["full"])["kind"] == "full"
