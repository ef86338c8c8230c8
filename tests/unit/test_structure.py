"""The structure of the package: edges, cycles, sizes, imports of others, files of unit tests.

Every table of exceptions may only shrink: a test fails when an exception is not needed any more.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tools.structure import (
    MANY_NAMES,
    PACKAGE,
    ROOT,
    Import,
    Module,
    When,
    cycles,
    late_constants,
    longest_chain,
    ours,
    structure,
    unit_tests,
)

if TYPE_CHECKING:
    from pathlib import Path

MACROS = ROOT / "dbt" / "include" / "spark_mt" / "macros"
FOUND = structure()
MODULES = {module.inner: module for module in FOUND.modules.values() if not module.is_package}
IMPORTS = [found for module in FOUND.modules.values() for found in module.imports]
UNIT_TESTS = list(unit_tests(FOUND))

SMALLEST = 40
LONGEST_FUNCTION = 60
LONGEST_MACRO_FILE = 60
SMALL_SINGLE = 100
LONGEST_CHAIN = 16

_ENGINE = {
    *("definition", "query", "resolution", "strategies", "changes", "planning", "execution"),
}
EDGES: dict[str, set[str]] = {
    "__init__": {"definition", "plugin"},
    "__version__": set(),
    "adapter": {
        "api",
        "changes",
        "definition",
        "execution",
        "handle",
        "planning",
        "relation",
        "resolution",
        "spark.formats",
        "spark.launch",
        "spark.session",
        "sql_tokens",
        "statements",
    },
    "api": {
        "changes",
        "definition",
        "execution",
        "hosting",
        "planning",
        "resolution",
        "spark",
        "spark.launch",
        "spark.parser",
        "spark.registry",
        "spark.session",
        "statements",
        "strategies",
    },
    "changes": {"definition", "query", "resolution", "statements"},
    "cli": {
        "__version__",
        "api",
        "client",
        "definition",
        "execution",
        "manager",
        "planning",
        "resolution",
        "spark.launch",
        "spark.session",
        "sql_tokens",
        "statements",
    },
    "client": {"__version__", "definition", "execution", "spark.launch"},
    "connections": {
        "adapter",
        "client",
        "definition",
        "execution",
        "handle",
        "spark.launch",
        "spark.session",
        "statements",
    },
    "definition": set(),
    "execution": {
        "changes",
        "definition",
        "planning",
        "query",
        "resolution",
        "statements",
        "strategies",
    },
    "handle": {
        "api",
        "client",
        "definition",
        "execution",
        "spark.launch",
        "spark.session",
        "statements",
    },
    "hosting": {"definition", "execution", "planning", "resolution", "strategies"},
    "impl": {
        "__version__",
        "adapter",
        "api",
        "connections",
        "definition",
        "execution",
        "handle",
        "relation",
        "spark.delta",
        "spark.formats",
        "spark.iceberg",
        "statements",
    },
    "integrations": {"client", "definition", "planning", "resolution", "scheduler"},
    "manager": {
        "__version__",
        "client",
        "definition",
        "execution",
        "hosting",
        "manager.http",
        "planning",
        "resolution",
        "scheduler",
        "spark",
        "spark.launch",
        "spark.parser",
        "spark.query",
        "spark.session",
        "statements",
        "strategies",
    },
    "manager.http": {"definition", "execution", "manager", "spark.launch", "spark.session"},
    "planning": {"changes", "definition", "query", "resolution", "strategies"},
    "plugin": {"connections", "definition", "impl"},
    "query": {"definition", "sql_tokens"},
    "relation": set(),
    "resolution": {"definition", "query", "statements"},
    "scheduler": {"definition", "execution", "planning"},
    "spark": {
        "definition",
        "execution",
        "resolution",
        "spark.catalog",
        "spark.delta",
        "spark.iceberg",
        "spark.query",
        "spark.registry",
        "spark.session",
        "spark.streams",
        "spark.tables",
    },
    "spark.catalog": {
        "definition",
        "execution",
        "planning",
        "query",
        "spark.formats",
        "spark.session",
    },
    "spark.delta": {
        "definition",
        "execution",
        "planning",
        "query",
        "spark.catalog",
        "spark.formats",
        "spark.query",
        "spark.session",
    },
    "spark.formats": {"definition"},
    "spark.iceberg": {
        "definition",
        "execution",
        "planning",
        "query",
        "spark.catalog",
        "spark.formats",
        "spark.query",
        "spark.session",
    },
    "spark.launch": {
        "definition",
        "spark.delta",
        "spark.formats",
        "spark.iceberg",
        "spark.session",
    },
    "spark.parser": {"definition", "execution", "spark.session", "statements"},
    "spark.query": {
        "definition",
        "execution",
        "planning",
        "query",
        "resolution",
        "spark.catalog",
        "spark.formats",
        "spark.session",
    },
    "spark.registry": {
        "definition",
        "execution",
        "planning",
        "spark.catalog",
        "spark.formats",
        "spark.session",
    },
    "spark.session": {"definition", "execution", "query", "spark.formats"},
    "spark.streams": {
        "definition",
        "execution",
        "planning",
        "query",
        "resolution",
        "spark.catalog",
        "spark.query",
        "spark.session",
        "strategies",
    },
    "spark.tables": {
        "definition",
        "execution",
        "planning",
        "query",
        "resolution",
        "spark.catalog",
        "spark.formats",
        "spark.query",
        "spark.registry",
        "spark.session",
        "spark.streams",
    },
    "sql_tokens": set(),
    "statements": {"definition", "sql_tokens"},
    "strategies": {"definition", "query", "resolution"},
}
"""Which package may import which, type-only imports included; a module of the root is a package."""

PARTS = {
    "manager.http": "manager",
    **dict.fromkeys(("__init__", "adapter", "connections", "handle", "impl", "plugin"), "dbt"),
    "relation": "dbt",
}
"""Packages that count as one where cycles between packages are looked for."""

DBT_MODULES = ("__init__", "adapter", "cli", "connections", "handle", "impl", "plugin", "relation")
"""Where dbt may be imported."""

TOO_SMALL = {
    "changes.state_retention": "what a clause does beyond its entry has a module of its name",
    "__version__": "hatch and the command line read it without loading anything else",
    "plugin": "dbt loads it by this name",
    "spark.formats.installed": "all others ask it which table formats are installed",
}
"""Modules under 40 lines."""

SINGLE_IMPORTER: dict[str, str] = {
    "plugin": "dbt loads it by this name",
    "spark.delta.stream": "offsets of streams are no concept of the statements of `tables`",
    "spark.iceberg.stream": "as above, and it has a class of Java",
}
"""Modules under 100 lines that one module of the same package imports, and no other."""

CYCLES: dict[tuple[str, ...], str] = {}
"""Modules that import each other, type-only imports included."""

TESTED_BY = {
    # Values and protocols: what computes with them has the tests.
    "changes.changes": "unit/changes/test_differ.py",
    "definition.watermark": "unit/resolution/test_query_options.py",
    "execution.ports": "unit/execution/test_memory.py",
    "execution.workflows": "unit/scheduler/test_embedded.py",
    "manager.http.schemas": "unit/manager/http/test_routes.py",
    "manager.views": "unit/manager/http/test_routes.py",
    "planning.steps": "unit/planning/test_planner.py",
    "query.analyzer": "unit/resolution/test_row_lineage.py",
    "query.expressions": "unit/query/test_operator_builder.py",
    "query.functions": "unit/query/test_function_use.py",
    "query.spark_confs": "functional/engine/test_operator_trees.py",
    "statements.nodes": "unit/statements/test_renderer_round_trip.py",
    "strategies.reasons": "unit/strategies/test_stream.py",
    "strategies.strategy": "unit/strategies/test_choice.py",
    "strategies.table_facts": "unit/strategies/test_choice.py",
    # Parts of what one other module does: the tests are those of that module.
    "changes.state_retention": "unit/changes/test_compatibility.py",
    "cli.output": "unit/cli/test_status_table.py",
    "execution.commit_metadata": "unit/formats/test_other_releases.py",
    "execution.environment": "unit/execution/test_operations.py",
    "execution.source_columns": "behaviour/source_columns.py",
    "hosting.hosted_stream": "unit/hosting/test_hosted_table.py",
    "manager.http.connections": "unit/manager/http/test_app.py",
    "query.binder": "unit/query/test_operator_builder.py",
    "query.computation": "unit/query/test_operator_builder.py",
    "query.dialect": "unit/query/test_syntax.py",
    "query.differential_changes": "unit/query/test_differential.py",
    "query.differential_keys": "unit/query/test_differential.py",
    "query.relations": "unit/query/test_operator_builder.py",
    "spark.delta.driver_views": "functional/refreshes/test_source_changes.py",
    "statements.alter_parser": "unit/statements/test_parser.py",
    "statements.values": "unit/statements/test_parser.py",
    "strategies.checks": "unit/resolution/test_resolver.py",
    "strategies.changed_rows": "unit/strategies/test_choice.py",
    "strategies.whole_table": "unit/strategies/test_choice.py",
    # What another program calls: dbt, Airflow, hatch, the command line.
    "__version__": "unit/cli/test_main.py",
    "adapter.debug": "functional/adapter/test_session.py",
    "impl": "functional/adapter/test_basic.py",
    "integrations.airflow": "airflow/test_dags.py",
    "manager.app": "functional/manager/test_manager.py",
    "plugin": "unit/test_structure.py",
    # What only a real Spark shows.
    "spark.query.analyzer": "functional/engine/test_analyzer.py",
    "spark.query.binding": "functional/engine/test_analyzer.py",
    "spark.catalog.commit": "functional/engine/test_failures.py",
    "spark.delta.row_changes": "functional/refreshes/test_row_replacement.py",
    "spark.delta.small_tables": "functional/refreshes/test_small_tables.py",
    "spark.iceberg.driver_transactions": "iceberg/test_table_format.py",
    "spark.tables.table_store": "functional/engine/test_behaviour.py",
    "resolution.date_patterns": "unit/planning/test_schedule_periods.py",
    "spark.session.driver_files": "functional/engine/test_driver_files.py",
    "spark.catalog.objects": "functional/engine/test_analyzer.py",
    "spark.catalog.source_options": "functional/streams/test_sources.py",
    "spark.environment": "functional/engine/test_behaviour.py",
    "spark.formats.installed": "unit/spark/registry/test_system_table.py",
    "spark.tables.observer": "functional/engine/test_behaviour.py",
    "spark.query.query_rows": "functional/refreshes/test_pinning.py",
    "spark.query.sources": "functional/streams/test_sources.py",
    "spark.streams.query": "functional/streams/test_hosting.py",
    "spark.query.stream_sources": "functional/streams/test_sources.py",
    "spark.tables.writer": "functional/refreshes/test_incremental.py",
}
"""Modules without a file of unit tests, with the tests below tests/ that cover them."""

SEVERAL_MODULES = {
    "cli/test_manager.py": "commands through a manager: client, commands, REST interface",
    "execution/test_behaviour.py": "the behaviour suites on the ports in memory",
    "execution/test_memory.py": "the ports in memory of tests/support/memory",
    "manager/test_fake.py": "the manager in memory that tests of pages and routes use",
    "test_prose.py": "texts of the whole project",
    "test_structure.py": "imports and sizes of all modules",
}
"""Files of unit tests in the folder of a package that are named after no module."""

VOCABULARY = {
    "definition.columns": "`columns` is what columns are called",
    "definition.definition": "`definition` is what a definition is called",
    "definition.errors": "classes of errors, which others catch",
    "definition.positions": "`positions` is what positions are called",
}
"""Modules of terms, which are imported as names everywhere: variables are called as the module."""

NAME_LISTS = {
    ("api", "execution.results"): "public names of the API",
    ("api", "strategies.strategy"): "public names of the API",
    ("connections", "handle"): "`handle` is what a handle is called",
    ("execution.operations", "planning.explain"): "it has a method `explain`",
    ("manager.workflows", "execution.workflows"): "`workflows` are what it is made with",
    ("planning.steps", "strategies.strategy"): "a run has a field `strategy`",
    ("query.differential", "query.differential_changes"): "half of them are its public names",
    ("query.operator_builder", "query.binder"): "`binder` is what a binder is called",
    ("spark.environment", "spark.query.stored_queries"): "the assembly names each of them once",
    ("spark.session.private_session", "query.confs"): "`confs` is what confs are called",
    ("spark.registry.registry", "definition.job"): "`job` is what a job is called",
}
"""Modules that import more than a few names of another one at run time."""


FORMAT_PACKAGES = {"spark.delta", "spark.iceberg"}
FORMAT_NAMES = {"spark.formats.delta", "spark.formats.iceberg"}
FORMAT_WORDS = re.compile(
    r"(?<!time)delta|iceberg|snapshot-id|userMetadata|txnAppId|txnVersion|commitInfo|reservoir|_last_checkpoint"
    r"|VERSION AS OF|\b(?:OPTIMIZE|VACUUM)\b|DESCRIBE (?:DETAIL|HISTORY)",
    re.IGNORECASE,
)
"""Names of the table format: of its product, its properties, its log and its statements."""

NAMES_A_FORMAT = {
    "impl": "a relation of dbt-spark says whether it is one of Iceberg",
    "definition.conditions": "a remedy names VERSION AS OF, which is Spark's own syntax",
    "query.operators": "a scan at a fixed version is written in that syntax again",
    "query.text": "users may write VERSION AS OF, which is Spark's own syntax, into a query",
    "statements.alter_parser": "an answer to users names the statement that lays out files again",
}
"""Modules outside of the format's package with such a name in a string."""


