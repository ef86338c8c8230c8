"""Java, environment and printed output of the JVM of Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_LINES = 12


def java() -> Path | None:
    """Return the `java` with which Spark would be launched, of JAVA_HOME or else of the path."""
    home = os.environ.get("JAVA_HOME")
    if home is not None and (file := Path(home) / "bin" / "java").exists():
        return file
    found = shutil.which("java")
    return Path(found) if found else None


def java_version(java: Path) -> str:
    """Return the version of a `java` such as `17.0.15`; empty where it does not say.

    The file `release` of its folder has it; a start of Java would take 0.1 s.
    """
    release = java.resolve().parents[1] / "release"
    if release.exists():
        text = release.read_text(encoding="utf-8", errors="replace")
        found = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    else:
        done = subprocess.run((java, "-version"), capture_output=True, text=True, check=False)  # noqa: S603 - Spark runs it next
        found = re.search(r'version "([^"]+)"', done.stderr)
    return found[1] if found else ""


@contextmanager
def launch_variable(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment for a JVM that is launched while the block runs."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def end_of_log(log: Path) -> list[str]:
    """Return the last lines of what a JVM printed."""
    return log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES:]
