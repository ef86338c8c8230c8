"""CHANGELOG.md: the section of the version in `__version__.py`, from the fragments in `changes/`.

`make changelog` writes the section again and keeps the fragments. Its date is "unreleased".
`make release` writes it for the last time, with the date, and deletes the fragments.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "CHANGELOG.md"
START = "<!-- towncrier release notes start -->\n"
UNRELEASED = "unreleased"
_VERSION = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)


def version() -> str:
    """The version that the fragments belong to."""
    text = (ROOT / "dbt/adapters/spark_mt/__version__.py").read_text(encoding="utf-8")
    return str(_VERSION.findall(text)[0])


def rendered(of: str, date: str = UNRELEASED) -> str:
    """The section of a version, as towncrier makes it of all fragments."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft"]
    ran = subprocess.run(  # noqa: S603 - our own command
        [*command, "--version", of, "--date", date],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip() + "\n"


def without_unreleased(text: str, of: str) -> str:
    """The text of the file without the section of a version that is not released.

    Raises:
        ValueError: The version is released.
    """
    head, start, sections = text.partition(START)
    kept = []
    for section in re.split(r"^(?=## )", sections, flags=re.MULTILINE):
        if section.startswith(f"## {of} ("):
            if not section.startswith(f"## {of} ({UNRELEASED})"):
                problem = f"{of} is released: give __version__.py the next version"
                raise ValueError(problem)
        else:
            kept.append(section)
    return head + start + "".join(kept)


def with_section(text: str, section: str, of: str) -> str:
    """The text of the file with the section of the version as the first one."""
    head, start, others = without_unreleased(text, of).partition(START)
    rest = others.strip()
    return head + start + "\n" + section + (f"\n{rest}\n" if rest else "")


def main(arguments: list[str]) -> int | str:
    """Write the section; with `--release` for the last time."""
    of, is_release = version(), arguments == ["--release"]
    date = datetime.now(timezone.utc).date().isoformat() if is_release else UNRELEASED
    try:
        text = with_section(FILE.read_text(encoding="utf-8"), rendered(of, date), of)
    except ValueError as error:
        return f"CHANGELOG.md is as before: {error}."
    FILE.write_text(text, encoding="utf-8")
    if is_release:
        for fragment in (ROOT / "changes").glob("*.md"):
            fragment.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