def is_pyspark(found: Import) -> bool:
    """Whether something of Spark's Python side is imported."""
    return found.target.split(".")[0] in {"pyspark", "py4j"}


def is_dbt(found: Import) -> bool:
    """Whether something of dbt is imported that is not ours."""
    top = found.target.split(".")[0]
    return (top == "dbt" and not ours(found.target)) or top.startswith("dbt_")


def of_a_format(module: Module) -> bool:
    """Whether a module is that of one table format: its names, or its part of the port."""
    return module.package in FORMAT_PACKAGES or module.inner in FORMAT_NAMES


def place(found: Import) -> str:
    """The package of the module that imports."""
    return FOUND.place(found.module)


def is_of_spark(found: Import) -> bool:
    """Whether the module that imports is one of the rooms of `spark/`."""
    return place(found).split(".")[0] == "spark"


def test_there_is_something_to_check():
    assert len(MODULES) > 100
    assert len(IMPORTS) > 1000


def test_packages_import_what_the_table_allows():
    assert FOUND.package_edges() == EDGES


def test_no_cycle_of_packages():
    graph: dict[str, set[str]] = {}
    for package, others in EDGES.items():
        whole = PARTS.get(package, package)
        graph.setdefault(whole, set()).update(PARTS.get(each, each) for each in others)
    acyclic = {package: others - {package} for package, others in graph.items()}
    assert cycles(acyclic) == []


