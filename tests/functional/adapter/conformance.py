"""Conformance page: which of dbt's adapter tests run here, which do not, and why.

The examples of Flink's design documents follow on the same page.

`python -m tests.functional.adapter.conformance` writes the page; a unit test compares it.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import NamedTuple

import dbt.tests.adapter

from tests import conformance as left_out
from tests.flips import conformance as seeds

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "conformance.md"
_PREFIX = "dbt.tests.adapter."

_POSTGRES = "tests Postgres itself"
_GRANTS = "open source Spark has no GRANT; `grants` warns instead (macro `apply_grants`)"
_PYTHON = "Spark's catalog holds no Python functions; they are refused with a sentence"
_JAVASCRIPT = "Spark runs no JavaScript; such functions are refused with a sentence"
_AGGREGATE = "no SQL function of Spark contains an aggregate; they are refused with a sentence"
_DEBUG = "expects Postgres' messages; `dbt debug` has tests of our own (test_session.py)"

NOT_RUN = {
    "catalog": "needs a materialized view; our type in docs has a test of its own",
    "column_types": _POSTGRES,
    "dbt_debug": _DEBUG,
    "grants": _GRANTS,
    "simple_copy": "creates Postgres materialized views in addition to the models",
    "BaseDocsGenerate": "expects Postgres' catalog; comments and types in docs are tested",
    "BaseDocsGenReferences": "expects Postgres' catalog; comments and types in docs are tested",
    "BaseSameAliasDifferentDatabases": "needs a second catalog",
    "MetadataWithEmptyFlag": "expects columns to be dropped, which Delta refuses",
    "BaseIncrementalOnSchemaChange": "runs without its `sync_all_columns` test: Delta drops no "
    "column without column mapping",
    "BasePersistDocsQuotedDescriptionNotAppliedOnMismatch": "skips itself for Spark",
    "BasePersistDocsCommentOnQuotedColumn": "quotes columns as Postgres does",
    "BaseSnapshotDbtValidToCurrent": "expects rows in an order that it does not ask for",
    "BaseCurrentTimestampAware": "Spark's current_timestamp has no time zone in its type",
    "BaseEscapeSingleQuotesQuote": "Spark escapes quotes with a backslash",
    **dict.fromkeys(("UDAFBase", "BasicSQLUDAF"), _AGGREGATE),
    **dict.fromkeys(("BasicPythonUDAF", "PythonUDAFDefaultArgSupport"), _PYTHON),
    **dict.fromkeys(("PythonUDFSupported", "PythonUDFDefaultArgSupport"), _PYTHON),
    **dict.fromkeys(("PythonUDFVolatilitySupport", "PythonUDFWithPackagesSupported"), _PYTHON),
    **dict.fromkeys(("BasicJSUDF", "JSUDFMultiLineBody", "JSUDFDefaultArgSupport"), _JAVASCRIPT),
    **dict.fromkeys(("JSUDFDeterministicVolatility", "JSUDFStableVolatilityWarns"), _JAVASCRIPT),
    **dict.fromkeys(("JSUDFNonDeterministicVolatility", "BasicJSAggregateUDF"), _JAVASCRIPT),
    "JSAggregateUDFVolatilityIgnored": _JAVASCRIPT,
}
"""Folders and classes of dbt-tests-adapter that do not run, and why."""


_ABOUT = (
    "dbt tests adapters with the classes of `dbt-tests-adapter`. *As is* runs unchanged; *adapted* "
    "runs with fixtures or expectations in Spark's SQL. `make test` runs a fast part of them, "
    "`make conformance` all."
)


class Upstream(NamedTuple):
    """A class of dbt-tests-adapter that holds tests."""

    folder: str
    name: str
    cls: type


def upstream() -> list[Upstream]:
    """Every class that an adapter is meant to inherit, in the order of folders and names."""
    found = {}
    root = Path(dbt.tests.adapter.__path__[0])
    for path in sorted(root.rglob("*.py")):
        dotted = ".".join(path.relative_to(root).with_suffix("").parts)
        module = importlib.import_module(_PREFIX + dotted)
        for name, cls in inspect.getmembers(module, inspect.isclass):
            if cls.__module__ == module.__name__ and _is_base(name) and _tests(cls):
                found[cls] = Upstream(dotted.partition(".")[0], name, cls)
    return sorted(found.values(), key=lambda each: (each.folder, each.name))


def ours() -> dict[type, bool]:
    """The classes of dbt's that a test class here inherits, and whether it changes them."""
    inherited: dict[type, bool] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"tests.functional.adapter.{path.stem}")
        for name, cls in inspect.getmembers(module, inspect.isclass):
            if name.startswith("Test") and cls.__module__ == module.__name__:
                adapted = any(_changes(base) for base in cls.__mro__ if _is_ours(base))
                for base in cls.__mro__:
                    if base.__module__.startswith(_PREFIX):
                        inherited[base] = inherited.get(base, True) and adapted
    return inherited


def reason(each: Upstream) -> str | None:
    """Why a class does not run, if it does not."""
    return NOT_RUN.get(each.name) or NOT_RUN.get(each.folder)


_DBT_1_12 = (
    (
        "`dbt seed --empty`",
        "the table has its columns and types and no rows; tables that read it follow",
        "`TestEmptySeed`",
    ),
    (
        "`latest_version_pointer`",
        (
            "a view on the latest version of a model in SQL; "
            "a run that changes nothing leaves the table alone"
        ),
        "`TestLatestVersionPointer`",
    ),
    (
        "`catalogs.yml`",
        (
            "refused: it describes tables of Iceberg; the error names `database`, with which a "
            "model goes to another catalog of Spark"
        ),
        "`TestCatalogs`",
    ),
    (
        "deprecations",
        "a project with all configs and tests of this package has none",
        "`TestDeprecations`",
    ),
)
"""What adapters meet since dbt 1.12, what happens here, and the class that tests it."""

_CORPORA, _FLIPS = "## Queries that others wrote\n", "## Flink's design documents"


def page() -> str:
    """The page's text."""
    run = ours()
    lines = [
        "# Conformance",
        "",
        "## dbt's adapter tests",
        "",
        _ABOUT,
        "",
        "| folder | class | here |",
        "|---|---|---|",
    ]
    for each in upstream():
        how = {True: "adapted", False: "as is", None: f"no: {reason(each)}"}[run.get(each.cls)]
        lines.append(f"| {each.folder} | `{each.name}` | {how} |")
    lines += [
        "",
        "## dbt 1.12",
        "",
        (
            "The tests are in `tests/functional/adapter/test_dbt_1_12.py`; the lane `newest-dbt` "
            "of [the matrix](compatibility.md) runs them."
        ),
        "",
        "| feature | here | test |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in _DBT_1_12),
    ]
    for section in (left_out.section(), left_out.profile(), [_of_corpora()]):
        lines += ["", *section]
    lines += ["", _FLIPS, "", *seeds.section()]
    return "\n".join(lines) + "\n"


def _of_corpora() -> str:
    """The section that `make corpus` writes, as it is: it has what was measured."""
    written = PAGE.read_text(encoding="utf-8")
    return written[written.index(_CORPORA) : written.index(_FLIPS)].rstrip()


def _is_base(name: str) -> bool:
    """`Test…` runs a base against Postgres."""
    return not name.startswith(("Test", "_"))


def _tests(cls: type) -> list[str]:
    return [name for name in dir(cls) if name.startswith("test_")]


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("tests.functional.adapter.")


def _changes(cls: type) -> bool:
    return any(not name.startswith("__") and name != "pytestmark" for name in vars(cls))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
