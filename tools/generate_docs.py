"""Generator of the lists in docs/, from the tables in the code; `make docs` runs it.

A page holds prose and blocks. The text between `<!-- generated: name -->` and
`<!-- end of name -->` is replaced by the rows of the table called `name`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import MISSING, Field, fields
from enum import Enum
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.adapter.config import CONFIG_KEYS
from dbt.adapters.spark_mt.connections import SparkMTCredentials
from dbt.adapters.spark_mt.query.analyzer import LOG_FORMATS
from dbt.adapters.spark_mt.resolution.enrichers import ENRICHERS
from dbt.adapters.spark_mt.resolution.options import OPTIONS
from dbt.adapters.spark_mt.resolution.settings import SETTINGS
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from tools import command_reference, error_catalogue, package_graph, python_reference, rest_document
from tools.docs_data.changes import CHANGES
from tools.docs_data.reasons import ENGINES, REASONS, About
from tools.docs_data.statements import CLAUSES, STATEMENTS
from tools.matrix import page as matrix_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tools.docs_data.statements import StatementDoc

DOCS = Path(__file__).parents[1] / "docs"
DEPLOY = DOCS.parent / "deploy"
OPENAPI = DOCS / "openapi.json"
BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


class UnknownBlockError(KeyError):
    """A page asks for a block that no table makes."""


def cell(text: str) -> str:
    """A text for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, tuple("---" for _ in header), *(tuple(map(cell, row)) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def statements() -> str:
    """Every statement with its grammar, its meaning and its examples."""
    return "\n" + "\n".join(map(statement, STATEMENTS))


def statement(doc: StatementDoc) -> str:
    """The section of one statement."""
    grammar, examples = code("text", [doc.grammar]), code("sql", doc.examples)
    return f"### {doc.title}\n\n{doc.meaning}\n\n{grammar}\n{examples}"


def code(language: str, texts: Sequence[str]) -> str:
    """A block of code with one text or several."""
    return f"```{language}\n" + ";\n\n".join(texts) + "\n```\n"


def clauses() -> str:
    """The clauses of CREATE, in their order."""
    return table(("clause", "meaning"), ((f"`{c.grammar}`", c.meaning) for c in CLAUSES))


def options() -> str:
    """The options of WITH."""
    *ours, others = ((o.key, o.values, o.meaning) for o in OPTIONS)
    found = (*ours, FORMAT.properties_doc, others)
    rows = ((_named(key), values, meaning) for key, values, meaning in found)
    return table(("option", "value", "meaning"), rows)


def _named(key: str) -> str:
    return key if " " in key else f"`{key}`"


def profile() -> str:
    """The keys of a profile, explained by the docstring of the credentials."""
    aliases = {field: alias for alias, field in SparkMTCredentials._ALIASES.items()}  # noqa: SLF001 - dbt's own contract
    meanings = arguments(SparkMTCredentials)
    rows = (
        (f"`{aliases.get(field.name, field.name)}`", _default(field), meanings[field.name])
        for field in fields(SparkMTCredentials)
        if field.name in meanings
    )
    return table(("key", "default", "meaning"), rows)


def _default(field: Field[object]) -> str:
    if field.name == "schema":
        return "required"
    if field.default is MISSING or field.default is None:
        return ""
    value = field.default.value if isinstance(field.default, Enum) else field.default
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def arguments(documented: object) -> dict[str, str]:
    """The arguments that a docstring explains, by name."""
    text = cleandoc(documented.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in found}


def model_configs() -> str:
    """The config keys of a model."""
    rows = ((_with_synonyms(k.name, k.synonyms), k.default, k.meaning) for k in CONFIG_KEYS)
    return table(("key", "default", "meaning"), rows)


def _with_synonyms(name: str, synonyms: Sequence[str]) -> str:
    return " or ".join(f"`{each}`" for each in (*synonyms, name))


def settings() -> str:
    """The settings of a session."""
    rows = ((f"`{s.key}`", s.default, s.meaning) for s in SETTINGS)
    return table(("setting", "default", "meaning"), rows)


def enrichers() -> str:
    """The enrichers that ship with the package, explained by their own docstrings."""
    sections = (f"### `{name}`\n\n{summary(kind)}\n" for name, kind in ENRICHERS.items())
    return "\n" + "\n".join(sections) + "\n"


def summary(documented: object) -> str:
    """A docstring as Markdown, without its references to the design papers."""
    lines = (documented.__doc__ or "").strip().splitlines()
    return without_references("\n".join(line.strip() for line in lines))


def without_references(text: str) -> str:
    """A text without its references to the design papers."""
    return re.sub(r" \([^()]*\b(?:seed|semantics) \d[^()]*\)", "", text)


def engines() -> str:
    """Every engine with its strategy."""
    rows = ((f"`{e.name}`", e.when, e.how, e.cost) for e in ENGINES)
    return table(("engine", "which tables", "what it does", "what an update costs"), rows)


def stream_formats() -> str:
    """The formats of sources that streams can follow."""
    formats = listed(sorted(LOG_FORMATS))
    return f"\nDelta tables, and tables without versions of the formats {formats}.\n\n"


def listed(names: Sequence[str]) -> str:
    """Names as code, the last one after "and"."""
    quoted = [f"`{name}`" for name in names]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def reasons() -> str:
    """Every reason for an engine, by what it is about."""
    groups = (
        f"\n### {about.value}\n\n"
        + table(
            ("code", "meaning"),
            ((f"`{doc.code}`", doc.meaning) for doc in REASONS if doc.about is about),
        )
        for about in About
    )
    return "".join(groups) + "\n"


def changes() -> str:
    """What each kind of change does to a table."""
    header = ("what you change", "what happens in place", "kept", "lost")
    return table(header, ((c.what, c.in_place, c.kept, c.lost) for c in CHANGES))


def errors() -> str:
    """Every condition with its meaning, its message and its remedy, by where it comes from."""
    found = error_catalogue.documented()
    groups = (
        f"## {group.value}\n\n{about}\n\n"
        + "\n".join(condition(each) for each in found if each.condition.group is group)
        for group, about in error_catalogue.ABOUT.items()
    )
    return "\n" + "\n".join(groups) + "\n"


def condition(each: error_catalogue.Documented) -> str:
    """The section of one condition; its heading is the anchor."""
    main = each.condition
    messages, remedies = {}, {}
    for kind in (main, *each.in_statement):
        messages[error_catalogue.shown(f"[{main.name}] {kind.text}")] = None
        label = "Remedy" if kind is main else "Remedy in a statement"
        remedies.setdefault(error_catalogue.shown(kind.remedy), label)
    parts = [
        f"### {main.name}",
        without_references(main.about),
        "```text\n" + "\n\n".join(messages) + "\n```",
        *(f"{label}: {prose(text)}" for text, label in remedies.items() if text),
    ]
    return "\n\n".join(parts) + "\n"


def prose(text: str) -> str:
    """A message as Markdown: what looks like a tag outside of code is none."""
    parts = text.split("`")
    return "`".join(p if i % 2 else p.replace("<", "\\<") for i, p in enumerate(parts))


def rest_routes() -> str:
    """The routes of the manager's REST interface."""
    return table(("route", "what it does"), rest_document.routes())


def rest_refresh() -> str:
    """What a refresh over HTTP may say."""
    return table(("key", "default", "meaning"), rest_document.keys("RefreshTableRequest"))


def rest_gateway_refresh() -> str:
    """The keys of a refresh's body, as Flink's SQL Gateway has them."""
    return table(("key", "default", "meaning"), rest_document.keys("GatewayRefreshRequest"))


def command_line() -> str:
    """Every command of `spark-mt` with its options."""
    header = ("option", "default", "meaning")
    sections = (
        f"### `{usage}`\n\n{about}\n\n{table(header, options)}"
        for usage, about, options in command_reference.sections()
    )
    return "\n" + "\n".join(sections) + "\n"


def packages() -> str:
    """Every package with its contents and the packages that it imports."""
    return table(("package", "contents", "imports"), package_graph.rows())


def deploy_systemd() -> str:
    """The unit for systemd."""
    return "\n" + code("ini", [(DEPLOY / "spark-mt.service").read_text("utf-8").rstrip()]) + "\n"


def deploy_container() -> str:
    """The file of the image."""
    return "\n" + code("dockerfile", [(DEPLOY / "Dockerfile").read_text("utf-8").rstrip()]) + "\n"


def deploy_kubernetes() -> str:
    """Every manifest with its kind and its first comment."""
    rows = (
        (f"[`{path.name}`](../deploy/kubernetes/{path.name})", *_kind_and_purpose(path))
        for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    )
    return table(("manifest", "kind", "purpose"), rows)


def _kind_and_purpose(manifest: Path) -> tuple[str, str]:
    text = manifest.read_text(encoding="utf-8")
    (kind,) = re.findall(r"^kind: (\w+)$", text, re.MULTILINE)
    comment = text.partition("\napiVersion:")[0]
    return f"`{kind}`", " ".join(line.removeprefix("# ") for line in comment.splitlines())


BLOCKS: dict[str, Callable[[], str]] = {
    "command-line": command_line,
    "statements": statements,
    "clauses": clauses,
    "profile": profile,
    "model-configs": model_configs,
    "options": options,
    "settings": settings,
    "enrichers": enrichers,
    "engines": engines,
    "stream-formats": stream_formats,
    "reasons": reasons,
    "changes": changes,
    "errors": errors,
    "rest-routes": rest_routes,
    "python-methods": python_reference.methods,
    "python-preparation": python_reference.preparation,
    "python-types": python_reference.types,
    "rest-refresh": rest_refresh,
    "deploy-container": deploy_container,
    "deploy-kubernetes": deploy_kubernetes,
    "deploy-systemd": deploy_systemd,
    "package-graph": package_graph.mermaid,
    "packages": packages,
    "rest-gateway-refresh": rest_gateway_refresh,
    "supported-releases": lambda: table(matrix_page.SUPPORTED_HEADER, matrix_page.supported()),
    "lanes": lambda: table(matrix_page.RAN_HEADER, matrix_page.lanes()),
    "excluded-releases": lambda: table(matrix_page.EXCLUDED_HEADER, matrix_page.excluded()),
}


def rendered(page: str) -> str:
    """A page with every generated block as the code has it now.

    Raises:
        UnknownBlockError: The page names a block that nothing generates.
    """

    def block(match: re.Match[str]) -> str:
        if match[2] not in BLOCKS:
            raise UnknownBlockError(match[2])
        return match[1] + BLOCKS[match[2]]() + match[3]

    return BLOCK.sub(block, page)


def main() -> int:
    """Rewrite the files that changed and name them."""
    pages = {path: rendered(path.read_text(encoding="utf-8")) for path in DOCS.glob("*.md")}
    for path, after in sorted({**pages, OPENAPI: rest_document.as_text()}.items()):
        if not path.exists() or path.read_text(encoding="utf-8") != after:
            path.write_text(after, encoding="utf-8")
            print(f"written: {path.relative_to(DOCS.parent)}")  # noqa: T201 - this is a command
    return 0


if __name__ == "__main__":
    sys.exit(main())