def test_no_import_cycle():
    """Imports for type checkers count: modules that need each other's types are one concept."""
    names = {
        tuple(name.removeprefix(f"{PACKAGE}.") for name in group) for group in cycles(FOUND.edges())
    }
    assert names == set(CYCLES)


def test_constants_come_before_the_first_definition():
    found = {name: late_constants(module.path) for name, module in MODULES.items()}
    assert {name: late for name, late in found.items() if late} == {}


@pytest.mark.parametrize(
    ("text", "late"),
    [
        ("A = 1\ndef f(): ...\nB = A\n", ["B"]),
        ("def f(): ...\nB = f\nC = (B, 1)\n", []),
        ("class C: ...\nX: int = 1\n", ["X"]),
        ("import re\nA = re.compile('a')\n", []),
    ],
)
def test_a_constant_may_follow_what_it_is_made_of(tmp_path, text, late):
    path = tmp_path / "module.py"
    path.write_text(text)
    assert late_constants(path) == late


def test_chains_of_imports_are_short():
    chain = longest_chain(FOUND.edges(When.LOADED))
    assert len(chain) == LONGEST_CHAIN, " > ".join(chain)


def test_modules_are_imported_rather_than_lists_of_their_names():
    lists = {
        (FOUND.modules[module].inner, FOUND.modules[target].inner)
        for (module, target), names in FOUND.name_lists().items()
        if len(names) > MANY_NAMES
    }
    assert {pair for pair in lists if pair[1] not in VOCABULARY} == set(NAME_LISTS)
    assert {target for _, target in lists} >= set(VOCABULARY)


