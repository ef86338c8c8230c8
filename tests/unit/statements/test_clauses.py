"""A clause is one entry of a table: how many files know it, and what the entry is enough for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition, ResolvedDefinition
from dbt.adapters.spark_mt.statements.clauses import CLAUSES

ROOT = Path(__file__).parents[3]
WHEEL = ROOT / "dbt"
MOST_FILES = 5
MODULES_OF_A_CLAUSE = ("state_retention", "conditions")
DIFF = re.compile(r"```diff\n(.*?)```", re.DOTALL)
MODULE_OF_A_CLAUSE = re.compile(r"^\s*(from \S+\.state_retention import .*|import \S+)$", re.M)

USE = """
import json, sys
from dataclasses import replace
from pathlib import Path

import dbt.adapters

dbt.adapters.__path__ = [str(Path(sys.argv[1]) / "dbt" / "adapters"), *dbt.adapters.__path__]

from dbt.adapters.spark_mt.adapter.config import CONFIG_KEYS, validate_config
from dbt.adapters.spark_mt.changes.alterations import altered
from dbt.adapters.spark_mt.changes.differ import diff
from dbt.adapters.spark_mt.definition import codec
from dbt.adapters.spark_mt.execution.show import create_text, definition_rows
from dbt.adapters.spark_mt.statements.parser import parse_statement
from dbt.adapters.spark_mt.statements.renderer import render
from tests.unit.builders import resolve, stored

CREATE = "CREATE MATERIALIZED TABLE t REFRESH_PRIORITY = {} AS SELECT 1 AS a"


def create(priority):
    return parse_statement(CREATE.format(priority))


def resolved(declared):
    return resolve(declared, "a INT")


def altered_by(form):
    statement = parse_statement(f"ALTER MATERIALIZED TABLE t {form}")
    assert parse_statement(render(statement)) == statement
    return altered(statement, high).refresh_priority


high = create("HIGH").declared
plain = replace(high, refresh_priority=None)
table = stored(resolved(high))
print(json.dumps({
    "module": codec.__file__,
    "render": render(create("HIGH")),
    "again": parse_statement(render(create("HIGH"))) == create("HIGH"),
    "set": altered_by("SET REFRESH_PRIORITY = NORMAL").value,
    "reset": altered_by("RESET REFRESH_PRIORITY"),
    "default": resolved(plain).refresh_priority.value,
    "changes": [
        [change.describe(), change.effect.name]
        for change in diff(resolved(plain), resolved(high))
    ],
    "stored": codec.decode_definition(codec.encode_definition(table), "t") == table,
    "unstored": "refresh_priority" in json.dumps(codec.document_of(stored(resolved(plain)))),
    "show": [create_text(stored(resolved(declared)), {}) for declared in (high, plain)],
    "desc": [
        dict(definition_rows(stored(resolved(declared)), {}))["Refresh priority"]
        for declared in (high, plain)
    ],
    "config": validate_config("m", {"refresh_priority": "high"}, {"refresh_priority"}).clauses,
    "key": "refresh_priority" in {key.name for key in CONFIG_KEYS},
}))
"""


def files_of(text: str) -> dict[str, list[list[str]]]:
    """The hunks of a diff by file."""
    files: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        if line.startswith("+++ "):
            hunks = files.setdefault(line.removeprefix("+++ "), [])
        elif line == "@@":
            hunks.append([])
        else:
            hunks[-1].append(line)
    return files


def apply(root: Path, files: dict[str, list[list[str]]]) -> None:
    """Apply hunks, each of which fits one place of its file."""
    for name, hunks in files.items():
        text = (root / name).read_text(encoding="utf-8")
        for hunk in hunks:
            before = "".join(f"{line[1:]}\n" for line in hunk if line[0] != "+")
            after = "".join(f"{line[1:]}\n" for line in hunk if line[0] != "-")
            assert text.count(before) == 1, (name, before)
            text = text.replace(before, after)
        (root / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def example() -> dict[str, list[list[str]]]:
    """The worked example of CONTRIBUTING."""
    (text,) = DIFF.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    return files_of(text)


def test_the_worked_example_touches_few_files(example):
    assert 1 <= len(example) <= MOST_FILES


def test_the_worked_example_is_a_working_clause(example, tmp_path):
    shutil.copytree(WHEEL, tmp_path / "dbt", ignore=shutil.ignore_patterns("__pycache__"))
    apply(tmp_path, example)
    run = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", USE, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found.pop("module").startswith(str(tmp_path))
    high, plain = found.pop("show")
    assert "\nREFRESH_PRIORITY = HIGH\n" in high
    assert "\n/* REFRESH_PRIORITY = NORMAL by default */\n" in plain
    sentence = "Refresh priority changed from NORMAL (by default) to HIGH."
    assert found == {
        "render": "CREATE MATERIALIZED TABLE `t`\nREFRESH_PRIORITY = HIGH\nAS\nSELECT 1 AS a",
        "again": True,
        "set": "NORMAL",
        "reset": None,
        "default": "NORMAL",
        "changes": [[sentence, "REFRESH"]],
        "stored": True,
        "unstored": False,
        "desc": ["HIGH", "NORMAL (by default)"],
        "config": [["REFRESH_PRIORITY", "HIGH"]],
        "key": True,
    }


def test_few_files_know_a_clause():
    """STATE_RETENTION in any spelling.

    What it does beyond the table is in modules with its name, and what its errors say in the table
    of conditions. These are not counted, nor are the lines that import them.
    """
    knowing = set()
    for path in WHEEL.rglob("*"):
        if path.suffix not in (".py", ".sql") or path.stem in MODULES_OF_A_CLAUSE:
            continue
        text = MODULE_OF_A_CLAUSE.sub("", path.read_text(encoding="utf-8"))
        if re.search(r"state[_ ]?retention", text, re.IGNORECASE):
            knowing.add(path.relative_to(WHEEL / "adapters" / "spark_mt").as_posix())
    assert knowing == {
        "definition/codec.py",
        "definition/definition.py",
        "definition/modes.py",
        "statements/clauses.py",
        "statements/values.py",
    }
    assert len(knowing) <= MOST_FILES


def test_every_field_that_a_user_writes_is_a_clause_or_belongs_to_the_query():
    fields = {clause.field for clause in CLAUSES}
    assert len(fields) == len(CLAUSES)
    assert set(DeclaredDefinition.__dataclass_fields__) - fields == {
        "query",
        "columns",
        "constraints",
    }
    resolved = {clause.field for clause in CLAUSES if clause.is_resolved}
    assert resolved == fields & set(ResolvedDefinition.__dataclass_fields__)
