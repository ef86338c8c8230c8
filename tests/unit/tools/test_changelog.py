"""Fragments in changes/ become the section of the changelog."""

from __future__ import annotations

import re

import pytest

from tools import changelog

FRAGMENTS = sorted((changelog.ROOT / "changes").glob("[!.]*"))
HEAD = f"# Changes\n\nText.\n\n{changelog.START}"
SECTION = "## 0.2.0 (unreleased)\n\n### Added\n\n- New.\n"
RELEASED = "## 0.1.0 (2026-11-27)\n\n### Added\n\n- Old.\n"


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_a_fragment_has_a_kind_that_towncrier_knows(path):
    """towncrier leaves out what it does not know, without an error."""
    pattern = r"(\+[a-z0-9-]+|[0-9]+)\.(added|changed|fixed|removed)\.md"
    assert re.fullmatch(pattern, path.name)
    assert path.read_text(encoding="utf-8").strip()


def test_every_fragment_is_in_the_section():
    found = changelog.rendered("0.9.0")
    assert found.startswith("## 0.9.0 (unreleased)\n")
    flat = " ".join(found.split())
    for path in FRAGMENTS:
        assert " ".join(path.read_text(encoding="utf-8").split()) in flat, path.name


def test_the_file_has_the_place_for_sections_and_one_of_this_version():
    text = changelog.FILE.read_text(encoding="utf-8")
    assert text.count(changelog.START) == 1
    assert text.count(f"\n## {changelog.version()} (") == 1


def test_the_section_is_written_again_in_its_place():
    text = changelog.with_section(HEAD + "\n" + RELEASED, SECTION, "0.2.0")
    assert text == f"{HEAD}\n{SECTION}\n{RELEASED}"
    assert changelog.with_section(text, SECTION, "0.2.0") == text
    other = SECTION.replace("New", "Newer")
    assert changelog.with_section(text, other, "0.2.0") == f"{HEAD}\n{other}\n{RELEASED}"
    assert changelog.with_section(HEAD, SECTION, "0.2.0") == f"{HEAD}\n{SECTION}"


def test_the_section_of_a_release_is_not_written_again():
    with pytest.raises(ValueError, match=r"0\.1\.0 is released"):
        changelog.with_section(HEAD + "\n" + RELEASED, SECTION, "0.1.0")