def test_a_module_has_one_name_where_it_is_imported():
    names = FOUND.local_names()
    assert {target: local for target, local in names.items() if len(local) > 1} == {}
    every = [local for found in names.values() for local in found]
    assert [local for local in every if every.count(local) > 1] == []
    assert len(every) > 40


def test_no_relative_imports():
    assert [str(found) for found in IMPORTS if found.target.startswith(".")] == []


def test_dbt_stays_in_its_modules():
    engine = [found for found in IMPORTS if is_dbt(found) and place(found) not in DBT_MODULES]
    assert [str(found) for found in engine] == []


def test_pyspark_stays_in_its_packages():
    engine = [
        found
        for found in IMPORTS
        if is_pyspark(found)
        and found.when is not When.TYPES
        and place(found).split(".")[0] != "spark"
    ]
    assert [str(found) for found in engine if place(found) in _ENGINE] == []
    assert [str(found) for found in engine if found.when is When.LOADED] == []


def test_code_for_airflow_needs_neither_spark_nor_dbt():
    """Nor anything else: there the package is installed without what it depends on."""
    seen: set[str] = set()
    waiting = [name for name in FOUND.modules if name.startswith(f"{PACKAGE}.integrations")]
    foreign = set()
    while waiting:
        module = waiting.pop()
        seen.add(module)
        for found in FOUND.modules[module].imports:
            if found.when is not When.LOADED:
                continue
            if not ours(found.target):
                foreign.add(found.target.split(".")[0])
            elif found.target not in seen:
                waiting.append(found.target)
    assert foreign - sys.stdlib_module_names == {"airflow"}
    assert f"{PACKAGE}.planning.schedule" in seen


