"""Hooks of the documentation site: files of the repository outside docs/ that pages link to.

A link that leads out of docs/ works where the repository is read. The site has copies of the files
that it leads to, at their paths in the repository.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "examples/flights/README.md",
)
FILES = ("deploy/**/*",)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what lies outside docs/."""
    found = [ROOT / page for page in PAGES]
    found += [file for pattern in FILES for file in ROOT.glob(pattern) if file.is_file()]
    for file in found:
        path = file.relative_to(ROOT).as_posix()
        files.append(File.generated(config, path, abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Lead links to the place of a file in the site: docs/ is its root."""
    source = page.file.src_uri
    if source in PAGES:
        up = "../" * source.count("/")
        return re.sub(rf"\]\({up}docs/", f"]({up}", markdown)
    return markdown.replace("](../", "](")
