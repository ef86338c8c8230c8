"""Java, environment and printed output of the JVM of Spark."""

from __future__ import annotations

import os
import shutil
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