def test_modules_are_not_small():
    small = {name for name, module in MODULES.items() if module.lines < SMALLEST}
    assert small == set(TOO_SMALL)


def test_a_small_module_has_more_than_one_importer():
    single = {
        module.inner
        for name, by in FOUND.importers().items()
        if len(by) == 1
        and (module := FOUND.modules[name]).lines < SMALL_SINGLE
        and module.package == FOUND.modules[next(iter(by))].package
    }
    assert single == set(SINGLE_IMPORTER)


def test_every_module_has_a_file_of_unit_tests():
    named = {file.module for file in UNIT_TESTS}
    assert set(MODULES) - named == set(TESTED_BY)
    assert [path for path in TESTED_BY.values() if not (ROOT / "tests" / path).is_file()] == []


def test_a_file_of_unit_tests_is_named_after_its_module():
    assert {file.path for file in UNIT_TESTS if file.module is None} == set(SEVERAL_MODULES)


def test_the_longest_name_of_a_module_counts():
    modules = {file.path: file.module for file in UNIT_TESTS}
    assert modules["spark/launch/test_session.py"] == "spark.launch.session"
    assert modules["spark/launch/test_session_confs.py"] == "spark.launch.session"
    assert modules["manager/http/test_pages_tables_advice.py"] == "manager.http.pages_tables"


def test_functions_are_short():
    long = {
        f"{name}.{function.name}": function.lines
        for name, module in MODULES.items()
        for function in module.functions
        if function.lines > LONGEST_FUNCTION
    }
    assert long == {}


def test_macro_files_are_short():
    def lines(path: Path) -> int:
        return len(path.read_text(encoding="utf-8").splitlines())

    macros = {path.relative_to(MACROS).as_posix(): lines(path) for path in MACROS.rglob("*.sql")}
    assert len(macros) > 20
    assert {name: n for name, n in macros.items() if n > LONGEST_MACRO_FILE} == {}


