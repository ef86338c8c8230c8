"""The jars of Spark's Kafka connector and of a Kafka broker, resolved with the Ivy that Spark has.

`python -m tests.kafka.jars` fetches them; later calls find them in Ivy's cache and need no network.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_MODULE = Path(__file__).with_name("ivy.xml")
_CONNECTOR, _BROKER = "connector", "broker"


def connector_jars() -> tuple[str, ...]:
    """Return the paths for `spark.jars`."""
    return _resolved(_CONNECTOR)


def broker_class_path() -> str:
    """Return what `java -cp` takes."""
    return os.pathsep.join(_resolved(_BROKER))


def java() -> str:
    """Return the Java to run, as Spark would choose it."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


@cache
def _resolved(configuration: str) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as scratch:
        found = Path(scratch) / "class-path"
        command = (java(), "-jar", _ivy(), "-warn", "-ivy", _MODULE)
        result = subprocess.run(  # noqa: S603 - our own arguments
            [*map(str, command), "-confs", configuration, "-cachepath", str(found)],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise RuntimeError(result.stdout + result.stderr)
        return tuple(found.read_text().strip().split(os.pathsep))


def _ivy() -> Path:
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("PySpark is not installed")  # noqa: TRY003, EM101
    return next((Path(spec.submodule_search_locations[0]) / "jars").glob("ivy-*.jar"))


def main() -> int:
    """Fetch everything."""
    return 0 if connector_jars() and broker_class_path() else 1


if __name__ == "__main__":
    sys.exit(main())
