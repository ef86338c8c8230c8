"""The committed pages say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt.adapters.spark_mt.changes.changes import Changed
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.statements.clauses import CLAUSES
from tools import generate_docs, rest_document
from tools.docs_data.changes import CHANGES

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def code_block(page: str, language: str, part: str) -> str:
    """The text of the code block of a page that contains a part."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    (block,) = [block for block in blocks if part in block]
    return block


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_generated_parts_are_what_the_code_says(page):
    text = page.read_text(encoding="utf-8")
    assert text == generate_docs.rendered(text), "run `make docs` and commit the pages"


def test_the_openapi_document_is_what_the_application_says():
    text = generate_docs.OPENAPI.read_text(encoding="utf-8")
    assert text == rest_document.as_text(), "run `make docs` and commit the pages"


def test_every_block_is_on_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {name for _, name, _ in generate_docs.BLOCK.findall(text)} == set(generate_docs.BLOCKS)


def test_a_block_that_nothing_generates_is_an_error():
    with pytest.raises(generate_docs.UnknownBlockError):
        generate_docs.rendered("<!-- generated: nothing -->\n<!-- end of nothing -->")


def test_text_outside_of_generated_blocks_is_kept():
    page = "before\n<!-- generated: settings -->\nold\n<!-- end of settings -->\nafter\n"
    rendered = generate_docs.rendered(page)
    assert rendered.startswith("before\n<!-- generated: settings -->\n| setting |")
    assert rendered.endswith("|\n<!-- end of settings -->\nafter\n")


def test_the_enricher_of_the_page_works():
    names: dict[str, object] = {}
    exec(code_block("enrichers.md", "python", "FrugalEnricher"), names)  # noqa: S102 - our own page
    result = names["FrugalEnricher"]().enrich(DeclaredDefinition("select 1"), None)
    assert (str(result.freshness), result.refresh_mode) == ("1 day", RefreshMode.FULL)


def test_every_kind_of_change_is_explained_once():
    explained = [change for doc in CHANGES for change in doc.changes]
    assert len(explained) == len(set(explained))
    clauses = {clause.field for clause in CLAUSES if clause.effect is not None}
    assert set(explained) == {*Changed, *clauses} - {Changed.CLAUSE}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