def strings(path: Path) -> list[str]:
    """The string literals of a module, docstrings and parts of f-strings among them."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found = (node.value for node in nodes if isinstance(node, ast.Constant))
    return [value for value in found if isinstance(value, str)]


def test_the_table_format_is_named_in_its_package_alone():
    named = {
        name
        for name, module in MODULES.items()
        if not of_a_format(module) and any(map(FORMAT_WORDS.search, strings(module.path)))
    }
    assert named == set(NAMES_A_FORMAT)


MACROS_THAT_NAME_A_FORMAT = {
    "adapters/alter_column_comment.sql": "dbt-spark's list of formats whose columns have comments",
    "materializations/models/clone.sql": "only Delta has CLONE, as a relation of dbt-spark says",
    "materializations/models/write_table.sql": "the default of a config",
    "python_model/write_increment.sql": "the default of a config",
}
"""Macros with such a name. A macro that decides by one should ask the adapter."""


def test_macros_name_no_table_format():
    macros = ROOT / "dbt/include/spark_mt/macros"
    named = {
        path.relative_to(macros).as_posix()
        for path in macros.rglob("*.sql")
        if FORMAT_WORDS.search(path.read_text(encoding="utf-8"))
    }
    assert named == set(MACROS_THAT_NAME_A_FORMAT)


def test_one_module_chooses_the_implementation_of_the_table_format():
    """All others ask the names of the installed formats, the checks of releases, and the port."""
    implementation = {m.name for m in MODULES.values() if m.package in FORMAT_PACKAGES}
    checks = {f"{PACKAGE}.{package}.releases" for package in FORMAT_PACKAGES}
    choosing = {
        found.module.removeprefix(f"{PACKAGE}.")
        for found in IMPORTS
        if found.target in implementation - checks and found.module not in implementation
    }
    assert choosing == {"spark.environment"}
    naming = {
        found.module.removeprefix(f"{PACKAGE}.")
        for found in IMPORTS
        if found.target in {f"{PACKAGE}.{name}" for name in FORMAT_NAMES}
        and found.name == "FORMAT"
        and found.module not in implementation
    }
    assert naming == {"spark.formats.installed"}


COUNTS_VERSIONS = {
    "definition.positions": "the rule that versions grow by one or more with each commit",
}
"""Modules outside of the format's package that add to a version or subtract from it."""


def counts_versions(path: Path) -> bool:
    """Whether a module has a sum or a difference of something that is called a version."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add | ast.Sub)
        and any(map(is_version, (node.left, node.right)))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def is_version(node: ast.expr) -> bool:
    """Whether an operand is a name or an attribute that ends so."""
    name = getattr(node, "id", getattr(node, "attr", ""))
    return name.endswith("version")


def test_a_format_alone_counts_versions():
    counting = {
        name
        for name, module in MODULES.items()
        if not of_a_format(module) and counts_versions(module.path)
    }
    assert counting == set(COUNTS_VERSIONS)


def test_the_names_of_the_guard_are_those_of_the_format():
    texts = [
        text for module in MODULES.values() if of_a_format(module) for text in strings(module.path)
    ]
    found = {match.group().upper() for text in texts for match in FORMAT_WORDS.finditer(text)}
    assert {"DELTA", "USERMETADATA", "RESERVOIR", "OPTIMIZE", "VACUUM", "VERSION AS OF"} <= found
    assert {"ICEBERG", "SNAPSHOT-ID"} <= found
    assert not FORMAT_WORDS.search("timedelta")


def test_nothing_of_the_wheel_imports_tests_or_tools():
    assert [str(f) for f in IMPORTS if f.target.split(".")[0] in {"tests", "tools"}] == []


@pytest.mark.parametrize("folder", ["dbt", "dbt/adapters", "dbt/include"])
def test_folders_of_dbt_stay_namespaces(folder):
    assert not (ROOT / folder / "__init__.py").exists()


def loaded(code: str, *modules: str) -> list[str]:
    """Which of some modules a program loads."""
    script = f"import sys; {code}; print(*(name for name in {modules} if name in sys.modules))"
    command = [sys.executable, "-c", script]
    return subprocess.check_output(command, text=True).split()  # noqa: S603 - our own script


def test_the_plugin_loads_no_pyspark():
    code = "from dbt.adapters.spark_mt import Plugin; assert Plugin.project_name == 'dbt_spark_mt'"
    assert loaded(code, "pyspark", "py4j") == []


def test_the_python_api_loads_no_pyspark():
    assert loaded("import dbt.adapters.spark_mt.api", "pyspark", "py4j", "pandas") == []


@pytest.mark.parametrize("module", ["definition.definition", "api", "execution.operations"])
def test_the_engine_loads_no_dbt(module):
    assert loaded(f"import {PACKAGE}.{module}", "dbt.adapters.base", "dbt_common", "agate") == []


def test_a_loaded_module_is_reported():
    assert loaded("import json", "json", "agate") == ["json"]
