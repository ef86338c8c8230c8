"""Jars that tests need, resolved with the Ivy that Spark has.

Later calls find them in Ivy's cache and need no network.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path


def java() -> str:
    """Return the Java to run, as Spark would choose it."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


@cache
def resolved(module: Path, configuration: str) -> tuple[str, ...]:
    """Return the paths of the jars of an Ivy module's configuration."""
    with tempfile.TemporaryDirectory() as scratch:
        found = Path(scratch) / "class-path"
        command = (java(), "-jar", _ivy(), "-warn", "-ivy", module)
        result = subprocess.run(  # noqa: S603 - our own arguments
            [*map(str, command), "-confs", configuration, "-cachepath", str(found)],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise RuntimeError(result.stdout + result.stderr)
        return tuple(found.read_text().strip().split(os.pathsep))


def spark_jars() -> Path:
    """Return the directory of the jars that PySpark brings."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("PySpark is not installed")  # noqa: TRY003, EM101
    return Path(spec.submodule_search_locations[0]) / "jars"


def _ivy() -> Path:
    return next(spark_jars().glob("ivy-*.jar"))
